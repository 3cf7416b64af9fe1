//! Updates by each mode.

use lifecycle_objects::write::UpdateMode;

use super::*;

/// The object as `target` names it, in its present version.
fn exactly(object: &Value) -> Target {
    Target { resource_version: metadata_text(object, "resourceVersion").to_owned(), ..target(object) }
}

#[tokio::test]
async fn each_mode_removes_own_fields_alone() {
    let (data, labels) = (json!({ "own": "1", "f": "x" }), json!({ "of": "somebody" }));
    for mode in [UpdateMode::Apply, UpdateMode::ApplyOverride, UpdateMode::Replace] {
        let store = store();
        let created =
            store.create(&thing(&json!({ "own": "1", "old": "1" })), &Destination::ThisCluster).await.unwrap();
        let foreign = json!({
            "metadata": { "labels": { "of": "somebody" }, "finalizers": ["example.com/hold"] },
            "data": { "f": "x" }, "status": { "ready": true },
        });
        let live = store.patch(&foreign, &target(&created)).await.unwrap().unwrap();
        let mut desired = thing(&json!({ "own": "1" }));
        desired["metadata"]["uid"] = json!("ignored");

        let updated = store.update(&desired, &exactly(&live), &unmanaged(), mode).await.unwrap();
        assert_eq!((&updated["data"], &updated["metadata"]["labels"]), (&data, &labels), "{mode:?}");
        assert_eq!(updated["metadata"]["finalizers"], json!(["example.com/hold"]), "{mode:?}");
        assert_eq!(updated["status"], live["status"], "{mode:?}");
        for key in ["uid", "creationTimestamp"] {
            assert_eq!(updated["metadata"][key], live["metadata"][key], "{mode:?}: {key}");
        }
        assert_eq!(updated["metadata"]["generation"], 3, "{mode:?}");
        let again = store.update(&desired, &exactly(&updated), &unmanaged(), mode).await.unwrap();
        assert_eq!(again, updated, "{mode:?}: the second update changes nothing");
        let late = store.update(&desired, &exactly(&live), &unmanaged(), mode).await.unwrap_err();
        assert_eq!(late.kind, WriteErrorKind::Conflict, "{mode:?}");
    }
}

#[tokio::test]
async fn replacement_needs_a_version_and_keeps_a_deletion() {
    let store = store();
    let mut held = map("x", json!({ "a": "1" }));
    held["metadata"]["finalizers"] = json!(["example.com/hold"]);
    let created = store.create(&held, &Destination::ThisCluster).await.unwrap();
    let desired = map("x", json!({}));
    let unfenced = store.update(&desired, &target(&created), &unmanaged(), UpdateMode::Replace).await.unwrap_err();
    assert_eq!(unfenced.kind, WriteErrorKind::Invalid);

    let Deletion::Pending(ending) = store.delete(&target(&created), PropagationPolicy::Background).await.unwrap()
    else {
        panic!("it has a finalizer")
    };
    let updated = store.update(&desired, &exactly(&ending), &unmanaged(), UpdateMode::Replace).await.unwrap();
    assert_eq!(updated["metadata"]["deletionTimestamp"], ending["metadata"]["deletionTimestamp"]);
    assert_eq!(updated["metadata"]["finalizers"], json!(["example.com/hold"]));
}

#[tokio::test]
async fn apply_with_equal_keys_is_refused_and_a_replacement_is_not() {
    let pod = |env: Value| {
        let container = json!({ "name": "c", "image": "a", "env": env });
        json!({ "apiVersion": "v1", "kind": "Pod", "metadata": { "name": "x", "namespace": "a" }, "spec": { "containers": [container] } })
    };
    let twice = pod(json!([{ "name": "A", "value": "1" }, { "name": "A", "value": "2" }]));
    for (mode, is_refused) in
        [(UpdateMode::Apply, true), (UpdateMode::ApplyOverride, true), (UpdateMode::Replace, false)]
    {
        let store = store();
        let live = store.create(&pod(json!([])), &Destination::ThisCluster).await.unwrap();
        let target = Target { resource_version: metadata_text(&live, "resourceVersion").to_owned(), ..target(&live) };
        let written = store.update(&twice, &target, &unmanaged(), mode).await;
        assert_eq!(written.is_err(), is_refused, "{mode:?}: {written:?}");
    }
}
