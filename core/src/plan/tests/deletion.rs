//! Tests of deletions: of all versions, in the order that gates require, and over several events.

use serde_json::json;

use super::passes::{assert_settled, config_map, gated, live, pass, selecting, task, version, yes};
use super::store::Store;

const WHEN_CHILD_IS_GONE: &str = "deleting && !resources.?child.hasValue()";

#[test]
fn every_version_that_is_not_terminating_is_deleted() {
    let task = task(&[gated(selecting("job"), "delete", "deleting")]);
    let mut store = Store::with([version("job", "a", 1, 1), version("job", "b", 2, 2), version("job", "c", 9, 3)]);
    let deleted = pass(&task, &mut store, 3, &yes("deleting"));
    assert_eq!(deleted.result(), ("delete", "DeleteGateHolds", "deleted", "5"));
    assert!(!deleted.outcomes[0].finalized, "the next event has to see that it is gone");
    assert_eq!(store.names(), Vec::<&str>::new());
    let again = pass(&task, &mut store, 3, &yes("deleting"));
    assert_eq!((again.result().1, again.outcomes[0].finalized), ("AlreadyAbsent", true));
    assert_settled(&task, &mut store, 3, &yes("deleting"));
}

#[test]
fn object_with_a_finalizer_is_waited_for_and_visible_as_terminating() {
    let task = task(&[gated(config_map("job"), "delete", "deleting")]);
    let mut store = Store::with([live("ConfigMap", "job", json!({}), Some(3))]);
    store.hold("job");
    let first = pass(&task, &mut store, 3, &yes("deleting"));
    assert_eq!(first.result(), ("delete", "DeleteGateHolds", "deleting", "5"));
    assert!(first.visible("job").is_some_and(|job| job["metadata"].get("deletionTimestamp").is_some()));
    let second = pass(&task, &mut store, 3, &yes("deleting"));
    assert_eq!(second.result(), ("wait", "Deleting", "waiting", "6"));
    assert!(!second.outcomes[0].finalized);
    assert_eq!(second.outcomes[0].reason(), "deletion pending; held by the finalizer example.io/hold");
    assert_eq!(store.log, ["delete job"]);
}

#[test]
fn parent_is_deleted_in_the_pass_that_deletes_its_child() {
    let child = gated(config_map("child"), "delete", "deleting");
    let task = task(&[child, gated(config_map("parent"), "delete", WHEN_CHILD_IS_GONE)]);
    let objects = || ["child", "parent"].map(|name| live("ConfigMap", name, json!({}), Some(3)));

    let mut store = Store::with(objects());
    pass(&task, &mut store, 3, &yes("deleting"));
    assert_eq!(store.log, ["delete child", "delete parent"]);

    let mut store = Store::with(objects());
    store.hold("child");
    let held = pass(&task, &mut store, 3, &yes("deleting"));
    assert_eq!((held.results()[0].2, held.results()[1].1), ("deleting", "SameGeneration"));
    assert_eq!(store.log, ["delete child"]);
}

#[test]
fn terminating_version_of_a_child_keeps_the_parent() {
    let child = gated(selecting("child"), "delete", "deleting");
    let task = task(&[child, gated(config_map("parent"), "delete", WHEN_CHILD_IS_GONE)]);
    let mut store = Store::with([
        version("child", "old", 2, 1),
        version("child", "new", 3, 2),
        live("ConfigMap", "parent", json!({}), Some(3)),
    ]);
    store.change("old", &json!({ "metadata": { "deletionTimestamp": "2025-12-31T00:00:00Z" } }));
    let deleting = pass(&task, &mut store, 3, &yes("deleting"));
    assert_eq!((deleting.results()[0].2, deleting.results()[1].1), ("deleting", "SameGeneration"));
    assert_eq!(deleting.visible("child").map(|child| &child["metadata"]["name"]), Some(&json!("old")));
    assert_eq!(store.names(), ["old", "parent"]);
}

#[test]
fn child_that_could_not_be_deleted_keeps_its_parent() {
    let child = gated(config_map("child"), "delete", "deleting");
    let task = task(&[child, gated(config_map("parent"), "delete", WHEN_CHILD_IS_GONE)]);
    let mut store = Store::with(["child", "parent"].map(|name| live("ConfigMap", name, json!({}), Some(3))));
    store.refuse = vec!["delete child".to_owned()];
    let failed = pass(&task, &mut store, 3, &yes("deleting"));
    assert_eq!((failed.results()[0].2, failed.results()[1].1), ("failed", "SameGeneration"));
    assert_eq!(store.names(), ["child", "parent"]);
}

#[test]
fn refused_deletion_of_one_version_does_not_keep_the_others() {
    let task = task(&[gated(selecting("job"), "delete", "deleting")]);
    let mut store = Store::with([version("job", "a", 1, 1), version("job", "b", 2, 2)]);
    store.refuse = vec!["delete b".to_owned()];
    let failed = pass(&task, &mut store, 3, &yes("deleting"));
    assert_eq!(failed.result(), ("delete", "Unavailable", "failed", "5"));
    assert_eq!(store.names(), ["b"]);
    store.refuse.clear();
    assert_eq!(pass(&task, &mut store, 3, &yes("deleting")).result().2, "deleted", "the next event goes on");
}
