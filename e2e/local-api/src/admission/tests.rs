#![expect(clippy::unwrap_used, reason = "tests")]

use serde_json::json;

use super::*;

const NOW: &str = "2026-01-01T12:00:00Z";

fn now() -> Timestamp {
    NOW.parse().unwrap()
}

fn body(available: &str, generation: i64, time: &str) -> Value {
    json!({
        "adapter": "a",
        "observed_generation": generation,
        "observed_time": time,
        "conditions": [
            { "type": "Available", "status": available },
            { "type": "Applied", "status": "True" },
            { "type": "Health", "status": "True" },
        ],
    })
}

fn with(key: &str, value: Value) -> Value {
    let mut body = body("True", 2, NOW);
    body[key] = value;
    body
}

/// What becomes of a report: its admission, or the detail of the refusal.
fn admit(body: &Value, generation: i64, stored: Option<&Report>) -> Result<Admission, String> {
    let admission =
        WellFormed::parse(body.to_string().as_bytes(), now()).and_then(|report| report.admit(generation, stored));
    admission.map_err(|problem| problem.detail().to_owned())
}

fn stored(body: &Value) -> Report {
    match admit(body, 9, None).unwrap() {
        Admission::Store { report, .. } => report,
        Admission::Keep(_) | Admission::Discard => unreachable!("a first report is stored"),
    }
}

#[test]
fn report_is_stored_or_discarded_by_generation_and_time() {
    let first = stored(&body("True", 2, "2026-01-01T11:59:00Z"));
    let bare = |generation: i64| json!({ "adapter": "a", "observed_generation": generation, "conditions": [] });
    for (name, body, generation, known, expected) in [
        ("a first report", body("True", 3, NOW), 3, None, "store and aggregate"),
        ("a later one of the same generation", body("False", 2, NOW), 3, Some(&first), "store and aggregate"),
        ("one below the resource's generation", body("True", 2, NOW), 9, Some(&first), "store and aggregate"),
        ("one of the same time", body("False", 2, "2026-01-01T11:59:00Z"), 3, Some(&first), "keep"),
        ("one of the same microsecond", body("False", 2, "2026-01-01T11:59:00.0000009Z"), 3, Some(&first), "keep"),
        (
            "one of the same time and a newer generation",
            body("False", 3, "2026-01-01T11:59:00Z"),
            3,
            Some(&first),
            "store and aggregate",
        ),
        (
            "one of the same time that takes back",
            body("Unknown", 2, "2026-01-01T11:59:00Z"),
            3,
            Some(&first),
            "discard",
        ),
        (
            "one of a newer generation, though older",
            body("True", 3, "2026-01-01T11:58:00Z"),
            3,
            Some(&first),
            "store and aggregate",
        ),
        ("a first report that does not know", body("Unknown", 2, NOW), 3, None, "store"),
        ("one ahead of the resource", body("True", 4, NOW), 3, None, "discard"),
        ("one below the adapter's own", body("True", 1, NOW), 3, Some(&first), "discard"),
        ("an older one", body("True", 2, "2026-01-01T11:58:59Z"), 3, Some(&first), "discard"),
        ("one that takes back what was known", body("Unknown", 2, NOW), 3, Some(&first), "discard"),
        ("one that is late and incomplete", bare(4), 3, None, "discard"),
    ] {
        let found = match admit(&body, generation, known).unwrap() {
            Admission::Store { aggregates: true, .. } => "store and aggregate",
            Admission::Store { aggregates: false, .. } => "store",
            Admission::Keep(kept) => {
                assert_eq!(Some(&kept), known, "{name}");
                "keep"
            }
            Admission::Discard => "discard",
        };
        assert_eq!(found, expected, "{name}");
    }
}

#[test]
fn invalid_report_is_refused_with_its_fields() {
    let twice = json!([{ "type": "Available", "status": "True" }, { "type": "Available", "status": "True" }]);
    let incomplete = json!([{ "type": "Available", "status": "True" }]);
    for (body, expected) in [
        (with("adapter", json!("")), "1 invalid field(s): adapter must not be empty"),
        (with("observed_generation", json!(0)), "1 invalid field(s): observed_generation must be at least 1"),
        (body("true", 2, NOW), "1 invalid field(s): conditions[0].status must be True, False or Unknown"),
        (with("conditions", twice), "1 invalid field(s): conditions[1].type must be neither empty nor repeated"),
        (body("True", 2, "2026-01-01T12:05:01Z"), "must not be more than 5 minutes in the future"),
        (body("True", 2, "2026-01-01T11:29:59Z"), "must not be more than 30 minutes in the past"),
        (with("conditions", incomplete), "2 invalid field(s): conditions must contain Applied"),
        (json!("x"), "expected struct Body"),
    ] {
        let found = admit(&body, 3, None).unwrap_err();
        assert!(found.contains(expected), "{found}");
    }
    for time in ["2026-01-01T12:05:00Z", "2026-01-01T11:30:00Z"] {
        assert!(admit(&body("True", 2, time), 3, None).is_ok(), "{time}");
    }
}

#[test]
fn condition_keeps_its_transition_time_while_its_status_stays() {
    let mut second = body("False", 2, "2026-01-01T11:59:30.1234567Z");
    second["data"] = json!({ "x": 1 });
    let first = stored(&body("True", 2, "2026-01-01T11:59:00Z"));
    let Admission::Store { report, .. } = admit(&second, 3, Some(&first)).unwrap() else { panic!("it is newer") };
    let document = report.document();
    assert_eq!(document["created_time"], "2026-01-01T11:59:00Z");
    assert_eq!(document["last_report_time"], "2026-01-01T11:59:30.123456Z", "as PostgreSQL keeps it");
    assert_eq!(document["conditions"][0]["last_transition_time"], "2026-01-01T11:59:30.123456Z");
    assert_eq!(document["conditions"][1]["last_transition_time"], "2026-01-01T11:59:00Z");
    assert_eq!(document["data"], json!({ "x": 1 }));
}

#[test]
fn report_without_a_time_is_of_now() {
    let mut body = body("True", 2, NOW);
    body.as_object_mut().unwrap().remove("observed_time");
    assert_eq!(stored(&body).last_report_time, now());
}
