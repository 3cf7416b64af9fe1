//! Tests of when former versions are pruned: never after a failure, and never while the event knows too
//! little.
#![expect(clippy::panic, reason = "tests")]

use lifecycle_objects::write::{Command, Executed, WriteError, WriteErrorKind};
use serde_json::{Value, json};

use super::passes::{config_map, gated, live, pass, scope, task, version, with, yes};
use super::retention::keeping;
use super::store::Store;

fn keeping_none() -> Value {
    keeping(json!({ "historyLimit": 0 }))
}

/// A store with two former versions, and the current one of generation 3.
fn versions() -> Store {
    Store::with([version("job", "a", 1, 1), version("job", "b", 2, 2), version("job", "job-3", 3, 3)])
}

#[test]
fn former_versions_are_pruned_after_every_row_that_allows_it() {
    let name = json!({ "manifest": { "metadata": { "name": "job-{{ .stage }}" } } });
    let patch = json!({ "lifecycle": { "patch": [{ "when": { "expression": "true" }, "document": { "data": { "a": "b" } } }] } });
    let closed = json!({ "when": { "expression": "false" } });
    for (entry, generation, reason) in [
        (keeping_none(), 3, "SameGeneration"),
        (keeping_none(), 4, "NewName"),
        (gated(keeping_none(), "apply", "false"), 4, "ApplyGateFalse"),
        (with(keeping_none(), closed), 4, "WhenFalse"),
        (with(keeping_none(), patch), 3, "PatchGateHolds"),
        (with(gated(keeping_none(), "recreate", "true"), name), 3, "RecreateGateHolds"),
    ] {
        let mut store = versions();
        let pruned = pass(&task(&[entry]), &mut store, generation, &[]);
        assert_eq!(pruned.result().1, reason);
        assert!(!store.names().contains(&"a") && !store.names().contains(&"b"), "{reason}: {:?}", store.names());
        assert_eq!(store.log.iter().filter(|call| call.starts_with("delete")).count(), pruned.outcomes[0].pruned.len());
    }
}

#[test]
fn nothing_is_pruned_after_rows_that_forbid_it() {
    let unrenderable = json!({ "manifest": { "data": { "a": "{{ .unset }}" } } });
    let same_name = json!({ "manifest": { "metadata": { "name": "job-3" } } });
    let cases = [
        ("StaleEvent", keeping_none(), 2),
        ("RenderFailed", with(keeping_none(), unrenderable), 3),
        ("GateFailed", gated(keeping_none(), "apply", "resources.job.spec.done"), 3),
        ("VersionNameTaken", with(gated(keeping_none(), "recreate", "true"), same_name), 3),
        ("OrphanGateHolds", gated(keeping_none(), "orphan", "true"), 3),
        ("DeleteGateHolds", gated(keeping_none(), "delete", "true"), 3),
    ];
    for (reason, entry, generation) in cases {
        let mut store = versions();
        let kept = pass(&task(&[entry]), &mut store, generation, &[]);
        assert_eq!((kept.result().1, kept.outcomes[0].pruned.len()), (reason, 0));
        let is_pruned = store.names().len() < 3 && reason != "DeleteGateHolds";
        assert!(!is_pruned, "{reason}: {:?}", store.log);
    }
}

#[test]
fn nothing_is_pruned_after_an_earlier_failure() {
    let task = task(&[config_map("first"), keeping_none()]);
    let mut store = versions();
    store.refuse = vec!["create first".to_owned()];
    assert_eq!(pass(&task, &mut store, 3, &[]).results()[1].1, "EarlierFailure");
    assert_eq!(store.log, ["create first"]);
}

#[test]
fn nothing_is_pruned_after_a_failed_write() {
    let mut store = versions();
    store.refuse = vec!["create job-4".to_owned()];
    assert_eq!(pass(&task(&[keeping_none()]), &mut store, 4, &[]).result().2, "failed");
    assert_eq!(store.log, ["create job-4"]);
}

#[test]
fn nothing_is_pruned_beside_a_disowned_or_unread_version() {
    let mut store = versions();
    store.change("a", &json!({ "metadata": { "labels": { "hyperfleet.io/disowned": "c1" } } }));
    store.refuse = vec!["disown b".to_owned()];
    pass(&task(&[keeping_none()]), &mut store, 3, &[]);
    assert_eq!(store.names().len(), 3);

    let mut store = versions();
    store.unreadable = vec!["ConfigMap".to_owned()];
    pass(&task(&[keeping_none()]), &mut store, 3, &[]);
    assert_eq!(store.names().len(), 3);
}

#[test]
fn nothing_is_pruned_if_the_desired_generation_is_unknown() {
    let unrenderable = json!({ "manifest": { "data": { "a": "{{ .unset }}" } }, "when": { "expression": "false" } });
    let mut store = versions();
    assert_eq!(pass(&task(&[with(keeping_none(), unrenderable)]), &mut store, 3, &[]).result().1, "WhenFalse");
    assert_eq!(store.log.len(), 0);
}

#[test]
fn version_of_a_higher_generation_than_desired_is_never_pruned() {
    // A `when` that does not hold matches before the row for late events.
    let task = task(&[with(keeping_none(), json!({ "when": { "expression": "false" } }))]);
    let mut store = versions();
    pass(&task, &mut store, 2, &[]);
    assert_eq!(store.names(), ["b", "job-3"], "b is the current version");
}

#[test]
fn failed_prune_gives_a_warning_and_is_tried_again() {
    let task = task(&[keeping_none(), config_map("later")]);
    let mut store = versions();
    store.refuse = vec!["delete a".to_owned()];
    let failed = pass(&task, &mut store, 3, &[]);
    assert_eq!((failed.results()[0].2, failed.results()[1].2), ("skipped", "created"));
    let pruned: Vec<_> = failed.outcomes[0].pruned.iter().map(|pruned| pruned.name.as_str()).collect();
    assert_eq!((failed.warnings(), pruned), (vec!["prune_failed"], vec!["b"]));
    store.refuse.clear();
    pass(&task, &mut store, 3, &[]);
    assert_eq!(store.names(), ["job-3", "later"]);
}

#[test]
fn failed_prune_is_told_from_that_of_the_same_name_in_another_namespace() {
    let everywhere = with(keeping_none(), json!({ "discovery": { "namespace": "" } }));
    let elsewhere = with(version("job", "a", 1, 1), json!({ "metadata": { "namespace": "other" } }));
    let store = Store::with([version("job", "a", 2, 2), elsewhere, version("job", "job-3", 3, 3)]);
    let task = task(&[everywhere]);
    let mut scope = scope(&store, 3, &[]);
    let (mut planner, step) = super::passes::first_step(&task, &store, &mut scope);
    let Command::Delete { mut targets, .. } = step.command else { panic!("{step:?}") };
    assert_eq!(targets.len(), 2);
    targets.retain(|target| target.namespace.as_deref() == Some("other"));
    let refused = WriteError {
        kind: WriteErrorKind::Forbidden,
        call: "delete ConfigMap other/a".to_owned(),
        status: Some(403),
        message: "forbidden".to_owned(),
    };
    let failures = targets.into_iter().map(|target| (target, refused.clone())).collect();
    planner.record(&mut scope, Executed::DeleteFailed { remaining: Vec::new(), failures });
    let pruned: Vec<_> = planner.outcomes()[0].pruned.iter().map(|pruned| pruned.name.as_str()).collect();
    assert_eq!((pruned, planner.outcomes()[0].warnings.len()), (vec!["a"], 1));
}

#[test]
fn former_version_that_changed_since_it_was_read_is_not_pruned() {
    let task = task(&[keeping_none()]);
    let mut store = Store::with([version("job", "a", 1, 1), version("job", "job-3", 3, 3)]);
    let mut scope = scope(&store, 3, &[]);
    let (mut planner, step) = super::passes::first_step(&task, &store, &mut scope);
    assert_eq!(step.purpose, crate::plan::Purpose::Prune);
    store.change("a", &json!({ "metadata": { "labels": { "hyperfleet.io/disowned": "c1" } } }));
    planner.record(&mut scope, store.execute(step.command));
    assert_eq!(planner.outcomes()[0].warnings.len(), 1);
    assert_eq!(store.names(), ["a", "job-3"]);
}

#[test]
fn pruned_version_with_a_finalizer_counts_as_pruned() {
    let mut store = versions();
    store.hold("a");
    let pruned = pass(&task(&[keeping_none()]), &mut store, 3, &yes("writing"));
    assert_eq!((pruned.outcomes[0].pruned.len(), pruned.warnings().len()), (2, 0));
    let task = task(&[keeping_none()]);
    assert_eq!(pass(&task, &mut store, 3, &[]).outcomes[0].pruned.len(), 0, "it is on its way out");
    assert_eq!(live("ConfigMap", "x", json!({}), None)["kind"], store.object("a")["kind"]);
}
