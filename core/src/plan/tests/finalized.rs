//! Tests of the reported conditions `Finalized` and `Available` after disownings and deletions.
#![expect(clippy::unwrap_used, reason = "tests")]

use lifecycle_objects::keys;
use serde_json::{Value, json};

use super::passes::{Pass, config_map, gated, labels, live, pass, selecting, task, with, yes};
use super::store::Store;
use crate::report_overlay::{self, Account};

/// Returns the status of a condition after the overlay's corrections; none if the report lacks it.
fn reported(pass: &Pass, kind: &str) -> Option<String> {
    let payload = json!({ "adapter": "tester", "conditions": [] }).to_string();
    let payload =
        report_overlay::apply(payload, Account { outcomes: &pass.outcomes, unread: None, is_deleting: Some(true) });
    let payload: Value = serde_json::from_str(&payload.text).unwrap();
    let conditions = payload["conditions"].as_array().into_iter().flatten();
    let condition = conditions.into_iter().find(|condition| condition["type"] == json!(kind))?;
    condition["status"].as_str().map(str::to_owned)
}

fn live_objects(names: &[&str]) -> Store {
    Store::with(names.iter().map(|name| live("ConfigMap", name, json!({}), Some(3))))
}

fn finalized(pass: &Pass) -> bool {
    reported(pass, "Finalized").as_deref() == Some("True")
}

fn mixed() -> [Value; 3] {
    [
        gated(config_map("kept"), "orphan", "deleting"),
        gated(config_map("dropped"), "delete", "deleting"),
        config_map("plain"),
    ]
}

#[test]
fn disowning_is_reported_as_finalized_on_every_event() {
    let task = task(&[gated(config_map("kept"), "orphan", "deleting"), config_map("plain")]);
    let mut store = live_objects(&["kept", "plain"]);
    assert!(!finalized(&pass(&task, &mut store, 3, &[])));
    for _ in 0..3 {
        assert!(finalized(&pass(&task, &mut store, 3, &yes("deleting"))));
    }
}

#[test]
fn finalized_waits_for_a_deletion_to_finish() {
    let task = task(&mixed());
    let mut store = live_objects(&["kept", "dropped"]);
    store.hold("dropped");
    assert!(!finalized(&pass(&task, &mut store, 3, &yes("deleting"))), "it is being deleted");
    assert!(!finalized(&pass(&task, &mut store, 3, &yes("deleting"))), "it is waited for");
    store.remove("dropped");
    assert!(finalized(&pass(&task, &mut store, 3, &yes("deleting"))));
}

#[test]
fn overlay_does_not_add_finalized_for_deletions_or_failures() {
    let dropped = gated(config_map("dropped"), "delete", "deleting");
    let mut store = live_objects(&["dropped"]);
    for _ in 0..2 {
        let deleted = pass(&task(std::slice::from_ref(&dropped)), &mut store, 3, &yes("deleting"));
        assert_eq!(reported(&deleted, "Finalized"), None, "the task's payload reports `Finalized` itself");
    }
    for refused in ["disown kept", "delete dropped"] {
        let mut store = live_objects(&["kept", "dropped"]);
        store.refuse = vec![refused.to_owned()];
        let failed = pass(&task(&mixed()), &mut store, 3, &yes("deleting"));
        assert!(!finalized(&failed), "{refused}");
        assert_eq!(reported(&failed, "Available").as_deref(), Some("False"), "{refused}");
    }
}

#[test]
fn unread_resource_is_not_reported_as_available_or_finalized() {
    let mut store = live_objects(&["kept", "dropped"]);
    store.unreadable = vec!["ConfigMap".to_owned()];
    let failed = pass(&task(&mixed()), &mut store, 3, &yes("deleting"));
    assert_eq!((reported(&failed, "Available").as_deref(), finalized(&failed)), (Some("False"), false));
}

/// Returns the condition `Finalized` of a report whose author always says True.
fn claimed(pass: &Pass) -> Value {
    let conditions = json!([{ "type": "Finalized", "status": "True", "reason": "Mine", "message": "mine" }]);
    let payload = json!({ "adapter": "tester", "conditions": conditions }).to_string();
    let payload =
        report_overlay::apply(payload, Account { outcomes: &pass.outcomes, unread: None, is_deleting: Some(false) });
    serde_json::from_str::<Value>(&payload.text).unwrap()["conditions"][0].take()
}

#[test]
fn finalized_is_false_while_an_object_with_a_delete_gate_exists() {
    let task = task(&[gated(config_map("dropped"), "delete", "deleting"), config_map("plain")]);
    let mut store = live_objects(&["dropped", "plain"]);
    store.hold("dropped");
    for (name, variables, held) in [
        ("live", &[][..], ""),
        ("deleted just now", &yes("deleting"), ", held by the finalizer example.io/hold"),
        ("terminating", &yes("deleting"), ", held by the finalizer example.io/hold"),
    ] {
        let condition = claimed(&pass(&task, &mut store, 3, variables));
        assert_eq!((&condition["status"], &condition["reason"]), (&json!("False"), &json!("ObjectsRemain")), "{name}");
        let message = format!("resource dropped: ConfigMap team/dropped still exists{held}");
        assert_eq!(condition["message"], message, "{name}");
    }
    store.remove("dropped");
    assert_eq!(
        claimed(&pass(&task, &mut store, 3, &yes("deleting")))["reason"],
        "Mine",
        "an object without a gate may stay"
    );

    let mut empty = Store::new();
    let created = claimed(&pass(&task, &mut empty, 3, &[]));
    assert_eq!(created["reason"], "ObjectsRemain", "created by this pass");
    let deleted = claimed(&pass(&task, &mut empty, 3, &yes("deleting")));
    assert_eq!(deleted["reason"], "Mine", "deleted by this pass: {deleted}");
}

#[test]
fn finalized_is_false_while_an_object_that_lost_a_label_exists() {
    let entry = || gated(selecting("left"), "delete", "deleting");
    let but = |key: &str, value: Value| {
        let mut labels = with(labels("left"), json!({ key: value }));
        labels.as_object_mut().unwrap().retain(|_, value| !value.is_null());
        labels
    };
    let cases = [
        ("the adapter's", but(keys::ADAPTER, Value::Null), true),
        ("the API resource's", but(keys::RESOURCE_ID, Value::Null), true),
        ("none", labels("left"), false),
        ("another adapter's object", but(keys::ADAPTER, json!("other")), false),
        (
            "an object of another entry",
            with(but(keys::ADAPTER, Value::Null), json!({ keys::RESOURCE: "right" })),
            false,
        ),
    ];
    for (name, labels, is_lost) in cases {
        let mut store = Store::with([live("ConfigMap", "left-1", labels, Some(1))]);
        let deleted = pass(&task(&[entry()]), &mut store, 3, &yes("deleting"));
        let condition = claimed(&deleted);
        let reason = if is_lost { "OwnershipLost" } else { "Mine" };
        assert_eq!(condition["reason"], reason, "{name}: {condition}");
        assert_eq!(deleted.warnings().contains(&"ownership_lost"), is_lost, "{name}");
        if is_lost {
            assert_eq!(deleted.result(), ("skip", "AlreadyAbsent", "skipped", "7"), "{name}");
            let told = deleted.outcomes[0].reason();
            assert!(
                told.starts_with("ConfigMap team/left-1 exists, but has lost the label `hyperfleet.io/"),
                "{name}: {told}"
            );
            assert!(!deleted.outcomes[0].finalized, "{name}");
        }
    }
}

#[test]
fn hand_over_on_a_living_cluster_does_not_finalize_it() {
    let task =
        task(&[gated(config_map("kept"), "orphan", "disowning"), gated(config_map("none"), "orphan", "disowning")]);
    let mut store = live_objects(&["kept"]);
    for (said, is_deleting, warns) in
        [("False", None, true), ("True", None, false), ("False", Some(false), false), ("True", Some(false), false)]
    {
        let pass = pass(&task, &mut store, 3, &yes("disowning"));
        let told = json!({ "type": "Finalized", "status": said, "reason": "Mine", "message": "" });
        let payload = json!({ "adapter": "tester", "conditions": [told] }).to_string();
        let account = Account { outcomes: &pass.outcomes, unread: None, is_deleting };
        let corrected = report_overlay::apply(payload.clone(), account);
        assert_eq!((corrected.text, corrected.warning.is_some()), (payload, warns), "{said}, {is_deleting:?}");
    }
}

/// An object that no adapter wrote.
fn theirs(name: &str, labels: Value) -> Value {
    live("ConfigMap", name, labels, None)
}

#[test]
fn foreign_object_does_not_keep_finalized_from_being_true() {
    let entry = |more: Value| with(gated(config_map("theirs"), "delete", "deleting"), more);
    let never = json!({ "lifecycle": { "apply": { "when": { "expression": "false" } } } });
    let patch = json!([{ "when": { "expression": "true" }, "document": { "data": { "a": "b" } } }]);
    let cases = [
        ("left alone", entry(never.clone()), "ApplyGateFalse"),
        ("patched", entry(json!({ "lifecycle": { "patch": patch } })), "PatchGateHolds"),
        ("waited for", entry(json!({ "when": { "expression": "false" } })), "WhenFalse"),
    ];
    for (name, entry, reason) in cases {
        let task = task(&[entry, gated(config_map("mine"), "delete", "deleting")]);
        let mut store = Store::with([theirs("theirs", json!({}))]);
        let living = pass(&task, &mut store, 3, &[]);
        assert_eq!(living.results()[0].1, reason, "{name}");
        assert_eq!(claimed(&living)["message"], "resource mine: ConfigMap team/mine still exists", "{name}");
        store.remove("mine");
        let gone = pass(&task, &mut store, 3, &yes("deleting"));
        assert_eq!(claimed(&gone)["reason"], "Mine", "{name}");
        assert!(store.names().contains(&"theirs"), "{name}: nobody deletes it");
    }

    let adopting = task(&[entry(json!({ "adopt": true }))]);
    let mut store = Store::with([theirs("theirs", json!({}))]);
    let adopted = pass(&adopting, &mut store, 3, &[]);
    assert_eq!(adopted.result().2, "updated");
    assert_eq!(claimed(&adopted)["reason"], "ObjectsRemain", "it is the adapter's from now on");
}

#[test]
fn foreign_object_does_not_delay_finalized_after_a_disowning() {
    let never = json!({ "lifecycle": { "apply": { "when": { "expression": "false" } } } });
    let kept = gated(config_map("kept"), "orphan", "deleting");
    let task = task(&[kept, with(gated(config_map("theirs"), "delete", "replacing"), never)]);
    let mut store = Store::with([live("ConfigMap", "kept", json!({}), Some(3)), theirs("theirs", json!({}))]);
    let disowned = pass(&task, &mut store, 3, &yes("deleting"));
    assert_eq!(disowned.results()[1], ("skip", "ApplyGateFalse", "skipped", "16"));
    assert!(finalized(&disowned), "{:?}", disowned.outcomes);
}

#[test]
fn object_that_lost_the_adapters_label_and_the_generation_is_not_taken_for_foreign() {
    let mut labels = labels("job");
    labels.as_object_mut().unwrap().remove(keys::ADAPTER);
    let mut store = Store::with([theirs("job", labels)]);
    let deleted = pass(&task(&[gated(config_map("job"), "delete", "deleting")]), &mut store, 3, &yes("deleting"));
    assert_eq!(deleted.result(), ("skip", "NotOurs", "skipped", "5"));
    let told = deleted.outcomes[0].reason();
    assert!(told.starts_with("ConfigMap team/job exists, but has lost the label `hyperfleet.io/adapter`"), "{told}");
    assert!(!deleted.outcomes[0].finalized);
    assert_eq!(claimed(&deleted)["reason"], "OwnershipLost");
}
