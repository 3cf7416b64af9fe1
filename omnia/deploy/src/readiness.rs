//! What the status of an object says.
//!
//! In: an object as the server has it, and the generation that was written. Out: a [`Readiness`] while a deployment waits, a
//! [`Health`] when somebody asks later. Fails never.
//!
//! A status that speaks of an older generation says nothing of what was just written, neither that it is ready nor that it failed.

use serde_json::Value;

/// Whether what was written is in effect.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Readiness {
    /// It is.
    Ready,
    /// Not yet, or nobody can tell.
    Pending,
    /// It will not be; what the object says of it.
    Failed(String),
}

/// How a deployed object is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Health {
    /// It works.
    Healthy,
    /// It does not; what the object says of it.
    Unhealthy(String),
}

const READY: [&str; 3] = ["Running", "Active", "Ready"];
const FAILED: [&str; 2] = ["Failed", "Error"];
/// The phase of a version that a newer one replaced, which is as it should be.
const SUPERSEDED: &str = "Superseded";

/// Says whether the generation that was written is in effect; `None` if the server did not say which it was.
#[must_use]
pub fn readiness(object: &Value, written: Option<i64>) -> Readiness {
    let phase = phase(object);
    if is_older(object, written) {
        return Readiness::Pending;
    }
    match phase {
        Some(phase) if FAILED.contains(&phase) => Readiness::Failed(explanation(object)),
        Some(phase) if READY.contains(&phase) => Readiness::Ready,
        Some(_) | None if is_ready(object) => Readiness::Ready,
        Some(_) | None => Readiness::Pending,
    }
}

/// Says how a deployed object is. Only a runtime has to have a status: other kinds may have no controller.
#[must_use]
pub fn health(object: &Value, is_runtime: bool) -> Health {
    let says = || Health::Unhealthy(explanation(object));
    match phase(object) {
        Some(phase) if FAILED.contains(&phase) => says(),
        Some(phase) if READY.contains(&phase) || phase == SUPERSEDED => Health::Healthy,
        Some(_) => {
            if is_ready(object) {
                Health::Healthy
            } else {
                says()
            }
        }
        None if is_ready(object) => Health::Healthy,
        None if is_runtime => Health::Unhealthy("has no status yet".to_owned()),
        None if ready(object).is_some() => says(),
        None => Health::Healthy,
    }
}

/// The generation of an object, of which its status speaks once it is observed.
#[must_use]
pub fn generation(object: &Value) -> Option<i64> {
    object.pointer("/metadata/generation").and_then(Value::as_i64)
}

/// Whether the status speaks of an older generation than the written one. Without an observed generation, only the first
/// generation can be the one that is meant.
fn is_older(object: &Value, written: Option<i64>) -> bool {
    let Some(written) = written else { return false };
    let of_condition = || ready(object)?.get("observedGeneration")?.as_i64();
    let observed = object.pointer("/status/observedGeneration").and_then(Value::as_i64).or_else(of_condition);
    observed.unwrap_or(1) < written
}

fn phase(object: &Value) -> Option<&str> {
    object.pointer("/status/phase").and_then(Value::as_str).filter(|phase| !phase.is_empty())
}

fn ready(object: &Value) -> Option<&Value> {
    let conditions = object.pointer("/status/conditions")?.as_array()?;
    conditions.iter().find(|condition| condition.get("type").and_then(Value::as_str) == Some("Ready"))
}

fn is_ready(object: &Value) -> bool {
    ready(object).and_then(|condition| condition.get("status")).and_then(Value::as_str) == Some("True")
}

fn explanation(object: &Value) -> String {
    let text = |key: &str| ready(object)?.get(key)?.as_str().filter(|text| !text.is_empty());
    let phase = phase(object).map(|phase| format!("phase {phase}"));
    let parts = [phase.as_deref(), text("reason"), text("message")];
    parts.into_iter().flatten().collect::<Vec<_>>().join(": ")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn object(phase: &str, ready: &str, observed: Option<i64>) -> Value {
        let condition = json!({ "type": "Ready", "status": ready, "reason": "R", "message": "m" });
        json!({ "status": { "phase": phase, "conditions": [condition], "observedGeneration": observed } })
    }

    #[test]
    fn only_the_written_generation_counts() {
        let failed = || Readiness::Failed("phase Failed: R: m".to_owned());
        let cases = [
            ("ready for the older generation", object("", "True", Some(1)), Some(2), Readiness::Pending),
            ("ready for the written one", object("", "True", Some(2)), Some(2), Readiness::Ready),
            ("ready for a newer one", object("", "True", Some(3)), Some(2), Readiness::Ready),
            ("a server without generations", object("", "True", None), None, Readiness::Ready),
            ("none observed, a new object", object("Running", "False", None), Some(1), Readiness::Ready),
            ("none observed, a changed object", object("Running", "True", None), Some(2), Readiness::Pending),
            ("active", object("Active", "Unknown", Some(2)), Some(2), Readiness::Ready),
            ("pending", object("Pending", "False", Some(2)), Some(2), Readiness::Pending),
            ("failed, with a stale condition", object("Failed", "True", Some(2)), Some(2), failed()),
            ("failed before the write", object("Failed", "False", Some(1)), Some(2), Readiness::Pending),
            ("failed, without generations", object("Failed", "False", None), None, failed()),
            ("no status", json!({}), Some(1), Readiness::Pending),
        ];
        for (name, object, written, expected) in cases {
            assert_eq!(readiness(&object, written), expected, "{name}");
        }
        let of_condition =
            json!({ "status": { "conditions": [{ "type": "Ready", "status": "True", "observedGeneration": 2 }] } });
        assert_eq!(readiness(&of_condition, Some(2)), Readiness::Ready);
        assert_eq!(readiness(&of_condition, Some(3)), Readiness::Pending);
    }

    #[test]
    fn health_follows_phase_and_condition() {
        let unhealthy = |text: &str| Health::Unhealthy(text.to_owned());
        let cases = [
            ("running", object("Running", "False", None), true, Health::Healthy),
            ("superseded", object("Superseded", "False", None), false, Health::Healthy),
            ("ready", object("Odd", "True", None), true, Health::Healthy),
            ("error", object("Error", "True", None), false, unhealthy("phase Error: R: m")),
            ("pending", object("Pending", "False", None), true, unhealthy("phase Pending: R: m")),
            ("no phase, not ready", object("", "False", None), false, unhealthy("R: m")),
            ("no status", json!({}), false, Health::Healthy),
            ("a runtime without status", json!({}), true, unhealthy("has no status yet")),
        ];
        for (name, object, is_runtime, expected) in cases {
            assert_eq!(health(&object, is_runtime), expected, "{name}");
        }
    }
}
