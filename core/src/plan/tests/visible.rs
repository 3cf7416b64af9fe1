//! Tests of which objects expressions and discoveries see in `resources`, and when.

use serde_json::json;

use super::passes::{config_map, first_step, gated, live, pass, scope, selecting, task, version, with, yes};
use super::store::Store;
use crate::plan::owned::COMPUTED;

#[test]
fn without_lifecycle_keys_a_resource_is_visible_from_its_turn_on() {
    for (first, is_visible) in [(config_map("first"), false), (gated(config_map("first"), "create", "true"), true)] {
        let task = task(&[first, config_map("second")]);
        let store = Store::with([live("ConfigMap", "second", json!({}), Some(3))]);
        let mut scope = scope(&store, 3, &[]);
        first_step(&task, &store, &mut scope);
        let second = scope.get("resources").and_then(|resources| resources.get("second"));
        assert_eq!(second.is_some(), is_visible);
    }
}

#[test]
fn without_lifecycle_keys_failed_and_later_resources_are_not_visible() {
    let entries = ["first", "second", "third"].map(config_map);
    let older = ["first", "second", "third"].map(|name| live("ConfigMap", name, json!({}), Some(2)));
    for (entries, is_visible) in [
        (entries.to_vec(), [true, false, false]),
        ([&[gated(entries[0].clone(), "apply", "true")], &entries[1..]].concat(), [true, true, true]),
    ] {
        let mut store = Store::with(older.clone());
        store.refuse = vec!["update second".to_owned()];
        let failed = pass(&task(&entries), &mut store, 3, &[]);
        assert_eq!(failed.results()[1].2, "failed");
        assert_eq!(["first", "second", "third"].map(|name| failed.visible(name).is_some()), is_visible);
    }
}

#[test]
fn discovery_waits_for_the_resource_that_it_reads() {
    let second = with(config_map("second"), json!({ "discovery": { "by_name": "{{ .resources.first.data.next }}" } }));
    let task = task(&[config_map("first"), gated(second, "create", "true")]);
    let first = with(live("ConfigMap", "first", json!({}), Some(3)), json!({ "data": { "next": "second" } }));
    let mut store = Store::with([first, live("ConfigMap", "second", json!({}), Some(3))]);
    let settled = pass(&task, &mut store, 3, &[]);
    assert!(settled.results().iter().all(|result| result.1 == "SameGeneration"), "{:?}", settled.results());
}

#[test]
fn later_gates_see_the_object_as_just_written() {
    let later = gated(
        config_map("later"),
        "create",
        "resources.earlier.metadata.labels[\"hyperfleet.io/adapter\"] == \"tester\"",
    );
    let task = task(&[config_map("earlier"), later]);
    let mut store = Store::new();
    let created = pass(&task, &mut store, 3, &[]);
    assert!(created.results().iter().all(|result| result.2 == "created"), "{:?}", created.results());
}

#[test]
fn gates_see_the_owned_version_among_foreign_ones() {
    let entry = gated(selecting("job"), "delete", "resources.job.metadata.name == \"job-1\"");
    let task = task(&[entry, selecting("other")]);
    // The Go adapter would show the object of the highest generation, which belongs to another entry.
    let mut store = Store::with([version("job", "job-1", 1, 1), version("other", "other-9", 9, 2)]);
    let deleted = pass(&task, &mut store, 3, &[]);
    assert_eq!(deleted.results()[0].2, "deleted");
    assert_eq!(store.names(), ["other-9"]);
}

#[test]
fn foreign_object_is_visible_if_the_resource_owns_none() {
    let task = task(&[gated(selecting("job"), "create", "resources.job.metadata.name == \"foreign\"")]);
    let labels = json!({ "app": "demo", "hyperfleet.io/resource": "job", "hyperfleet.io/adapter": "somebody" });
    let mut store = Store::with([live("ConfigMap", "foreign", labels, Some(7))]);
    assert_eq!(pass(&task, &mut store, 3, &yes("writing")).result().2, "created");
}

#[test]
fn ownership_is_computed_again_only_if_the_manifest_may_read_what_is_shown() {
    let reading = json!({ "manifest": { "data": { "a": "{{ with .resources.job }}{{ .kind }}{{ end }}" } } });
    let lifecycle = |entry| gated(entry, "create", "true");
    let one = || vec![version("job", "job-3", 3, 3)];
    let two = || vec![version("job", "job-2", 2, 2), version("job", "job-3", 3, 3)];
    let cases = [
        ("one version", lifecycle(selecting("job")), one(), 2),
        ("two versions", lifecycle(selecting("job")), two(), 2),
        ("one version, whose manifest reads `resources`", lifecycle(with(selecting("job"), reading.clone())), one(), 2),
        (
            "two versions, whose manifest reads `resources`",
            lifecycle(with(selecting("job"), reading.clone())),
            two(),
            3,
        ),
        ("without lifecycle keys", selecting("job"), two(), 1),
        ("without lifecycle keys, and a manifest that reads `resources`", with(selecting("job"), reading), two(), 2),
    ];
    for (name, entry, objects, expected) in cases {
        COMPUTED.set(0);
        let settled = pass(&task(&[entry]), &mut Store::with(objects), 3, &[]);
        assert_eq!((settled.result().1, COMPUTED.get()), ("SameGeneration", expected), "{name}");
    }
}
