//! The types that a bundle manages: those that its objects introduce, and those that its author names.
//!
//! In: the patterns of both. Out: whether an object is an instance of such a type. Nothing here fails.

use std::collections::BTreeSet;

use lifecycle_objects::identity::GroupKind;
use lifecycle_objects::type_pattern::TypePattern;

/// All types that one bundle manages.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ManagedTypes(BTreeSet<TypePattern>);

impl ManagedTypes {
    /// Whether objects of a kind are instances of a managed type.
    #[must_use]
    pub fn includes(&self, kind: &GroupKind) -> bool {
        self.0.iter().any(|pattern| pattern.matches(kind))
    }
}

/// Collects the patterns of the author and those of the set's objects.
impl FromIterator<TypePattern> for ManagedTypes {
    fn from_iter<I: IntoIterator<Item = TypePattern>>(patterns: I) -> Self {
        Self(patterns.into_iter().collect())
    }
}
