//! The transport to the Kubernetes API.
//!
//! In: core's queries and fenced writes. Out: the server's objects. Fails with a [`WriteError`] that quotes the
//! server's message. The crate [`lifecycle_kube`] makes the calls; this module converts its types from and to
//! core's, and reports each request to the adapter's metrics and to the supervisor of dependencies.

use std::sync::{Arc, Mutex, PoisonError};

use lifecycle_bundle::guard::{Guard, Members};
use lifecycle_kube::{CallObserver, CallRecord, Client, Cluster, Fence, Form, Selector, Settings};
use lifecycle_objects::destination::Destination;
use lifecycle_objects::identity::Identity;
use lifecycle_objects::inspection::Inspection;
use lifecycle_objects::merge_keys::equal_keys;
use lifecycle_objects::object_ref::ObjectRef;
use lifecycle_objects::observation::{Query, QueryBy, Version};
use lifecycle_objects::write::{Deletion, PropagationPolicy, Target, UpdateMode, WriteError, WriteErrorKind};
use serde_json::Value;

use crate::dependency::{Probe, Suspicion, is_gateway_error};
use crate::metrics::{Api, Metrics};
use crate::transport::Transport;

/// Field managers of the Go adapter, whose fields the first update migrates. The Go client uses the name of the
/// binary, which is `adapter` in the image and `hyperfleet-adapter` in a local build.
const FORMER_MANAGERS: [&str; 2] = ["adapter", "hyperfleet-adapter"];

/// A client of one API server that writes as one field manager.
#[derive(Clone)]
pub struct KubernetesTransport {
    cluster: Cluster,
}

impl KubernetesTransport {
    /// Sends requests through `client`, and writes as `field_manager`, which is the adapter's name.
    #[must_use]
    pub fn new(client: Client, field_manager: impl Into<String>, settings: Settings) -> Self {
        let settings = Settings { former_managers: &FORMER_MANAGERS, ..settings };
        Self { cluster: Cluster::new(client, field_manager, settings) }
    }

    /// Returns a probe that succeeds if the API server sends any response of its own.
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
        status if is_gateway_error(status) => Err(format!("HTTP status {status}")),
        _ => Ok(()),
    }
}

/// The label of the warnings that the API server sends with its answers.
pub const SERVER_WARNING: &str = "api_server";

/// Returns an observer that counts every request and each new warning of the API server, and raises a suspicion
/// for each request that the API server itself did not answer.
#[must_use]
pub fn observer(metrics: Arc<Metrics>, suspicion: Suspicion) -> CallObserver {
    Arc::new(move || {
        let (metrics, doubtful) = (Arc::clone(&metrics), suspicion.call());
        Box::new(move |call: &CallRecord<'_>| {
            for _ in 0..call.warnings {
                metrics.warning(SERVER_WARNING);
            }
            metrics.api_request(Api::Kubernetes, call.verb.label(), call.kind, call.status, call.duration);
            if let Some(status) = call.status.filter(|_| call.is_answered) {
                doubtful.answered(status);
            }
        })
    })
}

impl Transport for KubernetesTransport {
    async fn find(&self, query: &Query) -> Result<Vec<Value>, WriteError> {
        match &query.by {
            QueryBy::Name(_) => {
                let object = self.cluster.get_in_any_version(&ObjectRef::from(query)).await;
                object.map(|object| object.into_iter().collect())
            }
            QueryBy::Labels(labels) => {
                let (namespace, labels) = (query.namespace.as_deref(), Selector::Labels(labels));
                self.cluster.list_in_any_version(&query.kind, namespace, labels, Form::Full).await
            }
        }
    }

    async fn inspect(&self, inspection: &Inspection, members: &Members) -> Result<Option<Identity>, WriteError> {
        let guard = Mutex::new(Guard::new(inspection, members));
        let look = |object: &Value| guard.lock().unwrap_or_else(PoisonError::into_inner).look_at(object);
        let found = self.cluster.search(inspection, look).await?;
        Ok(found.or_else(|| guard.into_inner().unwrap_or_else(PoisonError::into_inner).finish()))
    }

    async fn create(&self, desired: &Value, _: &Destination) -> Result<Value, WriteError> {
        refuse_equal_keys("create", desired)?;
        self.cluster.create(desired).await
    }

    async fn dry_run_create(&self, desired: &Value, _: &Destination) -> Result<(), WriteError> {
        refuse_equal_keys("dry-run the creation of", desired)?;
        self.cluster.dry_run_create(desired).await
    }

    async fn update(
        &self,
        desired: &Value,
        target: &Target,
        live: &Version,
        mode: UpdateMode,
    ) -> Result<Value, WriteError> {
        let object = ObjectRef::from(target);
        if mode == UpdateMode::Resend {
            let call = format!("publish {object} again");
            let message = "only works of remote clusters are: this is a bug of the adapter, report it".to_owned();
            return Err(WriteError { kind: WriteErrorKind::Invalid, call, status: None, message });
        }
        self.cluster.update(desired, &object, fence(target), live, mode).await
    }

    async fn patch(&self, document: &Value, target: &Target) -> Result<Option<Value>, WriteError> {
        self.cluster.merge_patch(document, &ObjectRef::from(target), fence(target)).await
    }

    async fn delete(&self, target: &Target, propagation: PropagationPolicy) -> Result<Deletion, WriteError> {
        self.cluster.delete(&ObjectRef::from(target), fence(target), propagation).await
    }
}

/// Refuses an object that the server would create, and never apply.
pub(super) fn refuse_equal_keys(verb: &str, desired: &Value) -> Result<(), WriteError> {
    let Some(equal) = equal_keys(desired) else { return Ok(()) };
    let call = format!("{verb} {}", ObjectRef::of(desired));
    Err(WriteError { kind: WriteErrorKind::Invalid, call, status: None, message: equal.to_string() })
}

pub(super) fn fence(target: &Target) -> Fence<'_> {
    Fence::new(&target.uid, &target.resource_version)
}

#[cfg(test)]
mod tests;
