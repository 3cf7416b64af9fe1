//! A bundle as conditions of a report.
//!
//! In: the outcome of the bundle; none if its turn did not come. Out: `Applied` and `Available`, with reason and message. Nothing
//! here fails: what failed is a reason.

use lifecycle_bundle::report::Report;
use lifecycle_bundle::table::Intent;
use serde_json::{Value, json};

use crate::outcome::Outcome;

/// The conditions `Applied` and `Available` of a bundle.
#[must_use]
pub fn conditions(outcome: Option<&Outcome>) -> [Value; 2] {
    let report = outcome.and_then(|outcome| outcome.bundle.as_deref());
    let is_ready = report.is_some_and(|report| report.intent == Intent::Apply && report.is_complete());
    let (why, because) = match outcome {
        None => ("NotReached", "nothing was decided about its objects in this pass".to_owned()),
        Some(outcome) => match (outcome.failure(), report.and_then(|report| report.stopped.as_ref())) {
            (Some(failure), _) => (failure.reason.as_str(), failure.message.clone()),
            (None, Some(stopped)) => ("Waiting", stopped.to_string()),
            (None, None) => (outcome.decision.reason(), outcome.reason()),
        },
    };
    let condition = |kind: &str, holds: bool, reason: &str, message: &str| {
        let (reason, message) = if holds { (reason, message) } else { (why, because.as_str()) };
        json!({ "type": kind, "status": if holds { "True" } else { "False" }, "reason": reason, "message": message })
    };
    let is_applied = report.is_some_and(Report::is_applied);
    [
        condition("Applied", is_applied, "ObjectsApplied", "each object of the manifests is there, or has served"),
        condition("Available", is_ready, "BundleReady", "all objects are ready"),
    ]
}
