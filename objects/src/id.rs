//! Types for generations and for the kinds of Kubernetes objects.

use std::fmt;

use serde::{Deserialize, Serialize};

/// The revision of an API resource's specification: the API raises it with each change, as Kubernetes does with
/// `metadata.generation`.
///
/// Zero means that an object carries no generation: such an object is older than every event.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Generation(pub i64);

impl fmt::Display for Generation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// A Kubernetes group, version and kind.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct GroupVersionKind {
    /// The API group; empty for the core group.
    pub group: String,
    /// The version, such as `v1`.
    pub version: String,
    /// The kind, such as `ConfigMap`.
    pub kind: String,
}

impl GroupVersionKind {
    /// Splits an `apiVersion` (`v1`, `batch/v1`) and adds the kind.
    #[must_use]
    pub fn new(api_version: &str, kind: &str) -> Self {
        let (group, version) = api_version.split_once('/').unwrap_or(("", api_version));
        Self { group: group.to_owned(), version: version.to_owned(), kind: kind.to_owned() }
    }

    /// Returns the `apiVersion`, as a manifest has it.
    #[must_use]
    pub fn api_version(&self) -> String {
        if self.group.is_empty() { self.version.clone() } else { format!("{}/{}", self.group, self.version) }
    }
}

impl fmt::Display for GroupVersionKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}, Kind={}", self.api_version(), self.kind)
    }
}

/// Whether two kinds name the same objects. Versions do not matter: the API server serves each object in every
/// version of its group.
#[must_use]
pub fn is_same_kind(a: &GroupVersionKind, b: &GroupVersionKind) -> bool {
    a.group == b.group && a.kind == b.kind
}

/// Whether two namespaces can be the same one. An empty namespace equals any: the object may be cluster-scoped,
/// and then the namespace that a task wrote for it is ignored.
#[must_use]
pub fn is_same_namespace(a: &str, b: &str) -> bool {
    a.is_empty() || b.is_empty() || a == b
}
