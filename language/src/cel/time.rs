//! Points in time and spans of time.
//!
//! `timestamp()` parses RFC 3339 and `duration()` Go's notation; both accept exactly the text that Go accepts. A timestamp
//! is within the years 1 to 9999, a duration within 292 years. Nothing here reads a clock.

use cel::common::ast::operators;
use cel::common::types::{CelDuration, CelInt, CelString, CelTimestamp, DURATION_TYPE, TIMESTAMP_TYPE};
use cel::common::value::CowVal;
use cel::{DeclarationError, Env, ExecutionError, Value as CelValue};
use chrono::{DateTime, Datelike, FixedOffset, TimeDelta};
use lifecycle_config::duration::{DurationError, Units, parse_nanoseconds};

use super::arguments::{Arguments, Resolved, no_overload, take};
use super::declare::replace;

pub(super) fn declare(environment: &mut Env) -> Result<(), DeclarationError> {
    replace(environment, "timestamp", "@timestamp", timestamp)?;
    replace(environment, "duration", "@duration", duration)?;
    // The library's operator takes numbers only, and Go negates durations.
    replace(environment, operators::NEGATE, "@negate", negate)?;
    environment.add_overload("int", "duration_to_int64", vec![DURATION_TYPE], nanoseconds)?;
    environment.add_member_overload("toUnixTime", "timestamp_to_unix_time", TIMESTAMP_TYPE, vec![], unix_time)
}

/// A fraction of a second as CEL prints it: no trailing zeros.
pub(super) fn trimmed(nanoseconds: u32) -> String {
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

/// Writes a timestamp as RFC 3339 text in UTC; `fraction` writes the nanoseconds.
pub(super) fn timestamp_text(value: &DateTime<FixedOffset>, fraction: fn(u32) -> String) -> String {
    let time = value.naive_utc();
    format!("{}{}Z", time.format("%Y-%m-%dT%H:%M:%S"), fraction(value.timestamp_subsec_nanos()))
}

/// Writes a duration as seconds with an `s`; `fraction` writes the nanoseconds.
pub(super) fn duration_text(value: &TimeDelta, fraction: fn(u32) -> String) -> String {
    let (seconds, nanoseconds) = (value.num_seconds(), value.subsec_nanos());
    let sign = if seconds < 0 || nanoseconds < 0 { "-" } else { "" };
    format!("{sign}{}{}s", seconds.unsigned_abs(), fraction(nanoseconds.unsigned_abs()))
}

fn timestamp<'b, 'v>(arguments: Arguments<'b, 'v>) -> Resolved<'b, 'v> {
    let [value] = take("timestamp", arguments)?;
    if value.downcast_ref::<CelTimestamp>().is_some() {
        return Ok(value);
    }
    let time = if let Some(text) = value.downcast_ref::<CelString<'_>>() {
        let not_a_time = "not RFC 3339 text such as 2026-01-31T12:00:00Z, of a year from 1 to 9999";
        parse_timestamp(text.inner()).ok_or_else(|| ExecutionError::function_error("timestamp", not_a_time))?
    } else if let Some(seconds) = value.downcast_ref::<CelInt>() {
        let time = DateTime::from_timestamp(*seconds.inner(), 0).map(|time| time.fixed_offset());
        let time = time.filter(has_text);
        time.ok_or_else(|| ExecutionError::function_error("timestamp", "not in the years from 1 to 9999"))?
    } else {
        return Err(no_overload("timestamp", &[value]));
    };
    Ok(CowVal::owned(CelTimestamp::from(time)))
}

/// Parses RFC 3339 as Go does, into UTC: `getHours()` and the like ignore the offset.
pub(super) fn parse_timestamp(text: &str) -> Option<DateTime<FixedOffset>> {
    // The library also accepts lower case, blanks, signs that are not ASCII, and second 60.
    let is_plain = text.bytes().all(|byte| byte.is_ascii_digit() || b"-:T.Z+".contains(&byte));
    let time = DateTime::parse_from_rfc3339(text).ok().filter(|_| is_plain)?.to_utc().fixed_offset();
    (has_text(&time) && time.timestamp_subsec_nanos() < 1_000_000_000).then_some(time)
}

/// Whether the year has the four digits that CEL demands.
fn has_text(time: &DateTime<FixedOffset>) -> bool {
    (1..=9999).contains(&time.year())
}

fn duration<'b, 'v>(arguments: Arguments<'b, 'v>) -> Resolved<'b, 'v> {
    let [value] = take("duration", arguments)?;
    if value.downcast_ref::<CelDuration>().is_some() {
        return Ok(value);
    }
    let Some(text) = value.downcast_ref::<CelString<'_>>() else { return Err(no_overload("duration", &[value])) };
    let nanoseconds = parse_nanoseconds(text.inner(), Units::Go).map_err(|error| {
        // The error's own message quotes the text, which may be secret.
        let message = match error {
            DurationError::OutOfRange(_) => "over 292 years",
            DurationError::Syntax(_)
            | DurationError::MissingUnit(_)
            | DurationError::UnknownUnit { .. }
            | DurationError::Negative(_) => "not a duration such as 90s, 10m or 1h30m",
        };
        ExecutionError::function_error("duration", message)
    })?;
    Ok(CowVal::owned(CelDuration::from(TimeDelta::nanoseconds(nanoseconds))))
}

/// Negates a duration or number: the operator `-x`.
fn negate<'b, 'v>(arguments: Arguments<'b, 'v>) -> Resolved<'b, 'v> {
    let [value] = take(operators::NEGATE, arguments)?;
    if let Some(duration) = value.downcast_ref::<CelDuration>() {
        let span = -*duration.inner();
        let overflow = || ExecutionError::Overflow("minus", CelValue::Duration(*duration.inner()), CelValue::Null);
        span.num_nanoseconds().ok_or_else(overflow)?;
        return Ok(CowVal::owned(CelDuration::from(span)));
    }
    match value.as_negator() {
        Some(number) => number.negate().map(CowVal::Owned),
        None => Err(no_overload(operators::NEGATE, &[value])),
    }
}

/// Converts a duration to its nanoseconds: the CEL function `int(duration)`.
fn nanoseconds<'b, 'v>(arguments: Arguments<'b, 'v>) -> Resolved<'b, 'v> {
    let [value] = take("int", arguments)?;
    let span = value.downcast_ref::<CelDuration>().and_then(|span| span.inner().num_nanoseconds());
    span.map(|span| CowVal::owned(CelInt::from(span))).ok_or_else(|| no_overload("int", &[value]))
}

fn unix_time<'b, 'v>(arguments: Arguments<'b, 'v>) -> Resolved<'b, 'v> {
    let time = arguments.first().and_then(|value| value.downcast_ref::<CelTimestamp>());
    let time = time.ok_or_else(|| no_overload("toUnixTime", &arguments))?;
    Ok(CowVal::owned(CelInt::from(time.inner().timestamp())))
}
