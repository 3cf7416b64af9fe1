//! The report of one pass, from which log lines, metrics and traces are made.

use lifecycle_core::outcome::Outcome;
use lifecycle_core::post::PostReport;
use lifecycle_core::precondition::{PreconditionResult, Verdict};
use lifecycle_core::stage::{Phase, PhaseError};
use lifecycle_language::scope::Scope;
use serde::{Serialize, Serializer};

use crate::fetch::{CallRecord, LogRecord};

pub mod account;

/// The report of one pass: what it evaluated, decided, wrote and called.
#[derive(Debug)]
pub struct PassReport {
    /// The variables at the end of the pass.
    pub scope: Scope,
    /// The failure of phase 1, which ended the pass.
    pub params_error: Option<PhaseError>,
    /// The failures of params for which `on_error: default` put the default.
    pub replaced: Vec<PhaseError>,
    /// The params that have their default.
    pub defaulted: Vec<String>,
    /// Whether the event itself caused that failure, so that no redelivery can succeed.
    pub is_malformed: bool,
    /// The result of phase 2; `None` if phase 1 failed.
    pub verdict: Option<Verdict>,
    /// The result of each precondition.
    pub preconditions: Vec<PreconditionResult>,
    /// The decision about each resource of the task, with the result of its writes.
    pub outcomes: Vec<Outcome>,
    /// The result of phase 4; `None` if phase 1 failed.
    pub post: Option<PostReport>,
    /// The HTTP calls of the pass; empty unless the pipeline records them.
    pub calls: Vec<CallRecord>,
    /// The lines of the task's `log`; empty unless the pipeline records them.
    pub logs: Vec<LogRecord>,
}

/// How a pass or a step of it ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Status {
    /// Of a pass: every phase that ran has succeeded, and the preconditions are met.
    Success,
    /// Of a pass: at least one step failed.
    Failed,
    /// Of a pass: a precondition was not met, so that no resource was written.
    Skipped,
}

impl Serialize for Status {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.as_str())
    }
}

impl Status {
    /// The status as metrics, log lines and traces print it.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Success => "success",
            Self::Failed => "failed",
            Self::Skipped => "skipped",
        }
    }
}

impl PassReport {
    /// The failures of all phases, in order.
    #[must_use]
    pub fn errors(&self) -> Vec<PhaseError> {
        let mut errors: Vec<PhaseError> = self.params_error.iter().cloned().collect();
        if let Some(Verdict::Failed(error)) = &self.verdict {
            errors.push(error.clone());
        }
        errors.extend(self.outcomes.iter().filter_map(|outcome| {
            let failure = outcome.failure()?;
            Some(PhaseError {
                phase: Phase::Resources,
                step: outcome.resource.clone(),
                message: failure.message.clone(),
            })
        }));
        errors.extend(self.post.iter().filter_map(|post| post.error.clone()));
        errors
    }

    /// The API's error text, if it says that the event's own resource, or one that a precondition reads, does not
    /// exist.
    #[must_use]
    pub fn gone(&self) -> Option<&str> {
        let in_post = self.post.as_ref().and_then(|post| post.gone.as_deref());
        match &self.verdict {
            Some(Verdict::ResourceNotFound(message)) => Some(message),
            Some(Verdict::Met | Verdict::NotMet(_) | Verdict::Failed(_)) | None => in_post,
        }
    }

    /// The status of the whole pass.
    #[must_use]
    pub fn status(&self) -> Status {
        let not_found = self.post.as_ref().is_some_and(|post| post.resource_not_found);
        if !self.errors().is_empty() {
            Status::Failed
        } else if not_found || !matches!(self.verdict, Some(Verdict::Met)) {
            Status::Skipped
        } else {
            Status::Success
        }
    }
}
