//! Bundles in a task: the parent by the gates of the entry, its members by the session.
#![expect(clippy::unwrap_used, reason = "tests")]

use lifecycle_bundle::applyset;
use serde_json::{Value, json};

use super::passes::{Pass, assert_settled, config_map, gated, pass, task, when, with, yes};
use super::store::Store;
use crate::bundle::conditions::conditions;
use crate::task::Task;

/// A set of two `ConfigMap`s and an object of a later wave that is ready once somebody says so.
fn monitoring() -> Value {
    let map = |name: &str| {
        json!({
            "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "name": name },
            "data": { "stage": "{{ .stage }}" },
        })
    };
    let text = "apiVersion: example.io/v1\nkind: Foo\nmetadata:\n  name: c\n  namespace: team\n  annotations:\n    \
                hyperfleet.io/apply-order: '1'\n    hyperfleet.io/status-hint: has-ready-condition\n";
    json!({
        "name": "monitoring",
        "bundle": { "namespace": "team", "name": "parent", "manifests": [map("a"), map("b"), text] },
        "lifecycle": { "delete": when("deleting"), "orphan": when("disowning") },
    })
}

fn alone() -> Task {
    task(&[monitoring()])
}

fn calls(pass: &Pass) -> Vec<&str> {
    pass.calls.iter().map(|(_, call)| call.as_str()).collect()
}

fn ready(store: &mut Store) {
    store.change("c", &json!({ "status": { "conditions": [{ "type": "Ready", "status": "True" }] } }));
}

/// A store with the whole bundle.
fn settled(task: &Task) -> Store {
    let mut store = Store::with([]);
    pass(task, &mut store, 1, &[]);
    ready(&mut store);
    pass(task, &mut store, 1, &[]);
    store
}

#[test]
fn members_follow_the_parent_as_far_as_they_are_ready() {
    let (task, mut store) = (alone(), Store::with([]));
    let first = pass(&task, &mut store, 1, &[]);
    assert_eq!(calls(&first), ["create parent", "create a", "create b", "create c"]);
    assert_eq!(first.result().2, "waiting");
    assert_eq!(first.outcomes[0].reason(), "wave 1: Foo.example.io team/c: it has no condition Ready yet");
    assert_eq!(first.visible("monitoring").unwrap()["ready"], false);
    ready(&mut store);
    let second = pass(&task, &mut store, 1, &[]);
    assert_eq!((calls(&second), second.result().2), (vec![], "skipped"));
    let shown = second.visible("monitoring").unwrap();
    assert_eq!((&shown["ready"], shown.get("data")), (&json!(true), None));
    assert_eq!(shown["waves"][0], json!({ "name": "wave 0", "objects": 2, "ready": 2, "failed": 0 }));
    assert_eq!(shown["objects"][0]["name"], "a");
    assert_settled(&task, &mut store, 1, &[]);
}

#[test]
fn changed_param_is_applied_without_a_new_generation() {
    let task = alone();
    let mut store = settled(&task);
    let changed = pass(&task, &mut store, 1, &[("stage", json!("two"))]);
    assert_eq!((calls(&changed), changed.result().2), (vec!["update a", "update b"], "updated"));
    assert_eq!(store.object("a")["data"]["stage"], "two");
}

#[test]
fn new_generation_writes_the_parent_first() {
    let task = alone();
    let mut store = settled(&task);
    let newer = pass(&task, &mut store, 2, &[("stage", json!("two"))]);
    assert_eq!(calls(&newer), ["update parent", "update a", "update b"]);
    assert_eq!(newer.result().2, "updated");
}

#[test]
fn event_of_an_older_generation_writes_nothing() {
    let task = alone();
    let mut store = settled(&task);
    pass(&task, &mut store, 2, &[]);
    let late = pass(&task, &mut store, 1, &[("stage", json!("two"))]);
    assert!(late.calls.is_empty(), "{:?}", late.calls);
    assert_eq!(late.outcomes[0].decision.reason(), "StaleEvent");
}

#[test]
fn deletion_ends_with_the_parent() {
    let task = alone();
    let mut store = settled(&task);
    store.hold("c");
    let first = pass(&task, &mut store, 1, &yes("deleting"));
    assert_eq!((calls(&first), first.result().2), (vec!["delete c", "delete a", "delete b"], "deleting"));
    assert!(!first.outcomes[0].finalized);
    store.remove("c");
    let second = pass(&task, &mut store, 1, &yes("deleting"));
    assert_eq!((calls(&second), second.result().2), (vec!["delete parent"], "deleted"));
    assert!(second.visible("monitoring").is_none());
    let third = pass(&task, &mut store, 1, &yes("deleting"));
    assert!(third.calls.is_empty() && third.outcomes[0].finalized);
    assert!(store.objects().is_empty());
}

#[test]
fn deletion_finds_members_whose_parent_somebody_deleted() {
    let task = alone();
    let mut store = settled(&task);
    store.remove("parent");
    let first = pass(&task, &mut store, 1, &yes("deleting"));
    assert_eq!((calls(&first), first.result().2), (vec!["delete c", "delete a", "delete b"], "deleted"));
    assert!(!first.outcomes[0].finalized, "the next event makes sure");
    assert!(pass(&task, &mut store, 1, &yes("deleting")).outcomes[0].finalized);
}

#[test]
fn object_in_the_place_of_the_parent_does_not_finalize_the_deletion() {
    let task = alone();
    let mut store = settled(&task);
    store.remove("parent");
    store
        .put(json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "name": "parent", "namespace": "team" } }));
    for variables in [&yes("deleting"), &yes("disowning")] {
        let pass = pass(&task, &mut store, 1, variables);
        assert!(pass.calls.is_empty() && !pass.outcomes[0].finalized);
        assert!(pass.outcomes[0].failure().unwrap().message.starts_with("another object has the parent's name"));
    }
}

#[test]
fn deletion_finds_members_of_a_parent_that_somebody_emptied() {
    let task = alone();
    let mut store = settled(&task);
    let annotations = json!({ applyset::GROUP_KINDS: null, applyset::NAMESPACES: null, applyset::TOOLING: null });
    store.change("parent", &json!({ "metadata": { "annotations": annotations }, "data": null }));
    pass(&task, &mut store, 1, &yes("deleting"));
    assert!(store.objects().is_empty(), "{:?}", store.names());
}

#[test]
fn members_of_a_parent_that_a_person_disowned_are_disowned_once() {
    let task = alone();
    let mut store = settled(&task);
    store.change("parent", &json!({ "metadata": { "labels": { "hyperfleet.io/disowned": "c1" } } }));
    let first = pass(&task, &mut store, 1, &[]);
    assert_eq!(calls(&first), ["disown a", "disown b", "disown c", "disown parent"]);
    assert!(pass(&task, &mut store, 1, &[]).calls.is_empty());
    assert_eq!(store.names().len(), 4);
}

#[test]
fn copy_that_somebody_made_does_not_keep_the_parent() {
    let task = alone();
    let mut store = settled(&task);
    let mut copy = store.object("a").clone();
    copy["metadata"]["name"] = json!("copy");
    store.put(copy);
    let deleted = pass(&task, &mut store, 1, &yes("deleting"));
    assert_eq!((store.names(), deleted.result().2), (vec!["copy"], "deleted"));
}

#[test]
fn members_of_an_absent_parent_that_cannot_be_read_are_not_finalized() {
    let task = alone();
    let mut store = settled(&task);
    store.remove("parent");
    store.unreadable.push("Foo".to_owned());
    let failed = pass(&task, &mut store, 1, &yes("deleting"));
    assert!(failed.calls.is_empty() && !failed.outcomes[0].finalized && failed.outcomes[0].failure().is_some());
}

#[test]
fn disowned_bundle_is_left_alone_for_ever() {
    let task = alone();
    let mut store = settled(&task);
    let first = pass(&task, &mut store, 1, &yes("disowning"));
    assert_eq!(calls(&first), ["disown a", "disown b", "disown c", "disown parent"]);
    assert!(first.outcomes[0].finalized);
    for name in ["a", "b", "c", "parent"] {
        let labels = &store.object(name)["metadata"]["labels"];
        assert!(labels.get("hyperfleet.io/adapter").is_none() && labels.get(applyset::PART_OF).is_none(), "{labels}");
    }
    let later = pass(&task, &mut store, 2, &[("stage", json!("two"))]);
    assert!(later.calls.is_empty(), "{:?}", later.calls);
}

#[test]
fn member_that_another_pass_creates_meanwhile_keeps_the_parent() {
    for (gate, last_call) in [("deleting", "delete b"), ("disowning", "disown c")] {
        let task = alone();
        let mut store = settled(&task);
        let mut late = store.object("a").clone();
        store.remove("a");
        late["metadata"].as_object_mut().unwrap().remove("uid");
        store.meanwhile = Some((last_call.to_owned(), late));
        let first = pass(&task, &mut store, 1, &yes(gate));
        assert!(store.meanwhile.is_none() && !first.outcomes[0].finalized, "{gate}: {:?}", first.calls);
        assert!(applyset::is_marked(store.object("parent")), "{gate}");
        let second = pass(&task, &mut store, 1, &yes(gate));
        assert!(second.outcomes[0].finalized || gate == "deleting", "{gate}: {:?}", second.calls);
        assert_eq!(calls(&second).len(), 2, "{gate}: {:?}", second.calls);
        assert!(pass(&task, &mut store, 1, &yes(gate)).outcomes[0].finalized, "{gate}");
    }
}

#[test]
fn failed_object_stops_its_wave_and_no_other_entry() {
    let task = task(&[monitoring(), config_map("other")]);
    let mut store = Store::with([]);
    store.refuse.push("create a".to_owned());
    let failed = pass(&task, &mut store, 1, &[]);
    let failure = failed.outcomes[0].failure().unwrap();
    assert!(failure.message.starts_with("wave 0: ConfigMap team/a: "), "{failure}");
    assert_eq!(calls(&failed), ["create parent", "create a", "create b", "create other"]);
}

#[test]
fn bundle_that_fails_as_a_whole_holds_later_entries_back() {
    let task = task(&[monitoring(), config_map("other")]);
    for is_unlisted in [true, false] {
        let mut store = Store::with([]);
        if is_unlisted {
            store.unreadable.push("Foo".to_owned());
        } else {
            store.refuse.push("create parent".to_owned());
        }
        let failed = pass(&task, &mut store, 1, &[]);
        assert!(store.names().is_empty(), "{:?}", store.names());
        assert_eq!(failed.outcomes[1].failed_earlier.as_deref(), Some("monitoring"));
    }
}

#[test]
fn removal_that_fails_holds_no_later_entry_back() {
    let both = task(&[monitoring(), config_map("other")]);
    let mut store = settled(&both);
    for name in ["parent", "other"] {
        store.remove(name);
    }
    store.unreadable.push("Foo".to_owned());
    let failed = pass(&both, &mut store, 1, &yes("deleting"));
    assert!(failed.outcomes[0].failure().is_some() && !failed.outcomes[0].finalized);
    assert_eq!(calls(&failed), ["create other"]);
}

#[test]
fn guard_that_cannot_look_holds_no_later_entry_back() {
    let namespace = json!({ "apiVersion": "v1", "kind": "Namespace", "metadata": { "name": "content" } });
    let mut entry = monitoring();
    entry["bundle"]["manifests"].as_array_mut().unwrap().push(namespace);
    let before = task(&[entry]);
    let mut store = settled(&before);
    store.refuse.push("inspect content".to_owned());
    let failed = pass(&task(&[monitoring(), config_map("other")]), &mut store, 1, &[]);
    assert!(failed.outcomes[0].failure().is_some());
    assert_eq!(calls(&failed), ["create other"]);
}

#[test]
fn object_that_was_deleted_to_be_created_again_and_was_not_is_absent() {
    let mut entry = monitoring();
    entry["bundle"]["policies"] = json!({ "update": "recreate" });
    let task = task(&[entry]);
    let mut store = settled(&task);
    store.refuse.push("create a".to_owned());
    let failed = pass(&task, &mut store, 1, &[("stage", json!("two"))]);
    assert!(!store.names().contains(&"a"), "{:?}", failed.calls);
    let shown = failed.visible("monitoring").unwrap();
    assert_eq!((&shown["applied"], &shown["objects"][0]["readiness"]), (&json!(false), &json!("Absent")));
    assert_eq!(shown["waves"][0], json!({ "name": "wave 0", "objects": 2, "ready": 1, "failed": 1 }));
}

#[test]
fn conditions_say_how_a_bundle_is() {
    let task = alone();
    let mut store = Store::with([]);
    let said = |store: &mut Store, variables: &[(&'static str, Value)]| {
        let outcome = &pass(&task, store, 1, variables).outcomes[0];
        let words =
            |condition: Value| ["status", "reason", "message"].map(|key| condition[key].as_str().unwrap().to_owned());
        conditions(Some(outcome)).map(words).map(|words| words.join(" "))
    };
    let waits = "wave 1: Foo.example.io team/c: it has no condition Ready yet";
    let there = "True ObjectsApplied each object of the manifests is there, or has served";
    store.refuse.push("create b".to_owned());
    let refused = "False Unavailable wave 0: ConfigMap team/b: failed to create b: the server is down (HTTP 503); look at the \
                   server, its webhooks, and proxies in front of it";
    assert_eq!(said(&mut store, &[]), [refused; 2]);
    store.refuse.clear();
    assert_eq!(said(&mut store, &[]), [there.to_owned(), format!("False Waiting {waits}")]);
    ready(&mut store);
    assert_eq!(said(&mut store, &[]), [there, "True BundleReady all objects are ready"]);
    store.refuse.push("update b".to_owned());
    let refused = said(&mut store, &[("stage", json!("two"))]);
    assert!(
        refused[0] == refused[1] && refused[0].starts_with("False Unavailable wave 0: ConfigMap team/b: "),
        "{refused:?}"
    );
    store.refuse.clear();
    said(&mut store, &[]);
    store.hold("c");
    for reason in ["Waiting", "DeleteGateHolds", "AlreadyAbsent"] {
        let [applied, available] = said(&mut store, &yes("deleting"));
        assert!(applied == available && applied.starts_with(&format!("False {reason} ")), "{applied}");
        if reason == "Waiting" {
            store.remove("c");
        }
    }
    assert_eq!(conditions(None)[1]["reason"], "NotReached");
}

#[test]
fn bad_object_keeps_the_whole_bundle_from_being_written() {
    let bad = json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": {
        "name": "bad", "annotations": { "hyperfleet.io/apply-order": "{{ .stage }}" },
    } });
    let mut entry = monitoring();
    entry["bundle"]["manifests"].as_array_mut().unwrap().push(bad);
    let (task, mut store) = (task(&[entry]), Store::with([]));
    let failed = pass(&task, &mut store, 1, &[]);
    assert!(failed.calls.is_empty());
    let failure = failed.outcomes[0].failure().unwrap();
    assert!(failure.message.contains("ConfigMap bad: the annotation `hyperfleet.io/apply-order`"), "{failure}");
}

#[test]
fn list_that_fails_keeps_everything_as_it_is() {
    let task = alone();
    let mut store = settled(&task);
    store.unreadable.push("Foo".to_owned());
    for variables in [&[("stage", json!("two"))], &yes("deleting"), &yes("disowning")] {
        let failed = pass(&task, &mut store, 1, variables);
        assert!(failed.calls.is_empty(), "{:?}", failed.calls);
        let failure = failed.outcomes[0].failure().unwrap();
        assert!(failure.message.starts_with("failed to list the bundle's objects of the kind"), "{failure}");
        assert!(!failed.outcomes[0].finalized);
    }
}

#[test]
fn bundle_repairs_the_server_of_its_own_kinds() {
    let mut entry = monitoring();
    let map = |name: &str| {
        json!({
            "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "name": name }, "data": { "stage": "{{ .stage }}" },
        })
    };
    let service = json!({
        "apiVersion": "apiregistration.k8s.io/v1", "kind": "APIService", "metadata": { "name": "v1.example.io" },
        "spec": { "group": "example.io", "version": "v1" },
    });
    let foo = json!({ "apiVersion": "example.io/v1", "kind": "Foo", "metadata": { "name": "c", "namespace": "team" } });
    entry["bundle"]["manifests"] = json!([map("server"), map("old"), service, foo]);
    let all = task(&[entry.clone()]);
    let mut store = Store::with([]);
    pass(&all, &mut store, 1, &[]);
    store.change("v1.example.io", &json!({ "status": { "conditions": [{ "type": "Available", "status": "True" }] } }));
    assert_eq!(calls(&pass(&all, &mut store, 1, &[])), ["update parent", "create c"]);

    // The server is away. What it may need is applied, its objects wait, and nothing is removed.
    store.unreadable.push("Foo".to_owned());
    entry["bundle"]["manifests"].as_array_mut().unwrap().remove(1);
    let fewer = task(&[entry]);
    let repaired = pass(&fewer, &mut store, 1, &[("stage", json!("two"))]);
    assert_eq!((calls(&repaired), repaired.result().2), (vec!["update server"], "waiting"));
    let expected = "wave 0, instances: Foo.example.io could not be listed: connection refused";
    assert_eq!(repaired.outcomes[0].reason(), expected);
    // A deletion needs to know everything.
    let deletion = pass(&fewer, &mut store, 1, &yes("deleting"));
    assert!(deletion.calls.is_empty());
    let reason = deletion.outcomes[0].reason();
    assert!(reason.ends_with("that is gone for good, delete the APIService"), "{reason}");
    store.unreadable.clear();
    assert_eq!(calls(&pass(&fewer, &mut store, 1, &[("stage", json!("two"))])), ["delete old"]);
}

#[test]
fn bundle_repairs_what_converts_its_own_instances() {
    let mut entry = monitoring();
    let server = json!({
        "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "name": "server" }, "data": { "stage": "{{ .stage }}" },
    });
    let foo = json!({ "apiVersion": "example.io/v1", "kind": "Foo", "metadata": { "name": "c", "namespace": "team" } });
    for (strategy, is_repaired) in [("Webhook", true), ("None", false)] {
        let definition = json!({
            "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "metadata": { "name": "foos.example.io" },
            "spec": { "group": "example.io", "names": { "kind": "Foo" }, "conversion": { "strategy": strategy } },
        });
        entry["bundle"]["manifests"] = json!([server, definition, foo]);
        let (task, mut store) = (task(&[entry.clone()]), Store::with([]));
        pass(&task, &mut store, 1, &[]);
        store.unreadable.push("Foo".to_owned());
        let done = pass(&task, &mut store, 1, &[("stage", json!("two"))]);
        let calls = calls(&done);
        assert_eq!(calls.contains(&"update server"), is_repaired, "{strategy}: {calls:?}");
    }
}

#[test]
fn gate_of_a_later_entry_reads_the_bundle() {
    let waiting = with(config_map("after"), json!({ "when": { "expression": "resources.monitoring.ready" } }));
    let waiting = gated(waiting, "delete", "deleting && !has(resources.monitoring)");
    let (task, mut store) = (task(&[monitoring(), waiting]), Store::with([]));
    pass(&task, &mut store, 1, &[]);
    assert!(!store.names().contains(&"after"));
    ready(&mut store);
    pass(&task, &mut store, 1, &[]);
    assert!(store.names().contains(&"after"));
    pass(&task, &mut store, 1, &yes("deleting"));
    assert!(store.objects().is_empty(), "{:?}", store.names());
}
