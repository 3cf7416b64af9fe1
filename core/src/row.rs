//! The rows of the decision table, each declared once.

/// Declares the rows of the table of `docs/lifecycle.md`, each with what would have to differ for the planner to try a later row.
macro_rules! rows {
    ($($name:ident, $number:literal, $condition:literal, $otherwise:expr;)*) => {
        lifecycle_objects::table! {
            /// The row of the decision table that matched. The row is the reason of a decision; the decision says
            /// what to do.
            $($name, $number, $condition;)*
        }

        impl Row {
            /// What would have to differ for the planner to try a later row; `None` for a row that ends the
            /// table for its situation.
            #[must_use]
            pub fn otherwise(self) -> Option<&'static str> {
                match self {
                    $(Self::$name => $otherwise,)*
                }
            }
        }
    };
}

rows! {
    Unknown, "1", "the live objects could not be read", Some("the read has to succeed");
    AlreadyDisowned, "2", "a version was disowned", Some("a person has to remove the label `hyperfleet.io/disowned`");
    Disown, "3", "live, and `lifecycle.orphan` holds", Some("`lifecycle.orphan` must not hold");
    NothingToDisown, "4", "absent, and `lifecycle.orphan` holds", Some("`lifecycle.orphan` must not hold");
    Delete, "5", "live, and `lifecycle.delete` holds", Some("`lifecycle.delete` must not hold");
    Deleting, "6", "all terminating, and `lifecycle.delete` holds", Some("`lifecycle.delete` must not hold");
    AlreadyAbsent, "7", "absent, and `lifecycle.delete` holds", Some("`lifecycle.delete` must not hold");
    EarlierFailure, "7a", "an earlier resource failed", Some("the resources before it have to succeed");
    WhenFalse, "8", "`when` does not hold", Some("`when` has to hold");
    Terminating, "9", "all terminating", Some("the objects that are on their way out have to be gone");
    CreateGateFalse, "10", "absent, and `lifecycle.create` does not hold", Some("`lifecycle.create` has to hold");
    ApplyGateFalseAbsent, "11", "absent, and `lifecycle.apply` does not hold", Some("`lifecycle.apply` has to hold");
    Absent, "12", "absent", None;
    Stale, "13", "a version has a higher generation than the desired one",
        Some("the event has to be about the generation that is live, or a later one");
    Recreate, "14", "live, and `lifecycle.recreate` holds", Some("`lifecycle.recreate` must not hold");
    Patch, "15", "live, and an entry of `lifecycle.patch` holds", Some("no entry of `lifecycle.patch` may hold");
    ApplyGateFalse, "16", "live, and `lifecycle.apply` does not hold", Some("`lifecycle.apply` has to hold");
    SameGeneration, "17", "the current version has the desired generation and owner",
        Some("the event has to be about another generation, or the owner has to be another object");
    NewName, "18", "live, and none has the rendered name",
        Some("the manifest has to render to the name of a live version");
    Update, "19", "live", None;
    NotObserved, "20", "row 6, 8, 9, 13, 16 or 17 matches, and no agent has observed the last write", Some("the remote cluster's agent has to observe the last write");
}
