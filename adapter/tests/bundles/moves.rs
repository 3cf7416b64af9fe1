//! Objects that move from one bundle of the task to another: handed over in place, also by passes that end after any call.

use anyhow::{Context as _, Result, ensure};
use futures::{StreamExt as _, TryStreamExt as _, stream};
use serde_json::{Value, json};

use crate::breaking::Breaking;
use crate::world::{World, text};

/// As many passes as a move needs after one that is broken off.
const PASSES: usize = 3;
/// How many lives go on at the same time.
const LIVES: usize = 4;

fn objects(world: &World) -> Vec<Value> {
    let claim =
        json!({ "spec": { "accessModes": ["ReadWriteOnce"], "resources": { "requests": { "storage": "1Gi" } } } });
    vec![world.secret("password"), world.object("v1", "PersistentVolumeClaim", "disk", claim)]
}

/// Has this entry render the objects, and the other one none, with the receiver's adoption policy.
fn renders(world: &mut World, entries: [&str; 2], owner: &str, policy: &str) {
    let objects = objects(world);
    let of = |entry: &str| if entry == owner { objects.clone() } else { vec![json!("# nothing\n")] };
    let entry = |name: &str| {
        let bundle = json!({
            "namespace": world.ns(), "name": name, "manifests": of(name), "policies": { "adoption": policy },
        });
        json!({ "name": name, "bundle": bundle, "lifecycle": { "delete": { "when": { "expression": "flags.deleting" } } } })
    };
    world.entries = Some(entries.map(entry).to_vec());
    objects.iter().for_each(|object| world.know(object));
}

async fn uids(world: &World) -> Result<[String; 2]> {
    let uid = async |name: &str| anyhow::Ok(text(&world.live(name).await?, "/metadata/uid").to_owned());
    Ok([uid("password").await?, uid("disk").await?])
}

/// Moves both objects in a pass that is broken off after a call, and goes on in the next ones. Returns how many calls the first of them
/// took.
async fn life(entries: [&str; 2], policy: &str, last: usize) -> Result<usize> {
    let mut world = World::new().await?;
    renders(&mut world, entries, "giver", policy);
    world.pass().await?;
    let before = uids(&world).await?;
    renders(&mut world, entries, "receiver", policy);
    let mut breaking = Breaking::new(world.transport.clone(), last);
    let mut calls = None;
    for _ in 0..PASSES {
        if breaking.pass(&mut world).await?.is_none() {
            breaking = breaking.restarted();
        }
        calls.get_or_insert(breaking.made());
        ensure!(uids(&world).await? == before, "an object was deleted");
    }
    for name in ["password", "disk"] {
        let live = world.live(name).await?;
        ensure!(live["metadata"]["labels"]["hyperfleet.io/resource"] == "receiver", "{live:#}");
        ensure!(live["metadata"].get("deletionTimestamp").is_none(), "{live:#}");
    }
    Ok(calls.unwrap_or_default())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn moved_secret_and_volume_claim_keep_their_uids_whatever_the_order() -> Result<()> {
    for policy in ["if-unowned", "always"] {
        for entries in [["giver", "receiver"], ["receiver", "giver"]] {
            let calls = life(entries, policy, usize::MAX).await?;
            let broken = (0..calls).map(|last| async move {
                let broken = life(entries, policy, last).await;
                broken.with_context(|| format!("{policy}, {entries:?}, broken off after call {last} of {calls}"))
            });
            let broken: Vec<_> = broken.collect();
            stream::iter(broken).buffer_unordered(LIVES).try_collect::<Vec<usize>>().await?;
        }
    }
    Ok(())
}
