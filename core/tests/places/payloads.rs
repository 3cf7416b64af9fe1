//! Payloads and post actions whose expression fails or has no value.

use lifecycle_core::post::Reporter;
use lifecycle_core::report_overlay::Account;
use serde_json::{Value, json};

use crate::world::{ABSENT, FAILS, NULL, drive, scope, task};

/// Runs phase 4 with one payload and one action that sends it; returns the payload, the warnings and the
/// action's end.
fn run_post(payload: Value, when: &str) -> (Option<Value>, Vec<String>, String) {
    let mut built = json!({"name": "status", "build": {"id": "c-1"}});
    built.as_object_mut().unwrap().extend(payload.as_object().unwrap().clone());
    let call = json!({"method": "PUT", "url": "/statuses", "body": "{{ .status }}"});
    let action = json!({"name": "send", "api_call": call, "when": {"expression": when}});
    let task = task(&json!({"post": {"payloads": [built], "post_actions": [action]}}));
    let mut scope = scope();
    let (report, _) =
        drive(Reporter::new(&task, Account { outcomes: &[], unread: None, is_deleting: Some(true) }), &mut scope);
    let payload = scope.get("status").map(|text| serde_json::from_str(text.as_str().unwrap()).unwrap());
    let end = match (report.error, report.actions.first()) {
        (Some(error), _) => error.message,
        (None, action) => format!("{:?}", action.unwrap().end),
    };
    (payload, report.warnings, end)
}

#[test]
fn payload_value_that_fails_or_is_absent_gets_its_default() {
    let value = |expression: &str, default: Value| {
        let mut value = json!({"expression": expression});
        if !default.is_null() {
            value["default"] = default;
        }
        let (payload, warnings, _) = run_post(json!({"build": {"value": value}}), "true");
        (payload.unwrap()["value"].clone(), warnings.len())
    };
    for expression in [FAILS, ABSENT] {
        assert_eq!(value(expression, json!("none")), (json!("none"), 0), "{expression}");
        assert_eq!(value(expression, json!(null)), (json!(null), 1), "{expression}");
    }
    assert_eq!(value(NULL, json!("none")), (json!(null), 0));
    assert_eq!(value("event.id", json!("none")), (json!("c-1"), 0));
}

#[test]
fn failing_when_ends_the_phase_or_fails_readers_of_the_payload() {
    let cause = "no such key: event.nope";
    let (payload, _, end) = run_post(json!({"when": {"expression": FAILS}}), "true");
    assert!(payload.is_none() && end.starts_with("failed to build payload 'status'") && end.ends_with(cause), "{end}");
    let (payload, _, end) = run_post(json!({}), FAILS);
    assert!(payload.is_some() && end.ends_with(cause), "{end}");

    assert_eq!(run_post(json!({}), "true").2, "Executed");
    assert_eq!(run_post(json!({}), ABSENT).2, "Executed", "as in the Go adapter");
    assert_eq!(run_post(json!({}), NULL).2, "Skipped(\"when condition evaluated to false: null\")");
    let (payload, _, end) = run_post(json!({"when": {"expression": NULL}}), "true");
    assert_eq!((payload, end.as_str()), (None, "Skipped(\"referenced payload 'status' was skipped\")"));
}
