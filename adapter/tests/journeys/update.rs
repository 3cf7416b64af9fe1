//! Updates: the objects of a changed cluster are applied, and fields of other field managers stay.

use anyhow::Result;
use kube::api::{Patch, PatchParams};
use serde_json::json;

use crate::task::{SETTINGS, task};
use crate::world::{World, writes};

/// A config map with a label and a data key that only its first generation has.
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
async fn update_changes_our_fields_and_keeps_those_of_others() -> Result<()> {
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
async fn first_update_migrates_managed_fields_with_one_more_call() -> Result<()> {
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
async fn object_of_the_go_adapter_is_adopted_by_the_next_update() -> Result<()> {
    let world = World::new().await?;
    let objects = world.objects("v1", "ConfigMap").await?;
    // An object as the Go adapter's POST creates it: without our labels, with its field manager, and with a
    // key that the manifest lacks.
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
