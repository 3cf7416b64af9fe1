//! Deletes many objects, each fenced.

use futures::StreamExt;
use futures::stream;
use lifecycle_core::observation::Version;
use lifecycle_core::task::PropagationPolicy;
use lifecycle_core::write::{Executed, Target, WriteError, WriteErrorKind};
use serde_json::Value;

use super::{CONCURRENT_WRITES, Executor, uid};
use crate::transport::{Deletion, Transport};
use lifecycle_core::object_ref::ObjectRef;

/// What to do about an object whose deletion was accepted, but which the answer still shows.
#[derive(Clone, Copy)]
pub(super) enum AfterDelete {
    TakeTheAnswer,
    ReadOnce,
}

/// What became of several deletions.
#[derive(Default)]
pub(super) struct Deletions {
    remaining: Vec<Version>,
    failures: Vec<(Target, WriteError)>,
}

impl Deletions {
    /// Whether one of them was refused.
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

    /// Deletes one object; gives it back if it still stands.
    async fn delete_one(
        &self,
        target: &Target,
        propagation: PropagationPolicy,
        after: AfterDelete,
    ) -> Result<Option<Value>, WriteError> {
        let object = ObjectRef::from(target);
        match self.in_time("delete", &object, self.transport.delete(target, propagation)).await {
            Ok(Deletion::Gone) => Ok(None),
            Ok(Deletion::Pending(object)) => Ok(match after {
                AfterDelete::TakeTheAnswer => Some(object),
                AfterDelete::ReadOnce => self.still_standing(target, object).await,
            }),
            // A deletion by somebody else, the garbage collector say, makes a new version, too: it needs no other.
            Err(refused) if refused.kind == WriteErrorKind::Conflict => {
                match self.in_time("get", &object, self.read(&object, &target.destination)).await {
                    Ok(None) => Ok(None),
                    Ok(Some(object)) if uid(&object) == target.uid && is_terminating(&object) => Ok(Some(object)),
                    Ok(Some(_)) | Err(_) => Err(refused),
                }
            }
            Err(error) => Err(error),
        }
    }

    /// Looks once whether an object whose deletion was accepted is gone; `pending` is the server's answer to that.
    async fn still_standing(&self, target: &Target, pending: Value) -> Option<Value> {
        let object = ObjectRef::from(target);
        match self.in_time("get", &object, self.read(&object, &target.destination)).await {
            Ok(Some(object)) if uid(&object) == target.uid => Some(object),
            // Gone; or gone, and its name taken by another since, which the creation will find out.
            Ok(_) => None,
            // Unread is not gone.
            Err(_) => Some(pending),
        }
    }
}

fn is_terminating(object: &Value) -> bool {
    object.pointer("/metadata/deletionTimestamp").is_some_and(|at| !at.is_null())
}
