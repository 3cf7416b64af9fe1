//! Decides what becomes of an adapter's report: it is stored, dropped, discarded or refused.
//!
//! In: the report's body, the resource's generation, the adapter's stored report, and the time. Out: an [`Admission`].
//! Fails: with the [`Problem`] of a refused report. Pure. The checks have the order of the real API, so a report that is
//! both old and incomplete is discarded, not refused.

use std::collections::BTreeSet;

use jiff::{SignedDuration, Timestamp};
use serde::Deserialize;
use serde_json::Value;

use crate::model::{Report, ReportCondition};
use crate::problem::{Field, Problem};

/// How far in the future an `observed_time` may be.
const AHEAD: SignedDuration = SignedDuration::from_mins(5);
/// How far in the past an `observed_time` may be.
const BEHIND: SignedDuration = SignedDuration::from_mins(30);
/// The condition types that every report must contain.
const MANDATORY: [&str; 3] = ["Available", "Applied", "Health"];

/// A report that is well-formed.
#[derive(Debug, Clone)]
pub struct WellFormed {
    body: Body,
    observed: Timestamp,
}

#[derive(Debug, Clone, Deserialize)]
struct Body {
    #[serde(default)]
    adapter: String,
    #[serde(default)]
    observed_generation: i64,
    observed_time: Option<Timestamp>,
    #[serde(default)]
    conditions: Vec<Condition>,
    metadata: Option<Value>,
    data: Option<Value>,
}

#[derive(Debug, Clone, Deserialize)]
struct Condition {
    #[serde(rename = "type", default)]
    kind: String,
    #[serde(default)]
    status: String,
    reason: Option<String>,
    message: Option<String>,
}

/// What becomes of a well-formed report on a resource that exists.
#[derive(Debug, Clone, PartialEq)]
pub enum Admission {
    /// The report takes the place of the adapter's former one.
    Store {
        /// The report to store.
        report: Report,
        /// Whether the resource's conditions must be computed again.
        aggregates: bool,
    },
    /// The stored report stays, and is the answer, as in the real API: its SQL takes a later `observed_time` alone.
    Keep(Report),
    /// The report says nothing new: it is older than the stored one, or newer than the resource, or takes back what the
    /// adapter knew.
    Discard,
}

impl WellFormed {
    /// Checks what needs neither the resource nor the stored report.
    ///
    /// # Errors
    /// The body is not JSON, or fields of it are invalid.
    pub fn parse(body: &[u8], now: Timestamp) -> Result<Self, Problem> {
        let body: Body = serde_json::from_slice(body).map_err(|error| Problem::malformed(error.to_string()))?;
        // PostgreSQL keeps microseconds; a finer time would be newer than itself when it is read again.
        let observed = microseconds(body.observed_time.unwrap_or(now));
        let mut fields = Vec::new();
        let mut fault = |field: &str, message: &str| fields.push(Field::new(field, message));
        if body.adapter.is_empty() {
            fault("adapter", "must not be empty");
        }
        if body.observed_generation < 1 {
            fault("observed_generation", "must be at least 1");
        }
        if observed.duration_since(now) > AHEAD {
            fault("observed_time", "must not be more than 5 minutes in the future");
        }
        if now.duration_since(observed) > BEHIND {
            fault("observed_time", "must not be more than 30 minutes in the past");
        }
        let mut kinds = BTreeSet::new();
        for (index, condition) in body.conditions.iter().enumerate() {
            if condition.kind.is_empty() || !kinds.insert(&condition.kind) {
                fault(&format!("conditions[{index}].type"), "must be neither empty nor repeated");
            }
            if !["True", "False", "Unknown"].contains(&condition.status.as_str()) {
                fault(&format!("conditions[{index}].status"), "must be True, False or Unknown");
            }
        }
        if fields.is_empty() { Ok(Self { body, observed }) } else { Err(Problem::invalid(fields)) }
    }

    /// The adapter's name.
    #[must_use]
    pub fn adapter(&self) -> &str {
        &self.body.adapter
    }

    /// Decides by the resource's generation and the adapter's stored report.
    ///
    /// # Errors
    /// The report lacks a condition that every report must contain.
    pub fn admit(self, generation: i64, stored: Option<&Report>) -> Result<Admission, Problem> {
        let Self { body, observed } = self;
        let is_older = |stored: &Report| {
            let (new, old) = (body.observed_generation, stored.observed_generation);
            new < old || (new == old && observed < stored.last_report_time)
        };
        if body.observed_generation > generation || stored.is_some_and(is_older) {
            return Ok(Admission::Discard);
        }
        let status = |kind: &str| body.conditions.iter().find(|condition| condition.kind == kind);
        let missing: Vec<_> = MANDATORY.into_iter().filter(|kind| status(kind).is_none()).collect();
        if !missing.is_empty() {
            let field = |kind| Field::new("conditions", format!("must contain {kind}"));
            return Err(Problem::invalid(missing.into_iter().map(field).collect()));
        }
        let is_unknown = status("Available").is_some_and(|available| available.status == "Unknown");
        if is_unknown && stored.is_some() {
            return Ok(Admission::Discard);
        }
        let is_same_time = |stored: &&Report| {
            (body.observed_generation, observed) == (stored.observed_generation, stored.last_report_time)
        };
        if let Some(stored) = stored.filter(is_same_time) {
            return Ok(Admission::Keep(stored.clone()));
        }
        let transition = |condition: &Condition| {
            let former = stored.and_then(|stored| stored.condition(&condition.kind));
            former
                .filter(|former| former.status == condition.status)
                .map_or(observed, |former| former.last_transition_time)
        };
        let conditions = body.conditions.iter().map(|condition| ReportCondition {
            kind: condition.kind.clone(),
            status: condition.status.clone(),
            reason: condition.reason.clone(),
            message: condition.message.clone(),
            last_transition_time: transition(condition),
        });
        let report = Report {
            conditions: conditions.collect(),
            adapter: body.adapter,
            observed_generation: body.observed_generation,
            metadata: body.metadata,
            data: body.data,
            created_time: stored.map_or(observed, |stored| stored.created_time),
            last_report_time: observed,
        };
        Ok(Admission::Store { report, aggregates: !is_unknown })
    }
}

/// The time without what PostgreSQL cannot store.
#[must_use]
pub fn microseconds(time: Timestamp) -> Timestamp {
    Timestamp::from_microsecond(time.as_microsecond()).unwrap_or(time)
}

#[cfg(test)]
mod tests;
