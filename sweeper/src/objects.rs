//! The objects as a pass sees them: lists, reads, events and fenced deletions, each in its destination.
//!
//! `kube_objects` talks to an API server, `works` to Maestro, and `everywhere` to both; the demo and the tests of a pass have
//! a cluster in memory.

use lifecycle_core::sweep::Candidate;
use lifecycle_kube::{Discovery, Fence, ServedKind};
use lifecycle_objects::destination::Destination;
use lifecycle_objects::object_ref::ObjectRef;
use lifecycle_objects::write::{Deletion, WriteError};
use serde_json::Value;

/// Which objects of a kind a list chooses.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Choice<'a> {
    /// Those in all namespaces that have this label, whatever its value.
    Labelled(&'a str),
    /// All in this namespace, labelled or not.
    InNamespace(&'a str),
    /// All in all namespaces, labelled or not.
    All,
}

/// The objects of this cluster, and those that are sent to others.
#[expect(async_fn_in_trait, reason = "a pass runs on one thread, so its futures need not be Send")]
pub trait Objects {
    /// Lists every kind of objects.
    ///
    /// # Errors
    ///
    /// The kinds cannot be listed. A group that cannot be read is not an error: see [`Discovery::unread`].
    async fn discover(&self) -> Result<Discovery, WriteError>;

    /// Passes the chosen objects of a kind to `each`; holds one page at a time.
    ///
    /// # Errors
    ///
    /// A page could not be read. `each` may have seen objects of earlier pages.
    async fn list(
        &self,
        kind: &ServedKind,
        choice: Choice<'_>,
        each: &mut dyn FnMut(Candidate),
    ) -> Result<(), WriteError>;

    /// Reads one object with all its fields; `None` if it does not exist.
    ///
    /// # Errors
    ///
    /// It is unknown whether the object exists.
    async fn read(&self, at: &Destination, object: &ObjectRef) -> Result<Option<Value>, WriteError>;

    /// Creates an object: an event about an object that is about to go, or an object that is restored.
    ///
    /// # Errors
    ///
    /// The object may exist or not.
    async fn create(&self, at: &Destination, object: &Value) -> Result<Value, WriteError>;

    /// Deletes an object if it still is the one that the fence names.
    ///
    /// # Errors
    ///
    /// [`Conflict`](lifecycle_objects::write::WriteErrorKind::Conflict) if the object was changed or replaced.
    async fn delete(&self, at: &Destination, object: &ObjectRef, fence: Fence<'_>) -> Result<Deletion, WriteError>;

    /// Asks the server to check the deletion without carrying it out. Success promises nothing.
    ///
    /// # Errors
    ///
    /// The server refuses the deletion, such as by a webhook; or no answer proves that it does not.
    async fn dry_run_delete(
        &self,
        _at: &Destination,
        _object: &ObjectRef,
        _fence: Fence<'_>,
    ) -> Result<(), WriteError> {
        Ok(())
    }
}
