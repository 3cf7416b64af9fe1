//! The write that a decision asks for.
//!
//! In: a decision, what was rendered for it, and the versions that it is about. Out: a [`Command`], or none where nothing
//! is to be written. It fails where the object could not be written as it should be: its owner is not available, its own
//! discovery would not find it, or a mark has no valid value.

use super::Planner;
use super::decide::current;
use super::decision::{Decision, FailReason, Failure};
use super::gates::Examined;
use super::owner::{Standing, add_reference};
use super::release;
use crate::belonging::could_find;
use crate::id::Generation;
use crate::keys;
use crate::manifest::Desired;
use crate::nested;
use crate::observation::{QueryBy, Version};
use crate::write::{Command, Release, Target};

impl Planner<'_> {
    /// The write that a decision about the current resource asks for, if any.
    pub(super) fn command(
        &self,
        decision: &Decision,
        examined: Examined,
        owner: Option<&Standing>,
        versions: &[&Version],
    ) -> Result<Option<Command>, Failure> {
        let Examined { desired, documents, .. } = examined;
        let generation = desired.as_ref().map_or(self.stamp.generation, |desired| desired.generation);
        let rendered = || {
            let missing = || Failure::new(FailReason::RenderFailed, "the manifest was not rendered");
            let mut desired = desired.ok_or_else(missing)?;
            if let Some(owner) = owner {
                let reference = owner.reference(desired.namespace.as_deref().unwrap_or_default())?;
                add_reference(&mut desired.object, reference);
            }
            Ok(desired)
        };
        let standing = || versions.iter().copied().filter(|version| !version.is_terminating());
        Ok(match decision {
            Decision::Create | Decision::CreateVersion(_) => {
                let desired = rendered()?;
                self.check_discoverable(&desired)?;
                Some(Command::Create { desired: desired.object })
            }
            Decision::Update { .. } => {
                let desired = rendered()?;
                updated(&desired, versions).map(|version| Command::Update {
                    desired: desired.object.clone(),
                    target: self.target(version),
                    take_over: version.managed_fields().cloned(),
                })
            }
            Decision::Patch(_) => {
                let current = current(standing(), generation);
                current.map(|version| Command::Patch { target: self.target(version), documents })
            }
            Decision::Recreate { .. } => {
                let desired = rendered()?;
                self.check_discoverable(&desired)?;
                let (former, last) = apart(standing(), generation).unzip();
                let targets = former.into_iter().flatten().chain(last).map(|version| self.target(version)).collect();
                Some(Command::Recreate { desired: desired.object, targets })
            }
            Decision::Orphan(_) => self.release(standing().filter(|version| !version.is_disowned()), generation)?,
            Decision::Delete => {
                let gate = self.resource().gates.delete.as_ref();
                let propagation = gate.map(|gate| gate.propagation).unwrap_or_default();
                let targets = standing().map(|version| self.target(version)).collect();
                Some(Command::Delete { targets, propagation })
            }
            Decision::Wait(_) | Decision::Skip(_) | Decision::Fail(_) => None,
        })
    }

    /// Lets go of versions, the current one last: while it is not released, the next event goes on.
    fn release<'v>(
        &self,
        versions: impl Iterator<Item = &'v Version>,
        desired: Generation,
    ) -> Result<Option<Command>, Failure> {
        let resource = self.resource();
        let owner = resource.owner.map(|index| &self.task.resources[index].kind);
        let Some((former, last)) = apart(versions, desired) else { return Ok(None) };
        let release = |version: &Version| {
            let patch = release::patch(version, &resource.name, &self.stamp, owner)?;
            Ok(Release { target: self.target(version), patch })
        };
        let former = former.into_iter().map(release).collect::<Result<_, Failure>>()?;
        Ok(Some(Command::Release { former, last: release(last)? }))
    }

    /// The fence of a write to one very object.
    pub(super) fn target(&self, version: &Version) -> Target {
        Target {
            kind: self.resource().kind.clone(),
            namespace: Some(version.namespace().to_owned()).filter(|namespace| !namespace.is_empty()),
            name: version.name().to_owned(),
            uid: version.uid().to_owned(),
            resource_version: version.resource_version().to_owned(),
        }
    }

    /// Refuses to create what the next event would not find again, or not take for its own.
    fn check_discoverable(&self, desired: &Desired) -> Result<(), Failure> {
        let Some(query) = &self.slots[self.position].query else { return Ok(()) };
        let mismatch = |message: String| Err(Failure::new(FailReason::SelectorMismatch, message));
        if desired.kind != query.kind {
            return mismatch(format!(
                "discovery looks for {}, but the manifest renders to {}",
                query.kind, desired.kind
            ));
        }
        if !could_find(query, &desired.object) {
            let namespace = query.namespace.as_deref().map(|namespace| format!("namespace {namespace}, "));
            return mismatch(format!(
                "the rendered {} {} would not be found by its own discovery ({}{}), and be created on every event",
                desired.kind.kind,
                desired.name,
                namespace.unwrap_or_default(),
                nested::describe(query),
            ));
        }
        let (label, name) = (desired.label(keys::RESOURCE).unwrap_or_default(), &self.resource().name);
        if matches!(query.by, QueryBy::Labels(_)) && label != name {
            return mismatch(format!(
                "the manifest writes the label `{}: {label}`: the {} would not be taken for one of resource {name}, and be \
                 created on every event",
                keys::RESOURCE,
                desired.kind.kind,
            ));
        }
        Ok(())
    }
}

/// The version that an update is applied to.
fn updated<'v>(desired: &Desired, versions: &[&'v Version]) -> Option<&'v Version> {
    versions.iter().copied().find(|version| !version.is_terminating() && desired.is_named_as(version))
}

/// The former versions, and the current one. What the gates saw is the current one: while it stands, an event that comes
/// after an interruption goes on.
fn apart<'v>(
    versions: impl Iterator<Item = &'v Version>,
    desired: Generation,
) -> Option<(Vec<&'v Version>, &'v Version)> {
    let mut versions: Vec<&Version> = versions.collect();
    let last = current(versions.iter().copied(), desired)?;
    versions.retain(|version| !std::ptr::eq(*version, last));
    Some((versions, last))
}
