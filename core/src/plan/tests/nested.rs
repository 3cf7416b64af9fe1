//! Tests of nested discoveries: when an object inside another is visible to gates, and what fails it.

use serde_json::{Value, json};

use super::passes::{config_map, gated, live, pass, task, with, yes};
use super::store::Store;

/// An entry with nested discoveries.
fn work(nested: &[Value]) -> Value {
    with(config_map("work"), json!({ "nested_discoveries": nested }))
}

fn looking_for(name: &str, object: &str) -> Value {
    json!({ "name": name, "discovery": { "by_name": object } })
}

/// The live object of that entry, with a Secret `inner` inside.
fn live_work(generation: i64) -> Value {
    let inner = json!({ "kind": "Secret", "metadata": { "name": "inner", "namespace": "far" } });
    with(
        live("ConfigMap", "work", json!({}), Some(generation)),
        json!({ "spec": { "workload": { "manifests": [inner] } } }),
    )
}

#[test]
fn nested_object_is_visible_whether_or_not_its_parent_is_written() {
    let entry = || work(&[looking_for("inside", "inner")]);
    let patch = json!({ "lifecycle": { "patch": [{ "when": { "expression": "true" }, "document": { "data": { "a": "b" } } }] } });
    for (entry, generation, reason) in [
        (entry(), 3, "SameGeneration"),
        (entry(), 9, "StaleEvent"),
        (entry(), 2, "GenerationChanged"),
        (with(entry(), json!({ "when": { "expression": "false" } })), 2, "WhenFalse"),
        (gated(entry(), "apply", "false"), 2, "ApplyGateFalse"),
        (with(entry(), patch), 2, "PatchGateHolds"),
    ] {
        let done = pass(&task(&[entry]), &mut Store::with([live_work(generation)]), 3, &[]);
        assert_eq!(done.result().1, reason);
        let inside = done.visible("inside").map(|inside| &inside["metadata"]["name"]);
        assert_eq!(inside, Some(&json!("inner")), "{reason}");
    }
}

#[test]
fn nested_object_of_a_deleted_or_absent_parent_is_not_visible() {
    let entry = || work(&[looking_for("inside", "inner")]);
    for (entry, object) in [
        (gated(entry(), "delete", "true"), Some(live_work(3))),
        (gated(entry(), "create", "false"), None),
        (with(entry(), json!({ "when": { "expression": "false" } })), None),
    ] {
        let done = pass(&task(&[entry]), &mut Store::with(object), 3, &[]);
        assert_eq!((done.visible("inside"), done.warnings()), (None, Vec::new()), "{:?}", done.results());
    }
}

#[test]
fn nested_object_of_a_disowned_parent_stays_visible() {
    let entry = gated(work(&[looking_for("inside", "inner")]), "orphan", "true");
    let done = pass(&task(&[entry]), &mut Store::with([live_work(3)]), 3, &[]);
    assert_eq!((done.result().2, done.visible("inside").is_some()), ("disowned", true));
}

#[test]
fn nested_object_is_visible_to_gates_of_earlier_resources() {
    let waits = "deleting && !resources.?inside.hasValue()";
    let earlier = gated(config_map("earlier"), "delete", waits);
    let parent = gated(work(&[looking_for("inside", "inner")]), "delete", waits);
    let mut store = Store::with([live_work(3), live("ConfigMap", "earlier", json!({}), Some(3))]);
    let left = pass(&task(&[earlier, parent]), &mut store, 3, &yes("deleting"));
    assert_eq!(store.log, Vec::<String>::new(), "{:?}", left.results());
}

#[test]
fn nested_object_disappears_with_its_deleted_parent() {
    let parent = gated(work(&[looking_for("inside", "inner")]), "delete", "deleting");
    let later = gated(config_map("later"), "delete", "deleting && !resources.?inside.hasValue()");
    let mut store = Store::with([live_work(3), live("ConfigMap", "later", json!({}), Some(3))]);
    pass(&task(&[parent, later]), &mut store, 3, &yes("deleting"));
    assert_eq!(store.log, ["delete work", "delete later"]);
}

#[test]
fn nested_discovery_of_an_absent_parent_is_not_rendered() {
    let unrenderable = looking_for("inside", "{{ .resources.work.spec.missing }}");
    let parent = gated(work(&[unrenderable]), "create", "false");
    let earlier = gated(config_map("earlier"), "create", "!resources.?inside.hasValue()");
    let done = pass(&task(&[earlier, parent]), &mut Store::new(), 3, &[]);
    assert_eq!((done.results()[0].2, done.warnings()), ("created", Vec::new()));
}

#[test]
fn nested_discovery_that_does_not_render_fails_gates_that_read_it() {
    let unread = with(config_map("unread"), json!({ "manifest": { "kind": "Secret" } }));
    for by_name in [
        "{{ .unset }}",
        "{{ .resources.work.spec.missing }}",
        "{{ if false }}x{{ end }}",
        "{{ .resources.unread.data.a }}",
    ] {
        let parent = gated(work(&[looking_for("inside", by_name)]), "delete", "!resources.?inside.hasValue()");
        let earlier = gated(config_map("earlier"), "create", "!resources.?inside.hasValue()");
        let mut store = Store::with([live_work(3)]);
        store.unreadable = vec!["Secret".to_owned()];
        let failed = pass(&task(&[earlier, parent, unread.clone()]), &mut store, 3, &[]);
        assert_eq!(failed.results()[0], ("fail", "GateFailed", "failed", "10"), "{by_name}");
        assert_eq!(failed.results()[1], ("fail", "GateFailed", "failed", "5"), "{by_name}");
        assert_eq!((failed.warnings(), store.log.len()), (vec!["nested_unread"], 0), "{by_name}");
    }
}

#[test]
fn discovery_can_read_a_nested_object_of_an_earlier_resource() {
    let reads_it = json!({ "discovery": { "by_name": "{{ .resources.inside.metadata.name }}" }, "manifest": { "metadata": { "name": "inner" } } });
    let entries =
        [work(&[looking_for("inside", "inner")]), gated(with(config_map("later"), reads_it), "apply", "true")];
    let done = pass(&task(&entries), &mut Store::with([live_work(3)]), 3, &[]);
    assert_eq!(done.results()[1].2, "created", "{:?}", done.results());
}

#[test]
fn missing_nested_object_gives_a_warning() {
    let entry = work(&[looking_for("inside", "nobody"), looking_for("work", "inner"), looking_for("other", "inner")]);
    let done = pass(&task(&[entry]), &mut Store::with([live_work(3)]), 3, &[]);
    assert_eq!(done.warnings(), ["nested_left_out", "nested_left_out"], "one is nobody, one has its parent's name");
    assert_eq!((done.result().2, done.visible("other").is_some()), ("skipped", true));
}

#[test]
fn nested_name_of_another_resource_fails_and_stops_later_writes() {
    let task = task(&[config_map("first"), work(&[looking_for("first", "inner")]), config_map("later")]);
    let mut store = Store::with([live_work(3)]);
    let failed = pass(&task, &mut store, 3, &[]);
    assert_eq!(failed.results()[1], ("skip", "NestedNameTaken", "failed", "17"));
    assert_eq!(failed.results()[2].1, "EarlierFailure");
}

#[test]
fn nested_object_of_an_unread_parent_is_unread() {
    let later = gated(config_map("later"), "create", "!resources.?inside.hasValue()");
    let unread = with(work(&[looking_for("inside", "inner")]), json!({ "manifest": { "kind": "Secret" } }));
    // An unread resource fails first, so a creation is skipped without its gate; the delete gate is asked.
    let task = task(&[gated(later, "delete", "!resources.?inside.hasValue()"), unread]);
    let mut store = Store::with([live("ConfigMap", "later", json!({}), Some(3))]);
    store.unreadable = vec!["Secret".to_owned()];
    assert_eq!(pass(&task, &mut store, 3, &[]).results()[0], ("fail", "GateFailed", "failed", "5"));
}

#[test]
fn nested_discovery_can_read_a_nested_object_of_a_later_resource() {
    let reads_it = "{{ .resources.second.metadata.name }}";
    let defaults = r#"{{ if index .resources "second" }}inner{{ else }}nobody{{ end }}"#;
    let reads_all = r#"{{ if index .resources "other" }}inner{{ else }}nobody{{ end }}"#;
    let other = json!({
        "name": "other", "manifest": { "metadata": { "name": "other" } }, "discovery": { "by_name": "other" }
    });
    for (first, second) in [(reads_it, "inner"), (defaults, "inner"), (defaults, reads_all)] {
        let earlier = gated(config_map("earlier"), "delete", "deleting && !resources.?first.hasValue()");
        let later = with(work(&[looking_for("second", second)]), other.clone());
        let task = task(&[earlier, work(&[looking_for("first", first)]), later]);
        let held = with(live_work(3), json!({ "metadata": { "name": "other" } }));
        let mut store = Store::with([live_work(3), held, live("ConfigMap", "earlier", json!({}), Some(3))]);
        let left = pass(&task, &mut store, 3, &yes("deleting"));
        assert_eq!(left.results()[0].2, "skipped", "{first} {second}");
        assert_eq!(store.names(), ["earlier", "other", "work"], "{first} {second}");
    }
}
