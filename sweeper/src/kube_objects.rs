//! The cluster behind an API server.
//!
//! In: kinds, choices of their objects, and fenced deletions. Out: what the API server answers; of a listed object its [`Candidate`]
//! alone. Fails: with the error of the request. No request is sent twice.

use lifecycle_core::sweep::Candidate;
use lifecycle_kube::{Cluster, Discovery, Fence, Form, Selector, ServedKind};
use lifecycle_objects::destination::Destination;
use lifecycle_objects::object_ref::ObjectRef;
use lifecycle_objects::write::{Deletion, PropagationPolicy, WriteError};
use serde_json::Value;

use crate::objects::{Choice, Objects};

/// The objects of one API server.
#[derive(Clone)]
pub struct KubeObjects {
    cluster: Cluster,
}

impl KubeObjects {
    /// Sends all requests through `cluster`, and thereby within its rate limit and to its observer.
    #[must_use]
    pub fn new(cluster: Cluster) -> Self {
        Self { cluster }
    }
}

impl Objects for KubeObjects {
    async fn discover(&self) -> Result<Discovery, WriteError> {
        self.cluster.discover().await
    }

    async fn list(
        &self,
        kind: &ServedKind,
        choice: Choice<'_>,
        each: &mut dyn FnMut(Candidate),
    ) -> Result<(), WriteError> {
        let (namespace, selector) = match choice {
            Choice::Labelled(label) => (None, Selector::Exists(label)),
            Choice::InNamespace(namespace) => (Some(namespace), Selector::Everything),
            Choice::All => (None, Selector::Everything),
        };
        let mut pages = self.cluster.list(&kind.kind, namespace, selector, Form::MetadataOnly)?;
        while let Some(page) = pages.next().await? {
            for object in page {
                each(Candidate::of(&object, Destination::ThisCluster));
            }
        }
        Ok(())
    }

    async fn read(&self, _: &Destination, object: &ObjectRef) -> Result<Option<Value>, WriteError> {
        self.cluster.get(object).await
    }

    async fn create(&self, _: &Destination, object: &Value) -> Result<Value, WriteError> {
        self.cluster.create(object).await
    }

    async fn delete(&self, _: &Destination, object: &ObjectRef, fence: Fence<'_>) -> Result<Deletion, WriteError> {
        self.cluster.delete(object, fence, PropagationPolicy::Background).await
    }

    async fn dry_run_delete(&self, _: &Destination, object: &ObjectRef, fence: Fence<'_>) -> Result<(), WriteError> {
        self.cluster.dry_run_delete(object, fence, PropagationPolicy::Background).await
    }
}
