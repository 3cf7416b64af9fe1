//! One evaluation of one expression against one scope.
//!
//! In go a program and a scope, out comes an answer or an error. The interpreter reads the scope in place through
//! [views](super::view).

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use cel::common::ast::IdedExpr;
use cel::common::types::CelString;
use cel::common::value::CowVal;
use cel::context::VariableResolver;
use cel::{Context, ExecutionError, Value as CelValue};

use super::answer::{self, unpack};
use super::cost::{BUDGET, Budget, operands};
use super::declare::NOW;
use super::dialect::{self, Compiled};
use super::environment::ENVIRONMENT;
use super::internal::Internal;
use super::view::{Views, missing_path};
use super::{EvaluationErrorKind, walk};
use crate::scope::Scope;
use crate::value::Typed;

/// An expression as it is evaluated.
pub(super) struct Program {
    tree: IdedExpr,
    /// The literal patterns of the tree.
    pub(super) patterns: Vec<Compiled>,
}

impl Program {
    /// Makes the program of a tree that [`super::limits`] accepted: it behaves as in cel-go, charges for its cost, and
    /// answers in JSON.
    pub(super) fn new(mut tree: IdedExpr) -> Self {
        let mut patterns = Vec::new();
        walk::rewrite(&mut tree, &mut |node| {
            dialect::adapt(node, &mut patterns);
            operands::charge(node);
        });
        operands::whole(&mut tree);
        Self { tree: answer::wrap(tree), patterns }
    }
}

/// Answers the interpreter's requests for variables: those of the scope, and ours.
struct Resolver<'s> {
    scope: &'s Scope,
    views: Views<'s>,
    budget: Internal<Budget>,
    patterns: &'s [Compiled],
}

impl VariableResolver for Resolver<'_> {
    fn resolve<'b>(&'b self, name: &str) -> Option<CowVal<'b, 'b>> {
        match name {
            NOW => Some(CowVal::owned(CelString::from(self.scope.now_text()))),
            BUDGET => Some(CowVal::Borrowed(&self.budget)),
            name => match dialect::pattern(name, self.patterns) {
                Some(pattern) => Some(CowVal::Borrowed(pattern)),
                None => self.scope.get(name).map(|value| self.views.of(value)),
            },
        }
    }
}

/// The result of an evaluation; none is `optional.none()`.
type Resolved = Result<Option<Typed>, ExecutionError>;

/// Evaluates a compiled expression with the variables of a scope and a new budget.
pub(super) fn evaluate(program: &Program, scope: &Scope) -> Resolved {
    evaluate_within(&Budget::default(), program, scope)
}

pub(super) fn evaluate_within(budget: &Budget, program: &Program, scope: &Scope) -> Resolved {
    let result = resolve(&program.tree, &program.patterns, scope, budget, &unpack);
    let evaluate = |tree: &IdedExpr| resolve(tree, &program.patterns, scope, budget, &|_| Ok(()));
    // `||` or `exists` may have ignored the error that the budget gave.
    budget.check()?;
    result.map_err(|error| leftmost(answer::unwrap(&program.tree), error, budget, &evaluate))
}

/// The error of the leftmost operand that fails, as in cel-go: if both operands of `&&` or `||` fail, the interpreter
/// reports the error of the right operand. The search evaluates operands again with the rest of the budget, and ends with it.
fn leftmost(
    tree: &IdedExpr,
    failure: ExecutionError,
    budget: &Budget,
    evaluate: &dyn Fn(&IdedExpr) -> Result<(), ExecutionError>,
) -> ExecutionError {
    let mut sides = Vec::new();
    walk::sides(tree, &mut sides);
    let failed = sides.into_iter().find_map(|side| evaluate(side).err().map(|failure| (side, failure)));
    match failed {
        Some((side, failure)) if budget.check().is_ok() => leftmost(side, failure, budget, evaluate),
        Some(_) | None => failure,
    }
}

fn resolve<T>(
    tree: &IdedExpr,
    patterns: &[Compiled],
    scope: &Scope,
    budget: &Budget,
    read: &dyn Fn(&CelValue) -> Result<T, ExecutionError>,
) -> Result<T, ExecutionError> {
    let kinds = scope.kinds();
    let resolver = Resolver { scope, views: Views::new(&kinds), budget: Internal(budget.clone()), patterns };
    let mut context = Context::with_env(Arc::clone(&ENVIRONMENT));
    context.set_variable_resolver(&resolver);
    // `resolve_val` would be compiled into this crate, where an unoptimised build overflows a worker's stack at seventy
    // operators. A panic of the interpreter fails one expression.
    let guarded = catch_unwind(AssertUnwindSafe(|| read(&CelValue::resolve(tree, &context)?)));
    guarded.unwrap_or_else(|_| Err(ExecutionError::InternalError("the interpreter failed".to_owned())))
}

/// The kind of an error, and its text. The text has no values, which may be secret.
#[expect(clippy::wildcard_enum_match_arm, reason = "the engine's errors are open: what is new is no special case")]
pub(super) fn describe(error: &ExecutionError, scope: &Scope, source: &str) -> (EvaluationErrorKind, String) {
    let missing = match error {
        ExecutionError::NoSuchKey(key) => Some(vec![key.to_string()]),
        error => missing_path(error, scope),
    };
    if let Some(path) = missing {
        let (key, parents) = path.split_last().map_or(("", path.as_slice()), |(key, parents)| (key, parents));
        // A key that is not in the expression's text was computed, and may be secret.
        let told = if source.contains(key) { key } else { "[computed]" };
        let parents: String = parents.iter().map(|step| format!("{step}.")).collect();
        return (EvaluationErrorKind::MissingKey { path: path.clone() }, format!("no such key: {parents}{told}"));
    }
    match error {
        ExecutionError::UndeclaredReference(name) => {
            let name = name.strip_prefix('.').unwrap_or(name).to_owned();
            let message = match scope.absence(&name) {
                Some(why) => format!("`{name}` has no value: {why}"),
                None => format!("undeclared reference to '{name}'"),
            };
            (EvaluationErrorKind::Undeclared(name), message)
        }
        error => (EvaluationErrorKind::Other, message(error)),
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
        // The library's message quotes the argument.
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

/// The name of a type in CEL; the interpreter calls `double` otherwise.
fn type_name(value: &CelValue) -> String {
    if let CelValue::Float(_) = value { "double".to_owned() } else { value.type_of().to_string() }
}
