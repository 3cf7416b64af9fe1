//! What a resource's gates can answer, told before there is an event.
//!
//! In: a task, an expression, and what is certain of the entries of `resources` when it is asked. Out: a [`Prospect`] or a
//! [`Formula`], with params that stand for expressions replaced by those. Nothing can fail; what is not certain is open.

use super::{ParamSource, Resource, Task};
use crate::cel::{Expression, Formula, Possible, Presence, Prospect, ResourceReads, UnknownName};

/// What an expression claims, given what is certain of the entries of `resources`.
pub(super) fn formula(task: &Task, expression: &Expression, entries: &dyn Fn(&str) -> Presence) -> Formula {
    expression.formula(entries, &|name| definition(task, name))
}

/// What can be said of an expression's answers; also by its parts that exclude each other.
pub(super) fn prospect(task: &Task, expression: &Expression, entries: &dyn Fn(&str) -> Presence) -> Prospect {
    let prospect = expression.prospect(entries);
    let is_impossible = || formula(task, expression, entries).is_impossible();
    if prospect == Prospect::Open && is_impossible() { Prospect::NeverHolds } else { prospect }
}

/// What is certain of a resource's own entry of `resources` when its gates are asked.
pub(super) struct Own<'t> {
    task: &'t Task,
    pub(super) resource: &'t Resource,
    /// Whether a nested discovery has the same name, so that nothing is certain.
    is_shared: bool,
}

impl<'t> Own<'t> {
    pub(super) fn of(task: &'t Task, resource: &'t Resource) -> Self {
        let mut nested = task.resources.iter().flat_map(|resource| &resource.nested);
        Self { task, resource, is_shared: nested.any(|nested| nested.name == resource.name) }
    }

    /// What is certain of an entry, if of the own one this is.
    fn entry(&self, name: &str, presence: Presence) -> Presence {
        if name == self.resource.name && !self.is_shared { presence } else { Presence::Unknown }
    }

    pub(super) fn prospect(&self, expression: &Expression, presence: Presence) -> Prospect {
        prospect(self.task, expression, &|name| self.entry(name, presence))
    }

    /// Which answers it can give.
    pub(super) fn possible(&self, expression: &Expression, presence: Presence) -> Possible {
        let possible = expression.possible(&|name| self.entry(name, presence));
        Possible { holds: possible.holds && !self.formula(expression, presence).is_impossible(), ..possible }
    }

    pub(super) fn formula(&self, expression: &Expression, presence: Presence) -> Formula {
        formula(self.task, expression, &|name| self.entry(name, presence))
    }
}

/// The expression that a variable stands for, if nothing else can be its value once it has one, and what the expression reads
/// is then what it was.
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
