//! Tests that `check` warns of the labels and annotations that a real API server refuses, and of no others.

use anyhow::{Context, Result};
use lifecycle_check::lint::lint;
use lifecycle_config::document::Document;
use lifecycle_core::task::compile::{Surroundings, compile};
use serde_json::{Value, json};

use crate::world::World;

/// Whether `check` warns of what is written in a manifest.
fn is_warned(manifest: &Value) -> Result<bool> {
    let text = json!({
        "resources": [{ "name": "one", "manifest": manifest, "discovery": { "by_name": "one", "namespace": "n" } }],
    });
    let text = text.to_string();
    let surroundings = Surroundings { read: &|file| Err(file.to_owned()), environment: &|_| None };
    let task = compile("task.yaml", &text, &surroundings).task.context("the task compiles")?;
    let document = Document::parse("task.yaml", &text).map_err(|faults| anyhow::anyhow!("{faults}"))?;
    Ok(lint(&task, &document).to_string().contains("Kubernetes refuses"))
}

#[tokio::test]
async fn server_refuses_the_labels_of_which_check_warns() -> Result<()> {
    let world = World::new().await?;
    let map = |part: &str, key: &str, value: &str| {
        let mut object = world.map("one", json!({}));
        object["metadata"][part] = json!({ key: value });
        object
    };
    let label = |key: &str, value: &str| map("labels", key, value);
    let spec = |version: &str, kind: &str, spec: Value| world.object(version, kind, "one", json!({ "spec": spec }));
    let container = json!([{ "name": "a", "image": "x" }]);
    let workload = |selected: &str, label: &str, annotation: &str| {
        let metadata = json!({ "labels": { "app": label }, "annotations": { annotation: "a b" } });
        let template = json!({ "metadata": metadata, "spec": { "containers": container } });
        let selector = json!({ "matchLabels": { "app": selected } });
        spec("apps/v1", "Deployment", json!({ "selector": selector, "template": template }))
    };
    let (long, longest) = ("x".repeat(64), "x".repeat(63));
    let prefix = vec!["x".repeat(62); 5].join(".");
    let policy = |value: &str| {
        let from = json!([{ "podSelector": { "matchLabels": { "a": value } } }]);
        spec("networking.k8s.io/v1", "NetworkPolicy", json!({ "podSelector": {}, "ingress": [{ "from": from }] }))
    };
    let service = |value: &str| spec("v1", "Service", json!({ "selector": { "a": value }, "ports": [{ "port": 80 }] }));
    let pod =
        |key: &str, value: &str| spec("v1", "Pod", json!({ "nodeSelector": { key: value }, "containers": container }));
    let objects = [
        label("tier", "web"),
        label("tier", ""),
        label("tier", "a b"),
        label("tier", "team/x"),
        label("tier", "-a"),
        label("tier", &long),
        label("tier", &longest),
        label("app.kubernetes.io/Name", "A_b.c-1"),
        label("Example.io/tier", "x"),
        label("a/b/c", "x"),
        label("/a", "x"),
        label("a/", "x"),
        label(&long, "x"),
        label(&longest, "x"),
        label(&format!("{prefix}/tier"), "x"),
        map("annotations", "a", "b c/d"),
        map("annotations", "a b", "c"),
        map("annotations", "Example.io/a", "b"),
        map("annotations", "a/b/c", "d"),
        workload("a", "a", "note"),
        workload("a", "a b", "note"),
        workload("a b", "a", "note"),
        workload("a", "a", "a b"),
        policy("b"),
        policy("b c"),
        service("b"),
        service("b c"),
        pod("a/b", "c"),
        pod("a/b/c", "x"),
        pod("a", "b c"),
    ];
    for object in objects {
        let refused = world.dry_run_create(&object).await.err().map(|error| error.message);
        assert_eq!(is_warned(&object)?, refused.is_some(), "{object}: {refused:?}");
    }
    Ok(())
}
