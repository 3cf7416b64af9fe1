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

use super::answer::unpack;
use super::cost::{BUDGET, Budget};
use super::environment::{ENVIRONMENT, NOW};
use super::internal::Internal;
use super::lint::Name;
use super::meter::{MAX_TURNS, TURN};
use super::view::{Misses, Views, address};
use super::{Answer, EvaluationErrorKind};
use crate::scope::Scope;

/// The scope's variables, as the interpreter asks for them.
struct Variables<'s> {
    scope: &'s Scope,
    views: Views<'s>,
    /// The turns that loops have made.
    turns: AtomicUsize,
    budget: Internal<Budget>,
}

impl VariableResolver for Variables<'_> {
    fn resolve<'b>(&'b self, name: &str) -> Option<CowVal<'b, 'b>> {
        if name == NOW {
            return Some(CowVal::owned(CelString::from(self.scope.now_text())));
        }
        if name == TURN {
            let within = self.turns.fetch_add(1, Ordering::Relaxed) < MAX_TURNS;
            return within.then(|| CowVal::owned(CelBool::from(true)));
        }
        if name == BUDGET {
            return Some(CowVal::Borrowed(&self.budget));
        }
        self.scope.get(name).map(|value| self.views.of(value))
    }
}

/// An evaluation that failed.
#[derive(Debug)]
pub(super) struct Failure {
    error: ExecutionError,
    misses: Misses,
}

/// Evaluates a [program](super::meter::program).
pub(super) fn evaluate(tree: &IdedExpr, scope: &Scope) -> Result<Answer, Failure> {
    let misses = Misses::default();
    let result = {
        let variables = Variables {
            scope,
            views: Views::new(&misses),
            turns: AtomicUsize::new(0),
            budget: Internal(Budget::new()),
        };
        let mut context = Context::with_env(Arc::clone(&ENVIRONMENT));
        context.set_variable_resolver(&variables);
        // Not `resolve_val`: that is compiled into this crate, recursion and all, and unoptimised seventy
        // operators overflow a worker's stack. A defect of the interpreter fails one expression,
        // as any other error does.
        let guarded = catch_unwind(AssertUnwindSafe(|| unpack(&CelValue::resolve(tree, &context)?)));
        guarded.unwrap_or_else(|_| Err(ExecutionError::InternalError("the interpreter failed".to_owned())))
    };
    result.map_err(|error| Failure { error, misses })
}

impl Failure {
    /// What kind of failure it was, and what a person reads. Values stay out of the text: they may be secret.
    #[expect(clippy::wildcard_enum_match_arm, reason = "the engine's errors are open: what is new is no special case")]
    pub(super) fn describe(&self, scope: &Scope, source: &str, names: &[Name]) -> (EvaluationErrorKind, String) {
        match &self.error {
            ExecutionError::NoSuchKey(key) => {
                let asked = self.misses.asked(key);
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
        // The library quotes what these were given.
        ExecutionError::FunctionError { function, .. } if function == "matches" => {
            "matches: not a regular expression".to_owned()
        }
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
