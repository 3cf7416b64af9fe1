//! A doubt about the API's memory, and what comes after its leader.

use anyhow::{Context as _, Result, ensure};
use lifecycle_e2e::{PATIENCE, await_condition};
use serde_json::{Value, json};

use crate::program::{Setup, Sweeper};
use crate::world::{CANARY, World};

const DOUBTS: &str = "hyperfleet.io/sweep-doubts";
const HELD: &str = "hyperfleet.io/sweep-held-plan";

fn setup(world: &World) -> Result<Setup> {
    let setup = world.sweeper()?.with("limits.percent", 40).with("grace", "1ms");
    Ok(setup.with("lease.duration", "4s").with("lease.renew_deadline", "2s"))
}

async fn kept_doubts(world: &World) -> Result<Option<String>> {
    Ok(world.lease().await?.metadata.annotations.and_then(|mut annotations| annotations.remove(DOUBTS)))
}

/// How one leader follows another.
#[derive(Debug, Clone, Copy)]
enum Change {
    Killed,
    Stopped,
}

const CHANGES: [Change; 2] = [Change::Killed, Change::Stopped];

/// Ends a leader, and starts another one.
async fn next_leader(world: &World, mut sweeper: Sweeper, change: Change) -> Result<Sweeper> {
    match change {
        Change::Killed => {
            sweeper.signal("KILL").await?;
            sweeper.exit().await?;
        }
        Change::Stopped => sweeper.stop().await?,
    }
    setup(world)?.run()
}

/// Waits until a leader has made two passes, in which it may delete what is due, and returns the last.
async fn two_passes(sweeper: &Sweeper) -> Result<Value> {
    sweeper.await_passes(2).await
}

#[tokio::test(flavor = "multi_thread")]
async fn database_that_lost_everything_and_is_restored_from_an_older_dump_loses_no_object() -> Result<()> {
    for change in CHANGES {
        let world = World::new().await?;
        let newest = world.living("newest").await?;
        let mut old = Vec::new();
        for name in ["a", "b", "c", "d"] {
            old.push(world.living(name).await?);
        }
        let sweeper = setup(&world)?.run()?;
        sweeper.await_passes(1).await?;
        // At once: the first one alone would be within the limits.
        let all: Vec<&str> = old.iter().chain([&newest]).map(String::as_str).chain([CANARY]).collect();
        world.api.remove_all(&all).await?;
        sweeper.await_hold("no_resources").await?;
        let sweeper = next_leader(&world, sweeper, change).await?;
        // The dump lacks the newest cluster, which lives: one orphan of five, within the limits.
        for id in old.iter().map(String::as_str).chain([CANARY]) {
            world.api.put_cluster(id, 1).await?;
        }
        sweeper.await_log("the orphan", |entry| entry["due"] == 1).await?;
        let pass = two_passes(&sweeper).await?;
        assert_eq!((&pass["due"], &pass["result"]), (&json!(1), &json!("held")), "{change:?}: {pass}");
        world.assert_names(&["a", "b", "c", "d", "newest"]).await?;
        let sweeper = next_leader(&world, sweeper, change).await?;
        sweeper.await_hold("no_resources").await?;
        world.assert_names(&["a", "b", "c", "d", "newest"]).await?;

        // The rest of the database comes back, and with it the trust.
        world.api.put_cluster(&newest, 1).await?;
        sweeper.await_metric("held{reason=\"no_resources\"} 0").await?;
        sweeper.await_passes(1).await?;
        assert_eq!(kept_doubts(&world).await?, None, "{change:?}");
        world.force_delete(&newest).await?;
        world.await_names(&["a", "b", "c", "d"]).await?;
    }
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn doubt_of_an_earlier_leader_ends_with_an_approval() -> Result<()> {
    let world = World::new().await?;
    let lost = [world.living("one").await?, world.living("two").await?];
    for name in ["a", "b", "c"] {
        world.living(name).await?;
    }
    for id in &lost {
        world.api.remove(id).await?;
    }
    let strict = setup(&world)?.with("limits.objects", 1).run()?;
    strict.await_hold("too_many_orphans").await?;
    let sweeper = next_leader(&world, strict, Change::Killed).await?;
    let is_held = |entry: &Value| entry["due"] == 2 && entry["plan"].is_string();
    let held = sweeper.await_log("a plan that the raised limit alone does not release", is_held).await?;
    world.assert_names(&["a", "b", "c", "one", "two"]).await?;
    // Who removes the leader's notes ends no doubt: the next pass writes them again.
    world.patch_lease(&json!({ "metadata": { "annotations": { DOUBTS: null, HELD: null } } })).await?;
    await_condition("the doubt to be written again", PATIENCE, async || {
        ensure!(kept_doubts(&world).await?.is_some(), "the Lease has none");
        Ok(())
    })
    .await?;
    let approved = world.sweeper()?.output(&["approve", held["plan"].as_str().context("the plan")?]).await?;
    ensure!(approved.status.success(), "{approved:?}");
    world.await_names(&["a", "b", "c"]).await?;
    sweeper.await_passes(1).await?;
    assert_eq!(kept_doubts(&world).await?, None);
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn damaged_doubt_is_a_doubt() -> Result<()> {
    let world = World::new().await?;
    for name in ["a", "b", "c"] {
        world.living(name).await?;
    }
    world.orphan("orphan").await?;
    world.patch_lease(&json!({ "metadata": { "annotations": { DOUBTS: "[{" } } })).await?;
    let sweeper = setup(&world)?.run()?;
    sweeper.await_hold("unreadable_doubt").await?;
    let pass = two_passes(&sweeper).await?;
    assert_eq!((&pass["due"], &pass["result"]), (&json!(1), &json!("held")), "{pass}");
    world.assert_names(&["a", "b", "c", "orphan"]).await
}
