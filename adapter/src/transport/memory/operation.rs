//! What was asked of the store, as traces list it.

/// One call that was made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Operation {
    /// What was called.
    pub verb: OperationVerb,
    /// The kind.
    pub kind: String,
    /// The namespace; empty if there is none.
    pub namespace: String,
    /// The name; empty for [`OperationVerb::Discover`].
    pub name: String,
    /// What an apply or a patch did.
    pub result: Option<ApplyResult>,
}

/// The calls that a trace tells apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(missing_docs, reason = "named as in traces")]
pub enum OperationVerb {
    Apply,
    /// A merge patch.
    Patch,
    /// A read by name.
    Get,
    /// A read by labels.
    Discover,
    Delete,
}

impl OperationVerb {
    /// The word that traces use.
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

/// What an apply or a patch did.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(missing_docs, reason = "named as in traces")]
pub enum ApplyResult {
    Create,
    Update,
    Failed,
}

impl ApplyResult {
    /// The word that traces use.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Create => "create",
            Self::Update => "update",
            Self::Failed => "failed",
        }
    }
}
