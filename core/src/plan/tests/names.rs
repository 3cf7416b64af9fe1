//! Names that are taken, and objects that would not be found again.

use serde_json::{Value, json};

use super::passes::{
    Pass, config_map, first_step, labels, live, next_step, pass, scope, selecting, task, version, with, yes,
};
use super::store::Store;
use crate::outcome::Outcome;
use crate::plan::decision::FailReason;
use crate::plan::{Next, Step};
use crate::write::{Command, Executed};

/// Plans up to the first creation, and answers it with `executed`.
fn answered(entry: Value, store: &Store, executed: Executed) -> (Vec<Outcome>, Option<Step>) {
    let task = task(&[entry]);
    let mut scope = scope(store, 3, &yes("replacing"));
    let (mut planner, step) = first_step(&task, store, &mut scope);
    assert!(matches!(step.command, Command::Create { .. }), "{step:?}");
    planner.record(&mut scope, executed);
    let next = next_step(&mut planner, store, &mut scope);
    (planner.outcomes().to_vec(), next)
}

fn taken(object: Value) -> Executed {
    Executed::NameTaken(Some(object))
}

#[test]
fn a_creation_that_meets_its_own_object_is_decided_again() {
    let ours = || live("ConfigMap", "left-3", labels("left"), Some(3));
    let (outcomes, next) = answered(selecting("left"), &Store::new(), taken(ours()));
    assert_eq!((outcomes[0].decision.reason(), next), ("SameGeneration", None));

    let older = live("ConfigMap", "left-3", labels("left"), Some(2));
    let (_, next) = answered(selecting("left"), &Store::new(), taken(older));
    assert!(matches!(next, Some(Step { command: Command::Update { .. }, .. })), "{next:?}");

    let dying = with(ours(), json!({ "metadata": { "deletionTimestamp": "2025-12-31T00:00:00Z" } }));
    let (outcomes, _) = answered(selecting("left"), &Store::new(), taken(dying));
    assert_eq!(outcomes[0].decision.reason(), "Terminating");
}

#[test]
fn a_creation_that_meets_a_foreign_object_leaves_it_alone() {
    let other = live("ConfigMap", "left-3", labels("right"), Some(3));
    let unseen = live("ConfigMap", "left-3", json!({ "hyperfleet.io/resource": "left" }), Some(3));
    for foreign in [other, unseen, live("ConfigMap", "left-3", json!({}), Some(3))] {
        let (outcomes, next) = answered(selecting("left"), &Store::new(), taken(foreign));
        assert_eq!(outcomes[0].failure().map(|failure| failure.reason), Some(FailReason::NameTaken));
        assert_eq!(next, None);
    }
}

#[test]
fn a_name_that_is_taken_and_free_again_is_left_to_the_next_event() {
    let (outcomes, next) = answered(selecting("left"), &Store::new(), Executed::NameTaken(None));
    assert_eq!(outcomes[0].failure().map(|failure| failure.reason), Some(FailReason::Conflict));
    assert_eq!(next, None);
}

#[test]
fn a_version_that_meets_its_own_object_still_knows_the_others() {
    let more = json!({ "retention": { "historyLimit": 1 }, "lifecycle": { "recreate": { "when": { "expression": "resources.job.metadata.name != \"job-3\"" } } } });
    let entry = with(selecting("job"), more);
    let store = Store::with([version("job", "a", 1, 1), version("job", "b", 2, 2), version("job", "c", 2, 3)]);
    let faster = with(version("job", "job-3", 3, 4), json!({ "metadata": { "uid": "theirs" } }));
    let (outcomes, next) = answered(entry, &store, taken(faster));
    assert_eq!(outcomes, [], "former versions have to be pruned first");
    let Some(Step { command: Command::Delete { targets, .. }, .. }) = next else { unreachable!("{next:?}") };
    let names: Vec<_> = targets.iter().map(|target| target.name.as_str()).collect();
    assert_eq!(names, ["b", "a"], "all former versions are known, and the newest of them stays");
}

#[test]
fn a_creation_is_decided_again_only_once() {
    let task = task(&[with(selecting("job"), json!({ "retention": { "historyLimit": 1 } }))]);
    let store = Store::new();
    let mut scope = scope(&store, 3, &[]);
    let (mut planner, _) = first_step(&task, &store, &mut scope);
    // Its own, but of another name, so that the table asks for a second creation.
    planner.record(&mut scope, taken(version("job", "job-2", 2, 1)));
    let next = next_step(&mut planner, &store, &mut scope);
    assert!(matches!(next, Some(Step { command: Command::Create { .. }, .. })), "{next:?}");
    planner.record(&mut scope, taken(version("job", "job-1", 1, 1)));
    assert_eq!(planner.next(&mut scope), Next::Done);
    assert_eq!(planner.outcomes()[0].failure().map(|failure| failure.reason), Some(FailReason::Conflict));
}

#[track_caller]
fn refused(entry: Value, store: &mut Store) -> Pass {
    let refused = pass(&task(&[entry]), store, 3, &[]);
    assert_eq!(store.log.len(), 0, "{:?}", refused.results());
    refused
}

#[test]
fn what_its_own_discovery_would_not_find_is_not_created() {
    let label = json!({ "discovery": { "by_selectors": { "label_selector": { "app": "other" } } } });
    let name = json!({ "discovery": { "by_name": "elsewhere" } });
    let namespace = json!({ "discovery": { "namespace": "elsewhere" } });
    for entry in [with(selecting("left"), label), with(config_map("left"), name), with(config_map("left"), namespace)] {
        let refused = refused(entry, &mut Store::new());
        assert_eq!(refused.result(), ("fail", "SelectorMismatch", "failed", "12"));
    }
}

#[test]
fn what_would_be_taken_for_another_resource_is_not_created() {
    let more = json!({ "manifest": { "metadata": { "labels": { "hyperfleet.io/resource": "right" } } } });
    let refused = refused(with(selecting("left"), more), &mut Store::new());
    assert_eq!(refused.result(), ("fail", "SelectorMismatch", "failed", "12"));
}

#[test]
fn a_namespace_that_cluster_scoped_objects_do_not_have_is_in_nobodys_way() {
    let space = json!({
        "name": "space",
        "manifest": { "apiVersion": "v1", "kind": "Namespace", "metadata": { "name": "space" } },
        "discovery": { "namespace": "*", "by_name": "space" },
    });
    let task = task(&[space]);
    let mut store = Store::new();
    assert_eq!(pass(&task, &mut store, 3, &[]).result().2, "created");
    assert_eq!(pass(&task, &mut store, 4, &[]).result().2, "updated");
}
