//! Main job: what a force-delete orphaned goes, and nothing else.

use anyhow::{Context as _, Result, ensure};
use lifecycle_e2e::{PATIENCE, await_condition};
use serde_json::{Value, json};

use crate::world::World;

#[tokio::test(flavor = "multi_thread")]
async fn orphans_of_a_force_deleted_cluster_go_after_two_passes() -> Result<()> {
    let world = World::new().await?;
    world.living("living").await?;
    let goes = world.living("orphan").await?;
    world.create(world.config_map("second", &goes)).await?;
    world.create(json!({ "metadata": { "name": "unlabelled" } })).await?;
    world
        .create(json!({ "metadata": { "name": "other", "labels": {
        "hyperfleet.io/adapter": "another", "hyperfleet.io/resource-id": goes } } }))
        .await?;
    let mut sweeper = world.sweeper()?.run()?;
    let pass = sweeper.await_passes(2).await?;
    assert_eq!((&pass["inventory"], &pass["owners"], &pass["orphans"]), (&json!(3), &json!(2), &json!(0)), "{pass}");
    world.assert_names(&["living", "orphan", "second"]).await?;

    world.force_delete(&goes).await?;
    world.await_names(&["living"]).await?;
    // The sweeper counts a deletion after its record and its Event, which follow the end of the object.
    sweeper.await_metric("deletions_total{kind=\"core/ConfigMap\",outcome=\"deleted\"} 2").await?;
    for name in ["unlabelled", "other"] {
        ensure!(world.objects.get_opt(name).await?.is_some(), "{name} was not this adapter's");
    }
    let struck = sweeper.entries(|entry| entry["message"] == "Pass ended" && entry["orphans"] == 2);
    ensure!(struck.first().is_some_and(|pass| pass["due"] == 0), "the first look deletes nothing: {struck:?}");

    let event = world.events("orphan").await?.pop().context("an event")?;
    assert_eq!(event.reason.as_deref(), Some("OrphanDeleted"));
    ensure!(event.message.as_deref().is_some_and(|text| text.contains(&goes)), "{event:?}");
    let records = world.records("orphan")?;
    let [before, after] = records.as_slice() else { anyhow::bail!("{records:?}") };
    assert_eq!(before["action"]["delete"]["manifest"]["data"]["key"], "value");
    assert_eq!((&before["resource_id"], &after["action"]["result"]["outcome"]), (&json!(goes), &json!("deleted")));
    ensure!(!before["gone_since"].is_null(), "{before}");
    assert_eq!(world.records("living")?, Vec::<Value>::new());

    sweeper.await_metric("candidates{kind=\"core/ConfigMap\",verdict=\"owner_exists\"} 1").await?;
    sweeper.await_metric("leader 1").await?;
    sweeper.await_metric("lasting_term 2").await?;

    sweeper.stop().await?;
    let lease = world.lease().await?.spec.context("the spec")?;
    assert_eq!(lease.holder_identity.unwrap_or_default(), "", "the Lease is given back");
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn cluster_that_comes_back_within_the_grace_keeps_its_objects() -> Result<()> {
    let world = World::new().await?;
    let id = world.orphan("object").await?;
    let sweeper = world.sweeper()?.with("grace", "1h").run()?;
    sweeper.await_log("an orphan", |entry| entry["orphans"] == 1).await?;
    world.api.put_cluster(&id, 1).await?;
    sweeper.await_metric("oldest_orphan_age_seconds 0.0").await?;
    sweeper.await_metric("lasting_term 0").await?;
    let pass = sweeper.await_passes(1).await?;
    assert_eq!(pass["orphans"], 0, "{pass}");
    world.assert_names(&["object"]).await
}

#[tokio::test(flavor = "multi_thread")]
async fn deletion_waits_for_a_finalizer_without_asking_again() -> Result<()> {
    let world = World::new().await?;
    let id = world.cluster(1).await?;
    let mut guarded = world.config_map("guarded", &id);
    guarded["metadata"]["finalizers"] = json!(["example.com/guard"]);
    world.create(guarded).await?;
    world.force_delete(&id).await?;
    let sweeper = world.sweeper()?.run()?;
    sweeper.await_metric("deletions_total{kind=\"core/ConfigMap\",outcome=\"terminating\"} 1").await?;
    let pass = sweeper.await_passes(2).await?;
    assert_eq!(pass["due"], 0, "what is terminating is left to Kubernetes: {pass}");
    world.assert_names(&["guarded"]).await?;
    assert_eq!(world.kubernetes.count(&world.request("DELETE", "guarded")), 1);
    let last = world.records("guarded")?.pop().context("a record")?;
    assert_eq!(last["action"]["result"]["outcome"], "terminating");

    world.patch("guarded", &json!({ "metadata": { "finalizers": null } })).await?;
    world.await_names(&[]).await?;
    await_condition("an empty inventory", PATIENCE, async || {
        let pass = sweeper.await_passes(1).await?;
        ensure!(pass["inventory"] == 0, "{pass}");
        Ok(())
    })
    .await?;
    sweeper.await_metric("deletions_total{kind=\"core/ConfigMap\",outcome=\"terminating\"} 1").await
}
