//! DELETE and force-delete, in a tree of resources.

use anyhow::{Result, ensure};
use serde_json::{Value, json};

use crate::world::{Answer, World};

const CLUSTER: [&str; 2] = ["validation", "dns"];

async fn delete(world: &World, path: &str) -> Result<Answer> {
    world.tick();
    world.send("DELETE", path, &Value::Null).await
}

async fn force(world: &World, path: &str) -> Result<Answer> {
    world.send("POST", &format!("{path}/force-delete"), &json!({ "reason": "stuck" })).await
}

#[tokio::test(flavor = "multi_thread")]
async fn deleted_resource_stays_until_every_adapter_is_done() -> Result<()> {
    let world = World::new().await?;
    let (cluster, _) = world.create("clusters", "Cluster", "one").await?;
    for adapter in CLUSTER {
        world.report(&cluster, adapter, "True", "False").await?.expect(201)?;
    }
    let deleted = delete(&world, &cluster).await?.expect(202)?;
    ensure!(deleted["generation"] == 2 && deleted["deleted_by"] == "system@hyperfleet.local", "{deleted}");
    ensure!(deleted["deleted_time"] == deleted["updated_time"], "{deleted}");
    ensure!(deleted["status"]["conditions"][0]["status"] == "False", "no adapter is done: {deleted}");
    ensure!(delete(&world, &cluster).await?.expect(202)? == deleted, "a second request changes nothing");
    world.finalize(&cluster, &["dns"]).await?;
    ensure!(world.get(&cluster).await?.status == 200, "one adapter is missing");
    let mut old = crate::world::report("validation", &json!(1), "False", "True");
    old["observed_time"] = json!(jiff::Timestamp::now() + jiff::SignedDuration::from_secs(world.tick()));
    world.send("PUT", &format!("{cluster}/statuses"), &old).await?.expect(201)?;
    ensure!(world.get(&cluster).await?.status == 200, "that report is about the generation before the deletion");
    world.finalize(&cluster, &["validation"]).await?;
    world.get(&cluster).await?.problem(404, "NTF-001")?;
    world.get(&format!("{cluster}/statuses")).await?.problem(404, "NTF-001")?;
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn resource_that_waits_for_nothing_is_removed_at_once() -> Result<()> {
    let world = World::new().await?;
    let (channel, _) = world.create("channels", "Channel", "stable").await?;
    let deleted = delete(&world, &channel).await?.expect(202)?;
    ensure!(deleted["generation"] == 2 && deleted["deleted_time"].is_string(), "{deleted}");
    world.get(&channel).await?.problem(404, "NTF-001")?;
    delete(&world, &channel).await?.problem(404, "NTF-001")?;
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn live_child_restricts_the_deletion_of_its_parent() -> Result<()> {
    let world = World::new().await?;
    let (channel, before) = world.create("channels", "Channel", "stable").await?;
    let (version, _) = world.create(&format!("{channel}/versions"), "Version", "v1").await?;
    let detail = delete(&world, &channel).await?.problem(409, "CNF-003")?;
    ensure!(detail.contains("1 Version"), "{detail}");
    ensure!(world.get(&channel).await?.body == before, "nothing changed");
    delete(&world, &version).await?.expect(202)?;
    delete(&world, &channel).await?.expect(202)?;
    world.get(&channel).await?.problem(404, "NTF-001")?;
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn cascade_deletes_children_and_the_parent_goes_after_the_last_one() -> Result<()> {
    let world = World::new().await?;
    let (cluster, _) = world.create("clusters", "Cluster", "one").await?;
    let collection = format!("{cluster}/nodepools");
    let (first, _) = world.create(&collection, "NodePool", "first").await?;
    let (second, _) = world.create(&collection, "NodePool", "second").await?;
    delete(&world, &cluster).await?.expect(202)?;
    for path in [&first, &second] {
        let child = world.get(path).await?.body;
        ensure!(child["deleted_time"].is_string() && child["generation"] == 2, "{child}");
    }
    world.finalize(&cluster, &CLUSTER).await?;
    let waits = world.reconciled(&cluster).await?;
    ensure!(waits["status"] == "False" && waits["reason"] == "ReconciledWaitingForChildren", "{waits}");
    world.finalize(&first, &["validation"]).await?;
    world.get(&first).await?.problem(404, "NTF-001")?;
    ensure!(world.get(&cluster).await?.status == 200, "the second node pool is left");
    world.finalize(&second, &["validation"]).await?;
    world.get(&cluster).await?.problem(404, "NTF-001")?;
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn children_that_end_at_the_same_time_take_their_parent_along() -> Result<()> {
    let world = World::new().await?;
    let (cluster, _) = world.create("clusters", "Cluster", "one").await?;
    let mut pools = Vec::new();
    for name in ["a", "b", "c", "d"] {
        pools.push(world.create(&format!("{cluster}/nodepools"), "NodePool", name).await?.0);
    }
    delete(&world, &cluster).await?.expect(202)?;
    world.finalize(&cluster, &CLUSTER).await?;
    let end = |index: usize| world.finalize(&pools[index], &["validation"]);
    tokio::try_join!(end(0), end(1), end(2), end(3))?;
    world.get(&cluster).await?.problem(404, "NTF-001")?;
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn force_delete_removes_a_deleted_resource_with_all_its_descendants() -> Result<()> {
    let world = World::new().await?;
    let (cluster, _) = world.create("clusters", "Cluster", "one").await?;
    let (pool, _) = world.create(&format!("{cluster}/nodepools"), "NodePool", "pool").await?;
    force(&world, &cluster).await?.problem(409, "CNF-003")?;
    delete(&world, &cluster).await?.expect(202)?;
    for reason in ["", &"x".repeat(1025)] {
        let body = json!({ "reason": reason });
        world.send("POST", &format!("{cluster}/force-delete"), &body).await?.problem(400, "VAL-000")?;
    }
    let answer = force(&world, &cluster).await?;
    ensure!(answer.status == 204 && answer.body.is_null(), "{answer:?}");
    for path in [&cluster, &pool] {
        world.get(path).await?.problem(404, "NTF-001")?;
    }
    force(&world, &cluster).await?.problem(404, "NTF-001")?;
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn force_delete_of_the_last_child_removes_a_parent_that_waited_for_it() -> Result<()> {
    let world = World::new().await?;
    let (cluster, _) = world.create("clusters", "Cluster", "one").await?;
    let (pool, _) = world.create(&format!("{cluster}/nodepools"), "NodePool", "pool").await?;
    delete(&world, &cluster).await?.expect(202)?;
    world.finalize(&cluster, &CLUSTER).await?;
    ensure!(force(&world, &pool).await?.status == 204, "the node pool is being deleted");
    world.get(&cluster).await?.problem(404, "NTF-001")?;
    Ok(())
}
