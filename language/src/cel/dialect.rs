//! Rewrites a tree where the interpreter differs from cel-go, the CEL engine of the Go adapter.
//!
//! In goes a node of a parsed tree. Out comes the node with calls of our functions in place of `has`, `matches`, optional
//! elements and entries, and `indexOf` with a start. A pattern that the expression holds as a literal is compiled once,
//! here.

use cel::common::ast::{EntryExpr, Expr, IdedExpr, LiteralValue, MapEntryExpr};
use cel::common::types::{CelBool, CelInt, CelOptional, CelString, Kind};
use cel::common::value::{CowVal, Val};
use cel::{DeclarationError, Env, ExecutionError};

use super::arguments::{Arguments, Resolved, no_overload, take, text};
use super::cost::{BUDGET, Budget};
use super::declare::declare_any;
use super::internal::Internal;
use super::node::{self, call};
use crate::pattern::{MAX_SIZE, Pattern, PatternError};

const HAS: &str = "@has";
const OPTIONAL: &str = "@optional";
const MATCHES: &str = "@matches";
const INDEX_OF: &str = "@indexOf";
const LAST_INDEX_OF: &str = "@lastIndexOf";

/// The prefix of the variables that hold literal patterns; `@` is in no name that an author can write.
const PATTERN: &str = "@pattern";

/// How many steps of a match cost a byte of the budget: a step takes up to 3 ns in a release build, and the 32 MiB are to
/// last less than a second.
const STEPS_PER_UNIT: usize = 8;

/// The bytes that compiling a pattern costs, and each of its states: measured at 60 µs, and up to 4 µs a state.
const COMPILATION: usize = 2048;
const STATE: usize = 128;

/// A literal pattern: compiled, or the mistake in it.
pub(super) type Compiled = Internal<Result<Pattern, PatternError>>;

pub(super) fn declare(environment: &mut Env) -> Result<(), DeclarationError> {
    declare_any(environment, HAS, 2, has)?;
    declare_any(environment, OPTIONAL, 1, optional)?;
    declare_any(environment, MATCHES, 3, matches)?;
    declare_any(environment, INDEX_OF, 3, index_of)?;
    declare_any(environment, LAST_INDEX_OF, 3, last_index_of)
}

/// Rewrites one node after its children, and collects literal patterns.
pub(super) fn adapt(node: &mut IdedExpr, patterns: &mut Vec<Compiled>) {
    match &mut node.expr {
        Expr::Select(select) if select.test => {
            let field = node::text(&select.field);
            node.expr = call(HAS, vec![std::mem::take(&mut *select.operand), field]);
        }
        Expr::List(list) => {
            for index in &list.optional_indices {
                list.elements.get_mut(*index).into_iter().for_each(check_optional);
            }
        }
        Expr::Map(map) => {
            for entry in &mut map.entries {
                if let EntryExpr::MapEntry(MapEntryExpr { value, optional: true, .. }) = &mut entry.expr {
                    check_optional(value);
                }
            }
        }
        Expr::Call(method) => {
            let (target, args) = (method.target.as_deref_mut(), method.args.as_mut_slice());
            let replacement = match (method.func_name.as_str(), target, args) {
                ("matches", Some(text), [pattern]) | ("matches", None, [text, pattern]) => {
                    Some((MATCHES, vec![text, constant_pattern(pattern, patterns)]))
                }
                ("indexOf", Some(text), [part, from]) => Some((INDEX_OF, vec![text, part, from])),
                ("lastIndexOf", Some(text), [part, from]) => Some((LAST_INDEX_OF, vec![text, part, from])),
                _ => None,
            };
            let Some((function, operands)) = replacement else { return };
            let mut operands: Vec<_> = operands.into_iter().map(std::mem::take).collect();
            if function == MATCHES {
                operands.push(node::variable(BUDGET));
            }
            node.expr = call(function, operands);
        }
        Expr::Comprehension(_)
        | Expr::Ident(_)
        | Expr::Literal(_)
        | Expr::Select(_)
        | Expr::Struct(_)
        | Expr::Unspecified => {}
    }
}

/// The literal pattern that a variable holds.
pub(super) fn pattern<'p>(variable: &str, patterns: &'p [Compiled]) -> Option<&'p Compiled> {
    patterns.get(variable.strip_prefix(PATTERN)?.parse::<usize>().ok()?)
}

/// Compiles a literal pattern, and puts a variable in its place.
fn constant_pattern<'e>(operand: &'e mut IdedExpr, patterns: &mut Vec<Compiled>) -> &'e mut IdedExpr {
    if let Expr::Literal(LiteralValue::String(text)) = &operand.expr {
        let size = |Internal(pattern): &Compiled| pattern.as_ref().map_or(0, Pattern::size);
        let others: usize = patterns.iter().map(size).sum();
        let compiled = Pattern::parse(text.inner());
        let compiled = Internal(compiled.and_then(|pattern| match others + pattern.size() {
            ..=MAX_SIZE => Ok(pattern),
            _ => Err(PatternError::TooLarge),
        }));
        operand.expr = Expr::Ident(format!("{PATTERN}{}", patterns.len()));
        patterns.push(compiled);
    }
    operand
}

fn check_optional(element: &mut IdedExpr) {
    let value = std::mem::take(element);
    element.expr = call(OPTIONAL, vec![value]);
}

/// `has(value.field)`: false for a value that has no fields.
fn has<'b, 'v>(arguments: Arguments<'b, 'v>) -> Resolved<'b, 'v> {
    let [value, field] = take("has", arguments)?;
    let is_there = match value.downcast_ref::<CelOptional<'v>>() {
        Some(optional) => optional.option().map_or(Ok(false), |value| holds(value, field.as_ref())),
        None => holds(value.as_ref(), field.as_ref()),
    };
    is_there.map(|is_there| CowVal::owned(CelBool::from(is_there)))
}

fn holds(value: &dyn Val, field: &dyn Val) -> Result<bool, ExecutionError> {
    let types = || vec![value.get_type().name().to_owned(), field.get_type().name().to_owned()];
    let kind = value.get_type().kind();
    if kind == Kind::List {
        return Err(ExecutionError::no_such_overload("has", types()));
    }
    value.as_container().filter(|_| kind == Kind::Map).map_or(Ok(false), |map| map.contains(field))
}

/// Checks that the value of an optional element `[?value]` or entry `{?key: value}` is an optional.
fn optional<'b, 'v>(arguments: Arguments<'b, 'v>) -> Resolved<'b, 'v> {
    let [value] = take(OPTIONAL, arguments)?;
    if value.downcast_ref::<CelOptional<'v>>().is_some() {
        return Ok(value);
    }
    let kind = value.get_type().name();
    Err(ExecutionError::InternalError(format!("`?` before an element or entry needs an optional value, not {kind}")))
}

/// `text.matches(pattern)`. The error does not quote a computed pattern, which may be secret.
fn matches<'b, 'v>(arguments: Arguments<'b, 'v>) -> Resolved<'b, 'v> {
    let [value, pattern, budget] = take("matches", arguments)?;
    let budget = Budget::of(Some(&budget))?;
    let failed = |reason: &str| ExecutionError::function_error("matches", reason);
    let Some(searched) = value.downcast_ref::<CelString<'_>>() else {
        let pattern = if pattern.downcast_ref::<Compiled>().is_some() { "string" } else { pattern.get_type().name() };
        let types = vec![value.get_type().name().to_owned(), pattern.to_owned()];
        return Err(ExecutionError::no_such_overload("matches", types));
    };
    let is_match = |pattern: &Pattern| {
        budget.spend_bytes(1 + pattern.size().saturating_mul(searched.inner().len()) / STEPS_PER_UNIT)?;
        Ok(CowVal::owned(CelBool::from(pattern.is_match(searched.inner()))))
    };
    if let Some(Internal(constant)) = pattern.downcast_ref::<Compiled>() {
        return is_match(constant.as_ref().map_err(|error| failed(&error.to_string()))?);
    }
    let Some(written) = pattern.downcast_ref::<CelString<'_>>() else {
        return Err(no_overload("matches", &[value, pattern]));
    };
    budget.spend_bytes(COMPILATION + written.inner().len())?;
    let compiled = Pattern::parse(written.inner()).map_err(|error| match error {
        PatternError::Syntax { .. } => failed("not a regular expression"),
        PatternError::TooLarge => failed("the pattern is too large"),
    })?;
    budget.spend_bytes(STATE.saturating_mul(compiled.size()))?;
    is_match(&compiled)
}

/// Finds the first position of a part from an index on: `text.indexOf(part, from)`.
fn index_of<'b, 'v>(arguments: Arguments<'b, 'v>) -> Resolved<'b, 'v> {
    position("indexOf", arguments, |text, part, from| {
        let (start, _) = text.char_indices().nth(from)?;
        text[start..].find(part).map(|found| start + found)
    })
}

/// `text.lastIndexOf(part, from)`: the last position up to `from`.
fn last_index_of<'b, 'v>(arguments: Arguments<'b, 'v>) -> Resolved<'b, 'v> {
    position("lastIndexOf", arguments, |text, part, from| {
        text.char_indices().nth(from)?;
        let end = text.char_indices().nth(from.saturating_add(part.chars().count()));
        text[..end.map_or(text.len(), |(end, _)| end)].rfind(part)
    })
}

/// A position in characters, or -1. As in cel-go, a search that starts beyond the end finds nothing.
fn position<'b, 'v>(
    function: &str,
    arguments: Arguments<'b, 'v>,
    find: impl FnOnce(&str, &str, usize) -> Option<usize>,
) -> Resolved<'b, 'v> {
    let [value, part, from] = take(function, arguments)?;
    let is_text = |value: &CowVal<'_, '_>| value.downcast_ref::<CelString<'_>>().is_some();
    let Some(start) = from.downcast_ref::<CelInt>().filter(|_| is_text(&value) && is_text(&part)) else {
        return Err(no_overload(function, &[value, part, from]));
    };
    let Ok(start) = usize::try_from(*start.inner()) else {
        return Err(ExecutionError::function_error(function, "the index is negative"));
    };
    let (searched, part) = (text(&value), text(&part));
    let found = if part.is_empty() {
        Some(start.min(searched.chars().count()))
    } else {
        find(searched, part, start).map(|found| searched[..found].chars().count())
    };
    let found = found.and_then(|found| i64::try_from(found).ok()).unwrap_or(-1);
    Ok(CowVal::owned(CelInt::from(found)))
}
