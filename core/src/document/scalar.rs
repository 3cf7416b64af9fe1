//! Scalars, read as the Go adapter's YAML library reads them.
//!
//! That library stands between YAML 1.1 and 1.2: `0644` and `0o644` are octal, `1_000` is a number, but
//! `yes` and `on` are text, except where a boolean is wanted ([`Scalar::as_bool`]).

use serde_json::{Number, Value};

/// How a scalar was written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Style {
    /// Without quotes: its text decides its type.
    Plain,
    /// In single or double quotes.
    Quoted,
    /// As a `|` block.
    Literal,
    /// As a `>` block.
    Folded,
}

/// A tag of YAML's own that forces a type.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Tag {
    /// `!!str`, and every tag that is not YAML's own.
    Text,
    /// `!!null`.
    Null,
    /// `!!bool`.
    Bool,
    /// `!!int`.
    Int,
    /// `!!float`.
    Float,
}

/// A scalar: its text, and what decides its type.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Scalar {
    /// The text, after the processing of escapes and folding.
    pub text: String,
    /// How it was written.
    pub style: Style,
    /// The tag before it.
    pub tag: Option<Tag>,
}

impl Scalar {
    /// The value that the text stands for where no type is asked for.
    #[must_use]
    pub fn to_value(&self) -> Value {
        let text = || Value::String(self.text.clone());
        match (self.tag, self.style) {
            (None, Style::Plain) => resolve_plain(&self.text).unwrap_or_else(text),
            (None, Style::Quoted | Style::Literal | Style::Folded) | (Some(Tag::Text), _) => text(),
            (Some(Tag::Null), _) => Value::Null,
            (Some(Tag::Bool), _) => self.as_bool().map_or_else(text, Value::Bool),
            (Some(Tag::Int), _) => resolve_number(&self.text).filter(Value::is_i64).unwrap_or_else(text),
            (Some(Tag::Float), _) => {
                let number = self.text.parse().ok().and_then(Number::from_f64);
                number.map_or_else(text, Value::Number)
            }
        }
    }

    /// The boolean that it stands for where one is wanted; `yes`, `on`, `y` and their opposites count.
    #[must_use]
    pub fn as_bool(&self) -> Option<bool> {
        if self.tag == Some(Tag::Text) || (self.tag.is_none() && self.style != Style::Plain) {
            return None;
        }
        match self.text.to_ascii_lowercase().as_str() {
            "true" | "yes" | "y" | "on" => Some(true),
            "false" | "no" | "n" | "off" => Some(false),
            _ => None,
        }
    }

    /// Whether it is `.inf` or `.nan`, which JSON has no number for.
    #[must_use]
    pub fn is_not_finite(&self) -> bool {
        let unsigned = self.text.trim_start_matches(['+', '-']);
        self.tag.is_none()
            && self.style == Style::Plain
            && matches!(unsigned, ".inf" | ".Inf" | ".INF" | ".nan" | ".NaN" | ".NAN")
    }
}

fn resolve_plain(text: &str) -> Option<Value> {
    match text {
        "" | "~" | "null" | "Null" | "NULL" => Some(Value::Null),
        "true" | "True" | "TRUE" => Some(Value::Bool(true)),
        "false" | "False" | "FALSE" => Some(Value::Bool(false)),
        _ => resolve_number(text),
    }
}

fn resolve_number(text: &str) -> Option<Value> {
    let first = text.chars().next()?;
    if !(first.is_ascii_digit() || matches!(first, '+' | '-' | '.')) {
        return None;
    }
    let plain = text.replace('_', "");
    let (negative, digits) = match plain.as_bytes().first()? {
        b'-' => (true, &plain[1..]),
        b'+' => (false, &plain[1..]),
        _ => (false, plain.as_str()),
    };
    if let Some(magnitude) = parse_magnitude(digits) {
        return if negative {
            0_i64.checked_sub_unsigned(magnitude).map(Value::from).or_else(|| parse_float(&plain))
        } else {
            Some(Value::from(magnitude))
        };
    }
    parse_float(&plain)
}

/// Integers in Go's notations: decimal, `0x`, `0b`, `0o`, and octal after a bare leading zero.
fn parse_magnitude(digits: &str) -> Option<u64> {
    let lower = digits.to_ascii_lowercase();
    let (digits, radix) = match lower.as_bytes() {
        [b'0', b'x', ..] => (&lower[2..], 16),
        [b'0', b'b', ..] => (&lower[2..], 2),
        [b'0', b'o', ..] => (&lower[2..], 8),
        [b'0', _, ..] => (&lower[1..], 8),
        _ => (lower.as_str(), 10),
    };
    if digits.is_empty() || !digits.bytes().all(|digit| digit.is_ascii_alphanumeric()) {
        return None;
    }
    u64::from_str_radix(digits, radix).ok()
}

/// Floats, with digits on either side of the point and an exponent, but no words.
fn parse_float(plain: &str) -> Option<Value> {
    let unsigned = plain.strip_prefix(['+', '-']).unwrap_or(plain);
    let (mantissa, exponent) = match unsigned.find(['e', 'E']) {
        Some(at) => (&unsigned[..at], Some(&unsigned[at + 1..])),
        None => (unsigned, None),
    };
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let all_digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    let exponent_fits = exponent.is_none_or(|exponent| {
        let digits = exponent.strip_prefix(['+', '-']).unwrap_or(exponent);
        !digits.is_empty() && all_digits(digits)
    });
    let has_digits = !whole.is_empty() || !fraction.is_empty();
    if !(has_digits && all_digits(whole) && all_digits(fraction) && exponent_fits) {
        return None;
    }
    plain.parse().ok().and_then(Number::from_f64).map(Value::Number)
}
