//! The store's log of operations, for traces.

/// One logged call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Operation {
    /// The kind of call.
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
    /// A JSON merge patch.
    Patch,
    /// A read by name.
    Get,
    /// A read by labels.
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
