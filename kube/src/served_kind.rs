//! A kind of the API server, as discovery tells of it.

use lifecycle_objects::id::GroupVersionKind;

/// A kind that the API server serves, and how.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ServedKind {
    /// The group, version and kind.
    pub kind: GroupVersionKind,
    /// The kind's name in URL paths, such as `configmaps`.
    pub plural: String,
    /// Whether the kind's objects live in namespaces.
    pub namespaced: bool,
    /// The operations that the server supports, such as `list` and `delete`.
    pub verbs: Vec<String>,
    /// Whether the status is a subresource, so that the server ignores it in writes of the object itself.
    pub has_status: bool,
}

impl ServedKind {
    /// Whether the server supports each of `verbs` for this kind.
    #[must_use]
    pub fn has_verbs(&self, verbs: &[&str]) -> bool {
        verbs.iter().all(|verb| self.verbs.iter().any(|served| served == verb))
    }
}
