//! Tests that unread objects never count as absent: to gates, to templates, and to the decision table.

use serde_json::{Value, json};

use super::passes::{config_map, gated, live, pass, selecting, task, version, when, with, yes};
use super::store::Store;

fn secret(name: &str) -> Value {
    with(config_map(name), json!({ "manifest": { "kind": "Secret" } }))
}

/// A store whose Secrets cannot be read.
fn half_read(objects: impl IntoIterator<Item = Value>) -> Store {
    let mut store = Store::with(objects);
    store.unreadable = vec!["Secret".to_owned()];
    store
}

#[test]
fn gate_that_can_read_an_unread_resource_fails() {
    for gate in
        ["!resources.?other.hasValue()", "!has(resources.other)", "resources.size() == 1", "!(\"other\" in resources)"]
    {
        for key in ["orphan", "delete", "recreate"] {
            let task = task(&[gated(config_map("mine"), key, gate), secret("other")]);
            let mut store = half_read([live("ConfigMap", "mine", json!({}), Some(3))]);
            let failed = pass(&task, &mut store, 3, &[]);
            let results = failed.results();
            assert_eq!((results[0].1, results[1].1), ("GateFailed", "DiscoveryFailed"), "{key}: {gate}");
            assert_eq!(store.log.len(), 0, "{key}: {gate}");
        }
    }
}

/// An entry that discovers by its own name; if `resources.<read>` exists, that object's name is appended.
fn found_by(name: &str, read: &str) -> Value {
    let by_name = format!("{name}{{{{ with .resources.{read} }}}}-{{{{ .metadata.name }}}}{{{{ end }}}}");
    let manifest = json!({ "metadata": { "name": format!("{name}-{read}") } });
    with(config_map(name), json!({ "discovery": { "by_name": by_name }, "manifest": manifest }))
}

#[test]
fn discovery_waits_for_the_discoveries_of_later_entries_that_it_reads() {
    let entries = [found_by("first", "second"), found_by("second", "third"), config_map("third")];
    let task = task(&entries.map(|entry| gated(entry, "delete", "deleting")));
    let objects =
        || ["first-second-third", "second-third", "third"].map(|name| live("ConfigMap", name, json!({}), Some(3)));
    let mut store = Store::with(objects());
    let deleted = pass(&task, &mut store, 3, &yes("deleting"));
    assert!(deleted.results().iter().all(|result| result.2 == "deleted"), "{:?}", deleted.results());
    assert_eq!(store.objects().len(), 0);
}

#[test]
fn discovery_waits_for_the_entry_that_it_indexes_by_a_constant() {
    let by_name = "first{{ with index .resources \"second\" }}-{{ .metadata.name }}{{ end }}";
    let first = with(found_by("first", "second"), json!({ "discovery": { "by_name": by_name } }));
    let task =
        task(&[gated(first, "delete", "deleting"), gated(config_map("second"), "delete", "deleting"), secret("other")]);
    let mut store = half_read(["first-second", "second"].map(|name| live("ConfigMap", name, json!({}), Some(3))));
    let deleted = pass(&task, &mut store, 3, &yes("deleting"));
    // The unread `other` stops neither: the template cannot read it.
    assert_eq!(deleted.results().iter().map(|result| result.2).collect::<Vec<_>>(), ["deleted", "deleted", "failed"]);
}

#[test]
fn discoveries_that_can_read_any_name_are_read_in_order() {
    let any = |name: &str, read: &str| {
        let by_name =
            format!("{name}{{{{ with index .resources (print \"{read}\") }}}}-{{{{ .metadata.name }}}}{{{{ end }}}}");
        with(found_by(name, read), json!({ "discovery": { "by_name": by_name } }))
    };
    let last = with(
        found_by("last", "third"),
        json!({ "discovery": { "by_name": "last-{{ .resources.third.metadata.name }}" } }),
    );
    let entries = [last, config_map("first"), any("second", "first"), any("third", "second")];
    let task = task(&entries.map(|entry| gated(entry, "delete", "deleting")));
    let names = ["last-third-second-first", "first", "second-first", "third-second-first"];
    let mut store = Store::with(names.map(|name| live("ConfigMap", name, json!({}), Some(3))));
    let deleted = pass(&task, &mut store, 3, &yes("deleting"));
    assert!(deleted.results().iter().all(|result| result.2 == "deleted"), "{:?}", deleted.results());
    assert_eq!(store.objects().len(), 0);
}

#[test]
fn discoveries_that_read_each_other_are_unread() {
    let entries = [found_by("first", "second"), found_by("second", "first")];
    let task = task(&entries.map(|entry| gated(entry, "delete", "deleting")));
    let mut store = Store::with([live("ConfigMap", "first", json!({}), Some(3))]);
    let failed = pass(&task, &mut store, 3, &yes("deleting"));
    assert!(failed.results().iter().all(|result| result.1 == "DiscoveryFailed"), "{:?}", failed.results());
    assert_eq!(store.log.len(), 0);
}

#[test]
fn template_that_can_read_an_unread_resource_is_not_rendered() {
    let cause = "it reads resources.other, which could not be discovered";
    let reading = "{{ with .resources.other }}{{ .metadata.name }}{{ end }}";
    let manifest = with(config_map("mine"), json!({ "manifest": { "data": { "other": reading } } }));
    let patch = json!({ "lifecycle": { "patch": [{ "when": { "expression": "true" }, "document": { "data": { "a": reading } } }] } });
    let document = with(config_map("mine"), patch);
    let everything = json!({ "manifest": { "data": { "all": "{{ with . }}{{ len (printf \"%v\" .) }}{{ end }}" } } });
    let text = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: mine, namespace: team}\ndata: {a: \"{{ len .resources }}\"}\n";
    let cases = [
        ("a manifest", manifest, None, "RenderFailed"),
        ("a manifest that passes everything on", with(config_map("mine"), everything), None, "RenderFailed"),
        ("a manifest that is text", with(config_map("mine"), json!({ "manifest": text })), None, "RenderFailed"),
        ("a patch", document, Some(live("ConfigMap", "mine", json!({}), Some(3))), "RenderFailed"),
        (
            "a discovery",
            with(config_map("mine"), json!({ "discovery": { "by_name": format!("mine{reading}") } })),
            None,
            "DiscoveryFailed",
        ),
    ];
    for (name, entry, object, reason) in cases {
        // A lifecycle key makes all resources visible before the first decision.
        let task = task(&[entry, with(secret("other"), json!({ "when": { "expression": "true" } }))]);
        let mut store = half_read(object);
        let failed = pass(&task, &mut store, 3, &[]);
        assert_eq!((failed.results()[0].1, store.log.len()), (reason, 0), "{name}");
        let message = &failed.outcomes[0].failure().map(|failure| failure.message.clone()).unwrap_or_default();
        assert!(message.contains(cause), "{name}: {message}");
    }
}

#[test]
fn unread_resource_is_neither_written_nor_deleted_nor_disowned() {
    for key in ["orphan", "delete", "recreate", "create"] {
        let task = task(&[gated(secret("mine"), key, "true")]);
        let mut store = half_read([live("Secret", "mine", json!({}), Some(1))]);
        let failed = pass(&task, &mut store, 3, &[]);
        assert_eq!(failed.result(), ("fail", "DiscoveryFailed", "failed", "1"), "{key}");
        assert!(!failed.outcomes[0].finalized);
        assert_eq!(store.log.len(), 0, "{key}");
    }
}

#[test]
fn unlabelled_object_is_unread_if_the_manifests_name_does_not_render() {
    let unrenderable = json!({ "manifest": { "metadata": { "name": "left-{{ .unset }}" } } });
    let left = with(gated(selecting("left"), "delete", "deleting"), unrenderable);
    let task = task(&[left, selecting("right")]);
    // The object has no ownership labels, so either entry may have written it.
    let mut store = Store::with([live("ConfigMap", "left-1", json!({ "app": "demo" }), Some(1))]);
    let failed = pass(&task, &mut store, 3, &yes("deleting"));
    assert_eq!(failed.results()[0], ("fail", "DiscoveryFailed", "failed", "1"));
    assert!(!failed.outcomes[0].finalized, "the object may still exist");

    let mut store = Store::with([version("left", "left-1", 1, 1)]);
    let deleted = pass(&task, &mut store, 3, &yes("deleting"));
    assert_eq!(deleted.results()[0].2, "deleted", "ownership labels need no manifest");
}

#[test]
fn missing_own_status_fails_neither_recreate_nor_patch_gates() {
    let gate = "resources.job.status.conditions.exists(c, c.type == \"Complete\")";
    let patch = |gate: &str| json!({ "lifecycle": { "patch": [{ "when": { "expression": gate }, "document": { "data": { "a": "b" } } }] } });
    for entry in [gated(config_map("job"), "recreate", gate), with(config_map("job"), patch(gate))] {
        let mut store = Store::with([live("ConfigMap", "job", json!({}), Some(3))]);
        let settled = pass(&task(&[entry]), &mut store, 3, &[]);
        assert_eq!(settled.result().1, "SameGeneration");
        assert_eq!(settled.warnings(), ["status_missing"]);
    }
}

#[test]
fn other_missing_keys_and_other_gates_fail_the_resource() {
    let own_status = "resources.job.status.done";
    let elsewhere = "resources.job.spec.done";
    let others = "resources.other.status.done";
    let patch = |gate: &str| json!({ "lifecycle": { "patch": [{ "when": { "expression": gate }, "document": { "data": { "a": "b" } } }] } });
    let job = || config_map("job");
    let cases = [
        ("a recreate gate about its spec", gated(job(), "recreate", elsewhere)),
        ("a recreate gate about another one's status", gated(job(), "recreate", others)),
        ("a patch gate about its spec", with(job(), patch(elsewhere))),
        ("a patch gate about another one's status", with(job(), patch(others))),
        ("a delete gate", gated(job(), "delete", own_status)),
        ("an orphan gate", gated(job(), "orphan", own_status)),
        ("`when`", with(job(), when(own_status))),
        ("an apply gate", gated(job(), "apply", own_status)),
    ];
    for (name, entry) in cases {
        let task = task(&[entry, config_map("other")]);
        let mut store = Store::with(["job", "other"].map(|name| live("ConfigMap", name, json!({}), Some(3))));
        let failed = pass(&task, &mut store, 3, &[]);
        assert_eq!((failed.results()[0].1, store.log.len()), ("GateFailed", 0), "{name}");
        assert_eq!(failed.warnings(), Vec::<&str>::new(), "{name}");
    }
}
