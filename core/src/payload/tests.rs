//! Tests of payloads: what the adapter builds for a missing value, and which mappings count as value
//! definitions.
#![expect(clippy::unwrap_used, clippy::panic, reason = "tests")]

use serde_json::json;

use super::*;
use crate::task::compile::{Surroundings, compile};

/// Builds a payload; returns it with the warnings.
#[track_caller]
fn built(build: &Value) -> (Value, Vec<String>) {
    let (payload, warnings) = tried(build);
    (payload.unwrap(), warnings)
}

/// Builds a payload that can fail; returns it, or the error, with the warnings.
#[track_caller]
fn tried(build: &Value) -> (Result<Value, String>, Vec<String>) {
    let params = json!([{ "name": "unset", "source": "event.unset" }]);
    let text = json!({ "params": params, "post": { "payloads": [{ "name": "status", "build": build }] } }).to_string();
    let surroundings = Surroundings { read: &|path| Err(format!("{path} is not there")), environment: &|_| None };
    let compiled = compile("task.yaml", &text, &surroundings);
    let task = compiled.task.unwrap_or_else(|| panic!("{}", compiled.diagnostics));
    let mut scope = Scope::new(jiff::Timestamp::UNIX_EPOCH);
    scope.set("resources", json!({}));
    let mut warnings = Vec::new();
    let payload = super::build(&task.payloads[0].build, &scope, &mut warnings);
    (payload.map_err(|error| error.to_string()), warnings)
}

#[test]
fn condition_whose_status_does_not_evaluate_is_unknown_with_the_cause() {
    let condition = |status: Value| json!({ "type": "Health", "status": status, "reason": "Mine", "message": "mine" });
    let fails = "resources.gone.status == 'x' ? 'True' : 'False'";
    for (status, cause) in [
        (json!({ "expression": fails }), "no such key"),
        (json!({ "expression": "optional.none()" }), "it gave no value"),
        (json!({ "expression": "null" }), "has no value"),
        (
            json!({ "expression": "1 < 2" }),
            "the status is true, but it has to be one of the texts True, False and Unknown",
        ),
        (json!({ "expression": "''" }), "the status is \"\""),
        (json!("{{ true }}"), "the status is \"true\""),
        (json!("{{ .unset"), "unclosed"),
        (json!("Ready"), "the status is \"Ready\""),
        (json!(true), "the status is true"),
        (json!(["True"]), "the status is [\"True\"]"),
        (json!({ "field": "resources.gone" }), "it is not there"),
        (json!("{{ .unset.below }}"), "unset"),
        (json!(null), "has no value"),
    ] {
        for keys in [["adapter", "conditions"], ["Adapter", "Conditions"]] {
            let (payload, warnings) = built(&json!({ keys[0]: "a", keys[1]: [condition(status.clone())] }));
            let sent = &payload[keys[1]][0];
            assert_eq!((&sent["status"], &sent["reason"]), (&json!("Unknown"), &json!(NOT_EVALUATED)), "{status}");
            let message = sent["message"].as_str().unwrap();
            assert!(message.contains(cause), "{status}: {message}");
            assert!(warnings.len() == 1 && warnings[0].contains("Health"), "{warnings:?}");
        }
    }
}

#[test]
fn unknown_condition_keeps_its_other_members() {
    let missing = json!({ "field": "resources.gone" });
    let condition =
        json!({ "type": "Health", "status": { "field": "resources.gone", "default": "False" }, "reason": missing });
    let (payload, warnings) = built(
        &json!({ "adapter": "a", "status": missing, "data": [{ "status": missing }], "conditions": [condition] }),
    );
    let expected = json!({ "type": "Health", "status": "False", "reason": null });
    assert_eq!(payload["conditions"][0], expected);
    assert_eq!((&payload["status"], &payload["data"][0]["status"]), (&json!(null), &json!(null)));
    assert_eq!(warnings.len(), 3);
    let (payload, _) = built(&json!({ "conditions": [{ "type": "Health", "status": missing }] }));
    assert_eq!(payload["conditions"][0]["status"], json!(null), "without an adapter it is no status");
}

#[test]
fn condition_whose_reason_or_message_fails_keeps_its_status() {
    for (key, node, said) in [
        ("reason", json!("{{ .unset.below }}"), "ReasonNotRendered"),
        ("Reason", json!("{{ .unset.below }}"), "ReasonNotRendered"),
        ("message", json!("gone: {{ .unset.below }}"), "not rendered: "),
    ] {
        let condition = json!({ "type": "Available", "status": "False", key: node });
        let (payload, warnings) = built(&json!({ "adapter": "a", "conditions": [condition] }));
        let sent = &payload["conditions"][0];
        assert_eq!((&sent["type"], &sent["status"]), (&json!("Available"), &json!("False")));
        assert!(sent[key].as_str().unwrap().starts_with(said), "{sent}");
        assert!(warnings.len() == 1 && warnings[0].contains("unset"), "{warnings:?}");
    }
}

#[test]
fn condition_whose_reason_fails_says_why_in_its_message() {
    for message in [json!("mine"), json!("{{ .unset.other }}")] {
        let condition =
            json!({ "type": "Available", "status": "True", "reason": "{{ .unset.below }}", "message": message });
        let (payload, _) = built(&json!({ "adapter": "a", "conditions": [condition] }));
        let sent = &payload["conditions"][0];
        assert_eq!((&sent["status"], &sent["reason"]), (&json!("True"), &json!("ReasonNotRendered")));
        let message = sent["message"].as_str().unwrap();
        assert!(message.starts_with("not rendered: ") && message.contains("unset"), "{message}");
    }
}

#[test]
fn status_loses_no_more_than_the_part_that_fails() {
    let fails = "{{ .unset.below }}";
    let available = json!({ "type": "Available", "status": "False" });
    for (name, part, left) in [
        ("data", json!({ "data": { "a": fails, "b": "kept" } }), json!({ "data": { "a": null, "b": "kept" } })),
        ("a list in data", json!({ "data": [fails, 1] }), json!({ "data": [null, 1] })),
        ("a key", json!({ fails: "lost", "data": { fails: "lost", "b": "kept" } }), json!({ "data": { "b": "kept" } })),
        ("the time", json!({ "observed_time": fails }), json!({ "observed_time": null })),
    ] {
        for adapter in ["adapter", "Adapter"] {
            let mut build = json!({ adapter: "a", "conditions": [available] });
            let mut expected = build.clone();
            build.as_object_mut().unwrap().extend(part.as_object().unwrap().clone());
            expected.as_object_mut().unwrap().extend(left.as_object().unwrap().clone());
            let (payload, warnings) = built(&build);
            assert_eq!(payload, expected, "{name}");
            assert!(!warnings.is_empty() && warnings.iter().all(|warning| warning.contains("unset")), "{warnings:?}");
        }
    }
}

#[test]
fn condition_loses_no_more_than_the_member_that_fails() {
    let fails = "{{ .unset.below }}";
    let condition = json!({ "type": "Available", "status": "False", "last_transition_time": fails, fails: "lost" });
    let (payload, warnings) = built(&json!({ "adapter": "a", "conditions": [condition] }));
    let left = json!({ "type": "Available", "status": "False", "last_transition_time": null });
    assert_eq!((&payload["conditions"][0], warnings.len()), (&left, 2));
}

#[test]
fn condition_without_a_type_is_left_out() {
    let available = json!({ "type": "Available", "status": "False" });
    for kind in [
        json!("{{ .unset.below }}"),
        json!("{{ if false }}x{{ end }}"),
        json!({ "expression": "resources.gone" }),
        json!({ "expression": "1" }),
        json!(null),
    ] {
        let untyped = json!({ "type": kind, "status": "True" });
        let (payload, warnings) = built(&json!({ "adapter": "a", "conditions": [untyped, available] }));
        assert_eq!(payload["conditions"], json!([available]), "{kind}");
        assert!(warnings.iter().any(|warning| warning.contains("left out")), "{kind}: {warnings:?}");
    }
    for conditions in [json!([{ "status": "True" }]), json!(["{{ .unset.below }}"]), json!({ "field": "unset" })] {
        assert_eq!(built(&json!({ "adapter": "a", "conditions": conditions })).0["conditions"], json!([]));
    }
    let untyped = json!([{ "status": "True" }]);
    assert_eq!(built(&json!({ "conditions": untyped })).0["conditions"], untyped, "without an adapter it is no status");
}

#[test]
fn failing_key_of_the_conditions_reaches_the_api_as_unknown() {
    let fails = "{{ .unset.below }}conditions";
    let available = json!({ "type": "Available", "status": "True", "reason": "Mine", "message": "mine" });
    let (payload, warnings) = built(&json!({ "adapter": "a", fails: [available, { "status": "True" }] }));
    let sent = payload["conditions"].as_array().unwrap();
    assert_eq!(sent.len(), 1, "{payload}");
    let sent = [&sent[0]["type"], &sent[0]["status"], &sent[0]["reason"]];
    assert_eq!(sent, [&json!("Available"), &json!("Unknown"), &json!(NOT_EVALUATED)]);
    let message = payload["conditions"][0]["message"].as_str().unwrap();
    assert!(message.contains("unset"), "{message}");
    assert!(warnings.iter().any(|warning| warning.contains("counts as `conditions`")), "{warnings:?}");
    let (payload, _) = built(&json!({ "adapter": "a", "conditions": [available], fails: [available] }));
    assert_eq!(payload, json!({ "adapter": "a", "conditions": [available] }), "the conditions have their key");
    let (payload, _) = built(&json!({ "adapter": "a", fails: { "a": 1 } }));
    assert_eq!(payload, json!({ "adapter": "a" }), "conditions are a list");
}

#[test]
fn condition_without_a_type_is_named_by_its_index_alone() {
    let untyped = json!({ "status": "Ready" });
    let available = json!({ "type": "Available", "status": "True" });
    let (payload, warnings) = built(&json!({ "adapter": "a", "conditions": [available, untyped] }));
    assert_eq!(payload["conditions"], json!([available]));
    assert_eq!(warnings, ["conditions[1] is left out of the status: it has no text as its type"]);
}

#[test]
fn condition_with_two_statuses_one_of_which_fails_is_unknown() {
    let condition = json!({ "type": "Available", "status": "True", "Status": "{{ .unset.below }}" });
    let (payload, _) = built(&json!({ "adapter": "a", "conditions": [condition] }));
    let sent = &payload["conditions"][0];
    assert_eq!((&sent["status"], sent.get("Status")), (&json!("Unknown"), None), "{sent}");
}

#[test]
fn payload_without_a_usable_status_fails_as_a_whole() {
    let fails = "{{ .unset.below }}";
    for build in [
        json!({ "data": fails }),
        json!({ fails: "a" }),
        json!({ "adapter": fails, "conditions": [] }),
        json!({ "adapter": "a", "observed_generation": fails, "conditions": [] }),
    ] {
        let (payload, _) = tried(&build);
        assert!(payload.clone().is_err_and(|error| error.contains("unset")), "{build}: {payload:?}");
    }
}

#[test]
fn value_definitions_are_recognised_as_in_go() {
    for (definition, value) in [
        (json!({ "expression": true }), json!(true)),
        (json!({ "expression": 5 }), json!(5)),
        (json!({ "expression": 1.5 }), json!(1.5)),
        (json!({ "field": 5, "default": "none" }), json!("none")),
        (json!({ "field": "", "expression": "1 + 1" }), json!(2)),
        (json!({ "field": "unset", "expression": "", "default": 3 }), json!(3)),
        (json!({ "field": null, "expression": "2" }), json!(2)),
        (json!({ "field": "", "expression": "", "default": 3 }), json!(3)),
        (json!({ "field": { "a": 1 } }), json!({ "field": { "a": 1 } })),
        (json!({ "expression": ["a"], "x": 1 }), json!({ "expression": ["a"], "x": 1 })),
    ] {
        assert_eq!(built(&json!({ "value": definition })).0["value"], value, "{definition}");
    }
}
