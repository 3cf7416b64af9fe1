//! What core knows better than a configuration: laid over status payloads before they are sent.
//!
//! A payload is a status if it has `adapter` and a list of `conditions`. No configuration can report
//! `Available=True` over a failed write.

use serde_json::{Value, json};

use crate::outcome::Outcome;
use crate::plan::decision::Failure;

/// Corrects a status payload by the outcomes of phase 3; leaves any other payload alone.
pub fn apply(payload: &mut Value, outcomes: &[Outcome]) {
    let failures: Vec<(&str, &Failure)> = outcomes
        .iter()
        .filter_map(|outcome| outcome.failure().map(|failure| (outcome.resource.as_str(), failure)))
        .collect();
    let Some((_, first)) = failures.first() else { return };
    let message = failures
        .iter()
        .map(|(resource, failure)| format!("resource {resource}: {}", failure.message))
        .collect::<Vec<_>>()
        .join("; ");
    set_condition(payload, "Available", "False", first.reason.as_str(), &message);
}

fn set_condition(payload: &mut Value, kind: &str, status: &str, reason: &str, message: &str) {
    if payload.get("adapter").is_none() {
        return;
    }
    let Some(conditions) = payload.get_mut("conditions").and_then(Value::as_array_mut) else { return };
    let is_wanted = |condition: &&mut Value| condition.get("type").and_then(Value::as_str) == Some(kind);
    match conditions.iter_mut().find(is_wanted).and_then(Value::as_object_mut) {
        Some(condition) => {
            for (key, value) in [("status", status), ("reason", reason), ("message", message)] {
                condition.insert(key.to_owned(), Value::from(value));
            }
        }
        None => conditions.push(json!({ "type": kind, "status": status, "reason": reason, "message": message })),
    }
}
