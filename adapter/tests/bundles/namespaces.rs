//! Namespaces that objects name and that do not exist, or are being deleted.

use anyhow::{Result, ensure};
use lifecycle_core::outcome::Outcome;
use lifecycle_core::report_overlay::{self, Account};
use lifecycle_e2e::{PATIENCE, await_condition, unique};
use serde_json::{Value, json};

use crate::table::Act::Render;
use crate::table::{pass, play};
use crate::world::World;

fn elsewhere(world: &World, name: &str, namespace: &str) -> Value {
    let mut object = world.map(name, "1");
    object["metadata"]["namespace"] = json!(namespace);
    object
}

#[tokio::test]
async fn missing_namespace_is_created_and_stays() -> Result<()> {
    let mut world = World::new().await?;
    let space = unique("missing");
    let objects = vec![elsewhere(&world, "one", &space), elsewhere(&world, "two", &space), world.map("here", "1")];
    world.know(&json!({ "apiVersion": "v1", "kind": "Namespace", "metadata": { "name": space } }));
    let passes = [
        pass(
            "creation",
            [Render(objects)],
            "created",
            &["here created Ready", "one created Ready", "two created Ready"],
            "",
        ),
        pass("next", [], "skipped", &["here none Ready", "one none Ready", "two none Ready"], ""),
    ];
    play(&mut world, passes).await?;
    let created = world.live(&space).await?;
    assert!(created["metadata"]["labels"].get("applyset.kubernetes.io/part-of").is_none(), "{created}");
    world.is_deleting = true;
    world.pass().await?;
    assert_eq!((world.read("one").await?, world.parent().await?), (None, None), "{}", world.why());
    assert!(world.live(&space).await?["metadata"].get("deletionTimestamp").is_none());
    world.delete(&space).await
}

#[tokio::test]
async fn missing_namespace_fails_its_objects_if_it_may_not_be_created() -> Result<()> {
    let mut world = World::with(json!({ "policies": { "missing_namespaces": "ignore" } })).await?;
    let space = unique("missing");
    let objects = vec![elsewhere(&world, "one", &space), world.map("here", "1")];
    world.render(objects);
    world.pass().await?;
    assert_eq!(world.lines(), ["here created Ready", "one failed Absent"]);
    assert!(world.why().contains(&format!("namespaces \"{space}\" not found")), "{}", world.why());
    let space = json!({ "apiVersion": "v1", "kind": "Namespace", "metadata": { "name": space } });
    world.create(&space).await?;
    play(&mut world, [pass("created by somebody", [], "updated", &["here none Ready", "one created Ready"], "")])
        .await?;
    world.is_deleting = true;
    world.pass().await?;
    world.delete(space["metadata"]["name"].as_str().unwrap_or_default()).await
}

#[tokio::test]
async fn rendered_namespace_comes_before_what_is_in_it() -> Result<()> {
    let mut world = World::with(json!({ "policies": { "missing_namespaces": "ignore" } })).await?;
    let space = unique("team");
    let rendered = json!({ "apiVersion": "v1", "kind": "Namespace", "metadata": { "name": space } });
    let objects = vec![elsewhere(&world, "inside", &space), rendered];
    world.render(objects);
    world.pass().await?;
    assert_eq!(world.why(), "", "{:?}", world.lines());
    world.is_deleting = true;
    world.pass().await?;
    assert!(world.read("inside").await?.is_none());
    world.await_gone(&space).await?;
    world.pass().await?;
    assert_eq!((world.why(), world.parent().await?), (String::new(), None));
    Ok(())
}

/// The reason and the message of `Available` in a report that calls everything available.
fn available(outcome: &Outcome) -> Result<(String, String)> {
    let told = json!({ "type": "Available", "status": "True", "reason": "Mine", "message": "" });
    let report = json!({ "adapter": "tester", "conditions": [told] }).to_string();
    let account = Account { outcomes: std::slice::from_ref(outcome), unread: None, is_deleting: Some(false) };
    let report: Value = serde_json::from_str(&report_overlay::apply(report, account).text)?;
    let text = |key: &str| report["conditions"][0][key].as_str().unwrap_or_default().to_owned();
    Ok((text("reason"), text("message")))
}

/// Creates a namespace for objects of this test, and an object in it that holds the namespace until it is released.
async fn held(world: &mut World) -> Result<String> {
    let space = unique("going");
    world.create(&json!({ "apiVersion": "v1", "kind": "Namespace", "metadata": { "name": space } })).await?;
    let anchor = elsewhere(world, "anchor", &space);
    world.create(&anchor).await?;
    world.hold("anchor").await?;
    Ok(space)
}

/// Deletes the namespace, and waits until its controller has deleted this object in it.
async fn delete_around(world: &World, space: &str, name: &str) -> Result<()> {
    world.delete(space).await?;
    world.await_gone(name).await?;
    await_condition("the namespace to be terminating", PATIENCE, async || {
        ensure!(world.live(space).await?["metadata"].get("deletionTimestamp").is_some(), "it is not");
        Ok(())
    })
    .await
}

#[tokio::test]
async fn members_wait_for_a_namespace_that_somebody_deletes_and_the_report_names_it() -> Result<()> {
    let mut world = World::new().await?;
    let space = held(&mut world).await?;
    let (lost, kept) = (elsewhere(&world, "lost", &space), elsewhere(&world, "kept", &space));
    world.render(vec![kept, lost, world.map("here", "1"), world.foo("slow", 1)]);
    world.pass().await?;
    world.ready("slow").await?;
    world.hold("kept").await?;
    world.pass().await?;
    assert_eq!(world.why(), "");

    delete_around(&world, &space, "lost").await?;
    (world.manifests[2]["data"]["a"], world.manifests[3]["spec"]["size"]) = (json!("2"), json!(2));
    let outcome = world.pass().await?.clone();
    let lines = ["here updated Ready", "kept none Terminating", "lost none Absent", "slow none Ready"];
    assert_eq!((outcome.result.as_str(), world.lines()), ("waiting", lines.map(str::to_owned).to_vec()));
    let why = format!(
        "wave 0: ConfigMap {space}/lost: namespace {space} is being deleted, and takes no new objects until it is gone"
    );
    assert_eq!(world.why(), why);
    assert_eq!(available(&outcome)?, ("Waiting".to_owned(), format!("resource monitoring: {why}")));
    assert_eq!(world.pass().await?.result.as_str(), "waiting");

    world.release("anchor").await?;
    world.release("kept").await?;
    world.await_gone(&space).await?;
    world.pass().await?;
    let lines = ["here none Ready", "kept created Ready", "lost created Ready", "slow updated InProgress"];
    assert_eq!(world.lines(), lines, "{}", world.why());
    world.is_deleting = true;
    world.pass().await?;
    world.delete(&space).await
}

#[tokio::test]
async fn parent_and_entry_wait_for_their_namespace() -> Result<()> {
    let mut world = World::new().await?;
    let space = held(&mut world).await?;
    let map = elsewhere(&world, "single", &space);
    world.know(&map);
    delete_around(&world, &space, "single").await?;
    let discovery = json!({ "namespace": space, "by_name": "single" });
    let entry = json!({ "name": "single", "manifest": map, "discovery": discovery });
    let bundle = json!({ "namespace": space, "name": "parent", "manifests": [world.map("here", "1")] });
    for (name, entry) in [("single", entry), ("bundle", json!({ "name": "bundle", "bundle": bundle }))] {
        world.entries = Some(vec![entry]);
        let outcome = world.pass().await?;
        let decided = (outcome.decision.kind().as_str(), outcome.decision.reason(), outcome.result.as_str());
        assert_eq!(decided, ("wait", "NamespaceTerminating", "waiting"), "{name}: {}", outcome.reason());
        let (reason, message) = available(outcome)?;
        assert_eq!(reason, "Waiting", "{name}");
        assert!(message.contains(&format!("namespace {space} is being deleted")), "{name}: {message}");
    }
    assert!(world.all_like(&world.map("here", "")).await?.iter().all(|it| it["metadata"]["name"] != "here"));
    world.release("anchor").await?;
    world.await_gone(&space).await
}

#[tokio::test]
async fn deletion_of_a_namespace_names_what_the_server_says_is_left_in_it() -> Result<()> {
    let mut world = World::new().await?;
    let space = held(&mut world).await?;
    let namespace = json!({ "apiVersion": "v1", "kind": "Namespace", "metadata": { "name": space } });
    let delete = json!({ "delete": { "when": { "expression": "flags.deleting" } } });
    let discovery = json!({ "by_name": space });
    world.entries = Some(vec![
        json!({ "name": "space", "manifest": namespace, "discovery": discovery, "adopt": true, "lifecycle": delete }),
    ]);
    world.pass().await?;
    world.is_deleting = true;
    world.pass().await?;
    await_condition("the server's conditions", PATIENCE, async || {
        let conditions = world.live(&space).await?["status"]["conditions"].to_string();
        ensure!(conditions.contains("NamespaceFinalizersRemaining"), "{conditions}");
        Ok(())
    })
    .await?;
    let reason = world.pass().await?.reason();
    let (begin, held) = ("deletion pending; NamespaceContentRemaining: ", "; NamespaceFinalizersRemaining: ");
    ensure!(reason.starts_with(begin) && reason.contains(held) && reason.contains("example.com/hold"), "{reason}");
    world.release("anchor").await?;
    world.await_gone(&space).await?;
    ensure!(world.pass().await?.finalized, "it is gone");
    Ok(())
}
