//! Tests of the reported conditions `Finalized` and `Available` after disownings and deletions.
#![expect(clippy::unwrap_used, reason = "tests")]

use serde_json::{Value, json};

use super::passes::{Pass, config_map, gated, live, pass, task, yes};
use super::store::Store;
use crate::overlay::{self, Account};

/// Returns the status of a condition after the overlay's corrections; none if the report lacks it.
fn reported(pass: &Pass, kind: &str) -> Option<String> {
    let payload = json!({ "adapter": "tester", "conditions": [] }).to_string();
    let payload = overlay::apply(payload, Account { outcomes: &pass.outcomes, unread: None });
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
