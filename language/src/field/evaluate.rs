//! Evaluates the steps of a path.
//!
//! In: steps, and the value at which they begin. Out: the values found, mostly borrowed from the root. Each
//! step maps the values found so far to the next ones; the first step that fails ends the path with
//! [`Nothing`].

use std::borrow::Cow;
use std::cmp::Ordering;

use serde_json::Value;

use super::{Block, Filter, Slice, Step};

/// The result of a path that leads nowhere: a key is missing, an index is out of bounds, or values cannot be
/// compared.
#[derive(Debug)]
pub(super) struct Nothing;

type Values<'root> = Vec<Cow<'root, Value>>;

/// The limit of values of a step. Repeated recursive descents multiply; real documents stay far below.
const MAX_VALUES: usize = 100_000;

/// Evaluates all blocks of a path.
pub(super) fn blocks<'root>(blocks: &'root [Block], root: &'root Value) -> Result<Values<'root>, Nothing> {
    let mut results = Vec::new();
    for block in blocks {
        match block {
            Block::Text(text) => results.push(Cow::Owned(Value::String(text.clone()))),
            Block::Steps(path) => results.extend(steps(path, root)?),
            Block::Range(path, body) => {
                let values = steps(path, root)?;
                if values.is_empty() {
                    // As in client-go, an empty range still evaluates its body, which can fail the path.
                    self::blocks(body, &Value::Null)?;
                }
                for value in values {
                    match value {
                        Cow::Borrowed(value) => results.extend(self::blocks(body, value)?),
                        Cow::Owned(value) => {
                            let inner = self::blocks(body, &value)?;
                            results.extend(inner.into_iter().map(|value| Cow::Owned(value.into_owned())));
                        }
                    }
                }
            }
        }
        limit(&results)?;
    }
    Ok(results)
}

/// Evaluates the steps of one action from one value.
pub(super) fn steps<'root>(steps: &'root [Step], value: &'root Value) -> Result<Values<'root>, Nothing> {
    run(steps, vec![Cow::Borrowed(value)])
}

fn run<'root>(steps: &'root [Step], mut values: Values<'root>) -> Result<Values<'root>, Nothing> {
    for step in steps {
        values = match step {
            Step::Field(name) => field(values, name)?,
            Step::Slice(slice) => {
                let mut results = Vec::new();
                for value in values {
                    select(value, *slice, &mut results)?;
                }
                results
            }
            Step::Wildcard => values.into_iter().flat_map(children).collect(),
            Step::Recursive => {
                let mut results = Vec::new();
                descend(values, &mut results)?;
                results
            }
            Step::Filter(filter) => self::filter(values, filter)?,
            Step::Union(branches) => {
                let mut results = Vec::new();
                for branch in branches {
                    results.extend(run(branch, values.clone())?);
                    limit(&results)?;
                }
                results
            }
            Step::Text(text) => vec![Cow::Owned(Value::String(text.clone()))],
            Step::Literal(literal) => values.iter().map(|_| Cow::Borrowed(literal)).collect(),
            Step::Identifier(_) => return Err(Nothing),
        };
        limit(&values)?;
    }
    Ok(values)
}

fn limit(values: &Values<'_>) -> Result<(), Nothing> {
    if values.len() > MAX_VALUES { Err(Nothing) } else { Ok(()) }
}

/// Reads a key of every mapping. No values give no values; of several, at least one must have the key.
fn field<'root>(values: Values<'root>, name: &str) -> Result<Values<'root>, Nothing> {
    if values.is_empty() {
        return Ok(values);
    }
    let results: Values<'_> = values
        .into_iter()
        .filter_map(|value| match value {
            Cow::Borrowed(value) => value.as_object()?.get(name).map(Cow::Borrowed),
            Cow::Owned(value) => value.as_object()?.get(name).cloned().map(Cow::Owned),
        })
        .collect();
    if results.is_empty() { Err(Nothing) } else { Ok(results) }
}

/// Returns the items of a list, or the values of a mapping.
fn children(value: Cow<'_, Value>) -> Values<'_> {
    match value {
        Cow::Borrowed(Value::Array(items)) => items.iter().map(Cow::Borrowed).collect(),
        Cow::Borrowed(Value::Object(map)) => {
            let mut entries: Vec<_> = map.iter().collect();
            entries.sort_unstable_by_key(|(key, _)| *key);
            entries.into_iter().map(|(_, value)| Cow::Borrowed(value)).collect()
        }
        // Values that the path itself made are scalars.
        Cow::Borrowed(Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_)) | Cow::Owned(_) => Vec::new(),
    }
}

/// Adds every value with children and every text that is not empty, parents first.
fn descend<'root>(values: Values<'root>, results: &mut Values<'root>) -> Result<(), Nothing> {
    for value in values {
        let below = children(value.clone());
        if !below.is_empty() || value.as_str().is_some_and(|text| !text.is_empty()) {
            results.push(value);
            limit(results)?;
            descend(below, results)?;
        }
    }
    Ok(())
}

fn select<'root>(value: Cow<'root, Value>, slice: Slice, results: &mut Values<'root>) -> Result<(), Nothing> {
    let Cow::Borrowed(value) = value else { return Err(Nothing) };
    let items = match value {
        Value::Null => return Ok(()),
        Value::Array(items) => items,
        Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Object(_) => return Err(Nothing),
    };
    let length = i64::try_from(items.len()).map_err(|_| Nothing)?;
    let from_end = |index: i64| if index < 0 { index + length } else { index };
    let start = from_end(slice.start.unwrap_or(0));
    let end = match slice.end {
        // `[-1]` has the derived end 0, which means the end of the list.
        Some(0) if slice.end_is_derived => length,
        Some(end) => from_end(end),
        None => length,
    };
    if start == end {
        return Ok(());
    }
    if !(0..length).contains(&start) || !(0..=length).contains(&end) || start > end {
        return Err(Nothing);
    }
    let step = slice.step.unwrap_or(1);
    let (Ok(start), Ok(end), Ok(step)) = (usize::try_from(start), usize::try_from(end), usize::try_from(step)) else {
        return Err(Nothing);
    };
    if step == 0 {
        return Err(Nothing);
    }
    results.extend(items[start..end].iter().step_by(step).map(Cow::Borrowed));
    Ok(())
}

fn filter<'root>(values: Values<'root>, filter: &'root Filter) -> Result<Values<'root>, Nothing> {
    let mut results = Vec::new();
    for value in values {
        let Cow::Borrowed(Value::Array(items)) = value else { return Err(Nothing) };
        for item in items {
            if holds(filter, item)? {
                results.push(Cow::Borrowed(item));
            }
        }
    }
    Ok(results)
}

fn holds(filter: &Filter, item: &Value) -> Result<bool, Nothing> {
    match filter {
        Filter::Exists(path) => Ok(steps(path, item).is_ok_and(|found| !found.is_empty())),
        Filter::Compare { left, operator, right } => {
            let Some(left) = single(steps(left, item)?)? else { return Ok(false) };
            let Some(right) = single(steps(right, item)?)? else { return Ok(false) };
            compare(&left, operator, &right)
        }
    }
}

fn single(values: Values<'_>) -> Result<Option<Cow<'_, Value>>, Nothing> {
    let mut values = values.into_iter();
    match (values.next(), values.next()) {
        (found, None) => Ok(found),
        (_, Some(_)) => Err(Nothing),
    }
}

/// Compares scalars of the same type; returns [`Nothing`] for values of different types, such as an integer and a
/// double.
fn compare(left: &Value, operator: &str, right: &Value) -> Result<bool, Nothing> {
    let ordering = match (left, right) {
        (Value::String(left), Value::String(right)) => left.cmp(right),
        (Value::Number(left), Value::Number(right)) if left.is_f64() == right.is_f64() => {
            if left.is_f64() {
                left.as_f64().partial_cmp(&right.as_f64()).ok_or(Nothing)?
            } else {
                integer(left).cmp(&integer(right))
            }
        }
        (Value::Bool(left), Value::Bool(right)) => {
            return match operator {
                "==" => Ok(left == right),
                "!=" => Ok(left != right),
                _ => Err(Nothing),
            };
        }
        _ => return Err(Nothing),
    };
    match operator {
        "==" => Ok(ordering == Ordering::Equal),
        "!=" => Ok(ordering != Ordering::Equal),
        "<" => Ok(ordering == Ordering::Less),
        "<=" => Ok(ordering != Ordering::Greater),
        ">" => Ok(ordering == Ordering::Greater),
        ">=" => Ok(ordering != Ordering::Less),
        _ => Err(Nothing),
    }
}

fn integer(number: &serde_json::Number) -> i128 {
    number.as_i64().map(i128::from).or_else(|| number.as_u64().map(i128::from)).unwrap_or_default()
}
