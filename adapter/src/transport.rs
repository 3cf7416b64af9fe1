//! Where manifests are applied.
//!
//! In: core's queries and fenced writes. Out: the server's objects, or a [`WriteError`] that says what kind
//! of refusal it was. A transport makes exactly one call per method, never retries and never chooses.

pub mod kubernetes;
pub mod memory;
pub mod observed;
pub mod router;

use std::future::Future;

use lifecycle_core::destination::Destination;
use lifecycle_core::observation::{Query, Version};
use lifecycle_core::task::PropagationPolicy;
use lifecycle_core::write::{Target, WriteError};
pub use lifecycle_kube::Deletion;
use serde_json::Value;

/// What reaches one destination, or several.
pub trait Transport: Send + Sync + 'static {
    /// Reads live objects: one GET, or one LIST. Nothing found is an empty list.
    fn find(&self, query: &Query) -> impl Future<Output = Result<Vec<Value>, WriteError>> + Send;

    /// Creates the object (POST) and returns what the server made of it.
    fn create(
        &self,
        desired: &Value,
        destination: &Destination,
    ) -> impl Future<Output = Result<Value, WriteError>> + Send;

    /// Sends [`create`](Self::create) as a server-side dry run, which writes nothing.
    fn dry_run_create(
        &self,
        desired: &Value,
        destination: &Destination,
    ) -> impl Future<Output = Result<(), WriteError>> + Send;

    /// Applies the object onto the very one that `target` names, as the adapter's field manager, by force. `live` is the
    /// object as it was looked at: what earlier writes left in it may have to be migrated first.
    fn update(
        &self,
        desired: &Value,
        target: &Target,
        live: &Version,
    ) -> impl Future<Output = Result<Value, WriteError>> + Send;

    /// Sends one JSON merge patch (RFC 7396) onto the very object that `target` names, in the version that it names,
    /// as the field manager `<name>-patch`, and returns what the server made of it; none if it is not there.
    fn patch(
        &self,
        document: &Value,
        target: &Target,
    ) -> impl Future<Output = Result<Option<Value>, WriteError>> + Send;

    /// Deletes the very object that `target` names, in the version that it names; without a version, in any.
    fn delete(
        &self,
        target: &Target,
        propagation: PropagationPolicy,
    ) -> impl Future<Output = Result<Deletion, WriteError>> + Send;
}
