//! What a deletion would take along.
//!
//! Kubernetes collects what an owner leaves behind, and what that owned in turn, whatever its labels say. So an owner waits
//! while something that is to be released still hangs on it. What cannot be told counts as such.

use std::collections::BTreeSet;

use super::decide::{Gate, GateAnswer, Questions as _};
use super::gates::Examination;
use super::owner::names_one_of;
use super::{Planner, Slot};
use crate::observation::{Observation, Version};
use crate::scope::Scope;

impl Planner<'_> {
    /// Whether a later resource is to be released, and one of its objects names one of `owners`, objects of the resource at
    /// `index`, or hangs on them through others.
    pub(super) fn owns_what_is_to_be_released(
        &self,
        index: usize,
        owners: &[&Version],
        scope: &Scope,
        unknown: &BTreeSet<&str>,
    ) -> bool {
        self.task.dependents_of(index).any(|dependent| {
            let Slot { observation: Some(Observation::Found(_)), .. } = &self.slots[dependent] else {
                return self.task.leads_to_a_release(dependent);
            };
            let Ok(ours) = self.ours(dependent, scope) else { return self.task.leads_to_a_release(dependent) };
            let all = self.versions(dependent, &ours.places);
            let is_left = |version: &&Version| !version.is_disowned() && !version.is_terminating();
            let left: Vec<&Version> =
                all.iter().copied().filter(is_left).filter(|version| names_one_of(version, owners)).collect();
            if left.is_empty() {
                return false;
            }
            // Beside a released version, the others are released without a gate.
            let is_released = all.iter().any(|version| version.is_disowned())
                || self.task.resources[dependent].gates.orphan.is_some() && {
                    let mut examination = Examination::new(self.context(dependent, scope, unknown), &all, None, None);
                    examination.gate(Gate::Orphan) != GateAnswer::DoesNotHold
                };
            is_released || self.owns_what_is_to_be_released(dependent, &left, scope, unknown)
        })
    }
}
