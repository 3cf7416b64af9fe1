//! Parses JSON that a stranger sent, within a number of values.
//!
//! In: bytes, and the most values that they may have. Out: the JSON value. Fails: [`BoundedError`] if the bytes are
//! not JSON, or have more values. A value takes up to a hundred times the memory of its text: `[1,1,…]` of 1 MiB
//! would take 16 MiB. So values are counted before the first one is built.

use serde_json::Value;

/// Why bytes are not parsed.
#[derive(Debug, thiserror::Error)]
pub enum BoundedError {
    /// The bytes are not JSON.
    #[error(transparent)]
    NotJson(#[from] serde_json::Error),
    /// The JSON has more values than allowed.
    #[error("it has about {found} JSON values, more than the limit of {limit}")]
    TooManyValues {
        /// The number of values, counted as [`values`] does.
        found: usize,
        /// The most values that are allowed.
        limit: usize,
    },
}

/// Parses JSON of at most `limit` values.
///
/// # Errors
/// The bytes are not JSON, or have more values.
pub fn parse(json: &[u8], limit: usize) -> Result<Value, BoundedError> {
    let found = values(json);
    if found > limit {
        return Err(BoundedError::TooManyValues { found, limit });
    }
    Ok(serde_json::from_slice(json)?)
}

/// The number of values in JSON: each list, mapping, text, number, boolean and null. An empty list or mapping counts
/// twice. Of bytes that are not JSON, the number says nothing.
#[must_use]
pub fn values(json: &[u8]) -> usize {
    let (mut values, mut in_text, mut is_escaped) = (1, false, false);
    for byte in json {
        match byte {
            _ if is_escaped => is_escaped = false,
            b'\\' => is_escaped = in_text,
            b'"' => in_text = !in_text,
            // Each value but the outermost stands behind one of these.
            b',' | b'[' | b'{' if !in_text => values += 1,
            _ => {}
        }
    }
    values
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    #[test]
    fn values_are_counted_outside_texts() {
        let cases = [
            ("a scalar", "1", 1),
            ("a list and its items", "[1, 2, 3]", 4),
            ("a mapping and its values", r#"{"a": 1, "b": {"c": null}}"#, 4),
            ("an empty list counts twice", "[]", 2),
            ("punctuation in texts", r#"["a,b[c{", "\",[,", "\\"]"#, 4),
            ("no JSON", "[,", 3),
        ];
        for (name, text, expected) in cases {
            assert_eq!(values(text.as_bytes()), expected, "{name}");
        }
    }

    #[test]
    fn json_of_too_many_values_is_refused_before_it_is_parsed() {
        assert_eq!(parse(b"[1,2]", 3).ok(), Some(json!([1, 2])));
        let error = parse(b"[1,2]", 2).map_err(|error| error.to_string());
        assert_eq!(error, Err("it has about 3 JSON values, more than the limit of 2".to_owned()));
        assert!(matches!(parse(b"[1,,,,,", 2), Err(BoundedError::TooManyValues { .. })), "not parsed at all");
        assert!(matches!(parse(b"[1", 2), Err(BoundedError::NotJson(_))));
    }

    /// The number of values, by the definition.
    fn count(value: &Value) -> usize {
        match value {
            Value::Array(items) => 1 + items.iter().map(count).sum::<usize>() + usize::from(items.is_empty()),
            Value::Object(fields) => 1 + fields.values().map(count).sum::<usize>() + usize::from(fields.is_empty()),
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => 1,
        }
    }

    proptest! {
        #[test]
        fn every_value_is_counted(texts in proptest::collection::vec(any::<String>(), 0..5), depth in 0..4_usize) {
            let leaf = json!({"texts": texts, "key, [": [[], {}, 1.5e3, null]});
            let value = (0..depth).fold(leaf, |inner, _| json!([inner, {"x": inner}]));
            prop_assert_eq!(values(value.to_string().as_bytes()), count(&value));
        }
    }
}
