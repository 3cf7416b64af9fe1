//! Resolves the type and value of an unquoted (plain) scalar.
//!
//! In: the scalar's text, and which of the Go adapter's two YAML libraries would read it. Out: null, a
//! boolean, a number, a time or text. The libraries differ only in `yes`, `on` and the like, and in dates, so
//! one resolver covers both. All plain scalars are resolved here: of configuration files, of rendered
//! manifests, and of manifests inline in a file.

use jiff::civil::{Date, Time};
use serde_json::{Number, Value};

use crate::go::{float_text, through_json};

/// The Go adapter's YAML library whose rules apply.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Dialect {
    /// yaml.v3, which reads configuration files: `yes` is text, and `2026-01-02` is a time.
    File,
    /// sigs.k8s.io/yaml, which reads rendered manifests: `yes` is true, and `2026-01-02` is text.
    Manifest,
}

/// A plain scalar that JSON cannot represent: `.inf` or `.nan`; as a key also null, or a signed integer
/// beyond 64 bits.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NoCounterpart;

/// The resolved type and value of a plain scalar.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Plain {
    Null,
    Bool(bool),
    Integer(i64),
    Unsigned(u64),
    Float(f64),
    /// A float that JSON cannot express: `.inf` or `.nan`.
    NotFinite,
    /// A time, in RFC 3339.
    Time(String),
    Text,
}

/// Returns the JSON value of a plain scalar in a configuration file. Numbers keep Go's type: `08` is a double.
///
/// Returns `None` if JSON cannot represent it.
#[must_use]
pub(super) fn file_value(text: &str) -> Option<Value> {
    Some(match resolve(text, Dialect::File) {
        Plain::Null => Value::Null,
        Plain::Bool(flag) => Value::Bool(flag),
        Plain::Integer(integer) => Value::from(integer),
        Plain::Unsigned(integer) => Value::from(integer),
        Plain::Float(float) => Value::Number(Number::from_f64(float)?),
        Plain::NotFinite => return None,
        Plain::Time(time) => Value::String(time),
        Plain::Text => Value::String(text.to_owned()),
    })
}

/// Returns the JSON value of a plain scalar in a manifest, after the library's conversion to JSON: `08` is
/// the integer 8.
///
/// # Errors
/// JSON cannot represent the number.
pub fn manifest_value(text: &str) -> Result<Value, NoCounterpart> {
    Ok(match resolve(text, Dialect::Manifest) {
        Plain::Null => Value::Null,
        Plain::Bool(flag) => Value::Bool(flag),
        Plain::Integer(integer) => Value::from(integer),
        Plain::Unsigned(integer) => Value::from(integer),
        Plain::Float(float) => through_json(float).ok_or(NoCounterpart)?,
        Plain::NotFinite => return Err(NoCounterpart),
        Plain::Time(_) | Plain::Text => Value::String(text.to_owned()),
    })
}

/// Returns the text of a plain scalar as a mapping's key, because the keys of a JSON object are texts.
///
/// # Errors
/// The key is null, or a number that JSON cannot represent.
pub fn key(text: &str, dialect: Dialect) -> Result<String, NoCounterpart> {
    match resolve(text, dialect) {
        Plain::Null | Plain::Unsigned(_) | Plain::NotFinite => Err(NoCounterpart),
        Plain::Bool(flag) => Ok(flag.to_string()),
        Plain::Integer(integer) => Ok(integer.to_string()),
        Plain::Float(float) => Ok(single_precision_text(float)),
        Plain::Time(time) => Ok(time),
        Plain::Text => Ok(text.to_owned()),
    }
}

/// Prints a double as a key in Kubernetes' YAML library: with the precision of 32 bits.
fn single_precision_text(float: f64) -> String {
    #[expect(clippy::cast_possible_truncation, reason = "as Go does")]
    let single = float as f32;
    float_text(single.to_string().parse().unwrap_or(float))
}

/// Whether a text is `.inf` or `.nan`, for which JSON has no number.
pub(super) fn is_not_finite(text: &str) -> bool {
    matches!(
        text,
        ".inf" | ".Inf" | ".INF" | "+.inf" | "+.Inf" | "+.INF" | "-.inf" | "-.Inf" | "-.INF" | ".nan" | ".NaN" | ".NAN"
    )
}

pub(super) fn resolve(text: &str, dialect: Dialect) -> Plain {
    if is_not_finite(text) {
        return Plain::NotFinite;
    }
    if let Some(word) = word(text, dialect) {
        return word;
    }
    if !text.starts_with(|first: char| matches!(first, '.' | '+' | '-') || first.is_ascii_digit()) {
        return Plain::Text;
    }
    if dialect == Dialect::File
        && let Some(time) = time(text)
    {
        return Plain::Time(time);
    }
    number(text).unwrap_or(Plain::Text)
}

/// Parses a number in Go's notations, with underscores between the digits.
pub(super) fn number(text: &str) -> Option<Plain> {
    let digits = text.replace('_', "");
    integer(&digits).or_else(|| float(&digits))
}

fn word(text: &str, dialect: Dialect) -> Option<Plain> {
    match (text, dialect) {
        ("" | "~" | "null" | "Null" | "NULL", _) => Some(Plain::Null),
        ("true" | "True" | "TRUE", _) | ("y" | "Y" | "yes" | "Yes" | "YES" | "on" | "On" | "ON", Dialect::Manifest) => {
            Some(Plain::Bool(true))
        }
        ("false" | "False" | "FALSE", _)
        | ("n" | "N" | "no" | "No" | "NO" | "off" | "Off" | "OFF", Dialect::Manifest) => Some(Plain::Bool(false)),
        (_, Dialect::File | Dialect::Manifest) => None,
    }
}

/// Parses an integer literal of Go: `0x` hexadecimal, `0o` or `0` octal, `0b` binary.
///
/// An integer above the range of `i64` is unsigned, if it has no sign.
fn integer(text: &str) -> Option<Plain> {
    let unsigned = text.strip_prefix(['+', '-']).unwrap_or(text);
    let sign = &text[..text.len() - unsigned.len()];
    let prefix = unsigned.get(..2).map(str::to_ascii_lowercase);
    let (digits, radix) = match prefix.as_deref() {
        Some("0x") => (&unsigned[2..], 16),
        Some("0o") => (&unsigned[2..], 8),
        Some("0b") => (&unsigned[2..], 2),
        Some(_) if unsigned.starts_with('0') => (&unsigned[1..], 8),
        Some(_) | None => (unsigned, 10),
    };
    if !digits.starts_with(|first: char| first.is_ascii_hexdigit()) {
        return None;
    }
    if let Ok(integer) = i64::from_str_radix(&format!("{sign}{digits}"), radix) {
        return Some(Plain::Integer(integer));
    }
    if sign.is_empty() { u64::from_str_radix(digits, radix).map(Plain::Unsigned).ok() } else { None }
}

/// Parses a float of the form `[+-](.digits | digits[.digits])[exponent]`.
fn float(text: &str) -> Option<Plain> {
    let unsigned = text.strip_prefix(['+', '-']).unwrap_or(text);
    let is_decimal = unsigned.starts_with(|first: char| first == '.' || first.is_ascii_digit())
        && unsigned.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'.' | b'e' | b'E' | b'+' | b'-'));
    if !is_decimal {
        return None;
    }
    text.parse::<f64>().ok().filter(|float| float.is_finite()).map(Plain::Float)
}

/// Parses a date, or a date and a time of day, and prints it as Go's `encoding/json` prints a time (RFC 3339).
fn time(text: &str) -> Option<String> {
    let (year, rest) = text.split_once('-')?;
    if year.len() != 4 || !year.bytes().all(|digit| digit.is_ascii_digit()) {
        return None;
    }
    let (month, rest) = rest.split_once('-')?;
    let (day, rest) = split_digits(rest);
    let date = Date::new(year.parse().ok()?, short(month)?, short(day)?).ok()?;
    let (clock, zone) = match rest.chars().next() {
        None => return Some(format!("{date}T00:00:00Z")),
        Some('T' | 't') => {
            let zone = rest.find(['Z', '+', '-'])?;
            (&rest[1..zone], offset(&rest[zone..])?)
        }
        Some(' ') => (&rest[1..], "Z"),
        Some(_) => return None,
    };
    let (clock, fraction) = clock.split_once(['.', ',']).map_or((clock, None), |(clock, digits)| (clock, Some(digits)));
    let mut parts = clock.split(':').map(short);
    let (hour, minute, second) = (parts.next()??, parts.next()??, parts.next()??);
    if parts.next().is_some() {
        return None;
    }
    let clock = Time::new(hour, minute, second, 0).ok()?.strftime("%H:%M:%S").to_string();
    let fraction = match fraction {
        None => String::new(),
        Some(digits) if digits.is_empty() || !digits.bytes().all(|digit| digit.is_ascii_digit()) => return None,
        Some(digits) => match digits[..digits.len().min(9)].trim_end_matches('0') {
            "" => String::new(),
            digits => format!(".{digits}"),
        },
    };
    Some(format!("{date}T{clock}{fraction}{zone}"))
}

/// Parses a number of one or two digits.
fn short(text: &str) -> Option<i8> {
    let fits = matches!(text.len(), 1 | 2) && text.bytes().all(|digit| digit.is_ascii_digit());
    if fits { text.parse().ok() } else { None }
}

fn split_digits(text: &str) -> (&str, &str) {
    text.split_at(text.find(|next: char| !next.is_ascii_digit()).unwrap_or(text.len()))
}

/// Parses the UTC offset of a time: `Z`, or hours and minutes such as `+02:00`.
fn offset(text: &str) -> Option<&str> {
    if text == "Z" {
        return Some(text);
    }
    let (hours, minutes) = text[1..].split_once(':')?;
    let both = [hours, minutes];
    if !both.iter().all(|part| part.len() == 2 && short(part).is_some()) {
        return None;
    }
    let (hours, minutes) = (short(hours)?, short(minutes)?);
    if hours > 24 || minutes > 59 {
        return None;
    }
    Some(if hours == 0 && minutes == 0 { "Z" } else { text })
}

#[cfg(test)]
mod tests;
