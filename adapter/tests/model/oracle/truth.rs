//! Evaluates gates independently of the engine, from the event's flags and the objects that the pass read.

use serde_json::Value;

use super::view::{Shown, View};
use crate::object::generation;
use crate::shape::{Atom, Gate, patch_field};

/// The result of a gate or an atom. The order makes the result of a conjunction the minimum of its parts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Truth {
    No,
    NoAnswer,
    Yes,
}

impl View<'_> {
    /// Returns the possible results of a gate that is evaluated before the call `before`.
    pub(crate) fn truths(&self, gate: &Gate, before: usize) -> Vec<Truth> {
        // An unread resource is not absent: a gate that reads it is undecided, whatever its other atoms are.
        if gate.0.iter().filter_map(|atom| atom.reads()).any(|place| *self.shown(place) == Shown::Unknown) {
            return vec![Truth::NoAnswer];
        }
        let mut truths = vec![Truth::Yes];
        for atom in &gate.0 {
            let of_atom = self.truths_of(*atom, before);
            truths = truths.iter().flat_map(|truth| of_atom.iter().map(move |other| *truth.min(other))).collect();
            truths.sort_unstable();
            truths.dedup();
        }
        truths
    }

    /// Whether a gate may hold. `otherwise` is the result for a missing gate.
    pub(crate) fn may_hold(&self, gate: Option<&Gate>, otherwise: bool, before: usize) -> bool {
        gate.map_or(otherwise, |gate| self.truths(gate, before).contains(&Truth::Yes))
    }

    fn truths_of(&self, atom: Atom, before: usize) -> Vec<Truth> {
        match (atom, atom.reads()) {
            (Atom::Flag(flag, wanted), _) => {
                let answer = self.event.flags.get(&flag);
                vec![answer.map_or(Truth::NoAnswer, |value| Truth::of(*value == wanted))]
            }
            (_, None) => vec![Truth::NoAnswer],
            (_, Some(place)) => {
                let visible = self.visible(place, before);
                visible.iter().map(|object| truth_of(atom, object.as_ref(), self.event.generation)).collect()
            }
        }
    }
}

/// The result of an atom for this object, or for no object; `desired` is the event's generation.
fn truth_of(atom: Atom, object: Option<&Value>, desired: i64) -> Truth {
    match (atom, object) {
        (Atom::There(_), object) => Truth::of(object.is_some()),
        (Atom::Missing(_), object) => Truth::of(object.is_none()),
        (Atom::Differs(..), None) => Truth::No,
        (Atom::Differs(_, number, value), Some(object)) => {
            let field = |fields: &str| object.pointer(fields)?.get(patch_field(number))?.as_str();
            Truth::of(field("/data") != Some(value) && field("/metadata/annotations") != Some(value))
        }
        (Atom::Done(_), Some(object)) => object.get("status").map_or(Truth::NoAnswer, |status| {
            let conditions = status.get("conditions").and_then(Value::as_array);
            let is_available = |condition: &Value| condition["type"] == "Available" && condition["status"] == "True";
            Truth::of(status["phase"] == "Done" || conditions.is_some_and(|all| all.iter().any(is_available)))
        }),
        (Atom::Behind(_), Some(object)) => generation(object).map_or(Truth::NoAnswer, |live| Truth::of(live < desired)),
        (Atom::Flag(..) | Atom::Behind(_) | Atom::Done(_), _) => Truth::NoAnswer,
    }
}

impl Truth {
    fn of(value: bool) -> Self {
        if value { Self::Yes } else { Self::No }
    }
}
