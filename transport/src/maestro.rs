//! The transport to the clusters of Maestro's consumers.
//!
//! In: queries and fenced writes about `ManifestWorks`. Out: the works as Maestro has them. Fails with a
//! [`WriteError`] that quotes Maestro's text. The crate [`lifecycle_maestro`] makes the calls, and tells its observer about each;
//! this module finds the consumer in them.

use lifecycle_bundle::guard::Members;
use lifecycle_maestro::Maestro;
use lifecycle_objects::destination::Destination;
use lifecycle_objects::identity::Identity;
use lifecycle_objects::inspection::Inspection;
use lifecycle_objects::object_ref::ObjectRef;
use lifecycle_objects::observation::{Query, QueryBy, Version};
use lifecycle_objects::write::{Deletion, PropagationPolicy, Target, UpdateMode, WriteError, WriteErrorKind};
use serde_json::Value;

use crate::Transport;

/// A client of one Maestro, for all its consumers.
#[derive(Debug, Clone)]
pub struct MaestroTransport {
    maestro: Maestro,
}

impl MaestroTransport {
    /// Reads and writes through `maestro`.
    #[must_use]
    pub fn new(maestro: Maestro) -> Self {
        Self { maestro }
    }
}

/// The consumer of a call. The router sends no other calls here.
fn consumer(destination: &Destination) -> Result<&str, WriteError> {
    match destination {
        Destination::Consumer(name) => Ok(name),
        Destination::ThisCluster => Err(WriteError {
            kind: WriteErrorKind::Invalid,
            call: "reach this cluster through Maestro".to_owned(),
            status: None,
            message: "it has no consumer".to_owned(),
        }),
    }
}

/// The error of a call that only bundles make, which compile refuses at Maestro.
fn bug(call: String) -> WriteError {
    let message =
        "only bundles need this call, and a bundle cannot be at Maestro: this is a bug of the adapter, report it";
    WriteError { kind: WriteErrorKind::Invalid, call, status: None, message: message.to_owned() }
}

impl Transport for MaestroTransport {
    async fn find(&self, query: &Query) -> Result<Vec<Value>, WriteError> {
        let consumer = consumer(&query.destination)?;
        match &query.by {
            QueryBy::Name(name) => Ok(self.maestro.get(consumer, name).await?.into_iter().collect()),
            QueryBy::Labels(labels) if query.namespace.is_none() => self.maestro.list_everywhere(labels).await,
            QueryBy::Labels(labels) => self.maestro.list(consumer, labels).await,
        }
    }

    async fn inspect(&self, inspection: &Inspection, _: &Members) -> Result<Option<Identity>, WriteError> {
        Err(bug(inspection.to_string()))
    }

    async fn create(&self, desired: &Value, destination: &Destination) -> Result<Value, WriteError> {
        self.maestro.create(desired, consumer(destination)?).await
    }

    /// Maestro has no dry run, so the client checks what agents would drop and Maestro would refuse, and reads whether the
    /// name is taken.
    async fn dry_run_create(&self, desired: &Value, destination: &Destination) -> Result<(), WriteError> {
        self.maestro.check(desired, consumer(destination)?).await
    }

    /// Only bundles have the other modes, and compile refuses bundles at Maestro.
    async fn update(
        &self,
        desired: &Value,
        target: &Target,
        _: &Version,
        mode: UpdateMode,
    ) -> Result<Value, WriteError> {
        let consumer = consumer(&target.destination)?;
        match mode {
            UpdateMode::Apply => self.maestro.update(consumer, desired, target).await,
            UpdateMode::Resend => self.maestro.resend(consumer, desired, target).await,
            UpdateMode::ApplyOverride | UpdateMode::Replace => {
                Err(bug(format!("update {} by {mode:?}", ObjectRef::from(target))))
            }
        }
    }

    async fn patch(&self, document: &Value, target: &Target) -> Result<Option<Value>, WriteError> {
        self.maestro.patch(consumer(&target.destination)?, document, target).await
    }

    async fn delete(&self, target: &Target, propagation: PropagationPolicy) -> Result<Deletion, WriteError> {
        let keeps_objects = propagation == PropagationPolicy::Orphan;
        self.maestro.delete(consumer(&target.destination)?, target, keeps_objects).await
    }
}
