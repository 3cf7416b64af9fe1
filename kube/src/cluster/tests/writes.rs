//! Tests of writes against a fake API server.

use lifecycle_objects::observation::Version;
use lifecycle_objects::write::Deletion;
use lifecycle_objects::write::PropagationPolicy::Background;

use super::super::write::deletion;
use super::*;
use crate::Takeover;

#[tokio::test]
async fn every_call_fails_if_the_answer_is_not_the_object() {
    let another = json!({ "apiVersion": "v1", "kind": "ConfigMap",
                          "metadata": { "name": "a", "namespace": "team", "uid": "u2" } });
    let status = json!({ "apiVersion": "v1", "kind": "Status", "status": "Success" });
    for answer in [json!({}), status, another] {
        let is_object = answer.pointer("/metadata/uid").is_some();
        let is_status = answer["kind"] == "Status";
        let cluster = answering(move |_| (200, answer.clone())).await;
        let managed_fields =
            json!([{ "manager": "me", "operation": "Update", "fieldsType": "FieldsV1", "fieldsV1": {} }]);
        let (object, fence) = (named("ConfigMap", "team", "a"), Fence::new("u1", ""));
        let mut changed = config_map();
        changed["data"] = json!({ "a": "1" });
        let calls = [
            ("get", cluster.get(&object).await.map(drop), is_object),
            ("create", cluster.create(&config_map()).await.map(drop), is_object),
            ("dry run", cluster.dry_run_create(&config_map()).await, is_object),
            ("apply", cluster.apply(&config_map(), &object, fence).await.map(drop), false),
            ("migrate", cluster.migrate(&object, fence, &managed_fields, Takeover::Own).await.map(drop), false),
            (
                "replace",
                cluster.replace(&changed, &object, Fence::new("u1", "1"), &Version::new(config_map())).await.map(drop),
                false,
            ),
            ("patch", cluster.merge_patch(&json!({}), &object, fence).await.map(drop), false),
            ("delete", cluster.delete(&object, fence, Background).await.map(drop), is_status),
        ];
        for (name, result, expected) in calls {
            assert_eq!(result.is_ok(), expected, "{name}: {result:?}");
            if let Err(error) = result {
                assert_eq!((error.kind, error.status), (WriteErrorKind::Unavailable, Some(200)), "{name}: {error}");
                assert!(error.message.starts_with("the answer is not the requested object: it"), "{name}: {error}");
            }
        }
    }
}

#[tokio::test]
async fn write_without_a_fence_is_not_sent() {
    let (server, client) = Server::start(|_| (200, Value::Null)).await;
    let cluster = cluster(client);
    let (object, unfenced) = (named("ConfigMap", "team", "a"), Fence::new("", "7"));
    let elsewhere = json!({ "metadata": { "namespace": "other" } });
    let refused = [
        cluster.delete(&object, unfenced, Background).await.map(drop),
        cluster.apply(&config_map(), &object, unfenced).await.map(drop),
        cluster.merge_patch(&json!({}), &object, unfenced).await.map(drop),
        cluster.merge_patch(&elsewhere, &object, Fence::new("u1", "")).await.map(drop),
    ];
    for result in refused {
        assert_eq!(result.as_ref().map_err(|error| error.kind), Err(WriteErrorKind::Invalid), "{result:?}");
    }
    assert_eq!(server.lines(), Vec::<String>::new());
}

#[test]
fn deletion_is_pending_only_with_a_deletion_timestamp() {
    let cases = [
        ("a status", json!({ "kind": "Status", "metadata": {}, "status": "Success" }), false),
        ("the object that was", json!({ "metadata": { "name": "a" } }), false),
        ("the object that stays", json!({ "metadata": { "deletionTimestamp": "2026-01-01T00:00:00Z" } }), true),
    ];
    for (name, answer, pending) in cases {
        assert_eq!(matches!(deletion(answer), Deletion::Pending(_)), pending, "{name}");
    }
}
