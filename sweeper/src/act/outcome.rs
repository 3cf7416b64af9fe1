//! What became of one object of a released plan, and the reasons.

use std::fmt;

use lifecycle_core::sweep::Keep;
use lifecycle_objects::write::{Deletion, WriteError, WriteErrorKind};
use serde_json::Value;

use crate::leader::TermOver;
use crate::recheck::Withdrawn;

/// What became of one object that the pass was to delete.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Outcome {
    /// The API server removed the object.
    Deleted,
    /// The API server accepted the deletion, and the object stays until its finalizers or its grace period let it go.
    Terminating {
        /// The finalizers that the object has.
        finalizers: Vec<String>,
    },
    /// The object did not exist any more when it was read.
    AlreadyGone,
    /// The object was not any more what the pass had judged, so no deletion was sent.
    Kept(Keep),
    /// The object was changed or replaced between its last read and the deletion, which the API server refused.
    Changed,
    /// The object could not be read, so no deletion was sent.
    Unread(WriteError),
    /// The API server refused the deletion.
    Refused(WriteError),
    /// The deletion was sent and no answer proves whether the API server carried it out.
    Uncertain(WriteError),
    /// This replica was not the leader any more, so no deletion was sent.
    NotLeader(TermOver),
    /// What the plan rests on was not confirmed any more, so no deletion was sent.
    Withdrawn(Withdrawn),
    /// The record that must precede a deletion could not be written, so no deletion was sent.
    AuditFailed,
}

impl Outcome {
    /// The label, whether the object is deleted or may be, and whether nothing went wrong.
    fn row(&self) -> (&'static str, bool, bool) {
        match self {
            Self::Deleted => ("deleted", true, true),
            Self::Terminating { .. } => ("terminating", true, true),
            Self::AlreadyGone => ("already_gone", false, true),
            Self::Kept(_) => ("kept", false, true),
            Self::Changed => ("changed", false, true),
            Self::Unread(_) => ("unread", false, false),
            Self::Refused(_) => ("refused", false, false),
            Self::Uncertain(_) => ("uncertain", true, false),
            Self::NotLeader(_) => ("not_leader", false, false),
            // An answer that proves nothing went wrong; a person or the API that say otherwise did not.
            Self::Withdrawn(why) => ("withdrawn", false, !matches!(why, Withdrawn::Unknown { .. })),
            Self::AuditFailed => ("audit_failed", false, false),
        }
    }

    /// The outcome as the value of a metric label.
    #[must_use]
    pub fn label(&self) -> &'static str {
        self.row().0
    }

    /// Whether the sweeper's request deletes the object, or may do so.
    #[must_use]
    pub fn may_be_deleted(&self) -> bool {
        self.row().1
    }

    /// Whether the API server accepted the sweeper's deletion.
    #[must_use]
    pub fn is_accepted(&self) -> bool {
        matches!(self, Self::Deleted | Self::Terminating { .. })
    }

    /// Whether nothing went wrong: the object goes, or the sweeper rightly kept it.
    #[must_use]
    pub fn is_settled(&self) -> bool {
        self.row().2
    }

    /// Whether the pass deletes nothing more: it ended before this object, and perhaps others, had its turn.
    #[must_use]
    pub fn is_end_of_pass(&self) -> bool {
        matches!(self, Self::NotLeader(_) | Self::Withdrawn(_) | Self::AuditFailed)
    }

    /// Reads the answer to a DELETE.
    pub(super) fn of(answer: Result<Deletion, WriteError>) -> Self {
        let error = match answer {
            Ok(Deletion::Gone) => return Self::Deleted,
            Ok(Deletion::Pending(object)) => return Self::Terminating { finalizers: finalizers(&object) },
            Err(error) => error,
        };
        match error.kind {
            WriteErrorKind::Conflict => Self::Changed,
            WriteErrorKind::Unavailable | WriteErrorKind::Unreachable | WriteErrorKind::DeadlineExceeded => {
                Self::Uncertain(error)
            }
            WriteErrorKind::NotFound
            | WriteErrorKind::NamespaceMissing
            | WriteErrorKind::AlreadyExists
            | WriteErrorKind::Expired
            | WriteErrorKind::Invalid
            | WriteErrorKind::Denied
            | WriteErrorKind::NamespaceTerminating
            | WriteErrorKind::Forbidden
            | WriteErrorKind::TooManyRequests => Self::Refused(error),
        }
    }
}

fn finalizers(object: &Value) -> Vec<String> {
    let finalizers = object.pointer("/metadata/finalizers").and_then(Value::as_array);
    finalizers.into_iter().flatten().filter_map(Value::as_str).map(str::to_owned).collect()
}

impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Deleted => f.write_str("the object was deleted"),
            Self::Terminating { finalizers } if finalizers.is_empty() => f.write_str("the object is being deleted"),
            Self::Terminating { finalizers } => {
                write!(f, "the object is being deleted; it waits for its finalizers {}", finalizers.join(", "))
            }
            Self::AlreadyGone => f.write_str("the object was gone already"),
            Self::Kept(keep) => write!(f, "the object is kept: {keep}"),
            Self::Changed => f.write_str("the object is kept: it changed after it was read for the last time"),
            Self::Unread(error) => write!(f, "the object is kept: it could not be read again: {error}"),
            Self::Refused(error) => write!(f, "the API server refused the deletion: {error}"),
            Self::Uncertain(error) => {
                write!(f, "the object may be deleted or not: no answer proves either: {error}")
            }
            Self::NotLeader(over) => write!(f, "the object is kept: {over}"),
            Self::Withdrawn(why) => write!(f, "the object is kept: {why}"),
            Self::AuditFailed => f.write_str("the object is kept: no audit record could be written"),
        }
    }
}
