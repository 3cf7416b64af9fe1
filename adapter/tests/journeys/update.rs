//! A cluster changes: its objects follow, and what others wrote on them stays.

use anyhow::Result;
use kube::api::{Patch, PatchParams};
use serde_json::json;

use crate::task::{SETTINGS, task};
use crate::world::{World, writes};

/// Has one key in the first generation only, and one in all of them.
const SHRINKING: &str = r#"
  - name: settings
    manifest: |
      apiVersion: v1
      kind: ConfigMap
      metadata:
        name: "{{ .clusterId }}"
        namespace: "{{ .namespace }}"
        labels:
          app: journey
          {{ if eq .generation 1 }}first: "true"{{ end }}
      data:
        kept: "{{ .generation }}"
        {{ if eq .generation 1 }}dropped: "1"{{ end }}
    discovery: {namespace: "{{ .namespace }}", by_name: "{{ .clusterId }}"}
"#;

#[tokio::test(flavor = "multi_thread")]
async fn a_new_generation_changes_what_is_ours_and_keeps_what_is_not() -> Result<()> {
    let world = World::new().await?;
    let _adapter = world.adapter(task(SHRINKING))?.start().await?;
    world.reconcile("c1", 1).await?;
    let before = world.object("ConfigMap", "c1").await?;
    assert_eq!(before["data"], json!({"kept": "1", "dropped": "1"}));

    let foreign = json!({
        "metadata": {
            "labels": {"team": "platform"},
            "annotations": {"note": "mind the gap"},
            "finalizers": ["journey.example.com/hold"],
        },
        "data": {"foreign": "stays"},
    });
    let objects = world.objects("v1", "ConfigMap").await?;
    objects.patch("c1", &PatchParams::default(), &Patch::Merge(foreign)).await?;

    let report = world.reconcile("c1", 2).await?;
    assert_eq!(report.outcome("settings"), "update GenerationChanged");
    assert_eq!(report.0["observed_generation"], 2);
    let after = world.object("ConfigMap", "c1").await?;
    assert_eq!(after["data"], json!({"kept": "2", "foreign": "stays"}));
    assert_eq!(after["metadata"]["uid"], before["metadata"]["uid"]);
    assert_eq!(after["metadata"]["finalizers"], json!(["journey.example.com/hold"]));
    let labels = &after["metadata"]["labels"];
    assert_eq!(
        (&labels["team"], &labels["app"], &labels["first"]),
        (&json!("platform"), &json!("journey"), &json!(null))
    );
    let annotations = &after["metadata"]["annotations"];
    assert_eq!((&annotations["note"], &annotations["hyperfleet.io/generation"]), (&json!("mind the gap"), &json!("2")));
    objects.patch("c1", &PatchParams::default(), &Patch::Merge(json!({"metadata": {"finalizers": null}}))).await?;
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn the_first_update_takes_the_creation_over_and_later_ones_take_two_calls() -> Result<()> {
    let world = World::new().await?;
    let _adapter = world.adapter(task(SETTINGS))?.start().await?;
    world.reconcile("c1", 1).await?;
    let mark = world.mark();
    world.reconcile("c1", 2).await?;
    assert_eq!(world.calls_since(mark), ["GET configmaps/c1", "PATCH configmaps/c1", "PATCH configmaps/c1"]);
    let mark = world.mark();
    world.reconcile("c1", 3).await?;
    assert_eq!(world.calls_since(mark), ["GET configmaps/c1", "PATCH configmaps/c1"]);
    assert_eq!(world.object("ConfigMap", "c1").await?["data"]["generation"], "3");
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn an_object_of_the_go_adapter_is_taken_over_as_it_is() -> Result<()> {
    let world = World::new().await?;
    let objects = world.objects("v1", "ConfigMap").await?;
    // As its POST leaves them: no labels of ours, its manager, and a key that the manifest no longer has.
    let former = json!({
        "metadata": {"name": "c1", "annotations": {"hyperfleet.io/generation": "1"}},
        "data": {"cluster": "c1", "dropped": "1"},
    });
    let params = kube::api::PostParams { field_manager: Some("hyperfleet-adapter".to_owned()), ..Default::default() };
    let former = objects.create(&params, &serde_json::from_value(former)?).await?;

    let adapter = world.adapter(task(SETTINGS))?.start().await?;
    let report = world.reconcile("c1", 1).await?;
    assert_eq!(report.outcome("settings"), "skip SameGeneration");
    assert_eq!(world.kubernetes.count(&writes()), 0);

    let report = world.reconcile("c1", 2).await?;
    assert_eq!(report.outcome("settings"), "update GenerationChanged");
    let after = world.object("ConfigMap", "c1").await?;
    assert_eq!(after["data"], json!({"cluster": "c1", "generation": "2"}));
    assert_eq!(after["metadata"]["uid"], serde_json::to_value(former)?["metadata"]["uid"]);
    assert_eq!(after["metadata"]["labels"]["hyperfleet.io/resource"], "settings");
    adapter.await_handled(2.0).await
}
