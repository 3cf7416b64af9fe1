//! Tests of creations, updates and recreations, and of the failures that stop later writes.

use lifecycle_objects::failure::FailReason;
use serde_json::json;

use super::passes::{
    assert_settled, config_map, first_step, gated, live, pass, scope, selecting, task, version, with, yes,
};
use super::store::Store;
use crate::execution::Execution;
use crate::plan::Next;

#[test]
fn absent_object_is_created_once() {
    let task = task(&[config_map("settings")]);
    let mut store = Store::new();
    assert_eq!(pass(&task, &mut store, 3, &[]).result(), ("create", "Absent", "created", "12"));
    assert_eq!(pass(&task, &mut store, 3, &[]).result(), ("skip", "SameGeneration", "skipped", "17"));
    assert_eq!(store.log, ["create settings"]);
}

#[test]
fn object_of_an_older_generation_is_updated_once() {
    let task = task(&[config_map("settings")]);
    let mut store = Store::new();
    pass(&task, &mut store, 3, &[]);
    assert_eq!(pass(&task, &mut store, 4, &[]).result(), ("update", "GenerationChanged", "updated", "19"));
    assert_settled(&task, &mut store, 4, &[]);
    assert_eq!(pass(&task, &mut store, 3, &[]).result(), ("skip", "StaleEvent", "skipped", "13"));
    assert_eq!(store.log, ["create settings", "update settings"]);
}

#[test]
fn object_that_changed_since_it_was_read_is_not_updated() {
    let task = task(&[config_map("settings")]);
    let mut store = Store::with([live("ConfigMap", "settings", json!({}), Some(1))]);
    let mut scope = scope(&store, 3, &[]);
    let (mut planner, step) = first_step(&task, &store, &mut scope);
    store.change("settings", &json!({ "data": { "by": "somebody else" } }));
    planner.record(&mut scope, store.execute(step.command));
    assert_eq!(planner.next(&mut scope), Next::Done);
    let failure = planner.outcomes()[0].failure().map(|failure| failure.reason);
    assert_eq!(failure, Some(FailReason::Conflict));
    assert_eq!(pass(&task, &mut store, 3, &[]).result().2, "updated", "the next event looks again");
}

#[test]
fn recreate_on_change_replaces_only_a_lower_generation() {
    let task = task(&[with(config_map("job"), json!({ "recreate_on_change": true }))]);
    for (generation, expected) in [
        (Some(2), ("recreate", "RecreateGateHolds", "recreated", "14")),
        (Some(3), ("skip", "SameGeneration", "skipped", "17")),
        (Some(4), ("skip", "StaleEvent", "skipped", "13")),
        (None, ("fail", "NotOurs", "failed", "19")),
    ] {
        let mut store = Store::with([live("ConfigMap", "job", json!({}), generation)]);
        assert_eq!(pass(&task, &mut store, 3, &[]).result(), expected, "{generation:?}");
        assert_settled(&task, &mut store, 3, &[]);
    }
}

#[test]
fn recreation_creates_once_a_slow_deletion_has_finished() {
    let task = task(&[gated(config_map("job"), "recreate", "replacing")]);
    let mut store = Store::with([live("ConfigMap", "job", json!({}), Some(3))]);
    store.hold("job");
    let first = pass(&task, &mut store, 3, &yes("replacing"));
    assert_eq!(first.result(), ("recreate", "RecreateGateHolds", "deleting", "14"));
    assert!(first.visible("job").is_some_and(|job| job["metadata"].get("deletionTimestamp").is_some()));
    let second = pass(&task, &mut store, 3, &yes("replacing"));
    assert_eq!(second.result(), ("wait", "Terminating", "waiting", "9"));
    store.remove("job");
    assert_eq!(pass(&task, &mut store, 3, &yes("replacing")).result(), ("create", "Absent", "created", "12"));
    assert_eq!(store.log, ["delete job", "create job"]);
}

#[test]
fn recreation_does_not_delete_an_object_created_meanwhile() {
    let task = task(&[gated(config_map("job"), "recreate", "replacing")]);
    let mut store = Store::with([live("ConfigMap", "job", json!({}), Some(3))]);
    let mut scope = scope(&store, 3, &yes("replacing"));
    let (mut planner, _) = first_step(&task, &store, &mut scope);
    let theirs = store.put(live("ConfigMap", "job", json!({}), Some(3)));
    planner.record(&mut scope, lifecycle_objects::write::Executed::NameTaken(Some(theirs)));
    assert_eq!(planner.next(&mut scope), Next::Done, "it is not deleted a second time");
    let failure = planner.outcomes()[0].failure().map(|failure| failure.reason);
    assert_eq!(failure, Some(FailReason::Conflict));
}

#[test]
fn recreation_deletes_nothing_if_the_new_object_is_invalid() {
    let entry = gated(config_map("job"), "recreate", "replacing");
    let unrenderable = json!({ "manifest": { "data": { "a": "{{ .unset }}" } } });
    let unselected = json!({ "manifest": { "metadata": { "namespace": "elsewhere" } } });
    let invalid_label = json!({ "manifest": { "metadata": { "labels": { "hyperfleet.io/adapter": "no/label" } } } });
    for (more, reason) in
        [(unrenderable, "RenderFailed"), (unselected, "SelectorMismatch"), (invalid_label, "InvalidLabel")]
    {
        let task = task(&[with(entry.clone(), more)]);
        let mut store = Store::with([live("ConfigMap", "job", json!({}), Some(3))]);
        let failed = pass(&task, &mut store, 3, &yes("replacing"));
        assert_eq!((failed.result().1, store.log.len()), (reason, 0));
    }
}

#[test]
fn failed_write_stops_later_writes_but_neither_deletions_nor_disownings() {
    let task = task(&[
        config_map("first"),
        config_map("second"),
        gated(config_map("third"), "orphan", "deleting"),
        gated(config_map("fourth"), "delete", "deleting"),
        gated(config_map("fifth"), "delete", "deleting"),
    ]);
    let mut store = Store::with(["third", "fourth"].map(|name| live("ConfigMap", name, json!({}), Some(1))));
    store.refuse = vec!["create first".to_owned()];
    let failed = pass(&task, &mut store, 3, &yes("deleting"));
    assert_eq!(
        failed.results(),
        [
            ("create", "Unavailable", "failed", "12"),
            ("skip", "EarlierFailure", "skipped", "7a"),
            ("disown", "OrphanGateHolds", "disowned", "3"),
            ("delete", "DeleteGateHolds", "deleted", "5"),
            ("skip", "AlreadyAbsent", "skipped", "7"),
        ]
    );
    let message = failed.outcomes[0].failure().map(|failure| failure.message.as_str());
    let cure = "look at the server, its webhooks, and proxies in front of it";
    assert_eq!(message, Some(&*format!("failed to create first: the server is down (HTTP 503); {cure}")));
    assert_eq!(failed.outcomes[1].reason(), "the earlier resource `first` failed");
}

#[test]
fn unread_or_undecided_resource_stops_later_writes() {
    let unread = with(config_map("first"), json!({ "manifest": { "kind": "Secret" } }));
    let undecided = gated(config_map("first"), "create", "dig(event, \"a\") == 1");
    for (first, reason) in [(unread, "DiscoveryFailed"), (undecided, "GateFailed")] {
        let task = task(&[first, config_map("second")]);
        let mut store = Store::new();
        store.unreadable = vec!["Secret".to_owned()];
        let failed = pass(&task, &mut store, 3, &[]);
        assert_eq!((failed.results()[0].1, failed.results()[1].3), (reason, "7a"));
        assert_eq!(store.log.len(), 0);
    }
}

#[test]
fn failed_deletion_or_disowning_does_not_stop_later_writes() {
    for (gate, result) in [("delete", "DeleteGateHolds"), ("orphan", "OrphanGateHolds")] {
        let task = task(&[gated(config_map("first"), gate, "deleting"), config_map("second")]);
        let mut store = Store::with([live("ConfigMap", "first", json!({}), Some(3))]);
        store.refuse = vec!["delete first".to_owned(), "disown first".to_owned()];
        let failed = pass(&task, &mut store, 3, &yes("deleting"));
        let results: Vec<_> = failed.outcomes.iter().map(|outcome| outcome.result.as_str()).collect();
        assert_eq!((failed.outcomes[0].decision.reason(), results), (result, vec!["failed", "created"]));
        assert!(failed.visible("first").is_some(), "expressions still see the object");
    }
}

#[test]
fn only_a_create_gate_sets_resources_skipped() {
    let closed = with(config_map("x"), json!({ "when": { "expression": "false" } }));
    for (name, entry, skipped) in [
        ("what may not be created", gated(config_map("x"), "create", "false"), true),
        ("what may not be written", closed, false),
        ("what may not be applied", gated(config_map("x"), "apply", "false"), false),
    ] {
        let task = task(&[entry]);
        for mut store in [Store::new(), Store::with([live("ConfigMap", "x", json!({}), Some(1))])] {
            let is_absent = store.names().is_empty();
            let mut execution = Execution::default();
            execution.note_outcomes(&pass(&task, &mut store, 3, &[]).outcomes);
            assert_eq!(execution.resources_skipped, skipped && is_absent, "{name}, absent: {is_absent}");
        }
    }
}

#[test]
fn partly_refused_recreation_keeps_the_current_version_visible() {
    let task = task(&[gated(selecting("job"), "recreate", "replacing"), config_map("later")]);
    let versions = [version("job", "a", 1, 1), version("job", "b", 2, 2), version("job", "c", 2, 3)];
    let mut store = Store::with(versions);
    store.hold("a");
    store.refuse = vec!["delete b".to_owned()];
    let failed = pass(&task, &mut store, 3, &yes("replacing"));
    assert_eq!(failed.results()[0], ("recreate", "Unavailable", "failed", "14"));
    assert_eq!(store.log, ["delete a", "delete b"], "the current one is not touched");
    let seen = failed.visible("job").map(|job| (&job["metadata"]["name"], job["metadata"].get("deletionTimestamp")));
    assert_eq!(seen, Some((&json!("c"), None)));
    store.refuse.clear();
    store.remove("a");
    let again = pass(&task, &mut store, 3, &yes("replacing"));
    assert_eq!(again.results()[0], ("recreate", "RecreateGateHolds", "recreated", "14"));
    assert_eq!(store.log[2..], ["delete b", "delete c", "create job-3", "create later"]);
}
