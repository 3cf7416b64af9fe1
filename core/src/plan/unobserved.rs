//! Writes to a remote cluster that no agent has observed.
//!
//! In: the versions that a resource owns, the limit, and the event's clock reading. Out: what to send once more, and the
//! sentence for the report. Nothing can fail.
//!
//! Maestro stores a write in one transaction, and the event that tells the agent of it in another. Where the second is lost,
//! nobody tells the agent until the work gets a new version. A work shows since when it is [unobserved](Unobserved), so
//! the adapter needs no memory to notice.

use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use lifecycle_language::scope::Scope;
use lifecycle_objects::object_ref::ObjectRef;
use lifecycle_objects::observation::{Query, Unobserved, Version};
use lifecycle_objects::write::{Command, PropagationPolicy, UpdateMode};
use serde_json::Value;

use super::Planner;
use super::query::target;
use crate::decision::{Decision, Resent};
use crate::task::TransportKind;

/// Since when the version is unobserved, if that is longer than `limit`, counted from the time that `from` selects.
///
/// The times are those of Maestro's clock, `now` is the adapter's: a difference shortens or lengthens the limit.
pub(super) fn since(
    version: &Version,
    limit: Duration,
    now: Timestamp,
    from: impl Fn(Unobserved) -> Timestamp,
) -> Option<Timestamp> {
    let unobserved = version.unobserved()?;
    let age = SignedDuration::try_from(limit).ok().map(|limit| now.duration_since(from(unobserved)) >= limit)?;
    age.then_some(unobserved.since)
}

impl Planner<'_> {
    /// The limit for a resource; none if it is not on a remote cluster.
    pub(super) fn resend_after(&self, index: usize) -> Option<Duration> {
        match self.task.resources[index].transport {
            TransportKind::Maestro { .. } => self.task.resend_after,
            TransportKind::Kubernetes => None,
        }
    }

    /// The command that sends once more what no agent has observed: one work, or the deletions of all. Maestro does not show
    /// the `executor` of a work; the manifest's is sent.
    pub(super) fn resend(
        &self,
        resent: Resent,
        query: &Query,
        versions: &[&Version],
        executor: Option<Value>,
        now: Timestamp,
    ) -> Option<Command> {
        let limit = self.resend_after(self.position())?;
        let mut late = versions.iter().copied().filter(|version| since(version, limit, now, |it| it.sent).is_some());
        match resent {
            Resent::Content => late.find(|version| !version.is_terminating()).map(|live| {
                let mut object = live.object().clone();
                if let Some(executor) = executor {
                    object["spec"]["executor"] = executor;
                }
                let target = target(query, live);
                Command::Update { desired: object, mode: UpdateMode::Resend, target, live: live.clone() }
            }),
            Resent::Deletion => {
                let targets = late.filter(|version| version.is_terminating()).map(|it| target(query, it)).collect();
                Some(Command::Delete { targets, propagation: PropagationPolicy::Background })
            }
        }
    }

    /// What of the current resource stays unobserved for too long after this decision, as a sentence. A write of new
    /// content has a time of its own.
    pub(super) fn unobserved(&self, decision: &Decision, places: &[usize], scope: &Scope) -> Option<String> {
        let limit = self.resend_after(self.position())?;
        match decision {
            Decision::Resend(_) | Decision::Wait(_) | Decision::Skip(_) | Decision::Fail(_) => {}
            Decision::Create
            | Decision::CreateVersion(_)
            | Decision::Update { .. }
            | Decision::Patch(_)
            | Decision::Recreate { .. }
            | Decision::Disown(_)
            | Decision::Delete => return None,
        }
        self.versions(self.position(), places).into_iter().find_map(|version| {
            let since = since(version, limit, scope.now(), |it| it.since)?;
            let (object, number) = (ObjectRef::of(version.object()), version.resource_version());
            Some(match version.is_terminating() {
                true => format!("no agent has observed the deletion of {object} since {since}"),
                false => format!("no agent has observed version {number} of {object}; it waits since {since}"),
            })
        })
    }
}
