//! Warns of delete gates that wait for an object which nothing deletes, and of orphan gates that wait for the
//! deletion of an owner.

use std::collections::{BTreeSet, HashMap};

use lifecycle_config::document::Path;

use super::{Gate, Kind, Linter, disowning, gates_of, is_created, is_in_circle, resources};
use crate::cel::{Expression, Presence};
use crate::resource_reads::ResourceReads;
use crate::task::gate_values::abstract_value;
use crate::task::{DiscoverBy, Manifest, Resource, Task};
use crate::template::Part;

pub(super) fn lint(linter: &mut Linter<'_>) {
    let task = linter.task;
    let mut awaited: Vec<BTreeSet<usize>> = vec![BTreeSet::new(); task.resources.len()];
    let mut places: Vec<Option<Path>> = vec![None; task.resources.len()];
    for (index, (path, resource)) in resources(task).enumerate() {
        for gate in gates_of(linter, &path, resource) {
            match gate.kind {
                Kind::Delete => {
                    awaited[index] = absences(task, index, gate.expression);
                    places[index] = Some(gate.path);
                }
                Kind::Orphan => lost_with_owner(linter, resource, &gate, &absences(task, index, gate.expression)),
                Kind::When | Kind::Create | Kind::Apply | Kind::Patch | Kind::Recreate => {}
            }
        }
    }
    let deleted = disowning::deleted_namespaces(task);
    for (index, place) in places.iter().enumerate() {
        let Some(place) = place else { continue };
        let name = &task.resources[index].name;
        for other in awaited[index].iter().map(|&other| &task.resources[other]).filter(|it| stays(task, it, &deleted)) {
            let other_name = &other.name;
            let why = match other.gates.orphan {
                Some(_) => format!("`{other_name}` is disowned, never deleted, and stays in `resources`"),
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

/// The other resources that must be absent for a gate to hold.
fn absences(task: &Task, own: usize, gate: &Expression) -> BTreeSet<usize> {
    let ResourceReads::Only(read) = gate.resource_reads() else { return BTreeSet::new() };
    let is_certain = |(index, name): &(usize, &String)| *index != own && read.contains(*name) && !task.is_shared(name);
    let entries = task.resources.iter().map(|resource| &resource.name).enumerate();
    let mut others = entries.filter(is_certain).peekable();
    let possible = |entries: &dyn Fn(&str) -> Presence| abstract_value(task, gate, entries).possible();
    if others.peek().is_none() || !possible(&|_| Presence::Unknown).can_hold() {
        return BTreeSet::new();
    }
    let is_awaited = |awaited: &str| {
        let entry = |name: &str| if name == awaited { Presence::Present } else { Presence::Unknown };
        !possible(&entry).can_hold()
    };
    others.filter(|(_, name)| is_awaited(name)).map(|(index, _)| index).collect()
}

/// Whether the task creates an object that stays: no gate, owner, retention, namespace or time to live deletes it.
fn stays(task: &Task, resource: &Resource, deleted: &HashMap<&str, &str>) -> bool {
    let Manifest::Inline(manifest) = &resource.manifest else { return false };
    let is_absent = |keys: &[&str]| matches!(manifest.part(keys), Part::Absent);
    resource.gates.delete.is_none()
        && resource.owner.is_none()
        && resource.retention.is_none()
        && matches!(resource.discovery.by, DiscoverBy::Name(_))
        && is_absent(&["metadata", "ownerReferences"])
        && is_absent(&["spec", "ttlSecondsAfterFinished"])
        && super::discovery::namespace(resource).is_some_and(|namespace| !deleted.contains_key(namespace))
        && is_created(task, resource)
}
