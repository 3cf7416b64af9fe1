//! What became of each resource, in the past tense.

use serde_json::{Value, json};

use crate::id::{Generation, GroupVersionKind};
use crate::plan::decision::{Decision, Failure, SkipReason, WaitReason};

/// What became of one resource.
#[derive(Debug, Clone, PartialEq)]
pub struct Outcome {
    /// The resource's name in the task.
    pub resource: String,
    /// The kind of its objects.
    pub kind: GroupVersionKind,
    /// The namespace of the object written or looked at; empty if cluster-scoped or not known.
    pub namespace: String,
    /// The name of the object written or looked at; empty if not known.
    pub name: String,
    /// What was decided.
    pub decision: Decision,
    /// What came of it.
    pub result: OutcomeResult,
    /// Whether this pass needs nothing more to consider the resource let go of.
    pub finalized: bool,
    /// The gates that were asked, in order, with their answers.
    pub gates: Vec<(&'static str, String)>,
    /// What the author should know, although it did not fail.
    pub warnings: Vec<String>,
}

/// What came of a decision.
#[derive(Debug, Clone, PartialEq)]
pub enum OutcomeResult {
    /// Created, beside others or alone.
    Created,
    /// Brought to the desired state.
    Updated,
    /// Deleted, and created anew.
    Recreated,
    /// Every version is gone.
    Deleted,
    /// Deletion was accepted, but something still stands.
    Deleting,
    /// Nothing was done, and nothing has to be.
    Skipped,
    /// Nothing was done yet; the next event looks again.
    Waiting,
    /// It could not be done.
    Failed(Failure),
}

impl OutcomeResult {
    /// The result as logs and traces spell it.
    #[must_use]
    pub fn as_str(&self) -> &'static str {
        match self {
            Self::Created => "created",
            Self::Updated => "updated",
            Self::Recreated => "recreated",
            Self::Deleted => "deleted",
            Self::Deleting => "deleting",
            Self::Skipped => "skipped",
            Self::Waiting => "waiting",
            Self::Failed(_) => "failed",
        }
    }
}

impl Outcome {
    /// The failure, if it failed.
    #[must_use]
    pub fn failure(&self) -> Option<&Failure> {
        match &self.result {
            OutcomeResult::Failed(failure) => Some(failure),
            OutcomeResult::Created
            | OutcomeResult::Updated
            | OutcomeResult::Recreated
            | OutcomeResult::Deleted
            | OutcomeResult::Deleting
            | OutcomeResult::Skipped
            | OutcomeResult::Waiting => None,
        }
    }

    /// Why it came so, in a sentence for logs and traces.
    #[must_use]
    pub fn reason(&self) -> String {
        let generation = |from: &Option<Generation>| from.map_or_else(|| "none".to_owned(), |from| from.to_string());
        if let Some(failure) = self.failure() {
            return failure.to_string();
        }
        match &self.decision {
            Decision::Create => "resource not found".to_owned(),
            Decision::CreateVersion => "no version has the rendered name".to_owned(),
            Decision::Update { from } => format!("generation changed from {}", generation(from)),
            Decision::Recreate { from } => format!("recreate gate holds, live generation {}", generation(from)),
            Decision::Delete => "lifecycle.delete.when evaluated to true".to_owned(),
            Decision::Wait(WaitReason::Deleting) => "deletion pending".to_owned(),
            Decision::Wait(WaitReason::Terminating) => "the live object is terminating".to_owned(),
            Decision::Skip(SkipReason::AlreadyAbsent) => "resource already deleted or never existed".to_owned(),
            Decision::Skip(SkipReason::CreateGateFalse) => {
                "lifecycle.create.when condition evaluated to false".to_owned()
            }
            Decision::Skip(SkipReason::StaleEvent { live, desired }) => {
                format!("the event is about generation {desired}, and generation {live} is live")
            }
            Decision::Skip(SkipReason::SameGeneration(generation)) => format!("generation {generation} unchanged"),
            Decision::Skip(SkipReason::EarlierFailure) => "an earlier resource failed".to_owned(),
            Decision::Fail(failure) => failure.to_string(),
        }
    }

    /// `adapter.outcomes.<name>` as expressions and templates see it.
    #[must_use]
    pub fn to_value(&self) -> Value {
        let reason = self.failure().map_or_else(|| self.decision.reason(), |failure| failure.reason.as_str());
        json!({ "decision": self.decision.kind(), "reason": reason, "finalized": self.finalized })
    }
}
