//! Merge patches, and the applies after them.

use anyhow::{Context, Result};
use lifecycle_objects::write::UpdateMode::Apply;
use lifecycle_objects::write::{Command, Executed, WriteErrorKind};
use lifecycle_transport::Transport;
use serde_json::{Value, json};

use crate::world::{World, managed_fields, refusal, seen, target, text};

#[tokio::test]
async fn merge_patch_sets_and_removes_fields_and_keeps_the_rest() -> Result<()> {
    let world = World::new().await?;
    let mut desired = world.map("patched", json!({ "a": "1", "b": "1" }));
    desired["metadata"]["labels"] = json!({ "ours": "1" });
    world.create(&desired).await?;
    let foreign = json!({ "metadata": { "labels": { "team": "x" } }, "data": { "foreign": "1" } });
    world.patch_as("person", "patched", foreign).await?;
    let live = world.read("patched").await?.context("the object")?;

    let document = json!({ "metadata": { "labels": { "ours": null, "new": "1" } }, "data": { "a": "2", "b": null } });
    let patched = world.transport.patch(&document, &target(&live)).await?.context("the object")?;
    assert_eq!(patched["data"], json!({ "a": "2", "foreign": "1" }));
    assert_eq!(patched["metadata"]["labels"], json!({ "team": "x", "new": "1" }));
    assert_eq!(target(&patched).uid, target(&live).uid);
    assert_ne!(target(&patched).resource_version, target(&live).resource_version);
    let writers = managed_fields(&patched).and_then(Value::as_array).context("managedFields")?;
    let writer = writers.iter().find(|entry| text(entry, "/manager") == "team-adapter-patch").context("our entry")?;
    assert_eq!(text(writer, "/operation"), "Update");
    assert!(writer.pointer("/fieldsV1/f:data/f:a").is_some(), "{writer}");

    let again = world.transport.patch(&document, &target(&patched)).await?.context("the object")?;
    assert_eq!(again, patched, "a second patch changes nothing, not even the resourceVersion");
    let invalid = world.transport.patch(&json!({ "data": { "no key": "1" } }), &target(&patched)).await;
    assert_eq!(refusal(invalid)?, (WriteErrorKind::Invalid, Some(422)));
    Ok(())
}

#[tokio::test]
async fn patches_of_a_command_are_fenced_by_each_other() -> Result<()> {
    let world = World::new().await?;
    let live = world.create(&world.map("chain", json!({ "step": "0" }))).await?;
    let step = |step: &str| json!({ "data": { "step": step } });
    let command = |live: &Value| Command::Patch { target: target(live), documents: vec![step("1"), step("2")] };
    let Executed::Patched(patched) = world.execute(command(&live)).await else {
        anyhow::bail!("no other write came between")
    };
    assert_eq!(patched["data"], json!({ "step": "2" }));

    let Executed::PatchFailed { object: None, error } = world.execute(command(&live)).await else {
        anyhow::bail!("the version is an old one")
    };
    assert_eq!((error.kind, error.status), (WriteErrorKind::Conflict, Some(409)));
    let documents = vec![step("3"), json!({ "data": { "no key": "1" } }), step("4")];
    let executed = world.execute(Command::Patch { target: target(&patched), documents }).await;
    let Executed::PatchFailed { object: Some(last), error } = executed else { anyhow::bail!("{executed:?}") };
    assert_eq!((text(&last, "/data/step"), error.kind), ("3", WriteErrorKind::Invalid));
    assert_eq!(world.read("chain").await?, Some(last), "the patch before the failure stays, and none after it is sent");
    Ok(())
}

/// The tests of `transport::memory`, the API server in memory of dry runs, have the same cases: both must keep the
/// same fields.
#[tokio::test]
async fn patched_fields_survive_applies_that_do_not_name_them() -> Result<()> {
    let world = World::new().await?;
    let cases = [
        ("a new field", json!({ "a": "1" }), json!({ "p": "1" }), json!({ "a": "2" }), json!({ "a": "2", "p": "1" })),
        (
            "a field that the manifest had and drops",
            json!({ "a": "1", "p": "0" }),
            json!({ "p": "1" }),
            json!({ "a": "1" }),
            json!({ "a": "1", "p": "1" }),
        ),
        (
            "below a mapping that the manifest drops",
            json!({ "a": "1" }),
            json!({ "p": "1" }),
            json!({}),
            json!({ "p": "1" }),
        ),
        (
            "but what the manifest names is the manifest's",
            json!({ "a": "1" }),
            json!({ "a": "p" }),
            json!({ "a": "1" }),
            json!({ "a": "1" }),
        ),
        (
            "and what it removed comes back",
            json!({ "a": "1" }),
            json!({ "a": null }),
            json!({ "a": "1" }),
            json!({ "a": "1" }),
        ),
    ];
    for (index, (name, first, patch, second, expected)) in cases.into_iter().enumerate() {
        let object = format!("survives-{index}");
        let created = world.create(&world.map(&object, first)).await?;
        let patched = world.transport.patch(&json!({ "data": patch }), &target(&created)).await?;
        let mut live = patched.context("the object")?;
        let second = world.map(&object, second);
        for _ in 0..2 {
            live = world.transport.update(&second, &target(&live), &seen(&live), Apply).await?;
            assert_eq!(live["data"], expected, "{name}");
        }
    }
    Ok(())
}
