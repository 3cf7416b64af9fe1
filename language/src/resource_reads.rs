//! The entries of the variable `resources` that an expression or a template can read.

use std::collections::BTreeSet;

/// The entries of the variable `resources` that an expression or a template can read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ResourceReads {
    /// Only the entries of these names; none if the set is empty.
    Only(BTreeSet<String>),
    /// Any entry: `resources` is passed on as a whole, or indexed by something that is not a constant.
    Any,
}

impl Default for ResourceReads {
    fn default() -> Self {
        Self::Only(BTreeSet::new())
    }
}

impl ResourceReads {
    /// Whether no entry can be read.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        matches!(self, Self::Only(names) if names.is_empty())
    }

    /// Whether every entry can be read.
    #[must_use]
    pub const fn is_any(&self) -> bool {
        matches!(self, Self::Any)
    }

    /// Whether the entry of this name can be read.
    #[must_use]
    pub fn has(&self, name: &str) -> bool {
        match self {
            Self::Any => true,
            Self::Only(names) => names.contains(name),
        }
    }

    /// Adds a read of the entry of this name.
    pub fn add(&mut self, name: &str) {
        match self {
            Self::Any => {}
            Self::Only(names) => {
                names.insert(name.to_owned());
            }
        }
    }

    /// Adds the reads of another expression or template.
    pub fn extend(&mut self, other: &Self) {
        match other {
            Self::Any => *self = Self::Any,
            Self::Only(names) => names.iter().for_each(|name| self.add(name)),
        }
    }
}
