//! Warns of a delete gate that holds only while another object is there that goes in the same deletion: once that one is gone,
//! nothing deletes this one.

use super::gate::{Kind, gates_of, unguarded_entries};
use super::linter::{Linter, resources};
use crate::gate_values::excluded_by;
use lifecycle_language::cel::Presence;

pub(super) fn lint(linter: &mut Linter<'_>) {
    let task = linter.task;
    for (index, (path, resource)) in resources(task).enumerate() {
        for gate in gates_of(linter, &path, resource).iter().filter(|gate| gate.kind == Kind::Delete) {
            let needed = excluded_by(task, Some((index, Presence::Present)), gate.expression, Presence::Absent);
            let mut goes = needed.iter().map(|&other| &task.resources[other]).filter(|it| it.gates.delete.is_some());
            // A read without a question fails, and has its own warning.
            let Some(other) = goes.find(|it| !unguarded_entries(task, gate.expression).any(|name| name == it.name))
            else {
                continue;
            };
            let (name, other) = (&resource.name, &other.name);
            let message = format!(
                "holds only while `{other}` is there, which is deleted, too: once it is gone, nothing deletes `{name}`"
            );
            let help = format!("to wait until it is gone, write `!resources.?{other}.hasValue()`");
            linter.warn(&gate.path, message, help);
        }
    }
}
