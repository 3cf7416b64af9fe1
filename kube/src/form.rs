//! The two forms in which the API server lists objects.

/// How much of each object a list returns.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Form {
    /// The list returns each object with all its fields.
    Full,
    /// The list returns only `apiVersion`, `kind` and `metadata` without `managedFields`; the server leaves the
    /// rest but `managedFields` out of its answer.
    MetadataOnly,
}
