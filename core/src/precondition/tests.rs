//! Tests of preconditions whose API call cannot be rendered, or whose answer has null where a text is expected.
#![expect(clippy::panic, reason = "tests")]

use serde_json::json;

use super::*;
use crate::task::compile::{Surroundings, compile};

#[test]
fn call_whose_url_would_leave_its_path_is_never_made() {
    let text = json!({
        "params": [{ "name": "clusterId", "source": "event.id" }],
        "preconditions": [{ "name": "cluster", "api_call": { "method": "GET", "url": "/clusters/{{ .clusterId }}" } }],
    });
    let surroundings = Surroundings { read: &|path| Err(format!("{path} is not there")), environment: &|_| None };
    let compiled = compile("task.yaml", &text.to_string(), &surroundings);
    let task = compiled.task.unwrap_or_else(|| panic!("{}", compiled.diagnostics));
    let verdict_of = |id: &str| {
        let mut scope = Scope::new(jiff::Timestamp::UNIX_EPOCH);
        scope.set("clusterId", id.into());
        Evaluator::new(&task).resume(&mut scope, None)
    };

    let Progress::Needs(Need::Call(request)) = verdict_of("c-1") else { panic!("a call is wanted") };
    assert_eq!(request.url, "/clusters/c-1");
    for id in ["../../x", "../nodepools/y", "..", "c-1?x"] {
        let progress = verdict_of(id);
        let Progress::Done(Verdict::Failed(error)) = progress else { panic!("{id}: {progress:?}") };
        assert!(error.message.contains(id), "{id}: {error}");
    }
}

#[test]
fn condition_without_reason_and_message_can_be_tested() {
    let body = r#"{"status": {"conditions": [
        {"type": "Reconciled", "status": "False", "reason": null, "message": null, "observed_generation": 1}
    ]}}"#;
    let reason = "status.conditions[?(@.type=='Reconciled')].reason";
    let captures = json!([
        { "name": "reason", "field": reason },
        { "name": "status", "expression": "conditionStatus(status.conditions, 'Reconciled')" },
        { "name": "other", "field": "status.conditions[?(@.reason=='x')].type" },
    ]);
    let cases = [
        (
            "a field that is null does not exist",
            json!({ "conditions": [{ "field": "reason", "operator": "exists" }] }),
            false,
        ),
        (
            "it equals no text",
            json!({ "conditions": [{ "field": "reason", "operator": "equals", "value": "x" }] }),
            false,
        ),
        (
            "it differs from each",
            json!({ "conditions": [{ "field": "reason", "operator": "notEquals", "value": "x" }] }),
            true,
        ),
        (
            "it is in no list",
            json!({ "conditions": [{ "field": "reason", "operator": "in", "values": ["x"] }] }),
            false,
        ),
        (
            "the status is read",
            json!({ "conditions": [{ "field": "status", "operator": "equals", "value": "False" }] }),
            true,
        ),
        (
            "an expression compares it",
            json!({ "expression": "cluster.status.conditions.exists(c, c.reason == 'x')" }),
            false,
        ),
        (
            "an expression replaces it",
            json!({ "expression": "(reason == null ? 'none' : reason) == 'none' && other == null" }),
            true,
        ),
    ];
    for (name, check, met) in cases {
        let mut precondition = json!({
            "name": "cluster", "api_call": { "method": "GET", "url": "/clusters/c-1" }, "capture": captures,
        });
        if let (Some(precondition), Some(check)) = (precondition.as_object_mut(), check.as_object()) {
            precondition.extend(check.clone());
        }
        let surroundings = Surroundings { read: &|path| Err(format!("{path} is not there")), environment: &|_| None };
        let text = json!({ "preconditions": [precondition] }).to_string();
        let compiled = compile("task.yaml", &text, &surroundings);
        let task = compiled.task.unwrap_or_else(|| panic!("{}", compiled.diagnostics));
        let mut scope = Scope::new(jiff::Timestamp::UNIX_EPOCH);
        let mut evaluator = Evaluator::new(&task);
        assert!(matches!(evaluator.resume(&mut scope, None), Progress::Needs(_)), "{name}");
        let Progress::Done(verdict) = evaluator.resume(&mut scope, Some(Answer::Called(Ok(body.to_owned())))) else {
            panic!("{name}: more is needed")
        };
        assert_eq!(matches!(verdict, Verdict::Met), met, "{name}: {verdict:?}");
        let warnings: Vec<_> = evaluator.into_results().into_iter().flat_map(|result| result.warnings).collect();
        assert!(warnings.iter().all(|warning| warning.contains("other")), "{name}: {warnings:?}");
    }
}
