//! One evaluation of one tree against one scope.
//!
//! In go tree and scope, out comes an answer or a failure that knows where a missing key was looked
//! for. Values are read in place: nothing of the scope is converted for an evaluation.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use cel::common::ast::IdedExpr;
use cel::common::types::{CelBool, CelString};
use cel::common::value::CowVal;
use cel::context::VariableResolver;
use cel::{Context, ExecutionError, Value as CelValue};
use serde_json::Value;

use super::answer::{self, unpack};
use super::cost::{BUDGET, Budget, over_budget};
use super::dialect::{self, Compiled};
use super::environment::{ENVIRONMENT, NOW};
use super::internal::Internal;
use super::lint::Name;
use super::meter::{MAX_TURNS, Program, TURN};
use super::view::{Session, Views, address};
use super::{EvaluationErrorKind, walk};
use crate::scope::Scope;
use crate::value::Typed;

#[cfg(test)]
thread_local! {
    /// How many turns the loops of this thread have asked for: what an evaluation costs, without a clock.
    pub(super) static TURNED: std::cell::Cell<usize> = const { std::cell::Cell::new(0) };
}

/// What one evaluation may cost; the search for the side that failed has what the evaluation left.
struct Allowance {
    /// The turns that loops have made.
    turns: AtomicUsize,
    budget: Internal<Budget>,
}

impl Allowance {
    fn new() -> Self {
        Self { turns: AtomicUsize::new(0), budget: Internal(Budget::new()) }
    }

    fn is_spent(&self) -> bool {
        let Internal(budget) = &self.budget;
        self.turns.load(Ordering::Relaxed) > MAX_TURNS || budget.left() == 0
    }
}

/// The scope's variables, as the interpreter asks for them.
struct Variables<'s> {
    scope: &'s Scope,
    views: Views<'s>,
    allowance: &'s Allowance,
    patterns: &'s [Compiled],
}

impl VariableResolver for Variables<'_> {
    fn resolve<'b>(&'b self, name: &str) -> Option<CowVal<'b, 'b>> {
        if name == NOW {
            return Some(CowVal::owned(CelString::from(self.scope.now_text())));
        }
        if name == TURN {
            #[cfg(test)]
            TURNED.set(TURNED.get() + 1);
            let within = self.allowance.turns.fetch_add(1, Ordering::Relaxed) < MAX_TURNS;
            return within.then(|| CowVal::owned(CelBool::from(true)));
        }
        if name == BUDGET {
            return Some(CowVal::Borrowed(&self.allowance.budget));
        }
        if let Some(pattern) = dialect::pattern(name, self.patterns) {
            return Some(CowVal::Borrowed(pattern));
        }
        self.scope.get(name).map(|value| self.views.of(value))
    }
}

/// What an evaluation came to; none is `optional.none()`.
type Resolved = Result<Option<Typed>, Box<Failure>>;

/// An evaluation that failed.
#[derive(Debug)]
pub(super) struct Failure {
    error: ExecutionError,
    session: Session,
}

/// Evaluates a [program](super::meter::program).
pub(super) fn evaluate(program: &Program, scope: &Scope) -> Resolved {
    let allowance = Allowance::new();
    let resolve = |tree: &IdedExpr| resolve(tree, &program.patterns, scope, &allowance);
    resolve(&program.tree).map_err(|failure| {
        // The interpreter tells of two sides that fail the right one.
        let is_over_limit = allowance.is_spent();
        first_failure(answer::unwrap(&program.tree), failure, is_over_limit, &resolve)
    })
}

/// How many changes between `&&` and `||` are followed to the side that is told: each evaluates sides once more.
const MAX_CHANGES: usize = 4;

/// Of a chain of `&&` or `||` that failed, the failure of its first side that fails alone. The search ends where the limits of the
/// evaluation end the search: then the failure that is known is told, unless the evaluation itself `is_over_limit`.
fn first_failure(
    tree: &IdedExpr,
    failure: Box<Failure>,
    is_over_limit: bool,
    resolve: &dyn Fn(&IdedExpr) -> Resolved,
) -> Box<Failure> {
    let (mut tree, mut failure) = (tree, failure);
    for _ in 0..MAX_CHANGES {
        if failure.is_of_a_limit() {
            break;
        }
        let mut sides = Vec::new();
        walk::sides(tree, &mut sides);
        let first = sides.into_iter().find_map(|side| resolve(side).err().map(|failure| (side, failure)));
        match first {
            Some((side, told)) if is_over_limit || !told.is_of_a_limit() => (tree, failure) = (side, told),
            Some(_) | None => break,
        }
    }
    failure
}

fn resolve(tree: &IdedExpr, patterns: &[Compiled], scope: &Scope, allowance: &Allowance) -> Resolved {
    let session = Session::new(scope.kinds());
    let result = {
        let variables = Variables { scope, views: Views::new(&session), allowance, patterns };
        let mut context = Context::with_env(Arc::clone(&ENVIRONMENT));
        context.set_variable_resolver(&variables);
        // Not `resolve_val`: that is compiled into this crate, recursion and all, and unoptimised seventy
        // operators overflow a worker's stack. A defect of the interpreter fails one expression,
        // as any other error does.
        let guarded = catch_unwind(AssertUnwindSafe(|| unpack(&CelValue::resolve(tree, &context)?)));
        guarded.unwrap_or_else(|_| Err(ExecutionError::InternalError("the interpreter failed".to_owned())))
    };
    result.map_err(|error| Box::new(Failure { error, session }))
}

impl Failure {
    /// Whether the evaluation was ended, and would be ended again.
    #[expect(clippy::wildcard_enum_match_arm, reason = "the engine's errors are open, and not of our limits")]
    fn is_of_a_limit(&self) -> bool {
        match &self.error {
            ExecutionError::UndeclaredReference(name) => name.as_str() == TURN,
            ExecutionError::InternalError(message) => *message == over_budget(),
            _ => false,
        }
    }

    /// What kind of failure it was, and what a person reads. Values stay out of the text: they may be secret.
    #[expect(clippy::wildcard_enum_match_arm, reason = "the engine's errors are open: what is new is no special case")]
    pub(super) fn describe(&self, scope: &Scope, source: &str, names: &[Name]) -> (EvaluationErrorKind, String) {
        match &self.error {
            ExecutionError::NoSuchKey(key) => {
                let asked = self.session.asked(key);
                let mut path = asked.and_then(|asked| path_of(asked, scope)).unwrap_or_default();
                // A key that is not written there was computed, and may be secret.
                let told = if source.contains(key.as_str()) { key.as_str() } else { "[computed]" };
                let parents = path.iter().map(|step| format!("{step}."));
                let message = format!("no such key: {}{told}", parents.collect::<String>());
                path.push(key.to_string());
                (EvaluationErrorKind::MissingKey { path }, message)
            }
            ExecutionError::UndeclaredReference(name) if name.as_str() == TURN => {
                (EvaluationErrorKind::Other, format!("loops make more than {MAX_TURNS} turns"))
            }
            ExecutionError::UndeclaredReference(name) => {
                let name = name.strip_prefix('.').unwrap_or(name).to_owned();
                let message = format!("undeclared reference to '{name}'");
                let is_variable = names.iter().any(|known| *known == Name::Variable(name.clone()));
                let kind = if is_variable {
                    EvaluationErrorKind::UndeclaredVariable(name)
                } else {
                    EvaluationErrorKind::UndeclaredFunction(name)
                };
                (kind, message)
            }
            error => (EvaluationErrorKind::Other, message(error)),
        }
    }
}

/// The error's text with the types of values instead of the values.
#[expect(clippy::wildcard_enum_match_arm, reason = "the engine's errors are open: other texts have no values")]
fn message(error: &ExecutionError) -> String {
    let overload = |operator: &str, values: &[&CelValue]| {
        let types: Vec<_> = values.iter().map(|value| type_name(value)).collect();
        format!("found no matching overload for '{operator}' applied to '({})'", types.join(", "))
    };
    match error {
        // The library quotes what this was given.
        ExecutionError::FunctionError { function, .. } if function == "timezone" => {
            "timezone: not a time zone such as Europe/Berlin, or an offset such as +01:00".to_owned()
        }
        ExecutionError::FunctionError { function, message } => format!("{function}: {message}"),
        ExecutionError::UnexpectedType { got, want } => format!("unexpected type: got {got}, want {want}"),
        ExecutionError::UnsupportedBinaryOperator(operator, left, right) => overload(operator, &[left, right]),
        ExecutionError::ValuesNotComparable(left, right) => overload("comparison", &[left, right]),
        ExecutionError::UnsupportedIndex(index, value) => overload("_[_]", &[value, index]),
        ExecutionError::UnsupportedKeyType(key) => format!("unsupported key type: {}", type_name(key)),
        ExecutionError::UnsupportedTargetType { target } => format!("unsupported type: {}", type_name(target)),
        ExecutionError::NotSupportedAsMethod { method, target } => overload(method, &[target]),
        ExecutionError::IndexOutOfBounds(_) => "index out of bounds".to_owned(),
        ExecutionError::DivisionByZero(_) => "division by zero".to_owned(),
        ExecutionError::RemainderByZero(_) => "modulus by zero".to_owned(),
        ExecutionError::Overflow(_, left, right) => match (left, right) {
            (CelValue::Timestamp(_), CelValue::Duration(_)) | (CelValue::Duration(_), CelValue::Timestamp(_)) => {
                "timestamp overflow".to_owned()
            }
            (CelValue::Timestamp(_) | CelValue::Duration(_), _) => "duration overflow".to_owned(),
            _ => "integer overflow".to_owned(),
        },
        ExecutionError::DuplicateKey(_) => "repeated key in a map".to_owned(),
        ExecutionError::InternalError(message) => message.clone(),
        error => error.to_string(),
    }
}

/// The type as CEL calls it; the engine's Rust name of `double` is another.
fn type_name(value: &CelValue) -> String {
    if let CelValue::Float(_) = value { "double".to_owned() } else { value.type_of().to_string() }
}

/// The path to the object at this address.
fn path_of(asked: usize, scope: &Scope) -> Option<Vec<String>> {
    /// A value, the step that leads to it, and where its parent is among those visited.
    struct Visited<'s> {
        value: &'s Value,
        step: String,
        parent: Option<usize>,
    }
    let mut visited: Vec<Visited<'_>> = Vec::new();
    visited.extend(scope.variables().map(|(name, value)| Visited { value, step: name.to_owned(), parent: None }));
    let mut at = 0;
    while at < visited.len() {
        let parent = Some(at);
        match visited[at].value {
            Value::Object(fields) if address(fields) == asked => {
                let parents = std::iter::successors(parent, |at| visited[*at].parent);
                let mut path: Vec<_> = parents.map(|at| visited[at].step.clone()).collect();
                path.reverse();
                return Some(path);
            }
            Value::Object(fields) => {
                visited.extend(fields.iter().map(|(key, value)| Visited { value, step: key.clone(), parent }));
            }
            Value::Array(items) => {
                let items = items.iter().enumerate();
                visited.extend(items.map(|(index, value)| Visited { value, step: index.to_string(), parent }));
            }
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
        }
        at += 1;
    }
    None
}
