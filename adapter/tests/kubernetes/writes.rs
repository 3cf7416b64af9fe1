//! Tests how the adapter creates, updates and recreates objects on a real API server.

use anyhow::{Result, ensure};
use lifecycle_objects::destination::Destination;
use lifecycle_objects::write::{Command, Executed, WriteErrorKind};
use serde_json::json;

use crate::world::{World, refusal, target, text};

#[tokio::test]
async fn dry_run_checks_the_object_before_its_name_and_writes_nothing() -> Result<()> {
    let world = World::new().await?;
    let valid = world.map("dry-run", json!({ "a": "1" }));
    let invalid = world.map("dry-run", json!({ "no key": "1" }));

    world.dry_run_create(&valid).await?;
    assert_eq!(world.read("dry-run").await?, None);
    world.create(&valid).await?;
    let taken = world.dry_run_create(&valid).await;
    assert_eq!(refusal(taken)?, (WriteErrorKind::AlreadyExists, Some(409)));
    let refused = world.dry_run_create(&invalid).await;
    assert_eq!(refusal(refused)?, (WriteErrorKind::Invalid, Some(422)));
    Ok(())
}

#[tokio::test]
async fn refused_recreation_deletes_nothing() -> Result<()> {
    let world = World::new().await?;
    let live = world.create(&world.map("kept", json!({ "a": "1" }))).await?;
    let desired = world.map("kept", json!({ "no key": "1" }));
    let executed = world
        .execute(Command::Recreate { destination: Destination::ThisCluster, desired, targets: vec![target(&live)] })
        .await;
    ensure!(matches!(&executed, Executed::Failed(error) if error.kind == WriteErrorKind::Invalid), "{executed:?}");
    assert_eq!(world.read("kept").await?, Some(live));
    Ok(())
}

#[tokio::test]
async fn recreation_waits_while_a_finalizer_keeps_the_object() -> Result<()> {
    let world = World::new().await?;
    let desired = world.map("held", json!({ "a": "1" }));
    let mut held = desired.clone();
    held["metadata"]["finalizers"] = json!(["example.com/hold"]);
    let live = world.create(&held).await?;
    let recreate = || Command::Recreate {
        destination: Destination::ThisCluster,
        desired: desired.clone(),
        targets: vec![target(&live)],
    };

    let Executed::Deleting(remaining) = world.execute(recreate()).await else { anyhow::bail!("it has a finalizer") };
    assert_eq!(remaining[0].uid(), text(&live, "/metadata/uid"));
    assert!(remaining[0].is_terminating());
    let create =
        world.execute(Command::Create { destination: Destination::ThisCluster, desired: desired.clone() }).await;
    ensure!(
        matches!(&create, Executed::NameTaken(Some(holder)) if target(holder).uid == target(&live).uid),
        "{create:?}"
    );

    world.patch_as("person", "held", json!({ "metadata": { "finalizers": null } })).await?;
    let Executed::Recreated(new) = world.execute(recreate()).await else { anyhow::bail!("the finalizer is removed") };
    assert_ne!(text(&new, "/metadata/uid"), text(&live, "/metadata/uid"));
    Ok(())
}
