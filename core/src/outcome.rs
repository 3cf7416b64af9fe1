//! The outcome of each resource in a pass: its decision, and the result of carrying it out.

use std::collections::BTreeSet;
use std::fmt;

use lifecycle_bundle::member::Effect;
use lifecycle_bundle::report::Report;
use lifecycle_bundle::table::Intent;
use lifecycle_language::cel::Reading;
use lifecycle_language::secrets::Secrets;
use lifecycle_objects::failure::{FailReason, Failure};
use lifecycle_objects::id::GroupVersionKind;
use serde::{Serialize, Serializer};
use serde_json::{Value, json};

use crate::decision::{Decision, SkipReason, WaitReason};
use crate::row::Row;
use crate::warning::{Warning, WarningReason};

/// The outcome of one resource.
#[derive(Debug, Clone, PartialEq)]
pub struct Outcome {
    /// The resource's name in the task.
    pub resource: String,
    /// The kind of its objects.
    pub kind: GroupVersionKind,
    /// The namespace of the object written or read; empty if cluster-scoped or unknown.
    pub namespace: String,
    /// The name of the object written or read; empty if unknown.
    pub name: String,
    /// How many live objects the resource owned at the decision, terminating ones included.
    pub versions: usize,
    /// Whether the resource owned objects at the decision, and no adapter had written any of them.
    pub is_foreign: bool,
    /// The row of the decision table that matched.
    pub row: Row,
    /// The decision of that row: what the adapter should do with the resource.
    pub decision: Decision,
    /// The first resource that failed before this one, if that is the reason of the decision.
    pub failed_earlier: Option<String>,
    /// The result of carrying the decision out.
    pub result: OutcomeResult,
    /// Whether the resource has an orphan gate.
    pub can_be_disowned: bool,
    /// Whether the resource has a delete gate.
    pub can_be_deleted: bool,
    /// Whether nothing of the resource is left to delete or disown.
    pub finalized: bool,
    /// The gates that were evaluated, in order, with their answers.
    pub gates: Vec<GateRecord>,
    /// What the decision's sentence leaves unsaid of a live object: whose the one is that counts as absent, or what
    /// holds the one that is being deleted.
    pub detail: Option<String>,
    /// What no agent of the remote cluster has observed for too long, as a sentence.
    pub unobserved: Option<String>,
    /// The former versions that retention deleted.
    pub pruned: Vec<Pruned>,
    /// What became of the bundle's objects, if the resource is a bundle and its turn came to them.
    pub bundle: Option<Box<Report>>,
    /// Problems that did not fail the resource, but that the task's author should see.
    pub warnings: Vec<Warning>,
}

/// A former version that retention deleted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pruned {
    /// The name of the deleted object.
    pub name: String,
    /// The retention limits that the version exceeded, in words.
    pub because: String,
}

/// One gate that the decision evaluated, with its answer.
#[derive(Debug, Clone, PartialEq)]
pub struct GateRecord {
    /// The other resource that the gate belongs to: a deletion evaluates the orphan gates of all others.
    /// None for the outcome's own resource.
    pub resource: Option<String>,
    /// The gate's name: `when`, a key below `lifecycle`, or `patch[0]` and so on.
    pub name: String,
    /// What the gate's expression came to: it holds, does not hold, or failed.
    pub answer: GateAnswer,
    /// The variables that the gate read, with their values; empty unless a trace was asked for.
    pub readings: Vec<Reading>,
    /// The other resources for which a gate that does not hold waits; empty unless a trace was asked for.
    pub awaits: BTreeSet<String>,
}

/// The result of a gate.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum GateAnswer {
    /// The gate's expression is true.
    Holds,
    /// The gate's expression is false.
    DoesNotHold,
    /// The gate could not be evaluated, for this reason.
    Failed(String),
}

impl GateAnswer {
    /// The result of a gate with this value.
    #[must_use]
    pub fn of(holds: bool) -> Self {
        if holds { Self::Holds } else { Self::DoesNotHold }
    }

    /// The result in words, without the reason of a failure.
    #[must_use]
    pub fn as_str(&self) -> &'static str {
        match self {
            Self::Holds => "holds",
            Self::DoesNotHold => "does not hold",
            Self::Failed(_) => "failed",
        }
    }
}

/// The result in words, for logs and traces.
impl fmt::Display for GateAnswer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())?;
        match self {
            Self::Holds | Self::DoesNotHold => Ok(()),
            Self::Failed(cause) => write!(f, ": {cause}"),
        }
    }
}

impl Serialize for GateAnswer {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

/// The result of carrying out a decision.
#[derive(Debug, Clone, PartialEq)]
pub enum OutcomeResult {
    /// The adapter created an object.
    Created,
    /// The adapter updated the object to its manifest.
    Updated,
    /// The adapter sent the patches whose gates hold.
    Patched,
    /// The adapter deleted the object and created it again.
    Recreated,
    /// The adapter disowned every version.
    Disowned,
    /// Every version of the resource is gone.
    Deleted,
    /// The API server accepted the deletion, but at least one version still exists.
    Deleting,
    /// The adapter did nothing, because the resource needs no change.
    Skipped,
    /// The adapter did nothing yet; the next event decides about the resource again.
    Waiting,
    /// The decision could not be made or carried out.
    Failed(Failure),
}

impl OutcomeResult {
    /// Returns the result's name in logs and traces.
    #[must_use]
    pub fn as_str(&self) -> &'static str {
        match self {
            Self::Created => "created",
            Self::Updated => "updated",
            Self::Patched => "patched",
            Self::Recreated => "recreated",
            Self::Disowned => "disowned",
            Self::Deleted => "deleted",
            Self::Deleting => "deleting",
            Self::Skipped => "skipped",
            Self::Waiting => "waiting",
            Self::Failed(_) => "failed",
        }
    }
}

impl Serialize for OutcomeResult {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.as_str())
    }
}

impl From<&Report> for OutcomeResult {
    /// What became of a bundle's objects as a whole, if nothing failed and the parent was not written.
    fn from(report: &Report) -> Self {
        let has = |wanted: fn(&Effect) -> bool| report.objects.iter().any(|object| wanted(&object.effect));
        let is_complete = report.stopped.is_none();
        match report.intent {
            Intent::Apply if has(|effect| *effect != Effect::None) => Self::Updated,
            Intent::Delete if has(|effect| matches!(effect, Effect::Deleted | Effect::Deleting)) => {
                if is_complete {
                    Self::Deleted
                } else {
                    Self::Deleting
                }
            }
            Intent::Disown if is_complete && has(|effect| *effect == Effect::Disowned) => Self::Disowned,
            Intent::Apply | Intent::Delete | Intent::Disown if is_complete => Self::Skipped,
            Intent::Apply | Intent::Delete | Intent::Disown => Self::Waiting,
        }
    }
}

impl Outcome {
    /// Returns the failure, if there is one.
    #[must_use]
    pub fn failure(&self) -> Option<&Failure> {
        match &self.result {
            OutcomeResult::Failed(failure) => Some(failure),
            OutcomeResult::Created
            | OutcomeResult::Updated
            | OutcomeResult::Patched
            | OutcomeResult::Recreated
            | OutcomeResult::Disowned
            | OutcomeResult::Deleted
            | OutcomeResult::Deleting
            | OutcomeResult::Skipped
            | OutcomeResult::Waiting => None,
        }
    }

    /// Removes secrets from the texts in which a server or the manifest may have been quoted.
    pub fn redact(&mut self, secrets: &Secrets) {
        if secrets.is_empty() {
            return;
        }
        let clean = |text: &mut String| {
            let clean = secrets.text(text);
            if *clean != **text {
                *text = clean.into_owned();
            }
        };
        if let OutcomeResult::Failed(failure) = &mut self.result {
            clean(&mut failure.message);
        }
        if let Decision::Fail(failure) = &mut self.decision {
            clean(&mut failure.message);
        }
        if let Some(bundle) = &mut self.bundle {
            if let Some(stop) = &mut bundle.stopped {
                clean(&mut stop.why);
                if let Some(failure) = stop.failure_mut() {
                    clean(&mut failure.message);
                }
            }
            let effects = bundle.objects.iter_mut().map(|object| &mut object.effect);
            let failures =
                effects.filter_map(|effect| if let Effect::Failed(failure) = effect { Some(failure) } else { None });
            failures.for_each(|failure| clean(&mut failure.message));
        }
        self.detail.iter_mut().for_each(clean);
        self.warnings.iter_mut().for_each(|warning| clean(&mut warning.message));
    }

    /// Explains the outcome in a sentence for logs and traces.
    #[must_use]
    pub fn reason(&self) -> String {
        let stopped = self.bundle.as_ref().and_then(|report| report.stopped.as_ref());
        if let (None, Some(stopped)) = (self.failure(), stopped) {
            return stopped.to_string();
        }
        let has_nothing_to_do = matches!(
            self.decision,
            Decision::Skip(SkipReason::AlreadyAbsent | SkipReason::NothingToDisown | SkipReason::NotOurs)
        );
        let is_left =
            |warning: &&Warning| matches!(warning.reason, WarningReason::OwnershipLost | WarningReason::LeftBehind);
        let lost = self.warnings.iter().find(is_left);
        match (self.failure(), &self.failed_earlier, lost) {
            (Some(failure), ..) => failure.to_string(),
            (None, Some(earlier), _) => format!("the earlier resource `{earlier}` failed"),
            // The sentence of these decisions says that no object of an adapter exists.
            (None, None, Some(lost)) if has_nothing_to_do => lost.message.clone(),
            (None, None, _) => match &self.detail {
                Some(detail) => format!("{}; {detail}", self.decision.sentence()),
                None => self.decision.sentence(),
            },
        }
    }

    /// Says what would have to change for a later row of the decision table to match. Returns none for the last
    /// row, and for failures whose own text says it.
    #[must_use]
    pub fn otherwise(&self) -> Option<&'static str> {
        if matches!(self.decision, Decision::Wait(WaitReason::NamespaceTerminating(_))) {
            return Some("its namespace has to be gone");
        }
        // A bundle whose parent needs no write is applied all the same.
        let is_applied = self.bundle.is_some() && self.row == Row::SameGeneration;
        let Decision::Fail(failure) = &self.decision else { return self.row.otherwise().filter(|_| !is_applied) };
        if failure.reason == FailReason::GateFailed {
            return Some("the gate has to have an answer");
        }
        self.row.otherwise().filter(|_| failure.reason == FailReason::DiscoveryFailed)
    }

    /// Returns `adapter.outcomes.<name>`, as expressions and templates read it.
    #[must_use]
    pub fn to_value(&self) -> Value {
        let reason = self.failure().map_or_else(|| self.decision.reason(), |failure| failure.reason.as_str());
        json!({ "decision": self.decision.kind().as_str(), "reason": reason, "finalized": self.finalized })
    }
}

#[cfg(test)]
mod tests;
