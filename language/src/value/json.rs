//! Encodes JSON as Go's `encoding/json` does.
//!
//! Sorts keys, escapes `<`, `>`, `&` and the two line separators of Unicode, and writes integral doubles
//! without a fraction. Never fails, because a [`Value`] cannot hold infinity or NaN.

use std::fmt::Write as _;

use lifecycle_config::go::float_json;
use serde_json::Value;

/// Writes a value as compact JSON, without white space between tokens.
#[must_use]
pub fn to_string(value: &Value) -> String {
    let mut writer = Writer { out: String::new(), indent: None };
    writer.value(value, 0);
    writer.out
}

/// Writes JSON with one item a line, each level indented by `indent`.
#[must_use]
pub fn to_string_indented(value: &Value, indent: &str) -> String {
    let mut writer = Writer { out: String::new(), indent: Some(indent) };
    writer.value(value, 0);
    writer.out
}

struct Writer<'indent> {
    out: String,
    indent: Option<&'indent str>,
}

impl Writer<'_> {
    fn value(&mut self, value: &Value, depth: usize) {
        match value {
            Value::Null => self.out.push_str("null"),
            Value::Bool(flag) => self.out.push_str(if *flag { "true" } else { "false" }),
            Value::Number(number) => match number.as_f64() {
                Some(float) if number.is_f64() => self.out.push_str(&float_json(float)),
                Some(_) | None => self.out.push_str(&number.to_string()),
            },
            Value::String(text) => self.string(text),
            Value::Array(items) if items.is_empty() => self.out.push_str("[]"),
            Value::Array(items) => {
                self.out.push('[');
                for (index, item) in items.iter().enumerate() {
                    self.separate(index, depth + 1);
                    self.value(item, depth + 1);
                }
                self.new_line(depth);
                self.out.push(']');
            }
            Value::Object(map) if map.is_empty() => self.out.push_str("{}"),
            Value::Object(map) => {
                let mut entries: Vec<_> = map.iter().collect();
                entries.sort_unstable_by_key(|(key, _)| *key);
                self.out.push('{');
                for (index, (key, item)) in entries.into_iter().enumerate() {
                    self.separate(index, depth + 1);
                    self.string(key);
                    self.out.push_str(if self.indent.is_some() { ": " } else { ":" });
                    self.value(item, depth + 1);
                }
                self.new_line(depth);
                self.out.push('}');
            }
        }
    }

    fn separate(&mut self, index: usize, depth: usize) {
        if index > 0 {
            self.out.push(',');
        }
        self.new_line(depth);
    }

    fn new_line(&mut self, depth: usize) {
        if let Some(indent) = self.indent {
            self.out.push('\n');
            for _ in 0..depth {
                self.out.push_str(indent);
            }
        }
    }

    fn string(&mut self, text: &str) {
        self.out.push('"');
        for character in text.chars() {
            match character {
                '"' => self.out.push_str("\\\""),
                '\\' => self.out.push_str("\\\\"),
                '\n' => self.out.push_str("\\n"),
                '\r' => self.out.push_str("\\r"),
                '\t' => self.out.push_str("\\t"),
                '\u{8}' => self.out.push_str("\\b"),
                '\u{c}' => self.out.push_str("\\f"),
                '\0'..='\u{1f}' | '<' | '>' | '&' | '\u{2028}' | '\u{2029}' => {
                    let _infallible = write!(self.out, "\\u{:04x}", u32::from(character));
                }
                _ => self.out.push(character),
            }
        }
        self.out.push('"');
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    #[test]
    fn json_equals_that_of_go() {
        let cases = [
            ("keys are sorted", json!({"b": 1, "a": [true, null]}), r#"{"a":[true,null],"b":1}"#),
            ("an integral double has no fraction", json!(5.0), "5"),
            ("a large double has an exponent", json!(1e21), "1e+21"),
            ("markup is escaped", json!("<a href='x'>&</a>"), r#""\u003ca href='x'\u003e\u0026\u003c/a\u003e""#),
            ("line separators are escaped", json!("\u{2028}\u{2029}"), r#""\u2028\u2029""#),
            (
                "control characters",
                json!("\u{0}\u{8}\u{c}\n\r\t\u{1f}\u{7f}"),
                "\"\\u0000\\b\\f\\n\\r\\t\\u001f\u{7f}\"",
            ),
            ("quotes and backslashes", json!("\"\\"), r#""\"\\""#),
            ("other scripts are kept", json!("é漢😀"), "\"é漢😀\""),
            ("keys are escaped too", json!({"<": {}}), r#"{"\u003c":{}}"#),
        ];
        for (name, value, expected) in cases {
            assert_eq!(to_string(&value), expected, "{name}");
        }
    }

    #[test]
    fn indented_json_keeps_empty_collections_on_one_line() {
        let value = json!({"b": [], "a": {"c": [1, {}]}});
        let expected = "{\n  \"a\": {\n    \"c\": [\n      1,\n      {}\n    ]\n  },\n  \"b\": []\n}";
        assert_eq!(to_string_indented(&value, "  "), expected);
    }

    proptest! {
        #[test]
        fn any_string_survives_encoding_and_parsing(text in any::<String>()) {
            let written = to_string(&Value::String(text.clone()));
            prop_assert_eq!(serde_json::from_str::<String>(&written).ok(), Some(text));
        }

        #[test]
        fn any_double_survives_encoding_and_parsing(float in proptest::num::f64::NORMAL | proptest::num::f64::ZERO) {
            let written = to_string(&json!(float));
            prop_assert_eq!(written.parse::<f64>().ok(), Some(float));
        }
    }
}
