//! Durations in Go's notation: `1h30m`, `500ms`, `-1.5s`.
//!
//! In: text. Out: a [`Duration`] or nanoseconds, and back to the text that Go's `Duration.String` prints.
//! Fails: [`DurationError`]. The range is Go's, ±292 years. A number without a unit is an error, except zero.

use std::time::Duration;

/// Why a text is not a duration.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum DurationError {
    /// The text does not follow the grammar.
    #[error("invalid duration {0:?}: expected a number and a unit, such as 30s, 1h30m or 500ms")]
    Syntax(String),
    /// A number has no unit.
    #[error("missing unit in duration {0:?}")]
    MissingUnit(String),
    /// A number is followed by an unknown unit.
    #[error("unknown unit {unit:?} in duration {text:?}")]
    UnknownUnit {
        /// The unknown unit.
        unit: String,
        /// The whole text of the duration.
        text: String,
    },
    /// The duration is beyond ±292 years.
    #[error("duration {0:?} is out of range")]
    OutOfRange(String),
    /// The duration is negative, where only positive ones are allowed.
    #[error("duration {0:?} is negative")]
    Negative(String),
}

/// The units that a duration may have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Units {
    /// Go's: `ns`, `us`, `ms`, `s`, `m`, `h`.
    Go,
    /// Go's, and `d` for 24 hours.
    GoAndDays,
}

const NANOSECOND: i128 = 1;
const MICROSECOND: i128 = 1_000 * NANOSECOND;
const MILLISECOND: i128 = 1_000 * MICROSECOND;
const SECOND: i128 = 1_000 * MILLISECOND;
const MINUTE: i128 = 60 * SECOND;
const HOUR: i128 = 60 * MINUTE;
const DAY: i128 = 24 * HOUR;

/// Parses a duration that must not be negative.
///
/// # Errors
/// The text is not a duration, or the duration is negative.
pub fn parse(text: &str, units: Units) -> Result<Duration, DurationError> {
    let nanoseconds = parse_nanoseconds(text, units)?;
    u64::try_from(nanoseconds).map(Duration::from_nanos).map_err(|_| DurationError::Negative(text.to_owned()))
}

/// Parses a duration of either sign.
///
/// # Errors
/// The text is not a duration.
pub fn parse_nanoseconds(text: &str, units: Units) -> Result<i64, DurationError> {
    let (negative, unsigned) = match text.as_bytes().first() {
        Some(b'-') => (true, &text[1..]),
        Some(b'+') => (false, &text[1..]),
        Some(_) | None => (false, text),
    };
    if unsigned == "0" {
        return Ok(0);
    }
    if unsigned.is_empty() {
        return Err(DurationError::Syntax(text.to_owned()));
    }
    let out_of_range = || DurationError::OutOfRange(text.to_owned());
    let mut total: i128 = 0;
    let mut rest = unsigned;
    while !rest.is_empty() {
        let (whole, after) = digits(rest);
        let (fraction, after) = after.strip_prefix('.').map_or(("", after), digits);
        if whole.is_empty() && fraction.is_empty() {
            return Err(DurationError::Syntax(text.to_owned()));
        }
        let end = after.find(|next: char| next == '.' || next.is_ascii_digit()).unwrap_or(after.len());
        let (name, after) = after.split_at(end);
        let unit = unit(name, units).ok_or_else(|| match name {
            "" => DurationError::MissingUnit(text.to_owned()),
            name => DurationError::UnknownUnit { unit: name.to_owned(), text: text.to_owned() },
        })?;
        let whole = if whole.is_empty() { 0 } else { whole.parse::<u64>().map_err(|_| out_of_range())? };
        total += i128::from(whole) * unit + scale_fraction(fraction, unit);
        if total > i128::from(i64::MAX) + i128::from(negative) {
            return Err(out_of_range());
        }
        rest = after;
    }
    i64::try_from(if negative { -total } else { total }).map_err(|_| out_of_range())
}

/// Formats as Go does: `1m51s`, `1h0m0s`, `1.5s`, `500ms`, `0s`.
#[must_use]
pub fn format(duration: Duration) -> String {
    format_magnitude(duration.as_nanos(), "")
}

/// Formats nanoseconds of either sign as Go does.
#[must_use]
pub fn format_nanoseconds(nanoseconds: i64) -> String {
    format_magnitude(u128::from(nanoseconds.unsigned_abs()), if nanoseconds < 0 { "-" } else { "" })
}

fn format_magnitude(nanoseconds: u128, sign: &str) -> String {
    let (unit, width) = match nanoseconds {
        0 => return "0s".to_owned(),
        1..1_000 => return format!("{sign}{nanoseconds}ns"),
        1_000..1_000_000 => ("µs", 3),
        1_000_000..1_000_000_000 => ("ms", 6),
        1_000_000_000.. => {
            let seconds = nanoseconds / 1_000_000_000;
            let text = decimal(nanoseconds - seconds / 60 * 60_000_000_000, 9);
            return match (seconds / 3600, seconds / 60 % 60) {
                (0, 0) => format!("{sign}{text}s"),
                (0, minutes) => format!("{sign}{minutes}m{text}s"),
                (hours, minutes) => format!("{sign}{hours}h{minutes}m{text}s"),
            };
        }
    };
    format!("{sign}{}{unit}", decimal(nanoseconds, width))
}

/// Writes `value` with its last `places` digits as a fraction, without trailing zeros.
fn decimal(value: u128, places: usize) -> String {
    let digits = format!("{value:0>width$}", width = places + 1);
    let (whole, fraction) = digits.split_at(digits.len() - places);
    let fraction = fraction.trim_end_matches('0');
    if fraction.is_empty() { whole.to_owned() } else { format!("{whole}.{fraction}") }
}

fn digits(text: &str) -> (&str, &str) {
    text.split_at(text.find(|next: char| !next.is_ascii_digit()).unwrap_or(text.len()))
}

/// Multiplies `0.<fraction>` by a unit, and truncates to whole nanoseconds.
///
/// Digits after the 18th are ignored, as in Go: they are below a nanosecond for every unit.
fn scale_fraction(fraction: &str, unit: i128) -> i128 {
    let shown = &fraction[..fraction.len().min(18)];
    let mut scaled: i128 = 0;
    let mut place: i128 = 1;
    for digit in shown.bytes() {
        scaled = scaled * 10 + i128::from(digit - b'0');
        place *= 10;
    }
    scaled * unit / place
}

fn unit(name: &str, units: Units) -> Option<i128> {
    match name {
        "ns" => Some(NANOSECOND),
        "us" | "µs" | "μs" => Some(MICROSECOND),
        "ms" => Some(MILLISECOND),
        "s" => Some(SECOND),
        "m" => Some(MINUTE),
        "h" => Some(HOUR),
        "d" if units == Units::GoAndDays => Some(DAY),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn durations_parse_as_in_go() {
        let cases = [
            ("0", 0),
            ("-0", 0),
            ("+5s", 5_000_000_000),
            ("30s", 30_000_000_000),
            ("1478s", 1_478_000_000_000),
            ("-5s", -5_000_000_000),
            ("5.6s", 5_600_000_000),
            ("5.s", 5_000_000_000),
            (".5s", 500_000_000),
            ("100.00100s", 100_001_000_000),
            ("10ns", 10),
            ("11us", 11_000),
            ("12µs", 12_000),
            ("12μs", 12_000),
            ("500ms", 500_000_000),
            ("1h30m", 5_400_000_000_000),
            ("3h30m20.5s", 12_620_500_000_000),
            ("10.5s4m", 250_500_000_000),
            ("52763797000ns", 52_763_797_000),
            ("0.3333333333333333333h", 1_200_000_000_000),
            ("9223372036854775807ns", i64::MAX),
            ("-9223372036854775808ns", i64::MIN),
            ("0.830103483285477580700h", 2_988_372_539_827),
        ];
        for (text, expected) in cases {
            // Go computes the fraction of the last case in floating point, so allow a difference of one
            // nanosecond.
            let parsed = parse_nanoseconds(text, Units::Go);
            assert!(parsed.as_ref().is_ok_and(|parsed| parsed.abs_diff(expected) <= 1), "{text}: {parsed:?}");
        }
    }

    #[test]
    fn invalid_duration_is_refused_with_its_reason() {
        let syntax = |text: &str| DurationError::Syntax(text.into());
        let unit = |unit: &str, text: &str| DurationError::UnknownUnit { unit: unit.into(), text: text.into() };
        let cases = [
            ("", syntax("")),
            ("-", syntax("-")),
            ("s", syntax("s")),
            (".", syntax(".")),
            (".s", syntax(".s")),
            ("3", DurationError::MissingUnit("3".into())),
            ("1m30", DurationError::MissingUnit("1m30".into())),
            ("3000000h", DurationError::OutOfRange("3000000h".into())),
            ("9223372036854775808ns", DurationError::OutOfRange("9223372036854775808ns".into())),
            ("99999999999999999999s", DurationError::OutOfRange("99999999999999999999s".into())),
            ("1d", unit("d", "1d")),
            ("1 h", unit(" h", "1 h")),
            ("10sek", unit("sek", "10sek")),
            ("ten seconds", syntax("ten seconds")),
        ];
        for (text, expected) in cases {
            assert_eq!(parse_nanoseconds(text, Units::Go), Err(expected), "{text:?}");
        }
    }

    #[test]
    fn days_are_accepted_only_with_their_unit_set() {
        assert_eq!(parse("7d", Units::GoAndDays), Ok(Duration::from_secs(7 * 86_400)));
        assert_eq!(parse("1d12h", Units::GoAndDays), Ok(Duration::from_secs(36 * 3_600)));
        assert!(parse("7d", Units::Go).is_err());
    }

    #[test]
    fn negative_duration_is_refused_by_parse() {
        assert_eq!(parse("-1s", Units::Go), Err(DurationError::Negative("-1s".into())));
        assert_eq!(parse("-0s", Units::Go), Ok(Duration::ZERO));
    }

    #[test]
    fn durations_are_printed_as_in_go() {
        let cases = [
            (0, "0s"),
            (1, "1ns"),
            (1_100, "1.1µs"),
            (2_200_000, "2.2ms"),
            (500_000_000, "500ms"),
            (3_300_000_000, "3.3s"),
            (30_000_000_000, "30s"),
            (111_000_000_000, "1m51s"),
            (245_001_000_000, "4m5.001s"),
            (3_600_000_000_000, "1h0m0s"),
            (18_367_001_000_000, "5h6m7.001s"),
            (480_000_000_001, "8m0.000000001s"),
            (i64::MAX, "2562047h47m16.854775807s"),
            (i64::MIN, "-2562047h47m16.854775808s"),
            (-5_000_000_000, "-5s"),
        ];
        for (nanoseconds, expected) in cases {
            assert_eq!(format_nanoseconds(nanoseconds), expected);
        }
        assert_eq!(format(Duration::from_millis(1_500)), "1.5s");
    }

    proptest! {
        #[test]
        fn printed_duration_parses_to_itself(nanoseconds in any::<i64>()) {
            prop_assert_eq!(parse_nanoseconds(&format_nanoseconds(nanoseconds), Units::Go), Ok(nanoseconds));
        }

        #[test]
        fn any_text_is_parsed_without_a_panic(text in "[-+]?([0-9.]{0,22}(ns|us|µs|ms|s|m|h|d|x|))*|.*") {
            let _either = parse_nanoseconds(&text, Units::GoAndDays);
        }
    }
}
