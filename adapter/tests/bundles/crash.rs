//! Passes that end between any two calls, and the passes that go on.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use anyhow::{Context as _, Result, ensure};
use futures::{StreamExt as _, TryStreamExt as _, stream};
use hyperfleet_adapter::transport::kubernetes::KubernetesTransport;
use hyperfleet_adapter::transport::{Deletion, Transport};
use lifecycle_core::bundle::session::{Inspection, Members};
use lifecycle_core::destination::Destination;
use lifecycle_core::observation::{Query, Version};
use lifecycle_core::task::PropagationPolicy;
use lifecycle_core::write::{Target, UpdateMode, WriteError};
use serde_json::{Map, Value, json};
use tokio::sync::{Mutex, Notify};

use crate::world::{ENTRY, World, annotated, text};

/// Every which call a pass is broken off after.
const STEP: usize = 3;
/// How many lives go on at the same time.
const LIVES: usize = 4;
/// More passes than any part of a life needs.
const PASSES: usize = 10;

/// A transport that makes one call at a time, and none after a certain one.
#[derive(Clone)]
struct Breaking {
    wire: KubernetesTransport,
    turn: Arc<Mutex<()>>,
    made: Arc<AtomicUsize>,
    /// The call after which the pass is broken off.
    last: usize,
    broken: Arc<Notify>,
}

impl Breaking {
    async fn make<R>(&self, call: impl Future<Output = R>) -> R {
        let turn = self.turn.lock().await;
        if self.made.load(Ordering::SeqCst) == self.last {
            self.broken.notify_one();
            drop(turn);
            return std::future::pending().await;
        }
        let answer = call.await;
        self.made.fetch_add(1, Ordering::SeqCst);
        answer
    }
}

impl Transport for Breaking {
    async fn find(&self, query: &Query) -> Result<Vec<Value>, WriteError> {
        self.make(self.wire.find(query)).await
    }

    async fn find_in_any_version(&self, query: &Query) -> Result<Vec<Value>, WriteError> {
        self.make(self.wire.find_in_any_version(query)).await
    }

    async fn inspect(&self, inspection: &Inspection, members: &Members) -> Result<Option<String>, WriteError> {
        self.make(self.wire.inspect(inspection, members)).await
    }

    async fn create(&self, desired: &Value, destination: &Destination) -> Result<Value, WriteError> {
        self.make(self.wire.create(desired, destination)).await
    }

    async fn dry_run_create(&self, desired: &Value, destination: &Destination) -> Result<(), WriteError> {
        self.make(self.wire.dry_run_create(desired, destination)).await
    }

    async fn update(
        &self,
        desired: &Value,
        target: &Target,
        live: &Version,
        mode: UpdateMode,
    ) -> Result<Value, WriteError> {
        self.make(self.wire.update(desired, target, live, mode)).await
    }

    async fn patch(&self, document: &Value, target: &Target) -> Result<Option<Value>, WriteError> {
        self.make(self.wire.patch(document, target)).await
    }

    async fn delete(&self, target: &Target, propagation: PropagationPolicy) -> Result<Deletion, WriteError> {
        self.make(self.wire.delete(target, propagation)).await
    }
}

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
async fn settle(world: &mut World, breaking: &Breaking) -> Result<()> {
    for _ in 0..PASSES {
        let run = world.run(breaking.clone())?;
        let ended = tokio::select! {
            biased;
            report = run => Some(report),
            () = breaking.broken.notified() => None,
        };
        let Some(report) = ended else {
            // The adapter starts again.
            let go_on = Breaking { last: usize::MAX, broken: Arc::default(), ..breaking.clone() };
            return Box::pin(settle(world, &go_on)).await;
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

/// What the adapter wrote in the test's namespace, without what differs from life to life.
async fn state(world: &World) -> Result<Vec<Value>> {
    let mut objects = Vec::new();
    for kind in [world.map("", ""), world.secret(""), world.foo("", 1)] {
        for mut object in world.all_like(&kind).await? {
            let Some(adapter) = object.pointer("/metadata/labels").and_then(|it| it.get("hyperfleet.io/adapter"))
            else {
                continue;
            };
            ensure!(adapter == crate::world::ADAPTER, "{object}");
            if object["metadata"]["name"] == ENTRY {
                let mut memory: Map<String, Value> = serde_json::from_str(text(&object, "/data/memory"))?;
                memory.retain(|key, _| !matches!(key.as_str(), "claims" | "applied"));
                object["data"] = Value::Object(memory);
            }
            let kept = ["name", "namespace", "labels", "annotations", "finalizers"];
            if let Some(metadata) = object["metadata"].as_object_mut() {
                metadata.retain(|key, _| kept.contains(&key.as_str()));
            }
            let neutral = object.to_string().replace(world.ns(), "NS");
            let mut object: Value = serde_json::from_str(&neutral)?;
            // Both are hashes of the namespace as well.
            if let Some(labels) = object["metadata"]["labels"].as_object_mut() {
                labels.retain(|key, _| !key.starts_with("applyset."));
            }
            if let Some(annotations) = object["metadata"]["annotations"].as_object_mut() {
                annotations.remove("hyperfleet.io/digest");
            }
            if let Some(completed) = object.pointer_mut("/data/completed") {
                *completed = json!(completed.as_object().map(|it| it.keys().cloned().collect::<Vec<_>>()));
            }
            objects.push(object);
        }
    }
    Ok(objects)
}

/// Lives a life whose pass is broken off after a call. Returns the state after each part, and how many calls were made.
async fn life(last: usize) -> Result<(Vec<Vec<Value>>, usize)> {
    let mut world = World::new().await?;
    let breaking = Breaking {
        wire: world.transport.clone(),
        turn: Arc::default(),
        made: Arc::default(),
        last,
        broken: Arc::default(),
    };
    let mut states = Vec::new();
    // Once a pass was broken off, the rest of the life is undisturbed.
    let of_now = || {
        let is_broken = breaking.made.load(Ordering::SeqCst) >= last;
        Breaking { last: if is_broken { usize::MAX } else { last }, broken: Arc::default(), ..breaking.clone() }
    };
    for manifests in parts(&world) {
        world.render(manifests);
        settle(&mut world, &of_now()).await?;
        states.push(state(&world).await?);
    }
    world.is_deleting = true;
    settle(&mut world, &of_now()).await?;
    states.push(state(&world).await?);
    Ok((states, breaking.made.load(Ordering::SeqCst)))
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn life_that_is_broken_off_after_any_call_ends_as_an_undisturbed_one() -> Result<()> {
    let (expected, calls) = life(usize::MAX).await?;
    eprintln!("a life of {calls} calls");
    let counts: Vec<usize> = expected.iter().map(Vec::len).collect();
    assert_eq!(counts, [6, 6, 5, 0], "the objects of each part, with the parent: {expected:#?}");
    let broken = (0..calls).step_by(STEP).map(|last| {
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
