//! The turn of a bundle: from the decision about its parent to its members.
//!
//! In: the decision, and what the caller read, wrote and looked at. Out: one [`BundleStep`] after the other; in the end the
//! entry's outcome, with a [`Report`]. What fails is the outcome of the entry.
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

use serde_json::Value;

use super::decide::current;
use super::{After, Next, Pending, Planner, Purpose, State, Write, reads};
use crate::bundle::applyset;
use crate::bundle::member::Rendered;
use crate::bundle::parent::Parent;
use crate::bundle::prepare::prepare;
use crate::bundle::render::render;
use crate::bundle::report::shown;
use crate::bundle::session::{self, Inspection, Session, Setting};
use crate::bundle::table::Intent;
use crate::decision::{Decision, DisownReason, FailReason, Failure, SkipReason};
use crate::destination::Destination;
use crate::manifest::Desired;
use crate::observation::{Observation, Query, QueryBy, Version};
use crate::outcome::OutcomeResult;
use crate::plan::record::write_failure;
use crate::task::Bundle;
use crate::write::{Command, Executed, Target, UpdateMode, WriteError};
use lifecycle_language::scope::Scope;

/// What the caller does for the members of a bundle.
#[derive(Debug, Clone, PartialEq)]
pub enum BundleStep {
    /// Read these, all at the same time, each in whichever version the server serves the kind.
    Read(Vec<Query>),
    /// Execute these, all at the same time.
    Write(Vec<Command>),
    /// Look at these, all at the same time, for something that is not of this set.
    Inspect(Vec<Inspection>, String),
}

/// What came of a [`BundleStep`], in the same order.
#[derive(Debug)]
pub enum BundleAnswer {
    /// What was read.
    Read(Vec<Observation>),
    /// What became of the commands.
    Written(Vec<Executed>),
    /// What was found, in words; none where there is nothing of others.
    Inspected(Vec<Result<Option<String>, WriteError>>),
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
}

#[derive(Debug)]
enum Stage<'t> {
    /// The members are still to be read.
    Reading(Box<Beginning<'t>>, Vec<Query>),
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

/// What the members of a bundle become, given the decision about its parent; none if they stay as they are.
pub(super) fn intent(decision: &Decision) -> Option<Intent> {
    match decision {
        Decision::Create | Decision::Update { .. } | Decision::Skip(SkipReason::SameGeneration(_)) => {
            Some(Intent::Apply)
        }
        Decision::Delete | Decision::Skip(SkipReason::AlreadyAbsent) => Some(Intent::Delete),
        Decision::Disown(_) | Decision::Skip(SkipReason::NothingToDisown) => Some(Intent::Disown),
        Decision::CreateVersion(_)
        | Decision::Patch(_)
        | Decision::Recreate { .. }
        | Decision::Wait(_)
        | Decision::Skip(_)
        | Decision::Fail(_) => None,
    }
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
        match self.beginning(bundle, intent, desired.as_ref(), live.as_ref(), scope) {
            Ok(Some((beginning, queries))) => {
                let last = command.filter(|_| intent != Intent::Apply);
                let desired = desired.map(|desired| desired.object);
                let stage = Stage::Reading(Box::new(beginning), queries);
                self.state =
                    State::Bundle(Box::new(Turn { pending, intent, last, desired, live, written: None, stage }));
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
        let setting = Setting {
            entry: &self.resource().name,
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
        };
        let mut parent = Parent::read(live, &setting.namespace, self.stamp.generation)?;
        // Members that are to go say themselves how; only where they are has to be known.
        let is_rendered = intent == Intent::Apply || !parent.exists();
        let rendered = if is_rendered { self.rendered(bundle, &setting, scope) } else { Ok(Vec::new()) };
        let rendered = match rendered {
            Ok(rendered) => rendered,
            Err(failure) if intent == Intent::Apply => return Err(failure),
            Err(_) => return Ok(None),
        };
        for object in &rendered {
            parent.grow(&object.kind, object.identity.namespace.as_deref());
        }
        let label = BTreeMap::from([(applyset::PART_OF.to_owned(), setting.set.clone())]);
        let query = |(kind, namespace)| Query {
            destination: Destination::ThisCluster,
            kind,
            namespace,
            by: QueryBy::Labels(label.clone()),
        };
        let queries = parent.places()?.into_iter().map(query).collect();
        let rendered = if intent == Intent::Apply { rendered } else { Vec::new() };
        Ok(Some((Beginning { setting, rendered, parent }, queries)))
    }

    /// The objects of the manifests, ready to be written.
    fn rendered(&self, bundle: &Bundle, setting: &Setting<'_>, scope: &Scope) -> Result<Vec<Rendered>, Failure> {
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
        if let Some(step) = turn.go_on() {
            self.state = State::Bundle(turn);
            return Some(Next::Bundle(step));
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
            Stage::Running(session, _) => session.into_report(),
            Stage::Unread(failure) => {
                self.conclude(pending, OutcomeResult::Failed(failure), After::AsObserved, scope);
                return None;
            }
            Stage::Reading(..) => {
                self.conclude(pending, OutcomeResult::Skipped, After::AsObserved, scope);
                return None;
            }
        };
        let is_complete = report.stopped.is_none() && report.failure().is_none();
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
        let result = match (report.failure(), intent) {
            (Some(failure), _) => OutcomeResult::Failed(failure),
            (None, Intent::Apply) if !is_complete => OutcomeResult::Waiting,
            (None, Intent::Apply) => written.unwrap_or_else(|| report.result(intent)),
            (None, Intent::Delete | Intent::Disown) => report.result(intent),
        };
        let after = match live {
            Some(live) => After::Now(Some(Version::new(shown(live.into_object(), Some(&report))))),
            None => After::AsObserved,
        };
        pending.report = Some(report);
        self.conclude(pending, result, after, scope);
        None
    }
}

impl Turn<'_> {
    fn go_on(&mut self) -> Option<BundleStep> {
        if let Stage::Reading(_, queries) = &self.stage {
            if !queries.is_empty() {
                return Some(BundleStep::Read(queries.clone()));
            }
            self.begin(Vec::new());
        }
        let Stage::Running(session, is_parents) = &mut self.stage else { return None };
        match session.go_on() {
            session::Next::Send(commands) => Some(BundleStep::Write(commands)),
            session::Next::Inspect(inspections) => Some(BundleStep::Inspect(inspections, session.set().to_owned())),
            session::Next::Done => None,
            session::Next::WriteParent => {
                *is_parents = true;
                let mut desired = self.desired.clone()?;
                session.parent().write(&mut desired, env!("CARGO_PKG_VERSION"));
                let destination = Destination::ThisCluster;
                Some(BundleStep::Write(vec![match &self.live {
                    None => Command::Create { destination, desired },
                    Some(live) => {
                        let target = Target::of(live, &crate::object_ref::ObjectRef::of(&desired).kind, &destination);
                        Command::Update { desired, mode: UpdateMode::Apply, target, live: live.clone() }
                    }
                }]))
            }
        }
    }

    fn begin(&mut self, found: Vec<Version>) {
        // What the session begins with is moved, and the stage replaced at once.
        let unread = Failure::new(FailReason::DiscoveryFailed, "the members were not read");
        if let Stage::Reading(beginning, _) = std::mem::replace(&mut self.stage, Stage::Unread(unread)) {
            let Beginning { setting, rendered, parent } = *beginning;
            let session = Session::new(setting, self.intent, rendered, found, parent);
            self.stage = Stage::Running(Box::new(session), false);
        }
    }

    fn answer(&mut self, answer: BundleAnswer) {
        match (&mut self.stage, answer) {
            (Stage::Reading(_, queries), BundleAnswer::Read(observations)) => {
                let is_whole = queries.len() == observations.len();
                let mut found = Vec::new();
                for (query, observation) in queries.iter().zip(observations) {
                    match observation {
                        Observation::Found(versions) => found.extend(versions),
                        Observation::Unknown(cause) => {
                            let message =
                                format!("failed to list the bundle's objects of the kind {}: {cause}", query.kind);
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
                    Some(Executed::Created(object)) => Ok((OutcomeResult::Created, object)),
                    Some(Executed::Updated(object)) => Ok((OutcomeResult::Updated, object)),
                    Some(Executed::Failed(error)) => Err(write_failure(&error)),
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
                    .inspected(found.into_iter().map(|found| found.map_err(|error| write_failure(&error))).collect());
            }
            // An answer to another question.
            (Stage::Running(..) | Stage::Reading(..) | Stage::Unread(_), _) => {}
        }
    }
}
