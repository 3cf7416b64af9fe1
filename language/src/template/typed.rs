//! Values of Go types that the template engine lacks: times, durations, months and weekdays.
//!
//! The engine's values cannot hold other types, so such a value is a mapping with one key that contains a
//! NUL, which no configuration has. [`Typed::of`] converts it back; functions that print, compare or iterate
//! call that first. Templates call a method by reading a field: `now.UTC.Format "2006"`.

use std::sync::Arc;

use gotmpl::{TemplateError, Value};
use jiff::civil::Date;
use jiff::{SignedDuration, Timestamp};
use lifecycle_config::duration::format_nanoseconds;

use super::time;

/// A value of a Go type that the engine lacks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Typed {
    /// A point in time: Go's `time.Time`, in UTC.
    Time(Timestamp),
    /// A span of time: Go's `time.Duration`, in nanoseconds.
    Duration(i64),
    /// A month: Go's `time.Month`, where 1 is January.
    Month(i64),
    /// `time.Weekday`, from 0, which is Sunday.
    Weekday(i64),
}

const TIME: &str = "\u{0}time.Time";
const DURATION: &str = "\u{0}time.Duration";
const MONTH: &str = "\u{0}time.Month";
const WEEKDAY: &str = "\u{0}time.Weekday";

impl From<Typed> for Value {
    fn from(typed: Typed) -> Self {
        let (kind, inner) = match typed {
            Typed::Time(time) => {
                (TIME, Self::List([Self::Int(time.as_second()), Self::Int(time.subsec_nanosecond().into())].into()))
            }
            Typed::Duration(nanoseconds) => (DURATION, Self::Int(nanoseconds)),
            Typed::Month(number) => (MONTH, Self::Int(number)),
            Typed::Weekday(number) => (WEEKDAY, Self::Int(number)),
        };
        Self::Map(Arc::new([(Arc::from(kind), inner)].into()))
    }
}

impl Typed {
    /// Converts a value of the engine back, if it stands for a typed value.
    pub(crate) fn of(value: &Value) -> Option<Self> {
        let Value::Map(map) = value else { return None };
        let (kind, inner) = map.first_key_value().filter(|(kind, _)| map.len() == 1 && kind.starts_with('\u{0}'))?;
        match (&**kind, inner) {
            (TIME, Value::List(parts)) => match **parts {
                [Value::Int(second), Value::Int(nanosecond)] => {
                    Some(Self::Time(Timestamp::new(second, i32::try_from(nanosecond).ok()?).ok()?))
                }
                _ => None,
            },
            (DURATION, Value::Int(nanoseconds)) => Some(Self::Duration(*nanoseconds)),
            (MONTH, Value::Int(number @ 1..=12)) => Some(Self::Month(*number)),
            (WEEKDAY, Value::Int(number @ 0..=6)) => Some(Self::Weekday(*number)),
            _ => None,
        }
    }

    /// Returns the type's name in Go.
    fn type_name(self) -> &'static str {
        match self {
            Self::Time(_) => "time.Time",
            Self::Duration(_) => "time.Duration",
            Self::Month(_) => "time.Month",
            Self::Weekday(_) => "time.Weekday",
        }
    }

    /// Prints the value as Go does.
    pub(super) fn text(self) -> String {
        match self {
            Self::Time(time) => time::text(time),
            Self::Duration(nanoseconds) => format_nanoseconds(nanoseconds),
            Self::Month(number) => time::month(number).to_owned(),
            Self::Weekday(number) => time::weekday(number).to_owned(),
        }
    }

    /// Returns the number under the type; none for a time.
    pub(super) fn number(self) -> Option<i64> {
        match self {
            Self::Time(_) => None,
            Self::Duration(number) | Self::Month(number) | Self::Weekday(number) => Some(number),
        }
    }

    /// Calls a method of the value.
    pub(super) fn call(self, method: &str, arguments: &[Value]) -> gotmpl::Result<Value> {
        let called = match self {
            Self::Time(time) => of_time(time, method, arguments),
            Self::Duration(nanoseconds) => of_duration(nanoseconds, method, arguments),
            Self::Month(_) | Self::Weekday(_) => {
                (method == "String" && arguments.is_empty()).then(|| self.text().into_value())
            }
        };
        called.ok_or_else(|| {
            let kind = self.type_name();
            let message = if METHODS.iter().any(|(of, name, _)| *of == kind && *name == method) {
                format!("wrong arguments for the method {method} of {kind}")
            } else {
                format!("can't evaluate field {method} in type {kind}")
            };
            TemplateError::Exec(message)
        })
    }
}

/// All methods that templates may call: the type, the method's name, and the type of its result, empty if that
/// has no methods.
const METHODS: &[(&str, &str, &str)] = &[
    ("time.Time", "Add", "time.Time"),
    ("time.Time", "AddDate", "time.Time"),
    ("time.Time", "After", ""),
    ("time.Time", "Before", ""),
    ("time.Time", "Compare", ""),
    ("time.Time", "Day", ""),
    ("time.Time", "Equal", ""),
    ("time.Time", "Format", ""),
    ("time.Time", "Hour", ""),
    ("time.Time", "IsZero", ""),
    ("time.Time", "Local", "time.Time"),
    ("time.Time", "Location", ""),
    ("time.Time", "Minute", ""),
    ("time.Time", "Month", "time.Month"),
    ("time.Time", "Nanosecond", ""),
    ("time.Time", "Round", "time.Time"),
    ("time.Time", "Second", ""),
    ("time.Time", "String", ""),
    ("time.Time", "Sub", "time.Duration"),
    ("time.Time", "Truncate", "time.Time"),
    ("time.Time", "UTC", "time.Time"),
    ("time.Time", "Unix", ""),
    ("time.Time", "UnixMicro", ""),
    ("time.Time", "UnixMilli", ""),
    ("time.Time", "UnixNano", ""),
    ("time.Time", "Weekday", "time.Weekday"),
    ("time.Time", "Year", ""),
    ("time.Time", "YearDay", ""),
    ("time.Duration", "Abs", "time.Duration"),
    ("time.Duration", "Hours", ""),
    ("time.Duration", "Microseconds", ""),
    ("time.Duration", "Milliseconds", ""),
    ("time.Duration", "Minutes", ""),
    ("time.Duration", "Nanoseconds", ""),
    ("time.Duration", "Round", "time.Duration"),
    ("time.Duration", "Seconds", ""),
    ("time.Duration", "String", ""),
    ("time.Duration", "Truncate", "time.Duration"),
    ("time.Month", "String", ""),
    ("time.Weekday", "String", ""),
];

/// Returns the first method that does not exist in a chain of calls on the time `now`, with its type.
pub(super) fn unknown_method<'n>(methods: impl IntoIterator<Item = &'n str>) -> Option<(&'static str, &'n str)> {
    let mut kind = "time.Time";
    for method in methods {
        match METHODS.iter().find(|(of, name, _)| *of == kind && *name == method) {
            Some((_, _, result)) => kind = result,
            None => return Some((if kind.is_empty() { "a number or text" } else { kind }, method)),
        }
    }
    None
}

/// Returns the name of a value's type in Go.
pub(super) fn type_name(value: &Value) -> &'static str {
    match value {
        Value::List(_) => "[]interface {}",
        Value::Map(_) => Typed::of(value).map_or("map[string]interface {}", Typed::type_name),
        Value::Uint(_) => "uint64",
        Value::Nil | Value::Bool(_) | Value::Int(_) | Value::Float(_) | Value::String(_) | Value::Function(_) => {
            value.type_name()
        }
    }
}

trait IntoValue {
    fn into_value(self) -> Value;
}

impl IntoValue for String {
    fn into_value(self) -> Value {
        Value::String(self.into())
    }
}

fn of_time(time: Timestamp, method: &str, arguments: &[Value]) -> Option<Value> {
    let civil = jiff::tz::Offset::UTC.to_datetime(time);
    let integer = |number: i64| Some(Value::Int(number));
    match (method, arguments) {
        ("UTC" | "Local", []) => Some(Typed::Time(time).into()),
        ("Unix", []) => integer(time.as_second()),
        ("UnixMilli", []) => integer(time.as_millisecond()),
        ("UnixMicro", []) => integer(time.as_microsecond()),
        ("UnixNano", []) => integer(i64::try_from(time.as_nanosecond()).ok()?),
        ("Year", []) => integer(civil.year().into()),
        ("Month", []) => Some(Typed::Month(civil.month().into()).into()),
        ("Day", []) => integer(civil.day().into()),
        ("Hour", []) => integer(civil.hour().into()),
        ("Minute", []) => integer(civil.minute().into()),
        ("Second", []) => integer(civil.second().into()),
        ("Nanosecond", []) => integer(civil.subsec_nanosecond().into()),
        ("YearDay", []) => integer(civil.day_of_year().into()),
        ("Weekday", []) => Some(Typed::Weekday(civil.weekday().to_sunday_zero_offset().into()).into()),
        ("String", []) => Some(time::text(time).into_value()),
        ("Location", []) => Some("UTC".to_owned().into_value()),
        ("IsZero", []) => Some(Value::Bool(time.as_second() == ZERO_SECOND && time.subsec_nanosecond() == 0)),
        ("Format", [Value::String(layout)]) => Some(time::format(layout, time).into_value()),
        ("AddDate", [Value::Int(years), Value::Int(months), Value::Int(days)]) => {
            let date = add_date(civil.date(), *years, *months, *days)?;
            let moved = date.to_datetime(civil.time()).to_zoned(jiff::tz::TimeZone::UTC).ok()?;
            Some(Typed::Time(moved.timestamp()).into())
        }
        ("Add", [duration]) => {
            let moved = time.checked_add(SignedDuration::from_nanos(nanoseconds(duration)?)).ok()?;
            Some(Typed::Time(moved).into())
        }
        ("Round", [duration]) => Some(Typed::Time(rounded(time, nanoseconds(duration)?, true)?).into()),
        ("Truncate", [duration]) => Some(Typed::Time(rounded(time, nanoseconds(duration)?, false)?).into()),
        ("Sub" | "Before" | "After" | "Equal" | "Compare", [other]) => {
            let Some(Typed::Time(other)) = Typed::of(other) else { return None };
            Some(match method {
                "Sub" => Typed::Duration(difference(time, other)).into(),
                "Before" => Value::Bool(time < other),
                "After" => Value::Bool(time > other),
                "Equal" => Value::Bool(time == other),
                _ => Value::Int(time.cmp(&other) as i64),
            })
        }
        _ => None,
    }
}

/// The Unix time of Go's zero time: the first of January of the year 1.
const ZERO_SECOND: i64 = -62_135_596_800;

/// Converts a duration, or a number of nanoseconds as in Go, to nanoseconds.
fn nanoseconds(value: &Value) -> Option<i64> {
    match (Typed::of(value), value) {
        (Some(Typed::Duration(nanoseconds)), _) => Some(nanoseconds),
        (None, Value::Int(nanoseconds)) => Some(*nanoseconds),
        (Some(Typed::Time(_) | Typed::Month(_) | Typed::Weekday(_)) | None, _) => None,
    }
}

/// Returns the difference of two times in nanoseconds; the longest duration, if it exceeds 292 years.
fn difference(time: Timestamp, other: Timestamp) -> i64 {
    let nanoseconds = time.as_nanosecond() - other.as_nanosecond();
    i64::try_from(nanoseconds).unwrap_or(if nanoseconds < 0 { i64::MIN } else { i64::MAX })
}

/// Rounds a time down, or to the nearest, multiple of a duration since the year 1.
fn rounded(time: Timestamp, unit: i64, to_nearest: bool) -> Option<Timestamp> {
    if unit <= 0 {
        return Some(time);
    }
    let unit = i128::from(unit);
    let since = time.as_nanosecond() - i128::from(ZERO_SECOND) * 1_000_000_000;
    let over = since.rem_euclid(unit);
    let up = to_nearest && over + over >= unit;
    let moved = time.as_nanosecond() - over + if up { unit } else { 0 };
    Timestamp::from_nanosecond(moved).ok()
}

/// Adds years, months and days as Go does: the 31st of a month with 30 days is the 1st of the next.
fn add_date(date: Date, years: i64, months: i64, days: i64) -> Option<Date> {
    let month = i64::from(date.month()) - 1 + months;
    let year = i64::from(date.year()).checked_add(years)?.checked_add(month.div_euclid(12))?;
    let first = Date::new(i16::try_from(year).ok()?, i8::try_from(month.rem_euclid(12) + 1).ok()?, 1).ok()?;
    let days = days.checked_add(i64::from(date.day()) - 1)?;
    first.checked_add(jiff::Span::new().try_days(days).ok()?).ok()
}

fn of_duration(nanoseconds: i64, method: &str, arguments: &[Value]) -> Option<Value> {
    #[expect(clippy::cast_precision_loss, reason = "Go's results are doubles, too")]
    let in_units =
        |unit: i64| Some(Value::Float((nanoseconds / unit) as f64 + (nanoseconds % unit) as f64 / unit as f64));
    let integer = |number: i64| Some(Value::Int(number));
    let duration = |nanoseconds: i64| Some(Typed::Duration(nanoseconds).into());
    match (method, arguments) {
        ("Hours", []) => in_units(3_600_000_000_000),
        ("Minutes", []) => in_units(60_000_000_000),
        ("Seconds", []) => in_units(1_000_000_000),
        ("Milliseconds", []) => integer(nanoseconds / 1_000_000),
        ("Microseconds", []) => integer(nanoseconds / 1_000),
        ("Nanoseconds", []) => integer(nanoseconds),
        ("String", []) => Some(format_nanoseconds(nanoseconds).into_value()),
        ("Abs", []) => duration(nanoseconds.saturating_abs()),
        ("Truncate", [unit]) => {
            let unit = self::nanoseconds(unit)?;
            duration(if unit <= 0 { nanoseconds } else { nanoseconds - nanoseconds % unit })
        }
        ("Round", [unit]) => {
            let unit = self::nanoseconds(unit)?;
            if unit <= 0 {
                return duration(nanoseconds);
            }
            let over = nanoseconds % unit;
            let up = over.unsigned_abs() * 2 >= unit.unsigned_abs();
            let base = nanoseconds - over;
            duration(if up { base.saturating_add(unit * nanoseconds.signum()) } else { base })
        }
        _ => None,
    }
}
