//! The store's log of operations, for traces.

/// A call of the engine to the store, as the log of operations keeps it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Operation {
    /// The kind of call, such as an apply or a deletion.
    pub verb: OperationVerb,
    /// The kind of the object.
    pub kind: String,
    /// The object's namespace; empty if it has none.
    pub namespace: String,
    /// The object's name; empty for [`OperationVerb::Discover`].
    pub name: String,
    /// The effect of an apply or a patch; `None` for other calls.
    pub result: Option<ApplyResult>,
}

/// The kinds of calls that a trace distinguishes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(missing_docs, reason = "named as in traces")]
pub enum OperationVerb {
    Apply,
    /// A JSON merge patch of one object.
    Patch,
    /// A read of one object by its name.
    Get,
    /// A read of all objects of one kind that match labels.
    Discover,
    Delete,
}

impl OperationVerb {
    /// The verb as traces print it.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Apply => "apply",
            Self::Patch => "patch",
            Self::Get => "get",
            Self::Discover => "discover",
            Self::Delete => "delete",
        }
    }
}

/// The effect of an apply or a patch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(missing_docs, reason = "named as in traces")]
pub enum ApplyResult {
    Create,
    Update,
    Failed,
}

impl ApplyResult {
    /// The result as traces print it.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Create => "create",
            Self::Update => "update",
            Self::Failed => "failed",
        }
    }
}
