//! The abstract values of a task's gates: the results that a gate can have, found before there is an event.
//!
//! In: a task, an expression, and what is certain of the entries of `resources` when the adapter evaluates the
//! expression. Out: an [`AbstractValue`], with params that stand for expressions replaced by those. Nothing
//! fails.

use std::collections::BTreeSet;

use super::{ParamSource, Resource, Task};
use crate::cel::{AbstractValue, Expression, Possible, Presence, UnknownName};
use crate::resource_reads::ResourceReads;

/// The abstract value of an expression, given what is certain of the entries of `resources`.
pub(super) fn abstract_value(
    task: &Task,
    expression: &Expression,
    entries: &dyn Fn(&str) -> Presence,
) -> AbstractValue {
    expression.abstract_value(entries, &|name| definition(task, name))
}

/// The gates of one resource. The adapter evaluates a gate when it knows whether the resource has an object.
pub(super) struct Own<'t> {
    task: &'t Task,
    pub(super) resource: &'t Resource,
    is_shared: bool,
}

impl<'t> Own<'t> {
    pub(super) fn of(task: &'t Task, resource: &'t Resource) -> Self {
        Self { task, resource, is_shared: task.is_shared(&resource.name) }
    }

    /// The abstract value of a gate, given whether the resource has an object.
    pub(super) fn value(&self, gate: &Expression, presence: Presence) -> AbstractValue {
        let is_own = |name: &str| name == self.resource.name && !self.is_shared;
        abstract_value(self.task, gate, &|name| if is_own(name) { presence } else { Presence::Unknown })
    }

    /// The results that a gate can have, given whether the resource has an object.
    pub(super) fn possible(&self, gate: &Expression, presence: Presence) -> Possible {
        self.value(gate, presence).possible()
    }
}

/// The abstract value of a gate of the resource at `own`, given whether that has an object.
pub(super) fn own_value(task: &Task, own: usize, gate: &Expression, presence: Presence) -> AbstractValue {
    Own::of(task, &task.resources[own]).value(gate, presence)
}

/// The other resources whose `presence` keeps a gate of the resource at `own` from holding, given whether that has an
/// object. Empty if the gate cannot hold anyway.
pub(super) fn excluded_by(
    task: &Task,
    own: usize,
    gate: &Expression,
    own_presence: Presence,
    presence: Presence,
) -> BTreeSet<usize> {
    let ResourceReads::Only(read) = gate.resource_reads() else { return BTreeSet::new() };
    let is_certain = |(index, name): &(usize, &String)| *index != own && read.contains(*name) && !task.is_shared(name);
    let entries = task.resources.iter().map(|resource| &resource.name).enumerate();
    let mut others = entries.filter(is_certain).peekable();
    let own_name = &task.resources[own].name;
    let can_hold = |other: &str| {
        let entry = |name: &str| match name {
            name if name == other => presence,
            name if name == own_name && !task.is_shared(name) => own_presence,
            _ => Presence::Unknown,
        };
        abstract_value(task, gate, &entry).possible().can_hold()
    };
    if others.peek().is_none() || !own_value(task, own, gate, own_presence).possible().can_hold() {
        return BTreeSet::new();
    }
    others.filter(|(_, name)| !can_hold(name)).map(|(index, _)| index).collect()
}

/// The expression that a variable stands for, if nothing else can be its value once it has one, and what the
/// expression reads is then what it was.
fn definition(task: &Task, name: &str) -> Option<Expression> {
    let mut params = task.params.iter().filter(|param| param.name == name);
    let param = params.next()?;
    let ParamSource::Expression(expression) = &param.source else { return None };
    let is_settled = |unknown: &UnknownName| match unknown {
        UnknownName::Variable(name) => matches!(name.as_str(), "event" | "config" | "env") || task.times_set(name) == 1,
        UnknownName::Function(_) => false,
    };
    let stands = param.default.is_none()
        && task.times_set(name) == 1
        && expression.resource_reads().is_empty()
        && expression.unknown_names(&|_| false).iter().all(is_settled);
    stands.then(|| expression.clone())
}
