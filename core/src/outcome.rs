//! What became of each resource, in the past tense.

use serde_json::{Value, json};

use crate::cel::Reading;
use crate::id::GroupVersionKind;
use crate::plan::decide::GateAnswer;
use crate::plan::decision::{Decision, FailReason, Failure};
use crate::plan::row::Row;
use crate::plan::warning::Warning;

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
    /// How many live objects belonged to it when it was looked at, those on their way out included.
    pub versions: usize,
    /// The row of the decision table that matched.
    pub row: Row,
    /// What was decided.
    pub decision: Decision,
    /// What came of it.
    pub result: OutcomeResult,
    /// Whether it has an orphan gate.
    pub can_be_disowned: bool,
    /// Whether it has a delete gate.
    pub can_be_deleted: bool,
    /// Whether this pass needs nothing more to consider the resource gone or disowned.
    pub finalized: bool,
    /// The gates that were asked, in order, with their answers.
    pub gates: Vec<GateRecord>,
    /// The former versions that were deleted because retention says so.
    pub pruned: Vec<Pruned>,
    /// What the author should know, although it did not fail.
    pub warnings: Vec<Warning>,
}

/// A former version that retention deleted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pruned {
    /// Its name.
    pub name: String,
    /// Which limits it exceeded, in words.
    pub because: String,
}

/// A gate that was asked.
#[derive(Debug, Clone, PartialEq)]
pub struct GateRecord {
    /// The resource whose gate it is, if that is another one: a deletion evaluates the orphan gates of the others.
    pub resource: Option<String>,
    /// Its name: its key below `lifecycle`, `when`, or `patch[0]` and so on.
    pub name: String,
    /// Its answer.
    pub answer: GateAnswer,
    /// What it read, if that was to be kept.
    pub readings: Vec<Reading>,
}

impl GateRecord {
    /// The answer in words.
    #[must_use]
    pub fn told(&self) -> String {
        match &self.answer {
            GateAnswer::Holds => "holds".to_owned(),
            GateAnswer::DoesNotHold => "does not hold".to_owned(),
            GateAnswer::Failed(cause) => format!("failed: {cause}"),
        }
    }
}

/// What came of a decision.
#[derive(Debug, Clone, PartialEq)]
pub enum OutcomeResult {
    /// Created, beside others or alone.
    Created,
    /// Brought to the desired state.
    Updated,
    /// Written in part.
    Patched,
    /// Deleted, and created anew.
    Recreated,
    /// Disowned: every version is disowned.
    Disowned,
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

impl Outcome {
    /// The failure, if it failed.
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

    /// Why it came so, in a sentence for logs and traces.
    #[must_use]
    pub fn reason(&self) -> String {
        self.failure().map_or_else(|| self.decision.sentence(), Failure::to_string)
    }

    /// What would have to differ for a later row of the table to match; none if its row is the last one, or if what failed
    /// says so itself.
    #[must_use]
    pub fn otherwise(&self) -> Option<&'static str> {
        let Decision::Fail(failure) = &self.decision else { return self.row.otherwise() };
        if failure.reason == FailReason::GateFailed {
            return Some("the gate has to have an answer");
        }
        self.row.otherwise().filter(|_| failure.reason == FailReason::DiscoveryFailed)
    }

    /// `adapter.outcomes.<name>` as expressions and templates see it.
    #[must_use]
    pub fn to_value(&self) -> Value {
        let reason = self.failure().map_or_else(|| self.decision.reason(), |failure| failure.reason.as_str());
        json!({ "decision": self.decision.kind(), "reason": reason, "finalized": self.finalized })
    }
}
