//! Tests of the label `disowned`: who may set it, whom it concerns, and what happens when a person removes
//! it.

use lifecycle_objects::keys;
use lifecycle_objects::stamp::Stamp;
use lifecycle_objects::write::Command;
use serde_json::{Value, json};

use super::passes::{
    assert_settled, config_map, gated, labels, live, pass, pass_of, selecting, stamp, task, version, with, yes,
};
use super::store::Store;
use crate::plan::{Next, Planner, Read};

/// Adds the label `disowned`, as a person would.
fn marked(object: Value, value: &str) -> Value {
    with(object, json!({ "metadata": { "labels": { keys::DISOWNED: value } } }))
}

/// Returns an object that the resource `by` disowned, with label and annotation.
fn disowned(name: &str, id: &str, by: &str) -> Value {
    let metadata = json!({ "labels": { "app": "demo", keys::DISOWNED: id }, "annotations": { keys::DISOWNED_BY: by } });
    with(live("ConfigMap", name, json!({}), Some(1)), json!({ "metadata": metadata }))
}

#[test]
fn object_that_a_person_disowned_is_never_written() {
    for entry in
        [config_map("job"), gated(config_map("job"), "orphan", "disowning"), gated(config_map("job"), "delete", "true")]
    {
        for value in ["c1", "true", ""] {
            let mut store = Store::with([marked(live("ConfigMap", "job", json!({}), Some(1)), value)]);
            let skipped = pass(&task(std::slice::from_ref(&entry)), &mut store, 3, &[]);
            assert_eq!(skipped.result(), ("skip", "Disowned", "skipped", "2"), "{value:?}");
            assert_eq!(store.log.len(), 0);
        }
    }
}

#[test]
fn versions_beside_a_disowned_one_are_disowned() {
    let task = task(&[selecting("job")]);
    let mut store =
        Store::with([marked(version("job", "a", 1, 1), "c1"), version("job", "b", 2, 2), version("job", "c", 3, 3)]);
    let stripped = pass(&task, &mut store, 3, &[]);
    assert_eq!(stripped.result(), ("disown", "Disowned", "disowned", "2"));
    assert!(stripped.outcomes[0].finalized);
    assert_eq!(store.log, ["disown b", "disown c"]);
    assert_settled(&task, &mut store, 3, &[]);
}

#[test]
fn removing_the_label_disowned_returns_the_object_to_the_adapter() {
    let named = json!({ "manifest": { "metadata": { "name": "job-3" } }, "discovery": { "by_name": "job-3" } });
    for entry in [with(config_map("job"), named), selecting("job")] {
        let task = task(&[gated(entry, "orphan", "disowning")]);
        let mut store = Store::new();
        pass(&task, &mut store, 3, &[]);
        pass(&task, &mut store, 3, &yes("disowning"));
        store.change("job-3", &json!({ "metadata": { "labels": { keys::DISOWNED: null } } }));
        assert_eq!(pass(&task, &mut store, 3, &[]).result().1, "SameGeneration");
        // Give the object an older generation, because names of selected objects contain the generation.
        store.change("job-3", &json!({ "metadata": { "annotations": { keys::GENERATION: "2" } } }));
        assert_eq!(pass(&task, &mut store, 3, &[]).result().2, "updated");
        assert_eq!(store.object("job-3")["metadata"]["labels"][keys::RESOURCE], json!("job"), "it is stamped again");
        assert_eq!(pass(&task, &mut store, 3, &yes("disowning")).result().2, "disowned", "and may be disowned again");
    }
}

#[test]
fn object_that_others_disowned_does_not_count_as_own() {
    let cases = [
        ("for another cluster", disowned("x", "c2", "tester/job")),
        ("by another adapter", disowned("x", "c1", "somebody/job")),
        ("by another entry", disowned("x", "c1", "tester/other")),
        (
            "by a person, off another cluster's",
            marked(
                with(
                    live("ConfigMap", "x", labels("job"), None),
                    json!({ "metadata": { "labels": { keys::RESOURCE_ID: "c2" } } }),
                ),
                "c1",
            ),
        ),
    ];
    for (name, object) in cases {
        // Each object exists alone, and beside one that the resource owns.
        for own in [None, Some(version("job", "job-3", 3, 1))] {
            let task = task(&[gated(selecting("job"), "orphan", "disowning"), selecting("other")]);
            let mut store = Store::with([object.clone()]);
            let is_new = own.is_none();
            own.map(|own| store.put(own));
            let result = pass(&task, &mut store, 3, &[]).results()[0].1.to_owned();
            assert_eq!(result, if is_new { "Absent" } else { "SameGeneration" }, "{name}");
            assert!(!store.log.iter().any(|call| call.ends_with(" x") || call.starts_with("disown")), "{name}");
        }
    }
}

#[test]
fn label_disowned_without_the_annotation_counts_unless_ambiguous() {
    let bare = marked(live("ConfigMap", "x", json!({}), None), "c1");
    let of_entry = |name: &str| with(bare.clone(), json!({ "metadata": { "labels": { keys::RESOURCE: name } } }));
    let alone = || vec![gated(selecting("job"), "orphan", "disowning")];
    let beside = || [alone(), vec![selecting("other")]].concat();
    for (name, entries, object, counts) in [
        ("alone", alone(), bare.clone(), true),
        ("beside another entry of the kind", beside(), bare.clone(), false),
        ("beside another entry, but it names this one", beside(), of_entry("job"), true),
        ("it names another one", alone(), of_entry("other"), false),
    ] {
        let mut store = Store::with([object]);
        let result = pass(&task(&entries), &mut store, 3, &[]).results()[0].1.to_owned();
        assert_eq!(result == "Disowned", counts, "{name}: {result}");
    }
}

#[test]
fn two_adapters_disown_objects_of_one_cluster_independently() {
    let mut entry = selecting("job");
    entry["manifest"]["metadata"]["name"] = json!("{{ .stage }}");
    let task = task(&[gated(entry, "orphan", "disowning")]);
    let other = || Stamp { adapter: "other".to_owned(), ..stamp(3) };
    let stage = |name: &str, disowning: bool| [("stage", json!(name)), ("disowning", json!(disowning))];
    let mut store = Store::new();
    pass(&task, &mut store, 3, &stage("ours", false));
    pass_of(&task, &mut store, other(), &stage("theirs", false));
    pass(&task, &mut store, 3, &stage("ours", true));
    let theirs = pass_of(&task, &mut store, other(), &stage("theirs", false));
    assert_eq!(theirs.result().1, "SameGeneration");
    pass_of(&task, &mut store, other(), &stage("theirs", true));
    assert_eq!(pass(&task, &mut store, 3, &stage("ours", false)).result().1, "Disowned");
    assert_eq!(store.log, ["create ours", "create theirs", "disown ours", "disown theirs"]);
}

#[test]
fn disowned_objects_are_not_queried_for_an_invalid_resource_id() {
    let task = task(&[gated(config_map("job"), "orphan", "disowning")]);
    for (id, reads) in [("c1", 2), ("no/label", 1)] {
        let store = Store::new();
        let mut scope = super::passes::scope(&store, 3, &[]);
        let mut planner = Planner::new(&task, Stamp { resource_id: id.to_owned(), ..stamp(3) });
        let mut queries = Vec::new();
        let step = loop {
            match planner.next(&mut scope) {
                Next::Read(reads) => {
                    for Read { resource, query } in reads {
                        planner.observe(&mut scope, resource, store.find(&query));
                        queries.push(query);
                    }
                }
                Next::Write(step) => break Some(step),
                Next::Bundle(step) => panic!("the task has no bundle: {step:?}"),
                Next::Done => break None,
            }
        };
        assert_eq!(queries.len(), reads, "{queries:?}");
        let creates = step.is_some_and(|step| matches!(step.command, Command::Create { .. }));
        assert_eq!(creates, id == "c1", "{id}");
    }
}

#[test]
fn invalid_resource_id_fails_the_disowning_only() {
    let task = task(&[gated(config_map("job"), "orphan", "disowning"), config_map("later")]);
    for id in ["no/label", ""] {
        let mut store = Store::with([live("ConfigMap", "job", json!({}), Some(3))]);
        let stamp = Stamp { resource_id: id.to_owned(), ..stamp(3) };
        let failed = pass_of(&task, &mut store, stamp, &yes("disowning"));
        assert_eq!(failed.results()[0], ("disown", "InvalidLabel", "failed", "3"), "{id:?}");
        assert_ne!(failed.results()[1].1, "EarlierFailure");
        assert_eq!(store.log.len(), 0);
    }
}
