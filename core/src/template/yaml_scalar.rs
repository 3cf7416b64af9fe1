//! Plain YAML scalars: which text Go's encoder leaves plain, and what Go's parser makes of plain text.
//!
//! Both decide the type of a templated scalar of an inline manifest. The encoder is that of yaml.v3 in
//! block style; the parser is the one that Kubernetes uses (YAML 1.1's booleans, octals with and
//! without `o`, no timestamps). Only scalars on one line are of interest: the encoder writes others
//! as literal blocks, which are strings.

use serde_json::Value;

use crate::value::number::{float_text, through_json};

/// A plain scalar that has none in JSON: `.inf` and `.nan`; as a key, also null.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct NoCounterpart;

/// Whether the encoder leaves a text that contains `{{` plain.
///
/// Such a text is no number, boolean, null or timestamp, so only its characters count.
pub(super) fn is_written_plain(text: &str) -> bool {
    let Some(first) = text.chars().next() else { return true };
    let bytes = text.as_bytes();
    let blank_after = |position: usize| matches!(bytes.get(position + 1), None | Some(b' ' | b'\t'));
    let indicator_at_the_start = match first {
        '#' | ',' | '[' | ']' | '{' | '}' | '&' | '*' | '!' | '|' | '>' | '\'' | '"' | '%' | '@' | '`' => true,
        '?' | ':' | '-' => blank_after(0),
        _ => text.starts_with("---") || text.starts_with("..."),
    } || text.starts_with("---");
    let indicator_inside = bytes.iter().enumerate().skip(1).any(|(position, byte)| match byte {
        b':' => blank_after(position),
        b'#' => matches!(bytes[position - 1], b' ' | b'\t'),
        _ => false,
    });
    !indicator_at_the_start
        && !indicator_inside
        && !text.starts_with(' ')
        && !text.ends_with(' ')
        && text.chars().all(is_printable_on_a_line)
}

/// What the encoder prints without an escape, on one line. Characters beyond the basic plane are not
/// among it.
fn is_printable_on_a_line(character: char) -> bool {
    match character {
        '\u{2028}' | '\u{2029}' | '\u{feff}' => false,
        ' '..='~' | '\u{a0}'..='\u{d7ff}' | '\u{e000}'..='\u{fffd}' => true,
        _ => false,
    }
}

/// What the parser makes of plain text on one line, as JSON carries it on.
///
/// # Errors
/// It is a number that JSON cannot carry.
pub(super) fn resolve(text: &str) -> Result<Value, NoCounterpart> {
    match number(text)? {
        Some(Number::Integer(integer)) => Ok(integer),
        Some(Number::Float(float)) => through_json(float).ok_or(NoCounterpart),
        None => Ok(word(text).unwrap_or_else(|| Value::String(text.to_owned()))),
    }
}

/// The text of a plain scalar as the key of a mapping, where JSON knows strings only.
///
/// # Errors
/// It is null, which is no key, or a number that JSON cannot carry.
pub(super) fn resolve_key(text: &str) -> Result<String, NoCounterpart> {
    match number(text)? {
        Some(Number::Integer(integer)) => Ok(integer.to_string()),
        Some(Number::Float(float)) => Ok(float_text(float)),
        None => match word(text) {
            Some(Value::Bool(flag)) => Ok(flag.to_string()),
            Some(_) => Err(NoCounterpart),
            None => Ok(text.to_owned()),
        },
    }
}

enum Number {
    Integer(Value),
    Float(f64),
}

fn number(text: &str) -> Result<Option<Number>, NoCounterpart> {
    if let ".inf" | ".Inf" | ".INF" | "+.inf" | "+.Inf" | "+.INF" | "-.inf" | "-.Inf" | "-.INF" | ".nan" | ".NaN"
    | ".NAN" = text
    {
        return Err(NoCounterpart);
    }
    if !text.starts_with(|first: char| matches!(first, '.' | '+' | '-') || first.is_ascii_digit()) {
        return Ok(None);
    }
    let digits = text.replace('_', "");
    let float = || float(&digits).map(Number::Float);
    Ok(if text.starts_with('.') { float() } else { integer(&digits).map(Number::Integer).or_else(float) })
}

fn word(text: &str) -> Option<Value> {
    match text {
        "" | "~" | "null" | "Null" | "NULL" => Some(Value::Null),
        "y" | "Y" | "yes" | "Yes" | "YES" | "true" | "True" | "TRUE" | "on" | "On" | "ON" => Some(Value::Bool(true)),
        "n" | "N" | "no" | "No" | "NO" | "false" | "False" | "FALSE" | "off" | "Off" | "OFF" => {
            Some(Value::Bool(false))
        }
        _ => None,
    }
}

/// Reads an integer as Go's source code writes it: `0x` hexadecimal, `0o` or `0` octal, `0b` binary.
///
/// Above the signed integers it may be unsigned if it has no sign.
fn integer(text: &str) -> Option<Value> {
    let (sign, digits) = match text.as_bytes().first() {
        Some(b'-') => ("-", &text[1..]),
        Some(b'+') => ("+", &text[1..]),
        Some(_) | None => ("", text),
    };
    let prefix = digits.get(..2).map(str::to_ascii_lowercase);
    let (digits, radix) = match prefix.as_deref() {
        Some("0x") => (&digits[2..], 16),
        Some("0o") => (&digits[2..], 8),
        Some("0b") => (&digits[2..], 2),
        Some(_) if digits.starts_with('0') => (&digits[1..], 8),
        Some(_) | None => (digits, 10),
    };
    if !digits.starts_with(|first: char| first.is_ascii_hexdigit()) {
        return None;
    }
    match sign {
        "" => i64::from_str_radix(digits, radix)
            .map(Value::from)
            .or_else(|_| u64::from_str_radix(digits, radix).map(Value::from))
            .ok(),
        sign => i64::from_str_radix(&format!("{sign}{digits}"), radix).map(Value::from).ok(),
    }
}

/// Reads `[+-](.digits | digits[.digits])[exponent]`.
fn float(text: &str) -> Option<f64> {
    let unsigned = text.strip_prefix(['+', '-']).unwrap_or(text);
    let decimal = unsigned.starts_with(|first: char| first == '.' || first.is_ascii_digit())
        && unsigned.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'.' | b'e' | b'E' | b'+' | b'-'));
    if !decimal {
        return None;
    }
    text.parse::<f64>().ok().filter(|float| float.is_finite())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn plain_scalars_get_their_types() {
        let cases = [
            ("", json!(null)),
            ("~", json!(null)),
            ("Null", json!(null)),
            ("nil", json!("nil")),
            ("yes", json!(true)),
            ("Off", json!(false)),
            ("oFF", json!("oFF")),
            ("0644", json!(420)),
            ("0o644", json!(420)),
            ("0x1F", json!(31)),
            ("-0X1f", json!(-31)),
            ("0b101", json!(5)),
            ("08", json!(8)),
            ("1_000", json!(1000)),
            ("1.0", json!(1)),
            ("1.5e3", json!(1500)),
            (".5", json!(0.5)),
            ("1e400", json!("1e400")),
            ("18446744073709551615", json!(u64::MAX)),
            ("1:30", json!("1:30")),
            ("2026-01-02", json!("2026-01-02")),
            ("1.2.3", json!("1.2.3")),
            ("-", json!("-")),
            ("0x", json!("0x")),
            ("+é", json!("+é")),
        ];
        for (text, expected) in cases {
            assert_eq!(resolve(text), Ok(expected), "{text:?}");
        }
        assert_eq!(resolve("-.INF"), Err(NoCounterpart));
    }

    #[test]
    fn plain_keys_are_the_text_of_their_value() {
        let cases =
            [("010", Ok("8")), ("yes", Ok("true")), ("1e10", Ok("1e+10")), ("a", Ok("a")), ("~", Err(NoCounterpart))];
        for (text, expected) in cases {
            assert_eq!(resolve_key(text), expected.map(str::to_owned), "{text:?}");
        }
    }
}
