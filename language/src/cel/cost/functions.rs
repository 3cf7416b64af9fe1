//! The functions that charge an evaluation's budget. Most return their argument unchanged; `replace` and `join` take the
//! place of the library's, because their results can be far larger than their arguments.

use cel::common::types::{CelInt, CelList, CelMap, CelMapKey, CelOptional, CelString, Kind};
use cel::common::value::{CowVal, Val};
use cel::{DeclarationError, Env, ExecutionError};

use super::Budget;
use super::members::PER_VALUE;
use super::size::size;
use crate::cel::arguments::{Arguments, Resolved, entries, no_overload, take, text};
use crate::cel::declare::declare_any;
use crate::cel::view;

/// Charges for a look at a text, or at each element of a list or mapping.
pub(super) const LOOK: &str = "@look";
/// Charges for a copy of a part: for the whole value, or nothing for data in the scope, which is copied by reference.
pub(super) const COPY: &str = "@copy";
/// Charges for a traversal or copy of the whole value.
pub(super) const WHOLE: &str = "@whole";
/// Charges for a loop over a value, or for as many elements as a number says.
pub(super) const LOOP: &str = "@loop";
/// As [`LOOP`]; returns the sorted keys of a mapping.
pub(super) const RANGE: &str = "@range";
/// Charges for a comparison of all elements with each other.
pub(super) const PAIRS: &str = "@pairs";
/// Charges for the pieces of a text between separators.
pub(super) const PIECES: &str = "@pieces";
pub(super) const REPLACE: &str = "@replace";
pub(super) const JOIN: &str = "@join";

/// The bytes that a look at one element costs.
const PER_LOOK: usize = 4;

pub(in crate::cel) fn declare(environment: &mut Env) -> Result<(), DeclarationError> {
    let mut add = |name, arguments, function| declare_any(environment, name, arguments, function);
    add(LOOK, 2, look)?;
    add(COPY, 2, copy)?;
    add(WHOLE, 2, whole)?;
    add(LOOP, 2, iterations)?;
    add(RANGE, 2, range)?;
    add(PAIRS, 2, pairs)?;
    add(PIECES, 3, pieces)?;
    add(REPLACE, 4, replace)?;
    add(REPLACE, 5, replace)?;
    add(JOIN, 2, join)?;
    add(JOIN, 3, join)
}

/// Charges what a value costs, given the bytes that are left, and returns the value.
fn pass<'b, 'v>(arguments: Arguments<'b, 'v>, cost: impl FnOnce(&dyn Val, usize) -> usize) -> Resolved<'b, 'v> {
    let [value, budget] = take("@charge", arguments)?;
    let budget = Budget::of(Some(&budget))?;
    // Fails before the measurement if the budget is exceeded: `all` and `exists` go on after an error.
    budget.spend_bytes(1)?;
    budget.spend_bytes(cost(value.as_ref(), budget.room()))?;
    Ok(value)
}

/// How many elements a list or mapping has.
fn members(value: &dyn Val) -> Option<usize> {
    let sizer = value.as_sizer().filter(|_| matches!(value.get_type().kind(), Kind::List | Kind::Map))?;
    usize::try_from(*sizer.size().inner()).ok()
}

fn whole<'b, 'v>(arguments: Arguments<'b, 'v>) -> Resolved<'b, 'v> {
    pass(arguments, size)
}

fn copy<'b, 'v>(arguments: Arguments<'b, 'v>) -> Resolved<'b, 'v> {
    pass(arguments, |value, room| {
        let is_container = matches!(value.get_type().kind(), Kind::List | Kind::Map);
        // Downcasting a view would make it build a list or map of CEL's own.
        let optional = if is_container { None } else { value.downcast_ref::<CelOptional<'_>>() };
        let container = if is_container { Some(value) } else { optional.and_then(|optional| optional.option()) };
        container.filter(|container| !view::is_view(*container)).map_or(0, |container| size(container, room))
    })
}

fn look<'b, 'v>(arguments: Arguments<'b, 'v>) -> Resolved<'b, 'v> {
    pass(arguments, |value, room| members(value).map_or_else(|| size(value, room), |members| PER_LOOK * members))
}

fn pairs<'b, 'v>(arguments: Arguments<'b, 'v>) -> Resolved<'b, 'v> {
    pass(arguments, |value, room| {
        let members = members(value).unwrap_or(0);
        members.saturating_mul(members).saturating_add(size(value, room))
    })
}

/// Charges all iterations before the first one, also those of a loop that will end early.
fn iterations<'b, 'v>(arguments: Arguments<'b, 'v>) -> Resolved<'b, 'v> {
    let budget = Budget::of(arguments.get(1))?.clone();
    let range = pass(arguments, |value, room| match members(value) {
        // A loop copies each element; of a view, a reference.
        Some(members) if view::is_view(value) => PER_LOOK * members,
        _ => size(value, room),
    })?;
    let count = || range.downcast_ref::<CelInt>().and_then(|count| usize::try_from(*count.inner()).ok());
    budget.spend_iterations(members(range.as_ref()).or_else(count).unwrap_or(0))?;
    Ok(range)
}

fn range<'b, 'v>(arguments: Arguments<'b, 'v>) -> Resolved<'b, 'v> {
    let range = iterations(arguments)?;
    if range.get_type().kind() != Kind::Map {
        return Ok(range);
    }
    // The interpreter's maps are unordered.
    let keys = range.downcast_ref::<CelMap<'v>>().map(entries).unwrap_or_default();
    let keys = keys.into_iter().map(|(key, _)| key_value(key));
    Ok(CowVal::owned(CelList::from(keys.collect::<Vec<_>>())))
}

fn key_value<'v>(key: &CelMapKey<'v>) -> Box<dyn Val + 'v> {
    match key {
        CelMapKey::Bool(key) => key.clone_as_boxed(),
        CelMapKey::Int(key) => key.clone_as_boxed(),
        CelMapKey::String(key) => key.clone_as_boxed(),
        CelMapKey::UInt(key) => key.clone_as_boxed(),
    }
}

fn pieces<'b, 'v>(arguments: Arguments<'b, 'v>) -> Resolved<'b, 'v> {
    let [value, separator, budget] = take("split", arguments)?;
    let budget = Budget::of(Some(&budget))?;
    // Charged before the count, which traverses the text.
    budget.spend_bytes(1 + text(&value).len())?;
    budget.spend_bytes(PER_VALUE * (1 + text(&value).matches(text(&separator)).count()))?;
    Ok(value)
}

/// `text.replace(from, to)`, or the first `n` of them; all if `n` is negative.
fn replace<'b, 'v>(arguments: Arguments<'b, 'v>) -> Resolved<'b, 'v> {
    let budget = Budget::of(arguments.last())?;
    let arguments = &arguments[..arguments.len() - 1];
    let string = |at: usize| arguments.get(at)?.downcast_ref::<CelString<'_>>();
    let most = arguments.get(3).map_or(Some(-1), |most| most.downcast_ref::<CelInt>().map(|most| *most.inner()));
    let (Some(text), Some(from), Some(to), Some(most)) = (string(0), string(1), string(2), most) else {
        return Err(no_overload("replace", arguments));
    };
    let (text, from, to) = (text.inner(), from.inner(), to.inner());
    let most = usize::try_from(most).unwrap_or(usize::MAX);
    budget.spend_bytes(text.len())?;
    budget.spend_bytes(text.matches(from).take(most).count().saturating_mul(to.len()))?;
    Ok(CowVal::owned(CelString::from(text.replacen(from, to, most))))
}

/// Joins a list of texts to one: `list.join()` and `list.join(separator)`.
fn join<'b, 'v>(arguments: Arguments<'b, 'v>) -> Resolved<'b, 'v> {
    let budget = Budget::of(arguments.last())?;
    let arguments = &arguments[..arguments.len() - 1];
    let separator =
        arguments.get(1).map_or(Some(""), |separator| Some(separator.downcast_ref::<CelString<'_>>()?.inner()));
    let list = arguments.first().and_then(|list| list.downcast_ref::<CelList<'_>>());
    let (Some(list), Some(separator)) = (list, separator) else { return Err(no_overload("join", arguments)) };
    let mut texts = Vec::new();
    for item in list.inner() {
        let Some(item) = item.downcast_ref::<CelString<'_>>() else {
            return Err(ExecutionError::function_error("join", "not a list of strings"));
        };
        budget.spend_bytes(PER_VALUE + separator.len() + item.inner().len())?;
        texts.push(item.inner());
    }
    Ok(CowVal::owned(CelString::from(texts.join(separator))))
}
