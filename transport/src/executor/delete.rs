//! Deletes many objects, each fenced by UID and resource version.

use futures::StreamExt;
use futures::stream;
use lifecycle_objects::object_ref::ObjectRef;
use lifecycle_objects::observation::Version;
use lifecycle_objects::write::{Deletion, Executed, PropagationPolicy, Target, WriteError, WriteErrorKind};
use serde_json::Value;

use super::{CONCURRENT_WRITES, Executor, uid};
use crate::Transport;

/// How to treat an object that the server still shows in its response to the deletion: return it, or read it
/// once more.
#[derive(Clone, Copy)]
pub(super) enum AfterDelete {
    UseResponse,
    ReadOnce,
}

/// The results of several deletions.
#[derive(Default)]
pub(super) struct Deletions {
    remaining: Vec<Version>,
    failures: Vec<(Target, WriteError)>,
}

impl Deletions {
    /// Whether the server refused at least one deletion.
    pub(super) fn is_refused(&self) -> bool {
        !self.failures.is_empty()
    }

    pub(super) fn add(&mut self, others: Self) {
        self.remaining.extend(others.remaining);
        self.failures.extend(others.failures);
    }

    pub(super) fn into_executed(self) -> Executed {
        if !self.failures.is_empty() {
            return Executed::DeleteFailed { remaining: self.remaining, failures: self.failures };
        }
        if self.remaining.is_empty() { Executed::Deleted } else { Executed::Deleting(self.remaining) }
    }
}

impl<T: Transport> Executor<'_, T> {
    pub(super) async fn delete(
        &self,
        targets: Vec<Target>,
        propagation: PropagationPolicy,
        after: AfterDelete,
    ) -> Deletions {
        let mut answers = stream::iter(targets)
            .map(|target| async move {
                let answer = self.delete_one(&target, propagation, after).await;
                (target, answer)
            })
            .buffered(CONCURRENT_WRITES);
        let mut deletions = Deletions::default();
        while let Some((target, answer)) = answers.next().await {
            match answer {
                Ok(None) => {}
                Ok(Some(object)) => deletions.remaining.push(Version::new(object)),
                Err(error) => deletions.failures.push((target, error)),
            }
        }
        deletions
    }

    /// Deletes one object. Returns the object if it still exists, such as one with a finalizer.
    async fn delete_one(
        &self,
        target: &Target,
        propagation: PropagationPolicy,
        after: AfterDelete,
    ) -> Result<Option<Value>, WriteError> {
        let object = ObjectRef::from(target);
        match self.until_deadline("delete", &object, self.transport.delete(target, propagation)).await {
            Ok(Deletion::Gone) => Ok(None),
            Ok(Deletion::Pending(object)) => Ok(match after {
                AfterDelete::UseResponse => Some(object),
                AfterDelete::ReadOnce => self.read_if_remaining(target, object).await,
            }),
            // A deletion by another client, such as the garbage collector, changes the resource version and so
            // causes a conflict. If the object is gone or terminating, no second deletion is needed.
            Err(refused) if refused.kind == WriteErrorKind::Conflict => {
                match self.until_deadline("get", &object, self.read(&object, &target.destination)).await {
                    Ok(None) => Ok(None),
                    Ok(Some(object)) if uid(&object) == target.uid && is_terminating(&object) => Ok(Some(object)),
                    Ok(Some(_)) | Err(_) => Err(refused),
                }
            }
            Err(error) => Err(error),
        }
    }

    /// Reads an object once after the server accepted its deletion. Returns the object if it still exists, and
    /// none if it is gone. If the read fails, returns `pending`, the object in the server's response to the
    /// deletion, because the object may still exist.
    async fn read_if_remaining(&self, target: &Target, pending: Value) -> Option<Value> {
        let object = ObjectRef::from(target);
        match self.until_deadline("get", &object, self.read(&object, &target.destination)).await {
            Ok(Some(object)) if uid(&object) == target.uid => Some(object),
            // The object is gone. If another object has its name now, the creation that follows fails with
            // `NameTaken`.
            Ok(_) => None,
            Err(_) => Some(pending),
        }
    }
}

fn is_terminating(object: &Value) -> bool {
    object.pointer("/metadata/deletionTimestamp").is_some_and(|at| !at.is_null())
}
