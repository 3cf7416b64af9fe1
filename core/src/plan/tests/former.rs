//! Tests of what is left of an entry where its discovery no longer looks, and of entries that were renamed.
#![expect(clippy::unwrap_used, reason = "tests")]

use lifecycle_objects::keys;
use lifecycle_objects::proof::{Claim, Signer};
use lifecycle_objects::stamp::Stamp;
use serde_json::{Value, json};

use super::passes::{Pass, config_map, gated, labels, live, pass, pass_of, selecting, stamp, task, with, yes};
use super::store::Store;
use crate::task::Task;

/// An entry whose name or namespace comes from the specification.
fn moving(name: &str, place: &str) -> Value {
    let (mut metadata, mut discovery) = (json!({}), json!({}));
    metadata[place] = json!("{{ .stage }}");
    discovery[if place == "name" { "by_name" } else { place }] = json!("{{ .stage }}");
    with(
        gated(config_map(name), "delete", "deleting"),
        json!({ "manifest": { "metadata": metadata }, "discovery": discovery }),
    )
}

/// A pass of the stage, deleting or not.
fn at(stage: &str, deleting: bool, task: &Task, store: &mut Store) -> Pass {
    pass(task, store, 3, &[("stage", json!(stage)), ("deleting", json!(deleting))])
}

#[test]
fn object_under_a_former_name_or_in_a_former_namespace_is_deleted_before_the_entry_is_finalized() {
    for place in ["name", "namespace"] {
        let task = task(&[moving("job", place)]);
        let mut store = Store::new();
        at("before", false, &task, &mut store);
        at("after", false, &task, &mut store);
        assert_eq!(store.names().len(), 2, "{place}: a new name is a new version");
        let deleted = at("after", true, &task, &mut store);
        assert_eq!(deleted.result(), ("delete", "DeleteGateHolds", "deleted", "5"), "{place}");
        assert_eq!(store.names(), Vec::<&str>::new(), "{place}");
        let again = at("after", true, &task, &mut store);
        assert_eq!((again.result().1, again.outcomes[0].finalized), ("AlreadyAbsent", true), "{place}");
    }
}

#[test]
fn entry_waits_for_an_object_under_a_former_name_that_is_terminating() {
    let task = task(&[moving("job", "name")]);
    let mut store = Store::new();
    at("before", false, &task, &mut store);
    store.hold("before");
    let deleted = at("after", true, &task, &mut store);
    assert_eq!(deleted.result(), ("delete", "DeleteGateHolds", "deleting", "5"));
    let waits = at("after", true, &task, &mut store);
    assert_eq!((waits.result(), waits.outcomes[0].finalized), (("wait", "Deleting", "waiting", "6"), false));
    assert_eq!(waits.outcomes[0].name, "before");
}

#[test]
fn gate_that_waits_for_an_entry_waits_for_its_object_under_a_former_name() {
    let space = gated(config_map("space"), "delete", "deleting && !resources.?job.hasValue()");
    let task = task(&[space, moving("job", "name")]);
    let mut store = Store::new();
    at("before", false, &task, &mut store);
    store.hold("before");
    at("after", true, &task, &mut store);
    let waits = at("after", true, &task, &mut store);
    assert_eq!(waits.results(), [("skip", "SameGeneration", "skipped", "17"), ("wait", "Deleting", "waiting", "6")]);
    store.remove("before");
    assert_eq!(at("after", true, &task, &mut store).results()[0].2, "deleted");
}

#[test]
fn entry_whose_gate_holds_late_in_the_pass_is_searched_for_at_its_turn() {
    let late = with(
        moving("late", "name"),
        json!({ "lifecycle": { "delete": { "when": { "expression":
        "deleting && !resources.?child.hasValue()" } } } }),
    );
    let task = task(&[gated(config_map("child"), "delete", "deleting"), late]);
    let mut store = Store::new();
    at("before", false, &task, &mut store);
    let deleted = at("after", true, &task, &mut store);
    assert_eq!(deleted.results()[1], ("delete", "DeleteGateHolds", "deleted", "5"));
    assert_eq!(store.log, ["create child", "create before", "delete child", "delete before"]);
}

#[test]
fn bundle_whose_gate_holds_late_is_searched_for_although_its_place_is_taken() {
    let late = with(
        bundle("monitoring", "set-{{ .stage }}"),
        json!({ "lifecycle": { "delete": { "when": { "expression": "deleting && !resources.?child.hasValue()" } } } }),
    );
    let task = task(&[gated(config_map("child"), "delete", "deleting"), late]);
    let mut store = Store::new();
    at("before", false, &task, &mut store);
    store.put(
        json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "name": "set-after", "namespace": "team" } }),
    );
    at("after", true, &task, &mut store);
    assert_eq!(store.names(), ["set-after"], "{:?}", store.log);
}

#[test]
fn nothing_is_created_beside_an_object_under_a_former_name_while_it_goes() {
    // The first entry is created again as soon as the second one keeps its gate from holding.
    let first = with(
        moving("first", "name"),
        json!({ "lifecycle": { "delete": { "when": { "expression":
        "deleting && !resources.?second.hasValue()" } } } }),
    );
    let second = with(moving("second", "namespace"), json!({ "manifest": { "metadata": { "name": "second" } } }));
    let task = task(&[first, second]);
    let mut store = Store::new();
    at("before", false, &task, &mut store);
    store.hold("second");
    store.hold("before");
    at("after", true, &task, &mut store);
    let log = store.log.clone();
    let waits = at("after", true, &task, &mut store);
    assert_eq!(waits.results()[0], ("wait", "Deleting", "waiting", "6"), "{:?}", store.log);
    assert_eq!(store.log, log);
}

#[test]
fn object_under_a_former_name_is_disowned_where_the_orphan_gate_holds() {
    let task = task(&[with(
        moving("job", "name"),
        json!({ "lifecycle": { "orphan": { "when": { "expression": "deleting" } } } }),
    )]);
    let mut store = Store::new();
    at("before", false, &task, &mut store);
    let disowned = at("after", true, &task, &mut store);
    assert_eq!(disowned.result(), ("disown", "OrphanGateHolds", "disowned", "3"));
    let labels = &store.object("before")["metadata"]["labels"];
    assert_eq!(labels, &json!({ keys::DISOWNED: "c1" }), "the sweeper has to leave it alone");
}

#[test]
fn object_of_an_entry_that_the_task_no_longer_has_keeps_the_deletion_open() {
    let mut store = Store::with([live("ConfigMap", "left", labels("former"), Some(1))]);
    let task = task(&[gated(selecting("job"), "delete", "deleting")]);
    let left = pass(&task, &mut store, 3, &yes("deleting"));
    assert_eq!((left.result().1, left.outcomes[0].finalized), ("AlreadyAbsent", false));
    assert_eq!((left.warnings(), store.log.len()), (vec!["left_behind"], 0));
    let told = left.outcomes[0].reason();
    assert!(told.starts_with("ConfigMap team/left of the entry `former`, which the task does not have"), "{told}");
    assert!(told.contains("give the entry its former name"), "{told}");
}

#[test]
fn objects_of_others_and_copies_keep_no_deletion_open() {
    let but = |key: &str, value: Value| with(labels("job"), json!({ key: value }));
    let controlled = json!({ "metadata": { "ownerReferences": [{ "controller": true, "uid": "x" }] } });
    let unsigned = || live("ConfigMap", "left", labels("job"), Some(1));
    let copied = recorded(&[("kubectl-create", "2026-01-02T00:00:00Z")]);
    let cases = [
        ("another adapter's", live("ConfigMap", "left", but(keys::ADAPTER, json!("other")), Some(1))),
        ("another API resource's", live("ConfigMap", "left", but(keys::RESOURCE_ID, json!("c2")), Some(1))),
        ("another entry's, which has no gate", live("ConfigMap", "left", but(keys::RESOURCE, json!("kept")), Some(1))),
        ("one that a person gave up", live("ConfigMap", "left", but(keys::RESOURCE, Value::Null), Some(1))),
        ("a disowned one", live("ConfigMap", "left", but(keys::DISOWNED, json!("c1")), Some(1))),
        ("one that a controller made", with(unsigned(), controlled)),
        ("one that a person copied", with(unsigned(), copied)),
    ];
    let kept = gated(config_map("kept"), "create", "false");
    let task = task(&[gated(config_map("job"), "delete", "deleting"), kept]);
    for (name, object) in cases {
        let mut store = Store::with([object]);
        let passed = pass(&task, &mut store, 3, &yes("deleting"));
        let outcome = &passed.outcomes[0];
        assert_eq!((outcome.decision.reason(), outcome.finalized), ("AlreadyAbsent", true), "{name}");
        assert_eq!((passed.warnings().len(), store.log.len()), (0, 0), "{name}");
    }
}

/// Says who wrote an object that was created on the second of January, and when.
fn recorded(writes: &[(&str, &str)]) -> Value {
    let entries: Vec<Value> =
        writes.iter().map(|(manager, time)| json!({ "manager": manager, "time": time })).collect();
    json!({ "metadata": { "creationTimestamp": "2026-01-02T00:00:00Z", "managedFields": entries } })
}

#[test]
fn object_that_was_restored_elsewhere_is_named_and_not_deleted() {
    let unsigned = |name: &str| live("ConfigMap", name, labels("job"), Some(1));
    let ours = recorded(&[("tester", "2026-01-02T00:00:00Z")]);
    let restored = recorded(&[("tester", "2026-01-01T00:00:00Z"), ("velero", "2026-01-02T00:00:00Z")]);
    let task = task(&[gated(config_map("job"), "delete", "deleting")]);
    let mut store = Store::with([with(unsigned("former"), ours), with(unsigned("copy"), restored.clone())]);
    let passed = pass(&task, &mut store, 3, &yes("deleting"));
    assert_eq!((store.names(), store.log.clone()), (vec!["copy"], vec!["delete former".to_owned()]));
    assert_eq!((passed.warnings(), passed.outcomes[0].finalized), (vec!["left_behind"], false));
    let again = pass(&task, &mut store, 3, &yes("deleting"));
    let told = again.outcomes[0].reason();
    assert!(
        told.starts_with("ConfigMap team/copy has the labels of the entry `job`, and was copied or restored"),
        "{told}"
    );

    // What the entry's own discovery finds is its object, whoever restored it.
    let mut store = Store::with([with(unsigned("job"), restored)]);
    let passed = pass(&task, &mut store, 3, &yes("deleting"));
    assert_eq!((store.names().len(), passed.warnings().len()), (0, 0));
}

#[test]
fn signed_object_is_deleted_at_its_former_place_and_a_copy_of_it_is_not() {
    let signer = Signer::new(b"0123456789abcdef0123456789abcdef").unwrap();
    let claim =
        |name| Claim { adapter: "tester", resource_id: "c1", group: "", kind: "ConfigMap", namespace: "team", name };
    let signed = |name: &str| {
        let proof =
            json!({ "metadata": { "annotations": { keys::OWNERSHIP_PROOF: signer.sign(&claim("original")) } } });
        with(live("ConfigMap", name, labels("job"), Some(1)), proof)
    };
    let task = task(&[gated(config_map("job"), "delete", "deleting")]);
    let mut store = Store::with([signed("original"), signed("copy")]);
    pass_of(&task, &mut store, Stamp { signer: Some(signer.clone()), ..stamp(3) }, &yes("deleting"));
    assert_eq!((store.names(), store.log.clone()), (vec!["copy"], vec!["delete original".to_owned()]));
}

#[test]
fn search_without_an_answer_fails_the_entry_and_a_forbidden_one_is_a_warning() {
    let task = task(&[moving("job", "name")]);
    for (is_forbidden, reason, finalized) in [(false, "DiscoveryFailed", false), (true, "AlreadyAbsent", true)] {
        let mut store = Store::new();
        store.unlistable = Some(is_forbidden);
        let passed = at("after", true, &task, &mut store);
        assert_eq!((passed.result().1, passed.outcomes[0].finalized), (reason, finalized));
        let warnings = if is_forbidden { vec!["former_unread"] } else { Vec::new() };
        assert_eq!(passed.warnings(), warnings);
    }
}

#[test]
fn only_a_deletion_searches() {
    let task = task(&[moving("job", "name")]);
    let mut store = Store::new();
    store.unlistable = Some(false);
    assert_eq!(at("after", false, &task, &mut store).result().2, "created");
    assert_eq!(at("after", false, &task, &mut store).result().1, "SameGeneration");
}

/// A bundle of one object in each of two waves, under the name of the stage.
fn bundle(entry: &str, name: &str) -> Value {
    let map = |name: &str, wave: &str| {
        let annotations = json!({ "hyperfleet.io/delete-order": wave });
        json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "name": name, "annotations": annotations } })
    };
    json!({
        "name": entry,
        "bundle": { "namespace": "team", "name": name, "manifests": [map("a-{{ .stage }}", "0"), map("b-{{ .stage }}", "1")] },
        "lifecycle": { "delete": { "when": { "expression": "deleting" } } },
    })
}

#[test]
fn set_of_a_former_bundle_name_is_deleted_in_its_order_after_the_present_one() {
    let task = task(&[bundle("monitoring", "set-{{ .stage }}")]);
    let mut store = Store::new();
    at("before", false, &task, &mut store);
    at("after", false, &task, &mut store);
    store.log.clear();
    let present = at("after", true, &task, &mut store);
    assert_eq!(store.log, ["delete a-after", "delete b-after", "delete set-after"]);
    assert_eq!((present.warnings(), present.outcomes[0].finalized), (vec!["left_behind"], false));
    store.log.clear();
    at("after", true, &task, &mut store);
    assert_eq!(store.log, ["delete a-before", "delete b-before", "delete set-before"]);
    let last = at("after", true, &task, &mut store);
    assert_eq!((last.result().1, last.outcomes[0].finalized, store.names().len()), ("AlreadyAbsent", true, 0));
}

#[test]
fn former_set_whose_parent_is_gone_keeps_the_deletion_open() {
    let task = task(&[bundle("monitoring", "set-{{ .stage }}")]);
    let mut store = Store::new();
    at("before", false, &task, &mut store);
    store.remove("set-before");
    let left = at("after", true, &task, &mut store);
    assert_eq!((left.result().1, left.outcomes[0].finalized), ("AlreadyAbsent", false));
    let told = left.outcomes[0].reason();
    assert!(told.contains("ConfigMap team/a-before of a set that the bundle `monitoring` had"), "{told}");
}

#[test]
fn set_of_a_renamed_entry_is_deleted_with_its_parent_or_keeps_the_deletion_open() {
    let former = task(&[bundle("former", "set")]);
    let mut store = Store::new();
    at("one", false, &former, &mut store);
    store.log.clear();
    let renamed = task(&[bundle("monitoring", "set")]);
    at("one", true, &renamed, &mut store);
    assert_eq!(store.log, ["delete a-one", "delete b-one", "delete set"]);

    at("one", false, &former, &mut store);
    let moved = task(&[bundle("monitoring", "other")]);
    let left = at("one", true, &moved, &mut store);
    assert!(!left.outcomes[0].finalized && store.names().len() == 3);
    let told = left.outcomes[0].reason();
    assert!(told.contains("ConfigMap team/set, the parent of a bundle, of the entry `former`"), "{told}");
}
