//! Consumers over REST.

use anyhow::{Context as _, Result, ensure};
use serde_json::{Value, json};

use crate::world::{World, create, delete, with};
use lifecycle_proto::cloud_event_attribute_value::Attr;

#[tokio::test]
async fn consumer_is_registered_found_labelled_and_removed() -> Result<()> {
    let world = World::new().await?;
    let body = json!({ "name": "cluster-c", "labels": { "a": "b" } });
    let created = world.send("POST", "consumers", &body).await?.expect(201)?;
    let path = format!("consumers/{}", created["id"].as_str().context("no id")?);
    assert_eq!((&created["kind"], &created["name"]), (&"Consumer".into(), &"cluster-c".into()));
    assert_eq!(created["href"], format!("/api/maestro/v1/{path}"));
    world.send("POST", "consumers", &body).await?.error(409, 6)?;
    let found = world.search("consumers", "name='cluster-c'").await?.expect(200)?;
    assert_eq!((&found["kind"], &found["items"]), (&"ConsumerList".into(), &json!([created])));

    world.publish(with(create("b"), "ce-clustername", Attr::CeString("cluster-c".to_owned()))).await?;
    let changed = world.send("PATCH", &path, &json!({ "labels": { "c": "d" }, "name": "other" })).await?.expect(200)?;
    assert_eq!((&changed["labels"], &changed["name"]), (&json!({ "c": "d" }), &"cluster-c".into()));

    // Its bundles keep a consumer, also while they are being deleted.
    world.send("DELETE", &path, &Value::Null).await?.error(403, 4)?;
    world.publish(delete("b")).await?;
    world.send("DELETE", &path, &Value::Null).await?.error(403, 4)?;
    world.maestro.finish_delete("b")?;
    world.send("DELETE", &path, &Value::Null).await?.expect(204)?;
    world.get(&path).await?.error(404, 7)?;
    world.send("DELETE", &path, &Value::Null).await?.error(404, 7)?;
    Ok(())
}

#[tokio::test]
async fn bad_consumers_are_refused() -> Result<()> {
    let world = World::new().await?;
    world.send("POST", "consumers", &json!({ "name": "Not_One" })).await?.error(500, 9)?;
    world.send("POST", "consumers", &json!({ "name": "a", "id": "b" })).await?.error(400, 8)?;
    let answer = world.send("POST", "consumers", &json!("text")).await?;
    ensure!(answer.error(400, 17)?.contains("body"), "{answer:?}");
    Ok(())
}
