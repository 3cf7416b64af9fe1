//! Reading without deciding: what a report needs while the preconditions are not met.
//!
//! In: the same reads as those of a plan. Out: `resources`, as a plan would show it before its first decision. An outcome
//! comes only of a resource that could not be read, because an unread object is not an absent one.

use super::decision::{Decision, FailReason, Failure};
use super::row::Row;
use super::{Planner, Wanted};
use crate::observation::Observation;
use crate::outcome::{Outcome, OutcomeResult};
use crate::scope::Scope;

impl Planner<'_> {
    /// The reads that are left, all at once, each to be [observed](Self::observe); none when everything is visible. A plan that
    /// is surveyed is not to be asked for its [next](Self::next) step.
    pub fn survey(&mut self, scope: &mut Scope) -> Option<Vec<Wanted>> {
        let wanted = self.queries(scope);
        if !wanted.is_empty() {
            return Some(wanted);
        }
        if !self.task.has_lifecycle() {
            // In such a task a resource is otherwise visible from its own turn on, and no turn comes.
            (0..self.slots.len()).for_each(|index| self.publish(index, scope));
        }
        self.hide_unclear(scope);
        self.look_inside_each(scope);
        for index in 0..self.slots.len() {
            // A name that is taken stays what it is: the next plan fails for it, and a report needs no decision.
            let look = self.look_inside(index, scope);
            let inside = look.unreadable.first().map(ToString::to_string);
            let unread = self.unread(index, inside);
            self.outcomes.extend(unread);
        }
        None
    }

    /// Treats a resource whose ownership is unclear as unread, and shows nothing of it: a report would otherwise tell another
    /// resource's state as its own. What has read a hidden resource is unclear as well.
    fn hide_unclear(&mut self, scope: &mut Scope) {
        let unclear = |planner: &Self, scope: &Scope| {
            (0..planner.slots.len()).find_map(|index| Some((index, planner.ours(index, scope).err()?)))
        };
        while let Some((index, cause)) = unclear(self, scope) {
            self.slots[index].observation = Some(Observation::Unknown(cause));
            self.show(index, None, scope);
        }
        // Identities that read other resources could not render while those were unread.
        (0..self.slots.len()).for_each(|index| self.publish(index, scope));
    }

    /// The outcome of a resource that could not be read; `inside` says why something inside of its object could not.
    fn unread(&self, index: usize, inside: Option<String>) -> Option<Outcome> {
        let resource = &self.task.resources[index];
        let cause = match &self.slots[index].observation {
            Some(Observation::Found(_)) => inside?,
            Some(Observation::Unknown(cause)) => cause.clone(),
            None => "it was not discovered".to_owned(),
        };
        let failure = Failure::new(FailReason::DiscoveryFailed, cause);
        Some(Outcome {
            resource: resource.name.clone(),
            kind: resource.kind.clone(),
            namespace: String::new(),
            name: String::new(),
            versions: 0,
            row: Row::Unknown,
            decision: Decision::Fail(failure.clone()),
            result: OutcomeResult::Failed(failure),
            can_be_released: resource.gates.orphan.is_some(),
            can_be_deleted: resource.gates.delete.is_some(),
            finalized: false,
            gates: Vec::new(),
            pruned: Vec::new(),
            warnings: Vec::new(),
        })
    }
}
