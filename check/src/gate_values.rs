//! The abstract values of a task's gates: the results that a gate can have, found before there is an event.
//!
//! In: a task, an expression, and what is certain of the entries of `resources` when the adapter evaluates the
//! expression. Out: an [`AbstractValue`], with params that stand for expressions replaced by those. Nothing
//! fails.

use std::collections::BTreeSet;

use lifecycle_core::task::{ParamSource, Resource, Task};
use lifecycle_language::cel::{AbstractValue, Expression, Possible, Presence, UnknownName};
use lifecycle_language::resource_reads::ResourceReads;

/// The abstract value of an expression, given what is certain of the entries of `resources`.
pub(crate) fn abstract_value(
    task: &Task,
    expression: &Expression,
    entries: &dyn Fn(&str) -> Presence,
) -> AbstractValue {
    expression.abstract_value(entries, &|name| definition(task, name))
}

/// The gates of one resource. The adapter evaluates a gate when it knows whether the resource has an object.
pub(crate) struct Own<'t> {
    pub(crate) task: &'t Task,
    pub(crate) resource: &'t Resource,
    is_shared: bool,
}

impl<'t> Own<'t> {
    pub(crate) fn of(task: &'t Task, resource: &'t Resource) -> Self {
        Self { task, resource, is_shared: task.is_shared(&resource.name) }
    }

    /// The abstract value of a gate, given whether the resource has an object.
    pub(crate) fn value(&self, gate: &Expression, presence: Presence) -> AbstractValue {
        let is_own = |name: &str| name == self.resource.name && !self.is_shared;
        abstract_value(self.task, gate, &|name| if is_own(name) { presence } else { Presence::Unknown })
    }

    /// The results that a gate can have, given whether the resource has an object.
    pub(crate) fn possible(&self, gate: &Expression, presence: Presence) -> Possible {
        self.value(gate, presence).possible()
    }
}

/// The abstract value of a gate of the resource at `own`, given whether that has an object.
pub(crate) fn own_value(task: &Task, own: usize, gate: &Expression, presence: Presence) -> AbstractValue {
    Own::of(task, &task.resources[own]).value(gate, presence)
}

/// The resources whose `presence` keeps an expression from holding, except the one at `own`, whose gate it is. Empty if
/// the expression cannot hold anyway.
pub(crate) fn excluded_by(
    task: &Task,
    own: Option<(usize, Presence)>,
    expression: &Expression,
    presence: Presence,
) -> BTreeSet<usize> {
    let ResourceReads::Only(read) = expression.resource_reads() else { return BTreeSet::new() };
    let own = own.map(|(index, presence)| (index, task.resources[index].name.as_str(), presence));
    let own_presence = |name: &str| match own {
        Some((_, own, presence)) if own == name && !task.is_shared(name) => presence,
        Some(_) | None => Presence::Unknown,
    };
    let is_certain = |(index, name): &(usize, &String)| {
        own.is_none_or(|(own, ..)| own != *index) && read.contains(*name) && !task.is_shared(name)
    };
    let can_hold = |entries: &dyn Fn(&str) -> Presence| abstract_value(task, expression, entries).possible().can_hold();
    let names = task.resources.iter().map(|resource| &resource.name).enumerate();
    let mut others = names.filter(is_certain).peekable();
    if others.peek().is_none() || !can_hold(&own_presence) {
        return BTreeSet::new();
    }
    let is_excluded = |other: &str| !can_hold(&|name| if name == other { presence } else { own_presence(name) });
    others.filter(|(_, name)| is_excluded(name)).map(|(index, _)| index).collect()
}

/// The expression that a variable stands for, if nothing else can be its value once it has one, and what the
/// expression reads is then what it was.
pub(crate) fn definition(task: &Task, name: &str) -> Option<Expression> {
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
