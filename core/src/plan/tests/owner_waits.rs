//! Owners that are to go while something that they own is to be released.
#![expect(clippy::unwrap_used, reason = "tests")]

use serde_json::{Value, json};

use super::owner::{owned, space};
use super::passes::{config_map, gated, pass, selecting, task, version, with, yes};
use super::store::Store;

#[test]
fn an_owner_goes_when_what_it_owns_is_released_and_not_before() {
    for gate in ["delete", "recreate"] {
        let child = gated(owned("child", "space"), "orphan", "deleting");
        let task = task(&[gated(space(), gate, "deleting"), child]);
        let mut store = Store::new();
        pass(&task, &mut store, 3, &[]);
        let first = pass(&task, &mut store, 3, &yes("deleting"));
        assert_eq!(first.results()[0].1, "ReleasePending");
        assert_eq!(first.results()[1].2, "released");
        assert!(store.names().contains(&"space"), "{:?}", store.log);
        let second = pass(&task, &mut store, 3, &yes("deleting"));
        assert_eq!(second.results()[0].0, gate);
        assert_eq!(second.results()[1].1, "Disowned");
    }
}

#[test]
fn an_owner_does_not_wait_for_what_is_not_to_be_released_or_names_another() {
    let child = gated(owned("child", "space"), "orphan", "releasing");
    let task = task(&[gated(space(), "delete", "deleting"), child]);
    for (releasing, names_another) in [(false, false), (true, true)] {
        let mut store = Store::new();
        pass(&task, &mut store, 3, &[]);
        if names_another {
            let theirs = json!([{ "apiVersion": "v1", "kind": "Namespace", "name": "space", "uid": "another" }]);
            store.change("child", &json!({ "metadata": { "ownerReferences": theirs } }));
        }
        let variables = [("deleting", json!(true)), ("releasing", json!(releasing))];
        assert_eq!(pass(&task, &mut store, 3, &variables).results()[0].0, "delete");
    }
}

#[test]
fn an_owner_waits_where_nobody_can_tell() {
    let child = gated(owned("child", "space"), "orphan", "resources.child.data.kept == 'yes'");
    let task = task(&[gated(space(), "delete", "deleting"), gated(child, "create", "true")]);
    let mut store = Store::new();
    let unowned = super::passes::task(&[space(), owned("child", "space")]);
    pass(&unowned, &mut store, 3, &[]);
    let first = pass(&task, &mut store, 3, &yes("deleting"));
    assert_eq!(first.results()[0].1, "ReleasePending", "the gate that would tell has no answer");
    assert_eq!(first.results()[1].1, "GateFailed");
}

#[test]
fn an_owner_waits_for_what_hangs_on_it_through_others() {
    let middle = owned("middle", "space");
    let child = gated(owned("child", "middle"), "orphan", "deleting");
    let task = task(&[gated(space(), "delete", "deleting"), middle, child]);
    let mut store = Store::new();
    pass(&task, &mut store, 3, &[]);
    let first = pass(&task, &mut store, 3, &yes("deleting"));
    let decided: Vec<_> = first.results().iter().map(|result| result.1).collect();
    assert_eq!(decided, ["ReleasePending", "SameGeneration", "OrphanGateHolds"]);
    assert_eq!(pass(&task, &mut store, 3, &yes("deleting")).results()[0].2, "deleted");
}

#[test]
fn an_owner_waits_where_what_hangs_on_it_could_not_be_read() {
    let secret = |entry| with(entry, json!({ "manifest": { "kind": "Secret" } }));
    let child = || gated(owned("child", "middle"), "orphan", "deleting");
    for (middle, child, waits) in [
        (secret(owned("middle", "space")), child(), true),
        (owned("middle", "space"), secret(child()), true),
        (secret(owned("middle", "space")), owned("child", "middle"), false),
    ] {
        let task = task(&[gated(space(), "delete", "deleting"), middle, child]);
        let mut store = Store::new();
        pass(&task, &mut store, 3, &[]);
        store.unreadable = vec!["Secret".to_owned()];
        let first = pass(&task, &mut store, 3, &yes("deleting"));
        assert_eq!(first.results()[0].1 == "ReleasePending", waits, "{:?}", first.results());
    }
}

#[test]
fn an_owner_does_not_wait_for_what_is_on_its_way_out_or_was_marked_with_the_reference_on_it() {
    let child = gated(owned("child", "space"), "orphan", "deleting");
    let task = task(&[gated(space(), "delete", "deleting"), child]);
    let dying = json!({ "metadata": { "deletionTimestamp": "2025-12-31T00:00:00Z" } });
    // A person's mark: nobody of ours will take the reference off any more.
    let marked = json!({ "metadata": { "labels": { "hyperfleet.io/disowned": "c1" } } });
    for change in [dying, marked] {
        let mut store = Store::new();
        pass(&task, &mut store, 3, &[]);
        store.change("child", &change);
        assert_eq!(pass(&task, &mut store, 3, &yes("deleting")).results()[0].2, "deleted");
    }
}

#[test]
fn an_owner_waits_for_what_is_left_beside_a_released_version() {
    let child = with(selecting("child"), json!({ "owner": { "resource": "space" } }));
    let task = task(&[gated(space(), "delete", "deleting"), child]);
    let mut store = Store::new();
    pass(&task, &mut store, 3, &[]);
    store.put(with(
        version("child", "old", 1, 1),
        json!({ "metadata": { "labels": { "hyperfleet.io/disowned": "c1" } } }),
    ));
    let first = pass(&task, &mut store, 3, &yes("deleting"));
    assert_eq!((first.results()[0].1, first.results()[1].2), ("ReleasePending", "released"));
    assert_eq!(pass(&task, &mut store, 3, &yes("deleting")).results()[0].2, "deleted");
}

/// A child whose manifest's author wrote the owner reference, without the key `owner`.
fn written_reference(uid: &str, more: Value) -> Value {
    let mut reference = json!({ "apiVersion": "v1", "kind": "Namespace", "name": "space", "uid": uid });
    reference = with(reference, more);
    with(config_map("child"), json!({ "manifest": { "metadata": { "ownerReferences": [reference] } } }))
}

#[test]
fn owner_waits_for_a_reference_that_the_manifest_holds() {
    let mut store = Store::new();
    pass(&task(&[space()]), &mut store, 3, &[]);
    let uid = store.object("space")["metadata"]["uid"].as_str().unwrap().to_owned();
    let before = gated(written_reference(&uid, json!({})), "orphan", "deleting");
    for gate in ["delete", "recreate"] {
        let task = task(&[gated(space(), gate, "deleting"), before.clone()]);
        let mut store = store.clone();
        pass(&task, &mut store, 3, &[]);
        let first = pass(&task, &mut store, 3, &yes("deleting"));
        assert_eq!((first.results()[0].1, first.results()[1].2), ("ReleasePending", "released"));
        assert!(
            store.object("child")["metadata"].get("ownerReferences").is_none(),
            "the reference went with the release"
        );
        assert_eq!(pass(&task, &mut store, 3, &yes("deleting")).results()[0].0, gate);
        assert!(store.names().contains(&"child"));
    }
}

#[test]
fn owner_waits_for_no_reference_that_a_release_leaves() {
    let mut store = Store::new();
    pass(&task(&[space()]), &mut store, 3, &[]);
    let uid = store.object("space")["metadata"]["uid"].as_str().unwrap().to_owned();
    let child = gated(written_reference(&uid, json!({ "controller": true })), "orphan", "deleting");
    let task = task(&[gated(space(), "delete", "deleting"), child]);
    pass(&task, &mut store, 3, &[]);
    let first = pass(&task, &mut store, 3, &yes("deleting"));
    assert_eq!(first.results()[0].1, "ReleasePending");
    assert_eq!(store.object("child")["metadata"]["ownerReferences"][0]["uid"], json!(uid));
    assert_eq!(pass(&task, &mut store, 3, &yes("deleting")).results()[0].2, "deleted", "its controller keeps it");
}

#[test]
fn owners_in_a_circle_end_the_search() {
    let mut store = Store::new();
    let entries = || {
        let orphaned = gated(config_map("third"), "orphan", "releasing");
        [gated(config_map("first"), "delete", "deleting"), gated(config_map("second"), "delete", "deleting"), orphaned]
    };
    let task = task(&entries());
    pass(&task, &mut store, 3, &[]);
    for (object, owner) in [("first", "second"), ("second", "first"), ("third", "second")] {
        let uid = store.object(owner)["metadata"]["uid"].clone();
        let reference = json!([{ "apiVersion": "v1", "kind": "ConfigMap", "name": owner, "uid": uid }]);
        store.change(object, &json!({ "metadata": { "ownerReferences": reference } }));
    }
    for (releasing, decided) in [(true, "ReleasePending"), (false, "DeleteGateHolds")] {
        let variables = [("deleting", json!(true)), ("releasing", json!(releasing))];
        let results = pass(&task, &mut store.clone(), 3, &variables);
        assert_eq!(results.results()[0].1, decided);
    }
}
