//! Whether a deletion would take along an object that is to be disowned.
//!
//! Kubernetes' garbage collector deletes what an owner leaves behind, and what that owned in turn, whatever its labels say, and
//! whoever wrote the reference: the key `owner`, the manifest, or a person. So an owner waits while an object of the task that is
//! to be disowned still names it, at the same destination. A dependent whose gate or ownership cannot be told counts as one that is to be disowned.

use std::collections::BTreeSet;

use super::decide::{Gate, GateAnswer, Questions as _};
use super::gates::Examination;
use super::owner::names_one_of;
use super::{Planner, Slot};
use crate::observation::{Observation, Version};
use crate::scope::Scope;

impl Planner<'_> {
    /// Whether an object of another resource is to be disowned, and names one of `owners`, objects of the resource at `index`, or
    /// hangs on them through others.
    pub(super) fn has_dependents_to_disown(
        &self,
        index: usize,
        owners: &[&Version],
        scope: &Scope,
        unknown: &BTreeSet<&str>,
    ) -> bool {
        let mut known = owners.iter().map(|owner| owner.uid()).collect();
        self.leads_to_one(index, owners, &mut known, scope, unknown)
    }

    /// `known` holds the UIDs of all owners that were looked at already: references may form a circle.
    fn leads_to_one<'v>(
        &'v self,
        index: usize,
        owners: &[&'v Version],
        known: &mut BTreeSet<&'v str>,
        scope: &Scope,
        unknown: &BTreeSet<&str>,
    ) -> bool {
        for (dependent, resource) in self.task.resources.iter().enumerate() {
            if dependent == index || !self.can_meet(dependent, index) {
                continue;
            }
            let is_declared = resource.owner == Some(index);
            let Slot { observation: Some(Observation::Found(found)), .. } = &self.slots[dependent] else {
                if is_declared && self.task.leads_to_a_release(dependent) {
                    return true;
                }
                continue;
            };
            if !found.iter().any(|version| names_one_of(version, owners)) {
                continue;
            }
            let Ok(ours) = self.ours(dependent, scope) else {
                if self.task.leads_to_a_release(dependent) {
                    return true;
                }
                continue;
            };
            let all = self.versions(dependent, &ours.places);
            let is_left = |version: &&Version| !version.is_disowned() && !version.is_terminating();
            let left: Vec<&Version> =
                all.iter().copied().filter(is_left).filter(|version| names_one_of(version, owners)).collect();
            if left.is_empty() {
                continue;
            }
            // Beside a disowned version, the others are disowned without a gate.
            let is_to_be_disowned = all.iter().any(|version| version.is_disowned())
                || resource.gates.orphan.is_some() && {
                    let mut examination = Examination::new(self.context(dependent, scope, unknown), &all, None, None);
                    examination.gate(Gate::Orphan) != GateAnswer::DoesNotHold
                };
            if is_to_be_disowned {
                return true;
            }
            let fresh: Vec<&Version> = left.into_iter().filter(|version| known.insert(version.uid())).collect();
            if !fresh.is_empty() && self.leads_to_one(dependent, &fresh, known, scope, unknown) {
                return true;
            }
        }
        false
    }
}
