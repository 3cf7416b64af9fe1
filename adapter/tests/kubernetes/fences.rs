//! Fences: a write changes an object only if its UID and resource version are those that were read.

use anyhow::{Context, Result, ensure};
use lifecycle_e2e::kube::widgets;
use lifecycle_e2e::{PATIENCE, await_condition, unique};
use lifecycle_objects::destination::Destination;
use lifecycle_objects::write::PropagationPolicy::{Background, Foreground};
use lifecycle_objects::write::UpdateMode::Apply;
use lifecycle_objects::write::{Command, Deletion, Executed, Target, WriteErrorKind};
use lifecycle_transport::Transport;
use serde_json::{Value, json};

use crate::world::{World, namesake, refusal, target, text, unmanaged};

#[tokio::test]
async fn fence_violation_is_a_conflict_for_every_write() -> Result<()> {
    let world = World::new().await?;
    let desired = world.map("fenced", json!({ "a": "1" }));
    let live = world.create(&desired).await?;

    let other = world.transport.update(&desired, &namesake(&live), &unmanaged(), Apply).await;
    assert_eq!(refusal(other)?, (WriteErrorKind::Conflict, Some(422)), "an apply onto a namesake");
    let other = world.transport.delete(&namesake(&live), Background).await;
    assert_eq!(refusal(other)?, (WriteErrorKind::Conflict, Some(409)), "a delete of a namesake");
    assert_eq!(world.read("fenced").await?.as_ref(), Some(&live), "nothing was changed");

    assert_eq!(world.transport.delete(&target(&live), Background).await?, Deletion::Gone);
    assert_eq!(world.transport.delete(&target(&live), Background).await?, Deletion::Gone, "deleted before");
    let vanished = world.transport.update(&desired, &target(&live), &unmanaged(), Apply).await;
    assert_eq!(refusal(vanished)?, (WriteErrorKind::Conflict, Some(409)), "an apply onto a vanished object");
    assert_eq!(world.read("fenced").await?, None, "it was not created again");
    Ok(())
}

#[tokio::test]
async fn update_after_another_write_is_a_conflict() -> Result<()> {
    let world = World::new().await?;
    let live = world.create(&world.map("late", json!({ "a": "1" }))).await?;
    let looked_at = target(&live);
    world.transport.update(&world.map("late", json!({ "a": "2" })), &looked_at, &unmanaged(), Apply).await?;
    let late = world.transport.update(&world.map("late", json!({ "a": "3" })), &looked_at, &unmanaged(), Apply).await;
    assert_eq!(refusal(late)?, (WriteErrorKind::Conflict, Some(409)));
    let live = world.read("late").await?.context("the object")?;
    assert_eq!(live["data"], json!({ "a": "2" }));
    Ok(())
}

#[tokio::test]
async fn deletion_is_gone_at_once_or_pending_for_dependents() -> Result<()> {
    let world = World::new().await?;
    let account = world.create(&world.object("v1", "ServiceAccount", "short", json!({}))).await?;
    assert_eq!(world.transport.delete(&target(&account), Background).await?, Deletion::Gone);

    let owner = world.create(&world.map("owner", json!({}))).await?;
    let mut dependent = world.map("dependent", json!({}));
    let reference = json!({ "apiVersion": "v1", "kind": "ConfigMap", "name": "owner", "uid": target(&owner).uid });
    dependent["metadata"]["ownerReferences"] = json!([reference]);
    world.create(&dependent).await?;
    let deletion = world.transport.delete(&target(&owner), Foreground).await?;
    ensure!(matches!(deletion, Deletion::Pending(_)), "{deletion:?}");
    await_condition("owner and dependent to go", PATIENCE, async || {
        ensure!(world.read("owner").await?.is_none(), "the owner is there");
        ensure!(world.read("dependent").await?.is_none(), "the dependent is there");
        Ok(())
    })
    .await
}

/// Creates one object of each kind that the server deletes in a different way.
async fn create_each_kind(world: &World) -> Result<Vec<Value>> {
    let group = format!("{}.example.com", unique("group"));
    let definition = world.create(&widgets(&group)).await?;
    let widget = world.object(&format!("{group}/v1"), "Widget", "one", json!({ "spec": { "size": 1 } }));
    let widget = await_condition("the kind to be served", PATIENCE, async || Ok(world.create(&widget).await?));
    let mut held = world.map("held", json!({}));
    held["metadata"]["finalizers"] = json!(["example.com/hold"]);
    let pod = json!({ "restartPolicy": "Never", "containers": [{ "name": "main", "image": "none" }] });
    let job = json!({ "spec": { "suspend": true, "template": { "spec": pod } } });
    Ok(vec![
        world.create(&world.map("plain", json!({}))).await?,
        world.create(&held).await?,
        world.create(&world.object("batch/v1", "Job", "suspended", job)).await?,
        world
            .create(&json!({ "apiVersion": "v1", "kind": "Namespace", "metadata": { "name": unique("fenced") } }))
            .await?,
        widget.await?,
        definition,
    ])
}

#[tokio::test]
async fn changed_object_is_neither_patched_nor_deleted_for_each_kind() -> Result<()> {
    let world = World::new().await?.without_lookup_pause().await?;
    let label = |value: Value| json!({ "metadata": { "labels": { "test": value } } });
    for created in create_each_kind(&world).await? {
        let seen = target(&created);
        let kind = &seen.kind.kind;
        let any_version = Target { resource_version: String::new(), ..seen.clone() };
        world.transport.patch(&label(json!("1")), &any_version).await?.context("the object")?;

        let late = world.transport.patch(&label(json!("2")), &seen).await;
        assert_eq!(refusal(late)?, (WriteErrorKind::Conflict, Some(409)), "{kind}: a patch");
        let other = world
            .transport
            .patch(&label(json!("2")), &Target { resource_version: String::new(), ..namesake(&created) })
            .await;
        assert_eq!(refusal(other)?, (WriteErrorKind::Conflict, Some(422)), "{kind}: a patch of a namesake");
        let late = world.transport.delete(&seen, Background).await;
        assert_eq!(refusal(late)?, (WriteErrorKind::Conflict, Some(409)), "{kind}: a deletion");
        let unchanged = world.now(&seen).await?.context("the object")?;
        assert_eq!(text(&unchanged, "/metadata/labels/test"), "1", "{kind}");
        assert_eq!(text(&unchanged, "/metadata/deletionTimestamp"), "", "{kind}");

        // Retry with the current version, because controllers may write in between.
        let deletion = await_condition("the deletion to be accepted", PATIENCE, async || {
            let now = world.now(&seen).await?.context("it was not deleted yet")?;
            Ok(world.transport.delete(&target(&now), Background).await?)
        })
        .await
        .with_context(|| kind.clone())?;
        let Deletion::Pending(pending) = deletion else { continue };

        // The object is terminating, and has another resource version than the target: deleting it again is
        // not a failure.
        let again = world.execute(Command::Delete { targets: vec![seen.clone()], propagation: Background }).await;
        ensure!(matches!(again, Executed::Deleting(_) | Executed::Deleted), "{kind}: {again:?}");
        if pending.pointer("/metadata/finalizers") == Some(&json!(["example.com/hold"])) {
            let without_finalizer = json!({ "metadata": { "finalizers": null } });
            world.transport.patch(&without_finalizer, &any_version).await?.context("the object")?;
            assert_eq!(world.transport.patch(&without_finalizer, &any_version).await?, None, "it is gone");
        }
    }
    Ok(())
}

#[tokio::test]
async fn recreation_of_a_changed_object_deletes_nothing() -> Result<()> {
    let world = World::new().await?;
    let desired = world.map("changed", json!({ "a": "2" }));
    let live = world.create(&world.map("changed", json!({ "a": "1" }))).await?;
    let recreate = |live: &Value| Command::Recreate {
        destination: Destination::ThisCluster,
        desired: desired.clone(),
        targets: vec![target(live)],
    };
    // The write with which another replica disowns the object.
    world.patch_as("other", "changed", json!({ "metadata": { "labels": { "hyperfleet.io/disowned": "c1" } } })).await?;

    let Executed::DeleteFailed { remaining, failures } = world.execute(recreate(&live)).await else {
        anyhow::bail!("the target has an old resource version")
    };
    assert_eq!((remaining.len(), failures[0].1.kind), (0, WriteErrorKind::Conflict));
    let disowned = world.read("changed").await?.context("the object")?;
    assert_eq!(target(&disowned).uid, target(&live).uid);

    let Executed::Recreated(new) = world.execute(recreate(&disowned)).await else {
        anyhow::bail!("no other write came between")
    };
    assert_ne!(target(&new).uid, target(&live).uid);
    Ok(())
}
