//! Tests of creations whose name is taken, and of writes after which the discovery would not find the object.

use lifecycle_objects::failure::{FailReason, Failure};
use lifecycle_objects::write::{Command, Executed, NotCreated};
use serde_json::{Value, json};

use super::passes::{
    Pass, config_map, first_step, gated, labels, live, next_step, pass, scope, selecting, task, version, with, yes,
};
use super::store::Store;
use crate::outcome::Outcome;
use crate::plan::{Next, Write};

/// Plans up to the first creation, records `executed` as its result, and returns the outcomes and the next
/// write.
fn record_creation(entry: Value, store: &Store, executed: Executed) -> (Vec<Outcome>, Option<Write>) {
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
fn creation_that_meets_its_own_object_is_decided_again() {
    let ours = || live("ConfigMap", "left-3", labels("left"), Some(3));
    let (outcomes, next) = record_creation(selecting("left"), &Store::new(), taken(ours()));
    assert_eq!((outcomes[0].decision.reason(), next), ("SameGeneration", None));

    let older = live("ConfigMap", "left-3", labels("left"), Some(2));
    let (_, next) = record_creation(selecting("left"), &Store::new(), taken(older));
    assert!(matches!(next, Some(Write { command: Command::Update { .. }, .. })), "{next:?}");

    let dying = with(ours(), json!({ "metadata": { "deletionTimestamp": "2025-12-31T00:00:00Z" } }));
    let (outcomes, _) = record_creation(selecting("left"), &Store::new(), taken(dying));
    assert_eq!(outcomes[0].decision.reason(), "Terminating");
}

#[test]
fn creation_that_meets_a_foreign_object_leaves_it_alone() {
    let named = |labels: Value, generation: Option<i64>| live("ConfigMap", "left-3", labels, generation);
    let theirs = with(labels("right"), json!({ "hyperfleet.io/adapter": "first", "hyperfleet.io/resource-id": "c9" }));
    let controller = json!([{ "kind": "Certificate", "name": "web", "controller": true }]);
    let cases = [
        (named(labels("right"), Some(3)), "adapter tester, entry right, for the resource c1"),
        (named(theirs, Some(3)), "adapter first, entry right, for the resource c9"),
        (named(json!({ "hyperfleet.io/resource": "left" }), Some(3)), "adapter ?, entry left, for the resource ?"),
        (
            named(json!({}), Some(3)),
            "an adapter that sets no labels, as its annotation `hyperfleet.io/generation` says",
        ),
        (
            named(json!({ "hyperfleet.io/disowned": "c9" }), None),
            "nobody: it was disowned, as its label `hyperfleet.io/disowned` says",
        ),
        (
            with(named(json!({}), None), json!({ "metadata": { "ownerReferences": controller } })),
            "Certificate web, which controls it",
        ),
        (named(json!({}), None), "nobody: no adapter wrote it"),
    ];
    for (foreign, owner) in cases {
        let (outcomes, next) = record_creation(selecting("left"), &Store::new(), taken(foreign));
        let failure = outcomes[0].failure().cloned();
        let message = format!(
            "a ConfigMap left-3 exists that does not belong to this resource, but to {owner}; it is left alone"
        );
        assert_eq!(failure, Some(Failure::new(FailReason::NameTaken, message)));
        assert_eq!(next, None);
    }
}

#[test]
fn creation_is_not_retried_if_the_taken_name_is_free_again() {
    let (outcomes, next) = record_creation(selecting("left"), &Store::new(), Executed::NameTaken(None));
    assert_eq!(outcomes[0].failure().map(|failure| failure.reason), Some(FailReason::Conflict));
    assert_eq!(next, None);
}

#[test]
fn version_that_meets_its_own_object_keeps_the_other_versions() {
    let more = json!({ "retention": { "historyLimit": 1 }, "lifecycle": { "recreate": { "when": { "expression": "resources.job.metadata.name != \"job-3\"" } } } });
    let entry = with(selecting("job"), more);
    let store = Store::with([version("job", "a", 1, 1), version("job", "b", 2, 2), version("job", "c", 2, 3)]);
    let faster = with(version("job", "job-3", 3, 4), json!({ "metadata": { "uid": "theirs" } }));
    let (outcomes, next) = record_creation(entry, &store, taken(faster));
    assert_eq!(outcomes, [], "former versions have to be pruned first");
    let Some(Write { command: Command::Delete { targets, .. }, .. }) = next else { unreachable!("{next:?}") };
    let names: Vec<_> = targets.iter().map(|target| target.name.as_str()).collect();
    assert_eq!(names, ["b", "a"], "all former versions are known, and the newest of them stays");
}

#[test]
fn creation_is_decided_again_only_once() {
    let task = task(&[with(selecting("job"), json!({ "retention": { "historyLimit": 1 } }))]);
    let store = Store::new();
    let mut scope = scope(&store, 3, &[]);
    let (mut planner, _) = first_step(&task, &store, &mut scope);
    // The resource owns this object, but under another name, so the decision is again a creation.
    planner.record(&mut scope, taken(version("job", "job-2", 2, 1)));
    let next = next_step(&mut planner, &store, &mut scope);
    assert!(matches!(next, Some(Write { command: Command::Create { .. }, .. })), "{next:?}");
    planner.record(&mut scope, taken(version("job", "job-1", 1, 1)));
    assert_eq!(planner.next(&mut scope), Next::Done);
    assert_eq!(planner.outcomes()[0].failure().map(|failure| failure.reason), Some(FailReason::Conflict));
}

/// An entry whose object is recreated under a name that varies.
fn replaced() -> Value {
    gated(selecting("job"), "recreate", "replacing")
}

#[test]
fn recreation_under_a_foreign_objects_name_deletes_nothing() {
    let mut store = Store::with([version("job", "job-2", 2, 1), live("ConfigMap", "job-3", json!({}), None)]);
    let failed = pass(&task(&[replaced()]), &mut store, 3, &yes("replacing"));
    assert_eq!(failed.result(), ("recreate", "NameTaken", "failed", "14"));
    assert_eq!((store.log.len(), store.names()), (0, vec!["job-2", "job-3"]));
    assert_eq!(failed.visible("job"), Some(store.object("job-2")));
}

#[test]
fn object_is_not_visible_after_a_recreation_that_only_deleted() {
    let task = task(&[replaced(), gated(config_map("later"), "delete", "!resources.?job.hasValue()")]);
    let mut store = Store::with([version("job", "job-2", 2, 1), live("ConfigMap", "later", json!({}), Some(1))]);
    store.refuse = vec!["create job-3".to_owned()];
    let failed = pass(&task, &mut store, 3, &yes("replacing"));
    assert_eq!(failed.results()[0], ("recreate", "Unavailable", "failed", "14"));
    assert_eq!((failed.visible("job"), failed.results()[1].2), (None, "deleted"));
}

#[test]
fn recreation_fails_if_its_name_is_taken_after_the_deletion() {
    let ours = with(version("job", "job-3", 3, 1), json!({ "metadata": { "uid": "theirs" } }));
    let stranger = live("ConfigMap", "job-3", json!({}), None);
    for (name, holder, reason, shown) in [
        ("what another replica created", Some(ours), FailReason::Conflict, Some("job-3")),
        ("a stranger's", Some(stranger), FailReason::NameTaken, None),
        ("nobody's", None, FailReason::Conflict, None),
    ] {
        let task = task(&[replaced()]);
        let store = Store::with([version("job", "job-2", 2, 1)]);
        let mut scope = scope(&store, 3, &yes("replacing"));
        let (mut planner, _) = first_step(&task, &store, &mut scope);
        planner.record(&mut scope, Executed::DeletedNotCreated(NotCreated::NameTaken(holder)));
        assert_eq!(planner.next(&mut scope), Next::Done);
        assert_eq!(planner.outcomes()[0].failure().map(|failure| failure.reason), Some(reason), "{name}");
        let visible = scope.get("resources").and_then(|resources| resources.get("job"));
        assert_eq!(visible.and_then(|job| job["metadata"]["name"].as_str()), shown, "{name}");
    }
}

#[track_caller]
fn refused(entry: Value, store: &mut Store) -> Pass {
    let refused = pass(&task(&[entry]), store, 3, &[]);
    assert_eq!(store.log.len(), 0, "{:?}", refused.results());
    refused
}

#[test]
fn object_that_its_discovery_would_not_find_is_not_created() {
    let label = json!({ "discovery": { "by_selectors": { "label_selector": { "app": "other" } } } });
    let name = json!({ "discovery": { "by_name": "elsewhere" } });
    let namespace = json!({ "discovery": { "namespace": "elsewhere" } });
    for entry in [with(selecting("left"), label), with(config_map("left"), name), with(config_map("left"), namespace)] {
        let refused = refused(entry, &mut Store::new());
        assert_eq!(refused.result(), ("fail", "SelectorMismatch", "failed", "12"));
    }
}

#[test]
fn namespaced_object_without_namespace_is_not_created_for_a_discovery_in_one() {
    let mut entry = with(config_map("left"), json!({ "discovery": { "namespace": "team" } }));
    if let Some(metadata) = entry["manifest"]["metadata"].as_object_mut() {
        metadata.remove("namespace");
    }
    let outcome = refused(entry.clone(), &mut Store::new());
    assert_eq!(outcome.result(), ("fail", "SelectorMismatch", "failed", "12"));
    assert!(outcome.outcomes[0].reason().contains("write `metadata.namespace` in the manifest"));
    entry["manifest"]["apiVersion"] = json!("example.io/v1");
    let unknown_kind = pass(&task(&[entry]), &mut Store::new(), 3, &[]);
    assert_eq!(unknown_kind.result().0, "create", "a custom kind may be cluster-scoped");
}

#[test]
fn update_that_its_own_discovery_would_not_find_is_refused() {
    let label = json!({ "discovery": { "by_selectors": { "label_selector": { "app": "other" } } } });
    let live = live("ConfigMap", "left-3", with(labels("left"), json!({ "app": "other" })), Some(2));
    let refused = refused(with(selecting("left"), label), &mut Store::with([live]));
    assert_eq!(refused.result(), ("fail", "SelectorMismatch", "failed", "19"));
}

#[test]
fn patch_that_takes_an_object_out_of_its_own_discovery_is_refused() {
    let patches = |document: Value| json!({ "lifecycle": { "patch": [{ "when": { "expression": "true" }, "document": document }] } });
    let there = || live("ConfigMap", "left-3", labels("left"), Some(3));
    for labels in [json!({ "app": "other" }), json!({ "app": null })] {
        let patch = patches(json!({ "metadata": { "labels": labels } }));
        let refused = refused(with(selecting("left"), patch), &mut Store::with([there()]));
        assert_eq!(refused.result(), ("fail", "SelectorMismatch", "failed", "15"));
    }
    let off_and_on = ["other", "demo"].map(
        |app| json!({ "when": { "expression": "true" }, "document": { "metadata": { "labels": { "app": app } } } }),
    );
    let off_and_on = with(selecting("left"), json!({ "lifecycle": { "patch": off_and_on } }));
    assert_eq!(
        refused(off_and_on, &mut Store::with([there()])).result().1,
        "SelectorMismatch",
        "the second may be refused"
    );
    let patch = patches(json!({ "metadata": { "labels": { "app": "demo", "tier": "gold" } } }));
    let patched = pass(&task(&[with(selecting("left"), patch)]), &mut Store::with([there()]), 3, &[]);
    assert_eq!(patched.result(), ("patch", "PatchGateHolds", "patched", "15"));
}

#[test]
fn discovery_that_renders_to_an_invalid_name_or_label_fails() {
    let named = |name: &str| json!({ "discovery": { "by_name": name } });
    let selected = |labels: Value| json!({ "discovery": { "by_selectors": { "label_selector": labels } } });
    let gone = json!({ "lifecycle": { "delete": { "when": { "expression": "true" } } } });
    let cases = [
        (with(config_map("left"), named("{{ .unset }}")), "by_name renders to ``, which no object has: it is empty"),
        (
            with(config_map("left"), named("../{{ .unset }}a")),
            "by_name renders to `../a`, which no object has: it contains the character `/`",
        ),
        (
            with(config_map("left"), json!({ "discovery": { "namespace": " team{{ .unset }}" } })),
            "namespace renders to ` team`, which no object has: it contains the character ` `",
        ),
        (
            with(selecting("left"), selected(json!({ "{{ .unset }}": "demo" }))),
            "label_selector key renders to ``, which no object has: it must be 1 to 63 letters, digits, `-`, `_` or `.`, with a \
             letter or digit at either end",
        ),
        (
            with(selecting("left"), selected(json!({ "app": "a b{{ .unset }}" }))),
            "label_selector app renders to `a b`, which no object has: it must be at most 63 letters, digits, `-`, `_` or `.`, \
             with a letter or digit at either end",
        ),
        (
            with(selecting("left"), selected(json!({ "hyperfleet.io/resource-id": "{{ .unset }}" }))),
            "label_selector hyperfleet.io/resource-id renders to ``, which no object has: it is never empty",
        ),
        (
            with(selecting("left"), selected(json!({ "app": "demo", "app{{ .unset }}": "other" }))),
            "two keys of label_selector render to `app`",
        ),
    ];
    for (entry, cause) in cases {
        let refused = pass(&task(&[with(entry, gone.clone())]), &mut Store::new(), 3, &[("unset", json!(""))]);
        assert_eq!(refused.result(), ("fail", "DiscoveryFailed", "failed", "1"));
        assert!(refused.outcomes[0].reason().ends_with(cause), "{}", refused.outcomes[0].reason());
    }
}

#[test]
fn object_with_the_labels_of_another_resource_is_not_created() {
    let more = json!({ "manifest": { "metadata": { "labels": { "hyperfleet.io/resource": "right" } } } });
    let refused = refused(with(selecting("left"), more), &mut Store::new());
    assert_eq!(refused.result(), ("fail", "SelectorMismatch", "failed", "12"));
}

#[test]
fn namespace_of_a_cluster_scoped_object_is_ignored() {
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
