//! PATCH: what raises the generation.

use anyhow::{Result, ensure};
use serde_json::{Value, json};

use crate::world::World;

#[tokio::test(flavor = "multi_thread")]
async fn change_of_spec_or_labels_raises_the_generation() -> Result<()> {
    let world = World::new().await?;
    let (cluster, created) = world.create("clusters", "Cluster", "one").await?;
    for (body, generation, spec, labels) in [
        (json!({ "spec": { "a": 1 } }), 2, json!({ "a": 1 }), Value::Null),
        (json!({ "spec": { "a": 1 } }), 2, json!({ "a": 1 }), Value::Null),
        (json!({ "spec": { "b": 2 } }), 3, json!({ "b": 2 }), Value::Null),
        (json!({ "labels": { "x": "1", "y": "2" } }), 4, json!({ "b": 2 }), json!({ "x": "1", "y": "2" })),
        (json!({ "labels": { "y": "2", "x": "1" } }), 4, json!({ "b": 2 }), json!({ "x": "1", "y": "2" })),
        (json!({ "labels": {} }), 5, json!({ "b": 2 }), Value::Null),
        (json!({ "spec": { "b": 2 }, "labels": {} }), 5, json!({ "b": 2 }), Value::Null),
        (json!({ "references": {} }), 6, json!({ "b": 2 }), Value::Null),
        (json!({ "references": {} }), 7, json!({ "b": 2 }), Value::Null),
    ] {
        let before = world.get(&cluster).await?.body;
        world.tick();
        let after = world.send("PATCH", &cluster, &body).await?.expect(200)?;
        ensure!(after["generation"] == generation && after["spec"] == spec, "{body}: {after}");
        ensure!(after.get("labels").cloned().unwrap_or_default() == labels, "replaced whole: {after}");
        let moved = after["updated_time"] != before["updated_time"];
        ensure!(moved == (after["generation"] != before["generation"]), "{after}");
        ensure!(
            world.get(&cluster).await?.body == after && after["created_time"] == created["created_time"],
            "{after}"
        );
    }
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn change_makes_a_reconciled_resource_unreconciled_at_once() -> Result<()> {
    let world = World::new().await?;
    let (cluster, _) = world.create("clusters", "Cluster", "one").await?;
    for adapter in ["validation", "dns"] {
        world.report(&cluster, adapter, "True", "False").await?.expect(201)?;
    }
    ensure!(world.reconciled(&cluster).await?["status"] == "True", "both adapters are done");
    world.tick();
    let changed = world.send("PATCH", &cluster, &json!({ "spec": { "a": 1 } })).await?.expect(200)?;
    let condition = &changed["status"]["conditions"][0];
    ensure!(condition["status"] == "False" && condition["observed_generation"] == 2, "{condition}");
    ensure!(condition["last_transition_time"] == changed["updated_time"], "{condition}");
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn change_of_anything_else_is_refused() -> Result<()> {
    let world = World::new().await?;
    let (cluster, created) = world.create("clusters", "Cluster", "one").await?;
    world.send("PATCH", &cluster, &json!({})).await?.problem(400, "VAL-005")?;
    for body in [json!({ "name": "two" }), json!({ "spec": {}, "generation": 9 }), json!([])] {
        world.send("PATCH", &cluster, &body).await?.problem(400, "VAL-006")?;
    }
    world.send("PATCH", &cluster, &json!({ "labels": { "a b": "" } })).await?.problem(400, "VAL-000")?;
    world.send("PATCH", "clusters/none", &json!({ "spec": {} })).await?.problem(404, "NTF-001")?;
    ensure!(world.get(&cluster).await?.body == created, "nothing changed");
    world.send("DELETE", &cluster, &Value::Null).await?.expect(202)?;
    world.send("PATCH", &cluster, &json!({ "spec": { "a": 1 } })).await?.problem(409, "CNF-003")?;
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn change_of_an_outdated_copy_is_refused() -> Result<()> {
    let world = World::new().await?;
    let (cluster, _) = world.create("clusters", "Cluster", "one").await?;
    let tag = world.get(&cluster).await?.headers["etag"].to_str()?.to_owned();
    let change = |value: i64| json!({ "spec": { "a": value } });
    let first = world.send_with("PATCH", &cluster, &change(1), &[("if-match", &tag)]).await?;
    ensure!(first.status == 200 && first.headers["etag"] == "\"2\"", "{first:?}");
    let second = world.send_with("PATCH", &cluster, &change(2), &[("if-match", &tag)]).await?;
    second.problem(412, "CNF-003")?;
    world.send_with("PATCH", &cluster, &change(3), &[("if-match", "*")]).await?.expect(200)?;
    world.send_with("PATCH", &cluster, &change(4), &[("if-match", "\"x\"")]).await?.problem(400, "VAL-005")?;
    Ok(())
}
