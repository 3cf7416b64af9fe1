//! Disowning: the object stays, and no adapter changes it until a user removes the label `hyperfleet.io/disowned`.

use anyhow::Result;
use kube::api::{DeleteParams, Patch, PatchParams};
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::owner::await_garbage_collection;
use crate::task::task;
use crate::world::World;

/// A parent and its child. The child is disowned when the cluster is deleted; from generation 9 on, it is deleted.
const DISOWNING: &str = r#"
  - name: parent
    manifest:
      apiVersion: v1
      kind: ConfigMap
      metadata: {name: "{{ .clusterId }}-parent", namespace: "{{ .namespace }}"}
    discovery: {namespace: "{{ .namespace }}", by_name: "{{ .clusterId }}-parent"}
  - name: child
    owner: {resource: parent}
    manifest:
      apiVersion: v1
      kind: ConfigMap
      metadata: {name: "{{ .clusterId }}-child", namespace: "{{ .namespace }}"}
      data: {generation: "{{ .generation }}"}
    discovery: {namespace: "{{ .namespace }}", by_name: "{{ .clusterId }}-child"}
    lifecycle:
      orphan: {when: {expression: 'generation < 9 && cluster.?deleted_time.orValue(null) != null'}}
      delete: {when: {expression: 'generation >= 9 && cluster.?deleted_time.orValue(null) != null'}}
"#;

const OURS: [&str; 3] = ["hyperfleet.io/adapter", "hyperfleet.io/resource-id", "hyperfleet.io/resource"];
const DISOWNED: &str = "hyperfleet.io/disowned";

async fn child(world: &World) -> Result<Value> {
    world.object("ConfigMap", "c1-child").await
}

#[tokio::test(flavor = "multi_thread")]
async fn disowned_object_stays_unchanged_until_a_user_reclaims_it() -> Result<()> {
    let world = World::new().await?;
    let keys = TempDir::new()?;
    let key = keys.path().join("key");
    std::fs::write(&key, [7; 32])?;
    let setup = world.adapter(task(DISOWNING))?.with("signing.key_file", key.to_string_lossy().into_owned());
    let _adapter = setup.start().await?;
    world.reconcile("c1", 1).await?;
    let managed = child(&world).await?["metadata"].clone();
    assert!(OURS.iter().all(|label| managed["labels"][label].is_string()), "{managed}");
    assert!(managed["annotations"]["hyperfleet.io/ownership-proof"].is_string(), "{managed}");
    assert!(managed["ownerReferences"].is_array(), "{managed}");

    world.api.delete("c1").await?;
    let report = world.reconcile_again("c1").await?;
    assert_eq!(report.outcome("child"), "disown OrphanGateHolds", "{report:?}");
    let finalized = report.condition("Finalized");
    assert_eq!((&finalized["status"], &finalized["reason"]), (&json!("True"), &json!("Disowned")), "{report:?}");
    let disowned = child(&world).await?;
    let metadata = &disowned["metadata"];
    assert_eq!(metadata["labels"], json!({DISOWNED: "c1"}));
    let by = format!("{}/child", world.name());
    let annotations = json!({"hyperfleet.io/generation": "1", "hyperfleet.io/disowned-by": by});
    assert_eq!(metadata["annotations"], annotations);
    assert_eq!((&metadata["ownerReferences"], &metadata["uid"]), (&Value::Null, &managed["uid"]));
    assert_eq!(disowned["data"], json!({"generation": "1"}));

    // The same event again; an event of a later generation of a live cluster; an event for which the delete
    // gate holds.
    let report = world.reconcile_again("c1").await?;
    assert_eq!((report.outcome("child").as_str(), report.status("Finalized")), ("skip Disowned", "True"));
    let report = world.reconcile("c1", 5).await?;
    assert_eq!(report.outcome("child"), "skip Disowned");
    world.api.put_cluster("c1", 9).await?;
    world.api.delete("c1").await?;
    assert_eq!(world.reconcile_again("c1").await?.outcome("child"), "skip Disowned");
    assert_eq!(child(&world).await?, disowned);

    // The garbage collector does not delete it with its former owner.
    let owner = world.object("ConfigMap", "c1-parent").await?;
    let objects = world.objects("v1", "ConfigMap").await?;
    objects.delete("c1-parent", &DeleteParams::background()).await?;
    await_garbage_collection(&world, &owner).await?;
    assert_eq!(child(&world).await?, disowned);

    // Removing the label makes the object owned again.
    let unmarked = json!({"metadata": {"labels": {DISOWNED: null}}});
    objects.patch("c1-child", &PatchParams::default(), &Patch::Merge(unmarked)).await?;
    let report = world.reconcile("c1", 11).await?;
    assert_eq!(report.outcome("child"), "update GenerationChanged", "{report:?}");
    let again = child(&world).await?;
    let metadata = &again["metadata"];
    assert!(OURS.iter().all(|label| metadata["labels"][label].is_string()), "{again}");
    assert!(metadata["annotations"]["hyperfleet.io/ownership-proof"].is_string(), "{again}");
    let parent = world.object("ConfigMap", "c1-parent").await?;
    assert_eq!(metadata["ownerReferences"][0]["uid"], parent["metadata"]["uid"]);
    assert_eq!((&metadata["uid"], &again["data"]["generation"]), (&managed["uid"], &json!("11")));
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn orphan_gate_wins_over_the_delete_gate_with_a_warning() -> Result<()> {
    let both = DISOWNING.replace("generation < 9 && ", "").replace("generation >= 9 && ", "");
    let world = World::new().await?;
    let adapter = world.adapter(task(&both))?.start().await?;
    world.reconcile("c1", 1).await?;
    world.api.delete("c1").await?;
    let report = world.reconcile_again("c1").await?;
    assert_eq!(report.outcome("child"), "disown OrphanGateHolds");
    assert!(!child(&world).await?.is_null());
    let warned = adapter.await_log("a warning about both gates", |entry| {
        entry["level"] == "warn"
            && entry["message"].as_str().is_some_and(|text| text.contains("the delete gate holds, too"))
    });
    warned.await?;
    adapter.await_metric("hyperfleet_adapter_warnings_total", &[("warning", "gate_conflict")], 1.0).await
}

/// A parent that is deleted with the cluster, but only after its child was disowned.
const WAITING: &str = r#"
  - name: parent
    manifest:
      apiVersion: v1
      kind: ConfigMap
      metadata: {name: "{{ .clusterId }}-parent", namespace: "{{ .namespace }}"}
    discovery: {namespace: "{{ .namespace }}", by_name: "{{ .clusterId }}-parent"}
    lifecycle:
      delete:
        when:
          expression: |
            cluster.?deleted_time.orValue(null) != null
              && (!resources.?child.hasValue() || "hyperfleet.io/disowned" in resources.child.metadata.labels)
  - name: child
    owner: {resource: parent}
    manifest:
      apiVersion: v1
      kind: ConfigMap
      metadata: {name: "{{ .clusterId }}-child", namespace: "{{ .namespace }}"}
    discovery: {namespace: "{{ .namespace }}", by_name: "{{ .clusterId }}-child"}
    lifecycle:
      orphan: {when: {expression: 'cluster.?deleted_time.orValue(null) != null'}}
"#;

#[tokio::test(flavor = "multi_thread")]
async fn owner_that_waits_for_the_disowning_keeps_the_child() -> Result<()> {
    let world = World::new().await?;
    let _adapter = world.adapter(task(WAITING))?.start().await?;
    world.reconcile("c1", 1).await?;
    let owner = world.object("ConfigMap", "c1-parent").await?;
    world.api.delete("c1").await?;

    let report = world.reconcile_again("c1").await?;
    assert_eq!(report.outcome("child"), "disown OrphanGateHolds");
    assert_eq!((report.outcome("parent").as_str(), report.status("Finalized")), ("update GenerationChanged", "False"));
    let report = world.reconcile_again("c1").await?;
    assert_eq!((report.outcome("parent").as_str(), report.status("Finalized")), ("delete DeleteGateHolds", "False"));
    let report = world.reconcile_again("c1").await?;
    assert_eq!((report.outcome("parent").as_str(), report.status("Finalized")), ("skip AlreadyAbsent", "True"));

    await_garbage_collection(&world, &owner).await?;
    assert_eq!(child(&world).await?["metadata"]["labels"][DISOWNED], "c1");
    Ok(())
}
