//! Warns of orphan and delete gates that can hold together, and of objects that are disowned in a namespace which
//! the task deletes.

use super::gate::{Gate, Kind, gates_of, unguarded_entries};
use super::linter::{Linter, resources};
use crate::gate_values::Own;
use crate::written::deleted_namespace;
use lifecycle_core::task::Resource;
use lifecycle_core::task::Task;
use lifecycle_language::cel::{Presence, Relation};

pub(super) fn lint(linter: &mut Linter<'_>) {
    for (path, resource) in resources(linter.task) {
        let gates = gates_of(linter, &path, resource);
        let gate = |kind: Kind| gates.iter().find(|gate| gate.kind == kind);
        if let (Some(orphan), Some(delete)) = (gate(Kind::Orphan), gate(Kind::Delete)) {
            conflict(linter, &Own::of(linter.task, resource), orphan, delete);
        }
        let namespace = deleted_namespace(linter.task, resource).map(|index| &linter.task.resources[index]);
        if let (Some(orphan), Some(namespace)) = (gate(Kind::Orphan), namespace)
            && !is_kept(linter.task, namespace, &Own::of(linter.task, resource), orphan)
        {
            let (name, namespace) = (&resource.name, &namespace.name);
            let message = format!(
                "disowns `{name}` in the namespace that `{namespace}` deletes: Kubernetes deletes every object in a namespace with it"
            );
            let help = format!(
                "take `delete` off `{namespace}`, disown `{namespace}` as well, or keep `{name}` in another namespace"
            );
            linter.warn(&orphan.path, message, help);
        }
    }
}

/// Whether the namespace's delete gate never holds in an event in which this orphan gate holds.
fn is_kept(task: &Task, namespace: &Resource, own: &Own<'_>, orphan: &Gate<'_>) -> bool {
    let Some(delete) = &namespace.gates.delete else { return false };
    let delete = Own::of(task, namespace).value(&delete.when, Presence::Present);
    matches!(own.value(orphan.expression, Presence::Present).relation(&delete), Relation::Apart)
}

/// Warns of an orphan gate and a delete gate that can hold together while the object is live.
fn conflict(linter: &mut Linter<'_>, own: &Own<'_>, orphan: &Gate<'_>, delete: &Gate<'_>) {
    let [of_orphan, of_delete] = [orphan, delete].map(|gate| own.value(gate.expression, Presence::Present));
    if ![&of_orphan, &of_delete].iter().all(|value| value.possible().can_hold()) {
        return;
    }
    let name = &own.resource.name;
    let message = match of_orphan.relation(&of_delete) {
        Relation::Apart | Relation::Unrelated => return,
        Relation::Same => {
            let message =
                format!("holds exactly when `orphan` holds, which is asked first: `{name}` is disowned, never deleted");
            linter.warn(&delete.path, message, "keep one of the two gates".to_owned());
            return;
        }
        Relation::Around => {
            let message = format!(
                "never decides: wherever it holds, `orphan` holds, too, and is asked first; `{name}` is disowned"
            );
            let help = format!("narrow `orphan` to the events that disown `{name}`");
            linter.warn(&delete.path, message, help);
            return;
        }
        Relation::Within => "wherever it holds, `delete` holds, too",
        Relation::Overlapping => "can hold together with `delete`: nothing in either keeps them apart",
    };
    let message = format!("{message}; `{name}` is disowned then, not deleted, with the warning `gate_conflict`");
    let only = orphan.expression.source();
    // A copy of a read that fails while an object is absent would make `delete` fail then, too.
    let is_unguarded = unguarded_entries(linter.task, orphan.expression).next().is_some();
    let help = match only.contains('\n') || is_unguarded {
        false => format!("add to `delete` what keeps the two apart: `&& !({only})`"),
        true => "add to `delete` what keeps the two apart: that `orphan` does not hold".to_owned(),
    };
    linter.warn(&orphan.path, message, help);
}
