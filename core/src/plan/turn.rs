//! One resource's turn: which objects it owns, what the table decides, and which write carries that out.
//!
//! In: what was observed. Out: a write that is ready, or the resource's end. What fails here is an outcome of the resource.

use lifecycle_language::scope::Scope;
use lifecycle_objects::failure::FailReason;
use lifecycle_objects::observation::{Observation, Version};

use super::bundle;
use super::decide::{Seen, current, decide};
use super::former::Former;
use super::gates::{Context, Examination};
use super::owned::Ownership;
use super::owner::OwnerStatus;
use super::reads;
use super::requirement::refused;
use super::{After, Attempt, Pending, Place, Planner, Purpose, State, Write, place};
use crate::decision::{Decision, WaitReason};
use crate::manifest::Desired;
use crate::outcome::OutcomeResult;

impl Planner<'_> {
    /// Applies the decision table to the current resource. Returns the write of the decision; a decision
    /// without a write ends the resource's turn at once.
    pub(super) fn decide_current(&mut self, attempt: Attempt, scope: &mut Scope) -> Option<Write> {
        let position = self.position();
        let owned = self.look(scope);
        let unknown = self.unknown();
        let versions = self.versions(self.position(), &owned.places);
        let pending_disowning = || self.pending_disowning(self.position(), scope, &unknown);
        let context = self.context(self.position(), scope, &unknown);
        let context = Context { pending_disowning: &pending_disowning, ..context };
        let seen = match &self.slots[self.position()].observation {
            None => Seen::Unknown("it was not discovered"),
            Some(Observation::Unknown(cause) | Observation::Forbidden(cause)) => Seen::Unknown(cause),
            Some(Observation::Found(_)) if owned.is_foreign => Seen::Foreign(versions.clone()),
            Some(Observation::Found(_)) => Seen::Versions(versions.clone()),
        };
        let owner = self.owner();
        let mut examination = Examination::new(context, &versions, owner.as_ref(), owned.desired);
        let mut decided = self.without_writing_former(decide(&seen, &mut examination));
        if self.may_search_first(&decided) {
            // Nothing was written: the entry is decided again once it is known what is left of it elsewhere.
            drop(examination);
            self.slots[position].former = Former::Wanted;
            self.state = State::Reading;
            return None;
        }
        let mut examined = examination.into_parts();
        let record = std::mem::take(&mut examined.record);
        let desired = examined.desired.as_ref().map(|desired| desired.generation);
        let place = self.place(&decided.decision, examined.desired.as_ref(), &versions);
        let bundle = self.resource().bundle.as_ref().zip(bundle::intent(&decided.decision));
        let parent = bundle.and(examined.desired.clone());
        let (command, result) = match self.command(&decided.decision, examined, owner.as_ref(), &versions, scope.now())
        {
            Ok(command) => (command, unwritten(&decided.decision)),
            Err(failure) => match owner.as_ref().and_then(OwnerStatus::waits_for_namespace) {
                Some(namespace) if failure.reason == FailReason::OwnerUnavailable => {
                    decided.decision = Decision::Wait(WaitReason::NamespaceTerminating(namespace.to_owned()));
                    (None, OutcomeResult::Waiting)
                }
                Some(_) | None => {
                    decided.decision = refused(decided.decision, failure.clone());
                    (None, OutcomeResult::Failed(failure))
                }
            },
        };
        let owned = Ownership { desired: None, ..owned };
        let is_refused = matches!(result, OutcomeResult::Failed(_));
        let pending = Pending { attempt, decided, place, owned, desired, record, report: None };
        if let Some((bundle, intent)) = bundle.filter(|_| !is_refused) {
            self.begin_bundle(bundle::Decided { bundle, intent, pending, desired: parent, command }, scope);
            return None;
        }
        match command {
            None => {
                self.conclude(pending, result, After::AsObserved, scope);
                None
            }
            Some(command) => {
                let purpose = Purpose::Decided(pending.decided.decision.clone());
                self.state = State::Writing(Box::new(pending));
                Some(Write { resource: self.resource().name.clone(), purpose, command })
            }
        }
    }

    /// Finds out which objects the current resource owns, and shows them in `resources`. If ownership is ambiguous, the resource
    /// counts as unread.
    fn look(&mut self, scope: &mut Scope) -> Ownership {
        let index = self.position();
        let has_lifecycle = self.task.has_lifecycle();
        let several =
            matches!(&self.slots[index].observation, Some(Observation::Found(versions)) if versions.len() > 1);
        let mut known = None;
        if several || !has_lifecycle {
            let ownership = self.ownership(index, scope);
            self.show_owned(index, ownership.as_ref().ok(), scope);
            known = Some(ownership);
        }
        if has_lifecycle {
            self.look_inside(index, scope);
        }
        // What was shown may be what the manifest reads.
        let known = known.filter(|_| reads::of_manifest(&self.resource().manifest).is_empty());
        known.unwrap_or_else(|| self.ownership(index, scope)).unwrap_or_else(|cause| {
            self.slots[index].observation = Some(Observation::Unknown(cause));
            Ownership::default()
        })
    }

    /// The namespace and name that a decision is about: those of the rendered manifest if the manifest is
    /// written, otherwise those of the current version.
    fn place(&self, decision: &Decision, desired: Option<&Desired>, versions: &[&Version]) -> Place {
        let generation = desired.map_or(self.stamp.generation, |desired| desired.generation);
        let rendered = desired.map(|desired| (desired.namespace.clone().unwrap_or_default(), desired.name.clone()));
        let live = current(versions.iter().copied(), generation).map(place);
        let place = match decision {
            Decision::Create
            | Decision::CreateVersion(_)
            | Decision::Update { .. }
            | Decision::Recreate { .. }
            | Decision::Fail(_) => rendered.or(live),
            Decision::Patch(_)
            | Decision::Disown(_)
            | Decision::Delete
            | Decision::Resend(_)
            | Decision::Wait(_)
            | Decision::Skip(_) => live.or(rendered),
        };
        place.unwrap_or_default()
    }

    /// The owner that the current resource's objects must reference, if the task names one.
    fn owner(&self) -> Option<OwnerStatus> {
        let index = self.resource().owner?;
        let name = &self.task.resources[index].name;
        if !self.can_meet(index, self.position()) {
            return Some(OwnerStatus::elsewhere(name));
        }
        let status = self.slots[index].owner_status.clone();
        Some(status.unwrap_or_else(|| OwnerStatus::unknown(name)))
    }
}

/// The result of a decision that needs no write.
fn unwritten(decision: &Decision) -> OutcomeResult {
    match decision {
        Decision::Fail(failure) => OutcomeResult::Failed(failure.clone()),
        Decision::Wait(_) => OutcomeResult::Waiting,
        Decision::Skip(_)
        | Decision::Create
        | Decision::CreateVersion(_)
        | Decision::Update { .. }
        | Decision::Patch(_)
        | Decision::Recreate { .. }
        | Decision::Disown(_)
        | Decision::Resend(_)
        | Decision::Delete => OutcomeResult::Skipped,
    }
}
