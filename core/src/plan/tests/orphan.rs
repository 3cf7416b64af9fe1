//! Tests of the orphan gate: objects stay, but the adapter gives up their ownership.

use lifecycle_objects::keys;
use serde_json::{Value, json};

use super::passes::{assert_settled, config_map, gated, live, pass, selecting, task, version, with, yes};
use super::store::Store;

/// An entry whose versions are found by the labels that disowning removes.
fn by_our_labels(name: &str) -> Value {
    let mut entry = selecting(name);
    entry["discovery"]["by_selectors"]["label_selector"] = json!({ keys::RESOURCE_ID: "c1" });
    entry
}

fn versions(resource: &str) -> [Value; 3] {
    [version(resource, "a", 1, 1), version(resource, "b", 3, 2), version(resource, "c", 2, 3)]
}

#[test]
fn disowning_removes_the_ownership_labels_and_adds_its_own() {
    let task = task(&[gated(config_map("job"), "orphan", "disowning")]);
    let labels = json!({ keys::ADAPTER: "tester", keys::RESOURCE_ID: "c1", keys::RESOURCE: "job", "team": "theirs" });
    let proof = json!({ "metadata": { "annotations": { keys::OWNERSHIP_PROOF: "0a", "note": "theirs" } }, "data": { "a": "b" } });
    let mut store = Store::with([with(live("ConfigMap", "job", labels, Some(2)), proof)]);
    let disowned = pass(&task, &mut store, 3, &yes("disowning"));
    assert_eq!(disowned.result(), ("disown", "OrphanGateHolds", "disowned", "3"));
    assert!(disowned.outcomes[0].finalized);
    let metadata = &store.object("job")["metadata"];
    assert_eq!(metadata["labels"], json!({ keys::DISOWNED: "c1", "team": "theirs" }));
    let annotations = json!({ keys::GENERATION: "2", keys::DISOWNED_BY: "tester/job", "note": "theirs" });
    assert_eq!(metadata["annotations"], annotations, "the generation says what it was last written for");
    assert_eq!(disowned.visible("job"), Some(store.object("job")));
}

#[test]
fn every_version_is_disowned_and_the_current_one_last() {
    for entry in [selecting("job"), by_our_labels("job")] {
        let task = task(&[gated(entry, "orphan", "disowning")]);
        let mut store = Store::with(versions("job"));
        pass(&task, &mut store, 3, &yes("disowning"));
        assert_eq!(store.log, ["disown a", "disown c", "disown b"], "b is of the desired generation");
    }
}

#[test]
fn terminating_version_is_not_disowned_and_not_finalized_until_it_is_gone() {
    let task = task(&[gated(selecting("job"), "orphan", "disowning")]);
    let mut store = Store::with(versions("job"));
    store.change("b", &json!({ "metadata": { "deletionTimestamp": "2025-12-31T00:00:00Z" } }));
    let disowned = pass(&task, &mut store, 3, &yes("disowning"));
    assert_eq!((disowned.result().2, disowned.outcomes[0].finalized), ("disowned", false));
    assert_eq!(store.log, ["disown a", "disown c"]);
    let waiting = pass(&task, &mut store, 3, &yes("disowning"));
    assert_eq!((waiting.result().1, waiting.outcomes[0].finalized), ("Disowned", false));
    store.remove("b");
    assert!(pass(&task, &mut store, 3, &yes("disowning")).outcomes[0].finalized);
}

#[test]
fn next_event_continues_a_partly_failed_disowning() {
    for entry in [selecting("job"), by_our_labels("job")] {
        for refused in ["disown a", "disown b", "disown c"] {
            let task = task(&[gated(entry.clone(), "orphan", "disowning")]);
            let mut store = Store::with(versions("job"));
            store.refuse = vec![refused.to_owned()];
            let failed = pass(&task, &mut store, 3, &yes("disowning"));
            assert_eq!(failed.result(), ("disown", "Unavailable", "failed", "3"), "{refused}");
            assert!(!failed.outcomes[0].finalized, "{refused}");
            assert_eq!(store.object("b")["metadata"]["labels"].get(keys::DISOWNED), None, "the current one is last");

            (store.refuse, store.log) = (Vec::new(), Vec::new());
            let resumed = pass(&task, &mut store, 3, &yes("disowning"));
            assert!(resumed.outcomes[0].finalized, "{refused}: {:?}", resumed.results());
            assert_eq!(store.log.last().map(String::as_str), Some("disown b"), "{refused}");
            assert_settled(&task, &mut store, 3, &yes("disowning"));
        }
    }
}

#[test]
fn disowned_object_is_not_created_again() {
    for entry in [config_map("job"), selecting("job"), by_our_labels("job")] {
        let task = task(&[gated(entry, "orphan", "disowning")]);
        let mut store = Store::new();
        pass(&task, &mut store, 3, &[]);
        pass(&task, &mut store, 3, &yes("disowning"));
        store.log.clear();
        for (generation, disowning) in [(3, true), (3, false), (4, false)] {
            let skipped = pass(&task, &mut store, generation, &[("disowning", json!(disowning))]);
            assert_eq!(skipped.result(), ("skip", "Disowned", "skipped", "2"));
            assert!(skipped.outcomes[0].finalized);
        }
        assert_eq!(store.log.len(), 0);
    }
}

#[test]
fn disowned_object_is_recognised_beside_foreign_objects() {
    let left = gated(by_our_labels("left"), "orphan", "disowning");
    let task = task(&[left, by_our_labels("right")]);
    let mut store = Store::new();
    pass(&task, &mut store, 3, &[]);
    let disowned = pass(&task, &mut store, 3, &yes("disowning"));
    assert_eq!((disowned.results()[0].2, disowned.results()[1].1), ("disowned", "SameGeneration"));
    store.log.clear();
    let again = pass(&task, &mut store, 3, &[]);
    assert_eq!((again.results()[0].1, again.results()[1].1), ("Disowned", "SameGeneration"));
    assert_eq!(store.names(), ["left-3", "right-3"]);
}

#[test]
fn orphan_gate_of_an_absent_object_creates_nothing() {
    let task = task(&[gated(config_map("job"), "orphan", "disowning")]);
    let mut store = Store::new();
    let skipped = pass(&task, &mut store, 3, &yes("disowning"));
    assert_eq!(skipped.result(), ("skip", "NothingToDisown", "skipped", "4"));
    assert!(skipped.outcomes[0].finalized);
    assert_eq!(store.log.len(), 0);
}

#[test]
fn orphan_gate_wins_over_the_delete_gate_with_a_warning() {
    for delete in ["disowning", "resources.job.spec.done"] {
        let task = task(&[gated(gated(config_map("job"), "orphan", "disowning"), "delete", delete)]);
        let mut store = Store::with([live("ConfigMap", "job", json!({}), Some(3))]);
        let disowned = pass(&task, &mut store, 3, &yes("disowning"));
        assert_eq!((disowned.result().2, disowned.warnings()), ("disowned", vec!["gate_conflict"]));
        assert_eq!(store.log, ["disown job"]);
    }
}

#[test]
fn object_that_changed_since_it_was_read_is_disowned_by_the_next_event() {
    let task = task(&[gated(config_map("job"), "orphan", "disowning")]);
    let mut store = Store::with([live("ConfigMap", "job", json!({}), Some(3))]);
    let mut scope = super::passes::scope(&store, 3, &yes("disowning"));
    let (mut planner, step) = super::passes::first_step(&task, &store, &mut scope);
    store.change("job", &json!({ "data": { "new": "yes" } }));
    planner.record(&mut scope, store.execute(step.command));
    assert_eq!(planner.outcomes()[0].failure().map(|failure| failure.reason.as_str()), Some("Conflict"));
    assert!(pass(&task, &mut store, 3, &yes("disowning")).outcomes[0].finalized);
    assert_eq!(store.object("job")["data"]["new"], "yes");
}
