//! Manifests as `kubectl get --output yaml` prints them, with all that the server has set.

use anyhow::Result;
use serde_json::{Value, json};

use crate::world::{ENTRY, World};

/// A live Deployment of somebody, with its UID, version, managed fields and status.
async fn printed(world: &mut World) -> Result<Value> {
    let pod = json!({ "containers": [{ "name": "c", "image": "a" }] });
    let spec = json!({
        "selector": { "matchLabels": { "app": "x" } },
        "template": { "metadata": { "labels": { "app": "x" } }, "spec": pod },
        "replicas": 1, "paused": true,
    });
    let theirs = world.object("apps/v1", "Deployment", "theirs", json!({ "spec": spec }));
    world.create(&theirs).await?;
    let mut printed = world.live("theirs").await?;
    assert!(printed["metadata"]["managedFields"].is_array(), "{printed}");
    // Of a Deployment that runs. Its controller would take the number out of the stored status at once.
    printed["status"]["replicas"] = json!(1);
    printed["metadata"]["selfLink"] = json!("/apis/apps/v1/theirs");
    printed["metadata"]["name"] = json!("ours");
    world.know(&printed);
    Ok(printed)
}

/// Has the bundle, or the entry, write this manifest from now on.
fn render(world: &mut World, manifest: &Value, is_bundle: bool) {
    if is_bundle {
        world.render(vec![manifest.clone()]);
        return;
    }
    let entry = json!({
        "name": ENTRY, "manifest": manifest,
        "discovery": { "namespace": world.ns(), "by_name": manifest["metadata"]["name"] },
    });
    world.entries = Some(vec![entry]);
}

#[tokio::test]
async fn printed_manifest_is_created_updated_and_steady() -> Result<()> {
    for is_bundle in [true, false] {
        let mut world = World::new().await?;
        let mut manifest = printed(&mut world).await?;
        for (step, image) in ["a", "b", "c"].into_iter().enumerate() {
            manifest["spec"]["template"]["spec"]["containers"][0]["image"] = json!(image);
            render(&mut world, &manifest, is_bundle);
            world.generation += 1;
            world.pass().await?;
            let live = world.live("ours").await?;
            assert_eq!(
                live["spec"]["template"]["spec"]["containers"][0]["image"], image,
                "{step}: {:?}",
                world.outcome
            );
            assert_ne!(live["metadata"]["uid"], manifest["metadata"]["uid"]);
            assert_eq!(live["status"].get("replicas"), None, "the status of another object: {live}");
            world.pass().await?;
            // The Deployment's controller still writes its status, so that its version does not tell who wrote.
            let is_steady = if is_bundle {
                world.lines().iter().all(|line| line.starts_with("ours none "))
            } else {
                world.outcome.as_ref().is_some_and(|outcome| outcome.result.as_str() == "skipped")
            };
            assert!(is_steady, "the next event writes nothing: {:?}", world.outcome);
        }
    }
    Ok(())
}
