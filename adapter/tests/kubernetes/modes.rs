//! The modes of an update: which fields of others each of them keeps.

use anyhow::{Context as _, Result};
use lifecycle_objects::write::{UpdateMode, WriteErrorKind};
use lifecycle_transport::Transport;
use serde_json::{Value, json};

use crate::world::{World, refusal, seen, target};

#[tokio::test]
async fn each_mode_keeps_other_fields_of_others() -> Result<()> {
    let cases = [
        (UpdateMode::Apply, json!({ "own": "1", "kubectl": "x", "person": "x" })),
        (UpdateMode::ApplyOverride, json!({ "own": "1", "person": "x" })),
        (UpdateMode::Replace, json!({ "own": "1", "kubectl": "x", "person": "x" })),
    ];
    for (mode, expected) in cases {
        let world = World::new().await?;
        let mut desired = world.map("map", json!({ "own": "1" }));
        desired["metadata"]["annotations"] = json!({ "example.com/digest": "2" });
        let old = world.create(&world.map("map", json!({ "own": "1", "old": "1" }))).await?;
        world.patch_as("kubectl-edit", "map", json!({ "data": { "kubectl": "x" } })).await?;
        let hold = json!({ "metadata": { "finalizers": ["example.com/hold"] }, "data": { "person": "x" } });
        world.patch_as("person", "map", hold).await?;
        let live = world.read("map").await?.context("the object")?;

        let updated = world.transport.update(&desired, &target(&live), &seen(&live), mode).await?;
        assert_eq!(updated["data"], expected, "{mode:?}");
        assert_eq!(updated["metadata"]["finalizers"], json!(["example.com/hold"]), "{mode:?}");
        let again = world.transport.update(&desired, &target(&updated), &seen(&updated), mode).await?;
        assert_eq!(version(&again), version(&updated), "{mode:?}: the second update changes nothing");

        let late = world.transport.update(&desired, &target(&old), &seen(&old), mode).await;
        assert_eq!(refusal(late)?.0, WriteErrorKind::Conflict, "{mode:?}");
        world.patch_as("person", "map", json!({ "metadata": { "finalizers": null } })).await?;
    }
    Ok(())
}

fn version(object: &Value) -> &Value {
    &object["metadata"]["resourceVersion"]
}
