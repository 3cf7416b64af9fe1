//! The pass of a bundle: from what was read to requests, as far as one pass goes.
//!
//! In: the [`Intent`], the rendered objects, the live members, and the parent. Out: batches of [`Command`]s, which the caller
//! sends at the same time and whose answers it records in the same order; at the end a [`Report`]. Nothing here fails: what fails
//! is part of the report.
//!
//! | intent | stages, one after the other |
//! | --- | --- |
//! | apply | each wave by `apply-order`: its objects, types before their instances; then what has served. Then what is no longer wanted, by `delete-order` |
//! | delete | each wave by `delete-order`, instances before their types, and namespaces once nothing of the bundle is in them |
//! | disown | all members at once |
//!
//! A stage ends when each of its objects is ready, or gone. If one is not, the pass stops there: the objects of later stages
//! wait, and the report says for what. The caller writes the parent, which comes before the first stage and after the last.

use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BTreeSet, VecDeque};

use jiff::{SignedDuration, Timestamp};
use serde_json::Value;

use super::applyset;
use super::identity::Identity;
use super::member::{Circumstances, Live, Member, Rendered, Surroundings};
use super::order::managed::{ManagedTypes, TypePattern};
use super::order::{ApplyStage, DeleteStage, Place, Wave, waves};
use super::parent::Parent;
use super::policy::Policies;
use super::report::{ObjectReport, Report};
use super::table::Intent;
use crate::decision::Failure;
use crate::destination::Destination;
use crate::keys;
use crate::manifest::Stamp;
use crate::object_ref::ObjectRef;
use crate::observation::{Described as _, Version};
use crate::write::{Command, Executed};

/// What stays the same during the pass.
#[derive(Debug)]
pub struct Setting<'t> {
    /// The name of the entry in the task.
    pub entry: &'t str,
    /// The identity of the adapter and of the API resource.
    pub stamp: Stamp,
    /// The cluster.
    pub destination: Destination,
    /// The value of the label that members carry.
    pub set: String,
    /// The prefix of the policies' annotations.
    pub prefix: &'t str,
    /// The policies of objects that say nothing else.
    pub defaults: Policies,
    /// The types that the author names beside those of the set's own objects.
    pub managed_types: &'t [TypePattern],
    /// The time of the pass.
    pub now: Timestamp,
}

/// What the caller does next.
#[derive(Debug, Clone, PartialEq)]
pub enum Next {
    /// Write the parent as it is now, and call [`Session::parent_written`].
    WriteParent,
    /// Send these commands, all at the same time, and pass the answers to [`Session::record`] in the same order.
    Send(Vec<Command>),
    /// Look at these, and pass what was found to [`Session::inspected`] in the same order.
    Inspect(Vec<Inspection>),
    /// Nothing: the pass is over.
    Done,
}

/// What has to be known before something is deleted that takes others' objects with it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Inspection {
    /// Whether there is an instance of these types, in any namespace, that is no member.
    Instances(TypePattern),
    /// Whether anything lives in this namespace that is no member, nor made by Kubernetes in every namespace.
    Namespace(String),
}

/// What happens to the objects of a step.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Act {
    Apply,
    Purge,
    Remove,
    Disown,
}

/// Objects that are handled at the same time.
#[derive(Debug)]
struct Step {
    /// How reports name the step, such as `wave 0`.
    name: String,
    act: Act,
    places: Vec<usize>,
    /// What has to be known before the step begins.
    inspections: Vec<Inspection>,
}

impl Step {
    fn new(name: String, act: Act, places: Vec<usize>) -> Self {
        Self { name, act, places, inspections: Vec::new() }
    }
}

/// The pass of one bundle.
#[derive(Debug)]
pub struct Session<'t> {
    setting: Setting<'t>,
    intent: Intent,
    members: Vec<Member>,
    parent: Parent,
    steps: VecDeque<Step>,
    /// The step in which each member was handled.
    handled_in: Vec<String>,
    /// The members of the step under way that are decided, by place.
    decided: BTreeSet<usize>,
    /// The members whose commands are under way, by place.
    asked: Vec<usize>,
    /// The steps and intervals of which objects are applied again.
    due: BTreeSet<(String, SignedDuration)>,
    stopped: Option<String>,
    is_over: bool,
}

impl<'t> Session<'t> {
    /// Begins a pass with the rendered objects, and the members that the lists of the parent's kinds found.
    #[must_use]
    pub fn new(
        setting: Setting<'t>,
        intent: Intent,
        rendered: Vec<Rendered>,
        found: Vec<Version>,
        parent: Parent,
    ) -> Self {
        let mut members: Vec<Member> = rendered.into_iter().map(Member::wanted).collect();
        let mut places: BTreeMap<Identity, usize> = BTreeMap::new();
        for (place, member) in members.iter().enumerate() {
            places.entry(member.identity.clone()).or_insert(place);
        }
        for version in found {
            let object = ObjectRef::of(version.object());
            let (kind, identity) = (object.kind.clone(), Identity::from(object));
            let live = setting.owner_of(version);
            match places.entry(identity) {
                Entry::Occupied(place) => members[*place.get()].live = live,
                Entry::Vacant(place) => {
                    members.push(Member::unwanted(place.key().clone(), kind, live));
                    place.insert(members.len() - 1);
                }
            }
        }
        let mut session = Self {
            handled_in: vec![String::new(); members.len()],
            setting,
            intent,
            members,
            parent,
            steps: VecDeque::new(),
            decided: BTreeSet::new(),
            asked: Vec::new(),
            due: BTreeSet::new(),
            stopped: None,
            is_over: false,
        };
        session.steps = session.planned();
        if intent == Intent::Apply {
            session.grow();
            session.note_due();
        }
        session
    }

    /// The steps of the pass, in order.
    fn planned(&self) -> VecDeque<Step> {
        match self.intent {
            Intent::Apply => {
                let mut steps = self.waves();
                let to_go: Vec<usize> = self.places(|member| member.wanted.is_none());
                steps.extend(self.guard(&to_go, &[]));
                steps.extend(self.removals(to_go));
                steps.into()
            }
            Intent::Delete => {
                let all = self.places(|_| true);
                self.guard(&all, self.setting.managed_types).into_iter().chain(self.removals(all)).collect()
            }
            Intent::Disown => VecDeque::from([Step::new("disowning".to_owned(), Act::Disown, self.places(|_| true))]),
        }
    }

    fn places(&self, is_one: impl Fn(&Member) -> bool) -> Vec<usize> {
        (0..self.members.len()).filter(|place| is_one(&self.members[*place])).collect()
    }

    /// The step before a deletion that finds out whether types are to go of which others have instances. It is not needed for
    /// types that stay.
    fn guard(&self, to_go: &[usize], named: &[TypePattern]) -> Option<Step> {
        let going = to_go.iter().map(|place| &self.members[*place]).filter(|member| member.exists());
        let introduced = going.filter_map(|member| {
            let is_kept = member.is_kept(self.setting.prefix, &self.setting.defaults, self.intent);
            TypePattern::introduced_by(&member.identity.kind, member.object()?).filter(|_| !is_kept)
        });
        let types: BTreeSet<TypePattern> = named.iter().cloned().chain(introduced).collect();
        let inspections: Vec<Inspection> = types.into_iter().map(Inspection::Instances).collect();
        let step = Step { inspections, ..Step::new("deletion guard".to_owned(), Act::Remove, Vec::new()) };
        (!step.inspections.is_empty()).then_some(step)
    }

    /// The waves of the wanted objects, by `apply-order`.
    fn waves(&self) -> Vec<Step> {
        let objects = self.members.iter().filter_map(|member| Some(&member.wanted.as_ref()?.object));
        let managed = self.managed(objects);
        let wanted = |place: &usize| self.members[*place].wanted.is_some();
        let waves = waves((0..self.members.len()).filter(wanted), |place| {
            let member = &self.members[*place];
            let order = member.wanted.as_ref().map(|rendered| rendered.settings.apply_order).unwrap_or_default();
            Place::to_apply(&member.identity.kind, order, &managed)
        });
        let last = waves.last().map(|wave| wave.order);
        let mut unpurged: Vec<usize> =
            (0..self.members.len()).filter(|place| self.purge_order(*place).is_some()).collect();
        let mut steps = Vec::new();
        for Wave { order, objects } in waves {
            let name = |stage: &ApplyStage| match stage {
                ApplyStage::Regular => format!("wave {order}"),
                ApplyStage::Late => format!("wave {order}, API services"),
                ApplyStage::Instance => format!("wave {order}, instances"),
            };
            let steps_of_wave = by_stage(objects).into_iter();
            steps.extend(steps_of_wave.map(|(stage, places)| Step::new(name(&stage), Act::Apply, places)));
            // An object serves in its own wave, also if it may be purged after an earlier one.
            let is_over = |place: &usize| {
                let member = self.members[*place].wanted.as_ref();
                let settings = member.map(|rendered| &rendered.settings);
                settings.is_some_and(|it| it.apply_order <= order && it.purge_order.is_some_and(|purge| purge <= order))
            };
            let has_served = |place: &usize| last == Some(order) || is_over(place);
            let (served, others) = unpurged.into_iter().partition(has_served);
            unpurged = others;
            steps.push(Step::new(format!("purge after wave {order}"), Act::Purge, served));
        }
        steps.retain(|step| !step.places.is_empty());
        steps
    }

    /// The waves of members that are to go, by `delete-order`. Namespaces go last, and only if nothing of others is in them:
    /// whatever is in one goes with it.
    fn removals(&self, to_go: Vec<usize>) -> Vec<Step> {
        let managed = self.managed(self.members.iter().filter_map(Member::object));
        let is_namespace = |place: &usize| self.members[*place].identity.kind.is_namespace();
        let (namespaces, others): (Vec<usize>, Vec<usize>) = to_go.into_iter().partition(is_namespace);
        let mut steps = Vec::new();
        for places in [others, namespaces] {
            let waves = waves(places, |place| {
                let member = &self.members[*place];
                let order = member.delete_order(self.setting.prefix, &self.setting.defaults);
                Place::to_delete(&member.identity.kind, order, &managed)
            });
            for Wave { order, objects } in waves {
                let name = |stage: &DeleteStage| match stage {
                    DeleteStage::Instance => format!("deletion wave {order}, instances"),
                    DeleteStage::Rest => format!("deletion wave {order}"),
                };
                let steps_of_wave = by_stage(objects).into_iter();
                steps.extend(steps_of_wave.map(|(stage, places)| {
                    let inspections = places.iter().filter(|place| is_namespace(place)).filter_map(|place| {
                        let member = &self.members[*place];
                        let is_kept = member.is_kept(self.setting.prefix, &self.setting.defaults, self.intent);
                        let is_live = member.exists() && !member.is_terminating();
                        (is_live && !is_kept).then(|| Inspection::Namespace(member.identity.name.clone()))
                    });
                    let inspections = inspections.collect();
                    Step { inspections, ..Step::new(name(&stage), Act::Remove, places) }
                }));
            }
        }
        steps
    }

    /// The types whose instances wait for them, and go before them.
    fn managed<'o>(&self, objects: impl Iterator<Item = &'o Value>) -> ManagedTypes {
        let introduced = objects.filter_map(|object| {
            let kind = Identity::from(ObjectRef::of(object)).kind;
            TypePattern::introduced_by(&kind, object)
        });
        introduced.chain(self.setting.managed_types.iter().cloned()).collect()
    }

    fn purge_order(&self, place: usize) -> Option<i16> {
        self.members[place].wanted.as_ref()?.settings.purge_order
    }

    /// Adds to the parent where the wanted objects will be.
    fn grow(&mut self) {
        for member in self.members.iter().filter(|member| member.wanted.is_some()) {
            self.parent.grow(&member.kind, member.identity.namespace.as_deref());
        }
    }

    /// Finds out which objects are to be applied again.
    fn note_due(&mut self) {
        let Self { steps, members, parent, setting, due, .. } = self;
        let mut beats = BTreeSet::new();
        for step in steps.iter().filter(|step| step.act == Act::Apply) {
            let intervals = step.places.iter().filter_map(|place| members[*place].interval());
            beats.extend(intervals.map(|interval| (step.name.clone(), interval)));
        }
        due.extend(beats.iter().filter(|(step, interval)| parent.is_due(step, *interval, setting.now)).cloned());
        parent.keep_beats(&beats);
    }

    /// Says what the caller does next, whose answer is due before the next call.
    pub fn go_on(&mut self) -> Next {
        loop {
            let Some(step) = self.steps.front() else { return self.end() };
            if !step.inspections.is_empty() {
                return Next::Inspect(step.inspections.clone());
            }
            if step.act == Act::Purge {
                self.note_served();
            }
            if self.intent == Intent::Apply && self.parent.precedes_members() {
                return Next::WriteParent;
            }
            let commands = self.commands();
            if !commands.is_empty() {
                return Next::Send(commands);
            }
            self.end_step();
        }
    }

    /// Takes what each inspection of [`Next::Inspect`] found, in words; `None` if there is nothing of others.
    pub fn inspected(&mut self, found: Vec<Result<Option<String>, Failure>>) {
        let Some(step) = self.steps.front_mut() else { return };
        step.inspections.clear();
        let obstacle = found.into_iter().find_map(|found| match found {
            Ok(found) => found,
            Err(failure) => Some(failure.to_string()),
        });
        if let Some(obstacle) = obstacle {
            let why = format!("{}: {obstacle}", step.name);
            self.stop(&why);
        }
    }

    /// Takes the result of writing the parent. Without it, nothing else is written.
    pub fn parent_written(&mut self, result: Result<(), Failure>) {
        match result {
            Ok(()) => self.parent.note_written(),
            Err(failure) => {
                self.stop(&format!("the parent: {failure}"));
                self.is_over = true;
            }
        }
    }

    /// The parent to write.
    #[must_use]
    pub fn parent(&self) -> &Parent {
        &self.parent
    }

    /// Remembers that the objects of a purge have served, before any of them is deleted.
    fn note_served(&mut self) {
        let Some(step) = self.steps.front() else { return };
        for &place in &step.places {
            let member = &self.members[place];
            if let (Some(rendered), true) = (&member.wanted, member.exists()) {
                self.parent.complete(&member.identity, &rendered.digest);
            }
        }
    }

    /// Decides about the objects of the step, and returns the commands of those that are to be written.
    fn commands(&mut self) -> Vec<Command> {
        let Self { setting, intent, members, parent, steps, decided, due, handled_in, asked, .. } = self;
        let Some(step) = steps.front() else { return Vec::new() };
        let around = setting.around(*intent);
        let mut commands = Vec::new();
        for &place in &step.places {
            if !decided.insert(place) {
                continue;
            }
            let member = &mut members[place];
            let is_completed =
                member.wanted.as_ref().is_some_and(|it| parent.is_completed(&member.identity, &it.digest));
            let is_due_again = member.interval().is_some_and(|it| due.contains(&(step.name.clone(), it)));
            let is_to_be_purged = step.act == Act::Purge;
            member.decide(around, Circumstances { is_completed, is_to_be_purged, is_due_again, waits_for: None });
            handled_in[place].clone_from(&step.name);
            if let Some(command) = member.command(around) {
                asked.push(place);
                commands.push(command);
            }
        }
        commands
    }

    /// Takes the answers to the commands of [`Next::Send`], in the same order.
    pub fn record(&mut self, answers: Vec<Executed>) {
        let asked = std::mem::take(&mut self.asked);
        for (place, executed) in asked.into_iter().zip(answers) {
            let setting = &self.setting;
            if self.members[place].record(executed, |holder| setting.owner_of(holder)) {
                self.decided.remove(&place);
            }
        }
    }

    /// Ends a step whose objects are all decided and written: the next one begins, or the pass stops here.
    fn end_step(&mut self) {
        let Some(step) = self.steps.pop_front() else { return };
        self.decided.clear();
        let members = step.places.iter().map(|place| &self.members[*place]);
        let blocker = match step.act {
            Act::Apply => members.filter_map(|member| member.blocker(self.setting.now)).next(),
            Act::Purge | Act::Remove => members.filter_map(Member::is_left).next(),
            Act::Disown => members.filter_map(Member::failure).next(),
        };
        // Where one could not be applied again, all are due with the next event. An object that fails for another reason, such as a
        // taken name, may fail for ever, and must not have the others written with every event.
        let has_failed = step.places.iter().any(|place| self.members[*place].has_failed_to_be_applied_again());
        for (name, interval) in self.due.iter().filter(|(name, _)| *name == step.name && !has_failed) {
            self.parent.applied(name, *interval, self.setting.now);
        }
        if let Some(blocker) = blocker {
            self.stop(&format!("{}: {blocker}", step.name));
        }
    }

    /// Ends the pass early: the objects of the steps that are left wait.
    fn stop(&mut self, why: &str) {
        let around = self.setting.around(self.intent);
        for step in std::mem::take(&mut self.steps) {
            for place in step.places {
                if self.members[place].verdict.is_none() {
                    let waits_for = Some(why);
                    self.members[place].decide(around, Circumstances { waits_for, ..Circumstances::default() });
                    self.handled_in[place].clone_from(&step.name);
                }
            }
        }
        self.stopped = Some(why.to_owned());
    }

    /// Leaves only the places of objects that there are, and those of the manifests, after a complete pass.
    fn end(&mut self) -> Next {
        if self.is_over || self.intent != Intent::Apply {
            return Next::Done;
        }
        if self.stopped.is_none() {
            let is_left = |member: &&Member| member.exists() || member.wanted.is_some();
            let left = || self.members.iter().filter(is_left);
            let kinds = left().map(|member| member.identity.kind.clone()).collect();
            let namespaces = left().filter_map(|member| member.identity.namespace.clone()).collect();
            self.parent.shrink(&kinds, &namespaces);
            let wanted = self.members.iter().filter(|member| member.wanted.is_some());
            self.parent.forget_all_but(&wanted.map(|member| member.identity.to_string()).collect());
        }
        if self.parent.is_changed() { Next::WriteParent } else { Next::Done }
    }

    /// What the pass did.
    #[must_use]
    pub fn into_report(self) -> Report {
        let now = self.setting.now;
        let objects = self.members.into_iter().zip(self.handled_in).map(|(member, step)| {
            let judgement = member.judgement(now);
            ObjectReport { identity: member.identity, step, verdict: member.verdict, effect: member.effect, judgement }
        });
        Report { objects: objects.collect(), stopped: self.stopped }
    }
}

/// Groups the objects of a wave by their stages, which are in order.
fn by_stage<S: Copy + Ord>(objects: Vec<(S, usize)>) -> BTreeMap<S, Vec<usize>> {
    let mut stages: BTreeMap<S, Vec<usize>> = BTreeMap::new();
    for (stage, place) in objects {
        stages.entry(stage).or_default().push(place);
    }
    stages
}

impl Setting<'_> {
    fn around(&self, intent: Intent) -> Surroundings<'_> {
        let Self { destination, prefix, defaults, .. } = self;
        Surroundings { intent, destination, prefix, defaults }
    }

    /// Whether the owner's label of an object is that of the bundle.
    pub(super) fn is_owner_label(&self, key: &str, object: &Value) -> bool {
        let expected = match key {
            keys::ADAPTER => self.stamp.adapter.as_str(),
            keys::RESOURCE_ID => self.stamp.resource_id.as_str(),
            _ => self.entry,
        };
        object.label(key) == Some(expected)
    }

    /// Whose a live object is. An object is a member if it has the set's label and all three labels of its owner.
    fn owner_of(&self, version: Version) -> Live {
        let is_stamped = keys::OWNERSHIP_LABELS.into_iter().all(|key| self.is_owner_label(key, version.object()));
        let set = version.label(applyset::PART_OF);
        if is_stamped && set == Some(self.set.as_str()) {
            return Live::Member(version);
        }
        // An object that only lost labels of its owner is nobody's, and may be adopted again.
        let is_of_others = || {
            keys::OWNERSHIP_LABELS
                .into_iter()
                .any(|key| version.label(key).is_some() && !self.is_owner_label(key, version.object()))
        };
        let owner = match set {
            Some(other) if other != self.set => Some(format!("the set `{other}`")),
            Some(_) | None if is_of_others() => {
                let part = |key: &str| version.label(key).unwrap_or("?");
                let [adapter, id, entry] = keys::OWNERSHIP_LABELS.map(part);
                Some(format!("adapter {adapter}, entry {entry}, for the resource {id}"))
            }
            Some(_) | None => None,
        };
        Live::Other(version, owner)
    }
}

#[cfg(test)]
#[expect(clippy::unwrap_used, clippy::panic, reason = "tests")]
mod tests;
