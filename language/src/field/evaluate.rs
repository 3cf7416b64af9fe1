//! Follows the steps of a path.
//!
//! In: steps, and the value at which they begin. Out: the values found; each step maps those found so far to the
//! next ones. Nothing is found if a key is missing, an index is out of bounds, or values cannot be compared.

use std::cmp::Ordering;

use serde_json::Value;

use super::{Filter, Step};

/// Follows the steps from one value.
pub(super) fn follow<'v>(steps: &[Step], value: &'v Value) -> Option<Vec<&'v Value>> {
    let mut values = vec![value];
    for step in steps {
        values = match step {
            Step::Field(name) => field(&values, name)?,
            Step::Wildcard => values.into_iter().flat_map(children).collect(),
            Step::Items => lists(values).collect::<Option<Vec<_>>>()?.into_iter().flatten().collect(),
            Step::Index(index) => lists(values).map(|items| at(items?, *index)).collect::<Option<_>>()?,
            Step::Filter(filter) => self::filter(&values, filter)?,
        };
    }
    Some(values)
}

/// Reads a key of every mapping. No values give no values; of several, at least one must have the key.
fn field<'v>(values: &[&'v Value], name: &str) -> Option<Vec<&'v Value>> {
    let found: Vec<_> = values.iter().filter_map(|value| value.as_object()?.get(name)).collect();
    if found.is_empty() && !values.is_empty() { None } else { Some(found) }
}

/// Returns the items of a list, or the values of a mapping.
fn children(value: &Value) -> Vec<&Value> {
    match value {
        Value::Array(items) => items.iter().collect(),
        Value::Object(map) => {
            let mut entries: Vec<_> = map.iter().collect();
            entries.sort_unstable_by_key(|(key, _)| *key);
            entries.into_iter().map(|(_, value)| value).collect()
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => Vec::new(),
    }
}

/// The lists among the values, without nulls; none in the place of any other value.
fn lists(values: Vec<&Value>) -> impl Iterator<Item = Option<&Vec<Value>>> {
    values.into_iter().filter(|value| !value.is_null()).map(Value::as_array)
}

/// The item at an index, which counts from the end if it is negative.
fn at(items: &[Value], index: i64) -> Option<&Value> {
    let length = i64::try_from(items.len()).ok()?;
    items.get(usize::try_from(if index < 0 { index + length } else { index }).ok()?)
}

fn filter<'v>(values: &[&'v Value], filter: &Filter) -> Option<Vec<&'v Value>> {
    let mut found = Vec::new();
    for value in values {
        for item in value.as_array()? {
            if holds(filter, item)? {
                found.push(item);
            }
        }
    }
    Some(found)
}

fn holds(filter: &Filter, item: &Value) -> Option<bool> {
    let found = follow(&filter.path, item);
    let Some((operator, right)) = &filter.comparison else { return Some(found.is_some_and(|found| !found.is_empty())) };
    match found?.as_slice() {
        [] => Some(false),
        [left] => compare(left, operator, right),
        _ => None,
    }
}

/// Compares scalars of the same type. An integer and a double are different types.
fn compare(left: &Value, operator: &str, right: &Value) -> Option<bool> {
    let ordering = match (left, right) {
        (Value::String(left), Value::String(right)) => left.cmp(right),
        (Value::Number(left), Value::Number(right)) if left.is_f64() == right.is_f64() => {
            match (left.as_i64(), right.as_i64()) {
                (Some(left), Some(right)) => left.cmp(&right),
                _ => left.as_f64().partial_cmp(&right.as_f64())?,
            }
        }
        (Value::Bool(left), Value::Bool(right)) if matches!(operator, "==" | "!=") => left.cmp(right),
        _ => return None,
    };
    Some(match operator {
        "==" => ordering == Ordering::Equal,
        "!=" => ordering != Ordering::Equal,
        "<" => ordering == Ordering::Less,
        "<=" => ordering != Ordering::Greater,
        ">" => ordering == Ordering::Greater,
        _ => ordering != Ordering::Less,
    })
}
