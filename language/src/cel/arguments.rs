//! What functions of the adapter take from the interpreter, and return to it.

use cel::ExecutionError;
use cel::common::types::{CelMap, CelMapKey, CelString};
use cel::common::value::{CowVal, Val};

/// The arguments that the interpreter passes to a function of the adapter.
pub(super) type Arguments<'b, 'v> = Vec<CowVal<'b, 'v>>;

/// The result that a function of the adapter returns to the interpreter.
pub(super) type Resolved<'b, 'v> = Result<CowVal<'b, 'v>, ExecutionError>;

/// The arguments of a function, as an array.
pub(super) fn take<'b, 'v, const N: usize>(
    function: &str,
    arguments: Arguments<'b, 'v>,
) -> Result<[CowVal<'b, 'v>; N], ExecutionError> {
    arguments.try_into().map_err(|arguments: Vec<_>| no_overload(function, &arguments))
}

/// The entries of a mapping in the order of their keys. The interpreter's hash map has a different order in each run.
pub(super) fn entries<'m, 'v>(map: &'m CelMap<'v>) -> Vec<(&'m CelMapKey<'v>, &'m (dyn Val + 'v))> {
    let mut entries: Vec<_> = map.inner().iter().map(|(key, value)| (key, value.as_ref())).collect();
    entries.sort_by(|(left, _), (right, _)| rank(left).cmp(&rank(right)));
    entries
}

/// The order of keys: booleans, then numbers, then text.
fn rank<'k>(key: &'k CelMapKey<'_>) -> (u8, i128, &'k str) {
    match key {
        CelMapKey::Bool(key) => (0, i128::from(*key.inner()), ""),
        CelMapKey::Int(key) => (1, i128::from(*key.inner()), ""),
        CelMapKey::UInt(key) => (1, i128::from(*key.inner()), ""),
        CelMapKey::String(key) => (2, 0, key.inner()),
    }
}

/// The text of a string; empty for anything else.
pub(super) fn text<'t>(value: &'t CowVal<'_, '_>) -> &'t str {
    value.downcast_ref::<CelString<'_>>().map_or("", |text| text.inner())
}

/// A string field of a map.
pub(super) fn text_field(value: &dyn Val, field: &str) -> Option<String> {
    let value = value.as_indexer()?.get(&CelString::from(field)).ok()?;
    value.downcast_ref::<CelString<'_>>().map(|text| text.inner().to_owned())
}

/// The error of a function that does not take arguments of these types.
pub(super) fn no_overload(function: &str, arguments: &[CowVal<'_, '_>]) -> ExecutionError {
    let types = arguments.iter().map(|argument| argument.get_type().name().to_owned()).collect();
    ExecutionError::no_such_overload(function, types)
}
