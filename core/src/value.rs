//! Go's conventions for dynamic values, over JSON values.
//!
//! Configurations were written against an adapter in Go, and what they can observe of a number's type
//! or text is part of the contract: `5.0` encodes as `5`, a large number prints with an exponent, a
//! number out of an API response is a double. The three number types of [`serde_json::Number`] stand
//! for Go's: an `f64` for `float64`, an `i64` or `u64` for the integers.
//!
//! * [`as_go_numbers`] makes of parsed JSON what Go makes of it: every number a double.
//! * [`json`] writes JSON as `encoding/json` does.
//! * [`text()`] writes any value as the verb `%v` does.
//! * [`convert()`] is the `type:` of a param.
//! * [`lookup`] follows a dotted path.

use serde_json::Value;

pub mod convert;
pub mod json;
pub mod text;
pub mod typed;

pub use convert::{ConvertError, convert};
pub use text::text;
pub use typed::{Kind, Typed};

/// Makes every number a double, as Go decodes JSON whose type it does not know.
#[must_use]
pub fn as_go_numbers(value: Value) -> Value {
    match value {
        Value::Number(number) => number.as_f64().map_or(Value::Number(number), Value::from),
        Value::Array(items) => items.into_iter().map(as_go_numbers).collect(),
        Value::Object(map) => map.into_iter().map(|(key, value)| (key, as_go_numbers(value))).collect(),
        Value::Null | Value::Bool(_) | Value::String(_) => value,
    }
}

/// A dotted path that leads nowhere.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum LookupError {
    /// A key is not there.
    #[error("field `{key}` not found in path `{path}`")]
    Missing {
        /// The key.
        key: String,
        /// The whole path.
        path: String,
    },
    /// Something on the way is not a mapping.
    #[error("`{parent}` is not a map in path `{path}`")]
    NotAMap {
        /// The part of the path that was followed; empty for the root.
        parent: String,
        /// The whole path.
        path: String,
    },
}

/// Follows a dotted path through mappings; empty segments are dropped.
///
/// There is no escape for a dot inside a key, and no index into a list.
///
/// # Errors
/// A key is missing, or a segment stands below something that is not a mapping.
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
    fn every_number_of_parsed_json_is_a_double() {
        let value = as_go_numbers(json!({"a": 1, "b": [2, {"c": -3}], "d": "4", "e": 18_446_744_073_709_551_615_u64}));
        assert_eq!(value, json!({"a": 1.0, "b": [2.0, {"c": -3.0}], "d": "4", "e": 18_446_744_073_709_551_615.0}));
        assert_ne!(value["a"], json!(1), "an integer is another type");
    }

    #[test]
    fn a_dotted_path_goes_through_mappings_only() {
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
