//! Patches: sent if the live object differs, and kept by updates.

use anyhow::Result;
use kube::api::{Patch, PatchParams};
use serde_json::{Value, json};

use crate::task::task;
use crate::world::{World, writes};

/// Three patches: the first sets a label, the second sets the key `mode` of the data, the third removes the key
/// `debug` of the data.
const PATCHED: &str = r#"
  - name: settings
    manifest:
      apiVersion: v1
      kind: ConfigMap
      metadata: {name: "{{ .clusterId }}", namespace: "{{ .namespace }}"}
      data: {generation: "{{ .generation }}"}
    discovery: {namespace: "{{ .namespace }}", by_name: "{{ .clusterId }}"}
    lifecycle:
      patch:
        - when: {expression: 'dig(resources.settings, "metadata.labels.example.io/tier") != "gold"'}
          document: {metadata: {labels: {example.io/tier: gold}}}
        - when: {expression: 'dig(resources.settings, "data.mode") != "strict"'}
          document: {data: {mode: strict}}
        - when: {expression: 'has(resources.settings.data.debug)'}
          document: {data: {debug: null}}
"#;

async fn settings(world: &World) -> Result<Value> {
    world.object("ConfigMap", "c1").await
}

#[tokio::test(flavor = "multi_thread")]
async fn patches_are_sent_on_difference_and_kept_by_updates() -> Result<()> {
    let world = World::new().await?;
    let _adapter = world.adapter(task(PATCHED))?.start().await?;
    assert_eq!(world.reconcile("c1", 1).await?.outcome("settings"), "create Absent");

    let mark = world.mark();
    let report = world.reconcile_again("c1").await?;
    assert_eq!(report.outcome("settings"), "patch PatchGateHolds", "{report:?}");
    assert_eq!(report.statuses(), ["True", "True", "True", "False"]);
    assert_eq!(world.calls_since(mark), ["GET configmaps/c1", "PATCH configmaps/c1", "PATCH configmaps/c1"]);
    let patched = settings(&world).await?;
    assert_eq!(patched["metadata"]["labels"]["example.io/tier"], "gold");
    assert_eq!(patched["data"], json!({"generation": "1", "mode": "strict"}));

    let before = world.kubernetes.count(&writes());
    assert_eq!(world.reconcile_again("c1").await?.outcome("settings"), "skip SameGeneration");
    assert_eq!(world.kubernetes.count(&writes()), before, "no difference is left");

    // A user's changes are corrected with one patch per entry; fields that no entry mentions stay.
    let drift = json!({
        "metadata": {"labels": {"example.io/tier": "silver", "team": "platform"}},
        "data": {"debug": "1"},
    });
    let objects = world.objects("v1", "ConfigMap").await?;
    objects.patch("c1", &PatchParams::default(), &Patch::Merge(drift)).await?;
    let mark = world.mark();
    assert_eq!(world.reconcile_again("c1").await?.outcome("settings"), "patch PatchGateHolds");
    assert_eq!(world.calls_since(mark), ["GET configmaps/c1", "PATCH configmaps/c1", "PATCH configmaps/c1"]);
    let mended = settings(&world).await?;
    let labels = &mended["metadata"]["labels"];
    assert_eq!((&labels["example.io/tier"], &labels["team"]), (&json!("gold"), &json!("platform")));
    assert_eq!(mended["data"], json!({"generation": "1", "mode": "strict"}));

    let report = world.reconcile("c1", 2).await?;
    assert_eq!(report.outcome("settings"), "update GenerationChanged", "{report:?}");
    let updated = settings(&world).await?;
    assert_eq!(updated["data"], json!({"generation": "2", "mode": "strict"}), "an apply keeps patched fields");
    assert_eq!(updated["metadata"]["labels"]["example.io/tier"], "gold");
    assert_eq!(updated["metadata"]["uid"], patched["metadata"]["uid"]);
    assert_eq!(world.reconcile_again("c1").await?.outcome("settings"), "skip SameGeneration");
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn patch_goes_before_the_update_to_a_new_generation() -> Result<()> {
    let world = World::new().await?;
    let _adapter = world.adapter(task(PATCHED))?.start().await?;
    world.reconcile("c1", 1).await?;
    assert_eq!(world.reconcile("c1", 2).await?.outcome("settings"), "patch PatchGateHolds");
    let patched = settings(&world).await?;
    assert_eq!(patched["data"], json!({"generation": "1", "mode": "strict"}));
    assert_eq!(patched["metadata"]["annotations"]["hyperfleet.io/generation"], "1", "it was not applied");
    assert_eq!(world.reconcile_again("c1").await?.outcome("settings"), "update GenerationChanged");
    assert_eq!(settings(&world).await?["data"], json!({"generation": "2", "mode": "strict"}));
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn refused_patch_is_reported_and_ends_the_patches() -> Result<()> {
    let invalid = PATCHED.replacen("{example.io/tier: gold}", r#"{example.io/tier: "not a label value!"}"#, 1);
    let world = World::new().await?;
    let _adapter = world.adapter(task(&invalid))?.start().await?;
    world.reconcile("c1", 1).await?;
    let before = settings(&world).await?;
    let report = world.reconcile_again("c1").await?;
    assert_eq!(report.outcome("settings"), "patch Invalid", "{report:?}");
    assert_eq!(report.condition("Available")["reason"], "Invalid");
    assert_eq!(settings(&world).await?, before);
    Ok(())
}

/// A Secret whose patch drops a key of it by the name under which the author wrote the key.
const TEXTS: &str = r#"
  - name: credentials
    manifest:
      apiVersion: v1
      kind: Secret
      metadata: {name: "{{ .clusterId }}", namespace: "{{ .namespace }}"}
      stringData: {token: hi}
    discovery: {namespace: "{{ .namespace }}", by_name: "{{ .clusterId }}"}
    lifecycle:
      patch:
        - when: {expression: 'has(resources.credentials.data.legacy)'}
          document: {stringData: {legacy: null, user: admin}}
"#;

#[tokio::test(flavor = "multi_thread")]
async fn null_among_the_texts_of_a_secret_removes_the_key_once() -> Result<()> {
    let world = World::new().await?;
    let _adapter = world.adapter(task(TEXTS))?.start().await?;
    assert_eq!(world.reconcile("c1", 1).await?.outcome("credentials"), "create Absent");
    let secrets = world.objects("v1", "Secret").await?;
    let legacy = json!({"data": {"legacy": "eA=="}});
    secrets.patch("c1", &PatchParams::default(), &Patch::Merge(legacy)).await?;

    assert_eq!(world.reconcile_again("c1").await?.outcome("credentials"), "patch PatchGateHolds");
    let data = json!({"token": "aGk=", "user": "YWRtaW4="});
    assert_eq!(world.object("Secret", "c1").await?["data"], data);
    let before = world.kubernetes.count(&writes());
    assert_eq!(world.reconcile_again("c1").await?.outcome("credentials"), "skip SameGeneration");
    assert_eq!((world.kubernetes.count(&writes()), &world.object("Secret", "c1").await?["data"]), (before, &data));
    Ok(())
}
