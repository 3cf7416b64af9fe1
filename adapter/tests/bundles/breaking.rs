//! A transport that is broken off after a call, as if the adapter's process had ended there.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use anyhow::Result;
use hyperfleet_adapter::pass::PassReport;
use lifecycle_bundle::guard::Members;
use lifecycle_objects::destination::Destination;
use lifecycle_objects::identity::Identity;
use lifecycle_objects::inspection::Inspection;
use lifecycle_objects::observation::{Query, Version};
use lifecycle_objects::write::{Deletion, PropagationPolicy, Target, UpdateMode, WriteError};
use lifecycle_transport::Transport;
use serde_json::Value;
use tokio::sync::{Mutex, Notify};

use crate::world::World;

/// A transport that makes one call at a time, and none after a certain one.
#[derive(Clone)]
pub(crate) struct Breaking<W> {
    wire: W,
    turn: Arc<Mutex<()>>,
    made: Arc<AtomicUsize>,
    /// The call after which the pass is broken off.
    last: usize,
    broken: Arc<Notify>,
}

impl<W: Transport + Clone> Breaking<W> {
    pub(crate) fn new(wire: W, last: usize) -> Self {
        Self { wire, turn: Arc::default(), made: Arc::default(), last, broken: Arc::default() }
    }

    /// How many calls were made so far.
    pub(crate) fn made(&self) -> usize {
        self.made.load(Ordering::SeqCst)
    }

    /// The transport of an adapter that started again: nothing breaks it off.
    pub(crate) fn restarted(&self) -> Self {
        Self { last: usize::MAX, turn: Arc::default(), broken: Arc::default(), ..self.clone() }
    }

    /// Handles one event. Returns nothing if the pass was broken off.
    pub(crate) async fn pass(&self, world: &mut World) -> Result<Option<PassReport>> {
        let run = world.run(self.clone())?;
        Ok(tokio::select! {
            biased;
            report = run => Some(report),
            () = self.broken.notified() => None,
        })
    }

    async fn make<R>(&self, call: impl Future<Output = R>) -> R {
        let turn = self.turn.lock().await;
        if self.made() == self.last {
            self.broken.notify_one();
            drop(turn);
            return std::future::pending().await;
        }
        let answer = call.await;
        self.made.fetch_add(1, Ordering::SeqCst);
        answer
    }
}

impl<W: Transport + Clone> Transport for Breaking<W> {
    async fn find(&self, query: &Query) -> Result<Vec<Value>, WriteError> {
        self.make(self.wire.find(query)).await
    }

    async fn inspect(&self, inspection: &Inspection, members: &Members) -> Result<Option<Identity>, WriteError> {
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
