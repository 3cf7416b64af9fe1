//! Warns of owners that can be deleted or recreated: Kubernetes deletes their dependents with them. Warns of owner references that
//! the author of a manifest wrote, too: nothing tells whether that owner lives, or lives in the same namespace.

use lifecycle_config::document::Path;

use super::linter::{Linter, entry, resources};
use crate::gate_values::Own;
use crate::manifests::Role;
use lifecycle_core::task::{Recreate, Resource};
use lifecycle_language::cel::{Expression, Presence};

pub(super) fn lint(linter: &mut Linter<'_>) {
    handwritten(linter);
    let task = linter.task;
    for (path, resource) in resources(task) {
        let Some(index) = resource.owner else { continue };
        let owner = &task.resources[index];
        let place = path.key("owner").key("resource");
        recreated(linter, owner, index, resource, &place);
        deleted(linter, owner, resource, &place);
    }
}

fn handwritten(linter: &mut Linter<'_>) {
    let key = Path::root().key("metadata").key("ownerReferences");
    for object in linter.manifests().iter().filter(|object| object.role == Role::Entry) {
        let Some(references) = object.tree.elements(&["metadata", "ownerReferences"]) else { continue };
        if references.is_empty() {
            continue;
        }
        let message = "has owner references of its own: Kubernetes deletes the object soon if an owner is gone, or lives in another \
                       namespace, and each event creates it again";
        let help = "write `owner: {resource: …}` in the entry, which takes the owner's UID and refuses one in another namespace";
        linter.warn(&object.at(linter.document, &key), message.to_owned(), help.to_owned());
    }
}

fn can_hold(linter: &Linter<'_>, resource: &Resource, gate: &Expression) -> bool {
    Own::of(linter.task, resource).possible(gate, Presence::Present).can_hold()
}

fn recreated(linter: &mut Linter<'_>, owner: &Resource, index: usize, resource: &Resource, place: &Path) {
    let key = match &owner.gates.recreate {
        None => return,
        Some(Recreate::OnChange) => "recreate_on_change",
        Some(Recreate::When(gate)) if can_hold(linter, owner, gate) => "lifecycle.recreate",
        Some(Recreate::When(_)) => return,
    };
    let (name, owner) = (&resource.name, &owner.name);
    let message =
        format!("`{owner}` can be recreated: Kubernetes deletes what the former object owned, `{name}` included");
    let gate = key.split('.').fold(entry(&["resources"], index), |path, key| path.key(key));
    let help = format!("remove `{gate}`, or own `{name}` by something that stays");
    linter.warn(place, message, help);
}

/// Warns of a dependent that the adapter re-creates while its owner is being deleted: no write can refer to such
/// an owner.
fn deleted(linter: &mut Linter<'_>, owner: &Resource, resource: &Resource, place: &Path) {
    let is_deleted = owner.gates.delete.as_ref().is_some_and(|delete| can_hold(linter, owner, &delete.when));
    let gates = &resource.gates;
    let is_held_back = gates.delete.is_some() || gates.orphan.is_some() || gates.hold_back();
    if !is_deleted || is_held_back {
        return;
    }
    let (name, owner) = (&resource.name, &owner.name);
    let message = format!(
        "`{owner}` can be deleted, and no gate holds `{name}` back then: the adapter re-creates `{name}` while its owner is being deleted, and \
         every event fails with `OwnerUnavailable`"
    );
    let help = format!(
        "give `{name}` the same `lifecycle.delete`, or a `when` that does not hold while `{owner}` is being deleted"
    );
    linter.warn(place, message, help);
}
