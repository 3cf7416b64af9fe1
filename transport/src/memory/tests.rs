#![expect(clippy::unwrap_used, reason = "tests")]

use lifecycle_objects::id::GroupVersionKind;
use lifecycle_objects::keys::LAST_APPLIED;
use lifecycle_objects::write::UpdateMode::Apply;
use serde_json::json;

use super::state::metadata_text;
use super::*;

mod bundles;
mod garbage;
mod modes;
mod patch;

const NOW: &str = "2026-01-01T00:00:00.75Z";

fn store() -> MemoryTransport {
    MemoryTransport::new(NOW.parse().unwrap())
}

fn map(name: &str, data: Value) -> Value {
    json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "name": name, "namespace": "a" }, "data": data })
}

/// An object of a kind of which the store does not know the fields.
fn thing(data: &Value) -> Value {
    json!({ "apiVersion": "example.io/v1", "kind": "Thing", "metadata": { "name": "x", "namespace": "a" }, "data": data })
}

fn target(object: &Value) -> Target {
    let subject = ObjectRef::of(object);
    Target {
        destination: Destination::ThisCluster,
        kind: subject.kind,
        namespace: subject.namespace,
        name: subject.name,
        uid: metadata_text(object, "uid").to_owned(),
        resource_version: String::new(),
    }
}

/// A version without managed fields, so that an update migrates none.
fn unmanaged() -> Version {
    Version::new(Value::Null)
}

fn named(namespace: Option<&str>, name: &str) -> Query {
    Query {
        destination: Destination::ThisCluster,
        kind: GroupVersionKind::new("v1", "ConfigMap"),
        namespace: namespace.map(str::to_owned),
        by: QueryBy::Name(name.to_owned()),
    }
}

#[tokio::test]
async fn created_object_gets_uid_version_and_timestamp() {
    let store = store();
    let created = store.create(&map("x", json!({ "k": "v" })), &Destination::ThisCluster).await.unwrap();
    assert_eq!(created["metadata"]["uid"], "00000000-0000-4000-8000-000000000001");
    assert_eq!(created["metadata"]["creationTimestamp"], "2026-01-01T00:00:00Z");
    assert_eq!(created["metadata"]["resourceVersion"], "1");
    assert_eq!(store.find(&named(Some("a"), "x")).await.unwrap(), [created]);
    assert_eq!(store.find(&named(Some("b"), "x")).await.unwrap(), Vec::<Value>::new());

    let again = store.create(&map("x", json!({})), &Destination::ThisCluster).await.unwrap_err();
    assert_eq!((again.kind, again.status), (WriteErrorKind::AlreadyExists, Some(409)));
    assert_eq!(again.with_status(), "failed to create ConfigMap a/x: it already exists (HTTP 409)");
}

#[tokio::test]
async fn get_of_a_namespaced_kind_needs_a_namespace() {
    let widget = |namespace: &str| json!({ "apiVersion": "example.io/v1", "kind": "Widget", "metadata": { "name": "x", "namespace": namespace } });
    let of = |version: &str, kind: &str| Query { kind: GroupVersionKind::new(version, kind), ..named(None, "x") };
    let refused = "is a namespaced kind: the namespace is missing";
    let cases = [
        ("a kind of Kubernetes", vec![], of("v1", "ConfigMap"), true),
        ("a kind of Kubernetes without namespaces", vec![], of("v1", "Namespace"), false),
        ("an unknown kind of which nothing is there", vec![], of("example.io/v1", "Widget"), false),
        ("an unknown kind with an object in a namespace", vec![widget("a")], of("example.io/v1", "Widget"), true),
        ("an unknown kind with an object in none", vec![widget("")], of("example.io/v1", "Widget"), false),
    ];
    for (name, objects, query, is_refused) in cases {
        let found = store().with_objects(objects).unwrap().find(&query).await;
        let found = found.map_err(|error| error.to_string());
        assert_eq!(found.is_err(), is_refused, "{name}: {found:?}");
        assert!(found.err().is_none_or(|error| error.contains(refused)), "{name}");
    }
}

#[tokio::test]
async fn objects_that_no_api_server_accepts_are_invalid() {
    let cases = [
        ("no kind", json!({ "apiVersion": "v1", "metadata": { "name": "x" } }), false),
        ("no apiVersion", json!({ "kind": "ConfigMap", "metadata": { "name": "x" } }), false),
        ("no name", json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": {} }), false),
        ("capitals", map("X", json!({})), false),
        ("an underscore", map("a_b", json!({})), false),
        ("an empty label", map("a..b", json!({})), false),
        ("a subdomain", map("a.b-c.0", json!({})), true),
        ("too long", map(&"a".repeat(254), json!({})), false),
        (
            "a role, whose name is freer",
            json!({ "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole",
                    "metadata": { "name": "system:Reader" } }),
            true,
        ),
        (
            "a list with equal keys",
            json!({ "apiVersion": "v1", "kind": "Pod", "metadata": { "name": "x", "namespace": "n" }, "spec": {
                    "containers": [{ "name": "a", "image": "i" }, { "name": "a", "image": "j" }] } }),
            false,
        ),
        (
            "a label that is a number",
            json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "name": "x", "labels": { "a": 1 } } }),
            false,
        ),
    ];
    for (name, object, accepted) in cases {
        let dry_run = store().dry_run_create(&object, &Destination::ThisCluster).await;
        let created = store().create(&object, &Destination::ThisCluster).await;
        assert_eq!(created.is_ok(), accepted, "{name}");
        assert_eq!(dry_run.is_ok(), accepted, "{name}, dry run");
        if let Err(error) = created {
            assert_eq!(error.kind, WriteErrorKind::Invalid, "{name}");
        }
    }
}

#[tokio::test]
async fn dry_run_writes_nothing() {
    let store = store();
    store.dry_run_create(&map("x", json!({})), &Destination::ThisCluster).await.unwrap();
    assert_eq!(store.objects(), Vec::<Value>::new());
    assert_eq!(store.operations(), []);
}

#[tokio::test]
async fn apply_keeps_foreign_fields_and_removes_its_own_omitted_ones() {
    let cases = [
        ("a field changes", json!({ "a": "1" }), json!({}), json!({ "a": "2" }), json!({ "a": "2" })),
        ("a field is dropped", json!({ "a": "1", "b": "1" }), json!({}), json!({ "a": "1" }), json!({ "a": "1" })),
        (
            "a foreign field stays",
            json!({ "a": "1" }),
            json!({ "f": "x" }),
            json!({ "a": "2" }),
            json!({ "a": "2", "f": "x" }),
        ),
        (
            "of a dropped mapping, foreign fields stay",
            json!({ "m": { "a": "1" } }),
            json!({ "m": { "f": "x" } }),
            json!({}),
            json!({ "m": { "f": "x" } }),
        ),
        ("a dropped mapping goes", json!({ "m": { "a": { "b": "1" } } }), json!({}), json!({}), json!({})),
        (
            "a foreign value is won back",
            json!({ "a": "1" }),
            json!({ "a": "x" }),
            json!({ "a": "1" }),
            json!({ "a": "1" }),
        ),
        ("a list is replaced", json!({ "l": [1, 2] }), json!({}), json!({ "l": [3] }), json!({ "l": [3] })),
    ];
    for (name, first, foreign, second, expected) in cases {
        let store = store();
        let created = store.create(&thing(&first), &Destination::ThisCluster).await.unwrap();
        // Another client changes the live object, so that it differs from the applied one.
        {
            let mut state = store.state();
            let stored = state.objects.values_mut().next().unwrap();
            json_patch::merge(&mut stored.object["data"], &foreign);
        }
        let updated = store.update(&thing(&second), &target(&created), &unmanaged(), Apply).await.unwrap();
        assert_eq!(updated["data"], expected, "{name}");
        assert_eq!(updated["metadata"]["uid"], created["metadata"]["uid"], "{name}");
        let again = store.update(&thing(&second), &target(&created), &unmanaged(), Apply).await.unwrap();
        assert_eq!(again, updated, "{name}: again changes nothing, not even the resourceVersion");
    }
}

#[tokio::test]
async fn apply_keeps_foreign_finalizers_and_owner_references() {
    let mut live = map("x", json!({}));
    live["metadata"]["finalizers"] = json!(["example.com/foreign"]);
    live["metadata"]["ownerReferences"] = json!([{ "uid": "o1", "name": "foreign" }]);
    let store = store().with_objects([live]).unwrap();
    let live = store.find(&named(Some("a"), "x")).await.unwrap().remove(0);

    let mut desired = map("x", json!({}));
    desired["metadata"]["finalizers"] = json!(["example.com/ours"]);
    desired["metadata"]["ownerReferences"] = json!([{ "uid": "o2", "name": "ours" }]);
    let updated = store.update(&desired, &target(&live), &unmanaged(), Apply).await.unwrap();
    assert_eq!(updated["metadata"]["finalizers"], json!(["example.com/foreign", "example.com/ours"]));
    let owners = updated["metadata"]["ownerReferences"].as_array().unwrap();
    assert_eq!(owners.iter().map(|owner| owner["uid"].as_str().unwrap()).collect::<Vec<_>>(), ["o1", "o2"]);

    let updated = store.update(&map("x", json!({})), &target(&live), &unmanaged(), Apply).await.unwrap();
    assert_eq!(updated["metadata"]["finalizers"], json!(["example.com/foreign"]));
    assert_eq!(updated["metadata"]["ownerReferences"], json!([{ "uid": "o1", "name": "foreign" }]));
}

#[tokio::test]
async fn deletion_is_fenced_by_uid_and_blocked_by_finalizers() {
    let store = store();
    let created = store.create(&map("x", json!({})), &Destination::ThisCluster).await.unwrap();
    let namesake = Target { uid: "other".to_owned(), ..target(&created) };
    let delete = |target: Target| {
        let store = &store;
        async move { store.delete(&target, PropagationPolicy::Background).await }
    };
    assert_eq!(delete(namesake.clone()).await.unwrap_err().kind, WriteErrorKind::Conflict);
    let update = store.update(&map("x", json!({})), &namesake, &unmanaged(), Apply).await;
    assert_eq!(update.unwrap_err().kind, WriteErrorKind::Conflict);

    assert_eq!(delete(target(&created)).await.unwrap(), Deletion::Gone);
    assert_eq!(delete(target(&created)).await.unwrap(), Deletion::Gone, "it stays gone");
    let update = store.update(&map("x", json!({})), &target(&created), &unmanaged(), Apply).await;
    assert_eq!(update.unwrap_err().kind, WriteErrorKind::Conflict, "a vanished object is not created");

    let mut held = map("y", json!({}));
    held["metadata"]["finalizers"] = json!(["example.com/hold"]);
    let held = store.create(&held, &Destination::ThisCluster).await.unwrap();
    let Deletion::Pending(pending) = delete(target(&held)).await.unwrap() else { panic!("it has a finalizer") };
    assert_eq!(pending["metadata"]["deletionTimestamp"], "2026-01-01T00:00:00Z");
    assert_eq!(delete(target(&held)).await.unwrap(), Deletion::Pending(pending.clone()), "again changes nothing");
    let taken = store.create(&map("y", json!({})), &Destination::ThisCluster).await.unwrap_err();
    assert_eq!(taken.message, "it is still being deleted");

    store.update(&map("y", json!({})), &target(&held), &unmanaged(), Apply).await.unwrap();
    assert_eq!(store.objects(), Vec::<Value>::new(), "it goes with its last finalizer");
}

#[tokio::test]
async fn remote_work_is_terminating_until_its_agent_confirms() {
    let store = store();
    let consumer = Destination::Consumer("a".to_owned());
    let work = |name: &str| {
        let metadata = json!({ "name": name, "namespace": "a" });
        json!({ "apiVersion": "work.open-cluster-management.io/v1", "kind": "ManifestWork", "metadata": metadata })
    };
    for name in ["deleted", "held", "live"] {
        let created = store.create(&work(name), &consumer).await.unwrap();
        if name != "live" {
            let target = Target { destination: consumer.clone(), ..target(&created) };
            let deletion = store.delete(&target, PropagationPolicy::Background).await.unwrap();
            assert!(matches!(&deletion, Deletion::Pending(it) if is_terminating(it)), "{name}: {deletion:?}");
            let again = store.delete(&target, PropagationPolicy::Background).await.unwrap();
            assert_eq!(again, deletion, "{name}: again changes nothing");
        }
    }
    let report = json!({ "status": { "conditions": [] } });
    store.patch_outside(&ObjectRef::of(&work("deleted")), &report).unwrap();
    let hold = json!({ "metadata": { "finalizers": ["example.com/agent-is-away"] } });
    store.patch_outside(&ObjectRef::of(&work("held")), &hold).unwrap();
    let names = || store.objects().iter().map(|it| metadata_text(it, "name").to_owned()).collect::<Vec<_>>();
    assert_eq!(names(), ["deleted", "held", "live"]);
    store.confirm_remote_deletions();
    assert_eq!(names(), ["held", "live"]);
    store.confirm_remote_deletions();
    assert_eq!(names(), ["held", "live"]);
}

#[tokio::test]
async fn namespace_that_is_being_deleted_takes_no_new_objects() {
    let metadata = json!({ "name": "a", "finalizers": ["example.com/hold"] });
    let namespace = json!({ "apiVersion": "v1", "kind": "Namespace", "metadata": metadata });
    let store = store();
    let here = Destination::ThisCluster;
    let namespace = store.create(&namespace, &here).await.unwrap();
    let live = store.create(&map("x", json!({})), &here).await.unwrap();
    store.delete(&target(&namespace), PropagationPolicy::Background).await.unwrap();
    for name in ["x", "y"] {
        let refused = store.create(&map(name, json!({})), &here).await.unwrap_err();
        assert_eq!((refused.kind, refused.status), (WriteErrorKind::NamespaceTerminating, Some(403)), "{name}");
    }
    let changed = map("x", json!({ "k": "v" }));
    assert_eq!(store.update(&changed, &target(&live), &unmanaged(), Apply).await.unwrap()["data"]["k"], "v");
}

#[tokio::test]
async fn override_exists_at_start_and_replaces_the_applied_object() {
    let mut instead = map("x", json!({ "from": "override" }));
    instead["metadata"]["uid"] = json!("given");
    let store = store().with_overrides(BTreeMap::from([("x".to_owned(), instead)])).unwrap();

    let live = store.find(&named(Some("a"), "x")).await.unwrap().remove(0);
    assert_eq!(live["metadata"]["uid"], "given");
    let updated =
        store.update(&map("x", json!({ "from": "task" })), &target(&live), &unmanaged(), Apply).await.unwrap();
    assert_eq!(updated["data"], json!({ "from": "override" }));

    let mut elsewhere = map("x", json!({ "from": "task" }));
    elsewhere["metadata"]["namespace"] = json!("b");
    let created = store.create(&elsewhere, &Destination::ThisCluster).await.unwrap();
    assert_eq!(created["data"], json!({ "from": "override" }), "the name alone decides");
    assert_eq!(store.find(&named(Some("b"), "x")).await.unwrap(), [created]);
}

#[tokio::test]
async fn selector_finds_every_match_and_operations_are_logged() {
    let labelled = |name: &str, team: &str| {
        let mut object = map(name, json!({}));
        object["metadata"]["labels"] = json!({ "team": team, "tier": "1" });
        object
    };
    let store = store().with_objects([labelled("b", "x"), labelled("a", "x"), labelled("c", "y")]).unwrap();
    let labels = BTreeMap::from([("team".to_owned(), "x".to_owned()), ("tier".to_owned(), "1".to_owned())]);
    let query = |namespace: Option<&str>| Query { by: QueryBy::Labels(labels.clone()), ..named(namespace, "") };
    for (namespace, expected) in [(Some("a"), 2), (Some("*"), 2), (None, 2), (Some("b"), 0)] {
        assert_eq!(store.find(&query(namespace)).await.unwrap().len(), expected, "{namespace:?}");
    }
    let live = store.find(&named(Some("a"), "a")).await.unwrap().remove(0);
    store.update(&map("a", json!({})), &target(&live), &unmanaged(), Apply).await.unwrap();
    store.create(&map("a", json!({})), &Destination::ThisCluster).await.unwrap_err();
    store.patch(&json!({ "data": { "k": "v" } }), &target(&live)).await.unwrap();
    store.patch(&json!([]), &target(&live)).await.unwrap_err();
    store.delete(&target(&live), PropagationPolicy::Background).await.unwrap();

    let log: Vec<String> = store
        .operations()
        .iter()
        .map(|operation| {
            let result = operation.result.map_or("", ApplyResult::as_str);
            format!(
                "{} {} {}/{} {result}",
                operation.verb.as_str(),
                operation.kind,
                operation.namespace,
                operation.name
            )
        })
        .collect();
    assert_eq!(
        log,
        [
            "discover ConfigMap a/ ",
            "discover ConfigMap */ ",
            "discover ConfigMap / ",
            "discover ConfigMap b/ ",
            "get ConfigMap a/a ",
            "apply ConfigMap a/a update",
            "apply ConfigMap a/a failed",
            "patch ConfigMap a/a update",
            "patch ConfigMap a/a failed",
            "delete ConfigMap a/a ",
        ]
    );
}

#[tokio::test]
async fn update_after_another_write_is_a_conflict() {
    let store = store();
    let created = store.create(&map("one", json!({ "a": "1" })), &Destination::ThisCluster).await.unwrap();
    let looked_at =
        Target { resource_version: metadata_text(&created, "resourceVersion").to_owned(), ..target(&created) };
    store.update(&map("one", json!({ "a": "2" })), &looked_at, &unmanaged(), Apply).await.unwrap();
    let late = store.update(&map("one", json!({ "a": "3" })), &looked_at, &unmanaged(), Apply).await.unwrap_err();
    assert_eq!(late.kind, WriteErrorKind::Conflict);
}

#[tokio::test]
async fn clock_stays_until_it_is_set() {
    let store = store();
    let mut held = map("x", json!({}));
    held["metadata"]["finalizers"] = json!(["example.com/hold"]);
    let first = store.create(&held, &Destination::ThisCluster).await.unwrap();
    store.set_now("2026-01-01T01:00:00Z".parse().unwrap());
    let second = store.create(&map("y", json!({})), &Destination::ThisCluster).await.unwrap();
    assert_eq!(metadata_text(&first, "creationTimestamp"), "2026-01-01T00:00:00Z");
    assert_eq!(metadata_text(&second, "creationTimestamp"), "2026-01-01T01:00:00Z");
    let Deletion::Pending(first) = store.delete(&target(&first), PropagationPolicy::Background).await.unwrap() else {
        panic!("it has a finalizer")
    };
    assert_eq!(metadata_text(&first, "deletionTimestamp"), "2026-01-01T01:00:00Z");
}

#[test]
fn resource_version_of_an_initial_object_is_never_reused() {
    let mut old = map("x", json!({}));
    old["metadata"]["resourceVersion"] = json!("41");
    let store = store().with_objects([old, map("y", json!({}))]).unwrap();
    let versions: Vec<Value> =
        store.objects().iter().map(|object| object["metadata"]["resourceVersion"].clone()).collect();
    assert_eq!(versions, ["41", "42"]);
}

#[tokio::test]
async fn generation_counts_changes_of_what_the_author_asks_for() {
    let widget = |size: u32, label: &str| {
        json!({ "apiVersion": "example.io/v1", "kind": "Widget", "spec": { "size": size },
                "metadata": { "name": "x", "namespace": "a", "labels": { "l": label }, "generation": 7 } })
    };
    let store = store();
    let created = store.create(&widget(1, "a"), &Destination::ThisCluster).await.unwrap();
    assert_eq!(created["metadata"]["generation"], 1, "the server sets it, not the manifest");
    let steps = [("nothing", widget(1, "a"), 1), ("a label", widget(1, "b"), 1), ("the spec", widget(2, "b"), 2)];
    for (name, desired, expected) in steps {
        let updated = store.update(&desired, &target(&created), &unmanaged(), Apply).await.unwrap();
        assert_eq!(updated["metadata"]["generation"], expected, "{name}");
    }
    let patched = store.patch(&json!({ "status": { "ready": true } }), &target(&created)).await.unwrap().unwrap();
    assert_eq!(patched["metadata"]["generation"], 2, "the status");
    let patched = store.patch(&json!({ "spec": { "size": 3 } }), &target(&created)).await.unwrap().unwrap();
    assert_eq!(patched["metadata"]["generation"], 3, "a patch of the spec");
    let map = store.create(&map("x", json!({})), &Destination::ThisCluster).await.unwrap();
    assert_eq!(map["metadata"].get("generation"), None, "a kind without generation");
}

#[tokio::test]
async fn secret_text_becomes_encoded_data() {
    let secret = |fields: Value| {
        let mut secret = map("x", json!({}));
        secret.as_object_mut().unwrap().remove("data");
        secret["kind"] = json!("Secret");
        secret.as_object_mut().unwrap().extend(fields.as_object().unwrap().clone());
        secret
    };
    let store = store();
    let desired = secret(json!({ "data": { "a": "MQ==", "b": "Mg==" }, "stringData": { "b": "hi" } }));
    let created = store.create(&desired, &Destination::ThisCluster).await.unwrap();
    assert_eq!((&created["data"], created.get("stringData")), (&json!({ "a": "MQ==", "b": "aGk=" }), None));
    let copy = json!({ "metadata": { "annotations": { LAST_APPLIED: "{}", "a": "b" } } });
    let copied = store.patch(&copy, &target(&created)).await.unwrap().unwrap();
    let updated = store.update(&desired, &target(&copied), &Version::new(copied.clone()), Apply).await.unwrap();
    assert_eq!(updated["metadata"]["annotations"], json!({ "a": "b" }), "as a real server does for the adapter");
    let created = updated;

    let document = json!({ "stringData": { "c": "3" } });
    let patched = store.patch(&document, &target(&created)).await.unwrap().unwrap();
    assert_eq!((&patched["data"]["c"], patched.get("stringData")), (&json!("Mw=="), None));
    let again = store.patch(&document, &target(&created)).await.unwrap().unwrap();
    assert_eq!(again["metadata"]["resourceVersion"], patched["metadata"]["resourceVersion"], "again changes nothing");

    let refused = store.patch(&json!({ "stringData": { "port": 80 } }), &target(&created)).await.unwrap_err();
    assert_eq!((refused.kind, refused.message.as_str()), (WriteErrorKind::Invalid, "stringData.port: must be text"));
}
