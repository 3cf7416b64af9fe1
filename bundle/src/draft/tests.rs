//! Tests of what a bundle writes otherwise than its author did.

use serde_json::{Value, json};

use super::*;

/// The object as the bundle writes it, or the faults of it.
fn drafted(api_version: &str, kind: &str, fields: &Value) -> Result<Value, String> {
    let mut object = json!({ "apiVersion": api_version, "kind": kind, "metadata": { "name": "a" } });
    if let (Some(object), Some(fields)) = (object.as_object_mut(), fields.as_object()) {
        object.extend(fields.clone());
    }
    let draft = Draft::new(object, "hyperfleet.io", &Policies::default());
    draft.map(|draft| draft.object).map_err(|faults| faults.join("; "))
}

#[test]
fn texts_of_a_secret_are_its_data() {
    let secret = drafted("v1", "Secret", &json!({ "stringData": { "a": "hi" }, "data": { "b": "eA==" } }));
    let secret = secret.unwrap_or_default();
    assert_eq!((&secret["data"], secret.get("stringData")), (&json!({ "a": "aGk=", "b": "eA==" }), None));
}

#[test]
fn rules_of_an_aggregated_role_are_left_to_its_controller() {
    let role = |fields: Value| drafted("rbac.authorization.k8s.io/v1", "ClusterRole", &fields);
    let (rule, selected) = (json!([{ "verbs": ["get"] }]), json!({ "clusterRoleSelectors": [] }));
    for (name, fields, expected) in [
        ("empty rules", json!({ "aggregationRule": selected, "rules": [] }), None),
        ("no rules", json!({ "aggregationRule": selected }), None),
        ("null", json!({ "aggregationRule": selected, "rules": null }), None),
        ("rules that nothing aggregates", json!({ "rules": rule }), Some(&rule)),
        ("empty rules that nothing aggregates", json!({ "rules": [] }), Some(&json!([]))),
    ] {
        let role = role(fields).unwrap_or_default();
        assert_eq!((role["kind"].as_str(), role.get("rules")), (Some("ClusterRole"), expected), "{name}");
    }
    let refused = role(json!({ "aggregationRule": selected, "rules": rule })).err().unwrap_or_default();
    assert!(refused.contains("its `rules` belong to the controller that aggregates them"), "{refused}");
}
