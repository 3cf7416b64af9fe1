//! Which former versions retention deletes.
//!
//! In: the versions that a resource owns, its outcome, the desired generation, and the event's clock reading.
//! Out: the versions to prune, each with the reason. Nothing can fail; a failed deletion is a warning. While an object of
//! another resource has to be disowned first, the planner prunes nothing.
//!
//! A former version is not terminating, not current, and not of a higher generation than desired. The planner prunes each
//! former version that is older than `ttl`, or not among the newest `historyLimit` former versions.

use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use lifecycle_config::duration;
use lifecycle_language::scope::Scope;
use lifecycle_objects::failure::Failure;
use lifecycle_objects::id::Generation;
use lifecycle_objects::object_ref::ObjectRef;
use lifecycle_objects::observation::Version;
use lifecycle_objects::write::{Executed, Target};

use super::decide::current;
use super::query::target;
use super::{After, Pending, Planner};
use crate::decision::{Decision, SkipReason, WaitReason};
use crate::outcome::{Outcome, OutcomeResult, Pruned};
use crate::task::Retention;
use crate::warning::{Warning, WarningReason};

impl Planner<'_> {
    /// Records what was pruned. A failed deletion is a warning, because the next event tries again.
    pub(super) fn pruned(&mut self, mut outcome: Outcome, mut expired: Vec<(Target, Pruned)>, executed: Executed) {
        let errors = match executed {
            Executed::DeleteFailed { failures, .. } => {
                // Versions in different namespaces can have the same name.
                let left: Vec<ObjectRef> = failures.iter().map(|(target, _)| target.into()).collect();
                expired.retain(|(target, _)| !left.contains(&target.into()));
                failures.into_iter().map(|(_, error)| error).collect()
            }
            Executed::Failed(error) => {
                expired.clear();
                vec![error]
            }
            Executed::Deleted
            | Executed::Deleting(_)
            | Executed::Created(_)
            | Executed::NameTaken(_)
            | Executed::Updated(_)
            | Executed::Recreated(_)
            | Executed::DeletedNotCreated(_)
            | Executed::Patched(_)
            | Executed::PatchFailed { .. }
            | Executed::Disowned(_)
            | Executed::DisownFailed { .. } => Vec::new(),
        };
        outcome.warnings.extend(errors.iter().map(|error| {
            let failure = Failure::from(error);
            Warning::new(WarningReason::PruneFailed, format!("a former version was not pruned: {}", failure.message))
        }));
        outcome.pruned = expired.into_iter().map(|(_, pruned)| pruned).collect();
        self.end(outcome);
    }

    /// The former versions to prune, without the version that was just written and without the version that is
    /// current now, which can be another one.
    ///
    /// If the manifest does not render, the desired generation is unknown and no version counts as former.
    pub(super) fn expired(
        &self,
        pending: &Pending,
        result: &OutcomeResult,
        after: &After,
        scope: &Scope,
    ) -> Vec<(Target, Pruned)> {
        let query = &self.slots[self.position()].query;
        let (Some(retention), Some(desired), Some(query)) = (&self.resource().retention, pending.desired, query) else {
            return Vec::new();
        };
        if !may_prune(&pending.decided.decision, result) {
            return Vec::new();
        }
        let written = match after {
            After::Now(version) => version.as_ref(),
            After::AsObserved => None,
        };
        let mut versions = self.versions(self.position(), &pending.owned.places);
        versions.retain(|version| version.is_written_by(&self.stamp.adapter));
        versions.retain(|version| written.is_none_or(|written| written.uid() != version.uid()));
        versions.extend(written);
        let current = match written {
            Some(created) if *result == OutcomeResult::Created => Some(created),
            Some(_) | None => current(versions.iter().copied(), desired),
        };
        let spared: Vec<&str> = written.into_iter().chain(current).map(Version::uid).collect();
        let expired = expired(retention, &versions, &spared, desired, scope.now());
        let pruned = |(version, because): (&Version, String)| {
            (target(query, version), Pruned { name: version.name().to_owned(), because })
        };
        expired.into_iter().map(pruned).collect()
    }

    /// Keeps former versions while an object of another resource has to be disowned first, and says so in a warning.
    pub(super) fn wait_to_prune(
        &self,
        expired: Vec<(Target, Pruned)>,
        scope: &Scope,
    ) -> (Vec<(Target, Pruned)>, Option<Warning>) {
        if expired.is_empty() {
            return (expired, None);
        }
        let Some(because) = self.pending_disowning(self.position(), scope, &self.unknown()).because else {
            return (expired, None);
        };
        let names: Vec<&str> = expired.iter().map(|(_, pruned)| pruned.name.as_str()).collect();
        let message =
            format!("former versions that retention would delete stay for now ({}): {because}", names.join(", "));
        (Vec::new(), Some(Warning::new(WarningReason::PrunePending, message)))
    }
}

/// Whether former versions are pruned after this outcome. The planner prunes nothing after a failure, while the new version
/// waits for its namespace, when the resource is deleted or disowned, or on an event that is older than the live object.
fn may_prune(decision: &Decision, result: &OutcomeResult) -> bool {
    let is_excluded = matches!(
        decision,
        Decision::Fail(_)
            | Decision::Delete
            | Decision::Disown(_)
            | Decision::Wait(WaitReason::NamespaceTerminating(_))
            | Decision::Skip(SkipReason::StaleEvent { .. } | SkipReason::EarlierFailure | SkipReason::Disowned)
    );
    !is_excluded && !matches!(result, OutcomeResult::Failed(_))
}

/// The versions to prune, newest first, each with the limits that it exceeds. Versions whose UID is in `spared`
/// stay.
fn expired<'v>(
    retention: &Retention,
    versions: &[&'v Version],
    spared: &[&str],
    desired: Generation,
    now: Timestamp,
) -> Vec<(&'v Version, String)> {
    let mut historical: Vec<&Version> = versions
        .iter()
        .copied()
        .filter(|version| {
            !version.is_terminating()
                && !spared.contains(&version.uid())
                && version.generation().is_none_or(|generation| generation <= desired)
        })
        .collect();
    historical.sort_by(|a, b| (b.created_at(), b.name()).cmp(&(a.created_at(), a.name())));
    let beyond_limit = |place: usize| {
        let limit = retention.history_limit.filter(|limit| place >= *limit)?;
        Some(format!("beyond the newest {limit}"))
    };
    let too_old = |version: &Version| {
        // Only the history limit applies to a version without a creation time.
        let (ttl, age) = (retention.ttl?, now.duration_since(version.created_at()?));
        (age > ttl).then(|| format!("{} old, beyond the ttl of {}", text(age), text(ttl)))
    };
    let places = historical.into_iter().enumerate();
    places
        .filter_map(|(place, version)| {
            let reasons: Vec<String> = beyond_limit(place).into_iter().chain(too_old(version)).collect();
            (!reasons.is_empty()).then(|| (version, reasons.join("; ")))
        })
        .collect()
}

/// A duration in whole seconds, without zero units at the end: `48h`, not `48h0m0s`.
fn text(span: SignedDuration) -> String {
    let mut text = duration::format(Duration::from_secs(span.as_secs().unsigned_abs()));
    for zero in ["m0s", "h0m"] {
        if text.ends_with(zero) {
            text.truncate(text.len() - 2);
        }
    }
    text
}
