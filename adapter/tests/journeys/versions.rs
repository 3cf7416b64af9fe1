//! Versions of one resource are let go of together, and never taken for another resource's.

use std::collections::BTreeMap;

use anyhow::{Context, Result};
use kube::ResourceExt as _;
use kube::api::{ListParams, PostParams};
use lifecycle_e2e::fault::{Fault, When};
use serde_json::{Value, json};

use crate::task::task;
use crate::world::{Report, World};

/// A version for each generation, found by the labels of `SELECTOR`; let go of by the gate of `GATE`.
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
      GATE: {when: {expression: 'cluster.?deleted_time.hasValue()'}}
"#;

const BY_STAMP: &str = r#"hyperfleet.io/resource-id: "{{ .clusterId }}", hyperfleet.io/resource: record"#;
const BY_AUTHOR: &str = "app: journey";

/// The labels of every version, by name.
async fn versions(world: &World) -> Result<BTreeMap<String, BTreeMap<String, String>>> {
    let objects = world.objects("v1", "ConfigMap").await?.list(&ListParams::default()).await?;
    let versions = objects.into_iter().filter(|object| object.name_any().starts_with("c1-v"));
    Ok(versions.map(|object| (object.name_any(), object.metadata.labels.unwrap_or_default())).collect())
}

/// A cluster with three versions, whose deletion the first event brings to a stop at the second of them.
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
    world.api.mark_deleted("clusters/c1")?;
    world.kubernetes.inject(When::method(method).path_ends("/configmaps/c1-v2"), Fault::Status(500));
    let report = world.reconcile_again("c1").await?;
    world.kubernetes.heal();
    let decision = if gate == "orphan" { "disown" } else { gate };
    assert_eq!(report.outcome("record"), format!("{decision} Unavailable"), "{report:?}");
    assert_eq!((report.status("Available"), report.status("Finalized")), ("False", "False"));
    Ok((world, adapter, report))
}

#[tokio::test(flavor = "multi_thread")]
async fn a_deletion_of_all_versions_that_fails_in_the_middle_is_finished_by_the_next_event() -> Result<()> {
    let (world, _adapter, report) = interrupted("delete", BY_STAMP, "DELETE").await?;
    let message = report.condition("Available")["message"].as_str().unwrap_or_default().to_owned();
    assert!(message.contains("ConfigMap") && message.contains("c1-v2") && message.contains("500"), "{message}");
    assert_eq!(versions(&world).await?.into_keys().collect::<Vec<_>>(), ["c1-v2"], "the others went");

    let report = world.reconcile_again("c1").await?;
    assert_eq!(report.outcome("record"), "delete DeleteGateHolds");
    assert_eq!(report.status("Finalized"), "True", "{report:?}");
    assert_eq!(versions(&world).await?.len(), 0);
    assert_eq!(world.reconcile_again("c1").await?.outcome("record"), "skip AlreadyAbsent");
    Ok(())
}

/// Stops a release at the second of three versions, and lets the next event finish it.
async fn released(selector: &str, resumed_as: &str) -> Result<()> {
    let (world, _adapter, _) = interrupted("orphan", selector, "PATCH").await?;
    let halfway = versions(&world).await?;
    let is_ours = |name: &str| halfway[name].contains_key("hyperfleet.io/resource");
    assert_eq!([is_ours("c1-v1"), is_ours("c1-v2"), is_ours("c1-v3")], [false, true, true], "the current one is last");

    let report = world.reconcile_again("c1").await?;
    assert_eq!(report.outcome("record"), format!("disown {resumed_as}"), "{report:?}");
    assert_eq!(report.condition("Finalized")["reason"], "Disowned", "{report:?}");
    let expected = BTreeMap::from([("app", "journey"), ("hyperfleet.io/disowned", "c1")]);
    let released = versions(&world).await?;
    assert_eq!(released.len(), 3);
    for (name, labels) in released {
        let labels: BTreeMap<&str, &str> = labels.iter().map(|(key, value)| (key.as_str(), value.as_str())).collect();
        assert_eq!(labels, expected, "{name}");
    }

    // Whatever comes now, nothing is made in their place.
    for generation in [4, 7] {
        let report = world.reconcile("c1", generation).await?;
        assert_eq!(report.outcome("record"), "skip Disowned", "{report:?}");
    }
    assert_eq!(versions(&world).await?.len(), 3);
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_release_of_all_versions_that_fails_in_the_middle_is_finished_by_the_next_event() -> Result<()> {
    // The labels that discovery goes by are taken off, so the gate is asked about what still has them.
    released(BY_STAMP, "OrphanGateHolds").await
}

#[tokio::test(flavor = "multi_thread")]
async fn a_release_is_finished_also_where_discovery_finds_what_was_released() -> Result<()> {
    released(BY_AUTHOR, "Disowned").await
}

/// Two entries of one kind behind one selector. The left one keeps no former version, and is deleted with the cluster.
const TWINS: &str = r#"
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
      delete: {when: {expression: 'cluster.?deleted_time.hasValue()'}}
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
async fn two_resources_behind_one_selector_never_touch_each_others_objects() -> Result<()> {
    let world = World::new().await?;
    let _adapter = world.adapter(task(TWINS))?.start().await?;
    let report = world.reconcile("c1", 1).await?;
    assert_eq!(report.outcome("left"), "create Absent");
    assert_eq!(report.outcome("right"), "create Absent", "what the left one made is not its own");
    let right = world.object("ConfigMap", "right").await?;

    let report = world.reconcile("c1", 2).await?;
    assert_eq!(report.outcome("left"), "create_version NewName");
    assert_eq!(report.outcome("right"), "update GenerationChanged");
    assert!(world.object("ConfigMap", "left-1").await?.is_null(), "pruned");
    let kept = world.object("ConfigMap", "right").await?;
    assert_eq!((&kept["metadata"]["uid"], &kept["data"]), (&right["metadata"]["uid"], &json!({"side": "right"})));

    world.api.mark_deleted("clusters/c1")?;
    let report = world.reconcile_again("c1").await?;
    assert_eq!(report.outcome("left"), "delete DeleteGateHolds");
    assert!(world.object("ConfigMap", "left-2").await?.is_null());
    let kept = world.object("ConfigMap", "right").await?;
    assert_eq!(kept["metadata"]["uid"], right["metadata"]["uid"], "{report:?}");
    Ok(())
}

/// What the Go adapter's POST leaves: no labels of ours, its manager, and a key that the manifest no longer has.
async fn made_by_the_go_adapter(world: &World, name: &str, manager: &str) -> Result<Value> {
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
async fn an_object_of_the_go_adapter_is_adopted_by_the_entry_that_names_it() -> Result<()> {
    let world = World::new().await?;
    let former = made_by_the_go_adapter(&world, "right", "adapter").await?;
    // Nobody's, as neither entry renders to this name.
    let stranger = made_by_the_go_adapter(&world, "stranger", "adapter").await?;
    let _adapter = world.adapter(task(TWINS))?.start().await?;
    let report = world.reconcile("c1", 1).await?;
    assert_eq!(report.outcome("left"), "create Absent");
    assert_eq!(report.outcome("right"), "skip SameGeneration", "it is found, and as it should be");

    let report = world.reconcile("c1", 2).await?;
    assert_eq!(report.outcome("right"), "update GenerationChanged", "{report:?}");
    let adopted = world.object("ConfigMap", "right").await?;
    assert_eq!(adopted["metadata"]["uid"], former["metadata"]["uid"]);
    assert_eq!(adopted["metadata"]["labels"]["hyperfleet.io/resource"], "right");
    assert_eq!(adopted["data"], json!({"side": "right"}), "what the manifest dropped went");

    world.api.mark_deleted("clusters/c1")?;
    world.reconcile_again("c1").await?;
    let kept = world.object("ConfigMap", "stranger").await?;
    assert_eq!(kept["metadata"]["resourceVersion"], stranger["metadata"]["resourceVersion"]);
    Ok(())
}
