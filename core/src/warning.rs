//! Warnings of a pass: what the author of a task should look at, although nothing failed.

use std::fmt;

/// A warning about one resource. It does not change the decision.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Warning {
    /// The kind of warning, a label value in metrics.
    pub reason: WarningReason,
    /// The text for logs and traces.
    pub message: String,
}

/// The kinds of warnings. Metrics have them as label values.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum WarningReason {
    /// A recreate or patch gate read a status that the object does not have yet, so the planner took the gate
    /// as false.
    StatusMissing,
    /// The orphan gate was true, and the delete gate was true as well or failed; the object was disowned.
    GateConflict,
    /// The API server refused to delete a former version that exceeds `retention`.
    PruneFailed,
    /// Former versions are not pruned yet, because an object of another resource has to be disowned first.
    PrunePending,
    /// A found object of the resource has lost a label by which the adapter recognises it, so that the adapter does
    /// not delete or disown it.
    OwnershipLost,
    /// An object of the API resource exists that no entry of the task deletes, such as one of an entry that was renamed.
    LeftBehind,
    /// The API server forbids to search for objects that the resource had at other places before.
    FormerUnread,
    /// A nested discovery was left out of `resources`.
    NestedLeftOut,
    /// A nested discovery could not be rendered, so it is unknown whether its object exists.
    NestedUnread,
}

impl WarningReason {
    /// Every reason, so that the metrics can create a counter at zero for each.
    pub const ALL: [Self; 9] = [
        Self::StatusMissing,
        Self::GateConflict,
        Self::PruneFailed,
        Self::PrunePending,
        Self::OwnershipLost,
        Self::LeftBehind,
        Self::FormerUnread,
        Self::NestedLeftOut,
        Self::NestedUnread,
    ];

    /// The reason's label value in metrics.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::StatusMissing => "status_missing",
            Self::GateConflict => "gate_conflict",
            Self::PruneFailed => "prune_failed",
            Self::PrunePending => "prune_pending",
            Self::OwnershipLost => "ownership_lost",
            Self::LeftBehind => "left_behind",
            Self::FormerUnread => "former_unread",
            Self::NestedLeftOut => "nested_left_out",
            Self::NestedUnread => "nested_unread",
        }
    }
}

impl Warning {
    /// A warning of a kind, with its text.
    pub fn new(reason: WarningReason, message: impl Into<String>) -> Self {
        Self { reason, message: message.into() }
    }
}

impl fmt::Display for Warning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}
