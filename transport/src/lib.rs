//! Carries out what was decided about objects, at whatever server they live.
//!
//! In: queries, fenced commands, and the requests of a set's [`Pass`](lifecycle_bundle::pass::Pass), with a deadline. Out: what
//! was read, and what became of each command. Nothing here decides or retries: core, or a set, has decided before.
//!
//! ```text
//! request ─▶ observe · executor ─▶ Transport ◀─ kubernetes · maestro · router · memory
//! ```
//!
//! * [`Transport`] reads and writes the objects of one server: exactly one call for each method.
//! * [`executor`] executes a command through a transport, or many at the same time; [`observe`] reads many; [`request`] carries
//!   out what a set asks for. All return by a deadline.
//! * [`router`] picks a transport by the destination of a call.
//! * [`memory`] is the API server of dry runs and tests; [`field_types`] knows the types of the fields that it checks.
//!
//! The transports to real servers are here and not in a program, as each program with a set of objects needs them, and not in
//! the crates of the clients, which know nothing of sets. Each is behind a feature, `kubernetes` and `maestro`: a program that
//! writes to another server, by REST or through a cloud's API, brings a transport of its own and links neither client.
//!
//! A [`Transport`] fails with a [`WriteError`], whose kind says how the server refused. A method makes exactly one call and never
//! retries. Two reads may make more: [`Transport::find`] of a kind that the server does not serve in the asked version, and
//! [`Transport::inspect`].

pub mod executor;
pub mod field_types;
#[cfg(feature = "kubernetes")]
pub mod kubernetes;
#[cfg(feature = "maestro")]
pub mod maestro;
pub mod memory;
pub mod observe;
pub mod request;
pub mod router;

use std::future::Future;

use lifecycle_bundle::guard::Members;
use lifecycle_objects::destination::Destination;
use lifecycle_objects::identity::Identity;
use lifecycle_objects::inspection::Inspection;
use lifecycle_objects::observation::{Query, Version};
use lifecycle_objects::write::{Deletion, PropagationPolicy, Target, UpdateMode, WriteError};
use serde_json::Value;

/// Reads and writes the objects of one destination, or of several.
pub trait Transport: Send + Sync + 'static {
    /// Reads live objects with one GET or one LIST. If the server does not serve the kind in the query's version, reads in the
    /// version that it prefers, and makes further requests only then. Returns an empty list if no object exists, or if the
    /// server serves the kind in no version.
    fn find(&self, query: &Query) -> impl Future<Output = Result<Vec<Value>, WriteError>> + Send;

    /// Looks, in this cluster, for an object that would go with what is to be deleted, and that is not of the set. Returns
    /// the first one in words. An error means that there may be one, so nothing may be deleted then.
    fn inspect(
        &self,
        inspection: &Inspection,
        members: &Members,
    ) -> impl Future<Output = Result<Option<Identity>, WriteError>> + Send;

    /// Creates the object (POST), and returns it as the server stored it.
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

    /// Writes the fields of `desired` to exactly the object that `target` names, as the adapter's field manager and in
    /// the way of `mode`. `live` is the object as the planner saw it: a Kubernetes transport may have to migrate its
    /// managed fields first, and keeps its finalizers in a replacement.
    fn update(
        &self,
        desired: &Value,
        target: &Target,
        live: &Version,
        mode: UpdateMode,
    ) -> impl Future<Output = Result<Value, WriteError>> + Send;

    /// Sends one JSON merge patch (RFC 7396) to exactly the object and version that `target` names, as the
    /// field manager `<name>-patch`. Returns the object as the server stored it, or `None` if it does not
    /// exist.
    fn patch(
        &self,
        document: &Value,
        target: &Target,
    ) -> impl Future<Output = Result<Option<Value>, WriteError>> + Send;

    /// Deletes exactly the object that `target` names, in the version that it names; if it names no version, in
    /// any.
    fn delete(
        &self,
        target: &Target,
        propagation: PropagationPolicy,
    ) -> impl Future<Output = Result<Deletion, WriteError>> + Send;
}
