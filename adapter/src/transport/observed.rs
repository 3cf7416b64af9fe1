//! A transport that counts and times the deletions of another one.

use std::sync::Arc;

use lifecycle_bundle::guard::Members;
use lifecycle_objects::destination::Destination;
use lifecycle_objects::identity::Identity;
use lifecycle_objects::inspection::Inspection;
use lifecycle_objects::observation::{Query, Version};
use lifecycle_objects::write::{Deletion, PropagationPolicy, Target, UpdateMode, WriteError};
use serde_json::Value;

use super::Transport;
use crate::metrics::{Metrics, WriteResult};

/// Forwards every call to another transport, and counts and times deletions.
#[derive(Debug)]
pub struct ObservedTransport<T> {
    inner: T,
    metrics: Arc<Metrics>,
}

impl<T> ObservedTransport<T> {
    /// Wraps the transport `inner`, so that `metrics` counts and times its deletions.
    pub fn new(inner: T, metrics: Arc<Metrics>) -> Self {
        Self { inner, metrics }
    }
}

impl<T: Transport> Transport for ObservedTransport<T> {
    async fn find(&self, query: &Query) -> Result<Vec<Value>, WriteError> {
        self.inner.find(query).await
    }

    async fn inspect(&self, inspection: &Inspection, members: &Members) -> Result<Option<Identity>, WriteError> {
        self.inner.inspect(inspection, members).await
    }

    async fn create(&self, desired: &Value, destination: &Destination) -> Result<Value, WriteError> {
        self.inner.create(desired, destination).await
    }

    async fn dry_run_create(&self, desired: &Value, destination: &Destination) -> Result<(), WriteError> {
        self.inner.dry_run_create(desired, destination).await
    }

    async fn update(
        &self,
        desired: &Value,
        target: &Target,
        live: &Version,
        mode: UpdateMode,
    ) -> Result<Value, WriteError> {
        self.inner.update(desired, target, live, mode).await
    }

    async fn patch(&self, document: &Value, target: &Target) -> Result<Option<Value>, WriteError> {
        self.inner.patch(document, target).await
    }

    async fn delete(&self, target: &Target, propagation: PropagationPolicy) -> Result<Deletion, WriteError> {
        let running = self.metrics.deletion_started(&target.kind.kind);
        let deletion = self.inner.delete(target, propagation).await;
        running.finish(if deletion.is_ok() { WriteResult::Success } else { WriteResult::Error });
        deletion
    }
}
