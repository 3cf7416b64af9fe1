//! What a task's author should look at, although nothing failed.

use std::fmt;

/// A remark about one resource that did not change what was decided.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Warning {
    /// What it is about, from a closed set.
    pub reason: WarningReason,
    /// The words.
    pub message: String,
}

/// The reasons of warnings: label values in metrics.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum WarningReason {
    /// A recreate or patch gate read a status that is not there yet, and was taken as false.
    StatusMissing,
    /// The orphan gate won, and the delete gate held or failed.
    GateConflict,
    /// A former version could not be pruned.
    PruneFailed,
    /// Former versions are not pruned yet, because an object of another resource has to be disowned first.
    PrunePending,
    /// A nested discovery was left out.
    NestedLeftOut,
    /// A nested discovery could not be rendered: nobody knows whether its object is there.
    NestedUnread,
}

impl WarningReason {
    /// Every reason, for metrics that start at zero.
    pub const ALL: [Self; 6] = [
        Self::StatusMissing,
        Self::GateConflict,
        Self::PruneFailed,
        Self::PrunePending,
        Self::NestedLeftOut,
        Self::NestedUnread,
    ];

    /// The reason as metrics spell it.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::StatusMissing => "status_missing",
            Self::GateConflict => "gate_conflict",
            Self::PruneFailed => "prune_failed",
            Self::PrunePending => "prune_pending",
            Self::NestedLeftOut => "nested_left_out",
            Self::NestedUnread => "nested_unread",
        }
    }
}

impl Warning {
    /// A warning with its reason and its words.
    pub fn new(reason: WarningReason, message: impl Into<String>) -> Self {
        Self { reason, message: message.into() }
    }
}

impl fmt::Display for Warning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}
