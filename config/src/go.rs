//! Prints and parses numbers and booleans as Go does.
//!
//! Every format prints a double with the fewest digits that parse to the same double, as Rust does. The
//! formats differ in when they use an exponent, and in how they write it.

use serde_json::{Number, Value};

/// Prints a double as `%v` of Go's `fmt`: with an exponent below 1e-4, and from 1e+06 on.
#[must_use]
pub fn float_text(value: f64) -> String {
    if let Some(text) = not_finite(value) {
        return text.to_owned();
    }
    let scientific = format!("{value:e}");
    let (digits, exponent) = split_exponent(&scientific);
    if value != 0.0 && !(-4..6).contains(&exponent) {
        let sign = if exponent < 0 { '-' } else { '+' };
        format!("{digits}e{sign}{:02}", exponent.unsigned_abs())
    } else {
        value.to_string()
    }
}

/// Prints a double as Go's `encoding/json`: with an exponent below 1e-6, and from 1e+21 on.
#[must_use]
pub fn float_json(value: f64) -> String {
    let magnitude = value.abs();
    if magnitude == 0.0 || (1e-6..1e21).contains(&magnitude) {
        return value.to_string();
    }
    let scientific = format!("{value:e}");
    let (digits, exponent) = split_exponent(&scientific);
    let sign = if exponent < 0 { '-' } else { '+' };
    format!("{digits}e{sign}{}", exponent.unsigned_abs())
}

/// Prints a number as `%v` of Go's `fmt`.
#[must_use]
pub fn number_text(number: &Number) -> String {
    match number.as_f64() {
        Some(float) if number.is_f64() => float_text(float),
        Some(_) | None => number.to_string(),
    }
}

/// Converts a double as a round trip through Kubernetes' JSON does: `5.0` is printed as `5`, which is parsed
/// as an integer.
///
/// Returns `None` for infinities and NaN, which JSON cannot represent.
#[must_use]
pub fn through_json(value: f64) -> Option<Value> {
    match float_json(value).parse::<i64>() {
        Ok(integer) => Some(Value::from(integer)),
        Err(_) => Number::from_f64(value).map(Value::Number),
    }
}

/// Parses the texts that Go's `strconv.ParseBool` accepts.
#[must_use]
pub fn parse_boolean(text: &str) -> Option<bool> {
    match text {
        "1" | "t" | "T" | "TRUE" | "true" | "True" => Some(true),
        "0" | "f" | "F" | "FALSE" | "false" | "False" => Some(false),
        _ => None,
    }
}

fn not_finite(value: f64) -> Option<&'static str> {
    if value.is_nan() {
        Some("NaN")
    } else if value.is_infinite() {
        Some(if value > 0.0 { "+Inf" } else { "-Inf" })
    } else {
        None
    }
}

/// Splits a number in Rust's scientific notation, such as `1.5e-7`, into digits and exponent.
fn split_exponent(scientific: &str) -> (&str, i32) {
    let (digits, exponent) = scientific.split_once('e').unwrap_or((scientific, "0"));
    (digits, exponent.parse().unwrap_or(0))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A double, and how Go's `fmt` (`%v`) and `encoding/json` print it.
    const GOLDEN: &[(f64, &str, &str)] = &[
        (0.0, "0", "0"),
        (-0.0, "-0", "-0"),
        (5.0, "5", "5"),
        (1.5, "1.5", "1.5"),
        (999_999.0, "999999", "999999"),
        (1e6, "1e+06", "1000000"),
        (1_234_567.0, "1.234567e+06", "1234567"),
        (-1_234_567.0, "-1.234567e+06", "-1234567"),
        (1e20, "1e+20", "100000000000000000000"),
        (123_456_789_012_345_680_000.0, "1.2345678901234568e+20", "123456789012345680000"),
        (1e21, "1e+21", "1e+21"),
        (1.5e21, "1.5e+21", "1.5e+21"),
        (1e100, "1e+100", "1e+100"),
        (0.1, "0.1", "0.1"),
        (0.0001, "0.0001", "0.0001"),
        (0.000_123_45, "0.00012345", "0.00012345"),
        (0.000_01, "1e-05", "0.00001"),
        (1e-6, "1e-06", "0.000001"),
        (1e-7, "1e-07", "1e-7"),
        (1.25e-9, "1.25e-09", "1.25e-9"),
        (1e-10, "1e-10", "1e-10"),
    ];

    #[test]
    fn doubles_are_printed_as_in_go() {
        for (value, text, json) in GOLDEN {
            assert_eq!(float_text(*value), *text, "{value:e} as %v");
            assert_eq!(float_json(*value), *json, "{value:e} as JSON");
        }
        let infinite = [f64::INFINITY, f64::NEG_INFINITY, f64::NAN].map(float_text);
        assert_eq!(infinite, ["+Inf", "-Inf", "NaN"]);
    }

    #[test]
    fn integers_are_printed_without_an_exponent() {
        assert_eq!(number_text(&Number::from(1_234_567)), "1234567");
        assert_eq!(number_text(&Number::from(u64::MAX)), "18446744073709551615");
    }

    #[test]
    fn integral_double_becomes_an_integer_through_json() {
        let cases = [
            (5.0, Some(Value::from(5))),
            (-3.0, Some(Value::from(-3))),
            (5.5, Some(Value::from(5.5))),
            (1e21, Some(Value::from(1e21))),
            (1e20, Some(Value::from(1e20))),
            (f64::NAN, None),
            (f64::INFINITY, None),
        ];
        for (value, expected) in cases {
            assert_eq!(through_json(value), expected, "{value:e}");
        }
    }
}
