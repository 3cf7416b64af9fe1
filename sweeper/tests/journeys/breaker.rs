//! The circuit breaker: an API that lost its data, or went back in time, and a person who says go.

use anyhow::{Context as _, Result, ensure};
use k8s_openapi::api::core::v1::Namespace;
use lifecycle_e2e::fault::{Fault, When};
use serde_json::{Value, json};

use crate::program::{Setup, Sweeper};
use crate::world::{CANARY, World};

/// A sweeper that deletes at most 40 % of the objects in one pass: none of two, and one of four.
fn breaker(world: &World) -> Result<Setup> {
    Ok(world.sweeper()?.with("limits.percent", 40).with("grace", "1ms"))
}

/// Two objects of clusters that exist.
async fn two_living(world: &World) -> Result<[String; 2]> {
    Ok([world.living("one").await?, world.living("other").await?])
}

/// Waits until the leader holds a plan with so many objects, and returns the plan's hash.
async fn held_plan(sweeper: &Sweeper, due: u64) -> Result<String> {
    let is_held = |entry: &Value| entry["due"] == due && entry["plan"].is_string();
    let entry = sweeper.await_log("a plan that can be approved", is_held).await?;
    Ok(entry["plan"].as_str().context("the hash")?.to_owned())
}

/// Asks to approve a plan that the leader does not hold, and expects the refusal.
async fn approval_is_refused(world: &World, plan: &str, why: &str) -> Result<()> {
    let refused = world.sweeper()?.output(&["approve", plan]).await?;
    let error = String::from_utf8(refused.stderr)?;
    ensure!(refused.status.code() == Some(1) && error.contains(why), "{error}");
    Ok(())
}

/// Approves a plan, and waits until the leader has read the Lease and a pass has begun and ended after that.
async fn approve(world: &World, sweeper: &Sweeper, arguments: &[&str]) -> Result<()> {
    let approved = world.sweeper()?.output(&[&["approve"], arguments].concat()).await?;
    ensure!(approved.status.success(), "{approved:?}");
    let client = world.control_plane.client().await?;
    let system = kube::Api::<Namespace>::all(client).get("kube-system").await?;
    let cluster = system.metadata.uid.context("the UID")?;
    let said = String::from_utf8(approved.stderr)?;
    ensure!(said.starts_with("cluster http") && said.contains(&cluster), "it says first where it acts: {said}");
    world.await_lease_requests(2).await?;
    sweeper.await_passes(1).await?;
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn api_that_lost_everything_is_held_until_a_person_approves_the_plan() -> Result<()> {
    let world = World::new().await?;
    let lost = two_living(&world).await?;
    let mut sweeper = breaker(&world)?.run()?;
    sweeper.await_passes(1).await?;
    for id in &lost {
        world.api.remove(id).await?;
    }
    let plan = held_plan(&sweeper, 2).await?;
    let hold = sweeper.entries(|entry| entry["reason"] == "too_many_orphans").pop().context("the reason")?;
    ensure!(hold["message"].as_str().is_some_and(|text| text.contains("2 of 2 objects are orphans")), "{hold}");
    sweeper.await_metric("held{reason=\"too_many_orphans\"} 1").await?;

    let wrong = if plan.starts_with('0') { plan.replacen('0', "1", 1) } else { format!("0{}", &plan[1..]) };
    approval_is_refused(&world, &wrong, &format!("the leader does not hold {wrong}, but {plan}")).await?;
    world.assert_names(&["one", "other"]).await?;
    approve(&world, &sweeper, &[&plan, "--for", "1ns"]).await?;
    world.assert_names(&["one", "other"]).await?;

    approve(&world, &sweeper, &[&plan]).await?;
    world.await_names(&[]).await?;
    sweeper.await_metric("deletions_total{kind=\"core/ConfigMap\",outcome=\"deleted\"} 2").await?;
    ensure!(world.records("one")?.iter().all(|record| record["plan"] == *plan), "{:?}", world.records("one")?);

    approval_is_refused(&world, &plan, "the leader holds no plan").await?;
    // The approval lasts for an hour, and covers no other list.
    world.orphan("late").await?;
    held_plan(&sweeper, 1).await?;
    sweeper.await_passes(2).await?;
    world.assert_names(&["late"]).await?;
    sweeper.stop().await
}

#[tokio::test(flavor = "multi_thread")]
async fn approved_plan_that_grew_is_held_again() -> Result<()> {
    let world = World::new().await?;
    let lost = two_living(&world).await?;
    world.living("third").await?;
    world.api.remove(&lost[0]).await?;
    world.api.remove(&lost[1]).await?;
    let sweeper = breaker(&world)?.run()?;
    let plan = held_plan(&sweeper, 2).await?;
    world.orphan("grown").await?;
    let grown = held_plan(&sweeper, 3).await?;
    approval_is_refused(&world, &plan, &format!("but {grown}")).await?;
    sweeper.await_passes(1).await?;
    world.assert_names(&["grown", "one", "other", "third"]).await
}

#[tokio::test(flavor = "multi_thread")]
async fn api_without_any_resource_cannot_be_approved() -> Result<()> {
    let world = World::new().await?;
    let lost = two_living(&world).await?;
    for id in lost.iter().map(String::as_str).chain([CANARY]) {
        world.api.remove(id).await?;
    }
    let sweeper = world.sweeper()?.with("grace", "1ms").run()?;
    sweeper.await_hold("no_resources").await?;
    let pass = sweeper.await_passes(2).await?;
    assert_eq!((&pass["orphans"], &pass["due"]), (&json!(0), &json!(0)), "{pass}");
    ensure!(sweeper.entries(|entry| entry["plan"].is_string()).is_empty(), "no plan is offered for approval");
    world.assert_names(&["one", "other"]).await
}

#[tokio::test(flavor = "multi_thread")]
async fn api_restored_from_a_backup_is_held_until_it_has_caught_up() -> Result<()> {
    let world = World::new().await?;
    let [old, missing] = two_living(&world).await?;
    let generation = json!({ "metadata": { "annotations": { "hyperfleet.io/generation": "5" } } });
    world.patch("one", &generation).await?;
    // The backup has an older generation of one cluster, and lacks the other, which was made later and lives.
    world.api.remove(&missing).await?;
    let sweeper = world.sweeper()?.with("grace", "1ms").run()?;
    let hold = sweeper.await_hold("api_went_back").await?;
    ensure!(hold["message"].as_str().is_some_and(|text| text.contains(&old)), "{hold}");
    sweeper.await_metric("held{reason=\"api_went_back\"} 1").await?;
    let pass = sweeper.await_passes(2).await?;
    assert_eq!((&pass["due"], &pass["result"]), (&json!(1), &json!("held")), "{pass}");
    // The evidence does not lapse while the one cluster that gives it does not answer.
    world.api.inject(When::any().query_contains("search="), Fault::Status(403));
    world.api.inject(When::any().path_ends(format!("/resources/{old}")), Fault::Status(403));
    let pass = sweeper.await_passes(1).await?;
    assert_eq!((&pass["due"], &pass["result"]), (&json!(1), &json!("held")), "{pass}");
    world.assert_names(&["one", "other"]).await?;

    // The lost data are brought back.
    world.api.put_cluster(&missing, 1).await?;
    world.api.put_cluster(&old, 5).await?;
    world.api.heal();
    sweeper.await_metric("held{reason=\"api_went_back\"} 0").await?;
    sweeper.await_passes(2).await?;
    world.assert_names(&["one", "other"]).await
}

#[tokio::test(flavor = "multi_thread")]
async fn database_that_is_restored_step_by_step_loses_no_object() -> Result<()> {
    let world = World::new().await?;
    let [first, second] = two_living(&world).await?;
    world.living("third").await?;
    world.living("untouched").await?;
    let sweeper = breaker(&world)?.run()?;
    sweeper.await_passes(1).await?;
    // At once: the first one alone would be within the limits.
    world.api.remove_all(&[&first, &second]).await?;
    held_plan(&sweeper, 2).await?;
    // The only orphan that is left would be within the limits.
    world.api.put_cluster(&first, 1).await?;
    sweeper.await_metric("candidates{kind=\"core/ConfigMap\",verdict=\"delete\"} 1").await?;
    let pass = sweeper.await_passes(2).await?;
    assert_eq!((&pass["due"], &pass["result"]), (&json!(1), &json!("held")), "{pass}");
    world.assert_names(&["one", "other", "third", "untouched"]).await?;

    world.api.put_cluster(&second, 1).await?;
    sweeper.await_metric("held{reason=\"too_many_orphans\"} 0").await?;
    world.assert_names(&["one", "other", "third", "untouched"]).await?;
    world.force_delete(&first).await?;
    world.await_names(&["other", "third", "untouched"]).await
}

/// A living object, and two orphans.
async fn two_orphans() -> Result<World> {
    let world = World::new().await?;
    world.living("living").await?;
    world.orphan("one").await?;
    world.orphan("other").await?;
    Ok(world)
}

#[tokio::test(flavor = "multi_thread")]
async fn orphans_up_to_both_limits_go() -> Result<()> {
    let world = two_orphans().await?;
    let sweep = world.sweeper()?.with("limits.objects", 2).with("limits.percent", 67).output(&["sweep"]).await?;
    assert_eq!(sweep.status.code(), Some(0), "{sweep:?}");
    world.assert_names(&["living"]).await
}

#[tokio::test(flavor = "multi_thread")]
async fn raised_limit_lets_the_orphans_go_once_a_person_has_ended_the_doubt() -> Result<()> {
    let world = two_orphans().await?;
    for (key, limit) in [("limits.objects", 1), ("limits.percent", 66), ("limits.objects", 2)] {
        let held = world.sweeper()?.with(key, limit).output(&["sweep"]).await?;
        assert_eq!(held.status.code(), Some(3), "{key}: {held:?}");
        world.assert_names(&["living", "one", "other"]).await?;
    }
    let raised = world.sweeper()?.with("limits.objects", 2);
    let held = String::from_utf8(raised.output(&["sweep"]).await?.stdout)?;
    let (_, plan) = held.trim().rsplit_once("sweeper approve ").context("a plan that can be approved")?;
    let approved = raised.output(&["approve", plan]).await?;
    ensure!(approved.status.success(), "{approved:?}");
    let sweep = raised.output(&["sweep"]).await?;
    assert_eq!(sweep.status.code(), Some(0), "{sweep:?}");
    world.assert_names(&["living"]).await
}

#[tokio::test(flavor = "multi_thread")]
async fn malformed_approval_is_logged_with_the_term_and_releases_nothing() -> Result<()> {
    let world = World::new().await?;
    world.orphan("orphan").await?;
    world.patch_lease(&json!({ "metadata": { "annotations": { "hyperfleet.io/sweep-approval": "yes" } } })).await?;
    let sweeper = world.sweeper()?.with("limits.objects", 0).with("grace", "1ms").run()?;
    held_plan(&sweeper, 1).await?;
    let warnings =
        sweeper.entries(|entry| entry["message"].as_str().is_some_and(|text| text.contains("is no approval")));
    ensure!(!warnings.is_empty() && warnings.iter().all(|warning| warning["term"] == 2), "{warnings:?}");
    world.assert_names(&["orphan"]).await
}
