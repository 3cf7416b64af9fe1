//! Deletes the objects of a released plan, a few at a time.
//!
//! In: a plan, and since when each object's owner is gone. Out: an [`Attempt`] for each object, with its [`Outcome`].
//! Fails: never as a whole. No request is sent a second time: the next pass judges what is left.
//!
//! For each object, in this order:
//!
//! 1. if it is a namespace or the definition of a kind, look once more at everything in it, of every kind that the cluster
//!    serves by then; then read it in full, and [`recheck`] that it still is what was judged;
//! 2. if the API server refused its deletion in the pass before, ask by a dry run whether it still does;
//! 3. write the audit record that can restore the object, to the disk;
//! 4. delete exactly the object that was read, fenced by UID and resource version;
//! 5. write the audit record of the result;
//! 6. if the API server accepted the deletion, tell it to people by a Kubernetes Event; of a work in Maestro, nobody would see it.
//!
//! Before each of these steps but 5 the replica asks whether the term lasts in which the plan was judged. Before steps 1
//! and 4 it asks for the [`Evidence`] again. Once the evidence is withdrawn, or an audit record could not be written, this
//! pass deletes nothing more.

mod event;
mod outcome;
mod refused;

use std::collections::BTreeMap;
use std::num::NonZeroUsize;
use std::time::Duration;

use futures::stream::{self, Stream, StreamExt as _};
use jiff::Timestamp;
use lifecycle_core::sweep::{Candidate, Container, Keep, Policy, Strikes, SweepPlan, recheck};
use lifecycle_errors::Chain;
use lifecycle_kube::Fence;
use lifecycle_objects::destination::Destination;
use lifecycle_objects::write::{WriteError, WriteErrorKind};
use serde_json::Value;
use tokio::time::timeout;

pub use self::outcome::Outcome;
pub use self::refused::Refused;
use crate::audit::{Action, Audit, AuditError, FORMAT, Identity, Record};
use crate::inventory::contents_now;
use crate::leader::TermOver;
use crate::objects::Objects;
use crate::recheck::Evidence;

/// Deletes objects on behalf of one term of leadership.
pub struct Deleter<'a, O, C, E> {
    /// The cluster.
    pub objects: &'a O,
    /// What the plan rests on, as it is now.
    pub evidence: &'a E,
    /// Permits one call while the term lasts in which the plan was judged, as [`Claim::permit`] does. The permit is kept
    /// until the call has ended.
    ///
    /// [`Claim::permit`]: crate::leader::Claim::permit
    pub permit: C,
    /// The number of the term, for events and records.
    pub term: u32,
    /// The time limit of each call: a permitted call has ended before another replica can lead.
    pub call_limit: Duration,
    /// The objects whose deletion was refused in the pass before.
    pub refused: &'a Refused,
    /// Takes the records of deletions.
    pub audit: &'a Audit,
    /// What may be deleted.
    pub policy: &'a Policy,
    /// How many objects are deleted at the same time.
    pub concurrency: NonZeroUsize,
    /// Tells the time of records and events.
    pub clock: fn() -> Timestamp,
}

/// What became of the objects of a plan, by UID.
pub type Outcomes = BTreeMap<String, Outcome>;

/// What became of one object of the plan.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Attempt<'a> {
    /// The object, as it was judged.
    pub object: &'a Candidate,
    /// What became of the object.
    pub outcome: Outcome,
}

impl<O: Objects, C: Fn() -> Result<P, TermOver>, P, E: Evidence> Deleter<'_, O, C, E> {
    /// Deletes the plan's objects; returns the attempts as they end. To stop early, let the term end and read on to the
    /// end: a stream that is dropped leaves deletions without the record of their result.
    pub fn delete_all<'b>(
        &'b self,
        plan: &'b SweepPlan,
        strikes: &'b Strikes,
    ) -> impl Stream<Item = Attempt<'b>> + use<'b, O, C, P, E> {
        self.audit.begin_pass();
        self.refused.begin_pass(plan);
        // The parent of a bundle goes after all other objects were tried: until then, it says where members are.
        let stream = move |are_parents: bool| {
            let judged = plan.objects().iter().filter(move |judged| judged.is_parent() == are_parents);
            let attempts = judged
                .map(move |judged| Running { deleter: self, plan, judged, gone_since: strikes.since(judged) }.run());
            stream::iter(attempts).buffer_unordered(self.concurrency.get())
        };
        stream(false).chain(stream(true))
    }
}

/// The attempt to delete one object.
struct Running<'b, 'a, O, C, E> {
    deleter: &'b Deleter<'a, O, C, E>,
    plan: &'b SweepPlan,
    judged: &'b Candidate,
    gone_since: Option<Timestamp>,
}

impl<'b, O: Objects, C: Fn() -> Result<P, TermOver>, P, E: Evidence> Running<'b, '_, O, C, E> {
    async fn run(self) -> Attempt<'b> {
        let outcome = match self.prepare().await {
            Ok(live) => {
                let outcome = self.delete(&live).await;
                let result = Action::Result {
                    outcome: outcome.label().to_owned(),
                    may_be_deleted: outcome.may_be_deleted(),
                    message: outcome.to_string(),
                };
                // A result that cannot be written changes nothing about this object, and stops the deletion of others.
                let _ = self.record(result).await;
                if outcome.is_accepted() {
                    self.announce(&live, &outcome).await;
                }
                outcome
            }
            Err(kept) => kept,
        };
        self.deleter.refused.note(self.judged, &outcome);
        self.log(&outcome);
        Attempt { object: self.judged, outcome }
    }

    /// Takes the steps before the deletion; returns the object as it was read.
    async fn prepare(&self) -> Result<Value, Outcome> {
        let Self { judged, deleter: Deleter { objects, policy, audit, refused, .. }, .. } = self;
        self.confirm().await?;
        self.look_into().await?;
        let live = match self.call("read", objects.read(&judged.destination, &judged.object)).await? {
            Ok(Some(live)) => live,
            Ok(None) => return Err(Outcome::AlreadyGone),
            Err(error) => return Err(Outcome::Unread(error)),
        };
        let candidate = Candidate::of(&live, judged.destination.clone());
        recheck(judged, &candidate, policy).map_err(Outcome::Kept)?;
        if refused.contains(judged)
            && let Err(error) = self
                .call("dry-run", objects.dry_run_delete(&judged.destination, &judged.object, Fence::of(&live)))
                .await?
        {
            return Err(match Outcome::of(Err(error)) {
                // Nothing was sent that could have deleted the object.
                Outcome::Uncertain(error) => Outcome::Refused(error),
                outcome => outcome,
            });
        }
        self.permit()?;
        let (manifest, omitted) = audit.manifest(&live);
        self.record(Action::Delete { manifest, omitted }).await.map_err(|AuditError { .. }| Outcome::AuditFailed)?;
        Ok(live)
    }

    /// Keeps a namespace, or the definition of a kind, into which somebody put an object since it was judged.
    async fn look_into(&self) -> Result<(), Outcome> {
        let Self { judged, deleter: Deleter { objects, policy, .. }, .. } = self;
        let Some(container) = Container::of(&judged.object) else { return Ok(()) };
        self.permit()?;
        let contents = contents_now(*objects, container, policy).await.map_err(Outcome::Unread)?;
        if contents.must_outlive(judged) { Err(Outcome::Kept(Keep::NotEmpty)) } else { Ok(()) }
    }

    async fn delete(&self, live: &Value) -> Outcome {
        if let Err(withdrawn) = self.confirm().await {
            return withdrawn;
        }
        let Candidate { destination, object, .. } = self.judged;
        let deletion = self.deleter.objects.delete(destination, object, Fence::of(live));
        match self.call("delete", deletion).await {
            Ok(answer) => Outcome::of(answer),
            Err(kept) => kept,
        }
    }

    async fn confirm(&self) -> Result<(), Outcome> {
        self.deleter.evidence.confirm(self.judged).await.map_err(Outcome::Withdrawn)
    }

    /// Creates the Event. It may be missing: the Event is a courtesy to people, and the audit record is the evidence. In a
    /// terminating namespace no Event can be created at all, and none about an object of another cluster.
    async fn announce(&self, live: &Value, outcome: &Outcome) {
        let Self { judged, deleter: Deleter { objects, term, clock, .. }, .. } = self;
        if judged.destination != Destination::ThisCluster {
            return;
        }
        let event = event::announcement(judged, live, outcome, *term, clock());
        let why = match self.call("announce the deletion of", objects.create(&judged.destination, &event)).await {
            Ok(Ok(_)) => return,
            Ok(Err(error)) => error.to_string(),
            Err(kept) => kept.to_string(),
        };
        tracing::warn!(object = %judged.object, error = why, "the deletion of an orphan could not be announced");
    }

    /// Makes a call if this replica may, and waits for its answer up to the limit.
    async fn call<T>(
        &self,
        verb: &str,
        call: impl Future<Output = Result<T, WriteError>>,
    ) -> Result<Result<T, WriteError>, Outcome> {
        let _permit = self.permit()?;
        let limit = self.deleter.call_limit;
        Ok(timeout(limit, call).await.unwrap_or_else(|_| {
            Err(WriteError {
                kind: WriteErrorKind::Unreachable,
                call: format!("{verb} {}", self.judged.object),
                status: None,
                message: format!("no answer within {limit:?}"),
            })
        }))
    }

    /// Whether the term of the plan lasts, and each deletion so far was recorded.
    fn permit(&self) -> Result<P, Outcome> {
        if self.deleter.audit.has_failed() {
            return Err(Outcome::AuditFailed);
        }
        (self.deleter.permit)().map_err(Outcome::NotLeader)
    }

    async fn record(&self, action: Action) -> Result<(), AuditError> {
        let Self { judged, deleter: Deleter { audit, term, clock, .. }, .. } = self;
        let record = Record {
            audit: FORMAT.to_owned(),
            time: clock(),
            term: *term,
            plan: self.plan.hash().to_owned(),
            adapter: judged.adapter.clone(),
            resource_id: judged.resource_id.clone(),
            gone_since: self.gone_since,
            object: Identity::of(judged),
            action,
        };
        let written = audit.write(&record).await;
        if let Err(error) = &written {
            tracing::error!(object = %judged.object, error = %Chain(error), "this pass deletes nothing more");
        }
        written
    }

    fn log(&self, outcome: &Outcome) {
        let judged = self.judged;
        macro_rules! log {
            ($level:ident) => {
                tracing::$level!(
                    object = %judged.object, uid = judged.uid, adapter = judged.adapter, resource_id = judged.resource_id,
                    plan = self.plan.hash(), outcome = outcome.label(), "{outcome}"
                )
            };
        }
        if outcome.is_settled() { log!(info) } else { log!(warn) }
    }
}

#[cfg(test)]
mod tests;
