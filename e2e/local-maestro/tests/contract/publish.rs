//! What Publish stores and refuses, with the exact texts.

use anyhow::{Result, ensure};
use futures::future::join_all;
use lifecycle_proto::cloud_event_attribute_value::Attr;
use local_maestro::{AgentRefusal, DriverError, LARGEST_BUNDLE};
use serde_json::{Value, json};

use crate::world::{
    World, config_map, create, delete, event, update, with, with_data, with_manifests, with_metadata, without,
};

#[tokio::test]
async fn create_with_version_zero_stores_version_one() -> Result<()> {
    let world = World::new().await?;
    let id = world.create().await?;
    let bundle = world.bundle(&id).await?;
    assert_eq!(
        (&bundle["version"], &bundle["name"], &bundle["kind"]),
        (&1.into(), &id.as_str().into(), &"ResourceBundle".into())
    );
    assert_eq!(bundle["href"], format!("/api/maestro/v1/resource-bundles/{id}"));
    assert_eq!((&bundle["manifests"], &bundle["consumer_name"]), (&json!([config_map("first")]), &"cluster-a".into()));
    assert_eq!(bundle["metadata"]["labels"], json!({ "app": "a" }));
    for hidden in ["source", "executer", "status", "deleted_at"] {
        assert_eq!(bundle.get(hidden), None, "{hidden}");
    }
    Ok(())
}

#[tokio::test]
async fn create_with_another_version_stores_it_as_given() -> Result<()> {
    let world = World::new().await?;
    world.publish(with(create("b"), "ce-resourceversion", Attr::CeInteger(7))).await?;
    assert_eq!(world.bundle("b").await?["version"], 7);
    Ok(())
}

#[tokio::test]
async fn update_with_the_stored_version_counts_it_up() -> Result<()> {
    let world = World::new().await?;
    let id = world.create().await?;
    world.publish(update(&id, 1)).await?;
    let bundle = world.bundle(&id).await?;
    assert_eq!((&bundle["version"], &bundle["manifests"]), (&2.into(), &json!([config_map("second")])));
    Ok(())
}

#[tokio::test]
async fn update_with_version_zero_opts_out_of_the_lock() -> Result<()> {
    let world = World::new().await?;
    let id = world.create().await?;
    for version in [2, 3] {
        world.publish(update(&id, 0)).await?;
        assert_eq!(world.bundle(&id).await?["version"], version);
    }
    Ok(())
}

#[tokio::test]
async fn identical_content_in_a_new_event_still_counts_the_version_up() -> Result<()> {
    let world = World::new().await?;
    let id = world.create().await?;
    let metadata = json!({ "name": format!("work-{id}"), "labels": { "app": "a" } });
    let same = with_manifests(event("spec.update_request", &id, 1), &[config_map("first")]);
    world.publish(with_metadata(same, &metadata)).await?;
    assert_eq!(world.bundle(&id).await?["version"], 2);
    Ok(())
}

#[tokio::test]
async fn replay_of_an_update_is_silent_with_version_zero_and_a_conflict_otherwise() -> Result<()> {
    let world = World::new().await?;
    let id = world.create().await?;
    let unlocked = update(&id, 0);
    world.publish(unlocked.clone()).await?;
    world.publish(unlocked).await?;
    assert_eq!(world.bundle(&id).await?["version"], 2);
    let locked = update(&id, 2);
    world.publish(locked.clone()).await?;
    let text = "failed to update resource: maestro-6: the resource version is not the latest, the latest version: 3";
    assert_eq!(world.refused(locked).await?, text);
    Ok(())
}

#[tokio::test]
async fn one_of_twenty_concurrent_updates_wins() -> Result<()> {
    let world = World::new().await?;
    let id = world.create().await?;
    let results = join_all((0..20).map(|_| world.publish(update(&id, 1)))).await;
    assert_eq!(results.iter().filter(|result| result.is_err()).count(), 19);
    assert_eq!(world.bundle(&id).await?["version"], 2);
    Ok(())
}

#[tokio::test]
async fn update_without_metadata_erases_the_labels() -> Result<()> {
    let world = World::new().await?;
    let id = world.create().await?;
    world.publish(update(&id, 1)).await?;
    assert_eq!(world.bundle(&id).await?["metadata"], json!({}));
    Ok(())
}

#[tokio::test]
async fn update_neither_checks_nor_moves_source_and_consumer() -> Result<()> {
    let world = World::new().await?;
    let id = world.create().await?;
    let mut other = with(update(&id, 1), "ce-clustername", Attr::CeString("cluster-b".to_owned()));
    other.source = "another".to_owned();
    world.publish(other).await?;
    let bundle = world.maestro.bundle(&id).map(|bundle| (bundle.source, bundle.consumer, bundle.version));
    assert_eq!(bundle, Some(("lifecycle".to_owned(), "cluster-a".to_owned(), 2)));
    Ok(())
}

#[tokio::test]
async fn refusals_have_the_texts_of_the_contract() -> Result<()> {
    let world = World::new().await?;
    let (id, deleting) = (world.create().await?, world.create().await?);
    world.publish(delete(&deleting)).await?;
    let elsewhere = with(create("new"), "ce-clustername", Attr::CeString("unknown".to_owned()));
    let exists = "failed to create resource: maestro-6: This Resource already exists";
    let bad = json!({ "apiVersion": "v1", "kind": "ConfigMap" });
    let number = Attr::CeInteger(1);
    let typed = |kind: &str| {
        let mut event = create("new");
        event.r#type = kind.to_owned();
        event
    };
    let cases = [
        ("duplicate id", create(&id), exists.to_owned()),
        ("id of a bundle that is being deleted", create(&deleting), exists.to_owned()),
        (
            "unknown consumer",
            elsewhere,
            "failed to create resource: maestro-9: Unable to create Resource: … fk_resources_consumers …".to_owned(),
        ),
        (
            "invalid manifest on create",
            with_manifests(create("new"), std::slice::from_ref(&bad)),
            "failed to create resource: maestro-8: the manifest bundle in the resource is invalid, …".to_owned(),
        ),
        (
            "invalid manifest on update",
            with_manifests(update(&id, 1), &[bad]),
            "failed to update resource: maestro-8: the new manifest bundle in the resource is invalid, …".to_owned(),
        ),
        (
            "stale version",
            update(&id, 7),
            "failed to update resource: maestro-6: the resource version is not the latest, the latest version: 1"
                .to_owned(),
        ),
        (
            "update while deleting",
            update(&deleting, 1),
            format!("failed to update resource: maestro-6: the resource is under deletion, id: {deleting}"),
        ),
        (
            "update of a missing bundle",
            update("none", 1),
            "failed to get resource: maestro-7: Resource with id='none' not found".to_owned(),
        ),
        (
            "no cluster name",
            without(create("new"), "ce-clustername"),
            "failed to decode cloudevent: failed to get clustername extension: …".to_owned(),
        ),
        (
            "no id",
            without(create("new"), "ce-resourceid"),
            "failed to decode cloudevent: failed to get resourceid extension: …".to_owned(),
        ),
        (
            "no version",
            without(create("new"), "ce-resourceversion"),
            "failed to decode cloudevent: failed to get resourceversion extension: …".to_owned(),
        ),
        (
            "no version in a deletion",
            without(delete(&id), "ce-resourceversion"),
            "failed to decode cloudevent: failed to get resourceversion extension: …".to_owned(),
        ),
        (
            "cluster name that is no string",
            with(create("new"), "ce-clustername", number.clone()),
            "failed to decode cloudevent: failed to get clustername extension: …".to_owned(),
        ),
        (
            "id that is no string",
            with(create("new"), "ce-resourceid", number),
            "failed to decode cloudevent: failed to get resourceid extension: …".to_owned(),
        ),
        (
            "deletion time that is no time",
            with(delete(&id), "ce-deletiontimestamp", Attr::CeString("today".to_owned())),
            "failed to decode cloudevent: failed to get deletiontimestamp extension: …".to_owned(),
        ),
        ("type with four words", typed("a.b.spec.create_request"), "failed to parse cloud event type …".to_owned()),
        (
            "type with another subresource",
            typed("a.b.c.other.create_request"),
            "failed to parse cloud event type …".to_owned(),
        ),
        ("watch", event("spec.watch_request", "new", 0), "unsupported action watch_request".to_owned()),
        ("resync of specs", event("spec.resync_request", "new", 0), "unsupported action resync_request".to_owned()),
    ];
    for (name, event, expected) in cases {
        let text = world.refused(event).await?;
        let mut parts = expected.split('…');
        let matches = text.starts_with(parts.next().unwrap_or_default().trim_end())
            && parts.all(|part| text.contains(part.trim()))
            && (expected.contains('…') || text == expected);
        ensure!(matches, "{name}: {text}");
    }
    Ok(())
}

#[tokio::test]
async fn server_checks_neither_the_data_type_nor_the_subresource() -> Result<()> {
    let world = World::new().await?;
    let mut odd = create("odd");
    odd.r#type = "a.typo.somewhere.status.create_request".to_owned();
    world.publish(odd).await?;
    assert_eq!(world.bundle("odd").await?["version"], 1);
    Ok(())
}

#[tokio::test]
async fn manifests_are_checked_before_they_are_stored() -> Result<()> {
    let world = World::new().await?;
    let map = |metadata: Value| json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata });
    let cases = [
        ("no kind", vec![json!({ "apiVersion": "v1", "metadata": { "name": "a" } })]),
        ("no API version", vec![json!({ "kind": "ConfigMap", "metadata": { "name": "a" } })]),
        (
            "an API version of three parts",
            vec![json!({ "apiVersion": "a/b/c", "kind": "K", "metadata": { "name": "a" } })],
        ),
        ("a generated name", vec![map(json!({ "name": "a", "generateName": "a-" }))]),
        ("a resource version", vec![map(json!({ "name": "a", "resourceVersion": "1" }))]),
        ("a grace period", vec![map(json!({ "name": "a", "deletionGracePeriodSeconds": 1 }))]),
        ("a namespace that is no label", vec![map(json!({ "name": "a", "namespace": "Not_One" }))]),
        ("a bad label", vec![map(json!({ "name": "a", "labels": { "a": "not one" } }))]),
        ("a bad finalizer", vec![map(json!({ "name": "a", "finalizers": ["not one"] }))]),
        ("the same object twice", vec![config_map("a"), config_map("a")]),
    ];
    for (name, manifests) in cases {
        let text = world.refused(with_manifests(create("new"), &manifests)).await?;
        ensure!(text.contains("maestro-8: the manifest bundle in the resource is invalid, "), "{name}: {text}");
    }
    Ok(())
}

#[tokio::test]
async fn server_accepts_empty_and_large_bundles_that_no_agent_applies() -> Result<()> {
    let world = World::new().await?;
    let mut large = config_map("large");
    large["data"] = json!({ "value": "x".repeat(LARGEST_BUNDLE) });
    let mut silent = create("silent");
    silent.data = None;
    let cases = [
        ("empty", with_manifests(create("empty"), &[]), AgentRefusal::Empty),
        ("silent", silent, AgentRefusal::Empty),
        ("null", with_data(create("null"), &json!({ "manifests": null })), AgentRefusal::Empty),
        ("large", with_manifests(create("large"), &[large]), AgentRefusal::TooLarge),
    ];
    for (id, event, refusal) in cases {
        world.publish(event).await?;
        assert_eq!(world.maestro.apply(id), Err(DriverError::Refused(refusal)), "{id}");
        assert_eq!(world.bundle(id).await?.get("status"), None, "{id}");
    }
    Ok(())
}
