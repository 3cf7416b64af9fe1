//! Formats times by Go's layouts.
//!
//! A layout shows how the reference time, `Mon Jan 2 15:04:05 2006`, would be printed. All times are in UTC.
//! Formatting never fails: other text in a layout is printed as it is.

use jiff::Timestamp;
use jiff::civil::DateTime;
use jiff::tz::Offset;

/// The layout with which Go prints a time.
const DEFAULT_LAYOUT: &str = "2006-01-02 15:04:05.999999999 -0700 MST";
const MONTHS: [&str; 12] = [
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
];
const WEEKDAYS: [&str; 7] = ["Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday"];

/// Prints a time as Go does.
pub(crate) fn text(time: Timestamp) -> String {
    format(DEFAULT_LAYOUT, time)
}

/// Parses a time that [`text`] printed, or one of RFC 3339.
pub(super) fn parse(text: &str) -> Option<Timestamp> {
    match text.strip_suffix(" +0000 UTC") {
        Some(civil) => format!("{civil}Z").parse().ok(),
        None => text.parse().ok(),
    }
}

/// Formats a time by a layout.
pub(super) fn format(layout: &str, time: Timestamp) -> String {
    let time = Offset::UTC.to_datetime(time);
    let mut out = String::with_capacity(layout.len() + 8);
    let mut rest = layout;
    while let Some(first) = rest.chars().next() {
        let length = element(rest, time, &mut out).unwrap_or_else(|| {
            out.push(first);
            first.len_utf8()
        });
        rest = &rest[length..];
    }
    out
}

/// Writes the element with which the layout begins, and returns the length of the element in the layout.
fn element(layout: &str, time: DateTime, out: &mut String) -> Option<usize> {
    fraction(layout, time, out).or_else(|| name(layout, time, out)).or_else(|| number(layout, time, out))
}

/// Writes a fraction of a second: `.000` with all its digits, `.999` without trailing zeros.
fn fraction(layout: &str, time: DateTime, out: &mut String) -> Option<usize> {
    let separator = layout.chars().next().filter(|first| matches!(first, '.' | ','))?;
    let digits = &layout[1..];
    let digit = digits.chars().next().filter(|first| matches!(first, '0' | '9'))?;
    let count = digits.find(|next| next != digit).unwrap_or(digits.len());
    if digits[count..].starts_with(|next: char| next.is_ascii_digit()) {
        return None;
    }
    let all = format!("{:09}", time.subsec_nanosecond());
    let shown = all.get(..count).unwrap_or(&all);
    let shown = if digit == '9' { shown.trim_end_matches('0') } else { shown };
    if digit == '0' || !shown.is_empty() {
        out.push(separator);
        out.push_str(shown);
    }
    Some(count + 1)
}

/// Writes names of months and weekdays, AM or PM, and zones.
fn name(layout: &str, time: DateTime, out: &mut String) -> Option<usize> {
    let named = |names: &[&'static str], index: i8| {
        usize::try_from(index).ok().and_then(|index| names.get(index)).copied().unwrap_or_default()
    };
    let month = named(&MONTHS, time.month() - 1);
    let weekday = named(&WEEKDAYS, time.weekday().to_sunday_zero_offset());
    let afternoon = time.hour() >= 12;
    let words = [
        ("January", month),
        ("Jan", &month[..3]),
        ("Monday", weekday),
        ("Mon", &weekday[..3]),
        ("MST", "UTC"),
        ("PM", if afternoon { "PM" } else { "AM" }),
        ("pm", if afternoon { "pm" } else { "am" }),
        ("Z070000", "Z"),
        ("Z07:00:00", "Z"),
        ("Z0700", "Z"),
        ("Z07:00", "Z"),
        ("Z07", "Z"),
        ("-070000", "+000000"),
        ("-07:00:00", "+00:00:00"),
        ("-0700", "+0000"),
        ("-07:00", "+00:00"),
        ("-07", "+00"),
    ];
    let (word, written) = words.into_iter().find(|(word, _)| layout.starts_with(word))?;
    // `Janus` is a word, not `Jan` and `us`.
    let abbreviated = word == "Jan" || word == "Mon";
    if abbreviated && layout[word.len()..].starts_with(|next: char| next.is_ascii_lowercase()) {
        return None;
    }
    out.push_str(written);
    Some(word.len())
}

fn number(layout: &str, time: DateTime, out: &mut String) -> Option<usize> {
    let hour = if time.hour() % 12 == 0 { 12 } else { time.hour() % 12 };
    let (element, written) = match layout.as_bytes() {
        // Go reads `_2006` as an underscore and a year, not as `_2` and `006`.
        [b'_', b'2', b'0', b'0', b'6', ..] => ("_2006", format!("_{:04}", time.year())),
        [b'_', b'_', b'2', ..] => ("__2", format!("{:>3}", time.day_of_year())),
        [b'_', b'2', ..] => ("_2", format!("{:>2}", time.day())),
        [b'0', b'0', b'2', ..] => ("002", format!("{:03}", time.day_of_year())),
        [b'0', b'1', ..] => ("01", format!("{:02}", time.month())),
        [b'0', b'2', ..] => ("02", format!("{:02}", time.day())),
        [b'0', b'3', ..] => ("03", format!("{hour:02}")),
        [b'0', b'4', ..] => ("04", format!("{:02}", time.minute())),
        [b'0', b'5', ..] => ("05", format!("{:02}", time.second())),
        [b'0', b'6', ..] => ("06", format!("{:02}", time.year().rem_euclid(100))),
        [b'1', b'5', ..] => ("15", format!("{:02}", time.hour())),
        [b'2', b'0', b'0', b'6', ..] => ("2006", format!("{:04}", time.year())),
        [b'1', ..] => ("1", time.month().to_string()),
        [b'2', ..] => ("2", time.day().to_string()),
        [b'3', ..] => ("3", hour.to_string()),
        [b'4', ..] => ("4", time.minute().to_string()),
        [b'5', ..] => ("5", time.second().to_string()),
        _ => return None,
    };
    out.push_str(&written);
    Some(element.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn layouts_format_times_as_go_does() -> Result<(), jiff::Error> {
        let times: [Timestamp; 3] =
            ["2026-02-03T04:05:06.07008Z".parse()?, "2026-11-21T15:58:31Z".parse()?, "1999-12-31T00:00:00.5Z".parse()?];
        for row in include_str!("layouts.tsv").lines() {
            let columns: Vec<&str> = row.split('\t').collect();
            for (time, expected) in times.iter().zip(&columns[1..]) {
                assert_eq!(format(columns[0], *time), *expected, "{}", columns[0]);
            }
        }
        Ok(())
    }

    #[test]
    fn printed_time_parses_to_the_same_time() -> Result<(), jiff::Error> {
        for time in ["2026-02-03T04:05:06.07008Z", "1999-12-31T00:00:00Z"] {
            let time: Timestamp = time.parse()?;
            assert_eq!(parse(&text(time)), Some(time));
            assert_eq!(parse(&time.to_string()), Some(time));
        }
        assert_eq!(parse("2026-02-03T04:05:06+02:00"), Some("2026-02-03T02:05:06Z".parse()?));
        assert_eq!(parse("yesterday"), None);
        Ok(())
    }
}
