//! Tests how the adapter creates, updates and recreates objects on a real API server.

use anyhow::{Context, Result, ensure};
use lifecycle_objects::destination::Destination;
use lifecycle_objects::write::{Command, Executed, UpdateMode, WriteErrorKind};
use lifecycle_transport::Transport;
use serde_json::json;

use crate::world::{World, refusal, seen, target, text};

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

#[tokio::test]
async fn text_that_is_no_base64_is_invalid_however_it_is_written_and_quotes_no_other_value() -> Result<()> {
    let world = World::new().await?;
    let secret = |name: &str, value: &str| {
        world.object("v1", "Secret", name, json!({ "data": { "a": value, "other": "c2VjcmV0" } }))
    };
    let live = world.create(&secret("encoded", "eA==")).await?;
    let plain = secret("encoded", "plain text");
    let created = world.create(&secret("plain", "plain text")).await.map(drop);
    let applied = world.transport.update(&plain, &target(&live), &seen(&live), UpdateMode::Apply).await.map(drop);
    let replaced = world.transport.update(&plain, &target(&live), &seen(&live), UpdateMode::Replace).await.map(drop);
    let patched = world.transport.patch(&json!({ "data": { "a": "plain text" } }), &target(&live)).await.map(drop);
    for (name, answer, status) in
        [("create", created, 400), ("apply", applied, 500), ("replace", replaced, 400), ("patch", patched, 422)]
    {
        let error = answer.err().with_context(|| format!("{name} should have been refused"))?;
        ensure!((error.kind, error.status) == (WriteErrorKind::Invalid, Some(status)), "{name}: {error:?}");
        ensure!(error.cure().contains("`stringData`") && !error.message.contains("c2VjcmV0"), "{name}: {error:?}");
    }
    Ok(())
}

#[tokio::test]
async fn quantity_that_is_none_is_invalid_in_an_apply() -> Result<()> {
    let world = World::new().await?;
    let claim = |size: &str| {
        let spec = json!({ "accessModes": ["ReadWriteOnce"], "resources": { "requests": { "storage": size } } });
        world.object("v1", "PersistentVolumeClaim", "data", json!({ "spec": spec }))
    };
    let live = world.create(&claim("1Gi")).await?;
    let applied = world.transport.update(&claim("much"), &target(&live), &seen(&live), UpdateMode::Apply).await;
    let error = applied.err().context("the apply should have been refused")?;
    ensure!((error.kind, error.status) == (WriteErrorKind::Invalid, Some(500)), "{error:?}");
    Ok(())
}
