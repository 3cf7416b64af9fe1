//! Lists that are incomplete: a pass that did not see every object deletes none.

use anyhow::{Context as _, Result, ensure};
use futures::future::try_join_all;
use futures::{StreamExt as _, TryStreamExt as _, stream};
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::Api;
use kube::api::{DeleteParams, PostParams};
use lifecycle_e2e::fault::{Fault, When};
use lifecycle_e2e::kube::widgets;
use lifecycle_e2e::{PATIENCE, await_condition, unique};
use serde_json::json;

use crate::program::Setup;
use crate::world::{World, lists};

/// Checks that nothing is deleted while `fault` breaks the chosen lists, and that the orphan goes afterwards.
async fn heals(world: &World, chosen: When, fault: Fault) -> Result<()> {
    heals_with(world, world.sweeper()?, chosen, fault, "ConfigMap").await
}

/// Checks the same with another setup. The log names what could not be read.
async fn heals_with(world: &World, setup: Setup, chosen: When, fault: Fault, unread: &str) -> Result<()> {
    world.kubernetes.inject(chosen, fault);
    let sweeper = setup.with("grace", "1ms").run()?;
    let hold = sweeper.await_hold("incomplete_inventory").await?;
    ensure!(hold["message"].as_str().is_some_and(|text| text.contains(unread)), "{hold}");
    sweeper.await_passes(2).await?;
    ensure!(world.names().await?.contains("orphan"), "it went");
    sweeper.await_metric("held{reason=\"incomplete_inventory\"} 1").await?;
    assert_eq!(world.kubernetes.count(&When::method("DELETE")), 0);
    world.kubernetes.heal();
    await_condition("the orphan to go", PATIENCE, async || {
        ensure!(!world.names().await?.contains("orphan"), "it is there");
        Ok(())
    })
    .await
}

#[tokio::test(flavor = "multi_thread")]
async fn kind_that_may_not_be_listed_holds_the_pass() -> Result<()> {
    let world = World::new().await?;
    world.living("living").await?;
    world.orphan("orphan").await?;
    heals(&world, lists(), Fault::Status(403)).await?;
    world.assert_names(&["living"]).await
}

#[tokio::test(flavor = "multi_thread")]
async fn group_whose_kinds_cannot_be_read_holds_the_pass() -> Result<()> {
    let cases = [("/apis/batch/v1", "the kinds of batch/v1"), ("/apis", "the groups under /apis")];
    try_join_all(cases.map(async |(path, unread)| {
        let world = World::new().await?;
        world.living("living").await?;
        world.orphan("orphan").await?;
        // The orphan's own kind can be read, and the list of Jobs is not known to exist.
        let setup = world.sweeper()?.with("kinds.include", json!(["core/ConfigMap", "batch/Job"]));
        heals_with(&world, setup, When::method("GET").path(path), Fault::Status(503), unread).await?;
        world.assert_names(&["living"]).await
    }))
    .await?;
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn second_list_that_fails_holds_the_pass() -> Result<()> {
    let world = World::new().await?;
    world.living("living").await?;
    world.orphan("orphan").await?;
    // A pass that finds a cluster gone lists again, and then lists what was disowned.
    let second = lists().query_contains("disowned");
    heals(&world, second, Fault::Status(500)).await?;
    world.assert_names(&["living"]).await
}

#[tokio::test(flavor = "multi_thread")]
async fn list_that_expires_in_the_middle_holds_the_pass() -> Result<()> {
    let world = World::new().await?;
    let id = world.living("living-0").await?;
    world.orphan("orphan").await?;
    // A page has 500 objects.
    let create = |number: usize| world.create(world.config_map(&format!("living-{number}"), &id));
    stream::iter(1..=500).map(create).buffer_unordered(32).try_collect::<Vec<_>>().await?;
    let expires = lists().query_contains("continue=");
    heals(&world, expires, Fault::Status(410)).await?;
    assert_eq!(world.names().await?.len(), 501);
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn custom_kind_that_is_removed_during_a_pass_holds_it() -> Result<()> {
    let world = World::new().await?;
    world.living("living").await?;
    let id = world.orphan("orphan").await?;
    let group = format!("{}.example.com", unique("group"));
    let client = world.control_plane.client().await?;
    let definitions: Api<CustomResourceDefinition> = Api::all(client);
    definitions.create(&PostParams::default(), &serde_json::from_value(widgets(&group))?).await?;
    let custom = world.widget(&group, world.namespace.name(), &id).await?;

    let gate = world.kubernetes.hold(When::method("GET").path(format!("/apis/{group}/v1/widgets")).first(1));
    let kinds = json!(["core/ConfigMap", format!("{group}/*")]);
    let sweeper = world.sweeper()?.with("grace", "1ms").with("kinds.include", kinds).run()?;
    gate.reached().await;
    let name = format!("widgets.{group}");
    definitions.delete(&name, &DeleteParams::default()).await?;
    await_condition("the kind to be removed", PATIENCE, async || {
        ensure!(definitions.get_opt(&name).await?.is_none(), "it is defined");
        ensure!(custom.list(&Default::default()).await.is_err(), "it is served");
        Ok(())
    })
    .await?;
    assert_eq!(world.kubernetes.count(&When::method("DELETE")), 0);
    gate.release();
    let hold = sweeper.await_hold("incomplete_inventory").await?;
    ensure!(hold["message"].as_str().is_some_and(|text| text.contains("Widget")), "{hold}");
    // The next pass is complete, and holds all the same: a pattern of `kinds.include` selects nothing any more.
    let hold = sweeper.await_hold("nothing_selected").await?;
    ensure!(hold["message"].as_str().is_some_and(|text| text.contains(&format!("`{group}/*`"))), "{hold}");
    world.assert_names(&["living", "orphan"]).await?;
    world.objects.get("living").await.context("the living object")?;
    Ok(())
}
