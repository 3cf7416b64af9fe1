//! Managed fields: which fields an update removes, and which it keeps.

use anyhow::{Context, Result};
use k8s_openapi::api::core::v1::{ConfigMap, Secret};
use kube::api::PostParams;
use lifecycle_objects::observation::QueryBy;
use lifecycle_objects::write::UpdateMode::{Apply, ApplyOverride, Replace};
use lifecycle_objects::write::{PropagationPolicy, WriteErrorKind};
use lifecycle_transport::Transport;
use serde_json::{Value, json};

use crate::world::{ADAPTER, World, managed_fields, namesake, refusal, seen, target, text, unmanaged};

#[tokio::test]
async fn dropped_field_is_removed_after_the_migration() -> Result<()> {
    let world = World::new().await?;
    let live = world.create(&world.map("dropped", json!({ "a": "1", "b": "1" }))).await?;

    let without_b = world.map("dropped", json!({ "a": "1" }));
    let kept = world.transport.update(&without_b, &target(&live), &unmanaged(), Apply).await?;
    assert_eq!(kept["data"], json!({ "a": "1", "b": "1" }), "the entry of our own creation still owns the field");

    let updated = world.transport.update(&without_b, &target(&kept), &seen(&kept), Apply).await?;
    assert_eq!(updated["data"], json!({ "a": "1" }));
    let writers: Vec<(&str, &str)> = managed_fields(&updated)
        .and_then(Value::as_array)
        .context("managedFields")?
        .iter()
        .map(|entry| (text(entry, "/manager"), text(entry, "/operation")))
        .collect();
    assert_eq!(writers, [(ADAPTER, "Apply")]);

    let again = world.transport.update(&without_b, &target(&updated), &seen(&updated), Apply).await?;
    assert_eq!(again, updated, "a second update changes nothing, not even the resourceVersion");
    Ok(())
}

#[tokio::test]
async fn go_adapters_fields_are_migrated_and_those_of_others_stay() -> Result<()> {
    let world = World::new().await?;
    let maps = world.namespace.api::<ConfigMap>().await?;
    // The Go adapter's client sends no fieldManager, so the server uses the first part of its User-Agent.
    let written: ConfigMap = serde_json::from_value(world.map("shared", json!({ "ours": "1", "old": "1" })))?;
    let params = PostParams { field_manager: Some("adapter".to_owned()), ..PostParams::default() };
    maps.create(&params, &written).await?;
    let foreign = json!({ "metadata": { "labels": { "team": "x" }, "finalizers": ["example.com/hold"] },
                          "data": { "foreign": "1", "ours": "foreign" } });
    world.patch_as("person", "shared", foreign).await?;

    let live = world.read("shared").await?.context("the object")?;
    let desired = world.map("shared", json!({ "ours": "2" }));
    let updated = world.transport.update(&desired, &target(&live), &seen(&live), Apply).await?;
    assert_eq!(updated["data"], json!({ "ours": "2", "foreign": "1" }));
    assert_eq!(updated["metadata"]["labels"], json!({ "team": "x" }));
    assert_eq!(updated["metadata"]["finalizers"], json!(["example.com/hold"]));

    world.patch_as("person", "shared", json!({ "metadata": { "finalizers": null } })).await
}

#[tokio::test]
async fn object_changed_meanwhile_is_not_migrated() -> Result<()> {
    let world = World::new().await?;
    let desired = world.map("raced", json!({ "a": "1" }));
    let live = world.create(&desired).await?;
    world.patch_as("person", "raced", json!({ "data": { "b": "1" } })).await?;

    let late = world.transport.update(&desired, &target(&live), &seen(&live), Apply).await;
    assert_eq!(refusal(late)?, (WriteErrorKind::Conflict, Some(422)));
    let now = world.read("raced").await?.context("the object")?;
    let other = world.transport.update(&desired, &namesake(&now), &seen(&now), Apply).await;
    assert_eq!(refusal(other)?.0, WriteErrorKind::Conflict, "a namesake's fields are not migrated");
    assert_eq!(world.read("raced").await?.as_ref(), Some(&now));
    world.transport.update(&desired, &target(&now), &seen(&now), Apply).await?;
    Ok(())
}

#[tokio::test]
async fn terminating_object_is_not_migrated() -> Result<()> {
    let world = World::new().await?;
    let mut desired = world.map("ending", json!({ "a": "1" }));
    desired["metadata"]["finalizers"] = json!(["example.com/hold"]);
    let live = world.create(&desired).await?;
    world.transport.delete(&target(&live), PropagationPolicy::Background).await?;
    let ending = world.read("ending").await?.context("the object")?;
    assert_eq!(managed_fields(&ending), managed_fields(&live), "a deletion does not change them");

    let late = world.transport.update(&desired, &target(&live), &seen(&live), Apply).await;
    assert_eq!(refusal(late)?, (WriteErrorKind::Conflict, Some(422)));
    assert_eq!(world.read("ending").await?.as_ref(), Some(&ending), "nothing was changed");

    world.patch_as("person", "ending", json!({ "metadata": { "finalizers": null } })).await
}

/// What an apply with `stringData` set in `data` belongs to nobody on the server.
#[tokio::test]
async fn data_of_a_secret_that_was_applied_as_text_is_dropped_with_its_key() -> Result<()> {
    let world = World::new().await?;
    for (name, mode) in [("applied", Apply), ("overridden", ApplyOverride), ("replaced", Replace)] {
        let secret = |fields: Value| world.object("v1", "Secret", name, fields);
        let mut live = world.create(&secret(json!({ "stringData": { "a": "1", "b": "1" } }))).await?;
        for value in ["2", "3"] {
            let texts = secret(json!({ "stringData": { "a": value, "b": "1" } }));
            live = world.transport.update(&texts, &target(&live), &seen(&live), Apply).await?;
        }
        let of_others = json!({ "data": { "of-others": "MQ==" } });
        live = world.transport.patch(&of_others, &target(&live)).await?.context("the secret")?;
        let mut data = secret(json!({ "data": { "a": "Mw==" } }));
        // Another manifest has another digest or generation; a replacement by the same one is not sent.
        data["metadata"]["annotations"] = json!({ "example.com/digest": "2" });
        let updated = world.transport.update(&data, &target(&live), &seen(&live), mode).await?;
        assert_eq!(updated["data"], json!({ "a": "Mw==", "of-others": "MQ==" }), "{name}");
        let again = world.transport.update(&data, &target(&updated), &seen(&updated), mode).await?;
        let version = |object: &Value| text(object, "/metadata/resourceVersion").to_owned();
        assert_eq!(version(&again), version(&updated), "the texts are migrated once: {name}");
    }
    Ok(())
}

#[tokio::test]
async fn values_that_kubectl_copied_to_an_annotation_go_with_the_first_write() -> Result<()> {
    const COPY: &str = "kubectl.kubernetes.io/last-applied-configuration";
    let world = World::new().await?;
    let secrets = world.namespace.api::<Secret>().await?;
    for (name, mode) in [("applied", Apply), ("overridden", ApplyOverride), ("replaced", Replace)] {
        let copy = r#"{"kind":"Secret","stringData":{"token":"the former value"}}"#;
        let annotations = json!({ COPY: copy, "example.com/team": "x" });
        let theirs = json!({ "metadata": { "name": name, "annotations": annotations }, "data": { "token": "eA==" } });
        let params =
            PostParams { field_manager: Some("kubectl-client-side-apply".to_owned()), ..PostParams::default() };
        secrets.create(&params, &serde_json::from_value(theirs)?).await?;
        let query = world.query("v1", "Secret", QueryBy::Name(name.to_owned()));
        let live = world.transport.find(&query).await?.pop().context("the secret")?;

        let desired = world.object("v1", "Secret", name, json!({ "data": { "token": "eQ==" } }));
        let updated = world.transport.update(&desired, &target(&live), &seen(&live), mode).await?;
        assert_eq!(updated["data"], json!({ "token": "eQ==" }), "{name}");
        let annotations = &updated["metadata"]["annotations"];
        assert!(
            annotations.get(COPY).is_none() && !updated.to_string().contains("the former value"),
            "{name}: {updated}"
        );
        let others = if mode == ApplyOverride { json!(null) } else { json!("x") };
        assert_eq!(annotations["example.com/team"], others, "{name}: {updated}");
        let again = world.transport.update(&desired, &target(&updated), &seen(&updated), mode).await?;
        assert_eq!(again["metadata"]["resourceVersion"], updated["metadata"]["resourceVersion"], "{name}");
    }
    Ok(())
}
