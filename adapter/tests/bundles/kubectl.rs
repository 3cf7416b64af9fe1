//! The set of a bundle as kubectl sees it, which has sets of its own by the same convention.

use std::fs;
use std::process::Output;

use anyhow::{Context as _, Result, ensure};
use lifecycle_e2e::kube::ControlPlane;
use serde_json::{Value, json};

use crate::world::{ENTRY, SUITE, World, annotated, text};

/// The members of the bundle in the order in which kubectl prints them, and the parent.
const NAMES: [&str; 4] = ["kept", "left", "secret", "foo"];

/// A bundle of three kinds that is at rest.
async fn bundle() -> Result<World> {
    let mut world = World::new().await?;
    let last = annotated(world.map("left", "1"), &[("apply-order", "1")]);
    let objects = vec![world.map("kept", "1"), last, world.secret("secret"), world.foo("foo", 1)];
    world.render(objects);
    let parent = world.map(ENTRY, "");
    world.know(&parent);
    world.pass().await?;
    world.ready("foo").await?;
    world.pass().await?;
    assert_eq!(world.why(), "");
    Ok(world)
}

async fn kubectl(world: &World, arguments: &[&str]) -> Result<Output> {
    ControlPlane::shared().await?.kubectl(&[&["--namespace", world.ns()], arguments].concat()).await
}

/// Applies the ConfigMap `kept` as the only object of the bundle's set, and deletes all others of the set.
async fn apply_and_prune(world: &World) -> Result<Output> {
    let directory = tempfile::tempdir()?;
    let file = directory.path().join("objects.json");
    fs::write(&file, world.map("kept", "2").to_string())?;
    let set = format!("configmaps/{ENTRY}");
    let file = file.to_str().context("a path in UTF-8")?;
    kubectl(world, &["apply", "--prune", "--applyset", &set, "--filename", file]).await
}

/// The parent and the members, with all that the server says of them.
async fn state(world: &World) -> Result<Vec<Option<Value>>> {
    let mut objects = vec![world.parent().await?];
    for name in NAMES {
        objects.push(world.read(name).await?);
    }
    Ok(objects)
}

fn printed(output: &[u8]) -> String {
    String::from_utf8_lossy(output).into_owned()
}

#[tokio::test]
async fn kubectl_lists_the_members_and_refuses_to_change_the_set() -> Result<()> {
    let mut world = bundle().await?;
    let parent = world.parent().await?.context("a parent")?;
    let set = parent["metadata"]["labels"]["applyset.kubernetes.io/id"].as_str().context("an id")?;
    let label = format!("applyset.kubernetes.io/part-of={set}");
    let kinds = format!("configmaps,secrets,foos.{SUITE}");
    let output = kubectl(&world, &["get", &kinds, "--selector", &label, "--output", "name"]).await?;
    ensure!(output.status.success(), "{output:?}");
    let members = ["configmap/kept", "configmap/left", "secret/secret", "foo.SUITE/foo"];
    assert_eq!(printed(&output.stdout).replace(SUITE, "SUITE").lines().collect::<Vec<_>>(), members);

    let before = state(&world).await?;
    let output = apply_and_prune(&world).await?;
    assert_eq!(
        (output.status.code(), printed(&output.stdout), printed(&output.stderr)),
        (
            Some(1),
            String::new(),
            format!(
                "error: ApplySet parent object \"configmaps./{ENTRY}\" already exists and is managed by tooling \
                 \"hyperfleet-lifecycle\" instead of \"kubectl\"\n"
            )
        )
    );
    assert_eq!(state(&world).await?, before);
    world.pass().await?;
    assert_eq!(world.why(), "");
    assert_eq!(state(&world).await?, before, "the next event writes nothing");
    Ok(())
}

/// What keeps kubectl from the set is the name of the tool alone: it reads all else of the parent as its own.
#[tokio::test]
async fn kubectl_prunes_a_set_that_was_handed_over_to_it_and_the_adapter_keeps_off() -> Result<()> {
    let mut world = bundle().await?;
    let tool = json!({ "metadata": { "annotations": { "applyset.kubernetes.io/tooling": "kubectl/v1.35.4" } } });
    world.merge("person", ENTRY, &tool).await?;
    let output = apply_and_prune(&world).await?;
    ensure!(output.status.success(), "{output:?}");
    let lines = printed(&output.stdout).replace(SUITE, "SUITE");
    let mut lines: Vec<&str> = lines.lines().collect();
    lines.sort_unstable();
    assert_eq!(
        lines,
        ["configmap/kept configured", "configmap/left pruned", "foo.SUITE/foo pruned", "secret/secret pruned"]
    );
    let before = state(&world).await?;
    world.pass().await?;
    let refused = "the parent ConfigMap NS/monitoring: it is kept by another tool, `kubectl/v1.35.4`; give the bundle another \
                   name, or end that set with its own tool";
    assert_eq!(world.why(), refused);
    assert_eq!(state(&world).await?, before, "the adapter writes nothing");
    assert_eq!(text(&world.live("kept").await?, "/data/a"), "2");
    Ok(())
}
