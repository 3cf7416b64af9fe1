//! What core knows better than a configuration: laid over status payloads before they are sent.
//!
//! In: a payload, or the body of a request, and the outcomes of phase 3. Out: the same, corrected. Nothing can fail: what
//! is no status is left alone. A payload is a status if it has `adapter` and a list of `conditions`.
//!
//! No configuration can report `Available=True` over a failed write, nor `Finalized=True` over an object that was to be let
//! go of and could not be read, released or deleted: the API would forget what still stands. Nor can one fail to report
//! `Finalized=True` when everything was let go of and something was released: nobody else knows that the objects that
//! still stand are not the adapter's any more.

use serde_json::{Map, Value, json};

use crate::outcome::Outcome;
use crate::plan::decision::{Decision, Failure, OrphanReason, SkipReason};
use crate::value;

/// Corrects a status payload by the outcomes of phase 3; leaves any other payload alone.
pub fn apply(payload: &mut Value, outcomes: &[Outcome]) {
    if let Some(failed) = failed(outcomes) {
        correct(payload, "Available", &failed);
    }
    if let Some(unfinished) = unfinished(outcomes) {
        withdraw(payload, "Finalized", &unfinished);
    }
    if let Some(released) = released(outcomes) {
        correct(payload, "Finalized", &released);
    }
}

/// Corrects a text that is the JSON of a status, as a request's body may be without any payload; leaves any other text
/// as it is, to the byte.
#[must_use]
pub fn apply_to_text(text: String, outcomes: &[Outcome]) -> String {
    let Ok(written) = serde_json::from_str::<Value>(&text) else { return text };
    let mut corrected = written.clone();
    apply(&mut corrected, outcomes);
    if corrected == written { text } else { value::json::to_string(&corrected) }
}

/// What a condition has to say.
struct Correction {
    status: &'static str,
    reason: &'static str,
    message: String,
}

/// Any failure makes `Available` false, with the first one's reason and the words of all.
fn failed(outcomes: &[Outcome]) -> Option<Correction> {
    failures(outcomes.iter())
}

/// While what is to be let go of fails, it is not certain to be gone: to an expression, what could not be read looks like
/// what is not there.
fn unfinished(outcomes: &[Outcome]) -> Option<Correction> {
    failures(outcomes.iter().filter(|outcome| outcome.can_be_released || outcome.can_be_deleted))
}

fn failures<'o>(outcomes: impl Iterator<Item = &'o Outcome>) -> Option<Correction> {
    let failures: Vec<(&str, &Failure)> =
        outcomes.filter_map(|outcome| outcome.failure().map(|failure| (outcome.resource.as_str(), failure))).collect();
    let (_, first) = failures.first()?;
    let told: Vec<String> =
        failures.iter().map(|(resource, failure)| format!("resource {resource}: {}", failure.message)).collect();
    Some(Correction { status: "False", reason: first.reason.as_str(), message: told.join("; ") })
}

/// A release makes `Finalized` true once every resource that can be released or deleted is let go of.
fn released(outcomes: &[Outcome]) -> Option<Correction> {
    let is_pending = |outcome: &Outcome| (outcome.can_be_released || outcome.can_be_deleted) && !outcome.finalized;
    let released: Vec<&Outcome> = outcomes.iter().filter(|outcome| was_released(outcome)).collect();
    if released.is_empty() || outcomes.iter().any(is_pending) {
        return None;
    }
    let is_there = |outcome: &&&Outcome| outcome.decision != Decision::Skip(SkipReason::NothingToOrphan);
    let standing: Vec<&str> = released.iter().filter(is_there).map(|outcome| outcome.resource.as_str()).collect();
    let message = match standing.as_slice() {
        [] => "there was nothing to release".to_owned(),
        standing => format!("released, not deleted: {}", standing.join(", ")),
    };
    Some(Correction { status: "True", reason: "Released", message })
}

/// Whether the orphan gate fired, now or on an event before. What a person marked says nothing about the rest.
fn was_released(outcome: &Outcome) -> bool {
    match &outcome.decision {
        Decision::Orphan(OrphanReason::GateHolds) | Decision::Skip(SkipReason::NothingToOrphan) => true,
        Decision::Orphan(OrphanReason::Disowned) | Decision::Skip(SkipReason::Disowned) => outcome.can_be_released,
        Decision::Skip(_)
        | Decision::Create
        | Decision::CreateVersion(_)
        | Decision::Update { .. }
        | Decision::Patch(_)
        | Decision::Recreate { .. }
        | Decision::Delete
        | Decision::Wait(_)
        | Decision::Fail(_) => false,
    }
}

/// Makes every condition of this type say so, and adds one if there is none.
fn correct(payload: &mut Value, kind: &str, correction: &Correction) {
    let Some(conditions) = conditions(payload) else { return };
    let Correction { status, reason, message } = correction;
    let mut found = false;
    for condition in of_type(conditions, kind) {
        found = true;
        correction.write(condition);
    }
    if !found {
        conditions.push(json!({ "type": kind, "status": status, "reason": reason, "message": message }));
    }
}

/// Makes every condition of this type say so that says `True`. What says less has its reason.
fn withdraw(payload: &mut Value, kind: &str, correction: &Correction) {
    let Some(conditions) = conditions(payload) else { return };
    for condition in of_type(conditions, kind) {
        if condition.get("status").and_then(Value::as_str) == Some("True") {
            correction.write(condition);
        }
    }
}

impl Correction {
    fn write(&self, condition: &mut Map<String, Value>) {
        for (key, value) in [("status", self.status), ("reason", self.reason), ("message", &self.message)] {
            condition.insert(key.to_owned(), Value::from(value));
        }
    }
}

/// The conditions of a status; none if it is no status.
fn conditions(payload: &mut Value) -> Option<&mut Vec<Value>> {
    payload.get("adapter")?;
    payload.get_mut("conditions")?.as_array_mut()
}

fn of_type<'c>(conditions: &'c mut [Value], kind: &str) -> impl Iterator<Item = &'c mut Map<String, Value>> {
    let of_type =
        move |condition: &&mut Map<String, Value>| condition.get("type").and_then(Value::as_str) == Some(kind);
    conditions.iter_mut().filter_map(Value::as_object_mut).filter(of_type)
}

#[cfg(test)]
mod tests;
