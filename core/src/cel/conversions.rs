//! Conversions between values and text, where the Go adapter's engine and ours differ.
//!
//! `string()` prints doubles as Go does, `duration()` takes exactly what Go takes (and refuses what
//! follows it), `toUnixTime()` is another name of `int(timestamp)`.

use cel::common::types::{
    CelBool, CelBytes, CelDouble, CelDuration, CelInt, CelString, CelTimestamp, CelUInt, DYN_TYPE, TIMESTAMP_TYPE,
};
use cel::common::value::{CowVal, Val};
use cel::{DeclarationError, Env, ExecutionError};
use chrono::{DateTime, FixedOffset, TimeDelta};

use super::environment::rename;

const STRING: &str = "@string";
const DURATION: &str = "@duration";

pub(super) fn declare(environment: &mut Env) -> Result<(), DeclarationError> {
    // The standard library's overloads cannot be replaced, so calls go to functions of another name.
    environment.add_overload(STRING, "any_to_string", vec![DYN_TYPE], string)?;
    environment.add_macro(rename("string", 1, STRING))?;
    environment.add_overload(DURATION, "any_to_duration", vec![DYN_TYPE], duration)?;
    environment.add_macro(rename("duration", 1, DURATION))?;
    environment.add_member_overload("toUnixTime", "timestamp_to_unix_time", TIMESTAMP_TYPE, vec![], unix_time)
}

/// The error of a function that does not take such a value.
pub(super) fn no_overload(function: &str, arguments: &[CowVal<'_, '_>]) -> ExecutionError {
    let types = arguments.iter().map(|argument| argument.get_type().name().to_owned()).collect();
    ExecutionError::no_such_overload(function, types)
}

fn string<'b, 'v>(mut arguments: Vec<CowVal<'b, 'v>>) -> Result<CowVal<'b, 'v>, ExecutionError> {
    let text = match arguments.first().map(CowVal::as_ref) {
        Some(value) if value.downcast_ref::<CelString<'v>>().is_some() => return Ok(arguments.remove(0)),
        Some(value) => text(value)?,
        None => None,
    };
    text.map(|text| CowVal::owned(CelString::from(text))).ok_or_else(|| no_overload("string", &arguments))
}

fn text(value: &dyn Val) -> Result<Option<String>, ExecutionError> {
    Ok(if let Some(value) = value.downcast_ref::<CelBool>() {
        Some(value.inner().to_string())
    } else if let Some(value) = value.downcast_ref::<CelInt>() {
        Some(value.inner().to_string())
    } else if let Some(value) = value.downcast_ref::<CelUInt>() {
        Some(value.inner().to_string())
    } else if let Some(value) = value.downcast_ref::<CelDouble>() {
        Some(double_text(*value.inner()))
    } else if let Some(value) = value.downcast_ref::<CelBytes<'_>>() {
        let text = std::str::from_utf8(value.inner());
        Some(text.map_err(|error| ExecutionError::function_error("string", error))?.to_owned())
    } else if let Some(value) = value.downcast_ref::<CelTimestamp>() {
        Some(timestamp_text(value.inner(), trimmed))
    } else {
        value.downcast_ref::<CelDuration>().map(|value| duration_text(value.inner(), trimmed))
    })
}

/// As Go's `%g`: the shortest digits that read back the same, with an exponent below -4 or above 5.
fn double_text(value: f64) -> String {
    if value.is_nan() {
        return "NaN".to_owned();
    }
    if value.is_infinite() {
        return if value > 0.0 { "+Inf" } else { "-Inf" }.to_owned();
    }
    let scientific = format!("{value:e}");
    let Some((digits, exponent)) = scientific.split_once('e') else { return scientific };
    let exponent: i32 = exponent.parse().unwrap_or(0);
    if (-4..6).contains(&exponent) {
        return value.to_string();
    }
    let sign = if exponent < 0 { '-' } else { '+' };
    format!("{digits}e{sign}{:02}", exponent.abs())
}

/// A fraction of a second as CEL prints it: no trailing zeros.
fn trimmed(nanoseconds: u32) -> String {
    let digits = format!(".{nanoseconds:09}");
    digits.trim_end_matches('0').trim_end_matches('.').to_owned()
}

/// A fraction of a second as JSON has it: none, three, six or nine digits.
pub(super) fn grouped(nanoseconds: u32) -> String {
    match (nanoseconds % 1_000, nanoseconds % 1_000_000, nanoseconds) {
        (_, _, 0) => String::new(),
        (_, 0, _) => format!(".{:03}", nanoseconds / 1_000_000),
        (0, _, _) => format!(".{:06}", nanoseconds / 1_000),
        (_, _, _) => format!(".{nanoseconds:09}"),
    }
}

/// RFC 3339 in UTC.
pub(super) fn timestamp_text(value: &DateTime<FixedOffset>, fraction: fn(u32) -> String) -> String {
    let time = value.naive_utc();
    format!("{}{}Z", time.format("%Y-%m-%dT%H:%M:%S"), fraction(value.timestamp_subsec_nanos()))
}

/// Seconds with an `s`.
pub(super) fn duration_text(value: &TimeDelta, fraction: fn(u32) -> String) -> String {
    let (seconds, nanoseconds) = (value.num_seconds(), value.subsec_nanos());
    let sign = if seconds < 0 || nanoseconds < 0 { "-" } else { "" };
    format!("{sign}{}{}s", seconds.unsigned_abs(), fraction(nanoseconds.unsigned_abs()))
}

fn duration<'b, 'v>(mut arguments: Vec<CowVal<'b, 'v>>) -> Result<CowVal<'b, 'v>, ExecutionError> {
    match arguments.first().map(CowVal::as_ref) {
        Some(value) if value.downcast_ref::<CelDuration>().is_some() => Ok(arguments.remove(0)),
        Some(value) => match value.downcast_ref::<CelString<'v>>() {
            Some(text) => {
                let nanoseconds = parse_duration(text.inner()).ok_or_else(|| {
                    ExecutionError::function_error("duration", format!("invalid duration {:?}", text.inner()))
                })?;
                Ok(CowVal::owned(CelDuration::from(TimeDelta::nanoseconds(nanoseconds))))
            }
            None => Err(no_overload("duration", &arguments)),
        },
        None => Err(no_overload("duration", &arguments)),
    }
}

/// A duration in Go's notation (`1h30m`, `-1.5s`, `0`) in nanoseconds. It never rounds up.
fn parse_duration(text: &str) -> Option<i64> {
    let (negative, mut rest) = match text.as_bytes().first()? {
        b'-' => (true, &text[1..]),
        b'+' => (false, &text[1..]),
        _ => (false, text),
    };
    if rest.is_empty() {
        return None;
    }
    if rest == "0" {
        return Some(0);
    }
    let mut total: i128 = 0;
    while !rest.is_empty() {
        let (whole, after) = rest.split_at(rest.bytes().take_while(u8::is_ascii_digit).count());
        let (fraction, after) = match after.strip_prefix('.') {
            Some(after) => after.split_at(after.bytes().take_while(u8::is_ascii_digit).count()),
            None => ("", after),
        };
        if whole.is_empty() && fraction.is_empty() || whole.len() > 19 {
            return None;
        }
        let (unit, after) =
            after.split_at(after.find(|next: char| next == '.' || next.is_ascii_digit()).unwrap_or(after.len()));
        let unit: i128 = match unit {
            "ns" => 1,
            "us" | "\u{b5}s" | "\u{3bc}s" => 1_000,
            "ms" => 1_000_000,
            "s" => 1_000_000_000,
            "m" => 60_000_000_000,
            "h" => 3_600_000_000_000,
            _ => return None,
        };
        let whole: i128 = if whole.is_empty() { 0 } else { whole.parse().ok()? };
        // Digits beyond a nanosecond of the largest unit change nothing.
        let fraction = &fraction[..fraction.len().min(18)];
        let scale = 10_i128.pow(u32::try_from(fraction.len()).ok()?);
        let fraction: i128 = if fraction.is_empty() { 0 } else { fraction.parse().ok()? };
        total += whole * unit + fraction * unit / scale;
        rest = after;
    }
    i64::try_from(if negative { -total } else { total }).ok()
}

fn unix_time<'b, 'v>(arguments: Vec<CowVal<'b, 'v>>) -> Result<CowVal<'b, 'v>, ExecutionError> {
    let time = arguments.first().and_then(|value| value.downcast_ref::<CelTimestamp>());
    let time = time.ok_or_else(|| no_overload("toUnixTime", &arguments))?;
    Ok(CowVal::owned(CelInt::from(time.inner().timestamp())))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn doubles_print_as_in_go() {
        let cases = [
            (0.0, "0"),
            (5.0, "5"),
            (-2.5, "-2.5"),
            (0.1, "0.1"),
            (123_456.0, "123456"),
            (1e6, "1e+06"),
            (1_234_567.0, "1.234567e+06"),
            (12_345_678.0, "1.2345678e+07"),
            (123_456.789, "123456.789"),
            (1_234_567.25, "1.23456725e+06"),
            (0.0001, "0.0001"),
            (0.00001, "1e-05"),
            (1e21, "1e+21"),
            (1e100, "1e+100"),
            (f64::NAN, "NaN"),
            (f64::INFINITY, "+Inf"),
            (f64::NEG_INFINITY, "-Inf"),
        ];
        for (value, expected) in cases {
            assert_eq!(double_text(value), expected, "{value}");
        }
    }

    #[test]
    fn durations_are_read_as_in_go() {
        let second = 1_000_000_000;
        let cases = [
            ("10m", Some(600 * second)),
            ("1h30m", Some(5400 * second)),
            ("1.5s", Some(3 * second / 2)),
            (".5s", Some(second / 2)),
            ("1.s", Some(second)),
            ("-1.5h", Some(-5400 * second)),
            ("+1s", Some(second)),
            ("0", Some(0)),
            ("-0", Some(0)),
            ("1ms1us1ns", Some(1_001_001)),
            ("3\u{b5}s", Some(3_000)),
            ("2562047h47m16.854775807s", Some(i64::MAX)),
            ("2562047h47m16.854775808s", None),
            ("99999999999999999999h", None),
            ("", None),
            ("-", None),
            ("10", None),
            ("10 m", None),
            ("10m ", None),
            ("10mfoo", None),
            ("1h5d", None),
            (".s", None),
            ("--1s", None),
        ];
        for (text, expected) in cases {
            assert_eq!(parse_duration(text), expected, "{text:?}");
        }
    }
}
