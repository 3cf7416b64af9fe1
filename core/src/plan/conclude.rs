//! The end of a resource's turn: updates `resources`, records the outcome, and keeps what dependents need to know.

use lifecycle_bundle::report::shown;
use lifecycle_language::scope::Scope;
use lifecycle_objects::keys;
use lifecycle_objects::object_ref::ObjectRef;
use lifecycle_objects::observation::{Observation, QueryBy, Version, could_find, held_by, whose};

use super::decide::current;
use super::inside::is_applied;
use super::owner::OwnerStatus;
use super::{After, Pending, Planner, Slot, State};
use crate::decision::{Decision, SkipReason, WaitReason};
use crate::outcome::{Outcome, OutcomeResult};
use crate::warning::{Warning, WarningReason};

impl Planner<'_> {
    /// Ends the current resource's turn after its decision was carried out: updates `resources.<name>` and the names of its nested
    /// discoveries, and records the outcome. Expired former versions are pruned next.
    pub(super) fn conclude(&mut self, pending: Pending, mut result: OutcomeResult, after: After, scope: &mut Scope) {
        let resource = self.resource();
        self.note_status(&pending, &result, &after);
        let expired = self.expired(&pending, &result, &after, scope);
        let leaves_terminating = self
            .versions(self.position(), &pending.owned.places)
            .iter()
            .any(|version| version.is_terminating() && !version.is_disowned());
        let detail = self.detail(&pending, &result, &after);
        let Pending { decided, place: (namespace, name), owned, record, report, .. } = pending;
        if let After::Now(version) = after {
            let object = version.map(Version::into_object).map(|object| match &report {
                Some(report) => shown(object, Some(report)),
                None => object,
            });
            self.show(self.position(), object, scope);
        }
        let unobserved = self.unobserved(&decided.decision, &owned.places, scope);
        let has_lifecycle = self.task.has_lifecycle();
        if !has_lifecycle && is_left_out(&decided.decision, &result) {
            self.show(self.position(), None, scope);
        }
        let mut warnings = record.warnings;
        let lost = self.lost(self.position(), owned.written(), scope);
        let former = self.slots[self.position()].former.warning().cloned();
        let is_left = former.as_ref().is_some_and(|warning| warning.reason == WarningReason::LeftBehind);
        let is_lost = lost.is_some() || is_left;
        warnings.extend(lost.into_iter().chain(former));
        let is_applied = is_applied(&decided.decision, &result);
        if has_lifecycle || is_applied {
            let look = self.look_inside(self.position(), scope);
            warnings.extend(look.unreadable);
            if is_applied {
                warnings.extend(look.left_out);
                result = look.collision.map_or(result, OutcomeResult::Failed);
            }
        }
        // A collision of names may have failed the resource, which then prunes nothing. Gates of other resources see
        // the object that was written.
        let expired = if matches!(result, OutcomeResult::Failed(_)) { Vec::new() } else { expired };
        let (expired, pending_prune) = self.wait_to_prune(expired, scope);
        warnings.extend(pending_prune);
        let is_held_back = decided.decision == Decision::Skip(SkipReason::EarlierFailure);
        let outcome = Outcome {
            failed_earlier: self.failed_earlier().filter(|_| is_held_back).map(str::to_owned),
            resource: resource.name.clone(),
            kind: resource.kind.clone(),
            namespace,
            name,
            row: decided.row,
            can_be_disowned: resource.gates.orphan.is_some(),
            can_be_deleted: resource.gates.delete.is_some(),
            finalized: is_finalized(&decided.decision, &result, leaves_terminating) && !is_lost,
            decision: decided.decision,
            result,
            gates: record.gates,
            versions: owned.places.len(),
            is_foreign: owned.is_foreign,
            detail,
            unobserved,
            pruned: Vec::new(),
            bundle: report.map(Box::new),
            warnings,
        };
        if expired.is_empty() {
            self.end(outcome);
            return;
        }
        self.state = State::Pruning(Box::new(outcome), expired);
    }

    /// What the decision's sentence leaves unsaid of a live object.
    fn detail(&self, pending: &Pending, result: &OutcomeResult, after: &After) -> Option<String> {
        let index = self.position();
        let is_absent =
            matches!(pending.decided.decision, Decision::Skip(SkipReason::AlreadyAbsent | SkipReason::NothingToDisown));
        if is_absent {
            return self.others(index);
        }
        let is_going = *result == OutcomeResult::Deleting
            || matches!(pending.decided.decision, Decision::Wait(WaitReason::Deleting | WaitReason::Terminating));
        let object = match after {
            After::Now(object) => object.as_ref(),
            After::AsObserved => current(self.versions(index, &pending.owned.places), self.stamp.generation),
        };
        object.filter(|_| is_going).and_then(|object| held_by(object.object()))
    }

    /// Whose the object is that has the name which the resource looks for, and counts as absent because the resource does not own
    /// it. `None` if there is none.
    fn others(&self, index: usize) -> Option<String> {
        let Slot { query: Some(query), observation: Some(Observation::Found(versions)), .. } = &self.slots[index]
        else {
            return None;
        };
        let version =
            versions.iter().find(|version| matches!(query.by, QueryBy::Name(_)) && could_find(query, *version))?;
        Some(format!("{} belongs to {}; it is left alone", ObjectRef::of(version.object()), whose(version)))
    }

    /// Warns of an object outside of `written` that the resource would have to delete or disown, and does not, because the
    /// object has lost one of the labels by which it is recognised.
    pub(super) fn lost(&self, index: usize, written: &[usize], scope: &Scope) -> Option<Warning> {
        let resource = &self.task.resources[index];
        if resource.gates.delete.is_none() && resource.gates.orphan.is_none() {
            return None;
        }
        let Some(Observation::Found(versions)) = &self.slots[index].observation else { return None };
        let unknown = self.unknown();
        let mut others = versions.iter().enumerate().filter(|(place, _)| !written.contains(place));
        others.find_map(|(_, version)| {
            let identity = self.context(index, scope, &unknown).ownership_fields().ok();
            let label = self.criteria(index, identity.as_ref()).lost_label(version)?;
            let (namespace, name) = (version.namespace(), version.name());
            let object = if namespace.is_empty() { name.to_owned() } else { format!("{namespace}/{name}") };
            let message = format!(
                "{} {object} exists, but has lost the label `{label}`, so it is neither deleted nor disowned; restore the \
                 label, or remove the label `{}` too if the object is to stay",
                resource.kind.kind,
                keys::RESOURCE
            );
            Some(Warning::new(WarningReason::OwnershipLost, message))
        })
    }

    /// Ends the current resource's turn.
    pub(super) fn end(&mut self, outcome: Outcome) {
        self.outcomes.push(outcome);
        self.begin_turn();
    }

    /// Stores the owner status of the resource, if another resource names it as its owner.
    fn note_status(&mut self, pending: &Pending, result: &OutcomeResult, after: &After) {
        let index = self.position();
        if !self.task.resources.iter().any(|other| other.owner == Some(index)) {
            return;
        }
        let observed = || {
            let generation = pending.desired.unwrap_or(self.stamp.generation);
            current(self.versions(index, &pending.owned.places), generation)
        };
        let object = match after {
            After::Now(Some(version)) => Some(version),
            After::Now(None) | After::AsObserved => observed(),
        };
        let resource = self.resource();
        let status = OwnerStatus::of((&resource.name, &resource.kind), (&pending.decided.decision, result), object);
        self.slots[index].owner_status = Some(status);
    }
}

/// Whether a task without a lifecycle key leaves the resource out of `resources`. The Go adapter adds a resource when the
/// resource was applied, and stops at the first failure.
fn is_left_out(decision: &Decision, result: &OutcomeResult) -> bool {
    matches!(result, OutcomeResult::Failed(_)) || *decision == Decision::Skip(SkipReason::EarlierFailure)
}

/// Whether nothing of the resource is left to delete or disown. A terminating version cannot be disowned, and is not gone
/// yet.
fn is_finalized(decision: &Decision, result: &OutcomeResult, leaves_terminating: bool) -> bool {
    match decision {
        // The members of a bundle without its parent may be unread.
        Decision::Skip(SkipReason::AlreadyAbsent | SkipReason::NothingToDisown | SkipReason::NotOurs) => {
            !matches!(result, OutcomeResult::Failed(_))
        }
        Decision::Skip(SkipReason::Disowned) => !leaves_terminating,
        Decision::Disown(_) => *result == OutcomeResult::Disowned && !leaves_terminating,
        Decision::Skip(_)
        | Decision::Create
        | Decision::CreateVersion(_)
        | Decision::Update { .. }
        | Decision::Patch(_)
        | Decision::Recreate { .. }
        | Decision::Delete
        | Decision::Resend(_)
        | Decision::Wait(_)
        | Decision::Fail(_) => false,
    }
}
