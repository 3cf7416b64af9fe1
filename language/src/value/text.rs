//! Prints any value as Go's verb `%v` does.

use lifecycle_config::go::number_text;
use serde_json::Value;

/// Prints a value as `%v` does: `map[a:1 b:[x y]]`, with sorted keys, and null as `<nil>`.
#[must_use]
pub fn text(value: &Value) -> String {
    let mut out = String::new();
    write(value, &mut out);
    out
}

fn write(value: &Value, out: &mut String) {
    match value {
        Value::Null => out.push_str("<nil>"),
        Value::Bool(flag) => out.push_str(if *flag { "true" } else { "false" }),
        Value::Number(number) => out.push_str(&number_text(number)),
        Value::String(string) => out.push_str(string),
        Value::Array(items) => {
            out.push('[');
            for (index, item) in items.iter().enumerate() {
                if index > 0 {
                    out.push(' ');
                }
                write(item, out);
            }
            out.push(']');
        }
        Value::Object(map) => {
            let mut entries: Vec<_> = map.iter().collect();
            entries.sort_unstable_by_key(|(key, _)| *key);
            out.push_str("map[");
            for (index, (key, item)) in entries.into_iter().enumerate() {
                if index > 0 {
                    out.push(' ');
                }
                out.push_str(key);
                out.push(':');
                write(item, out);
            }
            out.push(']');
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn values_print_in_go_syntax() {
        let cases = [
            ("null", json!(null), "<nil>"),
            ("a boolean", json!(true), "true"),
            ("an integer", json!(1_234_567), "1234567"),
            ("a large double", json!(1_234_567.0), "1.234567e+06"),
            ("a string, without quotes", json!("a b"), "a b"),
            ("a list", json!(["x", 1, null]), "[x 1 <nil>]"),
            ("a mapping, by key", json!({"b": {"c": 2.5}, "a": []}), "map[a:[] b:map[c:2.5]]"),
            ("an empty mapping and an empty string", json!([{}, ""]), "[map[] ]"),
        ];
        for (name, value, expected) in cases {
            assert_eq!(text(&value), expected, "{name}");
        }
    }
}
