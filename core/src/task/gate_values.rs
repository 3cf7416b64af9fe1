//! The abstract values of a task's gates: the results that a gate can have, found before there is an event.
//!
//! In: a task, an expression, and what is certain of the entries of `resources` when the adapter evaluates the
//! expression. Out: an [`AbstractValue`], with params that stand for expressions replaced by those. Nothing
//! fails.

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
    /// Whether a nested discovery has the resource's name, so that nothing is certain of the entry.
    is_shared: bool,
}

impl<'t> Own<'t> {
    pub(super) fn of(task: &'t Task, resource: &'t Resource) -> Self {
        let mut nested = task.resources.iter().flat_map(|resource| &resource.nested);
        Self { task, resource, is_shared: nested.any(|nested| nested.name == resource.name) }
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

/// The expression that a variable stands for, if nothing else can be its value once it has one, and what the
/// expression reads is then what it was.
fn definition(task: &Task, name: &str) -> Option<Expression> {
    let mut params = task.params.iter().filter(|param| param.name == name);
    let param = params.next()?;
    let ParamSource::Expression(expression) = &param.source else { return None };
    let reads_nothing_else = *expression.resource_reads() == ResourceReads::Only(Default::default());
    let is_settled = |unknown: &UnknownName| match unknown {
        UnknownName::Variable(name) => {
            matches!(name.as_str(), "event" | "config" | "env") || times_set(task, name) == 1
        }
        UnknownName::Function(_) => false,
    };
    let stands = param.default.is_none()
        && times_set(task, name) == 1
        && reads_nothing_else
        && expression.unknown_names(&|_| false).iter().all(is_settled);
    stands.then(|| expression.clone())
}

/// How many params, preconditions and captures set a variable.
fn times_set(task: &Task, name: &str) -> usize {
    let params = task.params.iter().filter(|param| param.name == name).count();
    let of_preconditions = task.preconditions.iter().map(|precondition| {
        let captures = precondition.captures.iter().filter(|capture| capture.name == name).count();
        captures + usize::from(precondition.name == name)
    });
    params + of_preconditions.sum::<usize>()
}
