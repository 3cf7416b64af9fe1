//! Picks the transport by the destination of a call, and lets deletions be observed.
//!
//! In: calls that name their destination. Out: the response of that destination's transport. Fails with
//! `Invalid` if the destination has no transport. Loading a task checks its destinations, so that this failure
//! is a bug.

use std::sync::Arc;

use lifecycle_bundle::guard::Members;
use lifecycle_objects::destination::Destination;
use lifecycle_objects::identity::Identity;
use lifecycle_objects::inspection::Inspection;
use lifecycle_objects::observation::{Query, Version};
use lifecycle_objects::write::{Deletion, PropagationPolicy, Target, UpdateMode, WriteError, WriteErrorKind};
use serde_json::Value;

use super::Transport;

/// Is called with the kind of an object as its deletion begins. Returns what is called with whether the deletion was accepted,
/// or dropped if the deletion is.
pub type DeletionObserver = Arc<dyn Fn(&str) -> Box<dyn FnOnce(bool) + Send> + Send + Sync>;

/// A transport for this cluster, and one for all Maestro consumers; a task that does not need one has none.
pub struct Router<C, M> {
    cluster: Option<C>,
    consumers: Option<M>,
    observer: DeletionObserver,
}

impl<C, M> Router<C, M> {
    /// Creates a router that sends calls for this cluster to `cluster`, all others to `consumers`, and tells `observer` of
    /// each deletion.
    pub fn new(cluster: Option<C>, consumers: Option<M>, observer: DeletionObserver) -> Self {
        Self { cluster, consumers, observer }
    }

    fn cluster(&self, verb: &str) -> Result<&C, WriteError> {
        self.cluster.as_ref().ok_or_else(|| without_transport(verb, &Destination::ThisCluster))
    }

    fn consumers(&self, verb: &str, destination: &Destination) -> Result<&M, WriteError> {
        self.consumers.as_ref().ok_or_else(|| without_transport(verb, destination))
    }
}

fn without_transport(verb: &str, destination: &Destination) -> WriteError {
    WriteError {
        kind: WriteErrorKind::Invalid,
        call: format!("{verb} at {destination}"),
        status: None,
        message: "no transport leads there".to_owned(),
    }
}

impl<C: Transport, M: Transport> Transport for Router<C, M> {
    async fn find(&self, query: &Query) -> Result<Vec<Value>, WriteError> {
        match &query.destination {
            Destination::ThisCluster => self.cluster("find")?.find(query).await,
            consumer @ Destination::Consumer(_) => self.consumers("find", consumer)?.find(query).await,
        }
    }

    async fn inspect(&self, inspection: &Inspection, members: &Members) -> Result<Option<Identity>, WriteError> {
        self.cluster("inspect")?.inspect(inspection, members).await
    }

    async fn create(&self, desired: &Value, destination: &Destination) -> Result<Value, WriteError> {
        match destination {
            Destination::ThisCluster => self.cluster("create")?.create(desired, destination).await,
            Destination::Consumer(_) => self.consumers("create", destination)?.create(desired, destination).await,
        }
    }

    async fn dry_run_create(&self, desired: &Value, destination: &Destination) -> Result<(), WriteError> {
        match destination {
            Destination::ThisCluster => self.cluster("create")?.dry_run_create(desired, destination).await,
            Destination::Consumer(_) => {
                self.consumers("create", destination)?.dry_run_create(desired, destination).await
            }
        }
    }

    async fn update(
        &self,
        desired: &Value,
        target: &Target,
        live: &Version,
        mode: UpdateMode,
    ) -> Result<Value, WriteError> {
        match &target.destination {
            Destination::ThisCluster => self.cluster("update")?.update(desired, target, live, mode).await,
            consumer @ Destination::Consumer(_) => {
                self.consumers("update", consumer)?.update(desired, target, live, mode).await
            }
        }
    }

    async fn patch(&self, document: &Value, target: &Target) -> Result<Option<Value>, WriteError> {
        match &target.destination {
            Destination::ThisCluster => self.cluster("patch")?.patch(document, target).await,
            consumer @ Destination::Consumer(_) => self.consumers("patch", consumer)?.patch(document, target).await,
        }
    }

    async fn delete(&self, target: &Target, propagation: PropagationPolicy) -> Result<Deletion, WriteError> {
        let end = (self.observer)(&target.kind.kind);
        let deletion = async {
            match &target.destination {
                Destination::ThisCluster => self.cluster("delete")?.delete(target, propagation).await,
                consumer @ Destination::Consumer(_) => {
                    self.consumers("delete", consumer)?.delete(target, propagation).await
                }
            }
        };
        let deletion = deletion.await;
        end(deletion.is_ok());
        deletion
    }
}

#[cfg(test)]
mod tests;
