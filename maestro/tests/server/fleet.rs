//! Works of all sources and consumers.

use anyhow::Result;
use lifecycle_maestro::{Maestro, Settings};
use lifecycle_objects::write::{Deletion, WriteErrorKind};
use serde_json::json;

use crate::world::{CONSUMER, World, client, kind, settings, target, work};

fn other_source(world: &World) -> Result<Maestro> {
    let settings = settings(world.server.grpc_url(), world.server.rest_url());
    client(Settings { source: "another".to_owned(), ..settings })
}

async fn labelled(client: &Maestro, label: &str) -> Result<Vec<String>> {
    let mut found = Vec::new();
    let place = |work: &serde_json::Value| {
        let text = |key: &str| work["metadata"][key].as_str().unwrap_or_default().to_owned();
        format!("{}/{}", text("namespace"), text("name"))
    };
    client.labelled(label, &mut |work| found.push(place(&work))).await?;
    found.sort();
    Ok(found)
}

#[tokio::test]
async fn label_finds_works_of_every_source_and_consumer() -> Result<()> {
    let world = World::new().await?;
    world.server.register("cluster-b");
    let other = other_source(&world)?;
    world.client.create(&work("w", "one"), CONSUMER).await?;
    other.create(&work("v", "one"), "cluster-b").await?;
    let mut unlabelled = work("u", "one");
    unlabelled["metadata"]["labels"] = json!({"other": "demo"});
    other.create(&unlabelled, CONSUMER).await?;
    assert_eq!(labelled(&world.client, "app").await?, ["cluster-a/w", "cluster-b/v"]);
    let id = other.id("cluster-b", "v");
    world.server.apply(&id)?;
    other.delete("cluster-b", &target(&other.get("cluster-b", "v").await?.unwrap()), false).await?;
    assert_eq!(labelled(&world.client, "app").await?.len(), 2, "also those that are being deleted");
    world.server.finish_delete(&id)?;
    assert_eq!(labelled(&world.client, "app").await?, ["cluster-a/w"]);
    world.server.faults().fail_rest(1);
    assert!(labelled(&world.client, "app").await.is_err());
    Ok(())
}

#[tokio::test]
async fn work_of_another_source_is_deleted_by_its_own_id() -> Result<()> {
    let world = World::new().await?;
    let other = other_source(&world)?;
    let own = world.create(&work("w", "one")).await?;
    other.create(&work("w", "two"), CONSUMER).await?;
    let namesakes = world.client.named(CONSUMER, "w").await?;
    assert_eq!(namesakes.len(), 2);
    let theirs = namesakes.into_iter().find(|work| work["metadata"]["uid"] != own["metadata"]["uid"]).unwrap();
    let deletion = world.client.delete_of_any_source(CONSUMER, &target(&theirs)).await?;
    let Deletion::Pending(live) = deletion else { panic!("the agent has to act first") };
    assert!(live["metadata"]["deletionTimestamp"].is_string());
    let again = world.client.delete_of_any_source(CONSUMER, &target(&theirs)).await?;
    assert!(matches!(again, Deletion::Pending(_)));
    world.server.finish_delete(&other.id(CONSUMER, "w"))?;
    assert_eq!(world.client.named(CONSUMER, "w").await?, [own]);
    let replaced = world.client.delete_of_any_source(CONSUMER, &target(&theirs)).await;
    assert_eq!(kind(replaced), WriteErrorKind::Conflict, "only a namesake is left");
    assert_eq!(world.client.named(CONSUMER, "v").await?.len(), 0);
    Ok(())
}

#[tokio::test]
async fn changed_work_is_not_deleted() -> Result<()> {
    let world = World::new().await?;
    let read = world.create(&work("w", "one")).await?;
    world.client.update(CONSUMER, &work("w", "two"), &target(&read)).await?;
    let deletion = world.client.delete_of_any_source(CONSUMER, &target(&read)).await;
    assert_eq!(kind(deletion), WriteErrorKind::Conflict);
    assert!(world.read("w").await?["metadata"]["deletionTimestamp"].is_null());
    Ok(())
}
