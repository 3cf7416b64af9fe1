//! What the agent applies and reports.

use anyhow::{Context as _, Result, ensure};
use kube::api::{Patch, PatchParams, PostParams};
use lifecycle_e2e::{PATIENCE, await_condition};
use serde_json::{Value, json};

use crate::world::{CONSUMER, World, condition, feedback};

#[tokio::test]
async fn agent_applies_manifests_and_reports_the_version() -> Result<()> {
    let world = World::new().await?;
    let _agent = world.agent().await?;
    world.create("b", &json!({ "manifests": [world.map("one", "1"), world.map("two", "2")] })).await?;
    let bundle = world.applied("b", 1).await?;
    assert_eq!(condition(&bundle, "Available"), Some((true, 1)));
    let map = world.maps.get("one").await?;
    let entries = map.metadata.managed_fields.unwrap_or_default();
    let managers: Vec<_> = entries.iter().map(|entry| (entry.manager.as_deref(), entry.operation.as_deref())).collect();
    assert_eq!(managers, [(Some("work-agent"), Some("Apply"))]);
    let status = bundle.status.context("no status")?;
    let meta = &status.resource_status[1]["resourceMeta"];
    assert_eq!((&meta["resource"], &meta["name"], &meta["ordinal"]), (&"configmaps".into(), &"two".into(), &1.into()));
    Ok(())
}

#[tokio::test]
async fn update_changes_objects_and_removes_those_of_dropped_manifests() -> Result<()> {
    let world = World::new().await?;
    let _agent = world.agent().await?;
    world.create("b", &json!({ "manifests": [world.map("one", "1"), world.map("two", "2")] })).await?;
    world.applied("b", 1).await?;
    world.update("b", &json!({ "manifests": [world.map("two", "3"), world.map("three", "4")] })).await?;
    world.applied("b", 2).await?;
    let expected = [("three", "4"), ("two", "3")].map(|(name, value)| (name.to_owned(), value.to_owned()));
    await_condition("the dropped map to be gone", PATIENCE, async || {
        let values = world.values().await?;
        ensure!(values == expected, "{values:?}");
        Ok(())
    })
    .await
}

#[tokio::test]
async fn failure_is_reported_and_keeps_what_was_applied_before() -> Result<()> {
    let world = World::new().await?;
    let _agent = world.agent().await?;
    world.create("b", &json!({ "manifests": [world.map("one", "1")] })).await?;
    world.applied("b", 1).await?;
    let unknown = json!({ "apiVersion": "none.example/v1", "kind": "Nothing", "metadata": { "name": "n" } });
    world.update("b", &json!({ "manifests": [world.map("two", "2"), unknown] })).await?;
    let failed = |bundle: &local_maestro::Bundle| condition(bundle, "Applied") == Some((false, 2));
    let bundle = world.bundle("the failure to be reported", "b", failed).await?;
    let status = bundle.status.context("no status")?;
    let applied: Vec<_> = status.resource_status.iter().map(|entry| &entry["conditions"][0]["status"]).collect();
    assert_eq!(applied, ["True", "False"]);
    world.expect_maps(&["one", "two"]).await?;
    world.update("b", &json!({ "manifests": [world.map("two", "2")] })).await?;
    world.applied("b", 3).await?;
    await_condition("the dropped map to be gone", PATIENCE, async || world.expect_maps(&["two"]).await).await
}

#[tokio::test]
async fn feedback_follows_the_object_by_the_rules() -> Result<()> {
    let world = World::new().await?;
    let _agent = world.agent().await?;
    let paths = [("all", "@"), ("data", ".data"), ("value", ".data.value"), ("missing", ".status.phase")];
    let paths = paths.map(|(name, path)| json!({ "name": name, "path": path }));
    let config = json!({
        "resourceIdentifier": world.identifier("one"),
        "updateStrategy": { "type": "ReadOnly" },
        "feedbackRules": [{ "type": "JSONPaths", "jsonPaths": paths }],
    });
    world.maps.create(&PostParams::default(), &serde_json::from_value(world.map("one", "1"))?).await?;
    // Of an object that the agent only reads, the manifest's content does not matter.
    world.create("b", &json!({ "manifests": [world.map("one", "ignored")], "manifestConfigs": [config] })).await?;
    let has_value = |bundle: &local_maestro::Bundle, value: &str| {
        let wanted = ("value".to_owned(), json!({ "type": "String", "string": value }));
        feedback(bundle, 0).contains(&wanted)
    };
    let bundle = world.bundle("the feedback", "b", |bundle| has_value(bundle, "1")).await?;
    let values = feedback(&bundle, 0);
    let names: Vec<_> = values.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(names, ["all", "data", "value"]);
    assert_eq!(values[1].1, json!({ "type": "JsonRaw", "jsonRaw": "{\"value\":\"1\"}" }));
    let whole: Value = serde_json::from_str(values[0].1["jsonRaw"].as_str().context("no object")?)?;
    ensure!(whole["metadata"]["uid"].is_string(), "{whole}");

    let change = Patch::Merge(json!({ "data": { "value": "2" } }));
    world.maps.patch("one", &PatchParams::default(), &change).await?;
    world.bundle("the new feedback", "b", |bundle| has_value(bundle, "2")).await?;
    world.delete("b").await?;
    world.gone("b").await?;
    world.expect_maps(&["one"]).await
}

#[tokio::test]
async fn create_only_objects_are_not_changed_again() -> Result<()> {
    let world = World::new().await?;
    let _agent = world.agent().await?;
    let config = json!({ "resourceIdentifier": world.identifier("one"), "updateStrategy": { "type": "CreateOnly" } });
    let data = |value: &str| json!({ "manifests": [world.map("one", value)], "manifestConfigs": [config] });
    world.create("b", &data("1")).await?;
    world.applied("b", 1).await?;
    world.update("b", &data("2")).await?;
    world.applied("b", 2).await?;
    assert_eq!(world.values().await?, [("one".to_owned(), "1".to_owned())]);
    Ok(())
}

#[tokio::test]
async fn bundles_that_agents_refuse_get_no_status() -> Result<()> {
    let world = World::new().await?;
    let _agent = world.agent().await?;
    world.create("empty", &json!({ "manifests": [] })).await?;
    world.create("other", &json!({ "manifests": [world.map("one", "1")] })).await?;
    world.applied("other", 1).await?;
    assert_eq!(world.maestro.bundle("empty").context("no bundle")?.status, None);
    Ok(())
}

#[tokio::test]
async fn agent_catches_up_after_it_was_offline() -> Result<()> {
    let world = World::new().await?;
    let _agent = world.agent().await?;
    for id in ["kept", "gone"] {
        world.create(id, &json!({ "manifests": [world.map(id, "1")] })).await?;
        world.applied(id, 1).await?;
    }
    world.maestro.agent_offline(CONSUMER);
    world.update("kept", &json!({ "manifests": [world.map("kept", "2")] })).await?;
    world.delete("gone").await?;
    ensure!(world.maestro.bundle("gone").is_some());
    world.maestro.agent_online(CONSUMER);
    world.applied("kept", 2).await?;
    world.gone("gone").await?;
    assert_eq!(world.values().await?, [("kept".to_owned(), "2".to_owned())]);
    Ok(())
}

#[tokio::test]
async fn agent_deletes_bundles_that_a_restarted_server_does_not_know() -> Result<()> {
    let world = World::new().await?;
    let _agent = world.agent().await?;
    world.create("old", &json!({ "manifests": [world.map("old", "1")] })).await?;
    world.applied("old", 1).await?;
    let snapshot = world.maestro.snapshot();
    world.create("new", &json!({ "manifests": [world.map("new", "1")] })).await?;
    world.applied("new", 1).await?;
    world.maestro.restart(Some(snapshot));
    await_condition("the later map to be gone", PATIENCE, async || world.expect_maps(&["old"]).await).await
}
