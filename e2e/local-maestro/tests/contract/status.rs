//! Streams, status events, and the resync of statuses.

use anyhow::{Context as _, Result, ensure};
use lifecycle_e2e::{PATIENCE, await_condition};
use lifecycle_proto::SubscriptionRequest;
use lifecycle_proto::cloud_event_attribute_value::Attr;
use local_maestro::{DriverError, DropReason, HEARTBEAT_TYPE, Report, Reported, STATUS_TYPE};
use serde_json::{Value, json};

use crate::world::{
    CONSUMER, SOURCE, World, create, data, delete, event, next, only_heartbeats, text, update, with, with_data, without,
};

fn conditions(status: &Value) -> Vec<(String, String, i64)> {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let conditions = status["conditions"].as_array().into_iter().flatten();
    let known = conditions.map(|condition| {
        let version = condition["observedGeneration"].as_i64().unwrap_or_default();
        (text(&condition["type"]), text(&condition["status"]), version)
    });
    known.collect()
}

#[tokio::test]
async fn stream_begins_with_a_header_and_has_no_backlog() -> Result<()> {
    let world = World::new().await?;
    let id = world.create().await?;
    world.maestro.apply(&id)?;
    let request = SubscriptionRequest { source: SOURCE.to_owned(), ..SubscriptionRequest::default() };
    let response = world.grpc.clone().subscribe(request).await?;
    let ids: Vec<_> = response.metadata().get_all("subscription-id").iter().collect();
    ensure!(ids.len() == 1 && ids[0].to_str()?.len() == 36, "{ids:?}");
    only_heartbeats(&mut response.into_inner(), 3).await
}

#[tokio::test]
async fn heartbeat_has_an_id_and_neither_source_nor_attributes() -> Result<()> {
    let world = World::new().await?;
    let mut stream = world.subscribe("nobody").await?;
    let beat = stream.message().await?.context("the stream has ended")?;
    ensure!(beat.r#type == HEARTBEAT_TYPE && beat.spec_version == "1.0" && beat.id.len() == 36, "{beat:?}");
    ensure!(beat.source.is_empty() && beat.attributes.is_empty() && beat.data.is_none(), "{beat:?}");
    Ok(())
}

#[tokio::test]
async fn applied_bundle_has_a_status_in_rest_and_on_the_stream() -> Result<()> {
    let world = World::new().await?;
    let mut stream = world.subscribe(SOURCE).await?;
    world.publish(with(create("b"), "ce-logtracing", Attr::CeString("{\"a\":\"b\"}".to_owned()))).await?;
    assert_eq!(world.maestro.apply("b")?, Reported::Stored);
    let expected = ["Applied", "Available"].map(|kind| (kind.to_owned(), "True".to_owned(), 1));
    let status = world.bundle("b").await?["status"].clone();
    assert_eq!((&status["ObservedVersion"], conditions(&status)), (&1.into(), expected.to_vec()));
    let manifest = &status["resourceStatus"][0];
    let meta = json!({ "ordinal": 0, "group": "", "version": "v1", "kind": "ConfigMap", "resource": "configmaps",
        "name": "first", "namespace": "default" });
    assert_eq!((&manifest["resourceMeta"], &manifest["statusFeedback"]), (&meta, &json!({})));
    assert_eq!(manifest["conditions"][0].get("observedGeneration"), None);

    let event = next(&mut stream).await?;
    assert_eq!((event.r#type.as_str(), event.source.as_str()), (STATUS_TYPE, "cluster-a-work-agent"));
    let attributes = ["contenttype", "ce-resourceid", "ce-clustername", "ce-originalsource", "ce-logtracing"];
    let values = ["application/json", "b", CONSUMER, "maestro", "{\"a\":\"b\"}"];
    assert_eq!(attributes.map(|name| text(&event, name)), values.map(|value| Some(value.to_owned())));
    assert_eq!(event.attributes["ce-resourceversion"].attr, Some(Attr::CeInteger(1)));
    assert_eq!(text(&event, "ce-sequenceid").as_deref(), status["SequenceID"].as_str());
    ensure!(text(&event, "ce-statushash").is_some_and(|hash| hash.len() == 64), "{event:?}");
    let metadata: Value = serde_json::from_str(&text(&event, "ce-metadata").context("no metadata")?)?;
    ensure!(metadata["name"] == "work-b" && metadata["creationTimestamp"].is_string(), "{metadata}");
    let data = data(&event)?;
    assert_eq!(data["manifestBundle"]["manifests"][0]["metadata"]["name"], "first");
    assert_eq!(conditions(&data), expected.to_vec());
    Ok(())
}

#[tokio::test]
async fn status_stays_the_previous_one_until_the_agent_has_the_update() -> Result<()> {
    let world = World::new().await?;
    let id = world.create().await?;
    world.maestro.apply(&id)?;
    world.publish(update(&id, 1)).await?;
    let bundle = world.bundle(&id).await?;
    assert_eq!((&bundle["version"], &bundle["status"]["ObservedVersion"]), (&2.into(), &1.into()));
    world.maestro.apply(&id)?;
    let bundle = world.bundle(&id).await?;
    assert_eq!((&bundle["status"]["ObservedVersion"], conditions(&bundle["status"])[0].2), (&2.into(), 2));
    Ok(())
}

#[tokio::test]
async fn reports_of_other_versions_or_without_newer_sequence_are_dropped() -> Result<()> {
    let world = World::new().await?;
    let id = world.create().await?;
    let (early, late) = (world.maestro.next_sequence_id(), world.maestro.next_sequence_id());
    let cases = [
        ("a newer version", 2, late.as_str(), Reported::Dropped(DropReason::OtherVersion)),
        ("the first", 1, &late, Reported::Stored),
        ("the same again", 1, &late, Reported::Dropped(DropReason::SameContent)),
        ("an earlier one", 1, &early, Reported::Dropped(DropReason::NotNewer)),
        ("another node", 1, "28672", Reported::Dropped(DropReason::OtherNode)),
    ];
    for (name, version, sequence, expected) in cases {
        assert_eq!(world.maestro.status(&id, version, sequence)?, expected, "{name}");
    }
    world.publish(update(&id, 1)).await?;
    let next = world.maestro.next_sequence_id();
    assert_eq!(world.maestro.status(&id, 1, &next)?, Reported::Dropped(DropReason::OtherVersion));
    assert_eq!(world.bundle(&id).await?["status"]["SequenceID"], late);
    Ok(())
}

#[tokio::test]
async fn sources_do_not_hear_of_each_other() -> Result<()> {
    let world = World::new().await?;
    let (mut mine, mut all) = (world.subscribe(SOURCE).await?, world.subscribe("").await?);
    let mut other = world.subscribe("other").await?;
    let mut others = create("others");
    others.source = "other".to_owned();
    world.publish(others).await?;
    world.create().await?;
    world.maestro.apply("others")?;
    assert_eq!(text(&next(&mut other).await?, "ce-resourceid").as_deref(), Some("others"));
    // The empty source is a source like any other.
    only_heartbeats(&mut mine, 3).await?;
    only_heartbeats(&mut all, 3).await
}

#[tokio::test]
async fn every_subscriber_of_a_source_hears_of_a_status() -> Result<()> {
    let world = World::new().await?;
    let mut streams = [world.subscribe(SOURCE).await?, world.subscribe(SOURCE).await?];
    assert_eq!(world.maestro.subscribers(SOURCE), 2);
    let id = world.create().await?;
    world.maestro.apply(&id)?;
    for stream in &mut streams {
        assert_eq!(text(&next(stream).await?, "ce-resourceid").as_deref(), Some(id.as_str()));
    }
    drop(streams);
    await_condition("the subscribers to be gone", PATIENCE, async || {
        ensure!(world.maestro.subscribers(SOURCE) == 0);
        Ok(())
    })
    .await
}

#[tokio::test]
async fn feedback_needs_a_rule_and_is_typed() -> Result<()> {
    let world = World::new().await?;
    let resource = json!({ "group": "", "resource": "configmaps", "name": "first", "namespace": "default" });
    let paths = ["status", "text", "count", "flag"].map(|name| json!({ "name": name, "path": format!(".{name}") }));
    let rules = json!([{ "type": "JSONPaths", "jsonPaths": paths }]);
    let bundle = json!({
        "manifests": [crate::world::config_map("first")],
        "manifestConfigs": [{ "resourceIdentifier": resource, "feedbackRules": rules }],
    });
    world.publish(with_data(create("b"), &bundle)).await?;
    let unapplied = world.maestro.feedback("b", "status", &json!({}));
    assert_eq!(unapplied, Err(DriverError::NotApplied));
    world.maestro.apply("b")?;
    let unknown = world.maestro.feedback("b", "unknown", &json!(1));
    assert_eq!(unknown, Err(DriverError::NoFeedbackRule("unknown".to_owned())));
    let status = json!({ "phase": "Ready" });
    for (name, value) in [("status", status.clone()), ("text", json!("a")), ("count", json!(2)), ("flag", json!(true))]
    {
        world.maestro.feedback("b", name, &value)?;
    }
    let values = world.bundle("b").await?["status"]["resourceStatus"][0]["statusFeedback"]["values"].clone();
    let value = |name: &str, field: Value| json!({ "name": name, "fieldValue": field });
    let expected = json!([
        value("count", json!({ "type": "Integer", "integer": 2 })),
        value("flag", json!({ "type": "Boolean", "boolean": true })),
        value("status", json!({ "type": "JsonRaw", "jsonRaw": status.to_string() })),
        value("text", json!({ "type": "String", "string": "a" })),
    ]);
    assert_eq!(values, expected);
    Ok(())
}

#[tokio::test]
async fn condition_keeps_its_time_until_its_status_changes() -> Result<()> {
    let world = World::new().await?;
    let id = world.create().await?;
    let old = "2020-01-01T00:00:00Z";
    let condition = |kind: &str, status: &str| json!({ "type": kind, "status": status, "lastTransitionTime": old });
    let report = Report {
        id: id.clone(),
        consumer: CONSUMER.to_owned(),
        version: 1,
        sequence_id: world.maestro.next_sequence_id(),
        conditions: vec![condition("Applied", "True"), condition("Available", "False")],
        resource_status: Vec::new(),
    };
    assert_eq!(world.maestro.report(report), Reported::Stored);
    world.maestro.apply(&id)?;
    let conditions = world.bundle(&id).await?["status"]["conditions"].clone();
    ensure!(conditions[0]["lastTransitionTime"] == old && conditions[1]["lastTransitionTime"] != old, "{conditions}");
    Ok(())
}

#[tokio::test]
async fn failure_to_apply_is_a_status() -> Result<()> {
    let world = World::new().await?;
    let id = world.create().await?;
    world.maestro.fail_apply(&id, "forbidden")?;
    let status = world.bundle(&id).await?["status"].clone();
    assert_eq!(conditions(&status)[0], ("Applied".to_owned(), "False".to_owned(), 1));
    assert_eq!(status["resourceStatus"][0]["conditions"][0]["reason"], "AppliedManifestFailed");
    Ok(())
}

/// A request for the statuses that differ from these.
fn resync(known: &[(&str, &str)]) -> lifecycle_proto::CloudEvent {
    let hashes: Vec<_> = known.iter().map(|(id, hash)| json!({ "resourceID": id, "statusHash": hash })).collect();
    let request = with_data(event("status.resync_request", "", 0), &json!({ "statusHashes": hashes }));
    without(with(request, "ce-clustername", Attr::CeString(String::new())), "ce-resourceid")
}

#[tokio::test]
async fn resync_without_hashes_sends_every_status_of_the_source() -> Result<()> {
    let world = World::new().await?;
    for id in ["a", "b", "without-status", "gone"] {
        world.publish(create(id)).await?;
    }
    world.publish(delete("gone")).await?;
    world.maestro.finish_delete("gone")?;
    world.maestro.apply("a")?;
    world.maestro.apply("b")?;
    let mut stream = world.subscribe(SOURCE).await?;
    world.publish(resync(&[])).await?;
    let ids = [next(&mut stream).await?, next(&mut stream).await?].map(|event| text(&event, "ce-resourceid"));
    assert_eq!(ids, ["a", "b"].map(|id| Some(id.to_owned())));
    only_heartbeats(&mut stream, 3).await
}

#[tokio::test]
async fn resync_with_hashes_sends_only_listed_statuses_that_differ() -> Result<()> {
    let world = World::new().await?;
    let mut stream = world.subscribe(SOURCE).await?;
    let mut hashes = Vec::new();
    for id in ["same", "changed", "unlisted"] {
        world.publish(create(id)).await?;
        world.maestro.apply(id)?;
        hashes.push(text(&next(&mut stream).await?, "ce-statushash").context("no hash")?);
    }
    let empty = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";
    world.publish(resync(&[("same", &hashes[0]), ("changed", empty), ("missing", empty)])).await?;
    assert_eq!(text(&next(&mut stream).await?, "ce-resourceid").as_deref(), Some("changed"));
    only_heartbeats(&mut stream, 3).await
}

#[tokio::test]
async fn resync_concerns_the_bundles_of_its_source_alone() -> Result<()> {
    let world = World::new().await?;
    let mut others = create("others");
    others.source = "other".to_owned();
    world.publish(others).await?;
    world.maestro.apply("others")?;
    let (mut mine, mut other) = (world.subscribe(SOURCE).await?, world.subscribe("other").await?);
    world.publish(resync(&[])).await?;
    only_heartbeats(&mut mine, 3).await?;
    only_heartbeats(&mut other, 3).await
}

#[tokio::test]
async fn resync_without_data_is_refused() -> Result<()> {
    let world = World::new().await?;
    let mut request = resync(&[]);
    request.data = None;
    ensure!(world.refused(request).await?.starts_with("failed to decode"));
    Ok(())
}
