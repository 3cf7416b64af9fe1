//! Deletions wait until everything that is to be disowned is disowned.
//!
//! Kubernetes' garbage collector deletes what an object owns, and what that owns in turn, through objects that the task never
//! reads, and whoever wrote the references. So before any object is deleted, recreated or pruned, the other resources' orphan
//! gates are asked. An object whose gate or ownership cannot be told counts as one that is to be disowned.

use std::collections::BTreeSet;

use super::decide::{Gate, GateAnswer, Questions as _};
use super::gates::Examination;
use super::{Planner, Slot};
use crate::observation::Observation;
use crate::outcome::OutcomeResult;
use crate::scope::Scope;

impl Planner<'_> {
    /// Whether an object of another resource than the one at `index` is still to be disowned, at the same destination.
    pub(super) fn others_are_to_be_disowned(&self, index: usize, scope: &Scope, unknown: &BTreeSet<&str>) -> bool {
        let mut others = (0..self.slots.len()).filter(|other| *other != index && self.can_meet(*other, index));
        others.any(|other| self.is_to_be_disowned(other, scope, unknown))
    }

    fn is_to_be_disowned(&self, index: usize, scope: &Scope, unknown: &BTreeSet<&str>) -> bool {
        if self.outcomes.get(index).is_some_and(|outcome| outcome.result == OutcomeResult::Disowned) {
            return false;
        }
        let has_gate = self.task.resources[index].gates.orphan.is_some();
        let Slot { observation: Some(Observation::Found(found)), .. } = &self.slots[index] else { return has_gate };
        if !has_gate && !found.iter().any(|version| version.is_disowned()) {
            return false;
        }
        let Ok(owned) = self.ownership(index, scope) else { return has_gate };
        let versions = self.versions(index, &owned.places);
        if !versions.iter().any(|version| !version.is_disowned() && !version.is_terminating()) {
            return false;
        }
        // Beside a disowned version, the others are disowned without a gate.
        versions.iter().any(|version| version.is_disowned())
            || has_gate && {
                let mut examination = Examination::new(self.context(index, scope, unknown), &versions, None, None);
                examination.gate(Gate::Orphan) != GateAnswer::DoesNotHold
            }
    }
}
