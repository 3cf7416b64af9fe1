//! The server that the model runs on: in memory, a real API server, or Maestro.

use std::collections::BTreeMap;
use std::sync::Arc;

use jiff::Timestamp;
use lifecycle_transport::Transport;
use serde_json::{Value, json};

use crate::journal::Journal;
use crate::people::patch;
use crate::sequence::Fault;
use crate::shape::TaskShape;

/// The finalizer with which somebody holds an object.
pub(crate) const HOLD: &str = "example.com/hold";

/// A server for one sequence.
pub(crate) trait Ground {
    type Transport: Transport;

    /// The server, for the model's own reads and writes.
    fn store(&self) -> Arc<Self::Transport>;

    /// The server as a replica accesses it.
    fn wire(&self, replica: usize) -> Arc<Self::Transport>;

    /// The namespace of all objects.
    fn namespace(&self) -> &str;

    /// The API group of the custom kind.
    fn group(&self) -> &str;

    /// Sets the server's clock, if that is possible.
    fn set_now(&self, now: Timestamp);

    /// Injects faults into the connection of a replica before a pass. Returns the faults that it cannot
    /// inject, which the watching transport injects instead.
    fn inject(&self, replica: usize, faults: BTreeMap<usize, Fault>) -> BTreeMap<usize, Fault>;

    /// Removes the injected faults; returns how many of them were hit.
    fn heal(&self, replica: usize) -> usize;

    /// Waits until the garbage collector and the other controllers have nothing left to do.
    async fn settle(&self, journal: &Journal<Self::Transport>) -> anyhow::Result<()>;

    /// Whether controllers may write to objects of the task at any time.
    fn is_busy(&self, task: &TaskShape) -> bool;

    /// Whether somebody holds the object: it stays after its deletion.
    fn is_held(&self, object: &Value) -> bool {
        object.pointer("/metadata/finalizers/0") == Some(&json!(HOLD))
    }

    /// Begins or ends to hold an object.
    async fn hold(&self, object: &Value, is_held: bool) -> anyhow::Result<()> {
        let finalizers = if is_held { json!([HOLD]) } else { Value::Null };
        patch(&*self.store(), object, &json!({ "metadata": { "finalizers": finalizers } })).await
    }

    /// Reports a status: done or busy.
    async fn report(&self, object: &Value, is_done: bool) -> anyhow::Result<()> {
        let phase = if is_done { "Done" } else { "Busy" };
        patch(&*self.store(), object, &json!({ "status": { "phase": phase } })).await
    }
}
