//! Creations, updates and recreations.

use anyhow::{Result, ensure};
use lifecycle_core::destination::Destination;
use lifecycle_core::write::{Command, Executed, WriteErrorKind};
use serde_json::json;

use crate::world::{World, refusal, target, text};

#[tokio::test]
async fn dry_run_judges_the_object_before_its_name_and_writes_nothing() -> Result<()> {
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
async fn a_recreation_that_the_server_would_refuse_deletes_nothing() -> Result<()> {
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
async fn an_object_with_a_finalizer_is_pending_and_its_recreation_waits() -> Result<()> {
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
    let Executed::Recreated(new) = world.execute(recreate()).await else { anyhow::bail!("nothing holds it any more") };
    assert_ne!(text(&new, "/metadata/uid"), text(&live, "/metadata/uid"));
    Ok(())
}
