//! Owners and dependents: Kubernetes' real garbage collector deletes dependents with their owner.

use anyhow::{Context, Result, ensure};
use kube::api::{DeleteParams, ListParams, PostParams};
use lifecycle_e2e::{PATIENCE, await_condition};
use serde_json::{Value, json};

use crate::task::task;
use crate::world::World;

/// A parent that the adapter deletes, and a child that it leaves to the garbage collector.
const OWNED: &str = r#"
  - name: parent
    manifest:
      apiVersion: v1
      kind: ConfigMap
      metadata: {name: "{{ .clusterId }}-parent", namespace: "{{ .namespace }}"}
    discovery: {namespace: "{{ .namespace }}", by_name: "{{ .clusterId }}-parent"}
    lifecycle:
      delete: {when: {expression: 'cluster.?deleted_time.orValue(null) != null'}}
  - name: child
    when: {expression: 'cluster.?deleted_time.orValue(null) == null'}
    owner: {resource: parent}
    manifest:
      apiVersion: v1
      kind: ConfigMap
      metadata: {name: "{{ .clusterId }}-child", namespace: "{{ .namespace }}"}
      data: {generation: "{{ .generation }}"}
    discovery: {namespace: "{{ .namespace }}", by_name: "{{ .clusterId }}-child"}
"#;

/// Returns the owner reference of an object, if it has exactly one.
fn owner(object: &Value) -> Option<&Value> {
    let owners = object["metadata"]["ownerReferences"].as_array()?;
    owners.first().filter(|_| owners.len() == 1)
}

#[tokio::test(flavor = "multi_thread")]
async fn dependents_of_a_deleted_owner_are_garbage_collected() -> Result<()> {
    let world = World::new().await?;
    let _adapter = world.adapter(task(OWNED))?.start().await?;
    world.reconcile("c1", 1).await?;
    let parent = world.object("ConfigMap", "c1-parent").await?;
    let child = world.object("ConfigMap", "c1-child").await?;
    let expected = json!({
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "name": "c1-parent",
        "uid": parent["metadata"]["uid"],
        "controller": false,
        "blockOwnerDeletion": false,
    });
    assert_eq!(owner(&child), Some(&expected));

    world.api.delete("c1").await?;
    let mark = world.mark();
    let report = world.reconcile_again("c1").await?;
    assert_eq!(report.outcome("parent"), "delete DeleteGateHolds");
    assert_eq!(report.outcome("child"), "skip WhenFalse");
    await_condition("the child to be collected", PATIENCE, async || {
        let child = world.object("ConfigMap", "c1-child").await?;
        ensure!(child.is_null(), "{child}");
        Ok(())
    })
    .await?;
    let report = world.reconcile_again("c1").await?;
    assert_eq!(report.statuses(), ["False", "False", "True", "True"], "{report:?}");
    let deletions: Vec<String> =
        world.calls_since(mark).into_iter().filter(|call| call.starts_with("DELETE")).collect();
    assert_eq!(deletions, ["DELETE configmaps/c1-parent"], "the adapter deleted only the owner");
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn dependents_in_a_deleted_namespace_are_deleted() -> Result<()> {
    let world = World::new().await?;
    // Namespaces are cluster-scoped, so this one needs a unique name of its own.
    let place = format!("{}-owner", world.namespace.name());
    let owned = OWNED
        .replace(
            "kind: ConfigMap\n      metadata: {name: \"{{ .clusterId }}-parent\", namespace: \"{{ .namespace }}\"}",
            "kind: Namespace\n      metadata: {name: \"{{ .namespace }}-owner\"}",
        )
        .replace(
            r#"{namespace: "{{ .namespace }}", by_name: "{{ .clusterId }}-parent"}"#,
            r#"{by_name: "{{ .namespace }}-owner"}"#,
        )
        .replace(r#"namespace: "{{ .namespace }}""#, r#"namespace: "{{ .namespace }}-owner""#);
    let _adapter = world.adapter(task(&owned))?.start().await?;
    let report = world.reconcile("c1", 1).await?;
    assert_eq!(report.statuses(), ["True", "True", "True", "False"], "{report:?}");
    let client = world.stack.control_plane.client().await?;
    let children: kube::Api<k8s_openapi::api::core::v1::ConfigMap> = kube::Api::namespaced(client.clone(), &place);
    let owners = children.get("c1-child").await?.metadata.owner_references.context("it has no owner")?;
    assert_eq!((owners[0].kind.as_str(), owners[0].name.as_str()), ("Namespace", place.as_str()));

    world.api.delete("c1").await?;
    await_condition("Finalized", PATIENCE, async || {
        let report = world.reconcile_again("c1").await?;
        ensure!(report.status("Finalized") == "True", "{report:?}");
        Ok(())
    })
    .await?;
    let namespaces: kube::Api<k8s_openapi::api::core::v1::Namespace> = kube::Api::all(client);
    assert!(namespaces.get_opt(&place).await?.is_none());
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn owner_in_another_namespace_fails_without_a_write() -> Result<()> {
    let world = World::new().await?;
    // A template decides the child's namespace, so the load-time checks cannot find the mistake.
    let elsewhere = r#""{{ if .namespace }}default{{ end }}""#;
    let (parent, child) = OWNED.split_once("  - name: child").context("no child")?;
    let owned = format!("{parent}  - name: child{}", child.replace(r#""{{ .namespace }}""#, elsewhere));
    let _adapter = world.adapter(task(&owned))?.start().await?;
    let report = world.reconcile("c1", 1).await?;
    assert_eq!(report.outcome("parent"), "create Absent");
    assert_eq!(report.outcome("child"), "fail OwnerUnavailable", "{report:?}");
    let available = report.condition("Available");
    assert_eq!((&available["status"], &available["reason"]), (&json!("False"), &json!("OwnerUnavailable")));
    let message = available["message"].as_str().unwrap_or_default();
    assert!(message.contains("cannot own an object that is in default"), "{message}");

    let client = world.stack.control_plane.client().await?;
    let children: kube::Api<k8s_openapi::api::core::v1::ConfigMap> = kube::Api::namespaced(client, "default");
    assert!(
        children.list(&ListParams::default()).await?.iter().all(|map| map.metadata.name.as_deref() != Some("c1-child"))
    );
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn recreated_owner_is_referenced_by_its_new_uid() -> Result<()> {
    let recreated = OWNED.replacen("    lifecycle:\n", "    recreate_on_change: true\n    lifecycle:\n", 1);
    let world = World::new().await?;
    let _adapter = world.adapter(task(&recreated))?.start().await?;
    world.reconcile("c1", 1).await?;
    let former = world.object("ConfigMap", "c1-parent").await?;

    let report = world.reconcile("c1", 2).await?;
    assert_eq!(report.outcome("parent"), "recreate RecreateGateHolds");
    // The garbage collector and the adapter act concurrently: either the adapter updates the child, or the
    // collector deletes it and the adapter creates it again. Both lead to the new owner.
    await_condition("the child to be the new owner's", PATIENCE, async || {
        world.reconcile_again("c1").await?;
        let parent = world.object("ConfigMap", "c1-parent").await?;
        let child = world.object("ConfigMap", "c1-child").await?;
        ensure!(parent["metadata"]["uid"] != former["metadata"]["uid"], "the owner is the former one");
        let named = owner(&child).map(|owner| &owner["uid"]);
        ensure!(named == Some(&parent["metadata"]["uid"]), "{child}");
        ensure!(child["data"]["generation"] == "2", "{child}");
        Ok(())
    })
    .await?;

    // Give the garbage collector time to process what it has queued: it must not delete the child of the new
    // owner.
    await_garbage_collection(&world, &former).await?;
    let report = world.reconcile_again("c1").await?;
    assert_eq!(report.outcome("child"), "skip SameGeneration", "{report:?}");
    assert!(!world.object("ConfigMap", "c1-child").await?.is_null());
    Ok(())
}

/// Waits until the garbage collector has deleted an object that names a former owner, and so has processed
/// its queue.
pub(crate) async fn await_garbage_collection(world: &World, former: &Value) -> Result<()> {
    let objects = world.objects("v1", "ConfigMap").await?;
    let witness = json!({
        "metadata": {
            "name": "witness",
            "ownerReferences": [{
                "apiVersion": "v1",
                "kind": "ConfigMap",
                "name": former["metadata"]["name"],
                "uid": former["metadata"]["uid"],
            }],
        },
    });
    objects.create(&PostParams::default(), &serde_json::from_value(witness)?).await?;
    await_condition("the witness to be collected", PATIENCE, async || {
        let witness = objects.get_opt("witness").await?;
        ensure!(witness.is_none(), "it is still there");
        Ok(())
    })
    .await
}

#[tokio::test(flavor = "multi_thread")]
async fn child_of_a_deleted_owner_is_created_again_with_the_new_one() -> Result<()> {
    let world = World::new().await?;
    let _adapter = world.adapter(task(OWNED))?.start().await?;
    world.reconcile("c1", 1).await?;
    let former = world.object("ConfigMap", "c1-parent").await?;
    world.objects("v1", "ConfigMap").await?.delete("c1-parent", &DeleteParams::background()).await?;
    await_condition("both to be there again", PATIENCE, async || {
        let report = world.reconcile_again("c1").await?;
        let parent = world.object("ConfigMap", "c1-parent").await?;
        let child = world.object("ConfigMap", "c1-child").await?;
        ensure!(parent["metadata"]["uid"] != former["metadata"]["uid"], "the owner is the former one");
        ensure!(owner(&child).map(|owner| &owner["uid"]) == Some(&parent["metadata"]["uid"]), "{child}");
        ensure!(report.outcome("child") == "skip SameGeneration", "{report:?}");
        Ok(())
    })
    .await
}
