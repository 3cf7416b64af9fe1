//! From a decision to the write that carries it out.
//!
//! In: a decision, the manifest and patches rendered for the decision, and the resource's versions. Out: a [`Command`];
//! none if the decision writes nothing. Fails if a [requirement](super::requirement) of the write is not met.

use jiff::Timestamp;
use lifecycle_objects::failure::{FailReason, Failure};
use lifecycle_objects::id::Generation;
use lifecycle_objects::observation::{Query, Version};
use lifecycle_objects::write::{Command, Disowning, UpdateMode};

use super::Planner;
use super::decide::current;
use super::disown;
use super::gates::Examined;
use super::owner::OwnerStatus;
use super::query::target;
use crate::decision::Decision;
use crate::manifest::Desired;

impl Planner<'_> {
    /// The command of a decision about the current resource; `None` if the decision needs no write.
    pub(super) fn command(
        &self,
        decision: &Decision,
        examined: Examined,
        owner: Option<&OwnerStatus>,
        versions: &[&Version],
        now: Timestamp,
    ) -> Result<Option<Command>, Failure> {
        // A resource without a query was not read, and no decision about an unread resource writes.
        let Some(query) = &self.slots[self.position()].query else { return Ok(None) };
        let destination = query.destination.clone();
        let target = |version: &Version| target(query, version);
        let Examined { mut desired, documents, .. } = examined;
        let generation = desired.as_ref().map_or(self.stamp.generation, |desired| desired.generation);
        let live = || versions.iter().copied().filter(|version| !version.is_terminating());
        let patched = current(live(), generation);
        self.meet(decision, desired.as_mut(), owner, patched.map(|version| (version, documents.as_slice())))?;
        let executor = desired.as_ref().and_then(|desired| desired.object.pointer("/spec/executor")).cloned();
        // Every row that writes the manifest has rendered the manifest before, so this error is a bug.
        let missing = || Failure::new(FailReason::RenderFailed, "the manifest was not rendered");
        let rendered = || desired.ok_or_else(missing);
        Ok(match decision {
            Decision::Create | Decision::CreateVersion(_) => {
                Some(Command::Create { destination, desired: rendered()?.object })
            }
            Decision::Update { .. } => {
                let desired = rendered()?;
                updated(&desired, versions).map(|version| Command::Update {
                    desired: desired.object.clone(),
                    mode: UpdateMode::Apply,
                    target: target(version),
                    live: version.clone(),
                })
            }
            Decision::Patch(_) => patched.map(|version| Command::Patch { target: target(version), documents }),
            Decision::Recreate { .. } => {
                let desired = rendered()?;
                let (former, last) = apart(live(), generation).unzip();
                let targets = former.into_iter().flatten().chain(last).map(target).collect();
                Some(Command::Recreate { destination, desired: desired.object, targets })
            }
            Decision::Disown(_) => self.disown(query, live().filter(|version| !version.is_disowned()), generation),
            Decision::Delete => {
                let gate = self.resource().gates.delete.as_ref();
                let propagation = gate.map(|gate| gate.propagation).unwrap_or_default();
                let targets = live().map(target).collect();
                Some(Command::Delete { targets, propagation })
            }
            Decision::Resend(resent) => self.resend(*resent, query, versions, executor, now),
            Decision::Wait(_) | Decision::Skip(_) | Decision::Fail(_) => None,
        })
    }

    /// Disowns versions, the current one last: while the current version still has its labels, the next event
    /// finds it and continues.
    fn disown<'v>(
        &self,
        query: &Query,
        versions: impl Iterator<Item = &'v Version>,
        desired: Generation,
    ) -> Option<Command> {
        let resource = self.resource();
        let (former, last) = apart(versions, desired)?;
        let disown = |version: &Version| {
            let patch = disown::patch(version, &query.destination, &resource.name, &self.stamp);
            Disowning { target: target(query, version), patch }
        };
        Some(Command::Disown { former: former.into_iter().map(disown).collect(), last: disown(last) })
    }
}

/// The version that an update is applied to.
fn updated<'v>(desired: &Desired, versions: &[&'v Version]) -> Option<&'v Version> {
    versions.iter().copied().find(|version| !version.is_terminating() && desired.is_named_as(version))
}

/// Splits versions into the others and the current one, which is written last. The gates read the current version, so that
/// the next event continues an interrupted write.
fn apart<'v>(
    versions: impl Iterator<Item = &'v Version>,
    desired: Generation,
) -> Option<(Vec<&'v Version>, &'v Version)> {
    let mut versions: Vec<&Version> = versions.collect();
    let last = current(versions.iter().copied(), desired)?;
    versions.retain(|version| !std::ptr::eq(*version, last));
    Some((versions, last))
}
