//! The writing half of the plan: what an executed step means for its resource and for those after it.

use super::decide::current;
use super::decision::{Decision, FailReason, Failure};
use super::observed::query;
use super::{After, Pending, Planner, Step};
use crate::belonging::satisfies;
use crate::id::GroupVersionKind;
use crate::nested;
use crate::observation::{Observation, Version};
use crate::outcome::{Outcome, OutcomeResult};
use crate::scope::Scope;
use crate::task::Resource;
use crate::write::{Executed, WriteError, WriteErrorKind};

impl Planner<'_> {
    /// Takes what became of the pending step. A creation that met its own object is decided again, once, which may
    /// ask for another step.
    pub fn record(&mut self, scope: &mut Scope, executed: Executed) -> Option<Step> {
        let pending = self.pending.take()?;
        let (result, object) = match executed {
            Executed::Created(object) => (OutcomeResult::Created, Some(object)),
            Executed::Updated(object) => (OutcomeResult::Updated, Some(object)),
            Executed::Recreated(object) => (OutcomeResult::Recreated, Some(object)),
            Executed::Deleted => (OutcomeResult::Deleted, None),
            Executed::Deleting(remaining) => {
                let versions: Vec<Version> = remaining.into_iter().map(Version::new).collect();
                let shown = current(&versions, self.stamp.generation).cloned();
                return self.conclude(pending, OutcomeResult::Deleting, After::Now(shown), scope);
            }
            Executed::DeleteFailed { remaining, failures } => {
                return self.delete_failed(pending, remaining, &failures, scope);
            }
            Executed::NameTaken(object) => return self.name_taken(pending, object, scope),
            Executed::Failed(error) => {
                let failure = write_failure(&error);
                return self.conclude(pending, OutcomeResult::Failed(failure), After::AsObserved, scope);
            }
        };
        self.conclude(pending, result, After::Now(object.map(Version::new)), scope)
    }

    fn delete_failed(
        &mut self,
        pending: Pending,
        remaining: Vec<serde_json::Value>,
        failures: &[WriteError],
        scope: &mut Scope,
    ) -> Option<Step> {
        let reason = failures.first().map_or(FailReason::Unavailable, |error| write_failure(error).reason);
        let messages: Vec<String> = failures.iter().map(|error| write_failure(error).message).collect();
        let versions: Vec<Version> = remaining.into_iter().map(Version::new).collect();
        // What could not be deleted stands as it was seen; it must not look gone.
        let after = match current(&versions, self.stamp.generation) {
            Some(version) => After::Now(Some(version.clone())),
            None => After::AsObserved,
        };
        let failure = Failure::new(reason, messages.join("; "));
        self.conclude(pending, OutcomeResult::Failed(failure), after, scope)
    }

    fn name_taken(&mut self, pending: Pending, object: Option<serde_json::Value>, scope: &mut Scope) -> Option<Step> {
        let name = pending.place.1.clone();
        let taken = object.map(Version::new);
        let ours = taken.as_ref().is_some_and(|version| self.is_ours(version, &name));
        match taken {
            Some(version) if ours && !pending.decided_again => {
                // Another replica was faster: what it made is this event's observation too.
                self.slots[self.position].observation = Some(Observation::Found(vec![version]));
                self.publish(self.position, scope);
                self.decide_current(scope, true)
            }
            Some(_) => {
                let kind = &self.resource().kind.kind;
                let message = format!("a {kind} {name} exists that does not belong to this resource; it is left alone");
                let failure = Failure::new(FailReason::NameTaken, message);
                self.conclude(pending, OutcomeResult::Failed(failure), After::AsObserved, scope)
            }
            None => {
                let message = format!("{name} existed when it was to be created, and was gone when it was read");
                let failure = Failure::new(FailReason::Conflict, message);
                self.conclude(pending, OutcomeResult::Failed(failure), After::AsObserved, scope)
            }
        }
    }

    fn is_ours(&self, version: &Version, rendered_name: &str) -> bool {
        let Some(query) = &self.slots[self.position].query else { return false };
        satisfies(query, version.object()) && self.claim(self.resource(), Some(rendered_name)).covers(query, version)
    }

    /// Ends the current resource: publishes what is there now, promotes nested objects, notes the outcome.
    /// Gives back `None`, as there is nothing left to execute.
    pub(super) fn conclude(
        &mut self,
        pending: Pending,
        mut result: OutcomeResult,
        after: After,
        scope: &mut Scope,
    ) -> Option<Step> {
        let resource = self.resource();
        if let After::Now(version) = after {
            scope.set_member("resources", &resource.name, version.map(Version::into_object));
        }
        let mut warnings = pending.record.warnings;
        if applied(&pending.decision, &result)
            && let Err(failure) = promote_nested(resource, scope, &mut warnings)
        {
            result = OutcomeResult::Failed(failure);
        }
        let failed = matches!(result, OutcomeResult::Failed(_));
        // A failed deletion is collected; only what was to be applied stands in the way of later resources.
        self.failed_earlier |= failed && pending.decision != Decision::Delete;
        let (namespace, name) = pending.place;
        self.outcomes.push(Outcome {
            resource: resource.name.clone(),
            kind: resource.kind.clone(),
            namespace,
            name,
            finalized: matches!(pending.decision, Decision::Skip(super::decision::SkipReason::AlreadyAbsent)),
            decision: pending.decision,
            result,
            gates: pending.record.gates,
            warnings,
        });
        self.position += 1;
        None
    }
}

/// Whether the object was applied, or needed no apply: the cases in which nested objects are looked for.
fn applied(decision: &Decision, result: &OutcomeResult) -> bool {
    use super::decision::SkipReason;
    match result {
        OutcomeResult::Created | OutcomeResult::Updated | OutcomeResult::Recreated => true,
        OutcomeResult::Skipped => match decision {
            Decision::Skip(SkipReason::SameGeneration(_) | SkipReason::StaleEvent { .. }) => true,
            Decision::Skip(SkipReason::AlreadyAbsent | SkipReason::CreateGateFalse | SkipReason::EarlierFailure)
            | Decision::Create
            | Decision::CreateVersion
            | Decision::Update { .. }
            | Decision::Recreate { .. }
            | Decision::Delete
            | Decision::Wait(_)
            | Decision::Fail(_) => false,
        },
        OutcomeResult::Deleted | OutcomeResult::Deleting | OutcomeResult::Waiting | OutcomeResult::Failed(_) => false,
    }
}

fn promote_nested(resource: &Resource, scope: &mut Scope, warnings: &mut Vec<String>) -> Result<(), Failure> {
    if resource.nested.is_empty() {
        return Ok(());
    }
    let visible = scope.get("resources").and_then(|resources| resources.get(&resource.name));
    let Some(parent) = visible.cloned() else { return Ok(()) };
    for entry in &resource.nested {
        let kind = GroupVersionKind::new("", "");
        let wanted = match query(&entry.discovery, kind, scope) {
            Ok(wanted) => wanted,
            Err(error) => {
                warnings.push(format!("nested discovery {} was left out: {error}", entry.name));
                continue;
            }
        };
        if entry.name == resource.name {
            warnings.push(format!("nested discovery {} was left out: it has its parent's name", entry.name));
            continue;
        }
        let Some(object) = nested::find(&parent, &wanted) else {
            warnings.push(format!("nested discovery {} found nothing ({})", entry.name, nested::describe(&wanted)));
            continue;
        };
        let taken = scope.get("resources").is_some_and(|resources| resources.get(&entry.name).is_some());
        if taken {
            let message = format!("nested discovery key collision: resources.{} is there already", entry.name);
            return Err(Failure::new(FailReason::NestedNameTaken, message));
        }
        scope.set_member("resources", &entry.name, Some(object));
    }
    Ok(())
}

/// The failure that a refused write is.
fn write_failure(error: &WriteError) -> Failure {
    let reason = match error.kind {
        WriteErrorKind::NotFound => FailReason::NotFound,
        WriteErrorKind::AlreadyExists => FailReason::NameTaken,
        WriteErrorKind::Conflict => FailReason::Conflict,
        WriteErrorKind::Invalid => FailReason::Invalid,
        WriteErrorKind::Forbidden => FailReason::Forbidden,
        WriteErrorKind::TooManyRequests => FailReason::TooManyRequests,
        WriteErrorKind::Unavailable => FailReason::Unavailable,
        WriteErrorKind::Unreachable => FailReason::Unreachable,
        WriteErrorKind::DeadlineExceeded => FailReason::DeadlineExceeded,
    };
    let status = error.status.map(|status| format!(" (HTTP {status})"));
    Failure::new(reason, format!("{error}{}", status.unwrap_or_default()))
}
