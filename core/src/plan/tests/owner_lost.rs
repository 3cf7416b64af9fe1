//! Owners that cannot be named: nothing is written without its reference.

use serde_json::{Value, json};

use super::owner::{owned, space};
use super::passes::{config_map, gated, live, pass, task, with, yes};
use super::store::Store;

/// What became of a child that is absent, and of one that has to be updated, beside an owner like this.
#[track_caller]
fn check(owner: Value, objects: &[Value], expected: &str, told: &str) {
    for child in [None, Some(live("ConfigMap", "child", json!({}), Some(2)))] {
        let task = task(&[owner.clone(), owned("child", "owner")]);
        let mut store = Store::with(objects.iter().cloned().chain(child));
        if !objects.is_empty() {
            store.hold("owner");
        }
        let failed = pass(&task, &mut store, 3, &yes("deleting"));
        assert_eq!(failed.results()[1].1, expected, "{:?}", failed.results());
        let message = failed.outcomes[1].failure().map(|failure| failure.message.clone()).unwrap_or_default();
        assert!(message.contains(told), "{message}");
        assert!(!store.log.iter().any(|call| call.ends_with("child")), "{:?}", store.log);
    }
}

fn there() -> Value {
    live("ConfigMap", "owner", json!({}), Some(3))
}

#[test]
fn an_owner_that_is_absent_cannot_be_named() {
    check(
        gated(config_map("owner"), "create", "false"),
        &[],
        "OwnerUnavailable",
        "its owner, resource owner, is absent",
    );
    check(gated(config_map("owner"), "delete", "deleting"), &[], "OwnerUnavailable", "is absent");
}

#[test]
fn an_owner_that_is_on_its_way_out_cannot_be_named() {
    let dying = with(there(), json!({ "metadata": { "deletionTimestamp": "2025-12-31T00:00:00Z" } }));
    check(config_map("owner"), std::slice::from_ref(&dying), "OwnerUnavailable", "is on its way out");
    check(
        with(config_map("owner"), json!({ "when": { "expression": "false" } })),
        &[dying],
        "OwnerUnavailable",
        "is on its way out",
    );
}

#[test]
fn an_owner_that_is_deleted_on_this_event_cannot_be_named() {
    check(gated(config_map("owner"), "delete", "deleting"), &[there()], "OwnerUnavailable", "is being deleted");
}

#[test]
fn an_owner_that_was_released_cannot_be_named() {
    check(gated(config_map("owner"), "orphan", "deleting"), &[there()], "OwnerUnavailable", "was disowned");
    let disowned = with(there(), json!({ "metadata": { "labels": { "hyperfleet.io/disowned": "c1" } } }));
    check(config_map("owner"), &[disowned], "OwnerUnavailable", "was disowned");
}

#[test]
fn beside_an_owner_that_failed_nothing_is_written() {
    let failing = gated(config_map("owner"), "recreate", "resources.owner.spec.done");
    check(failing, &[there()], "EarlierFailure", "");
}

#[test]
fn an_owner_whose_deletion_failed_cannot_be_named() {
    let task = task(&[gated(config_map("owner"), "delete", "deleting"), owned("child", "owner")]);
    let mut store = Store::with([there()]);
    store.refuse = vec!["delete owner".to_owned()];
    let failed = pass(&task, &mut store, 3, &yes("deleting"));
    assert_eq!(failed.results()[1].1, "OwnerUnavailable");
    assert_eq!(store.names(), ["owner"]);
}

#[test]
fn an_owner_in_a_namespace_owns_nothing_elsewhere() {
    // Where the namespace is a literal, it is refused when the task is loaded.
    let elsewhere = json!({ "manifest": { "metadata": { "namespace": "{{ .stage }}" } }, "discovery": { "namespace": "{{ .stage }}" } });
    let cluster_scoped = json!({
        "name": "child", "owner": { "resource": "owner" },
        "manifest": { "apiVersion": "example.io/v1", "kind": "Wide", "metadata": { "name": "child" } },
        "discovery": { "by_name": "child" },
    });
    for (child, told) in [(with(owned("child", "owner"), elsewhere), "in one"), (cluster_scoped, "cluster-scoped")] {
        let mut store = Store::with([there()]);
        let failed = pass(&task(&[config_map("owner"), child]), &mut store, 3, &[]);
        assert_eq!(failed.results()[1].1, "OwnerUnavailable");
        let message = failed.outcomes[1].failure().map(|failure| failure.message.clone()).unwrap_or_default();
        assert!(message.contains(told), "{message}");
        assert_eq!(store.names(), ["owner"]);
    }
}

#[test]
fn what_is_to_be_recreated_is_not_deleted_without_its_owner() {
    let task = task(&[gated(space(), "create", "false"), gated(owned("child", "space"), "recreate", "replacing")]);
    let mut store = Store::with([live("ConfigMap", "child", json!({}), Some(3))]);
    let failed = pass(&task, &mut store, 3, &yes("replacing"));
    assert_eq!(failed.results()[1], ("fail", "OwnerUnavailable", "failed", "14"));
    assert_eq!(store.log.len(), 0);
}

#[test]
fn what_names_its_owner_already_needs_nothing_while_the_owner_goes() {
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
fn what_may_not_be_written_needs_no_owner() {
    let child = with(owned("child", "space"), json!({ "when": { "expression": "!deleting" } }));
    let task = task(&[gated(space(), "delete", "deleting"), child]);
    let mut store = Store::new();
    let skipped = pass(&task, &mut store, 3, &yes("deleting"));
    assert_eq!((skipped.results()[0].1, skipped.results()[1].1), ("AlreadyAbsent", "WhenFalse"));
}
