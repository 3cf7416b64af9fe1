//! Points in time, spans of time, and the one clock. Expected values are worked out by hand; where the way to one is
//! not plain, it is beside it.

use serde_json::json;

use super::Expected::{Fails, Is, Undeclared};
use super::*;

/// A scope whose clock shows this.
fn at(now: &str) -> Scope {
    Scope::new(now.parse().unwrap())
}

fn holds(scope: &Scope, source: &str) -> bool {
    match evaluate(scope, source) {
        Ok(Answer::Value(Value::Bool(answer))) => answer,
        other => panic!("{source}: {other:?}"),
    }
}

const NOT_A_TIME: Expected = Fails("timestamp: not RFC 3339 text");
const NOT_A_DURATION: Expected = Fails("duration: not a duration");

#[test]
fn timestamp_parses_text_as_in_go() {
    let is = |text: &str| Is(json!(text));
    check(
        &scope(),
        vec![
            ("timestamp('2026-03-01T12:00:00Z')", is("2026-03-01T12:00:00Z")),
            ("timestamp('2026-03-01T12:00:00.25Z')", is("2026-03-01T12:00:00.250Z")),
            ("timestamp('2026-03-01T12:00:00.000000001Z')", is("2026-03-01T12:00:00.000000001Z")),
            // A tenth digit is below what a time can tell.
            ("timestamp('2026-03-01T12:00:00.1234567899Z')", is("2026-03-01T12:00:00.123456789Z")),
            // An hour east of Greenwich it is noon an hour earlier.
            ("timestamp('2026-03-01T12:00:00+01:00')", is("2026-03-01T11:00:00Z")),
            ("timestamp('2026-03-01T12:00:00-00:00')", is("2026-03-01T12:00:00Z")),
            ("timestamp('2026-03-01T12:00:00.5+05:45')", is("2026-03-01T06:15:00.500Z")),
            // Across midnight and February: 12:00 less 23:59 is 12:01 of the day before.
            ("timestamp('2026-03-01T12:00:00+23:59')", is("2026-02-28T12:01:00Z")),
            ("timestamp('2025-12-31T23:30:00-00:45')", is("2026-01-01T00:15:00Z")),
            ("timestamp(timestamp(now()))", is(NOW)),
            ("timestamp(60)", is("1970-01-01T00:01:00Z")),
            ("timestamp(-1)", is("1969-12-31T23:59:59Z")),
            // The first and the last that have four digits of a year.
            ("timestamp('0001-01-01T00:00:00Z')", is("0001-01-01T00:00:00Z")),
            ("timestamp('9999-12-31T23:59:59.999999999Z')", is("9999-12-31T23:59:59.999999999Z")),
            ("timestamp('0001-01-01T00:00:00+00:01')", NOT_A_TIME),
            ("timestamp('9999-12-31T23:59:59-00:01')", NOT_A_TIME),
            ("timestamp('0000-01-01T00:00:00Z')", NOT_A_TIME),
            ("timestamp('10000-01-01T00:00:00Z')", NOT_A_TIME),
            ("timestamp(-62135596801)", Fails("timestamp: not in the years")),
            ("timestamp(253402300800)", Fails("timestamp: not in the years")),
            ("timestamp(9223372036854775807)", Fails("timestamp: not in the years")),
            // 2026 is no leap year; nor is 2100, a century that 400 does not divide.
            ("timestamp('2026-02-29T00:00:00Z')", NOT_A_TIME),
            ("timestamp('2100-02-29T00:00:00Z')", NOT_A_TIME),
            ("timestamp('2024-02-29T00:00:00Z')", is("2024-02-29T00:00:00Z")),
            ("timestamp('2000-02-29T00:00:00Z')", is("2000-02-29T00:00:00Z")),
            ("timestamp('2026-03-01T24:00:00Z')", NOT_A_TIME),
            ("timestamp('2016-12-31T23:59:60Z')", NOT_A_TIME),
            ("timestamp('yesterday')", NOT_A_TIME),
            ("timestamp('')", NOT_A_TIME),
            ("timestamp('2026-03-01')", NOT_A_TIME),
            ("timestamp('2026-03-01T12:00:00')", NOT_A_TIME),
            ("timestamp('2026-03-01T12:00Z')", NOT_A_TIME),
            ("timestamp('2026-03-01 12:00:00Z')", NOT_A_TIME),
            ("timestamp('2026-03-01t12:00:00z')", NOT_A_TIME),
            ("timestamp('2026-03-01T12:00:00,5Z')", NOT_A_TIME),
            ("timestamp('2026-03-01T12:00:00+0100')", NOT_A_TIME),
            ("timestamp('2026-03-01T12:00:00+24:00')", NOT_A_TIME),
            ("timestamp('2026-03-01T12:00:00\u{2212}01:00')", NOT_A_TIME),
            ("timestamp(' 2026-03-01T12:00:00Z')", NOT_A_TIME),
            ("timestamp('2026-03-01T12:00:00Z ')", NOT_A_TIME),
            ("timestamp(1.5)", Fails("'timestamp' applied to '(double)'")),
            ("timestamp(nothing)", Fails("'timestamp' applied to '(null_type)'")),
        ],
    );
}

#[test]
fn duration_parses_text_as_in_go() {
    let is = |text: &str| Is(json!(text));
    check(
        &scope(),
        vec![
            ("duration('10m')", is("600s")),
            ("duration('1h30m')", is("5400s")),
            ("duration('1h1m1s1ms1us1ns')", is("3661.001001001s")),
            ("duration('3\u{b5}s') == duration('3us') && duration('3\u{3bc}s') == duration('3us')", Is(json!(true))),
            ("duration('1.5s')", is("1.500s")),
            ("duration('.5h')", is("1800s")),
            ("duration('5.h')", is("18000s")),
            ("duration('+1s')", is("1s")),
            ("duration('0')", is("0s")),
            ("duration('-90s')", is("-90s")),
            ("duration('-1h30m')", is("-5400s")),
            ("duration('-0.25s')", is("-0.250s")),
            ("-duration('10m')", is("-600s")),
            ("-duration('-1.5s')", is("1.500s")),
            ("duration(duration('1s'))", is("1s")),
            // 2^63 - 1 nanoseconds: 9223372036 s are 2562047 h (9223369200 s), 47 min (2820 s) and 16 s.
            ("duration('2562047h47m16.854775807s')", is("9223372036.854775807s")),
            ("duration('-2562047h47m16.854775808s')", is("-9223372036.854775808s")),
            ("duration('2562047h47m16.854775808s')", Fails("duration: over 292 years")),
            ("duration('99999999999999999999h')", Fails("duration: over 292 years")),
            ("-duration('-2562047h47m16.854775808s')", Fails("duration overflow")),
            ("duration('10 m')", NOT_A_DURATION),
            ("duration('10mfoo')", NOT_A_DURATION),
            ("duration('1d')", NOT_A_DURATION),
            ("duration('1H')", NOT_A_DURATION),
            ("duration('1h-30m')", NOT_A_DURATION),
            ("duration('1e3s')", NOT_A_DURATION),
            ("duration('10')", NOT_A_DURATION),
            ("duration('')", NOT_A_DURATION),
            ("duration('-')", NOT_A_DURATION),
            ("duration(10)", Fails("'duration' applied to '(int)'")),
            ("-timestamp(0)", Fails("'-_' applied to '(google.protobuf.Timestamp)'")),
            ("-clusterStatus", Fails("'-_' applied to '(string)'")),
            ("-generation + -(1) + -(-3)", Is(json!(-5))),
            ("-ratio", Is(json!(-0.5))),
            ("-(-9223372036854775808)", Fails("integer overflow")),
        ],
    );
}

#[test]
fn times_and_durations_compute() {
    let is = |text: &str| Is(json!(text));
    check(
        &scope(),
        vec![
            // 2024 has a 29th of February, 2025 and 2100 have none, 2000 has one.
            ("timestamp('2024-02-28T12:00:00Z') + duration('24h')", is("2024-02-29T12:00:00Z")),
            ("timestamp('2025-02-28T12:00:00Z') + duration('24h')", is("2025-03-01T12:00:00Z")),
            ("timestamp('2100-02-28T12:00:00Z') + duration('24h')", is("2100-03-01T12:00:00Z")),
            ("timestamp('2000-02-28T12:00:00Z') + duration('24h')", is("2000-02-29T12:00:00Z")),
            // 365 days before a leap day; the March to March around it has 366.
            ("timestamp('2024-02-29T00:00:00Z') - duration('8760h')", is("2023-03-01T00:00:00Z")),
            ("timestamp('2024-03-01T00:00:00Z') - timestamp('2024-02-28T00:00:00Z')", is("172800s")),
            ("timestamp('2025-03-01T00:00:00Z') - timestamp('2025-02-28T00:00:00Z')", is("86400s")),
            ("timestamp('2025-12-31T23:59:59Z') + duration('1s')", is("2026-01-01T00:00:00Z")),
            ("timestamp('2026-01-01T00:00:00Z') - duration('1ns')", is("2025-12-31T23:59:59.999999999Z")),
            ("timestamp('2026-01-01T00:00:00Z') + duration('-1ms')", is("2025-12-31T23:59:59.999Z")),
            ("duration('1h') + timestamp('2025-12-31T23:30:00Z')", is("2026-01-01T00:30:00Z")),
            ("timestamp('2026-03-01T12:00:00Z') - timestamp('2026-03-01T13:00:00+01:00')", is("0s")),
            ("timestamp('2026-03-01T12:00:00Z') - timestamp('2026-03-01T12:00:00.25Z')", is("-0.250s")),
            ("timestamp(now()) - duration('10m')", is("2026-03-01T11:50:00Z")),
            ("timestamp(now()) - timestamp('2026-03-01T11:00:00Z') == duration('1h')", Is(json!(true))),
            ("duration('1h') - duration('90m')", is("-1800s")),
            ("duration('1h') + duration('30m') == duration('1h30m')", Is(json!(true))),
            // 292 years from 1970 are 106580 days, and 71 leap days (73 that 4 divides less 2100 and 2200): 106651 * 86400.
            ("timestamp('2262-01-01T00:00:00Z') - timestamp(0)", is("9214646400s")),
            // A year more is over 2^63 nanoseconds.
            ("timestamp('2263-01-01T00:00:00Z') - timestamp(0)", Fails("duration overflow")),
            ("timestamp('0001-01-01T00:00:00Z') - timestamp('9999-12-31T23:59:59Z')", Fails("duration overflow")),
            ("duration('2562047h47m16.854775807s') + duration('1ns')", Fails("duration overflow")),
            ("duration('-2562047h47m16.854775808s') - duration('1ns')", Fails("duration overflow")),
            ("timestamp('9999-12-31T23:59:59Z') + duration('999ms')", is("9999-12-31T23:59:59.999Z")),
            ("timestamp('9999-12-31T23:59:59Z') + duration('1s')", Fails("timestamp overflow")),
            ("duration('1s') + timestamp('9999-12-31T23:59:59Z')", Fails("timestamp overflow")),
            ("timestamp('0001-01-01T00:00:00Z') - duration('1ns')", Fails("timestamp overflow")),
            ("timestamp('0001-01-01T00:00:00Z') + duration('-1ns')", Fails("timestamp overflow")),
            ("timestamp(now()) + 60", Fails("'add' applied to '(timestamp, int)'")),
            ("timestamp(now()) + timestamp(now())", Fails("'add' applied to '(timestamp, timestamp)'")),
            ("duration('1h') - timestamp(now())", Fails("'sub' applied to '(duration, timestamp)'")),
            ("now() - duration('10m')", Fails("'sub' applied to '(string, duration)'")),
            ("duration('10m') * 2", Fails("'mul' applied to '(duration, int)'")),
        ],
    );
}

#[test]
fn times_compare_as_times_and_text_as_text() {
    let yes = || Is(json!(true));
    let no = || Is(json!(false));
    check(
        &scope(),
        vec![
            ("timestamp('2026-03-01T12:00:00Z') == timestamp('2026-03-01T13:00:00+01:00')", yes()),
            ("timestamp('2026-03-01T12:00:00Z') > timestamp('2026-03-01T11:59:59.999999999Z')", yes()),
            ("timestamp('2026-03-01T12:00:00Z') < timestamp('2026-03-01T12:00:00Z')", no()),
            ("timestamp('2026-03-01T12:00:00Z') <= timestamp('2026-03-01T12:00:00Z')", yes()),
            ("timestamp('1969-12-31T23:59:59Z') < timestamp(0)", yes()),
            ("duration('1h') > duration('59m') && duration('-1h') < duration('1ns')", yes()),
            ("duration('60s') == duration('1m')", yes()),
            ("[timestamp(2), timestamp(1)].sort()[0] == timestamp(1)", yes()),
            // As text in UTC and whole seconds, the order of the characters is that of time.
            ("'2026-03-01T12:00:00Z' < '2026-03-01T12:00:01Z'", yes()),
            ("'2025-12-31T23:59:59Z' < now() && now() < '2026-03-01T12:00:01Z'", yes()),
            ("now() == '2026-03-01T12:00:00Z' && now() <= '2026-03-01T12:00:00Z'", yes()),
            // Not with offsets: 12:00+01:00 is 11:00Z, but "12" comes after "11".
            ("'2026-03-01T12:00:00+01:00' < '2026-03-01T11:30:00Z'", no()),
            ("timestamp('2026-03-01T12:00:00+01:00') < timestamp('2026-03-01T11:30:00Z')", yes()),
            // Nor with fractions: "." comes before "Z".
            ("'2026-03-01T12:00:00.5Z' < '2026-03-01T12:00:00Z'", yes()),
            ("timestamp('2026-03-01T12:00:00.5Z') < timestamp('2026-03-01T12:00:00Z')", no()),
            // `string` of a time is in UTC.
            ("string(timestamp('2026-03-01T12:00:00+01:00')) < '2026-03-01T11:30:00Z'", yes()),
            // Of two types, equality is false and order an error.
            ("timestamp(now()) == now()", no()),
            ("duration('60s') == 60", no()),
            ("timestamp(now()) < now()", Fails("'_<_' applied to '(google.protobuf.Timestamp, string)'")),
            ("now() < timestamp(now())", Fails("'_<_' applied to '(string, google.protobuf.Timestamp)'")),
            ("timestamp(now()) < int(timestamp(now()))", Fails("'_<_' applied to '(google.protobuf.Timestamp, int)'")),
            ("duration('60s') < 60", Fails("'_<_' applied to '(google.protobuf.Duration, int)'")),
        ],
    );
}

#[test]
fn times_and_durations_convert_to_numbers() {
    check(
        &scope(),
        vec![
            ("int(timestamp('1970-01-01T00:01:00Z'))", Is(json!(60))),
            // 56 years are 20440 days and 14 leap days (1972 to 2024); 59 more to March: 20513 * 86400 + 43200.
            ("int(timestamp(now()))", Is(json!(1_772_366_400))),
            ("timestamp(1772366400) == timestamp(now())", Is(json!(true))),
            // 30 years are 10950 days and 7 leap days (1972 to 1996); 60 more to March of a leap year: 11017 * 86400.
            ("int(timestamp('2000-03-01T00:00:00Z'))", Is(json!(951_868_800))),
            // 1969 years are 718685 days and 477 leap days (492 - 19 + 4): 719162 * 86400.
            ("int(timestamp('0001-01-01T00:00:00Z'))", Is(json!(-62_135_596_800_i64))),
            // 8030 years are 2930950 days and 1947 leap days (2007 - 80 + 20): 2932897 * 86400, less a second.
            ("int(timestamp('9999-12-31T23:59:59Z'))", Is(json!(253_402_300_799_i64))),
            // Fractions go towards the past, before 1970 too.
            ("int(timestamp('2026-03-01T12:00:00.999Z'))", Is(json!(1_772_366_400))),
            ("int(timestamp('1969-12-31T23:59:59.5Z'))", Is(json!(-1))),
            ("timestamp('1970-01-01T00:01:00Z').toUnixTime() + 1", Is(json!(61))),
            ("timestamp('1970-01-01T01:00:00+01:00').toUnixTime()", Is(json!(0))),
            ("timestamp('1969-12-31T23:59:59.5Z').toUnixTime()", Is(json!(-1))),
            ("timestamp(now()).toUnixTime() == int(timestamp(now()))", Is(json!(true))),
            ("now().toUnixTime()", Fails("'toUnixTime'")),
            ("int(now())", Fails("int: ")),
            // A duration counts nanoseconds.
            ("int(duration('1.5s'))", Is(json!(1_500_000_000))),
            ("int(duration('-1us'))", Is(json!(-1_000))),
            ("duration('2h').getMinutes()", Is(json!(120))),
            ("duration('1h30m').getHours()", Is(json!(1))),
            ("duration('-1.999s').getSeconds()", Is(json!(-1))),
            ("duration('-1.5s').getMilliseconds()", Is(json!(-1500))),
            ("duration('1s').getDate()", Fails("'getDate'")),
        ],
    );
}

#[test]
fn time_parts_are_in_utc_unless_a_zone_is_named() {
    // Half an hour into the year in Berlin, half an hour before it in Greenwich. It was a Thursday, the day before a Wednesday.
    let midnight = "timestamp('2026-01-01T00:30:00+01:00')";
    for (call, expected) in [
        ("getFullYear()", 2025),
        ("getFullYear('+01:00')", 2026),
        ("getFullYear('Europe/Berlin')", 2026),
        // Months, and days of the month and of the year, count from 0; `getDate` from 1; 0 is Sunday.
        ("getMonth()", 11),
        ("getMonth('+01:00')", 0),
        ("getDate()", 31),
        ("getDate('+01:00')", 1),
        ("getDayOfMonth()", 30),
        ("getDayOfYear()", 364),
        ("getDayOfYear('+01:00')", 0),
        ("getDayOfWeek()", 3),
        ("getDayOfWeek('+01:00')", 4),
        ("getHours()", 23),
        ("getHours('-00:45')", 22),
        ("getHours('05:45')", 5),
        ("getMinutes()", 30),
        ("getMinutes('05:45')", 15),
        ("getSeconds()", 0),
        ("getMilliseconds()", 0),
    ] {
        let source = format!("{midnight}.{call}");
        Is(json!(expected)).check(&source, evaluate(&scope(), &source));
    }
    check(
        &scope(),
        vec![
            // The last day of a leap year is its 366th.
            ("timestamp('2024-12-31T12:00:00Z').getDayOfYear()", Is(json!(365))),
            ("timestamp('2026-03-01T12:00:00.123456Z').getMilliseconds()", Is(json!(123))),
            ("timestamp('1969-12-31T23:59:59.5Z').getMilliseconds()", Is(json!(500))),
            // Noon in Greenwich; New York is five hours behind, and four after the clocks change on the 8th at 07:00Z.
            ("timestamp(now()).getHours('America/New_York')", Is(json!(7))),
            ("timestamp('2026-03-08T06:59:59Z').getHours('America/New_York')", Is(json!(1))),
            ("timestamp('2026-03-08T07:00:00Z').getHours('America/New_York')", Is(json!(3))),
            ("timestamp(now()).getHours('Nowhere/Else')", Fails("timezone: not a time zone")),
            // The zone of the machine is none of its business.
            ("timestamp(now()).getHours('Local')", Fails("timezone: not a time zone")),
            ("timestamp(now()).getHours('+24:00')", Fails("timezone: ")),
        ],
    );
}

#[test]
fn clock_is_the_same_throughout_an_event() {
    check(
        &scope(),
        vec![
            ("now()", Is(json!(NOW))),
            ("type(now()) == string", Is(json!(true))),
            ("timestamp(now())", Is(json!(NOW))),
            ("tags.map(t, now()).distinct().size()", Is(json!(1))),
            // What counts from now counts from the same now: Ready changed at 11:50.
            (
                "duration(string(conditionAge(conditions, 'Ready')) + 's') == timestamp(now()) - timestamp('2026-03-01T11:50:00Z')",
                Is(json!(true)),
            ),
            ("now(1)", Undeclared("now")),
        ],
    );
    let expression = Expression::parse("[now(), string(int(timestamp(now())))]").unwrap();
    let scope = at("2024-02-29T23:59:59Z");
    let first = expression.evaluate(&scope).unwrap();
    assert_eq!(first, expression.evaluate(&scope).unwrap(), "a clock that stands still");
    // 54 years are 19710 days and 13 leap days (1972 to 2020); 60 more to March: 19783 * 86400, less a second.
    assert_eq!(first, Answer::Value(json!(["2024-02-29T23:59:59Z", "1709251199"])));
    let other = at("2024-03-01T00:00:00Z");
    assert_eq!(expression.evaluate(&other).unwrap(), Answer::Value(json!(["2024-03-01T00:00:00Z", "1709251200"])));
}

/// The debounce compares with `<`, and creation times in Kubernetes are whole seconds: with an event every 10 s, the
/// next version is created 10 m 10 s after the one before.
#[test]
fn debounce_ends_after_ten_minutes() {
    let debounce = r#"!resources.?job.hasValue()
        || timestamp(resources.job.metadata.creationTimestamp) < timestamp(now()) - duration("10m")"#;
    for (now, expected) in [
        ("2026-02-28T23:55:00Z", false),
        ("2026-03-01T00:04:50Z", false),
        ("2026-03-01T00:05:00Z", false),
        ("2026-03-01T00:05:00.999Z", false),
        ("2026-03-01T00:05:01Z", true),
        ("2026-03-01T00:05:10Z", true),
    ] {
        let mut scope = at(now);
        scope.set("resources", json!({}));
        assert!(holds(&scope, debounce), "{now}: there is none");
        scope.set("resources", json!({"job": {"metadata": {"creationTimestamp": "2026-02-28T23:55:00Z"}}}));
        assert_eq!(holds(&scope, debounce), expected, "{now}");
    }
}

/// The proposal asks for a rotation once a day by `c.lastTransitionTime < timestamp(now()).toUnixTime() - 86400`, which
/// compares text with a number.
#[test]
fn day_since_a_transition_can_be_asked_in_three_ways() {
    let all = |condition: &str| {
        format!(r#"dig(clusterResource, "status.conditions").filter(c, c.type == "CertRotated").all(c, {condition})"#)
    };
    let as_proposed = all("c.lastTransitionTime < timestamp(now()).toUnixTime() - 86400");
    let corrected = [
        all(r#"timestamp(c.lastTransitionTime) < timestamp(now()) - duration("24h")"#),
        all("timestamp(c.lastTransitionTime).toUnixTime() < timestamp(now()).toUnixTime() - 86400"),
        all("int(timestamp(c.lastTransitionTime)) < int(timestamp(now())) - 86400"),
    ];
    let by_function = r#"conditionAge(dig(clusterResource, "status.conditions"), "CertRotated") > 86400"#;
    for (changed, expected) in [
        ("2026-03-01T11:59:59Z", false),
        ("2026-02-28T12:00:01Z", false),
        ("2026-02-28T12:00:00Z", false),
        ("2026-02-28T11:59:59Z", true),
        ("2025-12-31T23:59:59Z", true),
    ] {
        let mut scope = at(NOW);
        let conditions = json!([{"type": "CertRotated", "lastTransitionTime": changed}, {"type": "Ready"}]);
        scope.set("clusterResource", json!({"status": {"conditions": conditions}}));
        Fails("'_<_' applied to '(string, int)'").check(&as_proposed, evaluate(&scope, &as_proposed));
        for source in &corrected {
            assert_eq!(holds(&scope, source), expected, "{changed}: {source}");
        }
        assert_eq!(holds(&scope, by_function), expected, "{changed}: {by_function}");
    }

    // Never rotated: all of no conditions are old enough; an age that cannot be told is -1.
    let mut scope = at(NOW);
    scope.set("clusterResource", json!({"status": {"conditions": []}}));
    for source in corrected.iter().chain([&as_proposed]) {
        assert!(holds(&scope, source), "{source}");
    }
    assert!(!holds(&scope, by_function));
    // No conditions at all: `dig` gives null, over which nothing loops.
    scope.set("clusterResource", json!({}));
    Fails("iterable").check(&corrected[0], evaluate(&scope, &corrected[0]));
}

/// The proposal's annotation that is older than now, where there may be none yet.
#[test]
fn missing_time_has_a_default() {
    let as_proposed = r#"dig(resources.ns.metadata.annotations, "example.io/rotated-at") < now()"#;
    let with_default = r#"resources.ns.metadata.?annotations[?"example.io/rotated-at"].orValue("") < now()"#;
    let daily = r#"timestamp(resources.ns.metadata.?annotations[?"example.io/rotated-at"].orValue("0001-01-01T00:00:00Z"))
        < timestamp(now()) - duration("24h")"#;
    let mut scope = at(NOW);
    for (metadata, proposed, default, day) in [
        (json!({}), None, true, true),
        (json!({"annotations": {}}), None, true, true),
        (json!({"annotations": {"example.io/rotated-at": "2026-03-01T11:59:59Z"}}), Some(true), true, false),
        (json!({"annotations": {"example.io/rotated-at": NOW}}), Some(false), false, false),
        (json!({"annotations": {"example.io/rotated-at": "2026-02-28T11:59:59Z"}}), Some(true), true, true),
    ] {
        scope.set("resources", json!({"ns": {"metadata": metadata}}));
        match proposed {
            Some(expected) => assert_eq!(holds(&scope, as_proposed), expected, "{metadata}"),
            None => assert!(evaluate(&scope, as_proposed).is_err(), "{metadata}"),
        }
        assert_eq!(holds(&scope, with_default), default, "{metadata}");
        assert_eq!(holds(&scope, daily), day, "{metadata}");
    }
}

#[test]
fn condition_times_parse_as_timestamps() {
    let age = |changed: &str| {
        let mut scope = at(NOW);
        scope.set("conditions", json!([{"type": "Ready", "status": "True", "last_transition_time": changed}]));
        evaluate(&scope, "conditionAge(conditions, 'Ready')").unwrap()
    };
    for (changed, expected) in [
        ("2026-03-01T11:59:59Z", 1),
        ("2026-03-01T11:59:59.5Z", 0),
        ("2026-03-01T13:00:00+02:00", 3600),
        ("2026-03-01T12:00:05.5Z", -5),
        ("2024-02-29T12:00:00Z", 731 * 86_400),
        ("2026-03-01 11:59:59Z", -1),
        ("2026-03-01t11:59:59z", -1),
        ("", -1),
    ] {
        assert_eq!(age(changed), Answer::Value(json!(expected)), "{changed}");
    }
}
