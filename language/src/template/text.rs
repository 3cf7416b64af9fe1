//! Prints the engine's values as Go's verb `%v` does.

use std::borrow::Cow;
use std::fmt::Write as _;

use gotmpl::{TemplateError, Value};
use lifecycle_config::go::float_text;

use super::MAX_OUTPUT;

/// Prints a value; null as `<nil>`.
///
/// # Errors
/// The text would be longer than [`MAX_OUTPUT`].
pub(super) fn text(value: &Value) -> Result<Cow<'_, str>, TemplateError> {
    match value {
        Value::String(text) => Ok(Cow::Borrowed(text)),
        Value::Nil
        | Value::Bool(_)
        | Value::Int(_)
        | Value::Uint(_)
        | Value::Float(_)
        | Value::List(_)
        | Value::Map(_)
        | Value::Function(_) => {
            let mut out = String::new();
            write(value, &mut out)?;
            Ok(Cow::Owned(out))
        }
    }
}

fn write(value: &Value, out: &mut String) -> Result<(), TemplateError> {
    match value {
        Value::Nil => out.push_str("<nil>"),
        Value::Bool(flag) => out.push_str(if *flag { "true" } else { "false" }),
        Value::Int(integer) => write!(out, "{integer}")?,
        Value::Uint(integer) => write!(out, "{integer}")?,
        Value::Float(float) => out.push_str(&float_text(*float)),
        Value::String(text) => out.push_str(text),
        Value::List(items) => {
            out.push('[');
            for (index, item) in items.iter().enumerate() {
                if index > 0 {
                    out.push(' ');
                }
                write(item, out)?;
            }
            out.push(']');
        }
        Value::Map(map) => {
            out.push_str("map[");
            for (index, (key, item)) in map.iter().enumerate() {
                if index > 0 {
                    out.push(' ');
                }
                out.push_str(key);
                out.push(':');
                write(item, out)?;
            }
            out.push(']');
        }
        Value::Function(_) => out.push_str("<func>"),
    }
    check_length(out.len())
}

/// Returns an error if `length`, in bytes, is greater than [`MAX_OUTPUT`].
pub(super) fn check_length(length: usize) -> Result<(), TemplateError> {
    if length > MAX_OUTPUT {
        return Err(TemplateError::Exec(format!("a string is longer than {MAX_OUTPUT} bytes")));
    }
    Ok(())
}

/// Returns the name of a value's type in Go.
pub(super) fn type_name(value: &Value) -> &'static str {
    match value {
        Value::List(_) => "[]interface {}",
        Value::Map(_) => "map[string]interface {}",
        Value::Uint(_) => "uint64",
        Value::Nil | Value::Bool(_) | Value::Int(_) | Value::Float(_) | Value::String(_) | Value::Function(_) => {
            value.type_name()
        }
    }
}
