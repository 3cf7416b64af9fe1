//! The `ManifestWorks` in Maestro, of every source and every consumer.
//!
//! In: a label, the place of a work, and fenced deletions. Out: what Maestro's servers answer. Fails: with the error of the
//! request. No request is sent twice. A work's namespace is its consumer; that a consumer's agent is away hides no work, as
//! Maestro itself has them.

use lifecycle_core::sweep::Candidate;
use lifecycle_kube::{Fence, ServedKind};
use lifecycle_maestro::{Maestro, identity, work};
use lifecycle_objects::destination::Destination;
use lifecycle_objects::object_ref::ObjectRef;
use lifecycle_objects::write::{Deletion, Target, WriteError, WriteErrorKind};
use serde_json::Value;

use crate::objects::Choice;

/// The works of one Maestro.
#[derive(Clone)]
pub struct Works {
    maestro: Maestro,
}

/// The kind of works in Maestro. Its plural is one that no API server serves: a cluster can have works of its own, and
/// the definition of their kind takes none of Maestro's along.
#[must_use]
pub fn kind() -> ServedKind {
    ServedKind {
        kind: work::kind(),
        plural: "maestro/manifestworks".to_owned(),
        namespaced: true,
        verbs: ["list", "get", "delete"].map(str::to_owned).to_vec(),
        has_status: true,
    }
}

impl Works {
    /// Sends all requests through `maestro`.
    #[must_use]
    pub fn new(maestro: Maestro) -> Self {
        Self { maestro }
    }

    /// Passes the chosen works to `each`; holds one page at a time, and what a candidate has of each work. No namespace of this
    /// cluster has works.
    ///
    /// # Errors
    ///
    /// A page could not be read; `each` has seen no work.
    pub async fn list(&self, choice: Choice<'_>, each: &mut dyn FnMut(Candidate)) -> Result<(), WriteError> {
        let Choice::Labelled(label) = choice else { return Ok(()) };
        // The client's futures are `Send`, and `each` is not.
        let mut found = Vec::new();
        self.maestro.labelled(label, &mut |work| found.push(candidate(&work))).await?;
        found.into_iter().for_each(each);
        Ok(())
    }

    /// Reads the consumer's work of this name.
    ///
    /// # Errors
    ///
    /// It is unknown which works there are; or two sources have a work of this name.
    pub async fn read(&self, consumer: &str, name: &str) -> Result<Option<Value>, WriteError> {
        let mut namesakes = self.maestro.named(consumer, name).await?;
        let work = namesakes.pop();
        if namesakes.is_empty() {
            return Ok(work);
        }
        let message = "two sources of Maestro have a work of this name: delete one of them".to_owned();
        Err(refused("read", consumer, name, message))
    }

    /// Creates a work. Its UID is that of the deleted one, which says whose it was.
    ///
    /// # Errors
    ///
    /// The work may exist or not; or it was one of another source, whose adapter would not find it.
    pub async fn create(&self, consumer: &str, work: &Value) -> Result<Value, WriteError> {
        let text = |key: &str| work["metadata"][key].as_str().unwrap_or_default();
        if identity::id_of(text("uid")) != self.maestro.id(consumer, text("name")) {
            let message = "another source wrote the work, and its adapter would not find this one: set \
                           `maestro.source_id` to that adapter's `clients.maestro.source_id`";
            return Err(refused("create", consumer, text("name"), message.to_owned()));
        }
        self.maestro.create(work, consumer).await
    }

    /// Deletes a work if it still is the one that the fence names.
    ///
    /// # Errors
    ///
    /// [`Conflict`](WriteErrorKind::Conflict) if the work was changed or replaced.
    pub async fn delete(&self, consumer: &str, name: &str, fence: Fence<'_>) -> Result<Deletion, WriteError> {
        let target = Target {
            destination: Destination::Consumer(consumer.to_owned()),
            kind: work::kind(),
            namespace: Some(consumer.to_owned()),
            name: name.to_owned(),
            uid: fence.uid().to_owned(),
            resource_version: fence.resource_version().unwrap_or_default().to_owned(),
        };
        self.maestro.delete_of_any_source(consumer, &target).await
    }
}

fn candidate(work: &Value) -> Candidate {
    let consumer = ObjectRef::of(work).namespace.unwrap_or_default();
    Candidate::of(work, Destination::Consumer(consumer))
}

fn refused(verb: &str, consumer: &str, name: &str, message: String) -> WriteError {
    WriteError {
        kind: WriteErrorKind::Invalid,
        call: format!("{verb} ManifestWork {consumer}/{name}"),
        status: None,
        message,
    }
}
