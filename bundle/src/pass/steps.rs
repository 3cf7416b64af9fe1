//! The steps of a pass over a bundle, in order.
//!
//! In: the members, and what the bundle is to become. Out: [`Step`]s; what each of them does is decided when its turn comes.
//! Nothing here fails.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use lifecycle_objects::identity::GroupKind;
use lifecycle_objects::inspection::Inspection;
use lifecycle_objects::type_pattern::TypePattern;
use serde_json::Value;

use crate::member::Member;
use crate::order::managed::ManagedTypes;
use crate::order::webhooks::{Services, called_by};
use crate::order::{Place, Wave, waves};
use crate::setting::Setting;
use crate::table::Intent;

/// What happens to the objects of a step.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Act {
    Apply,
    Purge,
    Remove,
    Disown,
}

/// Objects that come before those of the next step.
#[derive(Debug)]
pub(super) struct Step {
    /// How reports name the step, such as `wave 0`.
    pub(super) name: Arc<str>,
    pub(super) act: Act,
    /// The members by their indexes, with their priorities, in the order in which they are written.
    pub(super) members: Vec<(i8, usize)>,
    /// What has to be known before the step begins.
    pub(super) inspections: Vec<Inspection>,
    /// Why the step cannot begin: something cannot be known.
    pub(super) obstacle: Option<String>,
}

impl Step {
    fn new(name: String, act: Act, members: Vec<(i8, usize)>) -> Self {
        Self { name: name.into(), act, members, inspections: Vec::new(), obstacle: None }
    }

    /// Has the step wait for what these questions find.
    fn after(mut self, questions: impl IntoIterator<Item = Question>) -> Self {
        let mut inspections = BTreeSet::new();
        for question in questions {
            match question {
                Ok(inspection) => drop(inspections.insert(inspection)),
                Err(obstacle) => self.obstacle = Some(obstacle),
            }
        }
        self.inspections = inspections.into_iter().collect();
        self
    }
}

/// Plans the steps of one pass.
pub(super) struct Planning<'a> {
    pub(super) setting: &'a Setting<'a>,
    pub(super) members: &'a [Member],
    /// The kinds that could not be listed, with the cause.
    pub(super) unread: &'a BTreeMap<GroupKind, String>,
    pub(super) intent: Intent,
}

impl Planning<'_> {
    /// The steps of the pass, in order.
    pub(super) fn steps(&self) -> Vec<Step> {
        match self.intent {
            Intent::Apply => {
                let mut steps: Vec<Step> = self.waves().into_iter().map(|step| self.unless_unread(step)).collect();
                let to_go = self.indexes(|member| member.wanted.is_none());
                if let Some((kind, cause)) = self.unread.first_key_value() {
                    let members = to_go.into_iter().map(|index| (0, index)).collect();
                    let obstacle = Some(unlisted(kind, cause));
                    steps.push(Step { obstacle, ..Step::new("removal".to_owned(), Act::Remove, members) });
                    return steps;
                }
                steps.extend(self.guard(&to_go, &[]));
                steps.extend(self.removals(to_go));
                steps
            }
            Intent::Delete => {
                let all = self.indexes(|_| true);
                let guard = self.guard(&all, self.setting.managed_types);
                guard.into_iter().chain(self.removals(all)).collect()
            }
            Intent::Disown => {
                let all = self.indexes(|_| true).into_iter().map(|member| (0, member));
                vec![Step::new("disowning".to_owned(), Act::Disown, all.collect())]
            }
        }
    }

    fn indexes(&self, is_one: impl Fn(&Member) -> bool) -> Vec<usize> {
        (0..self.members.len()).filter(|member| is_one(&self.members[*member])).collect()
    }

    /// The step before a deletion that finds out whether types are to go of which others have instances: before anything is
    /// deleted. It is not needed where all types stay.
    fn guard(&self, to_go: &[usize], named: &[TypePattern]) -> Option<Step> {
        let going: Vec<&Member> = to_go.iter().map(|index| &self.members[*index]).filter(|it| self.goes(it)).collect();
        if going.is_empty() {
            return None;
        }
        let named = named.iter().cloned().map(|types| Ok(Inspection::Instances(types)));
        let of_types = going.into_iter().filter_map(|member| {
            let question = self.instances(member)?;
            Some(self.kept_instance(member, &question).map_or(question, Err))
        });
        let questions = named.chain(of_types);
        let step = Step::new("deletion guard".to_owned(), Act::Remove, Vec::new()).after(questions);
        (!step.inspections.is_empty() || step.obstacle.is_some()).then_some(step)
    }

    /// An instance that is to stay although its type is to go with it, in words. Once it is disowned, the type would wait for it
    /// for ever.
    fn kept_instance(&self, outer: &Member, question: &Question) -> Option<String> {
        let Ok(Inspection::Instances(types)) = question else { return None };
        let keeps = |inner: &Member| {
            inner.departure(&*self.setting.marks).is_some_and(|departure| departure.policy.keeps(self.intent))
        };
        let mut staying = self.members.iter().filter(|inner| !inner.is_terminating() && keeps(inner));
        let inner = staying.find(|inner| types.matches(&inner.identity.kind))?;
        let (inner, outer, key) = (&inner.identity, &outer.identity, self.setting.marks.departure_key());
        Some(format!(
            "{inner} is to stay, but would go with {outer}; write `orphan` as the first word of the annotation `{key}` of the type if \
             that is to stay, too, or `delete` as that of the instance"
        ))
    }

    /// Has a step wait for the first of its kinds that could not be listed.
    fn unless_unread(&self, step: Step) -> Step {
        let mut kinds = step.members.iter().map(|(_, index)| &self.members[*index].identity.kind);
        let obstacle = kinds.find_map(|kind| Some(unlisted(kind, self.unread.get(kind)?)));
        Step { obstacle, ..step }
    }

    /// Whether this pass deletes the member, if it comes to it.
    fn goes(&self, member: &Member) -> bool {
        member.exists() && !member.is_terminating() && member.is_to_go(self.intent, &*self.setting.marks)
    }

    /// The waves of the wanted objects, by `apply-order`.
    fn waves(&self) -> Vec<Step> {
        let managed = self.managed(|member| Some(&member.wanted.as_ref()?.draft.object));
        let wanted = self.members.iter().filter_map(|member| member.wanted.as_ref());
        let services: Services = wanted.map(|it| (&it.identity, it.draft.settings.apply_order)).collect();
        let waves = waves(self.indexes(|member| member.wanted.is_some()), |index| {
            let member = &self.members[*index];
            let order = member.wanted.as_ref().map(|rendered| rendered.draft.settings.apply_order).unwrap_or_default();
            let called = member.wanted.as_ref().map(|it| called_by(&it.identity.kind, &it.draft.object));
            let is_served = called.is_some_and(|called| services.serve(order, &called));
            Place::to_apply(&member.identity.kind, order, &managed).after_its_server(is_served)
        });
        let last = waves.last().map(|wave| wave.order);
        let mut unpurged = self.indexes(|member| member.purge_order().is_some());
        let mut steps = Vec::new();
        for Wave { order, objects } in waves {
            let of_wave = by_stage(objects).into_iter();
            steps.extend(of_wave.map(|(stage, members)| Step::new(stage.of_wave(order), Act::Apply, members)));
            // An object serves in its own wave, also if it may be purged after an earlier one.
            let is_over = |index: &usize| {
                let member = &self.members[*index];
                let applied_in = member.wanted.as_ref().map(|rendered| rendered.draft.settings.apply_order);
                applied_in.is_some_and(|apply| apply <= order) && member.purge_order().is_some_and(|it| it <= order)
            };
            let (served, others) = unpurged.into_iter().partition(|index| last == Some(order) || is_over(index));
            unpurged = others;
            let served: Vec<usize> = served;
            let served = served.into_iter().map(|index| (0, index)).collect();
            steps.push(Step::new(format!("purge after wave {order}"), Act::Purge, served));
        }
        steps.retain(|step| !step.members.is_empty());
        steps
    }

    /// The waves of members that are to go, by `delete-order`. Namespaces go last, and only if nothing of others is in them:
    /// whatever is in one goes with it. So do the instances of a type, which are looked at once more: a member among them may
    /// have become somebody else's since the guard.
    fn removals(&self, to_go: Vec<usize>) -> Vec<Step> {
        let managed = self.managed(Member::object);
        let departure = |member: &Member| member.departure(&*self.setting.marks);
        let order = |member: &Member| departure(member).map(|departure| departure.order).unwrap_or_default();
        let going = to_go.iter().map(|index| &self.members[*index]);
        let services: Services = going.map(|member| (&member.identity, order(member))).collect();
        let is_namespace = |index: &usize| self.members[*index].identity.kind.is_namespace();
        let (namespaces, others): (Vec<usize>, Vec<usize>) = to_go.into_iter().partition(is_namespace);
        let mut steps = Vec::new();
        for (members, are_namespaces) in [(others, false), (namespaces, true)] {
            let waves = waves(members, |index| {
                let member = &self.members[*index];
                let order = order(member);
                let called = member.object().map(|object| called_by(&member.identity.kind, object));
                let is_served = called.is_some_and(|called| services.serve(order, &called));
                Place::to_delete(&member.identity.kind, order, &managed).before_its_server(is_served)
            });
            for Wave { order, objects } in waves {
                steps.extend(by_stage(objects).into_iter().map(|(stage, members)| {
                    let going = members.iter().map(|(_, index)| &self.members[*index]).filter(|it| self.goes(it));
                    let questions: Vec<Question> =
                        going.filter_map(|member| contents(member).or_else(|| self.instances(member))).collect();
                    Step::new(stage.of_wave(order, are_namespaces), Act::Remove, members).after(questions)
                }));
            }
        }
        steps
    }

    /// The question whether others have instances of the types that a member introduces; none for a member that introduces none,
    /// and for an API service of one version if that of another version stays.
    fn instances(&self, member: &Member) -> Option<Question> {
        let kind = &member.identity.kind;
        if !kind.is_custom_resource_definition() && !kind.is_api_service() || stays_served(member, self.members) {
            return None;
        }
        let types = member.object().and_then(|object| TypePattern::introduced_by(kind, object));
        let unknown =
            || format!("{} does not say which types it introduces, so nobody knows what would go", member.identity);
        Some(types.map(Inspection::Instances).ok_or_else(unknown))
    }

    /// The types whose instances wait for them, and go before them.
    fn managed(&self, object: impl Fn(&Member) -> Option<&Value>) -> ManagedTypes {
        let introduced = |member: &Member| TypePattern::introduced_by(&member.identity.kind, object(member)?);
        self.members.iter().filter_map(introduced).chain(self.setting.managed_types.iter().cloned()).collect()
    }
}

/// Whether the types of an API service that goes stay: the bundle keeps another one of their group, for another version.
pub(super) fn stays_served(member: &Member, members: &[Member]) -> bool {
    let group = |member: &Member, object: &Value| TypePattern::introduced_by(&member.identity.kind, object);
    let is_service = member.identity.kind.is_api_service();
    let Some(types) = member.object().filter(|_| is_service).and_then(|object| group(member, object)) else {
        return false;
    };
    let mut staying = members.iter().filter(|other| other.identity.kind.is_api_service());
    staying.any(|other| other.wanted.as_ref().is_some_and(|it| group(other, &it.draft.object).as_ref() == Some(&types)))
}

fn unlisted(kind: &GroupKind, cause: &str) -> String {
    format!("{kind} could not be listed: {cause}")
}

/// What has to be known before a member is deleted, or why it cannot be known.
type Question = Result<Inspection, String>;

/// The question whether anything of others is in a namespace; none for a member that is no namespace.
fn contents(member: &Member) -> Option<Question> {
    member.identity.kind.is_namespace().then(|| Ok(Inspection::Namespace(member.identity.name.clone())))
}

/// Groups the objects of a wave by their stages, which are in order.
fn by_stage<S: Copy + Ord>(objects: Vec<(S, i8, usize)>) -> BTreeMap<S, Vec<(i8, usize)>> {
    let mut stages: BTreeMap<S, Vec<(i8, usize)>> = BTreeMap::new();
    for (stage, priority, member) in objects {
        stages.entry(stage).or_default().push((priority, member));
    }
    stages
}
