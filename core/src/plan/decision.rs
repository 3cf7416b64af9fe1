//! What is to become of one resource, each with its reason: the answers that [`decide`](super::decide::decide) gives.

use std::fmt;

use crate::id::Generation;

/// The decision about one resource on one event.
#[derive(Debug, Clone, PartialEq)]
pub enum Decision {
    /// Nothing is there: create it.
    Create,
    /// Others are there, and stay: create this one beside them.
    CreateVersion(VersionReason),
    /// Bring the live object to the desired state.
    Update {
        /// The generation that it was last written for, if it says so.
        from: Option<Generation>,
        /// Why.
        because: UpdateReason,
    },
    /// Send these entries of `lifecycle.patch`, by their places in the list, in order.
    Patch(Vec<usize>),
    /// Delete what is there, and create it anew.
    Recreate {
        /// The generation that it was last written for, if it says so.
        from: Option<Generation>,
    },
    /// Disown every version that is not on its way out already: take the adapter's marks off, and mark it disowned.
    Disown(DisownReason),
    /// Delete every version that is not on its way out already.
    Delete,
    /// Something has to happen elsewhere first; the next event looks again.
    Wait(WaitReason),
    /// There is nothing to do.
    Skip(SkipReason),
    /// It cannot be done.
    Fail(Failure),
}

/// Why a version is created beside others.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum VersionReason {
    /// None of them has the rendered name.
    NewName,
    /// The recreate gate holds, and the resource keeps its former versions.
    RecreateGateHolds,
}

/// Why a live object is updated.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum UpdateReason {
    /// It was written for another generation.
    GenerationChanged,
    /// It does not name the owner that it should.
    OwnerChanged,
}

/// Why objects are disowned.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DisownReason {
    /// The orphan gate holds.
    GateHolds,
    /// Another version was disowned before.
    Disowned,
}

/// What a resource waits for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WaitReason {
    /// Deletion was asked for, and every version is on its way out.
    Deleting,
    /// Every version is on its way out: nothing is written into it, or created beside it.
    Terminating,
    /// It is to be deleted, but an object of another resource is still to be disowned, and might be deleted with it.
    DisownPending,
}

/// Why there is nothing to do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SkipReason {
    /// It was disowned: it is never written or deleted again, until a person takes the mark off.
    Disowned,
    /// Disowning is asked for, and nothing is there.
    NothingToDisown,
    /// Deletion is asked for, and nothing is there.
    AlreadyAbsent,
    /// `when` does not hold.
    WhenFalse,
    /// `lifecycle.create.when` does not hold.
    CreateGateFalse,
    /// `lifecycle.apply.when` does not hold.
    ApplyGateFalse,
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
    /// The object as rendered or patched would not be found by its own discovery: the next event would take it for absent.
    SelectorMismatch,
    /// A stamped label has no valid value.
    InvalidLabel,
    /// The manifest's generation annotation is not a number.
    InvalidGeneration,
    /// An object that is not ours has the rendered name.
    NameTaken,
    /// A version to be created beside others has the name of one of them.
    VersionNameTaken,
    /// The object that it is to name as its owner is not there, is on its way out, or cannot own it.
    OwnerUnavailable,
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
    pub const ALL: [Self; 18] = [
        Self::DiscoveryFailed,
        Self::GateFailed,
        Self::RenderFailed,
        Self::SelectorMismatch,
        Self::InvalidLabel,
        Self::InvalidGeneration,
        Self::NameTaken,
        Self::VersionNameTaken,
        Self::OwnerUnavailable,
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
            Self::VersionNameTaken => "VersionNameTaken",
            Self::OwnerUnavailable => "OwnerUnavailable",
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
            Self::CreateVersion(_) => "create_version",
            Self::Update { .. } => "update",
            Self::Patch(_) => "patch",
            Self::Recreate { .. } => "recreate",
            Self::Disown(_) => "disown",
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
            Self::CreateVersion(VersionReason::NewName) => "NewName",
            Self::CreateVersion(VersionReason::RecreateGateHolds) | Self::Recreate { .. } => "RecreateGateHolds",
            Self::Update { because: UpdateReason::GenerationChanged, .. } => "GenerationChanged",
            Self::Update { because: UpdateReason::OwnerChanged, .. } => "OwnerChanged",
            Self::Patch(_) => "PatchGateHolds",
            Self::Disown(DisownReason::GateHolds) => "OrphanGateHolds",
            Self::Disown(DisownReason::Disowned) | Self::Skip(SkipReason::Disowned) => "Disowned",
            Self::Delete => "DeleteGateHolds",
            Self::Wait(WaitReason::Deleting) => "Deleting",
            Self::Wait(WaitReason::Terminating) => "Terminating",
            Self::Wait(WaitReason::DisownPending) => "DisownPending",
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
            ("create_version", "RecreateGateHolds"),
            ("update", "GenerationChanged"),
            ("update", "OwnerChanged"),
            ("patch", "PatchGateHolds"),
            ("recreate", "RecreateGateHolds"),
            ("disown", "OrphanGateHolds"),
            ("disown", "Disowned"),
            ("delete", "DeleteGateHolds"),
            ("wait", "Deleting"),
            ("wait", "Terminating"),
            ("wait", "DisownPending"),
            ("skip", "Disowned"),
            ("skip", "NothingToDisown"),
            ("skip", "AlreadyAbsent"),
            ("skip", "WhenFalse"),
            ("skip", "CreateGateFalse"),
            ("skip", "ApplyGateFalse"),
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
            Self::Disowned => "Disowned",
            Self::NothingToDisown => "NothingToDisown",
            Self::AlreadyAbsent => "AlreadyAbsent",
            Self::WhenFalse => "WhenFalse",
            Self::CreateGateFalse => "CreateGateFalse",
            Self::ApplyGateFalse => "ApplyGateFalse",
            Self::StaleEvent { .. } => "StaleEvent",
            Self::SameGeneration(_) => "SameGeneration",
            Self::EarlierFailure => "EarlierFailure",
        }
    }
}
