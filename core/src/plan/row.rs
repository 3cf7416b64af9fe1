//! The rows of the decision table, by the numbers that `docs/lifecycle.md` gives them.

use std::fmt;

/// The row of the decision table that matched: why a decision was made, where the decision itself is what is done.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Row {
    /// 1: the live objects could not be read.
    Unknown,
    /// 2: a version was disowned, so that none is ever touched again.
    Disowned,
    /// 3: live, and the orphan gate holds.
    Disown,
    /// 4: absent, and the orphan gate holds.
    NothingToDisown,
    /// 5: live, and the delete gate holds.
    Delete,
    /// 6: all terminating, and the delete gate holds.
    Deleting,
    /// 7: absent, and the delete gate holds.
    AlreadyAbsent,
    /// 7a: an earlier resource failed to be applied.
    EarlierFailure,
    /// 8: `when` does not hold.
    WhenFalse,
    /// 9: all terminating.
    Terminating,
    /// 10: absent, and `create` does not hold.
    CreateGateFalse,
    /// 11: absent, and `apply` does not hold.
    ApplyGateFalseAbsent,
    /// 12: absent.
    Absent,
    /// 13: a version has a higher generation than the desired one.
    Stale,
    /// 14: live, and the recreate gate holds.
    Recreate,
    /// 15: live, and a patch gate holds.
    Patch,
    /// 16: live, and `apply` does not hold.
    ApplyGateFalse,
    /// 17: the current version has the desired generation and owner.
    SameGeneration,
    /// 18: live, and none has the rendered name.
    NewName,
    /// 19: live.
    Update,
}

impl Row {
    /// Every row, in the table's order.
    pub const ALL: [Self; 20] = [
        Self::Unknown,
        Self::Disowned,
        Self::Disown,
        Self::NothingToDisown,
        Self::Delete,
        Self::Deleting,
        Self::AlreadyAbsent,
        Self::EarlierFailure,
        Self::WhenFalse,
        Self::Terminating,
        Self::CreateGateFalse,
        Self::ApplyGateFalseAbsent,
        Self::Absent,
        Self::Stale,
        Self::Recreate,
        Self::Patch,
        Self::ApplyGateFalse,
        Self::SameGeneration,
        Self::NewName,
        Self::Update,
    ];

    /// Its number in the table.
    #[must_use]
    pub fn number(self) -> &'static str {
        match self {
            Self::Unknown => "1",
            Self::Disowned => "2",
            Self::Disown => "3",
            Self::NothingToDisown => "4",
            Self::Delete => "5",
            Self::Deleting => "6",
            Self::AlreadyAbsent => "7",
            Self::EarlierFailure => "7a",
            Self::WhenFalse => "8",
            Self::Terminating => "9",
            Self::CreateGateFalse => "10",
            Self::ApplyGateFalseAbsent => "11",
            Self::Absent => "12",
            Self::Stale => "13",
            Self::Recreate => "14",
            Self::Patch => "15",
            Self::ApplyGateFalse => "16",
            Self::SameGeneration => "17",
            Self::NewName => "18",
            Self::Update => "19",
        }
    }

    /// When it matches, in the table's words.
    #[must_use]
    pub fn condition(self) -> &'static str {
        match self {
            Self::Unknown => "the live objects could not be read",
            Self::Disowned => "a version was disowned",
            Self::Disown => "live, and `lifecycle.orphan` holds",
            Self::NothingToDisown => "absent, and `lifecycle.orphan` holds",
            Self::Delete => "live, and `lifecycle.delete` holds",
            Self::Deleting => "all terminating, and `lifecycle.delete` holds",
            Self::AlreadyAbsent => "absent, and `lifecycle.delete` holds",
            Self::EarlierFailure => "an earlier resource failed",
            Self::WhenFalse => "`when` does not hold",
            Self::Terminating => "all terminating",
            Self::CreateGateFalse => "absent, and `lifecycle.create` does not hold",
            Self::ApplyGateFalseAbsent => "absent, and `lifecycle.apply` does not hold",
            Self::Absent => "absent",
            Self::Stale => "a version has a higher generation than the desired one",
            Self::Recreate => "live, and `lifecycle.recreate` holds",
            Self::Patch => "live, and an entry of `lifecycle.patch` holds",
            Self::ApplyGateFalse => "live, and `lifecycle.apply` does not hold",
            Self::SameGeneration => "the current version has the desired generation and owner",
            Self::NewName => "live, and none has the rendered name",
            Self::Update => "live",
        }
    }

    /// What would have to differ for a later row to be looked at; none if no row comes after what is the case.
    #[must_use]
    pub fn otherwise(self) -> Option<&'static str> {
        Some(match self {
            Self::Unknown => "the read has to succeed",
            Self::Disowned => "a person has to remove the label `hyperfleet.io/disowned`",
            Self::Disown | Self::NothingToDisown => "`lifecycle.orphan` must not hold",
            Self::Delete | Self::Deleting | Self::AlreadyAbsent => "`lifecycle.delete` must not hold",
            Self::EarlierFailure => "the resources before it have to succeed",
            Self::WhenFalse => "`when` has to hold",
            Self::Terminating => "the objects that are on their way out have to be gone",
            Self::CreateGateFalse => "`lifecycle.create` has to hold",
            Self::ApplyGateFalseAbsent | Self::ApplyGateFalse => "`lifecycle.apply` has to hold",
            Self::Absent | Self::Update => return None,
            Self::Stale => "the event has to be about the generation that is live, or a later one",
            Self::Recreate => "`lifecycle.recreate` must not hold",
            Self::Patch => "no entry of `lifecycle.patch` may hold",
            Self::SameGeneration => {
                "the event has to be about another generation, or the owner has to be another object"
            }
            Self::NewName => "the manifest has to render to the name of a live version",
        })
    }
}

impl fmt::Display for Row {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "row {}: {}", self.number(), self.condition())
    }
}
