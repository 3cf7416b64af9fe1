//! JSON values with the CEL types that JSON lacks.
//!
//! Expressions compute with timestamps, durations, bytes and unsigned integers. The result of an expression
//! is kept as JSON, which payloads, conditions and traces print, together with the JSON pointer and type of
//! each such part. So the next expression gets the type back, and a template prints the part as Go would.

use std::collections::BTreeMap;
use std::fmt;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use lifecycle_config::duration::{Units, parse_nanoseconds};
use serde_json::Value;

use super::{LookupError, lookup};

/// A type of CEL that JSON lacks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// A timestamp; in JSON, RFC 3339 text in UTC.
    Timestamp,
    /// A duration; in JSON, seconds with an `s`.
    Duration,
    /// Bytes; in JSON, base64 text.
    Bytes,
    /// An unsigned integer; in JSON, a number.
    Unsigned,
}

/// The types of a value's parts, by JSON pointer. Parts whose type JSON has are left out.
pub type Kinds = BTreeMap<String, Kind>;

/// A JSON value, and the types that JSON lacks of its parts.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Typed {
    /// The value as JSON; parts of a type that JSON lacks are converted as [`Kind`] says.
    pub value: Value,
    /// The types of its parts.
    pub kinds: Kinds,
}

/// What a value is, in the words of messages: a message about a value names its type and never its content, which may be
/// secret.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
#[expect(missing_docs, reason = "the types of CEL")]
pub enum Type {
    Boolean,
    Number,
    Text,
    Null,
    List,
    Mapping,
    Timestamp,
    Duration,
    Bytes,
}

impl fmt::Display for Type {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::Boolean => "a boolean",
            Self::Number => "a number",
            Self::Text => "a text",
            Self::Null => "null",
            Self::List => "a list",
            Self::Mapping => "a mapping",
            Self::Timestamp => "a timestamp",
            Self::Duration => "a duration",
            Self::Bytes => "bytes",
        })
    }
}

impl Type {
    /// How an author makes a test of an expression that gives a value of this type.
    #[must_use]
    pub fn compared(self, source: &str) -> String {
        let is_plain =
            |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '.' | '?' | '(' | ')' | '"' | '\'' | '[' | ']');
        let source = if source.chars().all(is_plain) { source.to_owned() } else { format!("({source})") };
        match self {
            Self::Boolean => source,
            Self::Number => format!("{source} > 0"),
            Self::Text => format!("{source} == \"True\""),
            Self::Null => format!("{source} == true"),
            Self::List | Self::Mapping | Self::Bytes => format!("{source}.size() > 0"),
            Self::Timestamp => format!("{source} < timestamp(now())"),
            Self::Duration => format!("{source} > duration(\"0s\")"),
        }
    }
}

impl From<Value> for Typed {
    fn from(value: Value) -> Self {
        Self { value, kinds: Kinds::new() }
    }
}

impl Typed {
    /// The type of the value.
    #[must_use]
    pub fn type_of(&self) -> Type {
        match (self.kinds.get(""), &self.value) {
            (Some(Kind::Timestamp), _) => Type::Timestamp,
            (Some(Kind::Duration), _) => Type::Duration,
            (Some(Kind::Bytes), _) => Type::Bytes,
            (Some(Kind::Unsigned), _) | (None, Value::Number(_)) => Type::Number,
            (None, Value::Null) => Type::Null,
            (None, Value::Bool(_)) => Type::Boolean,
            (None, Value::String(_)) => Type::Text,
            (None, Value::Array(_)) => Type::List,
            (None, Value::Object(_)) => Type::Mapping,
        }
    }

    /// Whether a gate would count the value as true, as [`truthy`] defines. Empty bytes count as true, unlike
    /// empty text.
    #[must_use]
    pub fn is_truthy(&self) -> bool {
        truthy(&self.value) || self.kinds.contains_key("")
    }
}

/// Whether a value counts as true: null, false, and an empty string, list or mapping do not; every other
/// value does.
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

/// Returns the value at a dotted path, as [`lookup`] does, with the types of its parts.
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

/// Returns a key as one segment of a JSON pointer (RFC 6901), with its slash.
#[must_use]
pub fn step(key: &str) -> String {
    format!("/{}", key.replace('~', "~0").replace('/', "~1"))
}

/// Returns the types of a value's parts by the addresses of the parts, which are valid while the value is
/// borrowed.
#[must_use]
pub fn addresses(value: &Value, kinds: &Kinds) -> BTreeMap<usize, Kind> {
    let parts = kinds.iter().filter_map(|(pointer, kind)| Some((address(value.pointer(pointer)?), *kind)));
    parts.collect()
}

/// Returns an address that identifies the value while it is borrowed.
#[must_use]
pub fn address(value: &Value) -> usize {
    std::ptr::from_ref(value).addr()
}

/// Decodes a part of the kind [`Kind::Bytes`].
#[must_use]
pub fn bytes(value: &Value) -> Vec<u8> {
    value.as_str().and_then(|text| STANDARD.decode(text).ok()).unwrap_or_default()
}

/// Parses a part of the kind [`Kind::Duration`] to nanoseconds.
#[must_use]
pub fn nanoseconds(value: &Value) -> Option<i64> {
    parse_nanoseconds(value.as_str()?, Units::Go).ok()
}

/// Prints a part of the kind [`Kind::Timestamp`] as Go does: `2026-03-01 12:00:00.5 +0000 UTC`.
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
    fn timestamps_print_as_in_go() {
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
    fn lookup_keeps_the_types_of_parts() {
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
