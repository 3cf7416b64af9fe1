//! Makes deletions wait until every object that has to be disowned is disowned.
//!
//! Kubernetes' garbage collector deletes the dependents of an object, and their dependents, including objects
//! that the task never reads. So before the planner deletes, recreates or prunes any object, it evaluates the
//! orphan gates of the other resources. An object whose gate fails, or whose ownership is ambiguous, counts as
//! an object to disown.

use std::collections::BTreeSet;

use lifecycle_language::scope::Scope;
use lifecycle_objects::object_ref::ObjectRef;
use lifecycle_objects::observation::Observation;

use super::decide::{Gate, Questions as _, current};
use super::gates::{Examination, PendingDisowning};
use super::{Planner, Slot};
use crate::outcome::GateAnswer;
use crate::outcome::{GateRecord, OutcomeResult};

impl Planner<'_> {
    /// Finds an object that has to be disowned first, at the same destination, of another resource than the one at `index`.
    pub(super) fn pending_disowning(&self, index: usize, scope: &Scope, unknown: &BTreeSet<&str>) -> PendingDisowning {
        let mut gates = Vec::new();
        let mut others = (0..self.slots.len()).filter(|other| *other != index && self.can_meet(*other, index));
        let because = others.find_map(|other| self.disowns_first(other, scope, unknown, &mut gates));
        PendingDisowning { because, gates }
    }

    /// Why the resource at `index` has an object to disown; `None` if it has none. Adds each evaluated gate to
    /// `gates`.
    fn disowns_first(
        &self,
        index: usize,
        scope: &Scope,
        unknown: &BTreeSet<&str>,
        gates: &mut Vec<GateRecord>,
    ) -> Option<String> {
        if self.outcomes.get(index).is_some_and(|outcome| outcome.result == OutcomeResult::Disowned) {
            return None;
        }
        let resource = &self.task.resources[index];
        let (name, has_gate) = (&resource.name, resource.gates.orphan.is_some());
        let unread = |cause: &str| {
            has_gate.then(|| {
                format!("resource {name} could not be read ({cause}), so an object of it may have to be disowned first")
            })
        };
        let found = match &self.slots[index] {
            Slot { observation: Some(Observation::Found(found)), .. } => found,
            Slot { observation: Some(Observation::Unknown(cause) | Observation::Forbidden(cause)), .. } => {
                return unread(cause);
            }
            Slot { observation: None, .. } => return unread("it was not discovered"),
        };
        if !has_gate && !found.iter().any(|version| version.is_disowned()) {
            return None;
        }
        let owned = match self.ownership(index, scope) {
            Ok(owned) => owned,
            Err(cause) => return unread(&cause),
        };
        // A foreign object is never disowned, so nothing waits for that.
        if owned.is_foreign {
            return None;
        }
        let versions = self.versions(index, &owned.places);
        let left = versions.iter().copied().filter(|version| !version.is_disowned() && !version.is_terminating());
        let object = ObjectRef::of(current(left, self.stamp.generation)?.object());
        if versions.iter().any(|version| version.is_disowned()) {
            // Once one version is disowned, the planner disowns the other versions without evaluating a gate.
            return Some(format!(
                "{object} of resource {name} has to be disowned first: another of its versions was disowned"
            ));
        }
        let mut examination = Examination::new(self.context(index, scope, unknown), &versions, None, None);
        let answer = examination.gate(Gate::Orphan);
        let asked = examination.into_parts().record.gates.into_iter();
        gates.extend(asked.map(|gate| GateRecord { resource: Some(name.clone()), ..gate }));
        match answer {
            GateAnswer::DoesNotHold => None,
            GateAnswer::Holds => {
                Some(format!("{object} of resource {name} has to be disowned first: its orphan gate holds"))
            }
            GateAnswer::Failed(cause) => {
                Some(format!("{object} of resource {name} may have to be disowned first: {cause}"))
            }
        }
    }
}
