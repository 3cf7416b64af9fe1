//! Passes that end between any two calls, and the passes that go on.

use anyhow::{Context as _, Result, ensure};
use futures::{StreamExt as _, TryStreamExt as _, stream};
use lifecycle_transport::kubernetes::KubernetesTransport;
use serde_json::Value;

use crate::breaking::Breaking;
use crate::state::state;
use crate::world::{World, annotated};

/// How many lives go on at the same time.
const LIVES: usize = 4;
/// More passes than any part of a life needs.
const PASSES: usize = 10;

/// The manifests of each part of a life: creation, a change of two objects, and one that leaves.
fn parts(world: &World) -> [Vec<Value>; 3] {
    let objects = |first: &str, recreated: &str, has_left: bool| {
        let mut objects = vec![
            world.map("first", first),
            annotated(world.map("job", "1"), &[("purge-order", "0")]),
            annotated(world.map("recreated", recreated), &[("update-policy", "recreate")]),
            annotated(world.foo("foo", 1), &[("apply-order", "1")]),
            annotated(world.map("last", "1"), &[("apply-order", "2"), ("delete-order", "1")]),
        ];
        if !has_left {
            objects.push(annotated(world.secret("leaves"), &[("apply-order", "2")]));
        }
        objects
    };
    [objects("1", "1", false), objects("2", "2", false), objects("2", "2", true)]
}

/// Handles events until one has nothing more to do. Those of the broken pass are repeated.
async fn settle(world: &mut World, breaking: &Breaking<KubernetesTransport>) -> Result<()> {
    for _ in 0..PASSES {
        let Some(report) = breaking.pass(world).await? else {
            return Box::pin(settle(world, &breaking.restarted())).await;
        };
        let result = world.keep(report)?.result.as_str();
        ensure!(result != "failed", "{}", world.why());
        if world.why().is_empty() && result == "skipped" {
            return Ok(());
        }
        // Its controller observes the object.
        if world.read("foo").await?.is_some() {
            world.ready("foo").await?;
        }
    }
    anyhow::bail!("it does not settle: {:?} {}", world.lines(), world.why())
}

/// Lives a life whose pass is broken off after a call. Returns the state after each part, and how many calls were made.
async fn life(last: usize) -> Result<(Vec<Vec<Value>>, usize)> {
    let mut world = World::new().await?;
    let breaking = Breaking::new(world.transport.clone(), last);
    let mut states = Vec::new();
    // Once a pass was broken off, the rest of the life is undisturbed.
    let of_now = || if breaking.made() >= last { breaking.restarted() } else { breaking.clone() };
    for manifests in parts(&world) {
        world.render(manifests);
        settle(&mut world, &of_now()).await?;
        states.push(state(&world).await?);
    }
    world.is_deleting = true;
    settle(&mut world, &of_now()).await?;
    states.push(state(&world).await?);
    Ok((states, breaking.made()))
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn life_that_is_broken_off_after_any_call_ends_as_an_undisturbed_one() -> Result<()> {
    let (expected, calls) = life(usize::MAX).await?;
    eprintln!("a life of {calls} calls");
    let counts: Vec<usize> = expected.iter().map(Vec::len).collect();
    assert_eq!(counts, [6, 6, 5, 0], "the objects of each part, with the parent: {expected:#?}");
    let broken = (0..calls).map(|last| {
        let expected = &expected;
        async move {
            let (states, _) = life(last).await.with_context(|| format!("broken off after call {last} of {calls}"))?;
            for (part, (found, expected)) in states.iter().zip(expected).enumerate() {
                ensure!(
                    found == expected,
                    "broken off after call {last} of {calls}, part {part}:\n{found:#?}\ninstead of\n{expected:#?}"
                );
            }
            anyhow::Ok(())
        }
    });
    let broken: Vec<_> = broken.collect();
    stream::iter(broken).buffer_unordered(LIVES).try_collect::<Vec<()>>().await?;
    Ok(())
}
