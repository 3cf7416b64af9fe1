//! The writing half of the plan: what an executed write means for its resource and for those after it.

use lifecycle_language::scope::Scope;
use lifecycle_objects::failure::{FailReason, Failure};
use lifecycle_objects::observation::{Observation, Version, could_find, whose};
use lifecycle_objects::write::{Executed, NotCreated, Target, WriteError, WriteErrorKind};

use super::decide::current;
use super::{After, Attempt, Pending, Planner, State};
use crate::decision::{Decision, WaitReason};
use crate::outcome::OutcomeResult;
use crate::ownership::Owned;
use crate::ownership::put;

impl Planner<'_> {
    /// Takes what became of the last write. The same resource may need another write: a creation that met its own object is
    /// decided again, once, and former versions may have to be pruned.
    pub fn record(&mut self, scope: &mut Scope, executed: Executed) {
        let pending = match std::mem::replace(&mut self.state, State::Done) {
            State::Writing(pending) => *pending,
            State::Pruning(outcome, expired) => return self.pruned(*outcome, expired, executed),
            state @ (State::Reading | State::Deciding(_) | State::Bundle(_) | State::Done) => {
                // The caller recorded a result without a write; the state stays.
                self.state = state;
                return;
            }
        };
        let (result, object) = match executed {
            Executed::Created(object) => (OutcomeResult::Created, Some(object)),
            Executed::Updated(object) => (OutcomeResult::Updated, Some(object)),
            Executed::Recreated(object) => (OutcomeResult::Recreated, Some(object)),
            Executed::Patched(object) => (OutcomeResult::Patched, Some(object)),
            Executed::Disowned(disowned) => return self.disowned(pending, &disowned, scope),
            Executed::Deleted => return self.deleted(pending, &[], scope),
            Executed::Deleting(remaining) => return self.deleted(pending, &remaining, scope),
            Executed::DeleteFailed { remaining, failures } => {
                return self.delete_failed(pending, &remaining, &failures, scope);
            }
            Executed::DisownFailed { failures } => {
                let failure = write_failures(&failures);
                return self.conclude(pending, OutcomeResult::Failed(failure), After::AsObserved, scope);
            }
            Executed::NameTaken(object) => return self.name_taken(pending, object, scope),
            Executed::DeletedNotCreated(cause) => return self.deleted_not_created(pending, cause, scope),
            Executed::PatchFailed { object, error } => {
                let after = object.map_or(After::AsObserved, |object| After::Now(Some(Version::new(object))));
                return self.conclude(pending, OutcomeResult::Failed(Failure::from(&error)), after, scope);
            }
            Executed::Failed(error) => return self.not_written(pending, &error, After::AsObserved, scope),
        };
        self.conclude(pending, result, After::Now(object.map(Version::new)), scope)
    }

    /// Ends a deletion: the versions are gone or terminating, as may be some that were terminating before.
    fn deleted(&mut self, pending: Pending, remaining: &[Version], scope: &mut Scope) {
        let former = self.versions(self.position(), &pending.owned.places);
        let former = former.into_iter().filter(|version| version.is_terminating());
        let shown = current(remaining.iter().chain(former), self.stamp.generation).cloned();
        let result = if shown.is_some() { OutcomeResult::Deleting } else { OutcomeResult::Deleted };
        self.conclude(pending, result, After::Now(shown), scope)
    }

    /// Ends a recreation that deleted every version and created no object.
    fn deleted_not_created(&mut self, pending: Pending, cause: NotCreated, scope: &mut Scope) {
        match cause {
            NotCreated::Failed(error) => self.not_written(pending, &error, After::Now(None), scope),
            NotCreated::NameTaken(holder) => {
                let holder = holder.map(Version::new);
                let failure = self.name_taken_by(&pending, holder.as_ref(), scope);
                let made = holder.filter(|holder| self.would_own(holder, scope));
                self.conclude(pending, OutcomeResult::Failed(failure), After::Now(made), scope)
            }
        }
    }

    /// Ends a write that the server refused: a creation waits until its terminating namespace is gone, all others fail.
    fn not_written(&mut self, mut pending: Pending, error: &WriteError, after: After, scope: &mut Scope) {
        let result = if error.kind == WriteErrorKind::NamespaceTerminating {
            let (namespace, _) = &pending.place;
            pending.decided.decision = Decision::Wait(WaitReason::NamespaceTerminating(namespace.clone()));
            OutcomeResult::Waiting
        } else {
            OutcomeResult::Failed(Failure::from(error))
        };
        self.conclude(pending, result, after, scope)
    }

    /// Ends a disowning. `resources` may also show a version that was disowned or terminating before.
    fn disowned(&mut self, pending: Pending, disowned: &[Version], scope: &mut Scope) {
        let former = self.versions(self.position(), &pending.owned.places);
        let former = former.into_iter().filter(|version| version.is_terminating() || version.is_disowned());
        let generation = pending.desired.unwrap_or(self.stamp.generation);
        let shown = current(disowned.iter().chain(former), generation).cloned();
        self.conclude(pending, OutcomeResult::Disowned, After::Now(shown), scope)
    }

    fn delete_failed(
        &mut self,
        pending: Pending,
        remaining: &[Version],
        failures: &[(Target, WriteError)],
        scope: &mut Scope,
    ) {
        // A version whose deletion failed stays visible as it was read. A recreation deletes the current version last, and not
        // at all if another deletion was refused.
        let is_refused = |version: &&Version| failures.iter().any(|(target, _)| target.uid == version.uid());
        let versions = self.versions(self.position(), &pending.owned.places);
        let kept = versions.into_iter().filter(is_refused);
        let is_untouched = matches!(pending.decided.decision, Decision::Recreate { .. });
        let after = match current(remaining.iter().chain(kept), self.stamp.generation) {
            Some(version) if !is_untouched => After::Now(Some(version.clone())),
            Some(_) | None => After::AsObserved,
        };
        self.conclude(pending, OutcomeResult::Failed(write_failures(failures)), after, scope)
    }

    fn name_taken(&mut self, pending: Pending, object: Option<serde_json::Value>, scope: &mut Scope) {
        let holder = object.map(Version::new);
        let is_creation = matches!(pending.decided.decision, Decision::Create | Decision::CreateVersion(_));
        match holder {
            // Another replica created the object first. Treat its object as observed, and decide again.
            Some(version)
                if is_creation
                    && pending.attempt == Attempt::First
                    && self.would_find(&version, scope)
                    && (pending.owned.places.is_empty() || version.is_written_by(&self.stamp.adapter)) =>
            {
                self.add_version(version);
                self.publish(self.position(), scope);
                self.state = State::Deciding(Attempt::Again);
            }
            holder => {
                let failure = self.name_taken_by(&pending, holder.as_ref(), scope);
                self.conclude(pending, OutcomeResult::Failed(failure), After::AsObserved, scope);
            }
        }
    }

    /// The failure of a creation whose name was taken. `holder` is the object that has the name; none if it was gone when it
    /// was read.
    fn name_taken_by(&self, pending: &Pending, holder: Option<&Version>, scope: &Scope) -> Failure {
        let (kind, name) = (&self.resource().kind.kind, &pending.place.1);
        match holder {
            None => {
                let message = format!("{kind} {name} existed when it was to be created, and was gone when it was read");
                Failure::new(FailReason::Conflict, message)
            }
            Some(holder) if self.would_own(holder, scope) => {
                Failure::new(FailReason::Conflict, format!("{kind} {name} was created by somebody else meanwhile"))
            }
            Some(holder) => {
                let owner = whose(holder);
                let message = format!(
                    "a {kind} {name} exists that does not belong to this resource, but to {owner}; it is left alone"
                );
                Failure::new(FailReason::NameTaken, message)
            }
        }
    }

    /// Whether the resource owns an object that has the rendered name, and an adapter wrote it.
    fn would_own(&self, version: &Version, scope: &Scope) -> bool {
        version.is_written_by(&self.stamp.adapter) && self.would_find(version, scope)
    }

    /// Whether an object that has the rendered name is a version of the resource for the next decision.
    fn would_find(&self, version: &Version, scope: &Scope) -> bool {
        let Some(query) = &self.slots[self.position()].query else { return false };
        let unknown = self.unknown();
        let Ok(identity) = self.context(self.position(), scope, &unknown).ownership_fields() else { return false };
        could_find(query, version)
            && self.criteria(self.position(), Some(&identity)).classify(query, version) == Owned::Yes
    }

    /// Adds an object to the observed versions of the current resource.
    fn add_version(&mut self, version: Version) {
        let position = self.position();
        let slot = &mut self.slots[position];
        match &mut slot.observation {
            Some(Observation::Found(versions)) => put(versions, version),
            Some(Observation::Unknown(_) | Observation::Forbidden(_)) | None => {
                slot.observation = Some(Observation::Found(vec![version]))
            }
        }
    }
}

/// Combines several refused writes into one failure: the reason of the first, and the messages of all.
fn write_failures(refused: &[(Target, WriteError)]) -> Failure {
    let messages: Vec<String> = refused.iter().map(|(_, error)| error.with_status()).collect();
    let (reason, cure) =
        refused.first().map_or((FailReason::Unavailable, ""), |(_, error)| (error.kind.into(), error.cure()));
    Failure::new(reason, format!("{}; {cure}", messages.join("; ")))
}
