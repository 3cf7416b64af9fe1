//! The functions that take from an evaluation's budget: those that hand a value through, and those of the library
//! that can make far more than they are given.
//!
//! In go values and the [`Budget`], out come the value, or what `replace` and `join` make of it. They fail once the
//! budget is spent, before anything is made.

use cel::common::types::{CelInt, CelList, CelMap, CelMapKey, CelString, DYN_TYPE, Kind, Type};
use cel::common::value::{CowVal, Val};
use cel::{DeclarationError, Env, ExecutionError};

use super::conversions::no_overload;
use super::cost::{Budget, Toll};
use super::data::{entries, take, text};
use super::view;
use super::weight::{LOOK, NODE, weigh};

pub(super) fn declare(environment: &mut Env) -> Result<(), DeclarationError> {
    for toll in Toll::ALL {
        let function = match toll {
            Toll::Look => look,
            Toll::Range => range,
            Toll::Whole => whole,
            Toll::Pairs => pairs,
            Toll::Pieces => pieces,
            Toll::Count => count,
        };
        let arguments = if toll == Toll::Pieces { 3 } else { 2 };
        environment.add_overload(toll.function(), toll.function(), anything(arguments), function)?;
    }
    for (name, arguments) in [("@replace", 4), ("@replace", 5)] {
        environment.add_overload(name, &format!("{name}_{arguments}"), anything(arguments), replace)?;
    }
    environment.add_overload("@join", "@join_2", anything(2), join)?;
    environment.add_overload("@join", "@join_3", anything(3), join)
}

fn anything(arguments: usize) -> Vec<Type> {
    std::iter::repeat_with(|| DYN_TYPE).take(arguments).collect()
}

/// Takes what a value costs, given what is left, and hands it through.
fn pass<'b, 'v>(
    arguments: Vec<CowVal<'b, 'v>>,
    cost: impl FnOnce(&CowVal<'b, 'v>, usize) -> usize,
) -> Result<CowVal<'b, 'v>, ExecutionError> {
    let [value, budget] = take("@toll", arguments)?;
    let budget = Budget::of(Some(&budget))?;
    // Nothing is weighed once the budget is spent: loops go on after a failure that a later turn may outvote.
    budget.spend(1)?;
    budget.spend(cost(&value, budget.left()))?;
    Ok(value)
}

/// How many members a list or map has.
fn size(value: &dyn Val) -> Option<usize> {
    usize::try_from(*value.as_sizer()?.size().inner()).ok()
}

fn look<'b, 'v>(arguments: Vec<CowVal<'b, 'v>>) -> Result<CowVal<'b, 'v>, ExecutionError> {
    pass(arguments, |value, left| {
        let has_members = matches!(value.get_type().kind(), Kind::List | Kind::Map);
        let size = if has_members { size(value.as_ref()) } else { None };
        size.map_or_else(|| weigh(value.as_ref(), left), |size| LOOK * size)
    })
}

fn range<'b, 'v>(arguments: Vec<CowVal<'b, 'v>>) -> Result<CowVal<'b, 'v>, ExecutionError> {
    // A loop copies each member: of data, a reference.
    let range = pass(arguments, |value, left| {
        let members = if view::is_view(value.as_ref()) { size(value.as_ref()) } else { None };
        members.map_or_else(|| weigh(value.as_ref(), left), |members| LOOK * members)
    })?;
    // Those of data have an order already, and are told apart by not being of the library's type.
    let made = if view::is_view(range.as_ref()) { None } else { range.downcast_ref::<CelMap<'v>>() };
    let Some(made) = made else { return Ok(range) };
    let keys = entries(made).into_iter().map(|(key, _)| key_value(key));
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

fn whole<'b, 'v>(arguments: Vec<CowVal<'b, 'v>>) -> Result<CowVal<'b, 'v>, ExecutionError> {
    pass(arguments, |value, left| weigh(value.as_ref(), left))
}

fn pairs<'b, 'v>(arguments: Vec<CowVal<'b, 'v>>) -> Result<CowVal<'b, 'v>, ExecutionError> {
    pass(arguments, |value, left| {
        let members = size(value.as_ref()).unwrap_or(0);
        members.saturating_mul(members).saturating_add(weigh(value.as_ref(), left))
    })
}

fn pieces<'b, 'v>(arguments: Vec<CowVal<'b, 'v>>) -> Result<CowVal<'b, 'v>, ExecutionError> {
    let [value, separator, budget] = take("@toll", arguments)?;
    let budget = Budget::of(Some(&budget))?;
    // Before they are counted: that goes through the text.
    budget.spend(1 + text(&value).len())?;
    budget.spend(NODE * (1 + text(&value).matches(text(&separator)).count()))?;
    Ok(value)
}

fn count<'b, 'v>(arguments: Vec<CowVal<'b, 'v>>) -> Result<CowVal<'b, 'v>, ExecutionError> {
    pass(arguments, |value, _| {
        let count = value.downcast_ref::<CelInt>().and_then(|count| usize::try_from(*count.inner()).ok());
        NODE.saturating_mul(count.unwrap_or(0))
    })
}

/// `text.replace(from, to)`, or the first `n` of them; all if `n` is negative.
fn replace<'b, 'v>(arguments: Vec<CowVal<'b, 'v>>) -> Result<CowVal<'b, 'v>, ExecutionError> {
    let budget = Budget::of(arguments.last())?;
    let arguments = &arguments[..arguments.len() - 1];
    let string = |at: usize| arguments.get(at).and_then(|argument| argument.downcast_ref::<CelString<'_>>());
    let most = match arguments.get(3) {
        None => Some(-1),
        Some(most) => most.downcast_ref::<CelInt>().map(|most| *most.inner()),
    };
    let (Some(text), Some(from), Some(to), Some(most)) = (string(0), string(1), string(2), most) else {
        return Err(no_overload("replace", arguments));
    };
    let (text, from, to) = (text.inner(), from.inner(), to.inner());
    let most = usize::try_from(most).unwrap_or(usize::MAX);
    budget.spend(text.len())?;
    let found = text.matches(from).take(most).count();
    budget.spend(found.saturating_mul(to.len()))?;
    Ok(CowVal::owned(CelString::from(text.replacen(from, to, most))))
}

/// `list.join()`, `list.join(separator)`.
fn join<'b, 'v>(arguments: Vec<CowVal<'b, 'v>>) -> Result<CowVal<'b, 'v>, ExecutionError> {
    let budget = Budget::of(arguments.last())?;
    let arguments = &arguments[..arguments.len() - 1];
    let separator = match arguments.get(1) {
        None => Some(""),
        Some(separator) => separator.downcast_ref::<CelString<'_>>().map(|separator| separator.inner()),
    };
    let list = arguments.first().filter(|list| list.get_type().kind() == Kind::List);
    let list = list.and_then(|list| list.as_iterable());
    let (Some(list), Some(separator)) = (list, separator) else { return Err(no_overload("join", arguments)) };
    let mut joined = String::new();
    let mut items = list.iter();
    let mut is_first = true;
    while let Some(item) = items.next() {
        let Some(item) = item.downcast_ref::<CelString<'_>>() else {
            return Err(ExecutionError::function_error("join", "not a list of strings"));
        };
        budget.spend(NODE + separator.len() + item.inner().len())?;
        joined.push_str(if is_first { "" } else { separator });
        joined.push_str(item.inner());
        is_first = false;
    }
    Ok(CowVal::owned(CelString::from(joined)))
}
