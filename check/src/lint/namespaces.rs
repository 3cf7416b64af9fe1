//! Warns of a namespace that is created after what is in it, which then is never created, and of one whose deletion takes along what
//! was to go later.
//!
//! A failed resource stops those after it, so that such a namespace is never created either. A bundle orders its namespaces itself, and
//! does not load if an `apply-order` puts one behind what is in it.

use std::collections::BTreeSet;

use super::gate::{Gate, Kind, gates_of, is_created};
use super::linter::{Linter, resources};
use super::waits_for_nothing::absences;
use crate::gate_values::abstract_value;
use crate::written::{deleted_namespace, metadata, namespace};
use lifecycle_core::task::{Resource, Task, TransportKind};
use lifecycle_language::cel::{Expression, Presence, Relation};

pub(super) fn lint(linter: &mut Linter<'_>) {
    let task = linter.task;
    for (index, (path, resource)) in resources(task).enumerate() {
        if let Some((name, early)) = listed_before(task, index) {
            let (late, early) = (&resource.name, &early.name);
            let message = format!(
                "creates the namespace `{name}` after `{early}`, which is in it: `{early}` cannot be created then, and stops the resources \
                 after it, `{late}` among them"
            );
            let help = format!(
                "list `{late}` before `{early}`, or let `{early}` wait: `when: {{expression: \"resources.?{late}.hasValue()\"}}`"
            );
            linter.warn(&linter.either(&path, ["name", "alias"]), message, help);
        }
        if let Some(around) = deleted_namespace(task, resource) {
            let gates = gates_of(linter, &path, resource);
            gates.iter().for_each(|gate| deleted_with(linter, resource, gate, around));
        }
    }
}

/// The namespaces that a resource creates, as the task file writes their names.
fn creates(resource: &Resource) -> BTreeSet<&str> {
    match &resource.bundle {
        Some(bundle) => {
            let namespaces = bundle.known.iter().filter(|object| object.identity.kind.is_namespace());
            namespaces.map(|object| object.identity.name.as_str()).collect()
        }
        None if resource.kind.group.is_empty() && resource.kind.kind == "Namespace" => {
            metadata(resource, "name").into_iter().filter(|name| !name.is_empty()).collect()
        }
        None => BTreeSet::new(),
    }
}

/// Whether a resource is in a namespace, or writes into it and does not create it where it is missing.
fn needs(resource: &Resource, name: &str) -> bool {
    let of_members =
        resource.bundle.iter().filter(|bundle| !bundle.creates_namespaces).flat_map(|bundle| &bundle.known);
    namespace(resource) == Some(name)
        || of_members.into_iter().any(|object| object.identity.namespace.as_deref() == Some(name))
}

/// A namespace of the resource at `index`, and a resource before it that cannot be created without the namespace, on any event
/// that creates the one and the other.
fn listed_before(task: &Task, index: usize) -> Option<(&str, &Resource)> {
    let resource = &task.resources[index];
    let is_here = |resource: &Resource| matches!(resource.transport, TransportKind::Kubernetes);
    let is_conditional = |other: &Resource| !creation_gates(other).is_subset(&creation_gates(resource));
    // Where an object may exist already, nothing is certain.
    let found = creates(resource).into_iter().filter(|_| is_here(resource) && !resource.adopt).find_map(|name| {
        let needs = |other: &&Resource| is_here(other) && needs(other, name) && !creates(other).contains(name);
        let other = task.resources.get(..index)?.iter().filter(needs).find(|other| !is_conditional(other))?;
        Some((name, other))
    });
    found.filter(|(_, other)| is_created(task, resource) && is_created(task, other))
}

/// The gates that choose the events on which a resource is created, as their author wrote them.
fn creation_gates(resource: &Resource) -> BTreeSet<&str> {
    let gates = [&resource.gates.when, &resource.gates.create, &resource.gates.apply];
    gates.into_iter().flatten().map(Expression::source).collect()
}

/// Warns of a gate that deletes an object after others, although its namespace goes before that and takes it along.
fn deleted_with(linter: &mut Linter<'_>, resource: &Resource, gate: &Gate<'_>, around: usize) {
    let task = linter.task;
    let Some(delete) = task.resources[around].gates.delete.as_ref().filter(|_| gate.kind == Kind::Delete) else {
        return;
    };
    let (name, around) = (&resource.name, &task.resources[around].name);
    let names =
        |expression| absences(task, None, expression).into_iter().map(|index| task.resources[index].name.as_str());
    let awaited: BTreeSet<&str> = names(&delete.when).collect();
    let later = names(gate.expression).find(|other| other != name && other != around && !awaited.contains(other));
    let Some(other) = later.filter(|_| !awaited.contains(name.as_str())) else { return };
    let value = |expression: &Expression| abstract_value(task, expression, &|_| Presence::Unknown);
    // The namespace goes on each event on which the object goes, and on others.
    if value(&delete.when).relation(&value(gate.expression)) != Relation::Around {
        return;
    }
    let message = format!(
        "waits for `{other}`, and `{around}`, its namespace, does not wait: Kubernetes deletes `{name}` with it, whether `{other}` is gone or \
         not"
    );
    let help = format!("let the delete gate of `{around}` wait for `{name}`: `&& !resources.?{name}.hasValue()`");
    linter.warn(&gate.path, message, help);
}
