//! Tests how the adapter disowns objects on a real API server.

use anyhow::{Context, Result, ensure};
use lifecycle_objects::observation::Version;
use lifecycle_objects::write::PropagationPolicy::Background;
use lifecycle_objects::write::{Command, Disowning, Executed, WriteErrorKind};
use lifecycle_transport::Transport;
use serde_json::{Value, json};

use crate::world::{World, target};

/// A patch that removes our marks, adds the label `disowned`, and replaces the owner references.
fn patch(owners: Value) -> Value {
    json!({ "metadata": {
        "labels": { "hyperfleet.io/adapter": null, "hyperfleet.io/resource": null, "hyperfleet.io/disowned": "c1" },
        "annotations": { "hyperfleet.io/ownership-proof": null },
        "ownerReferences": owners,
    } })
}

#[tokio::test]
async fn disowning_removes_marks_and_replaces_owners() -> Result<()> {
    let world = World::new().await?;
    let owner = |owner: &Value| json!({ "apiVersion": "v1", "kind": "ConfigMap", "name": owner["metadata"]["name"], "uid": owner["metadata"]["uid"] });
    let ours = world.create(&world.map("our-owner", json!({}))).await?;
    let theirs = world.create(&world.map("their-owner", json!({}))).await?;
    let mut marked = world.map("marked", json!({ "a": "1" }));
    marked["metadata"]["labels"] = json!({ "hyperfleet.io/adapter": "x", "hyperfleet.io/resource": "y", "team": "z" });
    marked["metadata"]["annotations"] =
        json!({ "hyperfleet.io/ownership-proof": "p", "hyperfleet.io/generation": "3" });
    marked["metadata"]["ownerReferences"] = json!([owner(&ours), owner(&theirs)]);
    let marked = world.create(&marked).await?;
    let bare = world.create(&world.map("bare", json!({}))).await?;
    let gone = world.create(&world.map("gone", json!({}))).await?;
    world.transport.delete(&target(&gone), Background).await?;

    let disowning = |object: &Value, owners: Value| Disowning { target: target(object), patch: patch(owners) };
    let former = vec![disowning(&bare, Value::Null), disowning(&gone, Value::Null)];
    let last = disowning(&marked, json!([owner(&theirs)]));
    let executed = world.execute(Command::Disown { former, last }).await;
    let Executed::Disowned(disowned) = executed else { anyhow::bail!("{executed:?}") };
    let [bare, marked] = disowned.as_slice() else { anyhow::bail!("{disowned:?}") };
    let (bare, seen) = (bare.object(), marked);
    let marked = seen.object();

    assert_eq!(bare["metadata"]["labels"], json!({ "hyperfleet.io/disowned": "c1" }));
    assert_eq!(bare.pointer("/metadata/annotations"), None);
    assert_eq!(marked["metadata"]["labels"], json!({ "hyperfleet.io/disowned": "c1", "team": "z" }));
    assert_eq!(marked["metadata"]["annotations"], json!({ "hyperfleet.io/generation": "3" }));
    assert_eq!(marked["metadata"]["ownerReferences"], json!([owner(&theirs)]));
    assert_eq!(marked["data"], json!({ "a": "1" }));

    // The object survives the deletion of the owner whose reference was removed.
    world.transport.delete(&target(&ours), Background).await?;
    assert_eq!(world.read("marked").await?.map(Version::new).as_ref(), Some(seen));
    Ok(())
}

#[tokio::test]
async fn last_object_keeps_its_marks_if_another_is_not_disowned() -> Result<()> {
    let world = World::new().await?;
    let former = world.create(&world.map("former", json!({}))).await?;
    let last = world.create(&world.map("last", json!({}))).await?;
    world.patch_as("person", "former", json!({ "data": { "a": "1" } })).await?;

    let disowning = |object: &Value| Disowning { target: target(object), patch: patch(Value::Null) };
    let command = |former: &Value| Command::Disown { former: vec![disowning(former)], last: disowning(&last) };
    let Executed::DisownFailed { failures } = world.execute(command(&former)).await else {
        anyhow::bail!("somebody wrote in between")
    };
    let [(refused, error)] = failures.as_slice() else { anyhow::bail!("{failures:?}") };
    assert_eq!((refused, error.kind), (&target(&former), WriteErrorKind::Conflict));
    assert_eq!(world.read("last").await?.as_ref(), Some(&last));

    let former = world.read("former").await?.context("the object")?;
    let executed = world.execute(command(&former)).await;
    ensure!(matches!(&executed, Executed::Disowned(objects) if objects.len() == 2), "{executed:?}");
    Ok(())
}
