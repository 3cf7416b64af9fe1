//! Objects inside of a resource's object: when they become visible, and what stands in their way.

use serde_json::{Value, json};

use super::passes::{config_map, gated, live, pass, task, with, yes};
use super::store::Store;

/// An entry whose object has manifests in it, one of which is looked for.
fn work(nested: &[Value]) -> Value {
    with(config_map("work"), json!({ "nested_discoveries": nested }))
}

fn looking_for(name: &str, object: &str) -> Value {
    json!({ "name": name, "discovery": { "by_name": object } })
}

/// The object, of a generation, with a Secret `inner` in it.
fn there(generation: i64) -> Value {
    let inner = json!({ "kind": "Secret", "metadata": { "name": "inner", "namespace": "far" } });
    with(
        live("ConfigMap", "work", json!({}), Some(generation)),
        json!({ "spec": { "workload": { "manifests": [inner] } } }),
    )
}

#[test]
fn what_is_found_inside_is_visible_whether_or_not_something_was_written() {
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
        let done = pass(&task(&[entry]), &mut Store::with([there(generation)]), 3, &[]);
        assert_eq!(done.result().1, reason);
        let inside = done.visible("inside").map(|inside| &inside["metadata"]["name"]);
        assert_eq!(inside, Some(&json!("inner")), "{reason}");
    }
}

#[test]
fn of_what_goes_or_is_not_there_nothing_is_visible() {
    let entry = || work(&[looking_for("inside", "inner")]);
    for (entry, object) in [
        (gated(entry(), "delete", "true"), Some(there(3))),
        (gated(entry(), "create", "false"), None),
        (with(entry(), json!({ "when": { "expression": "false" } })), None),
    ] {
        let done = pass(&task(&[entry]), &mut Store::with(object), 3, &[]);
        assert_eq!((done.visible("inside"), done.warnings()), (None, Vec::new()), "{:?}", done.results());
    }
}

#[test]
fn what_is_inside_of_a_released_object_is_still_visible() {
    let entry = gated(work(&[looking_for("inside", "inner")]), "orphan", "true");
    let done = pass(&task(&[entry]), &mut Store::with([there(3)]), 3, &[]);
    assert_eq!((done.result().2, done.visible("inside").is_some()), ("disowned", true));
}

#[test]
fn every_gate_sees_what_is_inside_before_anything_is_decided() {
    let waits = "deleting && !resources.?inside.hasValue()";
    let earlier = gated(config_map("earlier"), "delete", waits);
    let parent = gated(work(&[looking_for("inside", "inner")]), "delete", waits);
    let mut store = Store::with([there(3), live("ConfigMap", "earlier", json!({}), Some(3))]);
    let left = pass(&task(&[earlier, parent]), &mut store, 3, &yes("deleting"));
    assert_eq!(store.log, Vec::<String>::new(), "{:?}", left.results());
}

#[test]
fn what_is_inside_goes_with_the_object() {
    let parent = gated(work(&[looking_for("inside", "inner")]), "delete", "deleting");
    let later = gated(config_map("later"), "delete", "deleting && !resources.?inside.hasValue()");
    let mut store = Store::with([there(3), live("ConfigMap", "later", json!({}), Some(3))]);
    pass(&task(&[parent, later]), &mut store, 3, &yes("deleting"));
    assert_eq!(store.log, ["delete work", "delete later"]);
}

#[test]
fn inside_of_an_absent_object_nothing_is_there_and_nothing_is_rendered() {
    let unrenderable = looking_for("inside", "{{ .resources.work.spec.missing }}");
    let parent = gated(work(&[unrenderable]), "create", "false");
    let earlier = gated(config_map("earlier"), "create", "!resources.?inside.hasValue()");
    let done = pass(&task(&[earlier, parent]), &mut Store::new(), 3, &[]);
    assert_eq!((done.results()[0].2, done.warnings()), ("created", Vec::new()));
}

#[test]
fn a_nested_discovery_that_does_not_render_is_unknown_to_every_gate() {
    let unread = with(config_map("unread"), json!({ "manifest": { "kind": "Secret" } }));
    for by_name in [
        "{{ .unset }}",
        "{{ .resources.work.spec.missing }}",
        "{{ if false }}x{{ end }}",
        "{{ .resources.unread.data.a }}",
    ] {
        let parent = gated(work(&[looking_for("inside", by_name)]), "delete", "!resources.?inside.hasValue()");
        let earlier = gated(config_map("earlier"), "create", "!resources.?inside.hasValue()");
        let mut store = Store::with([there(3)]);
        store.unreadable = vec!["Secret".to_owned()];
        let failed = pass(&task(&[earlier, parent, unread.clone()]), &mut store, 3, &[]);
        assert_eq!(failed.results()[0], ("fail", "GateFailed", "failed", "10"), "{by_name}");
        assert_eq!(failed.results()[1], ("fail", "GateFailed", "failed", "5"), "{by_name}");
        assert_eq!((failed.warnings(), store.log.len()), (vec!["nested_unread"], 0), "{by_name}");
    }
}

#[test]
fn a_discovery_can_read_what_is_inside_of_an_earlier_object() {
    let reads_it = json!({ "discovery": { "by_name": "{{ .resources.inside.metadata.name }}" }, "manifest": { "metadata": { "name": "inner" } } });
    let entries =
        [work(&[looking_for("inside", "inner")]), gated(with(config_map("later"), reads_it), "apply", "true")];
    let done = pass(&task(&entries), &mut Store::with([there(3)]), 3, &[]);
    assert_eq!(done.results()[1].2, "created", "{:?}", done.results());
}

#[test]
fn what_is_not_found_inside_is_told() {
    let entry = work(&[looking_for("inside", "nobody"), looking_for("work", "inner"), looking_for("other", "inner")]);
    let done = pass(&task(&[entry]), &mut Store::with([there(3)]), 3, &[]);
    assert_eq!(done.warnings(), ["nested_left_out", "nested_left_out"], "one is nobody, one has its parent's name");
    assert_eq!((done.result().2, done.visible("other").is_some()), ("skipped", true));
}

#[test]
fn a_name_that_is_taken_fails_the_resource_and_stops_what_comes_later() {
    let task = task(&[config_map("first"), work(&[looking_for("first", "inner")]), config_map("later")]);
    let mut store = Store::with([there(3)]);
    let failed = pass(&task, &mut store, 3, &[]);
    assert_eq!(failed.results()[1], ("skip", "NestedNameTaken", "failed", "17"));
    assert_eq!(failed.results()[2].1, "EarlierFailure");
}

#[test]
fn what_is_inside_of_what_could_not_be_read_is_as_unknown() {
    let later = gated(config_map("later"), "create", "!resources.?inside.hasValue()");
    let unread = with(work(&[looking_for("inside", "inner")]), json!({ "manifest": { "kind": "Secret" } }));
    // After a failure nothing is created, whatever its gate says, so that the deletion's is asked.
    let task = task(&[gated(later, "delete", "!resources.?inside.hasValue()"), unread]);
    let mut store = Store::with([live("ConfigMap", "later", json!({}), Some(3))]);
    store.unreadable = vec!["Secret".to_owned()];
    assert_eq!(pass(&task, &mut store, 3, &[]).results()[0], ("fail", "GateFailed", "failed", "5"));
}

#[test]
fn nested_discovery_can_read_what_is_inside_of_a_later_object() {
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
        let held = with(there(3), json!({ "metadata": { "name": "other" } }));
        let mut store = Store::with([there(3), held, live("ConfigMap", "earlier", json!({}), Some(3))]);
        let left = pass(&task, &mut store, 3, &yes("deleting"));
        assert_eq!(left.results()[0].2, "skipped", "{first} {second}");
        assert_eq!(store.names(), ["earlier", "other", "work"], "{first} {second}");
    }
}
