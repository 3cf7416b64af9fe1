//! The versions of a resource are deleted or disowned together, and never taken for those of another resource.

use std::collections::BTreeMap;

use anyhow::{Context, Result};
use kube::ResourceExt as _;
use kube::api::{ListParams, PostParams};
use lifecycle_e2e::fault::{Fault, When};
use serde_json::{Value, json};

use crate::task::task;
use crate::world::{Report, World};

/// A resource with a version for each generation, discovered by the labels `SELECTOR`, with the gate `GATE`.
const VERSIONS: &str = r#"
  - name: record
    manifest:
      apiVersion: v1
      kind: ConfigMap
      metadata:
        name: "{{ .clusterId }}-v{{ .generation }}"
        namespace: "{{ .namespace }}"
        labels: {app: journey}
    discovery:
      namespace: "{{ .namespace }}"
      by_selectors: {label_selector: {SELECTOR}}
    retention: {historyLimit: 10}
    lifecycle:
      GATE: {when: {expression: 'cluster.?deleted_time.orValue(null) != null'}}
"#;

/// A selector of labels that the adapter stamps.
const STAMPED_LABELS: &str = r#"hyperfleet.io/resource-id: "{{ .clusterId }}", hyperfleet.io/resource: record"#;
/// A selector of a label in the author's manifest.
const AUTHORS_LABEL: &str = "app: journey";

/// The labels of all versions, by the names of the versions.
async fn versions(world: &World) -> Result<BTreeMap<String, BTreeMap<String, String>>> {
    let objects = world.objects("v1", "ConfigMap").await?.list(&ListParams::default()).await?;
    let versions = objects.into_iter().filter(|object| object.name_any().starts_with("c1-v"));
    Ok(versions.map(|object| (object.name_any(), object.metadata.labels.unwrap_or_default())).collect())
}

/// Creates a cluster with three versions, marks it as deleted, and makes the first event fail at the second
/// version.
async fn interrupted(
    gate: &str,
    selector: &str,
    method: &'static str,
) -> Result<(World, crate::adapter::Adapter, Report)> {
    let world = World::new().await?;
    let resources = VERSIONS.replace("GATE", gate).replace("SELECTOR", selector);
    let adapter = world.adapter(task(&resources))?.start().await?;
    for generation in 1..=3 {
        let report = world.reconcile("c1", generation).await?;
        assert_eq!(report.status("Available"), "True", "{report:?}");
    }
    assert_eq!(versions(&world).await?.len(), 3);
    world.api.delete("c1").await?;
    world.kubernetes.inject(When::method(method).path_ends("/configmaps/c1-v2"), Fault::Status(500));
    let report = world.reconcile_again("c1").await?;
    world.kubernetes.heal();
    let decision = if gate == "orphan" { "disown" } else { gate };
    assert_eq!(report.outcome("record"), format!("{decision} Unavailable"), "{report:?}");
    assert_eq!((report.status("Available"), report.status("Finalized")), ("False", "False"));
    Ok((world, adapter, report))
}

#[tokio::test(flavor = "multi_thread")]
async fn interrupted_deletion_of_versions_is_finished_by_the_next_event() -> Result<()> {
    let (world, _adapter, report) = interrupted("delete", STAMPED_LABELS, "DELETE").await?;
    let message = report.condition("Available")["message"].as_str().unwrap_or_default().to_owned();
    assert!(message.contains("ConfigMap") && message.contains("c1-v2") && message.contains("500"), "{message}");
    assert_eq!(versions(&world).await?.into_keys().collect::<Vec<_>>(), ["c1-v2"], "the others are deleted");

    let report = world.reconcile_again("c1").await?;
    assert_eq!(report.outcome("record"), "delete DeleteGateHolds");
    assert_eq!(report.status("Finalized"), "True", "{report:?}");
    assert_eq!(versions(&world).await?.len(), 0);
    assert_eq!(world.reconcile_again("c1").await?.outcome("record"), "skip AlreadyAbsent");
    Ok(())
}

/// Interrupts a disowning at the second of three versions, and checks that the next event finishes it.
async fn check_interrupted_disowning(selector: &str, resumed_as: &str) -> Result<()> {
    let (world, _adapter, _) = interrupted("orphan", selector, "PATCH").await?;
    let halfway = versions(&world).await?;
    let is_ours = |name: &str| halfway[name].contains_key("hyperfleet.io/resource");
    assert_eq!(
        [is_ours("c1-v1"), is_ours("c1-v2"), is_ours("c1-v3")],
        [false, true, true],
        "the current version is last"
    );

    let report = world.reconcile_again("c1").await?;
    assert_eq!(report.outcome("record"), format!("disown {resumed_as}"), "{report:?}");
    assert_eq!(report.condition("Finalized")["reason"], "Disowned", "{report:?}");
    let expected = BTreeMap::from([("app", "journey"), ("hyperfleet.io/disowned", "c1")]);
    let disowned = versions(&world).await?;
    assert_eq!(disowned.len(), 3);
    for (name, labels) in disowned {
        let labels: BTreeMap<&str, &str> = labels.iter().map(|(key, value)| (key.as_str(), value.as_str())).collect();
        assert_eq!(labels, expected, "{name}");
    }

    // Later events create nothing in the place of the disowned versions.
    for generation in [4, 7] {
        let report = world.reconcile("c1", generation).await?;
        assert_eq!(report.outcome("record"), "skip Disowned", "{report:?}");
    }
    assert_eq!(versions(&world).await?.len(), 3);
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn interrupted_disowning_is_finished_by_the_next_event() -> Result<()> {
    // Disowning removes the labels that discovery selects, so the next event finds only the remaining versions.
    check_interrupted_disowning(STAMPED_LABELS, "OrphanGateHolds").await
}

#[tokio::test(flavor = "multi_thread")]
async fn interrupted_disowning_is_finished_if_disowned_versions_are_found() -> Result<()> {
    check_interrupted_disowning(AUTHORS_LABEL, "Disowned").await
}

/// Two resources of one kind with the same selector. `left` keeps no former versions, and is deleted with the
/// cluster.
const SAME_SELECTOR: &str = r#"
  - name: left
    manifest:
      apiVersion: v1
      kind: ConfigMap
      metadata:
        name: "left-{{ .generation }}"
        namespace: "{{ .namespace }}"
        labels: {app: twins}
      data: {side: left}
    discovery: {namespace: "{{ .namespace }}", by_selectors: {label_selector: {app: twins}}}
    retention: {historyLimit: 0}
    lifecycle:
      delete: {when: {expression: 'cluster.?deleted_time.orValue(null) != null'}}
  - name: right
    manifest:
      apiVersion: v1
      kind: ConfigMap
      metadata:
        name: right
        namespace: "{{ .namespace }}"
        labels: {app: twins}
      data: {side: right}
    discovery: {namespace: "{{ .namespace }}", by_selectors: {label_selector: {app: twins}}}
"#;

#[tokio::test(flavor = "multi_thread")]
async fn resources_with_equal_selectors_write_only_their_own_objects() -> Result<()> {
    let world = World::new().await?;
    let _adapter = world.adapter(task(SAME_SELECTOR))?.start().await?;
    let report = world.reconcile("c1", 1).await?;
    assert_eq!(report.outcome("left"), "create Absent");
    assert_eq!(report.outcome("right"), "create Absent", "the object of `left` does not count");
    let right = world.object("ConfigMap", "right").await?;

    let report = world.reconcile("c1", 2).await?;
    assert_eq!(report.outcome("left"), "create_version NewName");
    assert_eq!(report.outcome("right"), "update GenerationChanged");
    assert!(world.object("ConfigMap", "left-1").await?.is_null(), "pruned");
    let kept = world.object("ConfigMap", "right").await?;
    assert_eq!((&kept["metadata"]["uid"], &kept["data"]), (&right["metadata"]["uid"], &json!({"side": "right"})));

    world.api.delete("c1").await?;
    let report = world.reconcile_again("c1").await?;
    assert_eq!(report.outcome("left"), "delete DeleteGateHolds");
    assert!(world.object("ConfigMap", "left-2").await?.is_null());
    let kept = world.object("ConfigMap", "right").await?;
    assert_eq!(kept["metadata"]["uid"], right["metadata"]["uid"], "{report:?}");
    Ok(())
}

/// Creates an object as the Go adapter's POST does: without our labels, with its field manager, and with a
/// key that the manifest lacks.
async fn create_as_the_go_adapter(world: &World, name: &str, manager: &str) -> Result<Value> {
    let object = json!({
        "metadata": {"name": name, "labels": {"app": "twins"}, "annotations": {"hyperfleet.io/generation": "1"}},
        "data": {"side": "right", "dropped": "1"},
    });
    let params = PostParams { field_manager: Some(manager.to_owned()), ..PostParams::default() };
    let objects = world.objects("v1", "ConfigMap").await?;
    let object = objects.create(&params, &serde_json::from_value(object)?).await?;
    serde_json::to_value(object).context("it is no JSON")
}

#[tokio::test(flavor = "multi_thread")]
async fn object_of_the_go_adapter_is_adopted_by_the_resource_of_its_name() -> Result<()> {
    let world = World::new().await?;
    let former = create_as_the_go_adapter(&world, "right", "adapter").await?;
    // No resource owns this object, because no manifest has this name.
    let stranger = create_as_the_go_adapter(&world, "stranger", "adapter").await?;
    let _adapter = world.adapter(task(SAME_SELECTOR))?.start().await?;
    let report = world.reconcile("c1", 1).await?;
    assert_eq!(report.outcome("left"), "create Absent");
    assert_eq!(report.outcome("right"), "skip SameGeneration", "the object is found, and up to date");

    let report = world.reconcile("c1", 2).await?;
    assert_eq!(report.outcome("right"), "update GenerationChanged", "{report:?}");
    let adopted = world.object("ConfigMap", "right").await?;
    assert_eq!(adopted["metadata"]["uid"], former["metadata"]["uid"]);
    assert_eq!(adopted["metadata"]["labels"]["hyperfleet.io/resource"], "right");
    assert_eq!(adopted["data"], json!({"side": "right"}), "the key that the manifest lacks is removed");

    world.api.delete("c1").await?;
    world.reconcile_again("c1").await?;
    let kept = world.object("ConfigMap", "stranger").await?;
    assert_eq!(kept["metadata"]["resourceVersion"], stranger["metadata"]["resourceVersion"]);
    Ok(())
}
