//! Tests of merge patches, and of applies after them.

use super::*;

#[tokio::test]
async fn merge_patch_sets_removes_and_keeps_fields() {
    let labelled = json!({ "apiVersion": "v1", "kind": "ConfigMap", "data": { "k": "v", "gone": "x" },
                           "metadata": { "name": "x", "namespace": "a", "labels": { "l": "1" },
                                         "ownerReferences": [{ "uid": "o1" }, { "uid": "o2" }] } });
    let plain = map("x", json!({ "k": "v", "gone": "x" }));
    let cases = [
        (
            "sets and removes",
            &plain,
            json!({ "data": { "new": "1", "gone": null } }),
            "/data",
            json!({ "k": "v", "new": "1" }),
        ),
        (
            "a new mapping",
            &plain,
            json!({ "metadata": { "labels": { "l": "1" } } }),
            "/metadata/labels",
            json!({ "l": "1" }),
        ),
        (
            "the last label",
            &labelled,
            json!({ "metadata": { "labels": { "l": null } } }),
            "/metadata/labels",
            Value::Null,
        ),
        (
            "a label that is not there",
            &plain,
            json!({ "metadata": { "labels": { "l": null } } }),
            "/metadata/labels",
            Value::Null,
        ),
        (
            "a list is replaced",
            &labelled,
            json!({ "metadata": { "ownerReferences": [{ "uid": "o2" }] } }),
            "/metadata/ownerReferences",
            json!([{ "uid": "o2" }]),
        ),
        (
            "the server's own fields",
            &plain,
            json!({ "metadata": { "generation": 9 } }),
            "/metadata/generation",
            Value::Null,
        ),
    ];
    for (name, live, patch, pointer, expected) in cases {
        let store = store().with_objects([live.clone()]).unwrap();
        let before = store.objects().remove(0);
        let patched = store.patch(&patch, &target(&before)).await.unwrap().unwrap();
        assert_eq!(patched.pointer(pointer).unwrap_or(&Value::Null), &expected, "{name}");
        assert_eq!(store.objects(), std::slice::from_ref(&patched), "{name}");
        let changed = patched.pointer(pointer) != before.pointer(pointer);
        assert_eq!(metadata_text(&patched, "resourceVersion") != "1", changed, "{name}: {patched}");
        let again = store.patch(&patch, &target(&before)).await.unwrap().unwrap();
        assert_eq!(again, patched, "{name}: again changes nothing, not even the resourceVersion");
    }
}

#[tokio::test]
async fn patch_is_fenced_and_must_be_an_object() {
    let store = store();
    let created = store.create(&map("x", json!({ "a": "1" })), &Destination::ThisCluster).await.unwrap();
    let seen = Target { resource_version: "1".to_owned(), ..target(&created) };
    let patch = json!({ "data": { "a": "2" } });
    let kind = |answer: Result<Option<Value>, WriteError>| answer.unwrap_err().kind;
    let namesake = Target { uid: "other".to_owned(), ..target(&created) };
    assert_eq!(kind(store.patch(&patch, &namesake).await), WriteErrorKind::Conflict);
    let renamed = json!({ "metadata": { "name": "y" } });
    assert_eq!(kind(store.patch(&renamed, &seen).await), WriteErrorKind::Invalid);
    let no_label = json!({ "metadata": { "labels": { "l": 1 } } });
    assert_eq!(kind(store.patch(&no_label, &seen).await), WriteErrorKind::Invalid);
    assert_eq!(store.objects(), std::slice::from_ref(&created), "nothing of that was written");

    store.patch(&patch, &seen).await.unwrap().unwrap();
    assert_eq!(kind(store.patch(&patch, &seen).await), WriteErrorKind::Conflict, "the version is another one now");
    let late = store.delete(&seen, PropagationPolicy::Background).await;
    assert_eq!(late.unwrap_err().kind, WriteErrorKind::Conflict, "nor is it deleted on an old look");
    store.delete(&target(&created), PropagationPolicy::Background).await.unwrap();
    assert_eq!(store.patch(&patch, &target(&created)).await.unwrap(), None);
}

#[tokio::test]
async fn patched_fields_survive_later_applies() {
    let cases = [
        ("a new field", json!({ "a": "1" }), json!({ "p": "1" }), json!({ "a": "2" }), json!({ "a": "2", "p": "1" })),
        (
            "a field that the manifest had and drops",
            json!({ "a": "1", "p": "0" }),
            json!({ "p": "1" }),
            json!({ "a": "1" }),
            json!({ "a": "1", "p": "1" }),
        ),
        (
            "below a mapping that the manifest drops",
            json!({ "m": { "a": "1" } }),
            json!({ "m": { "p": "1" } }),
            json!({}),
            json!({ "m": { "p": "1" } }),
        ),
        (
            "but what the manifest names is the manifest's",
            json!({ "a": "1" }),
            json!({ "a": "p" }),
            json!({ "a": "1" }),
            json!({ "a": "1" }),
        ),
        (
            "and what it removed comes back",
            json!({ "a": "1" }),
            json!({ "a": null }),
            json!({ "a": "1" }),
            json!({ "a": "1" }),
        ),
    ];
    for (name, first, patch, second, expected) in cases {
        let store = store();
        let created = store.create(&thing(&first), &Destination::ThisCluster).await.unwrap();
        store.patch(&json!({ "data": patch }), &target(&created)).await.unwrap();
        for _ in 0..2 {
            let updated = store.update(&thing(&second), &target(&created), &unmanaged(), Apply).await.unwrap();
            assert_eq!(updated["data"], expected, "{name}");
        }
    }
}

#[tokio::test]
async fn patch_that_removes_the_last_finalizer_ends_the_deletion() {
    let mut held = map("x", json!({}));
    held["metadata"]["finalizers"] = json!(["example.com/hold"]);
    let store = store();
    let held = store.create(&held, &Destination::ThisCluster).await.unwrap();
    store.delete(&target(&held), PropagationPolicy::Background).await.unwrap();
    store.patch(&json!({ "metadata": { "finalizers": null } }), &target(&held)).await.unwrap().unwrap();
    assert_eq!(store.objects(), Vec::<Value>::new());
}
