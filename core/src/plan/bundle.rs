//! The turn of a bundle: from the decision about its parent to its members.
//!
//! In: the decision, and what the caller read, wrote and looked at. Out: one [`BundleStep`] after the other; in the end the
//! entry's outcome, with a [`Report`](lifecycle_bundle::report::Report). What fails is the outcome of the entry.
//!
//! | decision about the parent | the members | the parent |
//! | --- | --- | --- |
//! | create, update, or nothing to do for this generation | are applied | is written where the session says |
//! | delete | are deleted | is deleted once they are gone |
//! | disown | are disowned | is disowned once they are |
//! | nothing to delete or to disown, because there is none | the same, if the manifests tell where they are | |
//! | any other | stay as they are | |
//!
//! The last row but one is for a parent that somebody deleted by hand.

use std::collections::BTreeMap;

use lifecycle_bundle::applyset;
use lifecycle_bundle::guard::Members;
use lifecycle_bundle::member::Rendered;
use lifecycle_bundle::parent::Parent;
use lifecycle_bundle::prepare::prepare;
use lifecycle_bundle::session::{self, FoundMembers, Session, Setting};
use lifecycle_bundle::siblings::Siblings;
use lifecycle_bundle::table::Intent;
use lifecycle_language::scope::Scope;
use lifecycle_objects::destination::Destination;
use lifecycle_objects::failure::{FailReason, Failure};
use lifecycle_objects::id::GroupVersionKind;
use lifecycle_objects::identity::{GroupKind, Identity};
use lifecycle_objects::inspection::Inspection;
use lifecycle_objects::keys;
use lifecycle_objects::kinds::is_namespaced;
use lifecycle_objects::object_ref::ObjectRef;
use lifecycle_objects::observation::{Described as _, Observation, Query, QueryBy, Version, whose};
use lifecycle_objects::type_pattern::TypePattern;
use lifecycle_objects::write::{Command, Disowning, Executed, Target, UpdateMode, WriteError, WriteErrorKind};
use serde_json::Value;

use super::decide::current;
use super::disown;
use super::{After, Next, Pending, Planner, Purpose, State, Write, reads};
use crate::bundle::render::render;
use crate::decision::{Decision, DisownReason, SkipReason, WaitReason};
use crate::manifest::Desired;
use crate::outcome::OutcomeResult;
use crate::task::Bundle;

/// What the caller does for the members of a bundle.
#[derive(Debug, Clone, PartialEq)]
pub enum BundleStep {
    /// Read these, all at the same time, each in whichever version the server serves the kind.
    Read(Vec<Query>),
    /// Execute these, all at the same time.
    Write(Vec<Command>),
    /// Look at these, all at the same time, for something that is not of this set.
    Inspect(Vec<Inspection>, Members),
}

/// What came of a [`BundleStep`], in the same order.
#[derive(Debug)]
pub enum BundleAnswer {
    /// What was read.
    Read(Vec<Observation>),
    /// What became of the commands.
    Written(Vec<Executed>),
    /// The first object of others; none where there is nothing of others.
    Inspected(Vec<Result<Option<Identity>, WriteError>>),
}

/// A bundle whose turn it is.
#[derive(Debug)]
pub(super) struct Turn<'t> {
    pending: Pending,
    intent: Intent,
    /// The parent's own write, which comes after those of the members.
    last: Option<Command>,
    /// The parent's stamped object, without what it says about members; none if the parent is not written.
    desired: Option<Value>,
    /// The parent as the cluster has it.
    live: Option<Version>,
    /// What became of the parent.
    written: Option<OutcomeResult>,
    stage: Stage<'t>,
    /// The lists of the members, which are read once more before the parent is deleted.
    queries: Vec<Query>,
    /// Whether they were read once more.
    has_looked_again: bool,
}

/// What to do if the members of a bundle that is to go can never be listed, for a kind that Kubernetes does not serve itself.
const GONE_FOR_GOOD: &str = "; nothing goes before this is known; if an APIService names a server for this kind that is gone for good, \
                             delete the APIService";

#[derive(Debug)]
enum Stage<'t> {
    /// The members are still to be read.
    Reading(Box<Beginning<'t>>),
    /// The members could not be read.
    Unread(Failure),
    /// The members are handled; `true` while the answer about the parent is awaited.
    Running(Box<Session<'t>>, bool),
}

/// What a session begins with, beside the members that were found.
#[derive(Debug)]
struct Beginning<'t> {
    setting: Setting<'t>,
    rendered: Vec<Rendered>,
    parent: Parent,
}

impl Beginning<'_> {
    /// Whether a wanted API service has a server of the bundle serve this kind, or a wanted definition has one convert it. While that
    /// server is away, the bundle is not: it may hold what repairs the server.
    fn serves(&self, kind: &GroupVersionKind) -> bool {
        let kind = GroupKind::new(&kind.group, &kind.kind);
        let is_converted =
            |object: &Value| object.pointer("/spec/conversion/strategy").is_some_and(|it| it == "Webhook");
        let is_served = |it: &&Rendered| it.identity.kind.is_api_service() || is_converted(&it.draft.object);
        self.rendered.iter().filter(is_served).any(|rendered| {
            TypePattern::introduced_by(&rendered.identity.kind, &rendered.draft.object)
                .is_some_and(|types| types.matches(&kind))
        })
    }
}

/// What the members of a bundle become, given the decision about its parent; none if they stay as they are.
pub(super) fn intent(decision: &Decision) -> Option<Intent> {
    match decision {
        Decision::Create | Decision::Update { .. } | Decision::Skip(SkipReason::SameGeneration(_)) => {
            Some(Intent::Apply)
        }
        Decision::Delete | Decision::Skip(SkipReason::AlreadyAbsent) => Some(Intent::Delete),
        Decision::Disown(_) | Decision::Skip(SkipReason::NothingToDisown | SkipReason::Disowned) => {
            Some(Intent::Disown)
        }
        Decision::CreateVersion(_)
        | Decision::Patch(_)
        | Decision::Recreate { .. }
        | Decision::Resend(_)
        | Decision::Wait(_)
        | Decision::Skip(_)
        | Decision::Fail(_) => None,
    }
}

/// The decision about an entry, made sense of for a bundle: an object that no adapter wrote, in the place of the parent, is no
/// reason to take the members for gone, and is never adopted.
pub(super) fn corrected(decision: Decision) -> Decision {
    let is_not_ours = decision == Decision::Skip(SkipReason::NotOurs)
        || matches!(&decision, Decision::Fail(failure) if failure.reason == FailReason::NotOurs);
    if !is_not_ours {
        return decision;
    }
    let message = "another object has the parent's name; give the bundle another `name`, or delete that object if somebody replaced \
                   the parent by it: the bundle then finds its objects by its manifests";
    Decision::Fail(Failure::new(FailReason::NotOurs, message))
}

/// A bundle whose parent was decided about.
pub(super) struct Decided<'t> {
    pub(super) bundle: &'t Bundle,
    pub(super) intent: Intent,
    pub(super) pending: Pending,
    /// The rendered parent, if the decision needed it.
    pub(super) desired: Option<Desired>,
    /// The parent's own write.
    pub(super) command: Option<Command>,
}

impl<'t> Planner<'t> {
    /// Begins the turn of a bundle.
    pub(super) fn begin_bundle(&mut self, decided: Decided<'t>, scope: &mut Scope) {
        let Decided { bundle, intent, pending, desired, command } = decided;
        let generation = pending.desired.unwrap_or(self.stamp.generation);
        let owned = self.versions(self.position(), &pending.owned.places);
        let live = current(owned, generation).cloned();
        let mut command = command;
        if pending.decided.decision == Decision::Skip(SkipReason::Disowned) {
            // A person disowned the parent: so are the members, once, as the parent's marks tell.
            let is_marked = |live: &&Version| applyset::is_marked(live.object()) && !live.is_terminating();
            let Some(live) = live.as_ref().filter(is_marked) else {
                return self.conclude(pending, OutcomeResult::Skipped, After::AsObserved, scope);
            };
            let resource = self.resource();
            let patch = disown::patch(live, &Destination::ThisCluster, &resource.name, &self.stamp);
            let target = Target::of(live, &resource.kind, &Destination::ThisCluster);
            command = Some(Command::Disown { former: Vec::new(), last: Disowning { target, patch } });
        }
        if let Some(Command::Disown { former, last }) = &mut command {
            former.iter_mut().chain([last]).for_each(|disowning| applyset::unmark(&mut disowning.patch));
        }
        match self.beginning(bundle, intent, desired.as_ref(), live.as_ref(), scope) {
            Ok(Some((beginning, queries))) => {
                let last = command.filter(|_| intent != Intent::Apply);
                let desired = desired.map(|desired| desired.object);
                let stage = Stage::Reading(Box::new(beginning));
                let turn = Turn {
                    pending,
                    intent,
                    last,
                    desired,
                    live,
                    written: None,
                    stage,
                    queries,
                    has_looked_again: false,
                };
                self.state = State::Bundle(Box::new(turn));
            }
            Ok(None) => self.conclude(pending, OutcomeResult::Skipped, After::AsObserved, scope),
            Err(failure) => self.conclude(pending, OutcomeResult::Failed(failure), After::AsObserved, scope),
        }
    }

    /// Finds out where members can be. None if nothing tells.
    fn beginning(
        &self,
        bundle: &'t Bundle,
        intent: Intent,
        desired: Option<&Desired>,
        live: Option<&Version>,
        scope: &Scope,
    ) -> Result<Option<(Beginning<'t>, Vec<Query>)>, Failure> {
        let (namespace, name) = match (live, desired) {
            (Some(live), _) => (live.namespace().to_owned(), live.name().to_owned()),
            (None, Some(desired)) => (desired.namespace.clone().unwrap_or_default(), desired.name.clone()),
            (None, None) => match self.context(self.position(), scope, &self.unknown()).identity() {
                Ok(identity) => (identity.namespace().to_owned(), identity.name().to_owned()),
                Err(_) => return Ok(None),
            },
        };
        if namespace.is_empty() || name.is_empty() {
            let message = "the bundle's `namespace` and `name` have to render to a text that is not empty";
            return Err(Failure::new(FailReason::RenderFailed, message));
        }
        let mut setting = self.setting(self.position(), bundle, (namespace, name), scope);
        if intent != Intent::Apply {
            setting.entries = Some(self.task.resources.iter().map(|resource| resource.name.as_str()).collect());
        }
        let mut parent = Parent::read(live, &setting.namespace, self.stamp.generation)?;
        // Members that are to go say themselves how; only where they are has to be known.
        let is_rendered = intent == Intent::Apply || !parent.is_whole();
        let rendered = if is_rendered { self.rendered(bundle, &setting, scope) } else { Ok(Vec::new()) };
        let rendered = match rendered {
            Ok(rendered) => rendered,
            // A bundle whose manifests never rendered has neither a parent nor members. Nothing tells where members would be if
            // somebody deleted the parent: the sweeper finds them.
            Err(_) if intent != Intent::Apply && live.is_none() => return Ok(None),
            Err(failure) => return Err(failure),
        };
        for object in &rendered {
            parent.grow(&object.draft.reference.kind, object.identity.namespace.as_deref());
        }
        let label = BTreeMap::from([(applyset::PART_OF.to_owned(), setting.set.clone())]);
        let query = |(kind, namespace)| Query {
            destination: Destination::ThisCluster,
            kind,
            namespace,
            by: QueryBy::Labels(label.clone()),
        };
        let queries = parent.places().into_iter().map(query).collect();
        let rendered = if intent == Intent::Apply { rendered } else { Vec::new() };
        Ok(Some((Beginning { setting, rendered, parent }, queries)))
    }

    /// What stays the same for a bundle whose parent is in this namespace and has this name.
    pub(super) fn setting(
        &self,
        index: usize,
        bundle: &'t Bundle,
        (namespace, name): (String, String),
        scope: &Scope,
    ) -> Setting<'t> {
        Setting {
            entry: &self.task.resources[index].name,
            entries: None,
            stamp: self.stamp.clone(),
            destination: Destination::ThisCluster,
            set: applyset::id(&namespace, &name),
            namespace,
            name,
            prefix: &bundle.prefix,
            defaults: bundle.policies,
            creates_namespaces: bundle.creates_namespaces,
            managed_types: &bundle.managed_types,
            ready: &bundle.ready,
            now: scope.now(),
        }
    }

    /// The objects of the manifests, ready to be written.
    pub(super) fn rendered(
        &self,
        bundle: &Bundle,
        setting: &Setting<'_>,
        scope: &Scope,
    ) -> Result<Vec<Rendered>, Failure> {
        let unknown = self.unknown();
        for manifest in &bundle.manifests {
            let failed = |cause| Failure::new(FailReason::RenderFailed, cause);
            reads::check(&reads::of_manifest(manifest), &unknown).map_err(failed)?;
        }
        let failed = |reason| move |faults: Vec<String>| Failure::new(reason, faults.join("; "));
        let objects = render(bundle, scope).map_err(failed(FailReason::RenderFailed))?;
        prepare(objects, setting).map_err(failed(FailReason::Invalid))
    }

    /// What the caller does next for the bundle whose turn it is; none once the turn is over.
    pub(super) fn bundle_step(&mut self, scope: &mut Scope) -> Option<Next> {
        let State::Bundle(mut turn) = std::mem::replace(&mut self.state, State::Done) else { return None };
        while let Some(wish) = turn.go_on() {
            match wish {
                Wish::Step(step) => {
                    self.state = State::Bundle(turn);
                    return Some(Next::Bundle(step));
                }
                Wish::Siblings => turn.know_siblings(self.siblings(turn.intent, scope)),
            }
        }
        self.end_bundle(*turn, scope).map(|write| Next::Write(Box::new(write)))
    }

    /// Takes what came of the last [`BundleStep`].
    pub fn answer(&mut self, answer: BundleAnswer) {
        if let State::Bundle(turn) = &mut self.state {
            turn.answer(answer);
        }
    }

    /// Ends the turn of a bundle, or goes on to the parent's own write.
    fn end_bundle(&mut self, turn: Turn<'t>, scope: &mut Scope) -> Option<Write> {
        let Turn { mut pending, intent, last, live, written, stage, .. } = turn;
        let report = match stage {
            Stage::Running(session, _) => Ok(session.into_report()),
            Stage::Unread(failure) => Err(OutcomeResult::Failed(failure)),
            Stage::Reading(_) => Err(OutcomeResult::Skipped),
        };
        let report = match report {
            Ok(report) => report,
            Err(result) => {
                self.conclude(pending, result, After::AsObserved, scope);
                return None;
            }
        };
        let is_complete = report.is_complete();
        if let (true, Some(command)) = (is_complete, last) {
            pending.report = Some(report);
            let purpose = Purpose::Decided(pending.decided.decision.clone());
            self.state = State::Writing(Box::new(pending));
            return Some(Write { resource: self.resource().name.clone(), purpose, command });
        }
        if !report.objects.is_empty() {
            // Members were left although the parent is gone.
            if pending.decided.decision == Decision::Skip(SkipReason::AlreadyAbsent) {
                pending.decided.decision = Decision::Delete;
            } else if pending.decided.decision == Decision::Skip(SkipReason::NothingToDisown) {
                pending.decided.decision = Decision::Disown(DisownReason::GateHolds);
            }
        }
        if report.lacks_parent && report.failure.is_none() {
            let (namespace, _) = &pending.place;
            pending.decided.decision = Decision::Wait(WaitReason::NamespaceTerminating(namespace.clone()));
        }
        let result = match (report.failure(), intent) {
            (Some(failure), _) => OutcomeResult::Failed(failure),
            (None, Intent::Apply) if !is_complete => OutcomeResult::Waiting,
            (None, Intent::Apply) => written.unwrap_or_else(|| OutcomeResult::from(&report)),
            (None, Intent::Delete | Intent::Disown) => OutcomeResult::from(&report),
        };
        let after = live.map_or(After::AsObserved, |live| After::Now(Some(live)));
        pending.report = Some(report);
        self.conclude(pending, result, after, scope);
        None
    }
}

/// Whether the object that has the parent's name is the parent, which another pass created at the same time.
fn has_owner_of(desired: Option<&Value>, holder: &Value) -> bool {
    desired.is_some_and(|desired| keys::OWNERSHIP_LABELS.into_iter().all(|key| desired.label(key) == holder.label(key)))
}

/// What a turn needs in order to go on.
enum Wish {
    /// Something that the caller does.
    Step(BundleStep),
    /// What the other entries of the task render, which the planner knows.
    Siblings,
}

impl Turn<'_> {
    fn go_on(&mut self) -> Option<Wish> {
        if matches!(self.stage, Stage::Reading(_)) {
            if !self.queries.is_empty() {
                return Some(Wish::Step(BundleStep::Read(self.queries.clone())));
            }
            self.begin(FoundMembers::default());
        }
        let Stage::Running(session, is_parents) = &mut self.stage else { return None };
        let step = match session.go_on() {
            session::Next::AskSiblings => return Some(Wish::Siblings),
            session::Next::Send(commands) => Some(BundleStep::Write(commands)),
            session::Next::Inspect(inspections) => Some(BundleStep::Inspect(inspections, session.members())),
            session::Next::Done => self.look_again(),
            session::Next::WriteParent => {
                *is_parents = true;
                let Some(mut desired) = self.desired.clone() else {
                    let failure = Failure::new(FailReason::RenderFailed, "the parent was not rendered");
                    self.stage = Stage::Unread(failure);
                    return None;
                };
                session.parent().write(&mut desired, env!("CARGO_PKG_VERSION"));
                let destination = Destination::ThisCluster;
                Some(BundleStep::Write(vec![match &self.live {
                    None => Command::Create { destination, desired },
                    Some(live) => {
                        let target = Target::of(live, &ObjectRef::of(&desired).kind, &destination);
                        Command::Update { desired, mode: UpdateMode::Apply, target, live: live.clone() }
                    }
                }]))
            }
        };
        step.map(Wish::Step)
    }

    fn know_siblings(&mut self, siblings: Siblings) {
        if let Stage::Running(session, _) = &mut self.stage {
            session.know_siblings(siblings);
        }
    }

    /// Reads the members once more before the parent is deleted or disowned: a pass that began before may have created some since,
    /// and nobody finds them without the parent.
    fn look_again(&mut self) -> Option<BundleStep> {
        let Stage::Running(session, _) = &mut self.stage else { return None };
        let is_needed = self.intent != Intent::Apply && self.last.is_some() && !self.queries.is_empty();
        if !is_needed || !session.is_complete() || std::mem::replace(&mut self.has_looked_again, true) {
            return None;
        }
        session.expect_to_find_nothing();
        Some(BundleStep::Read(self.queries.clone()))
    }

    fn begin(&mut self, found: FoundMembers) {
        // What the session begins with is moved, and the stage replaced at once.
        let unread = Failure::new(FailReason::DiscoveryFailed, "the members were not read");
        if let Stage::Reading(beginning) = std::mem::replace(&mut self.stage, Stage::Unread(unread)) {
            let Beginning { setting, rendered, parent } = *beginning;
            let session = Session::new(setting, self.intent, rendered, found, parent);
            self.stage = Stage::Running(Box::new(session), false);
        }
    }

    fn answer(&mut self, answer: BundleAnswer) {
        match (&mut self.stage, answer) {
            (Stage::Running(session, _), BundleAnswer::Read(observations)) => session.found_again(observations),
            (Stage::Reading(beginning), BundleAnswer::Read(observations)) => {
                let is_whole = self.queries.len() == observations.len();
                let mut found = FoundMembers::default();
                for (query, observation) in self.queries.iter().zip(observations) {
                    match observation {
                        Observation::Found(versions) => found.versions.extend(versions),
                        Observation::Unknown(cause) | Observation::Forbidden(cause)
                            if beginning.serves(&query.kind) =>
                        {
                            found.unread.insert(GroupKind::new(&query.kind.group, &query.kind.kind), cause);
                        }
                        Observation::Unknown(cause) | Observation::Forbidden(cause) => {
                            let kind = &query.kind;
                            let may_be_gone = self.intent != Intent::Apply && is_namespaced(kind).is_none();
                            let cure = if may_be_gone { GONE_FOR_GOOD } else { "" };
                            let message =
                                format!("failed to list the bundle's objects of the kind {kind}: {cause}{cure}");
                            self.stage = Stage::Unread(Failure::new(FailReason::DiscoveryFailed, message));
                            return;
                        }
                    }
                }
                if is_whole {
                    self.begin(found);
                }
            }
            (Stage::Running(session, is_parents @ true), BundleAnswer::Written(answers)) => {
                *is_parents = false;
                let result = match answers.into_iter().next() {
                    Some(Executed::Failed(error)) if error.kind == WriteErrorKind::NamespaceTerminating => {
                        session.parent_waits_for_namespace();
                        return;
                    }
                    Some(Executed::Created(object)) => Ok((OutcomeResult::Created, object)),
                    Some(Executed::Updated(object)) => Ok((OutcomeResult::Updated, object)),
                    Some(Executed::Failed(error)) => Err(Failure::from(&error)),
                    Some(Executed::NameTaken(Some(holder))) if !has_owner_of(self.desired.as_ref(), &holder) => {
                        let owner = whose(&Version::new(holder));
                        let message = format!(
                            "another object has the parent's name, and belongs to {owner}; give the bundle another `name`"
                        );
                        Err(Failure::new(FailReason::NameTaken, message))
                    }
                    Some(_) | None => {
                        let message = "somebody else wrote it at the same time; the next event reads it again";
                        Err(Failure::new(FailReason::Conflict, message))
                    }
                };
                session.parent_written(result.map(|(result, object)| {
                    self.live = Some(Version::new(object));
                    self.written.get_or_insert(result);
                }));
            }
            (Stage::Running(session, false), BundleAnswer::Written(answers)) => session.record(answers),
            (Stage::Running(session, _), BundleAnswer::Inspected(found)) => {
                session
                    .inspected(found.into_iter().map(|found| found.map_err(|error| Failure::from(&error))).collect());
            }
            // An answer to another question.
            (Stage::Reading(_) | Stage::Unread(_), _) => {}
        }
    }
}
