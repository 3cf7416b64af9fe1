//! Tests of deletions that wait until another resource's object is disowned.
#![expect(clippy::unwrap_used, reason = "tests")]

use serde_json::{Value, json};

use super::owner::{owned, space};
use super::passes::{config_map, gated, pass, selecting, task, version, with, yes};
use super::store::Store;
use crate::outcome::GateAnswer;

#[test]
fn owner_is_deleted_once_its_dependent_is_disowned() {
    for gate in ["delete", "recreate"] {
        let child = gated(owned("child", "space"), "orphan", "deleting");
        let task = task(&[gated(space(), gate, "deleting"), child]);
        let mut store = Store::new();
        pass(&task, &mut store, 3, &[]);
        let first = pass(&task, &mut store, 3, &yes("deleting"));
        assert_eq!(first.results()[0].1, "DisownPending");
        assert_eq!(first.results()[1].2, "disowned");
        assert!(store.names().contains(&"space"), "{:?}", store.log);
        let second = pass(&task, &mut store, 3, &yes("deleting"));
        assert_eq!(second.results()[0].0, gate);
        assert_eq!(second.results()[1].1, "Disowned");
    }
}

#[test]
fn wait_names_the_object_to_disown_and_its_gate() {
    let child = gated(owned("child", "space"), "orphan", "deleting");
    for gate in ["delete", "recreate"] {
        let task = task(&[gated(space(), gate, "deleting"), child.clone()]);
        let mut store = Store::new();
        pass(&task, &mut store, 3, &[]);
        let waiting = &pass(&task, &mut store, 3, &yes("deleting")).outcomes[0];
        assert_eq!(
            waiting.reason(),
            "ConfigMap team/child of resource child has to be disowned first: its orphan gate holds"
        );
        let asked = waiting.gates.last().unwrap();
        assert_eq!((asked.resource.as_deref(), asked.name.as_str()), (Some("child"), "orphan"));
        assert_eq!(asked.answer, GateAnswer::Holds);
    }
}

#[test]
fn outcome_of_a_deletion_records_other_resources_orphan_gates() {
    let task = task(&[gated(space(), "delete", "deleting"), gated(owned("child", "space"), "orphan", "disowning")]);
    let mut store = Store::new();
    pass(&task, &mut store, 3, &[]);
    let deleted = &pass(&task, &mut store, 3, &yes("deleting")).outcomes[0];
    let asked = deleted.gates.last().unwrap();
    assert_eq!((asked.resource.as_deref(), &asked.answer), (Some("child"), &GateAnswer::DoesNotHold));
}

#[test]
fn deletion_ignores_an_object_whose_orphan_gate_does_not_hold() {
    let task = task(&[gated(space(), "delete", "deleting"), gated(owned("child", "space"), "orphan", "disowning")]);
    let mut store = Store::new();
    pass(&task, &mut store, 3, &[]);
    assert_eq!(pass(&task, &mut store, 3, &yes("deleting")).results()[0].0, "delete");
}

#[test]
fn deletion_waits_for_a_disowning_whatever_the_owner_references() {
    let task = task(&[gated(space(), "delete", "deleting"), gated(config_map("child"), "orphan", "deleting")]);
    // The Secret `middle` belongs to no resource of the task: Kubernetes would delete it with its owner, and
    // then the child.
    let through_another = json!([{ "apiVersion": "v1", "kind": "Secret", "name": "middle", "uid": "unknown" }]);
    for references in [json!([]), through_another] {
        let mut store = Store::new();
        pass(&task, &mut store, 3, &[]);
        store.change("child", &json!({ "metadata": { "ownerReferences": references } }));
        let first = pass(&task, &mut store, 3, &yes("deleting"));
        assert_eq!((first.results()[0].1, first.results()[1].2), ("DisownPending", "disowned"));
        let left = store.object("child")["metadata"]["ownerReferences"].as_array();
        assert!(left.is_none_or(Vec::is_empty), "{left:?}");
        assert_eq!(pass(&task, &mut store, 3, &yes("deleting")).results()[0].0, "delete");
    }
}

#[test]
fn deletion_follows_a_disowning_of_the_same_event() {
    let task = task(&[gated(config_map("child"), "orphan", "deleting"), gated(space(), "delete", "deleting")]);
    let mut store = Store::new();
    pass(&task, &mut store, 3, &[]);
    let first = pass(&task, &mut store, 3, &yes("deleting"));
    assert_eq!((first.results()[0].2, first.results()[1].2), ("disowned", "deleted"));
}

#[test]
fn deletion_waits_for_an_unread_object_that_can_be_disowned() {
    let secret = with(config_map("child"), json!({ "manifest": { "kind": "Secret" } }));
    let task = task(&[gated(space(), "delete", "deleting"), gated(secret, "orphan", "deleting")]);
    let mut store = Store::new();
    pass(&task, &mut store, 3, &[]);
    store.unreadable = vec!["Secret".to_owned()];
    let first = pass(&task, &mut store, 3, &yes("deleting"));
    assert_eq!((first.results()[0].1, first.results()[1].1), ("DisownPending", "DiscoveryFailed"));
    assert_eq!(
        first.outcomes[0].reason(),
        "resource child could not be read (connection refused), so an object of it may have to be disowned first"
    );
}

#[test]
fn prune_waits_for_an_object_that_is_to_be_disowned() {
    let run = with(selecting("run"), json!({ "retention": { "historyLimit": 0 } }));
    let task = task(&[run, gated(config_map("child"), "orphan", "deleting")]);
    let mut store = Store::with([version("run", "old", 1, 1), version("run", "run-3", 3, 2)]);
    let without = super::passes::task(&[config_map("child")]);
    pass(&without, &mut store, 3, &[]);
    let first = pass(&task, &mut store, 3, &yes("deleting"));
    assert!(first.outcomes[0].pruned.is_empty());
    assert!(store.names().contains(&"old"));
    let messages: Vec<String> = first.outcomes[0].warnings.iter().map(ToString::to_string).collect();
    let because = "ConfigMap team/child of resource child has to be disowned first: its orphan gate holds";
    assert_eq!(messages, [format!("former versions that retention would delete stay for now (old): {because}")]);
    pass(&task, &mut store, 3, &yes("deleting"));
    assert!(!store.names().contains(&"old"), "{:?}", store.log);
}

#[test]
fn deletion_waits_while_another_orphan_gate_has_no_answer() {
    let child = gated(owned("child", "space"), "orphan", "resources.child.data.kept == 'yes'");
    let task = task(&[gated(space(), "delete", "deleting"), gated(child, "create", "true")]);
    let mut store = Store::new();
    let unowned = super::passes::task(&[space(), owned("child", "space")]);
    pass(&unowned, &mut store, 3, &[]);
    let first = pass(&task, &mut store, 3, &yes("deleting"));
    assert_eq!(first.results()[0].1, "DisownPending", "the orphan gate has no answer");
    let messages = first.outcomes[0].reason();
    let expected =
        "ConfigMap team/child of resource child may have to be disowned first: failed to evaluate the orphan gate: ";
    assert!(messages.starts_with(expected), "{messages}");
    assert_eq!(first.results()[1].1, "GateFailed");
}

#[test]
fn deletion_ignores_terminating_and_already_disowned_dependents() {
    let child = gated(owned("child", "space"), "orphan", "deleting");
    let task = task(&[gated(space(), "delete", "deleting"), child]);
    let dying = json!({ "metadata": { "deletionTimestamp": "2025-12-31T00:00:00Z" } });
    // A person set the label `disowned`, so the adapter will never remove the owner reference.
    let marked = json!({ "metadata": { "labels": { "hyperfleet.io/disowned": "c1" } } });
    for change in [dying, marked] {
        let mut store = Store::new();
        pass(&task, &mut store, 3, &[]);
        store.change("child", &change);
        assert_eq!(pass(&task, &mut store, 3, &yes("deleting")).results()[0].2, "deleted");
    }
}

#[test]
fn deletion_waits_for_versions_beside_a_disowned_one() {
    let child = with(selecting("child"), json!({ "owner": { "resource": "space" } }));
    let task = task(&[gated(space(), "delete", "deleting"), child]);
    let mut store = Store::new();
    pass(&task, &mut store, 3, &[]);
    store.put(with(
        version("child", "old", 1, 1),
        json!({ "metadata": { "labels": { "hyperfleet.io/disowned": "c1" } } }),
    ));
    let first = pass(&task, &mut store, 3, &yes("deleting"));
    assert_eq!((first.results()[0].1, first.results()[1].2), ("DisownPending", "disowned"));
    assert_eq!(
        first.outcomes[0].reason(),
        "ConfigMap team/child-3 of resource child has to be disowned first: another of its versions was disowned"
    );
    assert_eq!(pass(&task, &mut store, 3, &yes("deleting")).results()[0].2, "deleted");
}

/// A child whose manifest contains the owner reference itself, without the key `owner`.
fn written_reference(uid: &str, more: Value) -> Value {
    let mut reference = json!({ "apiVersion": "v1", "kind": "Namespace", "name": "space", "uid": uid });
    reference = with(reference, more);
    with(config_map("child"), json!({ "manifest": { "metadata": { "ownerReferences": [reference] } } }))
}

#[test]
fn deletion_waits_for_an_owner_reference_of_the_manifest() {
    let mut store = Store::new();
    pass(&task(&[space()]), &mut store, 3, &[]);
    let uid = store.object("space")["metadata"]["uid"].as_str().unwrap().to_owned();
    let before = gated(written_reference(&uid, json!({})), "orphan", "deleting");
    for gate in ["delete", "recreate"] {
        let task = task(&[gated(space(), gate, "deleting"), before.clone()]);
        let mut store = store.clone();
        pass(&task, &mut store, 3, &[]);
        let first = pass(&task, &mut store, 3, &yes("deleting"));
        assert_eq!((first.results()[0].1, first.results()[1].2), ("DisownPending", "disowned"));
        assert!(
            store.object("child")["metadata"].get("ownerReferences").is_none(),
            "the reference went with the disowning"
        );
        assert_eq!(pass(&task, &mut store, 3, &yes("deleting")).results()[0].0, gate);
        assert!(store.names().contains(&"child"));
    }
}

#[test]
fn deletion_ignores_a_controller_reference_that_disowning_keeps() {
    let mut store = Store::new();
    pass(&task(&[space()]), &mut store, 3, &[]);
    let uid = store.object("space")["metadata"]["uid"].as_str().unwrap().to_owned();
    let child = gated(written_reference(&uid, json!({ "controller": true })), "orphan", "deleting");
    let task = task(&[gated(space(), "delete", "deleting"), child]);
    pass(&task, &mut store, 3, &[]);
    let first = pass(&task, &mut store, 3, &yes("deleting"));
    assert_eq!(first.results()[0].1, "DisownPending");
    assert_eq!(store.object("child")["metadata"]["ownerReferences"][0]["uid"], json!(uid));
    assert_eq!(pass(&task, &mut store, 3, &yes("deleting")).results()[0].2, "deleted", "its controller keeps it");
}
