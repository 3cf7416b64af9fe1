//! Scenarios as tables: what happens before each pass, and what the pass does with each object.

use anyhow::{Context as _, Result, ensure};
use jiff::SignedDuration;
use lifecycle_e2e::fault::{Fault, When};
use serde_json::Value;

use crate::world::World;

/// What happens before a pass.
pub(crate) enum Act {
    /// The manifests render these objects from now on.
    Render(Vec<Value>),
    /// Nothing: the test names an object.
    Know(Value),
    /// The events have the next generation.
    Generation,
    /// The events demand the bundle's deletion.
    Deleting,
    /// So many minutes go by.
    Later(i64),
    /// Somebody else creates an object.
    Create(Value),
    /// Controllers observe these objects, and find them ready.
    Ready(&'static [&'static str]),
    /// Somebody puts a finalizer on an object.
    Hold(&'static str),
    /// Somebody removes the finalizers of an object.
    Release(&'static str),
    /// Somebody deletes an object.
    Delete(&'static str),
    /// A field manager sends a merge patch.
    Merge(&'static str, &'static str, Value),
    /// A field manager applies fields.
    Apply(&'static str, &'static str, Value),
    /// Kubernetes serves a type, whose definition the bundle has created.
    Established(String),
    /// Kubernetes has removed an object.
    Gone(String),
    /// The server fails once for a request of the adapter.
    Fault(When),
}

/// One pass of a scenario.
pub(crate) struct Pass {
    name: &'static str,
    acts: Vec<Act>,
    /// The result of the entry.
    result: &'static str,
    /// Each object with its effect and its readiness, sorted.
    objects: &'static [&'static str],
    /// Why the pass stopped; empty if it came to its end.
    why: &'static str,
}

pub(crate) fn pass(
    name: &'static str,
    acts: impl Into<Vec<Act>>,
    result: &'static str,
    objects: &'static [&'static str],
    why: &'static str,
) -> Pass {
    Pass { name, acts: acts.into(), result, objects, why }
}

/// Plays a scenario, pass by pass.
pub(crate) async fn play(world: &mut World, passes: impl IntoIterator<Item = Pass>) -> Result<()> {
    for Pass { name, acts, result, objects, why } in passes {
        for act in acts {
            perform(world, act).await.with_context(|| format!("before the pass `{name}`"))?;
        }
        let came_to = world.pass().await.with_context(|| name.to_owned())?.result.as_str();
        let (lines, reason) = (world.lines(), world.why());
        ensure!(
            lines == objects && reason == why && came_to == result,
            "{name}\n  expected: {result:?} {objects:?}\n            {why:?}\n  found:    {came_to:?} {lines:?}\n            {reason:?}",
        );
        world.proxy.heal();
    }
    Ok(())
}

async fn perform(world: &mut World, act: Act) -> Result<()> {
    match act {
        Act::Render(manifests) => world.render(manifests),
        Act::Know(object) => world.know(&object),
        Act::Generation => world.generation += 1,
        Act::Deleting => world.is_deleting = true,
        Act::Later(minutes) => world.now += SignedDuration::from_mins(minutes),
        Act::Create(object) => world.create(&object).await?,
        Act::Ready(names) => {
            for name in names {
                world.ready(name).await?;
            }
        }
        Act::Hold(name) => world.hold(name).await?,
        Act::Release(name) => world.release(name).await?,
        Act::Delete(name) => world.delete(name).await?,
        Act::Merge(manager, name, patch) => world.merge(manager, name, &patch).await?,
        Act::Apply(manager, name, fields) => world.apply(manager, name, &fields).await?,
        Act::Established(name) => world.await_established(&name).await?,
        Act::Gone(name) => world.await_gone(&name).await?,
        Act::Fault(when) => world.proxy.inject(when, Fault::Status(500)),
    }
    Ok(())
}
