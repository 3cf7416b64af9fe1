//! From the request of a deletion to the end of the row, and what stays on the cluster.

use anyhow::{Context as _, Result, ensure};
use local_maestro::{DriverError, DropReason, Report, Reported, STATUS_TYPE};
use serde_json::{Value, json};

use crate::world::{
    CONSUMER, SOURCE, World, config_map, create, data, delete, event, next, only_heartbeats, text, update, with_data,
};

#[tokio::test]
async fn deleted_row_stays_readable_until_the_agent_confirms() -> Result<()> {
    let world = World::new().await?;
    let id = world.create().await?;
    world.maestro.apply(&id)?;
    let mut stream = world.subscribe(SOURCE).await?;
    world.publish(delete(&id)).await?;
    let bundle = world.bundle(&id).await?;
    ensure!(bundle["deleted_at"].is_string() && bundle["metadata"]["deletionTimestamp"].is_string(), "{bundle}");
    let list = world.get("resource-bundles").await?.expect(200)?;
    assert_eq!((&list["total"], &list["items"][0]["id"]), (&1.into(), &id.as_str().into()));
    only_heartbeats(&mut stream, 2).await?;

    assert_eq!(world.maestro.finish_delete(&id)?, Reported::Removed);
    let event = next(&mut stream).await?;
    assert_eq!((event.r#type.as_str(), text(&event, "ce-resourceid")), (STATUS_TYPE, Some(id.clone())));
    let metadata: Value = serde_json::from_str(&text(&event, "ce-metadata").context("no metadata")?)?;
    ensure!(metadata["deletionTimestamp"].is_string() && metadata["name"] == format!("work-{id}"), "{metadata}");
    let data = data(&event)?;
    let condition = &data["conditions"][0];
    let seen = ["type", "status", "reason"].map(|member| condition[member].as_str().unwrap_or_default());
    assert_eq!(seen, ["Deleted", "True", "ManifestsDeleted"]);
    assert_eq!(data["manifestBundle"]["manifests"], json!([config_map("first")]));
    let reason = world.get(&format!("resource-bundles/{id}")).await?.error(404, 7)?;
    assert_eq!(reason, format!("ResourceBundle with id='{id}' not found"));
    Ok(())
}

#[tokio::test]
async fn deletion_without_metadata_shows_only_at_the_top() -> Result<()> {
    let world = World::new().await?;
    let id = world.create().await?;
    world.publish(update(&id, 0)).await?;
    world.publish(delete(&id)).await?;
    let bundle = world.bundle(&id).await?;
    ensure!(bundle["deleted_at"].is_string() && bundle["metadata"] == json!({}), "{bundle}");
    Ok(())
}

#[tokio::test]
async fn deletion_succeeds_for_missing_and_deleted_bundles_over_both_interfaces() -> Result<()> {
    let world = World::new().await?;
    let id = world.create().await?;
    for id in [&id, &id, &"missing".to_owned()] {
        world.publish(delete(id)).await?;
        let answer = world.send("DELETE", &format!("resource-bundles/{id}"), &Value::Null).await?;
        assert_eq!(answer.expect(204)?, Value::Null);
    }
    Ok(())
}

#[tokio::test]
async fn repeated_deletion_does_not_move_its_time() -> Result<()> {
    let world = World::new().await?;
    let id = world.create().await?;
    world.publish(delete(&id)).await?;
    let first = world.maestro.bundle(&id);
    world.publish(delete(&id)).await?;
    world.send("DELETE", &format!("resource-bundles/{id}"), &Value::Null).await?.expect(204)?;
    assert_eq!(world.maestro.bundle(&id), first);
    Ok(())
}

#[tokio::test]
async fn recreated_bundle_begins_at_version_one() -> Result<()> {
    let world = World::new().await?;
    let id = world.create().await?;
    world.publish(update(&id, 1)).await?;
    world.send("DELETE", &format!("resource-bundles/{id}"), &Value::Null).await?.expect(204)?;
    world.maestro.finish_delete(&id)?;
    world.publish(create(&id)).await?;
    let bundle = world.bundle(&id).await?;
    assert_eq!((&bundle["version"], bundle.get("status")), (&1.into(), None));
    Ok(())
}

#[tokio::test]
async fn status_of_a_deleting_bundle_is_still_stored_and_sent() -> Result<()> {
    let world = World::new().await?;
    let id = world.create().await?;
    world.maestro.apply(&id)?;
    world.publish(delete(&id)).await?;
    let mut stream = world.subscribe(SOURCE).await?;
    assert_eq!(world.maestro.begin_delete(&id)?, Reported::Stored);
    let kinds = |status: &Value| {
        let conditions = status["conditions"].as_array().into_iter().flatten();
        conditions.map(|condition| condition["type"].as_str().unwrap_or_default().to_owned()).collect::<Vec<_>>()
    };
    let expected = ["Applied", "Available", "Deleting"];
    assert_eq!(kinds(&data(&next(&mut stream).await?)?), expected);
    assert_eq!(kinds(&world.bundle(&id).await?["status"]), expected);
    Ok(())
}

#[tokio::test]
async fn agent_deletes_nothing_that_nobody_deleted() -> Result<()> {
    let world = World::new().await?;
    let id = world.create().await?;
    world.maestro.apply(&id)?;
    assert_eq!(world.maestro.finish_delete(&id), Err(DriverError::NotDeleting));
    let missing = DriverError::NoSuchBundle("missing".to_owned());
    assert_eq!(world.maestro.finish_delete("missing"), Err(missing));
    assert_eq!(world.maestro.spoke_objects(CONSUMER).len(), 1);
    Ok(())
}

#[tokio::test]
async fn object_of_two_bundles_stays_until_the_last_is_deleted() -> Result<()> {
    let world = World::new().await?;
    for id in ["one", "two"] {
        world.publish(with_data(create(id), &bundle(&Value::Null))).await?;
        world.maestro.apply(id)?;
    }
    for (id, left) in [("one", 2), ("two", 0)] {
        world.publish(delete(id)).await?;
        world.maestro.finish_delete(id)?;
        assert_eq!(world.maestro.spoke_objects(CONSUMER).len(), left, "{id}");
    }
    Ok(())
}

#[tokio::test]
async fn report_of_a_deletion_removes_a_row_that_nobody_deleted() -> Result<()> {
    let world = World::new().await?;
    let id = world.create().await?;
    let report = |consumer: &str| Report {
        id: id.clone(),
        consumer: consumer.to_owned(),
        version: 99,
        sequence_id: "0".to_owned(),
        conditions: vec![json!({ "type": "Deleted", "status": "True" })],
        resource_status: Vec::new(),
    };
    assert_eq!(world.maestro.report(report("cluster-b")), Reported::Dropped(DropReason::OtherConsumer));
    assert_eq!(world.maestro.report(report(CONSUMER)), Reported::Removed);
    assert_eq!(world.maestro.bundle(&id), None);
    Ok(())
}

#[tokio::test]
async fn nothing_progresses_while_the_agent_is_offline() -> Result<()> {
    let world = World::new().await?;
    let (id, other) = (world.create().await?, world.create().await?);
    world.maestro.apply(&id)?;
    world.maestro.agent_offline(CONSUMER);
    world.publish(update(&id, 1)).await?;
    world.publish(delete(&other)).await?;
    let offline = Err(DriverError::Offline(CONSUMER.to_owned()));
    assert_eq!((world.maestro.apply(&id), world.maestro.finish_delete(&other)), (offline.clone(), offline));
    world.maestro.agent_online(CONSUMER);
    world.maestro.apply(&id)?;
    assert_eq!(world.bundle(&id).await?["status"]["ObservedVersion"], 2);
    assert_eq!(world.maestro.finish_delete(&other)?, Reported::Removed);
    Ok(())
}

fn names(objects: &[Value]) -> Vec<&str> {
    objects.iter().filter_map(|object| object["metadata"]["name"].as_str()).collect()
}

/// Data with two objects of the kind `ConfigMap`.
fn bundle(option: &Value) -> Value {
    json!({ "manifests": [config_map("a"), config_map("b")], "deleteOption": option })
}

#[tokio::test]
async fn delete_option_decides_what_stays() -> Result<()> {
    let world = World::new().await?;
    let rule = |name: &str| json!({ "group": "", "resource": "configmaps", "name": name, "namespace": "default" });
    let rules = [rule("b"), rule("other")];
    let selective =
        json!({ "propagationPolicy": "SelectivelyOrphan", "selectivelyOrphans": { "orphaningRules": rules } });
    let cases: [(&str, Value, &[&str]); 4] = [
        ("by default", Value::Null, &[]),
        ("in the foreground", json!({ "propagationPolicy": "Foreground" }), &[]),
        ("as an orphan", json!({ "propagationPolicy": "Orphan" }), &["a", "b"]),
        ("selectively", selective, &["b"]),
    ];
    for (name, option, expected) in cases {
        let world_of_case = if expected.is_empty() { &world } else { &World::new().await? };
        world_of_case.publish(with_data(create("one"), &bundle(&option))).await?;
        world_of_case.maestro.apply("one")?;
        assert_eq!(names(&world_of_case.maestro.spoke_objects(CONSUMER)), ["a", "b"], "{name}");
        world_of_case.publish(delete("one")).await?;
        world_of_case.maestro.finish_delete("one")?;
        assert_eq!(names(&world_of_case.maestro.spoke_objects(CONSUMER)), expected, "{name}");
    }
    Ok(())
}

#[tokio::test]
async fn agent_deletes_by_the_spec_that_it_last_received() -> Result<()> {
    let world = World::new().await?;
    world.publish(with_data(create("one"), &bundle(&Value::Null))).await?;
    world.maestro.apply("one")?;
    let orphan = json!({ "propagationPolicy": "Orphan" });
    world.publish(with_data(event("spec.update_request", "one", 1), &bundle(&orphan))).await?;
    world.publish(delete("one")).await?;
    // The update is skipped, because the row is being deleted when the agent would hear of it.
    assert_eq!(world.maestro.apply("one"), Err(DriverError::Deleting));
    world.maestro.finish_delete("one")?;
    assert_eq!(world.maestro.spoke_objects(CONSUMER), Vec::<Value>::new());
    Ok(())
}

#[tokio::test]
async fn update_removes_the_objects_of_dropped_manifests_and_read_only_ones_are_never_written() -> Result<()> {
    let world = World::new().await?;
    world.publish(with_data(create("one"), &bundle(&Value::Null))).await?;
    world.maestro.apply("one")?;
    let resource = json!({ "group": "", "resource": "configmaps", "name": "c", "namespace": "default" });
    let changed = json!({
        "manifests": [config_map("b"), config_map("c")],
        "manifestConfigs": [{ "resourceIdentifier": resource, "updateStrategy": { "type": "ReadOnly" } }],
    });
    world.publish(with_data(event("spec.update_request", "one", 1), &changed)).await?;
    world.maestro.apply("one")?;
    assert_eq!(names(&world.maestro.spoke_objects(CONSUMER)), ["b"]);
    Ok(())
}
