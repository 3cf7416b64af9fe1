//! Reads without deciding, for a report while the preconditions are not met (`discover: always`).
//!
//! In: the same reads as those of a plan. Out: `resources`, as a plan would show it before its first decision. Two kinds of
//! resources have an outcome: one that could not be read, because an unread object is not an absent one; and a disowned one
//! beside which an object is still terminating, because `Finalized` must not be True yet.

use lifecycle_language::scope::Scope;
use lifecycle_objects::failure::{FailReason, Failure};
use lifecycle_objects::object_ref::ObjectRef;
use lifecycle_objects::observation::{Observation, held_by};

use super::decide::current;
use super::{Planner, Read, State};
use crate::decision::{Decision, SkipReason};
use crate::outcome::{Outcome, OutcomeResult};
use crate::row::Row;
use crate::task::Resource;

impl Planner<'_> {
    /// The reads that the caller has to send next, all at the same time, each to be passed to
    /// [`Self::observe`]; `None` once every object is visible. The planner is then done and decides nothing.
    pub fn survey(&mut self, scope: &mut Scope) -> Option<Vec<Read>> {
        let reads = self.reads(scope);
        if !reads.is_empty() {
            return Some(reads);
        }
        self.state = State::Done;
        if !self.task.has_lifecycle() {
            // In a task without lifecycle keys, a resource becomes visible at its own turn, and a survey has no
            // turns.
            (0..self.slots.len()).for_each(|index| self.publish(index, scope));
        }
        self.hide_ambiguous(scope);
        self.look_inside_each(scope);
        for index in 0..self.slots.len() {
            // A nested discovery whose name is already taken is skipped here: the next plan fails for it, and a
            // report needs no decision.
            let look = self.look_inside(index, scope);
            let inside = look.unreadable.first().map(ToString::to_string);
            let outcome = self.unread(index, inside).or_else(|| self.leaves_terminating(index, scope));
            self.outcomes.extend(outcome);
        }
        None
    }

    /// Treats a resource whose ownership is ambiguous as unread, and removes its object from `resources`:
    /// otherwise a report could show the state of another resource's object. Where only the
    /// rendered manifest decides about ownership, a manifest that reads such a resource is ambiguous as well.
    fn hide_ambiguous(&mut self, scope: &mut Scope) {
        let unclear = |planner: &Self, scope: &Scope| {
            (0..planner.slots.len()).find_map(|index| Some((index, planner.ownership(index, scope).err()?)))
        };
        while let Some((index, cause)) = unclear(self, scope) {
            self.slots[index].observation = Some(Observation::Unknown(cause));
            self.show(index, None, scope);
        }
        // Manifests that read other resources could not be rendered while those resources were unread, so
        // publish all once more.
        (0..self.slots.len()).for_each(|index| self.publish(index, scope));
    }

    /// The outcome of a resource that could not be read. `inside` is the reason why one of its nested
    /// discoveries could not be read.
    fn unread(&self, index: usize, inside: Option<String>) -> Option<Outcome> {
        let resource = &self.task.resources[index];
        let cause = match &self.slots[index].observation {
            Some(Observation::Found(_)) => inside?,
            Some(Observation::Unknown(cause) | Observation::Forbidden(cause)) => cause.clone(),
            None => "it was not discovered".to_owned(),
        };
        let failure = Failure::new(FailReason::DiscoveryFailed, cause);
        let result = OutcomeResult::Failed(failure.clone());
        Some(outcome(resource, (Row::Unknown, Decision::Fail(failure), result), 0))
    }

    /// The outcome of a disowned resource of which one version is still terminating.
    fn leaves_terminating(&self, index: usize, scope: &Scope) -> Option<Outcome> {
        let owned = self.ownership(index, scope).ok()?;
        let versions = self.versions(index, &owned.places);
        let is_disowned = versions.iter().any(|version| version.is_disowned());
        let is_left = versions.iter().any(|version| version.is_terminating() && !version.is_disowned());
        let skip = (Row::AlreadyDisowned, Decision::Skip(SkipReason::Disowned), OutcomeResult::Skipped);
        (is_disowned && is_left).then(|| outcome(&self.task.resources[index], skip, versions.len()))
    }

    /// After a survey: the objects that a delete gate would have to delete, or that have lost a label, in words; `None` if
    /// there are none. Foreign and disowned objects do not count.
    #[must_use]
    pub fn surveyed_objects(&self, scope: &Scope) -> Option<String> {
        let deletable = (0..self.slots.len()).filter(|&index| self.task.resources[index].gates.delete.is_some());
        let left = deletable.filter_map(|index| {
            // A resource whose ownership is ambiguous has failed already.
            let owned = self.ownership(index, scope).ok()?;
            if let Some(lost) = self.lost(index, owned.written(), scope) {
                return Some(lost.message);
            }
            let versions = self.versions(index, owned.written()).into_iter().filter(|version| !version.is_disowned());
            let object = current(versions, self.stamp.generation)?.object();
            let held = held_by(object).map(|held| format!(", {held}")).unwrap_or_default();
            Some(format!("resource {}: {} still exists{held}", self.task.resources[index].name, ObjectRef::of(object)))
        });
        let left = left.collect::<Vec<_>>().join("; ");
        (!left.is_empty()).then_some(left)
    }
}

/// The outcome of a resource about which the planner decided nothing.
fn outcome(resource: &Resource, (row, decision, result): (Row, Decision, OutcomeResult), versions: usize) -> Outcome {
    Outcome {
        resource: resource.name.clone(),
        kind: resource.kind.clone(),
        namespace: String::new(),
        name: String::new(),
        versions,
        is_foreign: false,
        row,
        failed_earlier: None,
        detail: None,
        unobserved: None,
        decision,
        result,
        can_be_disowned: resource.gates.orphan.is_some(),
        can_be_deleted: resource.gates.delete.is_some(),
        finalized: false,
        gates: Vec::new(),
        pruned: Vec::new(),
        bundle: None,
        warnings: Vec::new(),
    }
}
