//! Warns of deletions in an order that a missing object breaks: the object is created again while its neighbours are
//! deleted, or what it was to outlive is deleted with it.

use std::collections::BTreeSet;

use lifecycle_config::document::Path;

use super::gate::is_created;
use super::linter::Linter;
use crate::api_resource::{Facts, State, living_test};
use crate::gate_values::abstract_value;
use crate::written::namespace_of;
use lifecycle_core::task::{Resource, Task};
use lifecycle_language::cel::{Expression, Presence, Relation};

/// `awaited` lists, for each resource, those that have to be gone before its delete gate holds; `places` has the paths
/// of the delete gates.
pub(super) fn lint(linter: &mut Linter<'_>, awaited: &[BTreeSet<usize>], places: &[Option<Path>]) {
    let task = linter.task;
    for (index, place) in places.iter().enumerate() {
        let Some(place) = place else { continue };
        let name = &task.resources[index].name;
        if let Some(other) = awaited[index].iter().find(|&&other| is_created_beside(task, index, other)) {
            let other = &task.resources[*other].name;
            let message = format!(
                "does not hold while `{other}` is being deleted: if `{name}` is missing then, it is created for an API resource that \
                 is being deleted"
            );
            let help = format!(
                "let nothing create or update `{name}` then, such as by `when: {{expression: \"{}\"}}`",
                living_test(task)
            );
            linter.warn(place, message, help);
        }
        let behind = |&other: &usize| awaited[other].iter().map(move |&next| (other, next));
        let skipped =
            awaited[index].iter().flat_map(behind).find(|(_, next)| *next != index && !awaited[index].contains(next));
        if let Some((other, next)) = skipped {
            let [other, next] = [other, next].map(|index| &task.resources[index].name);
            let message = format!(
                "waits for `{other}`, which waits for `{next}`: if `{other}` is missing, `{name}` is deleted while `{next}` is there"
            );
            linter.warn(
                place,
                message,
                format!("name every one that goes before `{name}`: add `&& !resources.?{next}.hasValue()`"),
            );
        }
    }
}

/// Whether a resource can be created on an event on which the delete gate of another one holds, which it waits for.
fn is_created_beside(task: &Task, index: usize, other: usize) -> bool {
    let (resource, other) = (&task.resources[index], &task.resources[other]);
    let Some(delete) = &other.gates.delete else { return false };
    let of_other = abstract_value(task, &delete.when, &|_| Presence::Unknown);
    let gates = [&resource.gates.when, &resource.gates.create, &resource.gates.apply];
    // The delete gate may hold for an API resource that lives, for which the other object is created with good reason.
    let facts = Facts::of(task, State::Deleting);
    let is_for_the_living = |gate: &Expression| {
        facts.as_ref().is_some_and(|facts| !facts.possible(gate, &|_| Presence::Unknown).can_hold())
    };
    if gates.into_iter().flatten().any(is_for_the_living) {
        return false;
    }
    let is_kept_apart = gates
        .into_iter()
        .flatten()
        .any(|gate| abstract_value(task, gate, &|_| Presence::Unknown).relation(&of_other) == Relation::Apart);
    !is_kept_apart && !is_gone_without(task, other, index) && is_created(task, resource)
}

/// Whether an object cannot be there without the object of the resource at `index`: it is in that namespace, or Kubernetes
/// deletes it with that owner.
fn is_gone_without(task: &Task, resource: &Resource, index: usize) -> bool {
    let mut owners = std::iter::successors(resource.owner, |owner| task.resources[*owner].owner);
    namespace_of(task, resource) == Some(index) || owners.any(|owner| owner == index)
}
