//! List functions of the optional library that the interpreter lacks: `first`, `last`, `unwrapOpt`.

use cel::common::types::{CelList, CelOptional, LIST_TYPE};
use cel::common::value::{CowVal, Val};
use cel::{DeclarationError, Env};

use super::arguments::{Arguments, Resolved, take};

pub(super) fn declare(environment: &mut Env) -> Result<(), DeclarationError> {
    environment.add_member_overload("first", "list_first", LIST_TYPE, vec![], first)?;
    environment.add_member_overload("last", "list_last", LIST_TYPE, vec![], last)?;
    environment.add_member_overload("unwrapOpt", "list_unwrap_opt", LIST_TYPE, vec![], unwrap)?;
    environment.add_overload("optional.unwrap", "optional_unwrap_list", vec![LIST_TYPE], unwrap)
}

fn first<'b, 'v>(arguments: Arguments<'b, 'v>) -> Resolved<'b, 'v> {
    let [list] = take("first", arguments)?;
    let first = list.as_iterable().and_then(|list| list.iter().next().map(Val::clone_as_boxed));
    Ok(CowVal::owned(CelOptional::from(first)))
}

fn last<'b, 'v>(arguments: Arguments<'b, 'v>) -> Resolved<'b, 'v> {
    let [list] = take("last", arguments)?;
    let last = list.downcast_ref::<CelList<'v>>().and_then(|list| list.inner().last().cloned());
    Ok(CowVal::owned(CelOptional::from(last)))
}

/// Replaces each optional of a list by its value, and leaves out empty ones.
fn unwrap<'b, 'v>(arguments: Arguments<'b, 'v>) -> Resolved<'b, 'v> {
    let [list] = take("unwrapOpt", arguments)?;
    let items = list.downcast_ref::<CelList<'v>>().map(CelList::inner).unwrap_or_default();
    let present = items.iter().filter_map(|item| match item.downcast_ref::<CelOptional<'v>>() {
        Some(optional) => optional.option().map(Val::clone_as_boxed),
        None => Some(item.clone()),
    });
    Ok(CowVal::owned(CelList::from(present.collect::<Vec<_>>())))
}
