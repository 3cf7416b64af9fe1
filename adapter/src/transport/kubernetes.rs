//! The Kubernetes API as a transport.
//!
//! In: core's queries and fenced writes. Out: the server's objects, or a [`WriteError`] with the server's words. The calls
//! are [`lifecycle_kube`]'s; this module translates between its values and core's, and lets the adapter's metrics and
//! doubts hear of each request.

use std::sync::Arc;

use lifecycle_core::destination::Destination;
use lifecycle_core::object_ref::ObjectRef;
use lifecycle_core::observation::{Query, QueryBy, Version};
use lifecycle_core::task::PropagationPolicy;
use lifecycle_core::write::{Target, WriteError, WriteErrorKind};
use lifecycle_kube::{CallObserver, CallRecord, Client, Cluster, Error, ErrorKind, Fence, Form, Settings};
use serde_json::Value;

use crate::dependency::{Doubt, Probe, is_away};
use crate::metrics::{Api, Metrics};
use crate::transport::{Deletion, Transport};

/// The field managers that the Go adapter wrote as: its client took the name of the binary, which the image
/// installs as `adapter` and the build calls `hyperfleet-adapter`.
const FORMER_MANAGERS: [&str; 2] = ["adapter", "hyperfleet-adapter"];

/// A connection to one API server, as one field manager.
#[derive(Clone)]
pub struct KubernetesTransport {
    cluster: Cluster,
}

impl KubernetesTransport {
    /// Uses `client`, and writes as `field_manager`, the adapter's name.
    #[must_use]
    pub fn new(client: Client, field_manager: impl Into<String>, settings: Settings) -> Self {
        let settings = Settings { former_managers: &FORMER_MANAGERS, ..settings };
        Self { cluster: Cluster::new(client, field_manager, settings) }
    }

    /// Asks the API server for any answer.
    #[must_use]
    pub fn probe(&self) -> Probe {
        let cluster = self.cluster.clone();
        Box::new(move || {
            let cluster = cluster.clone();
            Box::pin(async move { verdict(cluster.probe().await) })
        })
    }
}

fn verdict(answer: Result<u16, String>) -> Result<(), String> {
    match answer? {
        status if is_away(status) => Err(format!("HTTP status {status}")),
        _ => Ok(()),
    }
}

/// Counts every request, and raises a doubt for each that the API server itself did not answer.
#[must_use]
pub fn observer(metrics: Arc<Metrics>, doubt: Doubt) -> CallObserver {
    Arc::new(move || {
        let (metrics, doubtful) = (Arc::clone(&metrics), doubt.call());
        Box::new(move |call: &CallRecord<'_>| {
            metrics.api_request(Api::Kubernetes, call.verb.label(), call.kind, call.status, call.duration);
            if let Some(status) = call.status.filter(|_| call.is_answered) {
                doubtful.answered(status);
            }
        })
    })
}

impl Transport for KubernetesTransport {
    async fn find(&self, query: &Query) -> Result<Vec<Value>, WriteError> {
        let found = match &query.by {
            QueryBy::Name(_) => {
                let object = self.cluster.get(&ObjectRef::from(query)).await;
                object.map(|object| object.into_iter().collect())
            }
            QueryBy::Labels(labels) => {
                match self.cluster.list(&query.kind, query.namespace.as_deref(), labels, Form::Full) {
                    Ok(pages) => pages.read_all().await,
                    Err(error) => Err(error),
                }
            }
        };
        found.map_err(write_error)
    }

    async fn create(&self, desired: &Value, _: &Destination) -> Result<Value, WriteError> {
        self.cluster.create(desired).await.map_err(write_error)
    }

    async fn dry_run_create(&self, desired: &Value, _: &Destination) -> Result<(), WriteError> {
        self.cluster.dry_run_create(desired).await.map_err(write_error)
    }

    async fn update(&self, desired: &Value, target: &Target, live: &Version) -> Result<Value, WriteError> {
        let (object, fence) = (ObjectRef::from(target), fence(target));
        let migrated = match live.managed_fields() {
            Some(managed_fields) => self.cluster.migrate(&object, fence, managed_fields).await.map_err(write_error)?,
            None => None,
        };
        let fence = migrated.as_deref().map_or(fence, |version| Fence::new(&target.uid, version));
        self.cluster.apply(desired, &object, fence).await.map_err(write_error)
    }

    async fn patch(&self, document: &Value, target: &Target) -> Result<Option<Value>, WriteError> {
        self.cluster.merge_patch(document, &ObjectRef::from(target), fence(target)).await.map_err(write_error)
    }

    async fn delete(&self, target: &Target, propagation: PropagationPolicy) -> Result<Deletion, WriteError> {
        self.cluster.delete(&ObjectRef::from(target), fence(target), propagation).await.map_err(write_error)
    }
}

pub(super) fn fence(target: &Target) -> Fence<'_> {
    Fence::new(&target.uid, &target.resource_version)
}

fn write_error(error: Error) -> WriteError {
    let kind = match error.kind {
        // No write is answered so, and an unread list is unread whatever the reason.
        ErrorKind::Expired | ErrorKind::NotFound => WriteErrorKind::NotFound,
        ErrorKind::AlreadyExists => WriteErrorKind::AlreadyExists,
        ErrorKind::Conflict => WriteErrorKind::Conflict,
        ErrorKind::Invalid => WriteErrorKind::Invalid,
        ErrorKind::Forbidden => WriteErrorKind::Forbidden,
        ErrorKind::TooManyRequests => WriteErrorKind::TooManyRequests,
        ErrorKind::Unavailable => WriteErrorKind::Unavailable,
        ErrorKind::Unreachable => WriteErrorKind::Unreachable,
    };
    WriteError { kind, call: error.call, status: error.status, message: error.message }
}

#[cfg(test)]
mod tests;
