//! Warns of delete gates that wait for the absence of an object nested in the resource's own object.

use super::{Kind, Linter, Own, gates_of, resources};
use crate::gate_values::abstract_value;
use lifecycle_language::cel::Presence;

pub(super) fn lint(linter: &mut Linter<'_>) {
    let task = linter.task;
    for (path, resource) in resources(task) {
        for gate in gates_of(linter, &path, resource).iter().filter(|gate| gate.kind == Kind::Delete) {
            let name = &resource.name;
            if !Own::of(task, resource).possible(gate.expression, Presence::Present).can_hold() {
                continue;
            }
            let Some(inner) = resource.nested.iter().map(|nested| &nested.name).find(|inner| {
                let entry =
                    |entry: &str| if entry == *inner || entry == name { Presence::Present } else { Presence::Unknown };
                !task.is_shared(inner) && !abstract_value(task, gate.expression, &entry).possible().can_hold()
            }) else {
                continue;
            };
            let message = format!(
                "cannot hold while `{inner}` is inside of `{name}`: `{inner}` goes with `{name}`, so that `{name}` is deleted only if an \
                 update takes `{inner}` out of it first"
            );
            let help = format!(
                "do not wait for `{inner}` here; wait for what `resources.{name}.status` says, or for another resource"
            );
            linter.warn(&gate.path, message, help);
        }
    }
}
