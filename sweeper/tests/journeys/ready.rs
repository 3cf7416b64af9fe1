//! What the readiness probe says of a replica.

use anyhow::{Context as _, Result, ensure};
use lifecycle_e2e::fault::{Fault, When};
use lifecycle_e2e::{PATIENCE, await_condition};
use serde_json::{Value, json};

use crate::program::Sweeper;
use crate::world::{World, lists};

/// The answer of `/readyz`: its status, and its message.
async fn ready(sweeper: &Sweeper) -> Result<(u16, String)> {
    lifecycle_e2e::init();
    let answer = reqwest::get(format!("{}/readyz", sweeper.url("health").await?)).await?;
    let status = answer.status().as_u16();
    let body: Value = answer.json().await?;
    Ok((status, body["message"].as_str().unwrap_or_default().to_owned()))
}

async fn await_ready(sweeper: &Sweeper, status: u16, message: &str) -> Result<()> {
    await_condition(&format!("{status} and {message:?}"), PATIENCE, async || {
        let found = ready(sweeper).await?;
        ensure!(found.0 == status && found.1.contains(message), "{found:?}");
        Ok(())
    })
    .await
}

#[tokio::test(flavor = "multi_thread")]
async fn leader_is_ready_once_a_pass_could_read_and_says_why_it_holds() -> Result<()> {
    let world = World::new().await?;
    world.living("living").await?;
    world.kubernetes.inject(lists(), Fault::Status(403));
    let sweeper = world.sweeper()?.run()?;
    await_ready(&sweeper, 503, "could not be read yet: 1 list(s) of objects could not be read").await?;
    world.kubernetes.heal();
    await_ready(&sweeper, 200, "").await?;
    let id = world.orphan("orphan").await?;
    world.api.remove(&id).await?;
    world.kubernetes.inject(lists(), Fault::Status(403));
    await_ready(&sweeper, 200, "nothing is deleted: ").await?;
    world.kubernetes.heal();
    world.await_names(&["living"]).await?;
    await_condition("the hold to end", PATIENCE, async || {
        let found = ready(&sweeper).await?;
        ensure!(found == (200, String::new()), "{found:?}");
        Ok(())
    })
    .await
}

#[tokio::test(flavor = "multi_thread")]
async fn replica_that_does_not_lead_is_ready_once_it_could_read() -> Result<()> {
    let world = World::new().await?;
    let leader = world.sweeper()?.run()?;
    await_ready(&leader, 200, "").await?;
    let broken = world.sweeper()?.with("api.base_url", format!("{}/elsewhere", world.api.url())).run()?;
    await_ready(&broken, 503, "could not be read yet: the API cannot be trusted").await?;
    let follower = world.sweeper()?.run()?;
    await_ready(&follower, 200, "").await?;
    let sweeper = follower.entries(|entry| entry["message"] == "Term began: this replica leads");
    ensure!(sweeper.is_empty(), "two leaders");
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn replica_without_a_cluster_is_never_ready() -> Result<()> {
    let world = World::new().await?;
    world.kubernetes.inject(When::any(), Fault::Status(401));
    let sweeper = world.sweeper()?.run()?;
    await_ready(&sweeper, 503, "401").await
}

#[tokio::test(flavor = "multi_thread")]
async fn other_installation_that_holds_the_lease_is_warned_of_again_and_again() -> Result<()> {
    let world = World::new().await?;
    let _leader = world.sweeper()?.run()?;
    let annotated = async || {
        let annotations = world.lease().await?.metadata.annotations.unwrap_or_default();
        ensure!(annotations.get("hyperfleet.io/sweep-adapters") == Some(&world.adapter), "{annotations:?}");
        Ok(())
    };
    await_condition("the leader to name its adapters", PATIENCE, annotated).await?;
    let other = world.sweeper()?.with("adapters", json!(["another", "third"])).run()?;
    let is_warning = |entry: &Value| {
        let says = |text: &str| text.contains("held for the adapters") && text.contains("sweep for another,third");
        entry["level"] == "warn" && entry["message"].as_str().is_some_and(says)
    };
    other.await_entries("three warnings", 3, is_warning).await.context("it does not repeat")?;
    await_ready(&other, 200, "give each installation a `lease.name` of its own").await?;
    let same = world.sweeper()?.run()?;
    await_ready(&same, 200, "").await?;
    ensure!(same.entries(is_warning).is_empty());
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn plan_page_tells_the_plan_the_history_and_who_leads() -> Result<()> {
    let world = World::new().await?;
    world.living("living").await?;
    let setup = world.sweeper()?.with("plan", json!({ "anonymous": true }));
    let leader = setup.run()?;
    leader.await_passes(1).await?;
    let follower = setup.run()?;
    let page = async |sweeper: &Sweeper| -> Result<Value> {
        Ok(reqwest::get(format!("{}/plan", sweeper.url("health").await?)).await?.error_for_status()?.json().await?)
    };
    let id = world.orphan("orphan").await?;
    world.api.remove(&id).await?;
    world.await_names(&["living"]).await?;
    await_condition("the deletion on the page", PATIENCE, async || {
        let told = page(&leader).await?;
        let deleted = &told["history"][0];
        ensure!((&deleted["name"], &deleted["result"]) == (&json!("orphan"), &json!("deleted")), "{told}");
        ensure!(told["pass"]["result"] == "done" && told["leads"] == true, "{told}");
        Ok(())
    })
    .await?;
    let holder = page(&leader).await?["holder"].clone();
    await_condition("the follower to name the leader", PATIENCE, async || {
        let told = page(&follower).await?;
        ensure!((&told["leads"], &told["holder"], &told["pass"]) == (&json!(false), &holder, &Value::Null), "{told}");
        Ok(())
    })
    .await
}
