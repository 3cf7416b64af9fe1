//! The turn of a bundle: from the decision about its parent to its members.
//!
//! In: the decision, and the caller's answers. Out: one [`Request`] after the other, as the bundle's [`Pass`] needs it; in the end the
//! entry's outcome, with a [`Report`]. What fails is the outcome of the entry.
//!
//! | decision about the parent | the members | the parent |
//! | --- | --- | --- |
//! | create, update, or nothing to do for this generation | are applied | is written where the pass says |
//! | delete | are deleted | is deleted once they are gone |
//! | disown | are disowned | is disowned once they are |
//! | nothing to delete or to disown, because there is none | the same, if the manifests tell where they are | |
//! | any other | stay as they are | |
//!
//! The last row but one is for a parent that somebody deleted by hand.

use lifecycle_bundle::applyset;
use lifecycle_bundle::marks::ownership_labels::OwnershipLabels;
use lifecycle_bundle::member::Rendered;
use lifecycle_bundle::memory::{Memory, Stored};
use lifecycle_bundle::need::{Answer, Need, NotKept, Request, Response};
use lifecycle_bundle::parent;
use lifecycle_bundle::pass::{Beginning, Pass};
use lifecycle_bundle::prepare::prepare;
use lifecycle_bundle::report::{Report, StoppedBy};
use lifecycle_bundle::setting::{Barrier, Setting};
use lifecycle_bundle::table::Intent;
use lifecycle_language::scope::Scope;
use lifecycle_objects::destination::Destination;
use lifecycle_objects::failure::{FailReason, Failure};
use lifecycle_objects::keys;
use lifecycle_objects::object_ref::ObjectRef;
use lifecycle_objects::observation::{Described as _, Version, whose};
use lifecycle_objects::write::{Command, Disowning, Executed, Target, UpdateMode, WriteErrorKind};
use serde_json::Value;

use super::decide::current;
use super::disown;
use super::{After, Next, Pending, Place, Planner, Purpose, State, Write, reads};
use crate::bundle::render::render;
use crate::decision::{Decision, DisownReason, SkipReason, WaitReason};
use crate::manifest::Desired;
use crate::outcome::OutcomeResult;
use crate::task::Bundle;

/// A bundle whose turn it is.
#[derive(Debug)]
pub(super) struct Turn<'t> {
    pending: Pending,
    pass: Pass<'t>,
    parent: Parent,
    /// The parent's own write, which comes after those of the members.
    last: Option<Command>,
}

/// The parent, which keeps what the set remembers.
#[derive(Debug)]
struct Parent {
    /// Its stamped object, without what it says about members; none if it is not written.
    desired: Option<Value>,
    /// As the cluster has it.
    live: Option<Version>,
    /// What became of it.
    written: Option<OutcomeResult>,
}

impl Parent {
    /// The write that keeps this memory.
    fn keep(&self, memory: &Memory) -> Option<Command> {
        let mut desired = self.desired.clone()?;
        parent::write(memory, &mut desired, env!("CARGO_PKG_VERSION"));
        let destination = Destination::ThisCluster;
        Some(match &self.live {
            None => Command::Create { destination, desired },
            Some(live) => {
                let target = Target::of(live, &ObjectRef::of(&desired).kind, &destination);
                Command::Update { desired, mode: UpdateMode::Apply, target, live: live.clone() }
            }
        })
    }

    /// Takes what became of that write.
    fn kept(&mut self, answers: Vec<Executed>) -> Result<(), NotKept> {
        let failed = |reason, message: String| Err(NotKept::Failed(Failure::new(reason, message)));
        let (result, object) = match answers.into_iter().next() {
            Some(Executed::Created(object)) => (OutcomeResult::Created, object),
            Some(Executed::Updated(object)) => (OutcomeResult::Updated, object),
            Some(Executed::Failed(error)) if error.kind == WriteErrorKind::NamespaceTerminating => {
                return Err(NotKept::NamespaceTerminating);
            }
            Some(Executed::Failed(error)) => return Err(NotKept::Failed(Failure::from(&error))),
            Some(Executed::NameTaken(Some(holder))) if !has_owner_of(self.desired.as_ref(), &holder) => {
                let owner = whose(&Version::new(holder));
                let message = format!(
                    "another object has the parent's name, and belongs to {owner}; give the bundle another `name`"
                );
                return failed(FailReason::NameTaken, message);
            }
            Some(_) | None => {
                let message = "somebody else wrote it at the same time; the next event reads it again";
                return failed(FailReason::Conflict, message.to_owned());
            }
        };
        self.live = Some(Version::new(object));
        self.written.get_or_insert(result);
        Ok(())
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

/// The decision about a bundle, given that about its parent and what the pass did: members may be left although the parent is gone, and
/// nothing is written while the parent waits for its namespace.
fn decision_of_set(of_parent: Decision, report: &Report, namespace: &str) -> Decision {
    let has_members = !report.objects.is_empty();
    if report.stopped.as_ref().is_some_and(|stop| matches!(stop.by, StoppedBy::Memory { failure: None, .. })) {
        return Decision::Wait(WaitReason::NamespaceTerminating(namespace.to_owned()));
    }
    match of_parent {
        Decision::Skip(SkipReason::AlreadyAbsent) if has_members => Decision::Delete,
        Decision::Skip(SkipReason::NothingToDisown) if has_members => Decision::Disown(DisownReason::GateHolds),
        same @ (Decision::Create
        | Decision::CreateVersion(_)
        | Decision::Update { .. }
        | Decision::Patch(_)
        | Decision::Recreate { .. }
        | Decision::Resend(_)
        | Decision::Delete
        | Decision::Disown(_)
        | Decision::Wait(_)
        | Decision::Skip(_)
        | Decision::Fail(_)) => same,
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
        let last = command.filter(|_| intent != Intent::Apply);
        let place = self.place_of_parent(desired.as_ref(), live.as_ref(), scope);
        let beginning = match place {
            Ok(Some(place)) => self.beginning(bundle, intent, place, live.as_ref(), last.is_some(), scope),
            Ok(None) => Ok(None),
            Err(failure) => Err(failure),
        };
        match beginning {
            Ok(Some(beginning)) => {
                let parent = Parent { desired: desired.map(|desired| desired.object), live, written: None };
                let turn = Turn { pending, pass: Pass::new(beginning), parent, last };
                self.state = State::Bundle(Box::new(turn));
            }
            Ok(None) => self.conclude(pending, OutcomeResult::Skipped, After::AsObserved, scope),
            Err(failure) => self.conclude(pending, OutcomeResult::Failed(failure), After::AsObserved, scope),
        }
    }

    /// The namespace and the name of the parent; none if nothing tells.
    fn place_of_parent(
        &self,
        desired: Option<&Desired>,
        live: Option<&Version>,
        scope: &Scope,
    ) -> Result<Option<(String, String)>, Failure> {
        let (namespace, name) = match (live, desired) {
            (Some(live), _) => (live.namespace().to_owned(), live.name().to_owned()),
            (None, Some(desired)) => (desired.namespace.clone().unwrap_or_default(), desired.name.clone()),
            (None, None) => match self.context(self.position(), scope, &self.unknown()).ownership_fields() {
                Ok(identity) => (identity.namespace().to_owned(), identity.name().to_owned()),
                Err(_) => return Ok(None),
            },
        };
        if namespace.is_empty() || name.is_empty() {
            let message = "the bundle's `namespace` and `name` have to render to a text that is not empty";
            return Err(Failure::new(FailReason::RenderFailed, message));
        }
        Ok(Some((namespace, name)))
    }

    /// What the pass begins with; none if nothing tells where members can be.
    fn beginning(
        &self,
        bundle: &'t Bundle,
        intent: Intent,
        place: Place,
        live: Option<&Version>,
        is_last: bool,
        scope: &Scope,
    ) -> Result<Option<Beginning<'t>>, Failure> {
        let setting = self.setting(self.position(), bundle, place, intent, scope);
        let memory = live.map(parent::read).transpose()?;
        // Members that are to go say themselves how; only where they are has to be known.
        let is_rendered = intent == Intent::Apply || !memory.as_ref().is_some_and(Stored::is_whole);
        let rendered = if is_rendered { self.rendered(bundle, &setting, scope) } else { Ok(Vec::new()) };
        match rendered {
            Ok(rendered) => Ok(Some(Beginning { setting, intent, rendered, memory, is_last })),
            // A bundle whose manifests never rendered has neither a parent nor members. Nothing tells where members would be if
            // somebody deleted the parent: the sweeper finds them.
            Err(_) if intent != Intent::Apply && live.is_none() => Ok(None),
            Err(failure) => Err(failure),
        }
    }

    /// What stays the same for a bundle whose parent is in this namespace and has this name.
    pub(super) fn setting(
        &self,
        index: usize,
        bundle: &'t Bundle,
        (namespace, name): (String, String),
        intent: Intent,
        scope: &Scope,
    ) -> Setting<'t> {
        let marks = OwnershipLabels::new(&self.task.resources[index].name, self.stamp.clone(), &namespace, &name);
        let marks = match intent {
            Intent::Apply => marks,
            Intent::Delete | Intent::Disown => {
                marks.with_former_entries(self.task.resources.iter().map(|resource| resource.name.as_str()).collect())
            }
        };
        Setting {
            marks: Box::new(marks),
            generation: self.stamp.generation,
            destination: Destination::ThisCluster,
            namespace,
            prefix: &bundle.prefix,
            defaults: bundle.policies,
            barrier: Barrier::Ready,
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
        loop {
            let State::Bundle(turn) = &mut self.state else { return None };
            match turn.next() {
                Some(Wish::Request(request)) => return Some(Next::Bundle(request)),
                Some(Wish::Siblings(intent)) => {
                    let siblings = self.siblings(intent, scope);
                    if let State::Bundle(turn) = &mut self.state {
                        turn.pass.answer(Answer::Siblings(siblings));
                    }
                }
                None => return self.end_bundle(scope).map(|write| Next::Write(Box::new(write))),
            }
        }
    }

    /// Takes what came of the last [`Request`].
    pub fn answer(&mut self, response: Response) {
        if let State::Bundle(turn) = &mut self.state {
            turn.answer(response);
        }
    }

    /// Ends the turn of a bundle, or goes on to the parent's own write.
    fn end_bundle(&mut self, scope: &mut Scope) -> Option<Write> {
        let State::Bundle(turn) = std::mem::replace(&mut self.state, State::Done) else { return None };
        let Turn { mut pending, pass, parent: Parent { live, written, .. }, last } = *turn;
        let intent = pass.intent();
        let report = match pass.report() {
            Ok(report) => report,
            Err(failure) => {
                self.conclude(pending, OutcomeResult::Failed(failure), After::AsObserved, scope);
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
        pending.decided.decision = decision_of_set(pending.decided.decision, &report, &pending.place.0);
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
    Request(Request),
    /// What the other entries of the task render, which the planner knows.
    Siblings(Intent),
}

impl Turn<'_> {
    fn next(&mut self) -> Option<Wish> {
        loop {
            match self.pass.next_need()? {
                Need::Request(request) => return Some(Wish::Request(request)),
                Need::Siblings => return Some(Wish::Siblings(self.pass.intent())),
                Need::Remember(memory) => match self.parent.keep(&memory) {
                    Some(command) => return Some(Wish::Request(Request::Write(vec![command]))),
                    None => {
                        let failure = Failure::new(FailReason::RenderFailed, "it was not rendered");
                        self.pass.answer(Answer::Remembered(Err(NotKept::Failed(failure))));
                    }
                },
            }
        }
    }

    fn answer(&mut self, response: Response) {
        let answer = match response {
            Response::Written(answers) if !self.pass.awaits_commands() => Answer::Remembered(self.parent.kept(answers)),
            Response::Read(_) | Response::Written(_) | Response::Inspected(_) => Answer::Response(response),
        };
        self.pass.answer(answer);
    }
}
