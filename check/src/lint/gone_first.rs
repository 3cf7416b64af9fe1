//! Warns of a delete gate that holds only while another object is there that goes in the same deletion: once that one is gone,
//! nothing deletes this one. An object that cleans up for this one, and waits for its end, is still there.

use std::collections::BTreeSet;

use lifecycle_core::task::{Resource, Task};
use lifecycle_language::cel::Presence;

use super::gate::{Kind, gates_of, unguarded_entries};
use super::linter::{Linter, resources};
use crate::gate_values::excluded_by;

pub(super) fn lint(linter: &mut Linter<'_>) {
    let task = linter.task;
    for (index, (path, resource)) in resources(task).enumerate() {
        for gate in gates_of(linter, &path, resource).iter().filter(|gate| gate.kind == Kind::Delete) {
            let needed = excluded_by(task, Some((index, Presence::Present)), gate.expression, Presence::Absent);
            // A read without a question fails, and has its own warning.
            let is_guarded = |it: &Resource| !unguarded_entries(task, gate.expression).any(|name| name == it.name);
            let is_gone_first = |other: &usize| {
                let resource = &task.resources[*other];
                let waits = || waits_for(task, *other, index, &mut BTreeSet::new());
                resource.gates.delete.is_some() && is_guarded(resource) && !waits()
            };
            let Some(other) = needed.into_iter().find(is_gone_first) else { continue };
            let (name, other) = (&resource.name, &task.resources[other].name);
            let message = format!(
                "holds only while `{other}` is there, which is deleted, too: once it is gone, nothing deletes `{name}`"
            );
            let help = format!("to wait until it is gone, write `!resources.?{other}.hasValue()`");
            linter.warn(&gate.path, message, help);
        }
    }
}

/// Whether the resource at `own` is deleted only once the other one is gone, itself or because of a third one for which it waits.
fn waits_for(task: &Task, own: usize, other: usize, seen: &mut BTreeSet<usize>) -> bool {
    let Some(delete) = &task.resources[own].gates.delete else { return false };
    let awaited = excluded_by(task, Some((own, Presence::Present)), &delete.when, Presence::Present);
    awaited.contains(&other) || awaited.into_iter().any(|next| seen.insert(next) && waits_for(task, next, other, seen))
}
