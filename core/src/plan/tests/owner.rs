//! Tests of owner references to live owners.

use serde_json::{Value, json};

use super::passes::{assert_settled, config_map, gated, live, pass, selecting, task, version, with, yes};
use super::store::Store;

/// A Namespace, which is cluster-scoped.
pub(super) fn space() -> Value {
    json!({
        "name": "space",
        "manifest": { "apiVersion": "v1", "kind": "Namespace", "metadata": { "name": "space" } },
        "discovery": { "by_name": "space" },
    })
}

/// A ConfigMap with the key `owner: {resource: owner}`.
pub(super) fn owned(name: &str, owner: &str) -> Value {
    with(config_map(name), json!({ "owner": { "resource": owner } }))
}

/// Returns the owner reference to an object.
fn reference(owner: &Value) -> Value {
    json!({
        "apiVersion": owner["apiVersion"], "kind": owner["kind"],
        "name": owner["metadata"]["name"], "uid": owner["metadata"]["uid"],
        "controller": false, "blockOwnerDeletion": false,
    })
}

/// Returns the owner references of an object.
fn references<'s>(store: &'s Store, name: &str) -> &'s Value {
    &store.object(name)["metadata"]["ownerReferences"]
}

#[test]
fn created_object_references_an_owner_of_the_same_pass() {
    for is_there in [false, true] {
        let task = task(&[space(), owned("child", "space")]);
        let mut store = Store::new();
        if is_there {
            pass(&super::passes::task(&[space()]), &mut store, 3, &[]);
        }
        pass(&task, &mut store, 3, &[]);
        assert_eq!(references(&store, "child"), &json!([reference(store.object("space"))]));
        assert_settled(&task, &mut store, 3, &[]);
    }
}

#[test]
fn owner_may_be_in_the_same_namespace_or_cluster_scoped() {
    let task = task(&[config_map("parent"), owned("child", "parent")]);
    let mut store = Store::new();
    pass(&task, &mut store, 3, &[]);
    assert_eq!(references(&store, "child"), &json!([reference(store.object("parent"))]));
}

#[test]
fn update_adds_the_owner_and_keeps_foreign_owner_references() {
    let task = task(&[space(), owned("child", "space")]);
    let theirs = json!({ "apiVersion": "v1", "kind": "Pod", "name": "x", "uid": "theirs", "controller": true });
    let child = |generation| {
        let references = json!({ "metadata": { "ownerReferences": [theirs.clone()] } });
        with(live("ConfigMap", "child", json!({}), Some(generation)), references)
    };
    for (generation, reason) in [(2, "GenerationChanged"), (3, "OwnerChanged")] {
        let mut store = Store::with([child(generation)]);
        let updated = pass(&task, &mut store, 3, &[]);
        assert_eq!(updated.results()[1], ("update", reason, "updated", "19"));
        assert_eq!(references(&store, "child"), &json!([theirs, reference(store.object("space"))]));
        assert_settled(&task, &mut store, 3, &[]);
    }
}

#[test]
fn reference_to_a_recreated_owner_has_its_new_uid() {
    let task = task(&[gated(space(), "recreate", "replacing"), owned("child", "space")]);
    let mut store = Store::new();
    pass(&task, &mut store, 3, &[]);
    let before = references(&store, "child").clone();
    let replaced = pass(&task, &mut store, 3, &yes("replacing"));
    assert_eq!((replaced.results()[0].2, replaced.results()[1].1), ("recreated", "OwnerChanged"));
    assert_ne!(references(&store, "child"), &before);
    assert_eq!(references(&store, "child"), &json!([reference(store.object("space"))]), "the old one is gone");
    assert_settled(&task, &mut store, 3, &[]);
}

#[test]
fn owner_reference_of_the_manifest_is_not_duplicated() {
    let written = json!({ "manifest": { "metadata": { "ownerReferences": [{
        "apiVersion": "v1", "kind": "Namespace", "name": "space", "uid": "{{ .resources.space.metadata.uid }}", "controller": true
    }] } } });
    let task = task(&[space(), with(owned("child", "space"), written)]);
    let mut store = Store::new();
    pass(&task, &mut store, 3, &[]);
    let references = references(&store, "child").as_array().map(Vec::len);
    assert_eq!(references, Some(1));
    assert_settled(&task, &mut store, 3, &[]);
}

#[test]
fn patch_and_deletion_do_not_need_the_owner() {
    let patch = json!({ "lifecycle": { "patch": [{ "when": { "expression": "!has(resources.child.data)" }, "document": { "data": { "a": "b" } } }] } });
    let gone = || gated(space(), "delete", "true");
    for (child, result) in [
        (with(owned("child", "space"), patch), "patched"),
        (gated(owned("child", "space"), "delete", "true"), "deleted"),
    ] {
        let task = task(&[gone(), child]);
        let mut store = Store::with([live("ConfigMap", "child", json!({}), Some(2))]);
        assert_eq!(pass(&task, &mut store, 3, &[]).results()[1].2, result);
    }
}

#[test]
fn disowning_removes_every_reference_but_a_controllers() {
    let task = task(&[space(), gated(owned("child", "space"), "orphan", "disowning")]);
    let mut store = Store::new();
    pass(&task, &mut store, 3, &[]);
    let ours = references(&store, "child")[0].clone();
    let controller = json!({ "apiVersion": "v1", "kind": "Namespace", "name": "x", "uid": "y", "controller": true });
    let other = json!({ "apiVersion": "v1", "kind": "Pod", "name": "x", "uid": "z" });
    let foreign = json!({ "apiVersion": "v1", "kind": "Namespace", "name": "x", "uid": "w" });
    for (references_before, left) in [
        (json!([ours, controller, other]), json!([controller])),
        (json!([ours]), Value::Null),
        (json!([ours, foreign]), Value::Null),
    ] {
        let mut store = store.clone();
        store.change("child", &json!({ "metadata": { "ownerReferences": references_before } }));
        pass(&task, &mut store, 3, &yes("disowning"));
        assert_eq!(references(&store, "child"), &left);
    }
}

#[test]
fn owner_change_updates_the_version_with_the_rendered_name() {
    let task = task(&[space(), with(selecting("job"), json!({ "owner": { "resource": "space" } }))]);
    // The second version is current because it is newer, but the first one has the rendered name.
    let mut store = Store::with([version("job", "job-3", 3, 1), version("job", "z", 3, 2)]);
    assert_eq!(pass(&task, &mut store, 3, &[]).results()[1].1, "OwnerChanged");
    assert_eq!(store.log, ["create space", "update job-3"]);
    assert_settled(&task, &mut store, 3, &[]);
}
