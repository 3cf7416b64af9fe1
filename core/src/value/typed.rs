//! JSON values that know which of their parts are of a type that JSON lacks.
//!
//! Expressions compute with points in time, spans of time, bytes and unsigned numbers. What an expression yields is
//! kept as JSON, which is what payloads, conditions and traces show, with the place and type of each such part: the
//! next expression gets the type back, and a template prints what Go prints.

use std::collections::BTreeMap;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use lifecycle_config::duration::{Units, parse_nanoseconds};
use serde_json::Value;

use super::{LookupError, lookup};

/// A type of CEL that JSON lacks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// A point in time; in JSON, RFC 3339 text in UTC.
    Timestamp,
    /// A span of time; in JSON, seconds with an `s`.
    Duration,
    /// Bytes; in JSON, base64 text.
    Bytes,
    /// An unsigned number.
    Unsigned,
}

/// The parts of a value that have such a type, by their JSON pointers.
pub type Kinds = BTreeMap<String, Kind>;

/// A JSON value and the types of its parts.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Typed {
    /// As JSON.
    pub value: Value,
    /// The types of parts.
    pub kinds: Kinds,
}

impl From<Value> for Typed {
    fn from(value: Value) -> Self {
        Self { value, kinds: Kinds::new() }
    }
}

impl Typed {
    /// As [`truthy`]; empty bytes are true, as they are no text.
    #[must_use]
    pub fn is_truthy(&self) -> bool {
        truthy(&self.value) || self.kinds.contains_key("")
    }
}

/// Booleans are themselves; null, the empty string, list and mapping are false; all else is true.
#[must_use]
pub fn truthy(value: &Value) -> bool {
    match value {
        Value::Null => false,
        Value::Bool(value) => *value,
        Value::Number(_) => true,
        Value::String(text) => !text.is_empty(),
        Value::Array(items) => !items.is_empty(),
        Value::Object(fields) => !fields.is_empty(),
    }
}

/// The part at a dotted path, as [`lookup`] finds it.
///
/// # Errors
/// As [`lookup`].
pub fn lookup_typed(value: &Value, kinds: &Kinds, path: &str) -> Result<Typed, LookupError> {
    let value = lookup(value, path)?.clone();
    let steps = path.split('.').filter(|step| !step.is_empty());
    let prefix: String = steps.map(step).collect();
    let below = kinds.iter().filter_map(|(pointer, kind)| {
        let rest = pointer.strip_prefix(&prefix)?;
        (rest.is_empty() || rest.starts_with('/')).then(|| (rest.to_owned(), *kind))
    });
    Ok(Typed { kinds: below.collect(), value })
}

/// One step of a JSON pointer.
#[must_use]
pub fn step(key: &str) -> String {
    format!("/{}", key.replace('~', "~0").replace('/', "~1"))
}

/// The parts of a value that have a kind, by their addresses: where they are as long as the value is borrowed.
#[must_use]
pub fn addresses(value: &Value, kinds: &Kinds) -> BTreeMap<usize, Kind> {
    let parts = kinds.iter().filter_map(|(pointer, kind)| Some((address(value.pointer(pointer)?), *kind)));
    parts.collect()
}

/// Tells one value from all others while it is borrowed.
#[must_use]
pub fn address(value: &Value) -> usize {
    std::ptr::from_ref(value).addr()
}

/// The bytes that a part of this kind stands for.
#[must_use]
pub fn bytes(value: &Value) -> Vec<u8> {
    value.as_str().and_then(|text| STANDARD.decode(text).ok()).unwrap_or_default()
}

/// The nanoseconds of a span of time.
#[must_use]
pub fn nanoseconds(value: &Value) -> Option<i64> {
    parse_nanoseconds(value.as_str()?, Units::Go).ok()
}

/// A point in time as Go prints it: `2026-03-01 12:00:00.5 +0000 UTC`.
#[must_use]
pub fn timestamp_text(value: &Value) -> Option<String> {
    let time = value.as_str()?.strip_suffix('Z')?.replace('T', " ");
    let time = if time.contains('.') { time.trim_end_matches('0') } else { &time };
    Some(format!("{time} +0000 UTC"))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn times_print_as_in_go() {
        let cases = [
            ("2026-03-01T12:00:00Z", "2026-03-01 12:00:00 +0000 UTC"),
            ("2026-03-01T12:00:00.500Z", "2026-03-01 12:00:00.5 +0000 UTC"),
            ("0001-01-01T00:00:00.000000001Z", "0001-01-01 00:00:00.000000001 +0000 UTC"),
            ("9999-12-31T23:59:59Z", "9999-12-31 23:59:59 +0000 UTC"),
        ];
        for (text, expected) in cases {
            assert_eq!(timestamp_text(&json!(text)).as_deref(), Some(expected), "{text}");
        }
    }

    #[test]
    fn a_part_keeps_its_type() {
        let value = json!({"a": {"b": "300s", "bc": "1s", "x/~y": ["aGk="]}});
        let kinds = Kinds::from([
            ("/a/b".to_owned(), Kind::Duration),
            ("/a/bc".to_owned(), Kind::Duration),
            ("/a/x~1~0y/0".to_owned(), Kind::Bytes),
        ]);
        let found = |path: &str| lookup_typed(&value, &kinds, path);
        let typed =
            |value: Value, pointer: &str, kind| Typed { value, kinds: Kinds::from([(pointer.to_owned(), kind)]) };
        assert_eq!(found("a.b"), Ok(typed(json!("300s"), "", Kind::Duration)));
        assert_eq!(found("a.x/~y"), Ok(typed(json!(["aGk="]), "/0", Kind::Bytes)));
        assert_eq!(found("").map(|found| found.kinds), Ok(kinds.clone()));
        assert!(found("a.c").is_err());
        let addresses = addresses(&value, &kinds);
        assert_eq!(addresses.get(&address(&value["a"]["b"])), Some(&Kind::Duration));
        assert_eq!(addresses.len(), 3);
        assert_eq!(bytes(&value["a"]["x/~y"][0]), b"hi");
    }
}
