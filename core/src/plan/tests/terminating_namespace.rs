//! Tests of creations in a namespace that is being deleted.
#![expect(clippy::unwrap_used, reason = "tests")]

use serde_json::{Value, json};

use super::not_yet::available;
use super::passes::{assert_settled, config_map, gated, live, pass, task, version, when, with, yes};
use super::retention::keeping;
use super::store::Store;

const GOING: &str = "namespace team is being deleted, and takes no new objects until it is gone";
const WAITS: (&str, &str, &str) = ("wait", "NamespaceTerminating", "waiting");

fn going(objects: impl IntoIterator<Item = Value>) -> Store {
    let mut store = Store::with(objects);
    store.terminating_namespaces = vec!["team".to_owned()];
    store
}

fn elsewhere(name: &str) -> Value {
    let there = json!({ "metadata": { "namespace": "other" } });
    with(config_map(name), json!({ "manifest": there, "discovery": { "namespace": "other" } }))
}

#[test]
fn creation_waits_and_holds_available_back_until_the_namespace_is_gone() {
    let task = task(&[config_map("a"), elsewhere("b")]);
    let mut store = going([]);
    let waiting = pass(&task, &mut store, 1, &[]);
    assert_eq!(waiting.results(), [(WAITS.0, WAITS.1, WAITS.2, "12"), ("create", "Absent", "created", "12")]);
    assert_eq!(waiting.outcomes[0].reason(), GOING);
    assert_eq!((waiting.visible("a"), waiting.outcomes[0].finalized), (None, false));
    let expected = ("False".to_owned(), "Waiting".to_owned(), format!("resource a waits: {GOING}"));
    assert_eq!(available(&waiting), expected);

    store.terminating_namespaces.clear();
    let created = pass(&task, &mut store, 1, &[]);
    assert_eq!(created.results(), [("create", "Absent", "created", "12"), ("skip", "SameGeneration", "skipped", "17")]);
    assert_eq!(available(&created).1, "Mine");
    assert_settled(&task, &mut store, 1, &[]);
}

#[test]
fn recreation_deletes_nothing() {
    let task = task(&[gated(config_map("a"), "recreate", "true")]);
    let mut store = going([live("ConfigMap", "a", json!({}), Some(1))]);
    let waiting = pass(&task, &mut store, 2, &[]);
    assert_eq!(waiting.result(), (WAITS.0, WAITS.1, WAITS.2, "14"));
    assert_eq!((available(&waiting).1, store.names()), ("Waiting".to_owned(), vec!["a"]));
    assert_eq!(waiting.outcomes[0].otherwise(), Some("its namespace has to be gone"));
}

#[test]
fn former_versions_stay_while_the_new_one_waits() {
    let task = task(&[keeping(json!({ "historyLimit": 0 }))]);
    let mut store = going([version("job", "job-1", 1, 1), version("job", "job-2", 2, 2)]);
    let waiting = pass(&task, &mut store, 3, &[]);
    assert_eq!((waiting.result().1, store.names()), (WAITS.1, vec!["job-1", "job-2"]));
}

#[test]
fn dependents_wait_with_their_owner() {
    let of = |name: &str, owner: &str| with(config_map(name), json!({ "owner": { "resource": owner } }));
    let mut store = going([]);
    let waiting = pass(&task(&[config_map("a"), of("b", "a"), of("c", "b")]), &mut store, 1, &[]);
    assert_eq!(waiting.results(), [(WAITS.0, WAITS.1, WAITS.2, "12"); 3]);
    assert_eq!(store.log, ["create a"]);
}

#[test]
fn bundle_waits_for_the_namespace_of_its_parent_and_of_its_members() {
    let map = |namespace: &str| json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "name": "m", "namespace": namespace } });
    let bundle = |namespace: &str| {
        let bundle = json!({ "namespace": namespace, "name": "parent", "manifests": [map("team"), map("other")] });
        task(&[json!({ "name": "a", "bundle": bundle, "lifecycle": { "delete": when("deleting") } })])
    };
    let mut store = going([]);
    let waiting = pass(&bundle("team"), &mut store, 1, &[]);
    assert_eq!((waiting.result(), store.names()), ((WAITS.0, WAITS.1, WAITS.2, "12"), vec![]));
    assert_eq!(waiting.outcomes[0].reason(), format!("the parent: {GOING}"));
    assert_eq!(available(&waiting).1, "Waiting");

    let task = bundle("other");
    let waiting = pass(&task, &mut store, 1, &[]);
    assert_eq!((waiting.result(), store.names()), (("create", "Absent", "waiting", "12"), vec!["m", "parent"]));
    let why = format!("wave 0: ConfigMap team/m: {GOING}");
    assert_eq!((waiting.outcomes[0].reason(), available(&waiting).2), (why.clone(), format!("resource a: {why}")));
    let shown = waiting.visible("a").unwrap();
    assert_eq!((&shown["applied"], &shown["ready"], &shown["why"]), (&json!(false), &json!(false), &json!(why)));

    let deleted = pass(&task, &mut store, 1, &yes("deleting"));
    assert_eq!((deleted.result().2, store.names()), ("deleted", vec![]));
}
