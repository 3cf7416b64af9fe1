//! Namespaces that objects name and that do not exist.

use anyhow::Result;
use lifecycle_e2e::unique;
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
