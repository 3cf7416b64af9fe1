//! Tests of the rules that apply to every kind. `kinds` and `workloads` test the rows of the table.
#![expect(clippy::unwrap_used, reason = "tests")]

mod hints;
mod kinds;
mod properties;
mod workloads;

use serde_json::{Value, json};

use super::Readiness::{Failed, InProgress, Ready, Terminating};
use super::*;

/// A change of an object: a path such as `status.conditions.0.status`, and the new value.
type Change = (&'static str, Value);

fn now() -> Timestamp {
    "2026-11-01T12:00:00Z".parse().unwrap()
}

fn judged(object: &Value) -> (Readiness, String) {
    hinted(object, "")
}

fn hinted(object: &Value, hints: &str) -> (Readiness, String) {
    let judgement = judge(object, &Hints::parse(hints).unwrap(), now());
    (judgement.readiness, judgement.why)
}

/// Sets fields of a copy of an object. Null removes a field: both are the same to Kubernetes.
fn changed(object: &Value, changes: &[Change]) -> Value {
    let mut object = object.clone();
    for (path, value) in changes {
        let mut field = &mut object;
        for key in path.split('.') {
            field = match key.parse::<usize>() {
                Ok(position) => &mut field[position],
                Err(_) => &mut field[key],
            };
        }
        *field = value.clone();
    }
    object
}

/// Judges a base object after each set of changes.
fn check(base: &Value, cases: &[(&str, &[Change], Readiness, &str)]) {
    for (name, changes, readiness, why) in cases {
        assert_eq!(judged(&changed(base, changes)), (*readiness, (*why).to_owned()), "{name}");
    }
}

fn condition(name: &str, status: &str) -> Value {
    json!({"type": name, "status": status})
}

fn because(name: &str, status: &str, reason: &str) -> Value {
    json!({"type": name, "status": status, "reason": reason, "message": "free text"})
}

/// An object of a kind without a rule of its own.
fn widget(conditions: &[Value]) -> Value {
    json!({
        "apiVersion": "example.io/v1", "kind": "Widget",
        "metadata": {"name": "a", "generation": 3},
        "status": {"observedGeneration": 3, "conditions": conditions},
    })
}

#[test]
fn first_rule_that_applies_decides() {
    let deleting: Change = ("metadata.deletionTimestamp", json!("2026-11-01T11:59:00Z"));
    let outdated: Change = ("status.observedGeneration", json!(2));
    let conditions = |conditions: Value| -> Change { ("status.conditions", conditions) };
    let (reconciling, stalled) = (condition("Reconciling", "True"), because("Stalled", "True", "NoQuota"));
    let ready = condition("Ready", "True");
    let cases: &[(&str, &[Change], Readiness, &str)] = &[
        (
            "deletion precedes all else",
            &[deleting.clone(), outdated.clone(), conditions(json!([stalled]))],
            Terminating,
            "Kubernetes is deleting it",
        ),
        (
            "deletion precedes an odd form",
            &[deleting.clone(), ("kind", json!(5))],
            Terminating,
            "Kubernetes is deleting it",
        ),
        (
            "a deletion says what holds it",
            &[deleting, ("metadata.finalizers", json!(["example.io/hold"]))],
            Terminating,
            "Kubernetes is deleting it; held by the finalizer example.io/hold",
        ),
        (
            "an outdated status precedes its conditions",
            &[outdated, conditions(json!([stalled, ready]))],
            InProgress,
            "its controller has observed generation 2, not yet 3",
        ),
        (
            "Stalled precedes Ready",
            &[conditions(json!([ready, stalled]))],
            Failed,
            "its condition Stalled is True because of NoQuota",
        ),
        (
            "Reconciling precedes Ready",
            &[conditions(json!([ready, reconciling]))],
            InProgress,
            "its condition Reconciling is True",
        ),
        (
            "the first of Stalled and Reconciling counts",
            &[conditions(json!([stalled, reconciling]))],
            Failed,
            "its condition Stalled is True because of NoQuota",
        ),
        (
            "the first of Reconciling and Stalled counts",
            &[conditions(json!([reconciling, stalled]))],
            InProgress,
            "its condition Reconciling is True",
        ),
        (
            "Stalled and Reconciling that are not True say nothing",
            &[conditions(json!([condition("Reconciling", "False"), condition("Stalled", "Unknown"), ready]))],
            Ready,
            "its condition Ready is True",
        ),
        (
            "Stalled precedes the rule of a kind",
            &[("apiVersion", json!("v1")), ("kind", json!("ConfigMap")), conditions(json!([stalled]))],
            Failed,
            "its condition Stalled is True because of NoQuota",
        ),
        (
            "a kind without a rule and without conditions is ready",
            &[("status", json!(null))],
            Ready,
            "it exists, and no condition Ready says otherwise",
        ),
        (
            "an object without generation is not compared",
            &[("metadata.generation", json!(null)), conditions(json!([ready]))],
            Ready,
            "its condition Ready is True",
        ),
    ];
    check(&widget(&[]), cases);
}

#[test]
fn object_of_another_form_is_in_progress() {
    let ready = condition("Ready", "True");
    let cases: &[(&str, &[Change], Readiness, &str)] = &[
        ("no kind, as in a list", &[("kind", json!(null))], InProgress, "its `kind` is not set"),
        ("an empty version", &[("apiVersion", json!(""))], InProgress, "its `apiVersion` is not set"),
        ("a kind that is no text", &[("kind", json!(["Widget"]))], InProgress, "its `kind` is not text"),
        ("metadata that is text", &[("metadata", json!("a"))], InProgress, "its `metadata` is not a mapping"),
        ("a status that is text", &[("status", json!("Ready"))], InProgress, "its `status` is not a mapping"),
        (
            "a generation that is text",
            &[("metadata.generation", json!("3"))],
            InProgress,
            "its `metadata.generation` is not a whole number",
        ),
        (
            "a fraction of a generation",
            &[("status.observedGeneration", json!(3.0))],
            InProgress,
            "its `status.observedGeneration` is not a whole number",
        ),
        (
            "conditions as a mapping",
            &[("status.conditions", json!({"Ready": "True"}))],
            InProgress,
            "its `status.conditions` is not a list",
        ),
        (
            "a condition that is text",
            &[("status.conditions", json!([ready, "Stalled"]))],
            InProgress,
            "its `status.conditions[1]` is not a mapping",
        ),
        (
            "a condition without type",
            &[("status.conditions", json!([ready, {"status": "True"}]))],
            InProgress,
            "its `status.conditions[1].type` is not set",
        ),
        (
            "a status that is a boolean",
            &[("status.conditions.0.status", json!(true))],
            InProgress,
            "its `status.conditions[0].status` is not text",
        ),
        (
            "a status in lower case",
            &[("status.conditions.0.status", json!("true"))],
            InProgress,
            "its condition Ready is true",
        ),
        (
            "a condition without status",
            &[("status.conditions.0.status", json!(null))],
            InProgress,
            "its condition Ready is (empty)",
        ),
        (
            "two conditions that contradict each other",
            &[("status.conditions", json!([ready, condition("Ready", "False")]))],
            InProgress,
            "its `status.conditions` is not free of contradictions",
        ),
        (
            "two conditions that agree",
            &[("status.conditions", json!([ready, ready]))],
            Ready,
            "its condition Ready is True",
        ),
    ];
    check(&widget(std::slice::from_ref(&ready)), cases);
    let no_mapping = "its `apiVersion` is not there, since the object is not a mapping";
    for object in [json!(null), json!("Ready"), json!([ready])] {
        assert_eq!(judged(&object), (InProgress, no_mapping.to_owned()), "{object}");
    }
}

#[test]
fn reason_for_people_quotes_single_words_only() {
    let long = "a".repeat(64);
    let cases = [
        ("a reason", "Quota:Exceeded", "Quota:Exceeded"),
        ("a sentence", "password is hunter2", "(not one word)"),
        ("several lines", "No\nQuota", "(not one word)"),
        ("a long text", long.as_str(), "(not one word)"),
    ];
    for (name, reason, quoted) in cases {
        let object = widget(&[because("Ready", "False", reason)]);
        let why = format!("its condition Ready is False because of {quoted}");
        assert_eq!(judged(&object), (InProgress, why), "{name}");
    }
}
