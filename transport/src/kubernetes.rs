//! The transport to the Kubernetes API.
//!
//! In: queries and fenced writes. Out: the server's objects. Fails with a [`WriteError`] that quotes the server's message. The
//! crate [`lifecycle_kube`] makes the calls, and tells the observer of its cluster about each.

use std::sync::{Mutex, PoisonError};

use lifecycle_bundle::guard::{Guard, Members};
use lifecycle_kube::{Cluster, Form, Selector};
use lifecycle_objects::destination::Destination;
use lifecycle_objects::fence::Fence;
use lifecycle_objects::identity::Identity;
use lifecycle_objects::inspection::Inspection;
use lifecycle_objects::merge_keys::refuse_equal_keys;
use lifecycle_objects::object_ref::ObjectRef;
use lifecycle_objects::observation::{Query, QueryBy, Version};
use lifecycle_objects::write::{Deletion, PropagationPolicy, Target, UpdateMode, WriteError, WriteErrorKind};
use serde_json::Value;

use crate::Transport;

/// Reads and writes the objects of one cluster.
#[derive(Clone)]
pub struct KubernetesTransport {
    cluster: Cluster,
}

impl KubernetesTransport {
    /// Reads and writes through `cluster`.
    #[must_use]
    pub fn new(cluster: Cluster) -> Self {
        Self { cluster }
    }
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
        self.cluster.update(desired, &object, Fence::from(target), live, mode).await
    }

    async fn patch(&self, document: &Value, target: &Target) -> Result<Option<Value>, WriteError> {
        self.cluster.merge_patch(document, &ObjectRef::from(target), Fence::from(target)).await
    }

    async fn delete(&self, target: &Target, propagation: PropagationPolicy) -> Result<Deletion, WriteError> {
        self.cluster.delete(&ObjectRef::from(target), Fence::from(target), propagation).await
    }
}
