//! What a payload holds where a value is missing, and which mappings are value definitions.
#![expect(clippy::unwrap_used, clippy::panic, reason = "tests")]

use serde_json::json;

use super::*;
use crate::task::compile::{Surroundings, compile};

/// The built payload and the warnings.
#[track_caller]
fn built(build: &Value) -> (Value, Vec<String>) {
    let params = json!([{ "name": "unset", "source": "event.unset" }]);
    let text = json!({ "params": params, "post": { "payloads": [{ "name": "status", "build": build }] } }).to_string();
    let surroundings = Surroundings { read: &|path| Err(format!("{path} is not there")), environment: &|_| None };
    let compiled = compile("task.yaml", &text, &surroundings);
    let task = compiled.task.unwrap_or_else(|| panic!("{}", compiled.diagnostics));
    let mut scope = Scope::new(jiff::Timestamp::UNIX_EPOCH);
    scope.set("resources", json!({}));
    let mut warnings = Vec::new();
    (super::build(&task.payloads[0].build, &scope, &mut warnings).unwrap(), warnings)
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
fn only_the_status_of_a_condition_becomes_unknown() {
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
fn value_definitions_are_the_mappings_that_go_takes_for_them() {
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
