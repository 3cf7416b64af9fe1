//! A deleted cluster: its objects are deleted in order, and then the adapter reports `Finalized`.

use anyhow::Result;
use kube::api::{Patch, PatchParams};
use serde_json::{Value, json};

use crate::task::task;
use crate::world::World;

/// A parent whose deletion waits until its child is gone, although the parent comes first in the list.
const FAMILY: &str = r#"
  - name: parent
    manifest:
      apiVersion: v1
      kind: ConfigMap
      metadata: {name: "{{ .clusterId }}-parent", namespace: "{{ .namespace }}"}
    discovery: {namespace: "{{ .namespace }}", by_name: "{{ .clusterId }}-parent"}
    lifecycle:
      delete: {when: {expression: 'cluster.?deleted_time.orValue(null) != null && !resources.?child.hasValue()'}}
  - name: child
    manifest:
      apiVersion: v1
      kind: ConfigMap
      metadata: {name: "{{ .clusterId }}-child", namespace: "{{ .namespace }}"}
    discovery: {namespace: "{{ .namespace }}", by_name: "{{ .clusterId }}-child"}
    lifecycle:
      delete: {when: {expression: 'cluster.?deleted_time.orValue(null) != null'}}
"#;

/// Marks the cluster as deleted in the API, which raises its generation, and reconciles it.
async fn delete(world: &World, cluster: &str) -> Result<crate::world::Report> {
    world.api.delete(cluster).await?;
    world.reconcile_again(cluster).await
}

async fn exist(world: &World) -> Result<[bool; 2]> {
    let parent = world.object("ConfigMap", "c1-parent").await?;
    let child = world.object("ConfigMap", "c1-child").await?;
    Ok([!parent.is_null(), !child.is_null()])
}

#[tokio::test(flavor = "multi_thread")]
async fn child_is_deleted_before_its_parent_then_finalized() -> Result<()> {
    let world = World::new().await?;
    let adapter = world.adapter(task(FAMILY))?.start().await?;
    world.reconcile("c1", 1).await?;
    assert_eq!(exist(&world).await?, [true, true]);

    let report = delete(&world, "c1").await?;
    assert_eq!(exist(&world).await?, [true, false], "the parent comes first in the list, and still waits");
    assert_eq!(report.outcome("child"), "delete DeleteGateHolds");
    assert_eq!(report.status("Finalized"), "False");

    let report = world.reconcile_again("c1").await?;
    assert_eq!(exist(&world).await?, [false, false]);
    assert_eq!(report.outcome("parent"), "delete DeleteGateHolds");
    assert_eq!(report.outcome("child"), "skip AlreadyAbsent");
    assert_eq!(report.statuses(), ["False", "False", "True", "True"]);

    let mark = world.mark();
    let report = world.reconcile_again("c1").await?;
    assert_eq!(report.status("Finalized"), "True");
    let mut calls = world.calls_since(mark);
    calls.sort();
    assert_eq!(calls, ["GET configmaps/c1-child", "GET configmaps/c1-parent"]);
    let deleted = adapter.metric("hyperfleet_adapter_resources_deleted_total", &[("status", "success")]).await?;
    assert!((deleted - 2.0).abs() < 0.5, "{deleted}");
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn child_with_a_finalizer_delays_its_parents_deletion() -> Result<()> {
    let world = World::new().await?;
    let _adapter = world.adapter(task(FAMILY))?.start().await?;
    world.reconcile("c1", 1).await?;
    let objects = world.objects("v1", "ConfigMap").await?;
    let finalizers = |value: Value| Patch::Merge(json!({"metadata": {"finalizers": value}}));
    objects.patch("c1-child", &PatchParams::default(), &finalizers(json!(["journey.example.com/hold"]))).await?;

    delete(&world, "c1").await?;
    let report = world.reconcile_again("c1").await?;
    assert_eq!(report.outcome("child"), "wait Deleting");
    assert_eq!(report.status("Finalized"), "False");
    assert_eq!(exist(&world).await?, [true, true]);

    objects.patch("c1-child", &PatchParams::default(), &finalizers(Value::Null)).await?;
    let report = world.reconcile_again("c1").await?;
    assert_eq!(report.status("Finalized"), "True", "{report:?}");
    assert_eq!(exist(&world).await?, [false, false]);
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn parent_is_kept_while_its_child_is_unread() -> Result<()> {
    use lifecycle_e2e::fault::{Fault, When};
    let world = World::new().await?;
    let _adapter = world.adapter(task(FAMILY))?.start().await?;
    world.reconcile("c1", 1).await?;
    world.kubernetes.inject(When::method("GET").path_ends("/configmaps/c1-child"), Fault::Status(500));
    let mark = world.mark();
    let report = delete(&world, "c1").await?;
    assert_eq!(report.outcome("parent"), "fail GateFailed");
    assert_eq!(report.outcome("child"), "fail DiscoveryFailed");
    assert_eq!(report.status("Finalized"), "False");
    assert!(world.calls_since(mark).iter().all(|call| call.starts_with("GET")), "nothing is deleted");
    assert_eq!(exist(&world).await?, [true, true]);

    world.kubernetes.heal();
    world.reconcile_again("c1").await?;
    let report = world.reconcile_again("c1").await?;
    assert_eq!(report.status("Finalized"), "True", "{report:?}");
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn event_of_an_unknown_cluster_is_skipped() -> Result<()> {
    use lifecycle_e2e::sentinel::Event;
    let world = World::new().await?;
    let adapter = world.adapter(task(FAMILY))?.start().await?;
    world.topic.publish(&Event::cluster("nobody", 1)).await?;
    adapter.await_metric("hyperfleet_adapter_events_processed_total", &[("status", "skipped")], 1.0).await?;
    assert_eq!(world.calls_since(0), Vec::<String>::new());
    assert_eq!(world.reports("nobody"), []);
    Ok(())
}
