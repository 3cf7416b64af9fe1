//! Finds what each resource of a task waits for, on creation and on deletion, for `check --graph`.
//!
//! In: a compiled task. Out: an [`Order`] for each resource, in the task's order. A gate waits for another resource if it
//! cannot hold while that one is absent, or cannot hold while it is there; what else a gate reads of others is listed as a
//! read. Gates can also wait for values that only an event has, which is not listed. Fails: nothing.

use crate::gate_values::{excluded_by, own_value};
use crate::written::{deleted_namespace, namespace_of};
use lifecycle_core::task::{Resource, Task};
use lifecycle_language::cel::{Expression, Presence};

/// What one resource waits for.
#[derive(Debug)]
pub struct Order<'t> {
    /// The resource that waits.
    pub resource: &'t Resource,
    /// What it waits for before it is created.
    pub creation: Vec<Wait<'t>>,
    /// What it waits for before its end.
    pub deletion: Vec<Wait<'t>>,
    /// How its objects end.
    pub end: End<'t>,
}

/// A resource for which another one waits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Wait<'t> {
    /// The place of that resource in the task.
    pub index: usize,
    /// Its name.
    pub name: &'t str,
    /// Why the other waits.
    pub because: Because,
}

/// Why a resource waits for another.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Because {
    /// The other one is its owner.
    Owner,
    /// The other one is its namespace.
    Namespace,
    /// This gate cannot hold while the other is absent.
    Present(&'static str),
    /// This gate cannot hold while the other is there.
    Gone(&'static str),
    /// This gate reads the other, and can hold whether it is there or not.
    Read(&'static str),
    /// Kubernetes could delete the other's objects with it, so they have to be disowned first.
    Disowned,
}

/// How the objects of a resource end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum End<'t> {
    /// A delete gate deletes them.
    Deleted,
    /// An orphan gate disowns them.
    Disowned,
    /// An orphan gate disowns them, or a delete gate deletes them.
    DeletedOrDisowned,
    /// Kubernetes deletes them with the resource of this name, their owner or namespace.
    With(&'t str),
    /// Nothing in the task ends them.
    Stays,
}

/// Finds what every resource of a task waits for.
#[must_use]
pub fn order(task: &Task) -> Vec<Order<'_>> {
    (0..task.resources.len()).map(|index| Order::of(task, index)).collect()
}

impl<'t> Order<'t> {
    fn of(task: &'t Task, index: usize) -> Self {
        let resource = &task.resources[index];
        let gates = &resource.gates;
        let wait = |index: usize, because| Wait { index, name: &task.resources[index].name, because };
        let namespace = namespace_of(task, resource);
        let mut creation: Vec<Wait<'t>> = resource.owner.map(|owner| wait(owner, Because::Owner)).into_iter().collect();
        creation.extend(namespace.filter(|it| resource.owner != Some(*it)).map(|it| wait(it, Because::Namespace)));
        let asked = [("when", &gates.when), ("create", &gates.create), ("apply", &gates.apply)];
        for (name, gate) in asked.into_iter().filter_map(|(name, gate)| Some((name, gate.as_ref()?))) {
            let found = waits(task, index, gate, Presence::Absent);
            creation.extend(found.into_iter().map(|(other, because)| wait(other, because(name))));
        }
        let delete = gates.delete.as_ref().map(|delete| &delete.when);
        let mut deletion = Vec::new();
        for (name, gate) in [("orphan", gates.orphan.as_ref()), ("delete", delete)] {
            let found = gate.map(|gate| waits(task, index, gate, Presence::Present)).unwrap_or_default();
            deletion.extend(found.into_iter().map(|(other, because)| wait(other, because(name))));
        }
        if delete.is_some() {
            let others = task.resources.iter().enumerate().filter(|(other, _)| *other != index);
            let disowned = others
                .filter(|(_, other)| other.gates.orphan.is_some() && other.transport.can_meet(&resource.transport));
            deletion.extend(disowned.map(|(other, _)| wait(other, Because::Disowned)));
        }
        let end = match (gates.orphan.is_some(), delete.is_some()) {
            (true, true) => End::DeletedOrDisowned,
            (true, false) => End::Disowned,
            (false, true) => End::Deleted,
            (false, false) => {
                let other = resource.owner.or_else(|| deleted_namespace(task, resource));
                other.map_or(End::Stays, |other| End::With(&task.resources[other].name))
            }
        };
        Self { resource, creation, deletion, end }
    }
}

type Cause = fn(&'static str) -> Because;

/// The other resources that a gate waits for or reads, given whether its own object is there.
fn waits(task: &Task, own: usize, gate: &Expression, presence: Presence) -> Vec<(usize, Cause)> {
    let present = excluded_by(task, Some((own, presence)), gate, Presence::Absent);
    let gone = excluded_by(task, Some((own, presence)), gate, Presence::Present);
    let value = own_value(task, own, gate, presence);
    let others = task.resources.iter().enumerate().filter(|(other, _)| *other != own);
    let is_read = |name: &str| value.places_in(name).is_none_or(|places| !places.is_empty());
    let found = others.filter_map(|(other, resource)| {
        let because: Cause = if present.contains(&other) {
            Because::Present
        } else if gone.contains(&other) {
            Because::Gone
        } else if is_read(&resource.name) {
            Because::Read
        } else {
            return None;
        };
        Some((other, because))
    });
    found.collect()
}

#[cfg(test)]
mod tests;
