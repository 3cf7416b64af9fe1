//! Tests of unavailable owners: an object is never written without its owner reference.

use serde_json::{Value, json};

use super::owner::{owned, space};
use super::passes::{config_map, gated, live, pass, task, with, yes};
use super::store::Store;

/// Asserts that an absent child and an outdated one both fail beside this owner, with this reason and
/// message.
#[track_caller]
fn check(owner: Value, objects: &[Value], expected: &str, message_part: &str) {
    for child in [None, Some(live("ConfigMap", "child", json!({}), Some(2)))] {
        let task = task(&[owner.clone(), owned("child", "owner")]);
        let mut store = Store::with(objects.iter().cloned().chain(child));
        if !objects.is_empty() {
            store.hold("owner");
        }
        let failed = pass(&task, &mut store, 3, &yes("deleting"));
        assert_eq!(failed.results()[1].1, expected, "{:?}", failed.results());
        let message = failed.outcomes[1].failure().map(|failure| failure.message.clone()).unwrap_or_default();
        assert!(message.contains(message_part), "{message}");
        assert!(!store.log.iter().any(|call| call.ends_with("child")), "{:?}", store.log);
    }
}

fn live_owner() -> Value {
    live("ConfigMap", "owner", json!({}), Some(3))
}

#[test]
fn absent_owner_is_unavailable() {
    check(
        gated(config_map("owner"), "create", "false"),
        &[],
        "OwnerUnavailable",
        "its owner, resource owner, is absent",
    );
    check(gated(config_map("owner"), "delete", "deleting"), &[], "OwnerUnavailable", "is absent");
}

#[test]
fn terminating_owner_is_unavailable() {
    let dying = with(live_owner(), json!({ "metadata": { "deletionTimestamp": "2025-12-31T00:00:00Z" } }));
    check(config_map("owner"), std::slice::from_ref(&dying), "OwnerUnavailable", "is on its way out");
    check(
        with(config_map("owner"), json!({ "when": { "expression": "false" } })),
        &[dying],
        "OwnerUnavailable",
        "is on its way out",
    );
}

#[test]
fn owner_deleted_by_the_same_event_is_unavailable() {
    check(gated(config_map("owner"), "delete", "deleting"), &[live_owner()], "OwnerUnavailable", "is being deleted");
}

#[test]
fn disowned_owner_is_unavailable() {
    check(gated(config_map("owner"), "orphan", "deleting"), &[live_owner()], "OwnerUnavailable", "was disowned");
    let disowned = with(live_owner(), json!({ "metadata": { "labels": { "hyperfleet.io/disowned": "c1" } } }));
    check(config_map("owner"), &[disowned], "OwnerUnavailable", "was disowned");
}

#[test]
fn dependent_of_a_failed_owner_is_not_written() {
    let failing = gated(config_map("owner"), "recreate", "resources.owner.spec.done");
    check(failing, &[live_owner()], "EarlierFailure", "");
}

#[test]
fn owner_whose_deletion_failed_is_unavailable() {
    let task = task(&[gated(config_map("owner"), "delete", "deleting"), owned("child", "owner")]);
    let mut store = Store::with([live_owner()]);
    store.refuse = vec!["delete owner".to_owned()];
    let failed = pass(&task, &mut store, 3, &yes("deleting"));
    assert_eq!(failed.results()[1].1, "OwnerUnavailable");
    assert_eq!(store.names(), ["owner"]);
}

#[test]
fn owner_in_another_namespace_is_unavailable() {
    // A template, because the compiler rejects a literal namespace that differs from the owner's.
    let elsewhere = json!({ "manifest": { "metadata": { "namespace": "{{ .stage }}" } }, "discovery": { "namespace": "{{ .stage }}" } });
    let cluster_scoped = json!({
        "name": "child", "owner": { "resource": "owner" },
        "manifest": { "apiVersion": "example.io/v1", "kind": "Wide", "metadata": { "name": "child" } },
        "discovery": { "by_name": "child" },
    });
    for (child, message_part) in
        [(with(owned("child", "owner"), elsewhere), "in one"), (cluster_scoped, "cluster-scoped")]
    {
        let mut store = Store::with([live_owner()]);
        let failed = pass(&task(&[config_map("owner"), child]), &mut store, 3, &[]);
        assert_eq!(failed.results()[1].1, "OwnerUnavailable");
        let message = failed.outcomes[1].failure().map(|failure| failure.message.clone()).unwrap_or_default();
        assert!(message.contains(message_part), "{message}");
        assert_eq!(store.names(), ["owner"]);
    }
}

#[test]
fn recreation_without_its_owner_deletes_nothing() {
    let task = task(&[gated(space(), "create", "false"), gated(owned("child", "space"), "recreate", "replacing")]);
    let mut store = Store::with([live("ConfigMap", "child", json!({}), Some(3))]);
    let failed = pass(&task, &mut store, 3, &yes("replacing"));
    assert_eq!(failed.results()[1], ("fail", "OwnerUnavailable", "failed", "14"));
    assert_eq!(store.log.len(), 0);
}

#[test]
fn up_to_date_dependent_does_not_fail_while_its_owner_terminates() {
    for gate in ["delete", "orphan"] {
        let task = task(&[gated(space(), gate, "deleting"), owned("child", "space")]);
        let mut store = Store::new();
        pass(&task, &mut store, 3, &[]);
        store.hold("space");
        for _ in 0..2 {
            let going = pass(&task, &mut store, 3, &yes("deleting"));
            assert_eq!(going.results()[1], ("skip", "SameGeneration", "skipped", "17"));
        }
    }
}

#[test]
fn dependent_whose_gate_forbids_writes_needs_no_owner() {
    let child = with(owned("child", "space"), json!({ "when": { "expression": "!deleting" } }));
    let task = task(&[gated(space(), "delete", "deleting"), child]);
    let mut store = Store::new();
    let skipped = pass(&task, &mut store, 3, &yes("deleting"));
    assert_eq!((skipped.results()[0].1, skipped.results()[1].1), ("AlreadyAbsent", "WhenFalse"));
}
