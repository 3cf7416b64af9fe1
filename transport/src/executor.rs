//! Executes the planner's commands through a transport: one, or many at the same time.
//!
//! In: a [`Command`] and the event's deadline. Out: [`Executed`], the result with the server's objects or its
//! refusal. No function here returns an error or panics.
//!
//! The executor neither retries nor decides. It reads on its own in three cases only: which object holds a
//! taken name, whether a deleted object is gone before it is created again, and whether an object that changed
//! since the planner saw it is terminating already.

mod batch;
mod delete;
mod disown;
mod patch;

use lifecycle_objects::destination::Destination;
use lifecycle_objects::object_ref::ObjectRef;
use lifecycle_objects::observation::{Query, QueryBy};
use lifecycle_objects::write::{Command, Executed, NotCreated, PropagationPolicy, Target, WriteError, WriteErrorKind};
use serde_json::Value;
use tokio::time::Instant;

pub use self::batch::{execute_all, inspect_all};
use self::delete::AfterDelete;
use crate::Transport;

/// How many objects of one command are written at the same time: enough to hide the round trips, and few enough
/// for the API server's fair queuing to serve other events too.
const CONCURRENT_WRITES: usize = 16;

/// Executes `command` once, and returns by `deadline` at the latest.
///
/// At the deadline the executor drops a running call, whose write the server may still carry out; the next
/// event sees the result. It starts no call after the deadline.
pub async fn execute<T: Transport>(transport: &T, command: Command, deadline: Instant) -> Executed {
    let executor = Executor { transport, deadline };
    match command {
        Command::Create { destination, desired } => match executor.create(&desired, &destination).await {
            Ok(object) => Executed::Created(object),
            Err(not_created) => unchanged(not_created),
        },
        Command::Update { desired, mode, target, live } => {
            let update = transport.update(&desired, &target, &live, mode);
            match executor.until_deadline("update", &ObjectRef::from(&target), update).await {
                Ok(object) => Executed::Updated(object),
                Err(error) => Executed::Failed(error),
            }
        }
        Command::Recreate { destination, desired, targets } => executor.recreate(&desired, &destination, targets).await,
        Command::Delete { targets, propagation } => {
            executor.delete(targets, propagation, AfterDelete::UseResponse).await.into_executed()
        }
        Command::Patch { target, documents } => executor.patch(target, &documents).await,
        Command::Disown { former, last } => executor.disown(former, last).await,
    }
}

struct Executor<'a, T> {
    transport: &'a T,
    deadline: Instant,
}

impl<T: Transport> Executor<'_, T> {
    async fn create(&self, desired: &Value, destination: &Destination) -> Result<Value, NotCreated> {
        let object = ObjectRef::of(desired);
        match self.until_deadline("create", &object, self.transport.create(desired, destination)).await {
            Ok(object) => Ok(object),
            Err(error) if error.kind == WriteErrorKind::AlreadyExists => {
                Err(self.name_taken(&object, destination).await)
            }
            Err(error) => Err(NotCreated::Failed(error)),
        }
    }

    /// Reads the object that holds a taken name.
    async fn name_taken(&self, object: &ObjectRef, destination: &Destination) -> NotCreated {
        match self.until_deadline("get", object, self.read(object, destination)).await {
            Ok(holder) => NotCreated::NameTaken(holder),
            Err(unread) => NotCreated::Failed(unread),
        }
    }

    async fn recreate(&self, desired: &Value, destination: &Destination, mut targets: Vec<Target>) -> Executed {
        let object = ObjectRef::of(desired);
        let dry_run = self.transport.dry_run_create(desired, destination);
        match self.until_deadline("dry-run the creation of", &object, dry_run).await {
            Ok(()) => {}
            Err(error) if error.kind == WriteErrorKind::AlreadyExists => {
                // The server validates the object before it checks the name, so "already exists" proves that the
                // object is valid. If no target holds the name, deleting the targets would not free the name, so
                // report its holder.
                if !targets.iter().any(|target| object.is_named_as(target)) {
                    return unchanged(self.name_taken(&object, destination).await);
                }
            }
            Err(error) => return Executed::Failed(error),
        }
        // Delete the current version last: while it exists, the next event finds it and continues the
        // recreation.
        let last = targets.pop();
        let mut deletions = self.delete(targets, PropagationPolicy::Background, AfterDelete::ReadOnce).await;
        if !deletions.is_refused() {
            let last = last.into_iter().collect();
            deletions.add(self.delete(last, PropagationPolicy::Background, AfterDelete::ReadOnce).await);
        }
        let deleted = deletions.into_executed();
        if deleted != Executed::Deleted {
            return deleted;
        }
        match self.create(desired, destination).await {
            Ok(object) => Executed::Recreated(object),
            Err(not_created) => Executed::DeletedNotCreated(not_created),
        }
    }

    async fn read(&self, object: &ObjectRef, destination: &Destination) -> Result<Option<Value>, WriteError> {
        let query = Query {
            destination: destination.clone(),
            kind: object.kind.clone(),
            namespace: object.namespace.clone(),
            by: QueryBy::Name(object.name.clone()),
        };
        Ok(self.transport.find(&query).await?.into_iter().next())
    }

    async fn until_deadline<R>(
        &self,
        verb: &str,
        object: &ObjectRef,
        call: impl Future<Output = Result<R, WriteError>>,
    ) -> Result<R, WriteError> {
        // `timeout_at` polls the call before it checks the clock, so that after the deadline it would still
        // send the request.
        if Instant::now() < self.deadline
            && let Ok(answer) = tokio::time::timeout_at(self.deadline, call).await
        {
            return answer;
        }
        Err(deadline_exceeded(format!("{verb} {object}")))
    }
}

/// The result of a creation that failed before anything was written.
fn unchanged(not_created: NotCreated) -> Executed {
    match not_created {
        NotCreated::NameTaken(holder) => Executed::NameTaken(holder),
        NotCreated::Failed(error) => Executed::Failed(error),
    }
}

/// The error of a `call` that was dropped or not started because of the event's deadline.
pub(crate) fn deadline_exceeded(call: String) -> WriteError {
    WriteError {
        kind: WriteErrorKind::DeadlineExceeded,
        call,
        status: None,
        message: "the event's deadline passed".to_owned(),
    }
}

fn uid(object: &Value) -> &str {
    object.pointer("/metadata/uid").and_then(Value::as_str).unwrap_or_default()
}

#[cfg(test)]
mod tests;
