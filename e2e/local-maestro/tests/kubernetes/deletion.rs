//! What the agent deletes, and when it confirms.

use anyhow::Result;
use kube::api::{Patch, PatchParams};
use lifecycle_e2e::{PATIENCE, await_condition};
use serde_json::{Value, json};

use crate::world::{World, condition};

/// Data with two maps.
fn bundle(world: &World, option: &Value) -> Value {
    json!({ "manifests": [world.map("one", "1"), world.map("two", "2")], "deleteOption": option })
}

#[tokio::test]
async fn delete_option_decides_which_objects_go_before_the_row() -> Result<()> {
    let world = World::new().await?;
    let _agent = world.agent().await?;
    let rules = json!({ "orphaningRules": [world.identifier("two")] });
    let cases: [(Value, &[&str]); 4] = [
        (Value::Null, &[]),
        (json!({ "propagationPolicy": "Foreground" }), &[]),
        (json!({ "propagationPolicy": "SelectivelyOrphan", "selectivelyOrphans": rules }), &["two"]),
        (json!({ "propagationPolicy": "Orphan" }), &["one", "two"]),
    ];
    for (index, (option, left)) in cases.iter().enumerate() {
        let id = format!("b{index}");
        world.create(&id, &bundle(&world, option)).await?;
        world.applied(&id, 1).await?;
        world.expect_maps(&["one", "two"]).await?;
        world.delete(&id).await?;
        world.gone(&id).await?;
        world.expect_maps(left).await?;
    }
    Ok(())
}

#[tokio::test]
async fn update_right_before_a_deletion_never_reaches_the_agent() -> Result<()> {
    let world = World::new().await?;
    let agent = world.agent().await?;
    world.create("b", &bundle(&world, &Value::Null)).await?;
    world.applied("b", 1).await?;
    agent.hold(true);
    world.update("b", &bundle(&world, &json!({ "propagationPolicy": "Orphan" }))).await?;
    world.delete("b").await?;
    agent.hold(false);
    world.gone("b").await?;
    world.expect_maps(&[]).await
}

#[tokio::test]
async fn update_that_the_agent_applied_before_the_deletion_counts() -> Result<()> {
    let world = World::new().await?;
    let _agent = world.agent().await?;
    world.create("b", &bundle(&world, &Value::Null)).await?;
    world.applied("b", 1).await?;
    world.update("b", &bundle(&world, &json!({ "propagationPolicy": "Orphan" }))).await?;
    world.applied("b", 2).await?;
    world.delete("b").await?;
    world.gone("b").await?;
    world.expect_maps(&["one", "two"]).await
}

#[tokio::test]
async fn row_stays_until_the_last_object_is_gone() -> Result<()> {
    let world = World::new().await?;
    let _agent = world.agent().await?;
    let mut held = world.map("one", "1");
    held["metadata"]["finalizers"] = json!(["example.com/held"]);
    world.create("b", &json!({ "manifests": [held, world.map("two", "2")] })).await?;
    world.applied("b", 1).await?;
    world.delete("b").await?;
    let deleting = |bundle: &local_maestro::Bundle| condition(bundle, "Deleting") == Some((true, 1));
    world.bundle("the agent to report the deletion", "b", deleting).await?;
    await_condition("the other map to be gone", PATIENCE, async || world.expect_maps(&["one"]).await).await?;
    let release = Patch::Merge(json!({ "metadata": { "finalizers": null } }));
    world.maps.patch("one", &PatchParams::default(), &release).await?;
    world.gone("b").await?;
    world.expect_maps(&[]).await
}

#[tokio::test]
async fn deletion_of_a_bundle_that_the_agent_never_had_is_confirmed() -> Result<()> {
    let world = World::new().await?;
    let agent = world.agent().await?;
    agent.hold(true);
    world.create("b", &bundle(&world, &Value::Null)).await?;
    world.delete("b").await?;
    agent.hold(false);
    world.gone("b").await?;
    world.expect_maps(&[]).await
}

#[tokio::test]
async fn next_agent_deletes_what_the_crashed_one_applied() -> Result<()> {
    let world = World::new().await?;
    let agent = world.agent().await?;
    world.create("b", &bundle(&world, &Value::Null)).await?;
    world.applied("b", 1).await?;
    drop(agent);
    world.delete("b").await?;
    let _agent = world.agent().await?;
    world.gone("b").await?;
    world.expect_maps(&[]).await
}
