//! Creating, updating, patching and deleting works.

use anyhow::Result;
use lifecycle_objects::write::{Deletion, WriteErrorKind};
use local_maestro::Options;
use serde_json::json;

use crate::world::{CONSUMER, World, kind, target, work};

/// A work as it was sent: only Maestro knows when it stored it.
fn without_age(mut work: serde_json::Value) -> serde_json::Value {
    work.as_object_mut().unwrap().remove("unobserved");
    work
}

#[tokio::test]
async fn acknowledged_writes_return_what_the_next_read_shows() -> Result<()> {
    let world = World::new().await?;
    let mut created = world.client.create(&work("w", "one"), CONSUMER).await?;
    let read = world.read("w").await?;
    // Maestro does not tell these two, nor when it stored the work.
    for key in ["creationTimestamp", "uid"] {
        created["metadata"][key] = read["metadata"][key].clone();
    }
    assert_eq!(created, without_age(read.clone()));
    assert_eq!(read["metadata"]["resourceVersion"], "1");

    let updated = world.client.update(CONSUMER, &work("w", "two"), &target(&read)).await?;
    assert_eq!(updated, without_age(world.read("w").await?));
    assert_eq!(
        (&updated["metadata"]["generation"], &updated["spec"]["workload"]["manifests"][0]["data"]),
        (&json!(2), &json!({"text": "two"}))
    );

    let document = json!({"metadata": {"labels": {"app": null, "tier": "one"}}});
    let patched = world.client.patch(CONSUMER, &document, &target(&updated)).await?;
    let read = world.read("w").await?;
    assert_eq!(patched, Some(without_age(read.clone())));
    assert_eq!((&read["metadata"]["labels"], &read["metadata"]["generation"]), (&json!({"tier": "one"}), &json!(3)));
    Ok(())
}

#[tokio::test]
async fn update_keeps_labels_and_annotations_of_others_and_nothing_else() -> Result<()> {
    let world = World::new().await?;
    let mut first = work("w", "one");
    first["metadata"]["labels"]["theirs"] = json!("kept");
    first["spec"]["deleteOption"] = json!({"propagationPolicy": "Orphan"});
    let live = world.create(&first).await?;
    world.client.update(CONSUMER, &work("w", "two"), &target(&live)).await?;
    let read = world.read("w").await?;
    assert_eq!(read["metadata"]["labels"], json!({"app": "demo", "theirs": "kept"}));
    assert_eq!(read["spec"].get("deleteOption"), None, "the manifest has none any more");
    Ok(())
}

/// An update of a work counts its version up, and hides its status until the agent has reported again.
#[tokio::test]
async fn write_that_changes_nothing_is_not_sent() -> Result<()> {
    let world = World::new().await?;
    let mut desired = work("w", "one");
    desired["spec"]["manifestConfigs"] = json!([{"resourceIdentifier": {"resource": "configmaps", "name": "w"}}]);
    let live = world.create(&desired).await?;
    let published = world.server.published().len();
    assert_eq!(world.client.update(CONSUMER, &desired, &target(&live)).await?, live);
    let document = json!({"metadata": {"labels": {"app": "demo", "gone": null}}});
    assert_eq!(world.client.patch(CONSUMER, &document, &target(&live)).await?, Some(live));
    assert_eq!(world.server.published().len(), published);
    Ok(())
}

#[tokio::test]
async fn update_and_patch_keep_owners() -> Result<()> {
    let world = World::new().await?;
    let owners = json!([{"apiVersion": "v1", "kind": "ConfigMap", "name": "o", "uid": "u"}]);
    let mut owned = work("w", "one");
    owned["metadata"]["ownerReferences"] = owners.clone();
    let live = world.create(&owned).await?;
    let live = world.client.update(CONSUMER, &work("w", "two"), &target(&live)).await?;
    let document = json!({"metadata": {"labels": {"a": "b"}}});
    world.client.patch(CONSUMER, &document, &target(&live)).await?;
    assert_eq!(world.read("w").await?["metadata"]["ownerReferences"], owners);
    Ok(())
}

#[tokio::test]
async fn patch_of_what_is_not_kept_is_refused() -> Result<()> {
    let world = World::new().await?;
    let live = world.create(&work("w", "one")).await?;
    let patched = world.client.patch(CONSUMER, &json!({"status": {}}), &target(&live)).await;
    assert_eq!(kind(patched), WriteErrorKind::Invalid);
    Ok(())
}

#[tokio::test]
async fn name_that_is_taken_is_told_also_while_its_work_is_deleted() -> Result<()> {
    let world = World::new().await?;
    let live = world.create(&work("w", "one")).await?;
    assert_eq!(kind(world.client.create(&work("w", "two"), CONSUMER).await), WriteErrorKind::AlreadyExists);
    world.server.apply(&world.id("w"))?;
    assert!(matches!(world.client.delete(CONSUMER, &target(&live), false).await?, Deletion::Pending(_)));
    assert_eq!(kind(world.client.create(&work("w", "two"), CONSUMER).await), WriteErrorKind::AlreadyExists);
    let terminating = world.read("w").await?;
    assert!(terminating["metadata"]["deletionTimestamp"].is_string(), "{terminating}");
    let update = world.client.update(CONSUMER, &work("w", "two"), &target(&terminating)).await;
    assert_eq!(kind(update), WriteErrorKind::Conflict);

    world.server.finish_delete(&world.id("w"))?;
    assert_eq!(world.client.get(CONSUMER, "w").await?, None);
    assert_eq!(world.client.delete(CONSUMER, &target(&live), false).await?, Deletion::Gone);
    let again = world.client.create(&work("w", "two"), CONSUMER).await?;
    assert_eq!(again["metadata"]["resourceVersion"], "1");
    Ok(())
}

/// Its id and its version are those of the former one.
#[tokio::test]
async fn work_that_was_created_again_is_not_the_one_that_was_read() -> Result<()> {
    let world = World::new().await?;
    world.client.create(&work("w", "one"), CONSUMER).await?;
    world.server.apply(&world.id("w"))?;
    let former = world.read("w").await?;
    world.client.delete(CONSUMER, &target(&former), false).await?;
    world.server.finish_delete(&world.id("w"))?;
    world.client.create(&work("w", "two"), CONSUMER).await?;
    let live = world.read("w").await?;
    assert_eq!(former["metadata"]["resourceVersion"], live["metadata"]["resourceVersion"]);
    assert_ne!(former["metadata"]["uid"], live["metadata"]["uid"]);
    let document = json!({"metadata": {"labels": {"a": "b"}}});
    for keeps_objects in [false, true] {
        let deletion = world.client.delete(CONSUMER, &target(&former), keeps_objects).await;
        assert_eq!(kind(deletion), WriteErrorKind::Conflict);
    }
    assert_eq!(kind(world.client.patch(CONSUMER, &document, &target(&former)).await), WriteErrorKind::Conflict);
    assert_eq!(kind(world.client.update(CONSUMER, &work("w", "x"), &target(&former)).await), WriteErrorKind::Conflict);
    assert_eq!(world.read("w").await?, live);
    Ok(())
}

/// A recreation asks before it deletes: a name that another work holds must not cost the old work.
#[tokio::test]
async fn check_tells_of_a_taken_name_and_creates_nothing() -> Result<()> {
    let world = World::new().await?;
    world.client.check(&work("w", "one"), CONSUMER).await?;
    assert_eq!(world.server.bundles().len(), 0);
    world.client.create(&work("w", "one"), CONSUMER).await?;
    assert_eq!(kind(world.client.check(&work("w", "two"), CONSUMER).await), WriteErrorKind::AlreadyExists);
    let mut unusable = work("w", "two");
    unusable["spec"]["workload"]["manifests"] = json!([]);
    assert_eq!(kind(world.client.check(&unusable, CONSUMER).await), WriteErrorKind::Invalid, "before the name");
    world.server.faults().fail_rest(1);
    assert_eq!(kind(world.client.check(&work("v", "one"), CONSUMER).await), WriteErrorKind::Unavailable);
    Ok(())
}

#[tokio::test]
async fn consumer_that_is_not_registered_is_named() -> Result<()> {
    let world = World::new().await?;
    let error = world.client.create(&work("w", "one"), "nowhere").await.unwrap_err();
    assert_eq!(
        error.to_string(),
        "failed to create ManifestWork nowhere/w: consumer \"nowhere\" is not registered in Maestro"
    );
    Ok(())
}

#[tokio::test]
async fn write_by_an_older_version_is_a_conflict_and_changes_nothing() -> Result<()> {
    let world = World::new().await?;
    let old = world.create(&work("w", "one")).await?;
    world.server.bump_version(&world.id("w"));
    let before = world.server.bundle(&world.id("w")).unwrap();
    let update = world.client.update(CONSUMER, &work("w", "two"), &target(&old)).await;
    assert_eq!(kind(update), WriteErrorKind::Conflict);
    assert_eq!(kind(world.client.patch(CONSUMER, &json!({}), &target(&old)).await), WriteErrorKind::Conflict);
    assert_eq!(kind(world.client.delete(CONSUMER, &target(&old), false).await), WriteErrorKind::Conflict);
    assert_eq!(world.server.bundle(&world.id("w")), Some(before));
    Ok(())
}

/// What a read shows may be older than the last write, where Maestro reads from a replica.
#[tokio::test]
async fn lagging_read_leads_to_a_conflict_and_never_to_a_second_write() -> Result<()> {
    let world = World::new().await?;
    world.server.freeze_reads();
    world.client.create(&work("w", "one"), CONSUMER).await?;
    assert_eq!(world.client.get(CONSUMER, "w").await?, None, "the read lags");
    assert_eq!(kind(world.client.create(&work("w", "one"), CONSUMER).await), WriteErrorKind::AlreadyExists);
    world.server.thaw_reads();
    let live = world.read("w").await?;
    world.server.freeze_reads();
    world.client.patch(CONSUMER, &json!({"metadata": {"labels": {"a": "b"}}}), &target(&live)).await?;
    let again = world.client.patch(CONSUMER, &json!({"metadata": {"labels": {"a": "b"}}}), &target(&live)).await;
    assert_eq!(kind(again), WriteErrorKind::Conflict);
    world.server.thaw_reads();
    assert_eq!(world.read("w").await?["metadata"]["generation"], 2);
    Ok(())
}

#[tokio::test]
async fn lost_acknowledgement_is_unreachable_and_the_next_read_shows_the_write() -> Result<()> {
    let world = World::new().await?;
    world.server.faults().lose_answers(1);
    assert_eq!(kind(world.client.create(&work("w", "one"), CONSUMER).await), WriteErrorKind::Unreachable);
    assert_eq!(world.read("w").await?["metadata"]["generation"], 1);
    world.server.faults().refuse_publish(1);
    assert_eq!(kind(world.client.create(&work("v", "one"), CONSUMER).await), WriteErrorKind::Unavailable);
    assert_eq!(world.client.get(CONSUMER, "v").await?, None);
    world.client.create(&work("v", "one"), CONSUMER).await?;
    Ok(())
}

#[tokio::test]
async fn connection_comes_back_by_itself() -> Result<()> {
    let world = World::new().await?;
    let before = world.create(&work("w", "one")).await?;
    world.server.restart(None);
    // The first call may find the broken connection.
    let patch = json!({"metadata": {"labels": {"a": "b"}}});
    let first = world.client.patch(CONSUMER, &patch, &target(&before)).await;
    let live = world.read("w").await?;
    assert!(first.is_ok() || kind(first) == WriteErrorKind::Unreachable);
    world.client.patch(CONSUMER, &json!({"metadata": {"labels": {"c": "d"}}}), &target(&live)).await?;
    Ok(())
}

#[tokio::test]
async fn database_that_went_back_is_a_conflict() -> Result<()> {
    let world = World::new().await?;
    let first = world.create(&work("w", "one")).await?;
    let old = world.server.snapshot();
    let second =
        world.client.patch(CONSUMER, &json!({"metadata": {"labels": {"a": "b"}}}), &target(&first)).await?.unwrap();
    world.server.restart(Some(old));
    // The first call may find the broken connection.
    let _ = world.client.get(CONSUMER, "w").await;
    assert_eq!(kind(world.client.delete(CONSUMER, &target(&second), false).await), WriteErrorKind::Conflict);
    Ok(())
}

#[tokio::test]
async fn work_that_keeps_its_objects_goes_only_after_its_agent_knows_that() -> Result<()> {
    let world = World::new().await?;
    let id = world.id("w");
    world.client.create(&work("w", "one"), CONSUMER).await?;
    world.server.apply(&id)?;
    let live = world.read("w").await?;
    // First the option is stored, then nothing happens until the agent has reported, then the work is deleted.
    for (step, is_deleted) in [("store", false), ("wait", false), ("delete", true)] {
        let live = if step == "store" { live.clone() } else { world.read("w").await? };
        assert!(matches!(world.client.delete(CONSUMER, &target(&live), true).await?, Deletion::Pending(_)), "{step}");
        assert_eq!(world.server.bundle(&id).unwrap().deleted_at.is_some(), is_deleted, "{step}");
        if step == "wait" {
            world.server.apply(&id)?;
        }
    }
    world.server.finish_delete(&id)?;
    assert_eq!(world.client.get(CONSUMER, "w").await?, None);
    assert_eq!(world.server.spoke_objects(CONSUMER).len(), 1, "the object stays");
    Ok(())
}

#[tokio::test]
async fn work_that_agents_would_drop_is_not_sent() -> Result<()> {
    let world = World::new().await?;
    let mut empty = work("w", "one");
    empty["spec"]["workload"]["manifests"] = json!([]);
    let large = work("w", &"x".repeat(600_000));
    for refused in [empty, large] {
        assert_eq!(kind(world.client.create(&refused, CONSUMER).await), WriteErrorKind::Invalid);
    }
    assert_eq!(world.server.published().len(), 0);
    Ok(())
}

/// The row is stored, and nobody tells the agent: what is sent again tells it, under a new version of the same content.
#[tokio::test]
async fn work_whose_event_was_lost_reaches_the_agent_when_it_is_sent_again() -> Result<()> {
    let world = World::new().await?;
    let id = world.id("w");
    world.server.faults().lose_spec_events(1);
    let live = world.create(&work("w", "one")).await?;
    assert!(!world.server.is_queued(CONSUMER, &id), "the event is lost");
    assert_eq!(live["unobserved"]["since"], live["unobserved"]["sent"]);
    let written = |work: &serde_json::Value| (work["spec"].clone(), work["metadata"]["labels"].clone());

    let mut stored = live.clone();
    stored["spec"]["executor"] = json!({"subject": {"type": "ServiceAccount"}});
    let sent = world.client.resend(CONSUMER, &stored, &target(&live)).await?;
    assert!(world.server.is_queued(CONSUMER, &id));
    let read = world.read("w").await?;
    assert_eq!((written(&read), &read["metadata"]["resourceVersion"]), (written(&live), &json!("2")));
    assert_eq!(
        (&read["metadata"]["annotations"], &sent["metadata"]["generation"]),
        (&live["metadata"]["annotations"], &json!(2))
    );
    let payload = json!(world.server.bundle(&id).unwrap().payload);
    assert_eq!(
        payload["data"]["executer"], stored["spec"]["executor"],
        "Maestro does not show it, and must not lose it"
    );
    assert_eq!(read["unobserved"]["since"], live["unobserved"]["since"], "the first time counts");
    assert_ne!(read["unobserved"]["sent"], live["unobserved"]["sent"]);

    let late = world.client.resend(CONSUMER, &live, &target(&live)).await;
    assert_eq!(kind(late), WriteErrorKind::Conflict);
    world.server.apply(&id)?;
    let observed = world.read("w").await?;
    assert_eq!(observed.get("unobserved"), None);
    // Whoever observed it first: nothing is sent.
    assert_eq!(world.client.resend(CONSUMER, &observed, &target(&observed)).await?, observed);
    Ok(())
}

#[tokio::test]
async fn deletion_whose_event_was_lost_is_sent_again() -> Result<()> {
    let options = Options { consumers: vec![CONSUMER.to_owned()], repeats_deletions: true, ..Options::default() };
    let world = World::with(options).await?;
    let id = world.id("w");
    world.create(&work("w", "one")).await?;
    world.server.apply(&id)?;
    let live = world.read("w").await?;
    world.server.faults().lose_spec_events(1);
    world.client.delete(CONSUMER, &target(&live), false).await?;
    assert!(!world.server.is_queued(CONSUMER, &id), "the event is lost");
    let terminating = world.read("w").await?;
    let deletion = world.client.delete(CONSUMER, &target(&terminating), false).await?;
    assert_eq!(deletion, Deletion::Pending(terminating));
    assert!(world.server.is_queued(CONSUMER, &id));
    Ok(())
}
