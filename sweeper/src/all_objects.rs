//! The objects of this cluster, and the works in Maestro if the configuration names one.
//!
//! In and out: as [`KubeObjects`] and [`Works`]. Fails: as they do; and if a call is about a work and there is no Maestro.

use lifecycle_core::sweep::Candidate;
use lifecycle_kube::{Discovery, Fence, ServedKind};
use lifecycle_objects::destination::Destination;
use lifecycle_objects::object_ref::ObjectRef;
use lifecycle_objects::write::{Deletion, WriteError, WriteErrorKind};
use serde_json::Value;

use crate::kube_objects::KubeObjects;
use crate::maestro_objects::{self, Works};
use crate::objects::{Choice, Objects};

/// All objects that a sweeper can reach.
#[derive(Clone)]
pub struct Everywhere {
    /// The objects of this cluster.
    pub cluster: KubeObjects,
    /// The works in Maestro.
    pub works: Option<Works>,
}

impl Everywhere {
    fn works(&self, consumer: &str, object: &ObjectRef) -> Result<&Works, WriteError> {
        self.works.as_ref().ok_or_else(|| WriteError {
            kind: WriteErrorKind::Invalid,
            call: format!("reach {object} of Maestro consumer {consumer}"),
            status: None,
            message: "the configuration names no Maestro: set `maestro`".to_owned(),
        })
    }
}

impl Objects for Everywhere {
    async fn discover(&self) -> Result<Discovery, WriteError> {
        let mut discovery = self.cluster.discover().await?;
        discovery.kinds.extend(self.works.iter().map(|_| maestro_objects::kind()));
        Ok(discovery)
    }

    async fn list(
        &self,
        kind: &ServedKind,
        choice: Choice<'_>,
        each: &mut dyn FnMut(Candidate),
    ) -> Result<(), WriteError> {
        match &self.works {
            Some(works) if *kind == maestro_objects::kind() => works.list(choice, each).await,
            Some(_) | None => self.cluster.list(kind, choice, each).await,
        }
    }

    async fn read(&self, at: &Destination, object: &ObjectRef) -> Result<Option<Value>, WriteError> {
        match at {
            Destination::ThisCluster => self.cluster.read(at, object).await,
            Destination::Consumer(name) => self.works(name, object)?.read(name, &object.name).await,
        }
    }

    async fn create(&self, at: &Destination, object: &Value) -> Result<Value, WriteError> {
        match at {
            Destination::ThisCluster => self.cluster.create(at, object).await,
            Destination::Consumer(name) => self.works(name, &ObjectRef::of(object))?.create(name, object).await,
        }
    }

    async fn delete(&self, at: &Destination, object: &ObjectRef, fence: Fence<'_>) -> Result<Deletion, WriteError> {
        match at {
            Destination::ThisCluster => self.cluster.delete(at, object, fence).await,
            Destination::Consumer(name) => self.works(name, object)?.delete(name, &object.name, fence).await,
        }
    }

    /// Maestro has no dry run: of a work, the next pass tries the deletion itself again.
    async fn dry_run_delete(&self, at: &Destination, object: &ObjectRef, fence: Fence<'_>) -> Result<(), WriteError> {
        match at {
            Destination::ThisCluster => self.cluster.dry_run_delete(at, object, fence).await,
            Destination::Consumer(_) => Ok(()),
        }
    }
}
