//! What one pass did: the values that logs, metrics and traces are made of.

use lifecycle_core::outcome::Outcome;
use lifecycle_core::post::PostReport;
use lifecycle_core::precondition::{PreconditionResult, Verdict};
use lifecycle_core::scope::Scope;
use lifecycle_core::stage::{Phase, PhaseError};

use crate::fetch::CallRecord;

/// The account of one pass.
#[derive(Debug)]
pub struct PassReport {
    /// The variables as they were at the end.
    pub scope: Scope,
    /// Why phase 1 failed, which ended the pass.
    pub params_error: Option<PhaseError>,
    /// Whether that will come again with the same event, so that the event is good for nothing.
    pub is_malformed: bool,
    /// How phase 2 ended, if it was reached.
    pub verdict: Option<Verdict>,
    /// What each precondition gave.
    pub preconditions: Vec<PreconditionResult>,
    /// What became of each resource.
    pub outcomes: Vec<Outcome>,
    /// What phase 4 did, if it was reached.
    pub post: Option<PostReport>,
    /// The HTTP calls, if they were kept.
    pub calls: Vec<CallRecord>,
}

/// How a pass ended, as metrics spell it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum PassStatus {
    /// Every phase did its part.
    Success,
    /// Some step failed.
    Failed,
    /// The resources were not to be touched.
    Skipped,
}

impl PassStatus {
    /// The status as metrics and logs spell it.
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
    /// The failures, by phase, in order.
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

    /// The API's words, if it says that the event's own resource does not exist, or one of a precondition's.
    #[must_use]
    pub fn gone(&self) -> Option<&str> {
        let in_post = self.post.as_ref().and_then(|post| post.gone.as_deref());
        match &self.verdict {
            Some(Verdict::ResourceNotFound(message)) => Some(message),
            Some(Verdict::Met | Verdict::NotMet(_) | Verdict::Failed(_)) | None => in_post,
        }
    }

    /// How the pass ended.
    #[must_use]
    pub fn status(&self) -> PassStatus {
        let not_found = self.post.as_ref().is_some_and(|post| post.resource_not_found);
        if !self.errors().is_empty() {
            PassStatus::Failed
        } else if not_found || !matches!(self.verdict, Some(Verdict::Met)) {
            PassStatus::Skipped
        } else {
            PassStatus::Success
        }
    }
}
