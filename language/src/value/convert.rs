//! Converts scalars to the `type:` of a param.
//!
//! In: a value and the name of a type. Out: the value as that type. Fails if the value has no counterpart:
//! lists, mappings and null convert to `string` only. Fails also for a name other than `string`, `int`,
//! `int64`, `float`, `float64` and `bool`, here and not at load, because the Go adapter loads a task with
//! such a name.

use lifecycle_config::go::{number_text, parse_boolean};
use serde_json::{Number, Value};

use super::text;

/// Why a value was not converted.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ConvertError {
    /// The type's name is unknown.
    #[error("unsupported type `{0}`: expected string, int, int64, float, float64 or bool")]
    UnknownType(String),
    /// The value has no counterpart in the type.
    #[error("cannot convert {value} to {target}")]
    Unconvertible {
        /// The value's text, shortened, or its kind if it is a list or mapping.
        value: String,
        /// The type, with its article.
        target: &'static str,
    },
}

/// Converts a scalar to the named type.
///
/// # Errors
/// The type is unknown, or the value has no counterpart in it.
pub fn convert(value: &Value, type_name: &str) -> Result<Value, ConvertError> {
    let (target, converted) = match type_name {
        "string" => ("string", Some(Value::String(to_text(value)))),
        "int" | "int64" => ("an integer", to_integer(value).map(Value::from)),
        "float" | "float64" => ("a float", to_float(value).and_then(Number::from_f64).map(Value::Number)),
        "bool" => ("a boolean", to_boolean(value).map(Value::Bool)),
        unknown => return Err(ConvertError::UnknownType(unknown.to_owned())),
    };
    converted.ok_or_else(|| ConvertError::Unconvertible { value: describe(value), target })
}

fn to_text(value: &Value) -> String {
    match value {
        // The verb `%v` would print a large double with an exponent.
        Value::Number(number) => match number.as_f64() {
            Some(float) if number.is_f64() => float.to_string(),
            Some(_) | None => number.to_string(),
        },
        Value::Null | Value::Bool(_) | Value::String(_) | Value::Array(_) | Value::Object(_) => text(value),
    }
}

fn to_integer(value: &Value) -> Option<i64> {
    match value {
        Value::Number(number) => number.as_i64().or_else(|| number.as_f64().and_then(truncate)),
        Value::String(text) => text.parse().ok().or_else(|| parse_float(text).and_then(truncate)),
        Value::Bool(flag) => Some(i64::from(*flag)),
        Value::Null | Value::Array(_) | Value::Object(_) => None,
    }
}

fn to_float(value: &Value) -> Option<f64> {
    match value {
        Value::Number(number) => number.as_f64(),
        Value::String(text) => parse_float(text),
        Value::Bool(flag) => Some(f64::from(u8::from(*flag))),
        Value::Null | Value::Array(_) | Value::Object(_) => None,
    }
}

fn to_boolean(value: &Value) -> Option<bool> {
    match value {
        Value::Bool(flag) => Some(*flag),
        Value::Number(number) => Some(number.as_f64() != Some(0.0)),
        Value::String(text) => parse_boolean(text).or_else(|| match text.to_lowercase().as_str() {
            "y" | "yes" | "on" => Some(true),
            "" | "n" | "no" | "off" => Some(false),
            _ => None,
        }),
        Value::Null | Value::Array(_) | Value::Object(_) => None,
    }
}

/// Parses a finite decimal number. JSON has no infinity and no NaN, so their names are no numbers here.
fn parse_float(text: &str) -> Option<f64> {
    text.parse::<f64>().ok().filter(|float| float.is_finite())
}

/// Drops the fraction. Returns none beyond the range of `i64`, where a cast would give a wrong number.
pub(crate) fn truncate(float: f64) -> Option<i64> {
    const LIMIT: f64 = 9_223_372_036_854_775_808.0;
    let truncated = float.trunc();
    #[expect(clippy::cast_possible_truncation, reason = "checked to be an integer within i64")]
    (-LIMIT..LIMIT).contains(&truncated).then_some(truncated as i64)
}

/// Describes a value for an error: a scalar by its text, a list or mapping by its kind.
fn describe(value: &Value) -> String {
    const MAX_CHARACTERS: usize = 64;
    match value {
        Value::Null => "null".to_owned(),
        Value::Bool(flag) => flag.to_string(),
        Value::Number(number) => number_text(number),
        Value::String(text) if text.chars().count() > MAX_CHARACTERS => {
            format!("{:?}…", text.chars().take(MAX_CHARACTERS).collect::<String>())
        }
        Value::String(text) => format!("{text:?}"),
        Value::Array(_) => "a list".to_owned(),
        Value::Object(_) => "a map".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn scalars_convert_to_the_named_type() {
        let cases = [
            ("an integer to text", json!(1_234_567), "string", json!("1234567")),
            ("a double to text has no exponent", json!(1_234_567.0), "string", json!("1234567")),
            ("a small double to text has no exponent", json!(0.000_001), "string", json!("0.000001")),
            ("a boolean to text", json!(true), "string", json!("true")),
            ("null to text", json!(null), "string", json!("<nil>")),
            ("a list to text", json!([1, "a"]), "string", json!("[1 a]")),
            ("a double to an integer is cut", json!(-5.9), "int", json!(-5)),
            ("text to an integer", json!("+42"), "int64", json!(42)),
            ("fractional text to an integer is cut", json!("42.9"), "int", json!(42)),
            ("text with an exponent", json!("1e3"), "int", json!(1000)),
            ("a boolean to an integer", json!(true), "int", json!(1)),
            ("an integer to a double", json!(5), "float", json!(5.0)),
            ("text to a double", json!("2.5"), "float64", json!(2.5)),
            ("a boolean to a double", json!(false), "float", json!(0.0)),
            ("yes in any case", json!("yEs"), "bool", json!(true)),
            ("off", json!("OFF"), "bool", json!(false)),
            ("empty text is false", json!(""), "bool", json!(false)),
            ("zero is false", json!(0.0), "bool", json!(false)),
            ("any other number is true", json!(-1), "bool", json!(true)),
            ("a boolean stays", json!(false), "bool", json!(false)),
        ];
        for (name, value, type_name, expected) in cases {
            assert_eq!(convert(&value, type_name), Ok(expected), "{name}");
        }
    }

    #[test]
    fn value_without_counterpart_in_the_type_is_an_error() {
        let cases = [
            ("words are no integer", json!("five"), "int", "cannot convert \"five\" to an integer"),
            ("blanks are not trimmed", json!(" 5"), "int", "cannot convert \" 5\" to an integer"),
            ("beyond the integers", json!(1e19), "int", "cannot convert 1e+19 to an integer"),
            ("infinity", json!("inf"), "float", "cannot convert \"inf\" to a float"),
            ("null", json!(null), "float", "cannot convert null to a float"),
            ("a list", json!([]), "bool", "cannot convert a list to a boolean"),
            ("mixed case of true", json!("tRUE"), "bool", "cannot convert \"tRUE\" to a boolean"),
            (
                "an unknown type",
                json!(1),
                "number",
                "unsupported type `number`: expected string, int, int64, float, float64 or bool",
            ),
        ];
        for (name, value, type_name, expected) in cases {
            assert_eq!(
                convert(&value, type_name).map_err(|error| error.to_string()),
                Err(expected.to_owned()),
                "{name}"
            );
        }
    }
}
