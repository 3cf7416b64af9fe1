//! Go's rules for values without a static type, applied to JSON values.
//!
//! Existing configurations were written for an adapter in Go and depend on its number types and texts: `5.0`
//! encodes as `5`, a large number prints with an exponent, and a number in an API response is a double. The
//! three kinds of [`serde_json::Number`] stand for Go's types: an `f64` for `float64`, an `i64` or `u64` for
//! the integers.
//!
//! * [`bounded::parse`] parses JSON within a number of values.
//! * [`as_go_numbers`] turns every number of parsed JSON into a double, as Go does.
//! * [`json`] encodes JSON as `encoding/json` does.
//! * [`text()`] prints any value as the verb `%v` does.
//! * [`convert()`] converts a param's value to its `type:`.
//! * [`lookup`] follows a dotted path.
//! * [`base64`] encodes and decodes what `data` of a Secret contains.

use serde_json::Value;

pub mod base64;
pub mod bounded;
pub mod convert;
pub mod json;
pub mod text;
pub mod typed;

pub use convert::{ConvertError, convert};
pub use text::text;
pub use typed::{Kind, Type, Typed};

/// Turns every number into a double, as Go does when it decodes JSON into `any`.
#[must_use]
pub fn as_go_numbers(value: Value) -> Value {
    match value {
        Value::Number(number) => number.as_f64().map_or(Value::Number(number), Value::from),
        Value::Array(items) => items.into_iter().map(as_go_numbers).collect(),
        Value::Object(map) => map.into_iter().map(|(key, value)| (key, as_go_numbers(value))).collect(),
        Value::Null | Value::Bool(_) | Value::String(_) => value,
    }
}

/// Why a dotted path leads to no value.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum LookupError {
    /// A mapping on the path lacks the next key.
    #[error("field `{key}` not found in path `{path}`")]
    Missing {
        /// The key that the mapping lacks.
        key: String,
        /// The whole path that was looked up.
        path: String,
    },
    /// A value on the path is not a mapping.
    #[error("`{parent}` is not a map in path `{path}`")]
    NotAMap {
        /// The path to that value; empty for the root.
        parent: String,
        /// The whole path that was looked up.
        path: String,
    },
}

/// Follows a dotted path through mappings; empty segments are dropped.
///
/// A dot inside a key cannot be escaped, and lists have no index.
///
/// # Errors
/// A key is missing, or a value on the path is not a mapping.
pub fn lookup<'value>(root: &'value Value, path: &str) -> Result<&'value Value, LookupError> {
    let segments = || path.split('.').filter(|segment| !segment.is_empty());
    let mut value = root;
    for (depth, segment) in segments().enumerate() {
        let Value::Object(map) = value else {
            let parent = segments().take(depth).collect::<Vec<_>>().join(".");
            return Err(LookupError::NotAMap { parent, path: path.to_owned() });
        };
        value =
            map.get(segment).ok_or_else(|| LookupError::Missing { key: segment.to_owned(), path: path.to_owned() })?;
    }
    Ok(value)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn as_go_numbers_turns_every_number_into_a_double() {
        let value = as_go_numbers(json!({"a": 1, "b": [2, {"c": -3}], "d": "4", "e": 18_446_744_073_709_551_615_u64}));
        assert_eq!(value, json!({"a": 1.0, "b": [2.0, {"c": -3.0}], "d": "4", "e": 18_446_744_073_709_551_615.0}));
        assert_ne!(value["a"], json!(1), "an integer differs from a double");
    }

    #[test]
    fn dotted_path_follows_mappings_only() {
        let root = json!({"a": {"b": {"c": 1}, "n": null, "l": [1]}});
        let found = |path: &str| lookup(&root, path).cloned();
        let missing = |key: &str, path: &str| Err(LookupError::Missing { key: key.into(), path: path.into() });
        let not_a_map =
            |parent: &str, path: &str| Err(LookupError::NotAMap { parent: parent.into(), path: path.into() });
        let cases = [
            ("a nested key", "a.b.c", Ok(json!(1))),
            ("empty segments are dropped", ".a..b.c.", Ok(json!(1))),
            ("the empty path is the root", "", Ok(root.clone())),
            ("null is a value", "a.n", Ok(json!(null))),
            ("a missing key", "a.x.c", missing("x", "a.x.c")),
            ("below a list there is nothing", "a.l.0", not_a_map("a.l", "a.l.0")),
            ("below null there is nothing", "a.n.x", not_a_map("a.n", "a.n.x")),
            ("below a number there is nothing", "a.b.c.d", not_a_map("a.b.c", "a.b.c.d")),
        ];
        for (name, path, expected) in cases {
            assert_eq!(found(path), expected, "{name}");
        }
        assert_eq!(
            lookup(&json!([1]), "a").map_err(|error| error.to_string()),
            Err("`` is not a map in path `a`".to_owned())
        );
    }
}
