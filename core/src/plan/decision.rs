//! What is to become of one resource, each with its reason: the answers that [`decide`](super::decide::decide) gives.

use std::fmt;

use crate::id::Generation;

/// The decision about one resource on one event.
#[derive(Debug, Clone, PartialEq)]
pub enum Decision {
    /// Nothing is there: create it.
    Create,
    /// Others are there, but none of the rendered name: create this one beside them.
    CreateVersion,
    /// Bring the live object to the desired state.
    Update {
        /// The generation that it was last written for, if it says so.
        from: Option<Generation>,
    },
    /// Delete what is there, and create it anew.
    Recreate {
        /// The generation that it was last written for, if it says so.
        from: Option<Generation>,
    },
    /// Delete every version that is not on its way out already.
    Delete,
    /// Something has to happen elsewhere first; the next event looks again.
    Wait(WaitReason),
    /// There is nothing to do.
    Skip(SkipReason),
    /// It cannot be done.
    Fail(Failure),
}

/// What a resource waits for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WaitReason {
    /// Deletion was asked for, and every version is on its way out.
    Deleting,
    /// Every version is on its way out: nothing is written into it, or created beside it.
    Terminating,
}

/// Why there is nothing to do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SkipReason {
    /// Deletion is asked for, and nothing is there.
    AlreadyAbsent,
    /// `lifecycle.create.when` does not hold.
    CreateGateFalse,
    /// The event is about an older generation than a live version's.
    StaleEvent {
        /// The live version's.
        live: Generation,
        /// The event's.
        desired: Generation,
    },
    /// The live object was written for this generation.
    SameGeneration(Generation),
    /// An earlier resource of this event failed.
    EarlierFailure,
}

/// Why it cannot be done, or was not.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Failure {
    /// The reason, from a closed set.
    pub reason: FailReason,
    /// The chain of causes, outermost first.
    pub message: String,
}

/// The reasons of failures: condition reasons in reports, label values in metrics.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum FailReason {
    /// The live objects could not be read.
    DiscoveryFailed,
    /// A gate could not be evaluated.
    GateFailed,
    /// The manifest could not be rendered.
    RenderFailed,
    /// The rendered object would not be found by its own discovery: it would be created on every event.
    SelectorMismatch,
    /// A stamped label has no valid value.
    InvalidLabel,
    /// The manifest's generation annotation is not a number.
    InvalidGeneration,
    /// An object that is not ours has the rendered name.
    NameTaken,
    /// The object changed, vanished or was replaced since it was looked at.
    Conflict,
    /// The API server does not accept the object.
    Invalid,
    /// The API server does not allow the call.
    Forbidden,
    /// The kind or namespace is not there.
    NotFound,
    /// The API server asks for fewer calls.
    TooManyRequests,
    /// The API server failed.
    Unavailable,
    /// The API server did not answer.
    Unreachable,
    /// The event's deadline passed.
    DeadlineExceeded,
    /// A nested discovery has the name of something that is there already.
    NestedNameTaken,
}

impl FailReason {
    /// Every reason, for metrics that start at zero.
    pub const ALL: [Self; 16] = [
        Self::DiscoveryFailed,
        Self::GateFailed,
        Self::RenderFailed,
        Self::SelectorMismatch,
        Self::InvalidLabel,
        Self::InvalidGeneration,
        Self::NameTaken,
        Self::Conflict,
        Self::Invalid,
        Self::Forbidden,
        Self::NotFound,
        Self::TooManyRequests,
        Self::Unavailable,
        Self::Unreachable,
        Self::DeadlineExceeded,
        Self::NestedNameTaken,
    ];

    /// The reason as conditions, logs and metrics spell it.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::DiscoveryFailed => "DiscoveryFailed",
            Self::GateFailed => "GateFailed",
            Self::RenderFailed => "RenderFailed",
            Self::SelectorMismatch => "SelectorMismatch",
            Self::InvalidLabel => "InvalidLabel",
            Self::InvalidGeneration => "InvalidGeneration",
            Self::NameTaken => "NameTaken",
            Self::Conflict => "Conflict",
            Self::Invalid => "Invalid",
            Self::Forbidden => "Forbidden",
            Self::NotFound => "NotFound",
            Self::TooManyRequests => "TooManyRequests",
            Self::Unavailable => "Unavailable",
            Self::Unreachable => "Unreachable",
            Self::DeadlineExceeded => "DeadlineExceeded",
            Self::NestedNameTaken => "NestedNameTaken",
        }
    }
}

impl Failure {
    /// A failure with its reason and its words.
    pub fn new(reason: FailReason, message: impl Into<String>) -> Self {
        Self { reason, message: message.into() }
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.reason.as_str(), self.message)
    }
}

impl Decision {
    /// The decision's kind as logs, traces and metrics spell it.
    #[must_use]
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Create => "create",
            Self::CreateVersion => "create_version",
            Self::Update { .. } => "update",
            Self::Recreate { .. } => "recreate",
            Self::Delete => "delete",
            Self::Wait(_) => "wait",
            Self::Skip(_) => "skip",
            Self::Fail(_) => "fail",
        }
    }

    /// The decision's reason as logs, traces and metrics spell it.
    #[must_use]
    pub fn reason(&self) -> &'static str {
        match self {
            Self::Create => "Absent",
            Self::CreateVersion => "NewName",
            Self::Update { .. } => "GenerationChanged",
            Self::Recreate { .. } => "RecreateGateHolds",
            Self::Delete => "DeleteGateHolds",
            Self::Wait(WaitReason::Deleting) => "Deleting",
            Self::Wait(WaitReason::Terminating) => "Terminating",
            Self::Skip(reason) => reason.as_str(),
            Self::Fail(failure) => failure.reason.as_str(),
        }
    }

    /// Every pair of kind and reason, for metrics that start at zero.
    #[must_use]
    pub fn labels() -> Vec<(&'static str, &'static str)> {
        let mut labels = vec![
            ("create", "Absent"),
            ("create_version", "NewName"),
            ("update", "GenerationChanged"),
            ("recreate", "RecreateGateHolds"),
            ("delete", "DeleteGateHolds"),
            ("wait", "Deleting"),
            ("wait", "Terminating"),
            ("skip", "AlreadyAbsent"),
            ("skip", "CreateGateFalse"),
            ("skip", "StaleEvent"),
            ("skip", "SameGeneration"),
            ("skip", "EarlierFailure"),
        ];
        labels.extend(FailReason::ALL.map(|reason| ("fail", reason.as_str())));
        labels
    }
}

impl SkipReason {
    /// The reason as logs, traces and metrics spell it.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::AlreadyAbsent => "AlreadyAbsent",
            Self::CreateGateFalse => "CreateGateFalse",
            Self::StaleEvent { .. } => "StaleEvent",
            Self::SameGeneration(_) => "SameGeneration",
            Self::EarlierFailure => "EarlierFailure",
        }
    }
}
