//! Warns of delete gates that wait for an object which nothing deletes, and of orphan gates that wait for the
//! deletion of an owner.

use std::collections::BTreeSet;

use lifecycle_config::document::Path;

use super::deletion_order;
use super::gate::{Gate, Kind, gates_of, is_created};
use super::linter::{Linter, resources};
use crate::gate_values::excluded_by;
use crate::written::{deleted_namespace, namespace};
use lifecycle_core::task::{DiscoverBy, Resource, Task};
use lifecycle_language::cel::{Expression, Presence};
use lifecycle_language::template::Part;

pub(super) fn lint(linter: &mut Linter<'_>) {
    let task = linter.task;
    let mut awaited: Vec<BTreeSet<usize>> = vec![BTreeSet::new(); task.resources.len()];
    let mut places: Vec<Option<Path>> = vec![None; task.resources.len()];
    for (index, (path, resource)) in resources(task).enumerate() {
        for gate in gates_of(linter, &path, resource) {
            match gate.kind {
                Kind::Delete => {
                    awaited[index] = absences(task, Some(index), gate.expression);
                    places[index] = Some(gate.path);
                }
                Kind::Orphan => lost_with_owner(linter, resource, &gate, &absences(task, Some(index), gate.expression)),
                Kind::When | Kind::Create | Kind::Apply | Kind::Patch | Kind::Recreate => {}
            }
        }
    }
    deletion_order::lint(linter, &awaited, &places);
    for (index, place) in places.iter().enumerate() {
        let Some(place) = place else { continue };
        let name = &task.resources[index].name;
        let others = awaited[index].iter().map(|&other| &task.resources[other]);
        for other in others.filter(|it| stays(task, it, Some(index))) {
            let other_name = &other.name;
            let goes_along = deleted_namespace(task, other) == Some(index);
            let why = match other.gates.orphan {
                Some(_) => format!("`{other_name}` is disowned, never deleted, and stays in `resources`"),
                None if goes_along => format!("no gate deletes `{other_name}`, which only goes together with `{name}`"),
                None => format!("no gate deletes `{other_name}`"),
            };
            let message = format!("cannot hold while `{other_name}` is there, and {why}: `{name}` is never deleted");
            let help = format!("give `{other_name}` a delete gate, or do not wait for it");
            linter.warn(place, message, help);
        }
        if is_in_circle(&awaited, index) {
            let others: Vec<_> =
                awaited[index].iter().map(|&other| format!("`{}`", task.resources[other].name)).collect();
            let others = others.join(" and ");
            let message = format!(
                "waits for {others} to be gone, whose deletion waits for `{name}`: while all are live, none is deleted"
            );
            linter.warn(place, message, "let one of them be deleted first".to_owned());
        }
    }
}

/// Warns of an orphan gate that cannot hold before an owner is gone: Kubernetes deletes the object together with
/// its owner.
fn lost_with_owner(linter: &mut Linter<'_>, resource: &Resource, gate: &Gate<'_>, awaited: &BTreeSet<usize>) {
    let task = linter.task;
    let mut owners = std::iter::successors(resource.owner, |owner| task.resources[*owner].owner);
    let Some(owner) = owners.find(|owner| awaited.contains(owner)) else { return };
    let (name, owner) = (&resource.name, &task.resources[owner].name);
    let message = format!(
        "cannot hold while its owner `{owner}` is there, and Kubernetes deletes `{name}` together with `{owner}`: `{name}` is lost, \
         not disowned"
    );
    let help = format!(
        "write `resources.?{owner}.hasValue()` instead of the term that asks for the absence of `{owner}`, or leave that term out: \
         the adapter deletes `{owner}` only after it disowned `{name}`"
    );
    linter.warn(&gate.path, message, help);
}

/// The resources that must be absent for an expression to hold, except the one at `own`, whose gate it is.
pub(super) fn absences(task: &Task, own: Option<usize>, expression: &Expression) -> BTreeSet<usize> {
    excluded_by(task, own.map(|own| (own, Presence::Unknown)), expression, Presence::Present)
}

/// Whether the task creates an object that stays: no gate, owner, retention, namespace or time to live deletes it.
/// An owner or a namespace that itself waits for the object does not delete it: the resource at `waiting`.
pub(super) fn stays(task: &Task, resource: &Resource, waiting: Option<usize>) -> bool {
    let Some(manifest) = resource.manifest.structure() else { return false };
    let is_absent = |keys: &[&str]| matches!(manifest.part(keys), Part::Absent);
    resource.gates.delete.is_none()
        && resource.owner.is_none_or(|owner| waiting == Some(owner))
        && resource.retention.is_none()
        && matches!(resource.discovery.by, DiscoverBy::Name(_))
        && is_absent(&["metadata", "ownerReferences"])
        && is_absent(&["spec", "ttlSecondsAfterFinished"])
        && namespace(resource).is_some()
        && deleted_namespace(task, resource).is_none_or(|deleter| waiting == Some(deleter))
        && is_created(task, resource)
}

/// Whether a path along the edges leads from `start` back to `start`.
fn is_in_circle(edges: &[BTreeSet<usize>], start: usize) -> bool {
    let mut seen = BTreeSet::new();
    let mut open: Vec<usize> = edges[start].iter().copied().collect();
    while let Some(index) = open.pop() {
        if index == start {
            return true;
        }
        if seen.insert(index) {
            open.extend(&edges[index]);
        }
    }
    false
}
