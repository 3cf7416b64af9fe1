//! The meaning of a scalar without quotes.
//!
//! In: its text, and which of the two YAML libraries of the Go adapter would read it. Out: null, a boolean, a number, a time
//! or text. Both libraries are one resolver here, since they differ in two things only: `yes` and `on`, and dates.
//! Nothing else decides the type of a plain scalar: files, rendered manifests, and scalars of inline manifests come here.

use jiff::civil::{Date, Time};
use serde_json::{Number, Value};

use crate::go::{float_text, through_json};

/// Which of the Go adapter's two YAML libraries reads a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Dialect {
    /// yaml.v3, which reads configuration files: `yes` is text, `2026-01-02` is a time.
    File,
    /// Kubernetes' YAML library, which reads rendered manifests: `yes` is true, `2026-01-02` is text.
    Manifest,
}

/// A plain scalar that has no counterpart in JSON: `.inf` and `.nan`; as a key also null, and an integer beyond 64 bits with a sign.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NoCounterpart;

/// The meaning of a plain scalar.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Plain {
    Null,
    Bool(bool),
    Integer(i64),
    Unsigned(u64),
    Float(f64),
    /// `.inf` or `.nan`.
    NotFinite,
    /// A time, as RFC 3339.
    Time(String),
    Text,
}

/// The value of a plain scalar of a configuration file, as Go holds it: `08` is a double.
///
/// `None` if it has none in JSON.
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

/// The value of a plain scalar of a manifest, as it is after JSON: `08` is the integer 8.
///
/// # Errors
/// It is a number that JSON cannot carry.
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

/// The text of a plain scalar as the key of a mapping in a manifest, where JSON knows text only.
///
/// # Errors
/// It is null, which is no key, or a number that JSON cannot carry.
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

/// Kubernetes' library writes a key that is a double with the precision of 32 bits.
fn single_precision_text(float: f64) -> String {
    #[expect(clippy::cast_possible_truncation, reason = "as Go does")]
    let single = float as f32;
    float_text(single.to_string().parse().unwrap_or(float))
}

/// Whether a text is `.inf` or `.nan`, which JSON has no number for.
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

/// The number that a text is, in Go's notations and with underscores between the digits.
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

/// Reads an integer as Go's source code writes it: `0x` hexadecimal, `0o` or `0` octal, `0b` binary.
///
/// Above the signed integers it may be unsigned if it has no sign.
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

/// Reads `[+-](.digits | digits[.digits])[exponent]`.
fn float(text: &str) -> Option<Plain> {
    let unsigned = text.strip_prefix(['+', '-']).unwrap_or(text);
    let is_decimal = unsigned.starts_with(|first: char| first == '.' || first.is_ascii_digit())
        && unsigned.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'.' | b'e' | b'E' | b'+' | b'-'));
    if !is_decimal {
        return None;
    }
    text.parse::<f64>().ok().filter(|float| float.is_finite()).map(Plain::Float)
}

/// Reads a date, or a date with a time of day, and writes it as Go writes a time into JSON.
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

/// One or two digits.
fn short(text: &str) -> Option<i8> {
    let fits = matches!(text.len(), 1 | 2) && text.bytes().all(|digit| digit.is_ascii_digit());
    if fits { text.parse().ok() } else { None }
}

fn split_digits(text: &str) -> (&str, &str) {
    text.split_at(text.find(|next: char| !next.is_ascii_digit()).unwrap_or(text.len()))
}

/// `Z`, or a distance from UTC in hours and minutes.
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
