//! Why a decision or a write failed: a reason of a closed set, and a message for a person.

use std::fmt;

use crate::write::{WriteError, WriteErrorKind};

/// Why a decision or its write failed.
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
    /// The resource's own discovery would not find the rendered or patched object: the next event would take it
    /// for absent.
    SelectorMismatch,
    /// A label that the adapter sets has no valid value.
    InvalidLabel,
    /// The manifest's generation annotation is not a number.
    InvalidGeneration,
    /// An object that the resource does not own has the rendered name.
    NameTaken,
    /// No adapter wrote the object that the adapter would have to update or replace, and the entry does not adopt.
    NotOurs,
    /// The new version has the name of an existing version.
    VersionNameTaken,
    /// The configured owner is absent or terminating, or cannot own the object.
    OwnerUnavailable,
    /// Another client changed, deleted or replaced the object after the pass had read it.
    Conflict,
    /// The API server rejected the object as invalid.
    Invalid,
    /// An admission policy, a webhook or a quota denied the object.
    Denied,
    /// The API server forbids the call.
    Forbidden,
    /// The kind or the namespace does not exist.
    NotFound,
    /// The API server limits the adapter's requests (HTTP 429).
    TooManyRequests,
    /// The API server answered with an error of its own (HTTP 5xx).
    Unavailable,
    /// The API server did not answer.
    Unreachable,
    /// The event's deadline passed before the adapter finished the resource.
    DeadlineExceeded,
    /// Another entry of `resources` has the name of a nested discovery.
    NestedNameTaken,
}

impl FailReason {
    /// Every reason, so that the metrics can create a counter at zero for each.
    pub const ALL: [Self; 20] = [
        Self::DiscoveryFailed,
        Self::GateFailed,
        Self::RenderFailed,
        Self::SelectorMismatch,
        Self::InvalidLabel,
        Self::InvalidGeneration,
        Self::NameTaken,
        Self::NotOurs,
        Self::VersionNameTaken,
        Self::OwnerUnavailable,
        Self::Conflict,
        Self::Invalid,
        Self::Denied,
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
            Self::NotOurs => "NotOurs",
            Self::VersionNameTaken => "VersionNameTaken",
            Self::OwnerUnavailable => "OwnerUnavailable",
            Self::Conflict => "Conflict",
            Self::Invalid => "Invalid",
            Self::Denied => "Denied",
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

/// Why an object cannot be created yet, as a sentence.
#[must_use]
pub fn namespace_terminating(namespace: &str) -> String {
    format!("namespace {namespace} is being deleted, and takes no new objects until it is gone")
}

impl Failure {
    /// A failure of a kind, with its message.
    pub fn new(reason: FailReason, message: impl Into<String>) -> Self {
        Self { reason, message: message.into() }
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.reason.as_str(), self.message)
    }
}

impl From<&WriteError> for Failure {
    /// The failure of a refused write: the server's message, and what to do about it.
    fn from(error: &WriteError) -> Self {
        Self::new(error.kind.into(), format!("{}; {}", error.with_status(), error.cure()))
    }
}

impl From<WriteErrorKind> for FailReason {
    fn from(kind: WriteErrorKind) -> Self {
        match kind {
            // Only a list can expire, and a failed read leaves its objects unread whatever its kind.
            WriteErrorKind::Expired | WriteErrorKind::NotFound | WriteErrorKind::NamespaceMissing => Self::NotFound,
            WriteErrorKind::AlreadyExists => Self::NameTaken,
            WriteErrorKind::Conflict => Self::Conflict,
            WriteErrorKind::Invalid => Self::Invalid,
            // Of these, a creation waits; the server refuses nothing else with this kind.
            WriteErrorKind::NamespaceTerminating | WriteErrorKind::Denied => Self::Denied,
            WriteErrorKind::Forbidden => Self::Forbidden,
            WriteErrorKind::TooManyRequests => Self::TooManyRequests,
            WriteErrorKind::Unavailable => Self::Unavailable,
            WriteErrorKind::Unreachable => Self::Unreachable,
            WriteErrorKind::DeadlineExceeded => Self::DeadlineExceeded,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn failure_names_the_status_that_the_error_leaves_out() {
        let error = |kind, status| WriteError {
            kind,
            call: "list Job".to_owned(),
            status,
            message: "the token expired".to_owned(),
        };
        let cases = [
            (
                error(WriteErrorKind::Expired, Some(410)),
                FailReason::NotFound,
                "failed to list Job: the token expired (HTTP 410); if ",
            ),
            (
                error(WriteErrorKind::Unreachable, None),
                FailReason::Unreachable,
                "failed to list Job: the token expired; look ",
            ),
        ];
        for (error, reason, beginning) in cases {
            let failure = Failure::from(&error);
            assert_eq!(failure.reason, reason);
            assert!(failure.message.starts_with(beginning), "{}", failure.message);
            assert_eq!(error.to_string(), "failed to list Job: the token expired");
        }
    }
}
