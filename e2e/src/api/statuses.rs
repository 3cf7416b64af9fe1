//! Decides which status reports the API stores.
//!
//! In: a report's body, the resource's generation, the adapter's stored report, and the time. Out: the
//! [`Reception`] of the report. The checks have the same order as in the real API, so that a report which is
//! both old and incomplete is discarded, not refused.

use std::collections::BTreeSet;

use jiff::{SignedDuration, Timestamp};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

/// How far in the future the API accepts an `observed_time`.
const AHEAD: SignedDuration = SignedDuration::from_mins(5);
/// How far in the past the API accepts an `observed_time`.
const BEHIND: SignedDuration = SignedDuration::from_mins(30);
/// The condition types that every report must contain.
const MANDATORY: [&str; 3] = ["Available", "Applied", "Health"];

/// The API's handling of a report.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reception {
    /// 201: the report is now the adapter's stored report.
    Stored,
    /// 201, but the former report stays, because both have the same `observed_time`.
    Dropped,
    /// 204: the report is older than the stored one, has a generation above the resource's, or replaces a
    /// known `Available` by `Unknown`.
    Discarded,
    /// 400: the report is malformed or lacks a mandatory condition.
    Invalid,
    /// 404: the resource does not exist.
    NoResource,
}

#[derive(Debug, Clone, Deserialize)]
struct Body {
    adapter: String,
    observed_generation: i64,
    observed_time: Option<Timestamp>,
    conditions: Vec<Condition>,
    metadata: Option<Value>,
    data: Option<Value>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct Condition {
    #[serde(rename = "type")]
    kind: String,
    status: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    message: Option<String>,
    #[serde(skip_deserializing)]
    last_transition_time: Timestamp,
}

/// The stored report of an adapter.
#[derive(Debug, Clone)]
pub(super) struct Stored {
    body: Body,
    created: Timestamp,
    observed: Timestamp,
}

impl Stored {
    pub(super) fn adapter(&self) -> &str {
        &self.body.adapter
    }

    /// The report as the API returns it.
    pub(super) fn document(&self) -> Value {
        let mut document = json!({
            "adapter": self.body.adapter,
            "observed_generation": self.body.observed_generation,
            "conditions": self.body.conditions,
            "data": self.body.data,
            "created_time": self.created,
            "last_report_time": self.observed,
        });
        if let Some(metadata) = &self.body.metadata {
            document["metadata"] = metadata.clone();
        }
        document
    }
}

type Fields = Vec<(String, String)>;

/// Judges a report. Returns its reception, the report to return and store if there is one, and the invalid fields.
pub(super) fn receive<'a>(
    body: &[u8],
    generation: Option<i64>,
    stored: impl Fn(&str) -> Option<&'a Stored>,
    now: Timestamp,
) -> (Reception, Option<Stored>, Fields) {
    let body: Body = match serde_json::from_slice(body) {
        Ok(body) => body,
        Err(error) => return (Reception::Invalid, None, vec![("body".to_owned(), error.to_string())]),
    };
    let observed = body.observed_time.unwrap_or(now);
    let fields = malformed(&body, observed, now);
    if !fields.is_empty() {
        return (Reception::Invalid, None, fields);
    }
    let Some(generation) = generation else { return (Reception::NoResource, None, Vec::new()) };
    let previous = stored(&body.adapter);
    if body.observed_generation > generation || previous.is_some_and(|previous| is_older(&body, observed, previous)) {
        return (Reception::Discarded, None, Vec::new());
    }
    let missing = missing(&body);
    if !missing.is_empty() {
        return (Reception::Invalid, None, missing);
    }
    match previous {
        Some(_) if is_unknown(&body) => (Reception::Discarded, None, Vec::new()),
        Some(previous) if has_same_time(&body, observed, previous) => {
            (Reception::Dropped, Some(previous.clone()), Vec::new())
        }
        previous => (Reception::Stored, Some(merge(body, observed, previous)), Vec::new()),
    }
}

fn malformed(body: &Body, observed: Timestamp, now: Timestamp) -> Fields {
    let mut fields = Fields::new();
    let mut fault = |field: &str, message: &str| fields.push((field.to_owned(), message.to_owned()));
    if body.adapter.is_empty() {
        fault("adapter", "must not be empty");
    }
    if body.observed_generation < 1 {
        fault("observed_generation", "must be at least 1");
    }
    if observed.duration_since(now) > AHEAD {
        fault("observed_time", "is too far in the future");
    }
    if now.duration_since(observed) > BEHIND {
        fault("observed_time", "is too far in the past");
    }
    let mut kinds = BTreeSet::new();
    for condition in &body.conditions {
        if condition.kind.is_empty() || !kinds.insert(&condition.kind) {
            fault("conditions.type", "must be neither empty nor repeated");
        }
        if !["True", "False", "Unknown"].contains(&condition.status.as_str()) {
            fault("conditions.status", "must be True, False or Unknown");
        }
    }
    fields
}

fn missing(body: &Body) -> Fields {
    let has = |kind: &&str| body.conditions.iter().any(|condition| condition.kind == *kind);
    MANDATORY
        .iter()
        .filter(|kind| !has(kind))
        .map(|kind| ((*kind).to_owned(), "condition is missing".to_owned()))
        .collect()
}

fn is_older(body: &Body, observed: Timestamp, previous: &Stored) -> bool {
    let (generation, known) = (body.observed_generation, previous.body.observed_generation);
    generation < known || (generation == known && observed < previous.observed)
}

fn has_same_time(body: &Body, observed: Timestamp, previous: &Stored) -> bool {
    body.observed_generation == previous.body.observed_generation && observed == previous.observed
}

fn is_unknown(body: &Body) -> bool {
    body.conditions.iter().any(|condition| condition.kind == "Available" && condition.status == "Unknown")
}

/// Stores a report. A condition whose status is unchanged keeps its `last_transition_time`.
fn merge(mut body: Body, observed: Timestamp, previous: Option<&Stored>) -> Stored {
    for condition in &mut body.conditions {
        let before = previous.and_then(|previous| {
            let same = |old: &&Condition| old.kind == condition.kind && old.status == condition.status;
            previous.body.conditions.iter().find(same)
        });
        condition.last_transition_time = before.map_or(observed, |before| before.last_transition_time);
    }
    Stored { body, created: previous.map_or(observed, |previous| previous.created), observed }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: &str = "2026-01-01T12:00:00Z";

    fn report(available: &str, generation: i64, time: &str) -> Value {
        json!({
            "adapter": "a",
            "observed_generation": generation,
            "observed_time": time,
            "conditions": [
                {"type": "Available", "status": available},
                {"type": "Applied", "status": "True"},
                {"type": "Health", "status": "True"},
            ],
        })
    }

    fn judge(report: &Value, generation: Option<i64>, stored: Option<&Stored>) -> anyhow::Result<Reception> {
        Ok(receive(report.to_string().as_bytes(), generation, |_| stored, NOW.parse()?).0)
    }

    #[test]
    fn checks_run_in_the_order_of_the_real_api() -> anyhow::Result<()> {
        let first = report("True", 2, "2026-01-01T11:59:00Z");
        let (_, stored, _) = receive(first.to_string().as_bytes(), Some(3), |_| None, NOW.parse()?);
        assert!(stored.is_some());
        let stored = stored.as_ref();
        let bare = |generation: i64| json!({"adapter": "a", "observed_generation": generation, "conditions": []});
        let with = |key: &str, value: Value| {
            let mut report = report("True", 2, NOW);
            report[key] = value;
            report
        };
        let twice = json!([{"type": "Available", "status": "True"}, {"type": "Available", "status": "True"}]);
        let cases = [
            ("a first report is stored", report("True", 3, NOW), Some(3), None, Reception::Stored),
            (
                "a later report of the same generation is stored",
                report("False", 2, NOW),
                Some(3),
                stored,
                Reception::Stored,
            ),
            (
                "a report below the resource's generation is stored",
                report("True", 2, NOW),
                Some(9),
                stored,
                Reception::Stored,
            ),
            (
                "a report ahead of the resource is discarded",
                report("True", 4, NOW),
                Some(3),
                None,
                Reception::Discarded,
            ),
            (
                "a report below the adapter's own is discarded",
                report("True", 1, NOW),
                Some(3),
                stored,
                Reception::Discarded,
            ),
            (
                "an older report is discarded",
                report("True", 2, "2026-01-01T11:58:59Z"),
                Some(3),
                stored,
                Reception::Discarded,
            ),
            (
                "a report of the same moment is dropped",
                report("False", 2, "2026-01-01T11:59:00Z"),
                Some(3),
                stored,
                Reception::Dropped,
            ),
            ("no way back to Unknown", report("Unknown", 2, NOW), Some(3), stored, Reception::Discarded),
            ("Unknown is fine as a first word", report("Unknown", 2, NOW), Some(3), None, Reception::Stored),
            ("mandatory conditions are missing", bare(2), Some(3), None, Reception::Invalid),
            ("discarded before it is found incomplete", bare(4), Some(3), None, Reception::Discarded),
            ("no adapter name", with("adapter", json!("")), Some(3), None, Reception::Invalid),
            ("generation zero", with("observed_generation", json!(0)), Some(3), None, Reception::Invalid),
            ("no such status", report("true", 2, NOW), Some(3), None, Reception::Invalid),
            ("a condition twice", with("conditions", twice), Some(3), None, Reception::Invalid),
            ("6 minutes ahead", report("True", 2, "2026-01-01T12:06:00Z"), Some(3), None, Reception::Invalid),
            ("31 minutes behind", report("True", 2, "2026-01-01T11:29:00Z"), Some(3), None, Reception::Invalid),
            ("not an object", json!("x"), Some(3), None, Reception::Invalid),
            ("the resource does not exist", report("True", 2, NOW), None, None, Reception::NoResource),
            ("malformed comes before missing", with("adapter", json!("")), None, None, Reception::Invalid),
        ];
        for (name, report, generation, stored, expected) in cases {
            assert_eq!(judge(&report, generation, stored)?, expected, "{name}");
        }
        Ok(())
    }

    #[test]
    fn condition_keeps_its_transition_time_while_its_status_stays() -> anyhow::Result<()> {
        let first = report("True", 1, "2026-01-01T11:58:00Z").to_string();
        let (_, stored, _) = receive(first.as_bytes(), Some(1), |_| None, NOW.parse()?);
        let second = report("False", 1, "2026-01-01T11:59:00Z").to_string();
        let (_, merged, _) = receive(second.as_bytes(), Some(1), |_| stored.as_ref(), NOW.parse()?);
        let document = merged.map(|merged| merged.document()).unwrap_or_default();
        assert_eq!(document["created_time"], "2026-01-01T11:58:00Z");
        assert_eq!(document["last_report_time"], "2026-01-01T11:59:00Z");
        assert_eq!(document["conditions"][0]["last_transition_time"], "2026-01-01T11:59:00Z");
        assert_eq!(document["conditions"][1]["last_transition_time"], "2026-01-01T11:58:00Z");
        Ok(())
    }
}
