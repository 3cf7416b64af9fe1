//! Decides what it means that the API answers a report with 204, or with another report.
//!
//! In: the report as it was sent, and the report that the API answers with, or its list of the reports on the same
//! resource. Out: the report is out of date, or the cause for which the API discarded it. The API stores nothing of such a
//! report, neither `Available` nor `Finalized`, and names no cause; so the adapter asks for the stored reports, once, and
//! only after a 204.
//!
//! A report of an older generation has done what it can: the adapter itself reported a newer one. Any other
//! discarded report is lost, so its post action fails.

use jiff::Timestamp;
use serde::Deserialize;

/// What the API reads of a report, and what it keeps of one.
#[derive(Debug, Deserialize)]
struct Report {
    adapter: String,
    observed_generation: i64,
    observed_time: Option<Timestamp>,
    last_report_time: Option<Timestamp>,
    #[serde(default)]
    conditions: Vec<Condition>,
}

#[derive(Debug, Deserialize)]
struct Condition {
    #[serde(rename = "type")]
    kind: String,
    status: String,
}

/// A page of the reports on a resource.
#[derive(Debug, Deserialize)]
struct Page {
    items: Vec<Report>,
}

/// Why the API discarded a report.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Discard {
    /// The adapter's stored report is of a newer generation.
    #[error("the adapter's stored report is of the newer generation {0}")]
    OutOfDate(i64),
    /// `Available` is Unknown, and the adapter has reported before.
    #[error(
        "its `Available` is Unknown, which the API takes from an adapter's first report only; report True or False"
    )]
    Unknown,
    /// The adapter's stored report is of the same generation and newer.
    #[error(
        "its `observed_time` {sent} is before that of the adapter's stored report, {stored}; do two replicas have \
         different clocks, or two adapters the same name?"
    )]
    Earlier {
        /// The report's `observed_time`.
        sent: Timestamp,
        /// The time of the stored report.
        stored: Timestamp,
    },
    /// The adapter's stored report has the same `observed_time`, and says something else.
    #[error(
        "its `observed_time` is that of the adapter's stored report, {0}, which says something else and stays; give \
         `observed_time` more digits than those of seconds"
    )]
    SameTime(Timestamp),
    /// The report's generation is above that of the resource.
    #[error(
        "its `observed_generation` {0} is newer than the API resource; does the payload take it from \
         `event.generation`, or was the API's database restored from a backup?"
    )]
    Ahead(i64),
    /// The cause is not to be found.
    #[error("and its cause is not known: {0}")]
    Unexplained(String),
}

/// Finds out why the API discarded the report `sent`, by its list of reports, in the order of the API's own checks.
pub fn explain(sent: &str, list: &str) -> Discard {
    let unexplained = |what: &str, error: serde_json::Error| Discard::Unexplained(format!("{what}: {error}"));
    let sent: Report = match serde_json::from_str(sent) {
        Ok(sent) => sent,
        Err(error) => return unexplained("the report is not read", error),
    };
    let page: Page = match serde_json::from_str(list) {
        Ok(page) => page,
        Err(error) => return unexplained("the list of the reports is not read", error),
    };
    let generation = sent.observed_generation;
    let stored = page.items.iter().find(|stored| stored.adapter == sent.adapter);
    let Some(stored) = stored.filter(|stored| stored.observed_generation >= generation) else {
        let is_repeated = stored.is_some() && sent.is_unknown();
        return if is_repeated { Discard::Unknown } else { Discard::Ahead(generation) };
    };
    if stored.observed_generation > generation {
        return Discard::OutOfDate(stored.observed_generation);
    }
    match (sent.observed_time, stored.last_report_time) {
        (Some(sent), Some(stored)) if sent < stored => Discard::Earlier { sent, stored },
        _ if sent.is_unknown() => Discard::Unknown,
        _ => Discard::Ahead(generation),
    }
}

/// Finds out whether the API dropped the report `sent`, and answered with the stored one.
///
/// It does so if both have the same `observed_time`. A loss that changes no status is none: the stored report says the same.
pub fn dropped(sent: &str, answer: &str) -> Option<Discard> {
    let sent: Report = serde_json::from_str(sent).ok()?;
    let stored: Report = serde_json::from_str(answer).ok()?;
    let says_otherwise = |condition: &Condition| stored.status(&condition.kind) != Some(&condition.status);
    let is_other = sent.conditions.iter().any(says_otherwise);
    stored.last_report_time.filter(|_| is_other).map(Discard::SameTime)
}

impl Report {
    fn status(&self, kind: &str) -> Option<&str> {
        let mut conditions = self.conditions.iter();
        conditions.find(|condition| condition.kind == kind).map(|condition| condition.status.as_str())
    }

    fn is_unknown(&self) -> bool {
        self.status("Available") == Some("Unknown")
    }
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "tests")]

    use serde_json::{Value, json};

    use super::*;

    fn report(generation: i64, time: &str, available: &str) -> Value {
        let conditions =
            json!([{ "type": "Health", "status": "Unknown" }, { "type": "Available", "status": available }]);
        json!({
            "adapter": "a", "observed_generation": generation, "conditions": conditions,
            "observed_time": time, "last_report_time": time,
        })
    }

    const EARLY: &str = "2026-01-01T00:00:00Z";
    const LATE: &str = "2026-01-01T00:00:01Z";

    #[test]
    fn discarded_report_is_explained_by_the_stored_one() {
        let other = |mut report: Value| {
            report["adapter"] = json!("b");
            report
        };
        let time = |text: &str| text.parse::<Timestamp>().unwrap();
        for (name, sent, stored, expected) in [
            ("a newer generation", report(1, LATE, "True"), vec![report(2, EARLY, "True")], Discard::OutOfDate(2)),
            ("Unknown, late", report(1, LATE, "Unknown"), vec![report(2, EARLY, "True")], Discard::OutOfDate(2)),
            ("Unknown", report(2, LATE, "Unknown"), vec![report(2, EARLY, "True")], Discard::Unknown),
            ("Unknown, newer", report(2, LATE, "Unknown"), vec![report(1, EARLY, "True")], Discard::Unknown),
            (
                "an earlier time",
                report(2, EARLY, "True"),
                vec![report(2, LATE, "True")],
                Discard::Earlier { sent: time(EARLY), stored: time(LATE) },
            ),
            ("the first report", report(2, EARLY, "True"), vec![other(report(3, LATE, "True"))], Discard::Ahead(2)),
            ("above the resource", report(3, LATE, "True"), vec![report(2, EARLY, "True")], Discard::Ahead(3)),
        ] {
            let found = explain(&sent.to_string(), &json!({ "items": stored }).to_string());
            assert_eq!(found, expected, "{name}");
        }
    }

    #[test]
    fn answer_that_says_something_else_is_the_stored_report_of_the_same_time() {
        let same_time = Some(Discard::SameTime(LATE.parse().unwrap()));
        let sent = report(2, LATE, "True");
        let without_conditions = json!({ "adapter": "a", "observed_generation": 2, "last_report_time": LATE });
        for (name, answer, expected) in [
            ("the report itself", report(2, LATE, "True"), None),
            ("another status", report(2, LATE, "False"), same_time.clone()),
            ("without a condition", without_conditions, same_time),
            ("another service's answer", json!({ "adapter": "a" }), None),
        ] {
            assert_eq!(dropped(&sent.to_string(), &answer.to_string()), expected, "{name}");
        }
        assert_eq!(dropped(r#"{"adapter":"a","Conditions":[]}"#, &report(2, LATE, "False").to_string()), None);
    }

    #[test]
    fn unreadable_list_explains_nothing() {
        for list in ["", "[]", r#"{"items":[{}]}"#] {
            let found = explain(&report(1, EARLY, "True").to_string(), list);
            assert!(matches!(found, Discard::Unexplained(_)), "{found:?}");
        }
    }
}
