//! Converts text to a value of a type, and suggests corrections.

use serde_json::{Number, Value};

use super::DURATION;
use super::schema::{resolve, type_of};
use crate::document::{Path, Scalar, Segment, Style};
use crate::duration::{Units, parse_nanoseconds};

/// Which scalars are accepted for a type.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Typing {
    /// As the Go adapter reads the task file: a text key accepts any scalar, every other key only its own type.
    Strict,
    /// As the Go adapter reads the deployment file: text is also converted to booleans and numbers.
    Weak,
}

/// Converts the text of a flag or an environment variable to the type that `schema` has at `path`.
///
/// # Errors
/// The schema has no such path, or the text is not a value of its type.
pub fn coerce(schema: &Value, path: &Path, text: &str) -> Result<Value, String> {
    let at = non_null(schema, property(schema, path).ok_or("unknown key")?);
    let scalar = Scalar { text: text.to_owned(), style: Style::Quoted, tag: None };
    let Some(wanted) = type_of(at) else { return Ok(Value::String(text.to_owned())) };
    let value = convert(&scalar, wanted, Typing::Weak)
        .ok_or_else(|| format!("must be {}, but is \"{text}\"", article(wanted)))?;
    if at.get("format").and_then(Value::as_str) == Some(DURATION) {
        parse_nanoseconds(text, Units::Go).map_err(|error| error.to_string())?;
    }
    match out_of_range(&value, at) {
        Some((message, _)) => Err(message),
        None => Ok(value),
    }
}

/// Returns the schema of the key at `path`, with its type and `description`.
#[must_use]
pub fn property<'s>(schema: &'s Value, path: &Path) -> Option<&'s Value> {
    let mut at = resolve(schema, schema);
    for segment in path.segments() {
        let Segment::Key(key) = segment else { return None };
        let object = non_null(schema, at);
        let next = object.get("properties").and_then(|properties| properties.get(key));
        at = next.or_else(|| object.get("additionalProperties").filter(|schema| schema.is_object()))?;
    }
    Some(at)
}

fn non_null<'s>(root: &'s Value, schema: &'s Value) -> &'s Value {
    let schema = resolve(root, schema);
    let alternatives = schema.get("anyOf").and_then(Value::as_array);
    let other = alternatives.and_then(|all| all.iter().find(|a| type_of(resolve(root, a)) != Some("null")));
    other.map_or(schema, |other| resolve(root, other))
}

pub(super) fn convert(scalar: &Scalar, wanted: &str, typing: Typing) -> Option<Value> {
    let value = scalar.to_value();
    let weak = typing == Typing::Weak;
    match wanted {
        "string" => Some(Value::String(scalar.text.clone())),
        "boolean" => match (scalar.as_bool(), &value) {
            (Some(boolean), _) => Some(Value::Bool(boolean)),
            (None, Value::Number(number)) if weak => Some(Value::Bool(number.as_f64() != Some(0.0))),
            (None, Value::String(text)) if weak => parse_go_bool(text).map(Value::Bool),
            (None, _) => None,
        },
        "integer" => match &value {
            Value::Number(number) => to_integer(number).map(Value::from),
            Value::String(text) if weak && text.is_empty() => Some(Value::from(0)),
            Value::String(text) if weak => parse_go_integer(text.trim()).map(Value::from),
            Value::Bool(boolean) if weak => Some(Value::from(i64::from(*boolean))),
            Value::Null | Value::Bool(_) | Value::String(_) | Value::Array(_) | Value::Object(_) => None,
        },
        "number" => match &value {
            Value::Number(_) => Some(value),
            Value::String(text) if weak && text.is_empty() => Some(Value::from(0)),
            Value::String(text) if weak => {
                text.trim().parse::<f64>().ok().and_then(Number::from_f64).map(Value::Number)
            }
            Value::Bool(boolean) if weak => Some(Value::from(i64::from(*boolean))),
            Value::Null | Value::Bool(_) | Value::String(_) | Value::Array(_) | Value::Object(_) => None,
        },
        _ => None,
    }
}

fn parse_go_bool(text: &str) -> Option<bool> {
    // mapstructure, which decodes Go's configurations, reads an empty text as false.
    if text.is_empty() { Some(false) } else { crate::go::parse_boolean(text) }
}

/// Parses an integer as Go's `strconv.ParseInt` with base 0: `16`, `0x10`, `0o20`, `020`, `0b1_0000`.
fn parse_go_integer(text: &str) -> Option<i64> {
    let (sign, digits) = match text.split_at_checked(1) {
        Some(("-", digits)) => ("-", digits),
        Some(("+", digits)) => ("", digits),
        _ => ("", text),
    };
    let prefixed = digits.strip_prefix('0').filter(|rest| !rest.is_empty());
    let (radix, digits) = match prefixed.map(|rest| rest.split_at(rest.chars().next().map_or(0, char::len_utf8))) {
        None => (10, digits),
        Some(("x" | "X", rest)) => (16, rest),
        Some(("o" | "O", rest)) => (8, rest),
        Some(("b" | "B", rest)) => (2, rest),
        Some(_) => (8, &digits[1..]),
    };
    // Go allows an underscore between two digits, and between the prefix and the first digit.
    let digits = if prefixed.is_some() { digits.strip_prefix('_').unwrap_or(digits) } else { digits };
    let is_number = |group: &str| !group.is_empty() && group.chars().all(|digit| digit.is_digit(radix));
    if !digits.split('_').all(is_number) {
        return None;
    }
    i64::from_str_radix(&format!("{sign}{}", digits.replace('_', "")), radix).ok()
}

/// Below this bound (about 2^53) a float represents every integer exactly.
const EXACT_FLOAT: f64 = 9e15;

/// Converts a number to an integer; `None` if it has a fraction. Go's YAML library would drop the fraction,
/// and turn a limit of 0.9 into 0.
fn to_integer(number: &Number) -> Option<i64> {
    let whole = |float: &f64| float.fract() == 0.0 && float.abs() < EXACT_FLOAT;
    number.as_i64().or_else(|| number.as_f64().filter(whole).map(|float| float as i64))
}

/// Explains why a number is not an integer; returns a message and a help.
pub(super) fn no_integer(scalar: &Scalar) -> Option<(String, String)> {
    let Value::Number(number) = scalar.to_value() else { return None };
    let written = &scalar.text;
    let float = number.as_f64()?;
    if float.fract() == 0.0 {
        return Some((format!("{written} is too large"), format!("write a whole number up to {}", i64::MAX)));
    }
    let help = format!("write {} or {}", float.floor(), float.ceil());
    Some((format!("must be a whole number, but is {written}"), help))
}

/// Checks a number against the bounds of its schema; returns a message and a help if it exceeds them.
pub(super) fn out_of_range(value: &Value, schema: &Value) -> Option<(String, String)> {
    let number = value.as_f64()?;
    let bound = |key: &str| schema.get(key).and_then(Value::as_f64);
    if let Some(minimum) = bound("minimum").filter(|minimum| number < *minimum) {
        return Some((format!("must be at least {minimum}, but is {number}"), format!("write {minimum} or more")));
    }
    let of_format = match schema.get("format").and_then(Value::as_str) {
        Some("uint8") => Some(f64::from(u8::MAX)),
        Some("uint16") => Some(f64::from(u16::MAX)),
        Some("uint32") => Some(f64::from(u32::MAX)),
        Some(_) | None => None,
    };
    let maximum = bound("maximum").or(of_format).filter(|maximum| number > *maximum)?;
    Some((format!("must be at most {maximum}, but is {number}"), format!("write {maximum} or less")))
}

pub(super) fn article(wanted: &str) -> &str {
    match wanted {
        "string" => "text",
        "boolean" => "a boolean",
        "integer" => "an integer",
        "number" => "a number",
        "array" => "a list",
        "object" => "a mapping",
        other => other,
    }
}

/// Longer words get no suggestion; real keys are shorter, and the comparison takes quadratic time.
const SUGGESTION_WIDTH: usize = 64;
/// A suggestion may differ in one typing error per this number of letters; more would match words that share
/// only their beginning.
const LETTERS_PER_TYPO: usize = 3;

/// Returns the known word that `written` most likely misspells.
#[must_use]
pub fn suggest<'k>(written: &str, known: &[&'k str]) -> Option<&'k str> {
    if written.len() > SUGGESTION_WIDTH {
        return None;
    }
    let plain = |word: &str| word.to_lowercase().replace(['-', '_'], "");
    let written = plain(written);
    let slips = |word: &&'k str| {
        let word = plain(word);
        let allowed = written.len().max(word.len()) / LETTERS_PER_TYPO;
        // The length difference is a lower bound of the number of typing errors, and cheap to compute.
        let comparable = written.len().abs_diff(word.len()) <= allowed;
        comparable.then(|| strsim::osa_distance(&written, &word)).filter(|slips| *slips <= allowed)
    };
    known.iter().filter_map(|word| Some((slips(word)?, *word))).min_by_key(|(slips, _)| *slips).map(|(_, word)| word)
}
