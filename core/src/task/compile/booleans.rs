//! Refuses a gate that takes away an object and whose value is never a boolean.
//!
//! In: the compiled task, once the types of its variables are known. Out: an error for a gate that fails in every event
//! that evaluates it, so that no object is ever deleted, disowned or recreated by it; and a warning for one that fails in
//! some events. The Go adapter accepts such a delete gate: there each text and each number deletes.

use super::check::{Checker, Place};
use crate::task::types::VariableTypes;
use crate::task::{Recreate, Resource, Task};
use lifecycle_language::cel::Expression;
use lifecycle_language::value::Type;

/// Checks the gates of all resources; `place` finds a resource in the file by its name.
pub(super) fn check<'d>(checker: &mut Checker<'_>, task: &Task, place: impl Fn(&str) -> Option<Place<'d>>) {
    let types = VariableTypes::of(task);
    for resource in &task.resources {
        let Some(place) = place(&resource.name).map(|place| place.key("lifecycle")) else { continue };
        for (keys, gate) in strict(resource) {
            let places = keys.iter().map(|key| place.key(key).key("when").key("expression"));
            let Some(place) = places.into_iter().find(|place| place.document.node(&place.path).is_some()) else {
                continue;
            };
            gate_is_boolean(checker, &types, gate, &place);
        }
    }
}

/// The gates that take away an object or its ownership, each with the keys that the file may use for it.
fn strict(resource: &Resource) -> impl Iterator<Item = (&'static [&'static str], &Expression)> {
    let gates = &resource.gates;
    let recreate = match &gates.recreate {
        Some(Recreate::When(recreate)) => Some(recreate),
        Some(Recreate::OnChange) | None => None,
    };
    let gates: [(&[&str], _); 3] = [
        (&["delete"], gates.delete.as_ref().map(|delete| &delete.when)),
        (&["orphan", "detach"], gates.orphan.as_ref()),
        (&["recreate"], recreate),
    ];
    gates.into_iter().filter_map(|(keys, gate)| Some((keys, gate?)))
}

fn gate_is_boolean(checker: &mut Checker<'_>, types: &VariableTypes, gate: &Expression, place: &Place<'_>) {
    let types = types.of_expression(gate);
    let Some(others) = types.others() else { return };
    if types.excludes_boolean() {
        let message = format!("gives {others}, and a gate that takes away an object takes `true` or `false` alone");
        checker.error_with_help(place, message, cure(gate, others.first()));
    } else {
        let message = format!(
            "can give {others}, with which the gate fails: a gate that takes away an object takes `true` or `false` alone"
        );
        checker.warn(place, message, Some("let every branch and default be `true`, `false` or a test".to_owned()));
    }
}

fn cure(gate: &Expression, given: Option<Type>) -> String {
    let source = gate.one_line();
    let quoted = ['\'', '"'].iter().find_map(|quote| source.strip_prefix(*quote)?.strip_suffix(*quote));
    match (quoted, given) {
        (Some(inner), _) if !inner.contains(['\'', '"']) => {
            format!("remove these quotes, if the text is meant as an expression: `{inner}`")
        }
        (None | Some(_), Some(given)) => format!("write a test, such as `{}`", given.compared(source)),
        (None | Some(_), None) => "write a test, such as a comparison".to_owned(),
    }
}
