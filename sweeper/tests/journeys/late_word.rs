//! An API or a person that says otherwise while a pass deletes.

use anyhow::{Context as _, Result, ensure};
use futures::future::try_join_all;
use lifecycle_e2e::PATIENCE;
use lifecycle_e2e::fault::{Gate, When};
use serde_json::json;
use tokio::time::timeout;

use crate::world::World;

/// More orphans than can be deleted while one deletion is under way.
const ORPHANS: usize = 8;

async fn orphans(world: &World) -> Result<Vec<String>> {
    world.living("living").await?;
    try_join_all((0..ORPHANS).map(async |number| world.orphan(&format!("orphan-{number}")).await)).await
}

/// Holds the answer to the first deletion of an object.
fn first_deletion(world: &World) -> Gate {
    let namespace = format!("/api/v1/namespaces/{}/configmaps/", world.namespace.name());
    world.kubernetes.hold_answer(When::method("DELETE").and(move |request| request.path.starts_with(&namespace)).nth(1))
}

async fn reached(gate: &Gate) -> Result<()> {
    timeout(PATIENCE, gate.reached()).await.context("nothing is deleted")
}

#[tokio::test(flavor = "multi_thread")]
async fn repaired_api_ends_the_pass_within_what_is_in_flight() -> Result<()> {
    let world = World::new().await?;
    let ids = orphans(&world).await?;
    let gate = first_deletion(&world);
    let sweeper = world.sweeper()?.with("grace", "1ms").with("limits.deletions_at_once", 1).run()?;
    reached(&gate).await?;
    for id in &ids {
        world.api.put_cluster(id, 1).await?;
    }
    gate.release();
    let is_stop = |text: &str| text.contains("Nothing more is deleted in this pass: the API says by now");
    sweeper.await_log("the end of the pass", |entry| entry["message"].as_str().is_some_and(is_stop)).await?;
    sweeper.await_passes(2).await?;
    ensure!(world.names().await?.len() == ORPHANS, "one was in flight: {:?}", world.names().await?);
    sweeper.await_metric("deletions_total{kind=\"core/ConfigMap\",outcome=\"withdrawn\"} 7").await?;
    ensure!(sweeper.entries(|entry| entry["outcome"] == "deleted").len() == 1);
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn approval_that_is_taken_back_ends_the_pass() -> Result<()> {
    let world = World::new().await?;
    orphans(&world).await?;
    let setup = world.sweeper()?.with("grace", "1ms").with("limits.deletions_at_once", 1).with("limits.objects", 1);
    let sweeper = setup.run()?;
    let held = sweeper.await_log("a held plan", |entry| entry["due"] == ORPHANS && entry["plan"].is_string()).await?;
    let gate = first_deletion(&world);
    let approved = world.sweeper()?.output(&["approve", held["plan"].as_str().context("the plan")?]).await?;
    ensure!(approved.status.success(), "{approved:?}");
    reached(&gate).await?;
    world.patch_lease(&json!({ "metadata": { "annotations": { "hyperfleet.io/sweep-approval": null } } })).await?;
    // Two seconds of renewals: what the pass read before does not count any more.
    world.await_lease_requests(10).await?;
    gate.release();
    let is_stop = |text: &str| text.contains("the approval of the plan was taken back, or has expired");
    sweeper.await_log("the end of the pass", |entry| entry["message"].as_str().is_some_and(is_stop)).await?;
    sweeper.await_passes(2).await?;
    ensure!(world.names().await?.len() == ORPHANS, "one was in flight: {:?}", world.names().await?);
    sweeper.await_metric("held{reason=\"too_many_orphans\"} 1").await
}

#[tokio::test(flavor = "multi_thread")]
async fn owner_is_asked_for_once_before_its_objects_go() -> Result<()> {
    let world = World::new().await?;
    world.living("living").await?;
    let id = world.living("orphan-0").await?;
    for number in 1..ORPHANS {
        world.create(world.config_map(&format!("orphan-{number}"), &id)).await?;
    }
    world.force_delete(&id).await?;
    let lookups = || world.api.count(&When::method("GET").path(format!("/api/hyperfleet/v1/resources/{id}")));
    let setup = world.sweeper()?.with("dry_run", true).with("grace", "1ms");
    ensure!(setup.output(&["sweep"]).await?.status.success());
    let of_two_looks = lookups();
    ensure!(setup.with("dry_run", false).output(&["sweep"]).await?.status.success());
    world.await_names(&["living"]).await?;
    let before_deletion = lookups() - 2 * of_two_looks;
    ensure!((1..ORPHANS).contains(&before_deletion), "{before_deletion} look-ups for {ORPHANS} objects");
    Ok(())
}
