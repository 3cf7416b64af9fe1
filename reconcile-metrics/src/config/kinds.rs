//! The kinds of the lifecycle API, as its own configuration has them: it is not content of its database.

use std::collections::BTreeSet;
use std::time::Duration;

/// The configured kinds.
#[derive(Debug, Clone, PartialEq)]
pub struct Kinds {
    kinds: Vec<Kind>,
    default_stuck_after: Duration,
}

/// One kind.
#[derive(Debug, Clone, PartialEq)]
pub struct Kind {
    /// As the API writes it.
    pub name: String,
    /// The adapters that the API waits for.
    pub required_adapters: Vec<String>,
    /// When one is stuck.
    pub stuck_after: Duration,
    /// When one that is being deleted is stuck.
    pub stuck_after_deleting: Duration,
}

impl Kinds {
    /// Kinds, and the threshold of all others.
    #[must_use]
    pub fn new(kinds: Vec<Kind>, default_stuck_after: Duration) -> Self {
        Self { kinds, default_stuck_after }
    }

    /// Every configured kind, in the order of the file.
    #[must_use]
    pub fn all(&self) -> &[Kind] {
        &self.kinds
    }

    /// The kind of that name, exactly as the API writes it.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&Kind> {
        self.kinds.iter().find(|kind| kind.name == name)
    }

    /// The kind of that name in any case, as labels and filters have it.
    #[must_use]
    pub fn by_label(&self, name: &str) -> Option<&Kind> {
        let label = name.to_lowercase();
        self.kinds.iter().find(|kind| kind.name.to_lowercase() == label)
    }

    /// The kind that differs from `name` by case alone. None of what is configured for it applies to `name`: the API tells
    /// the two apart.
    #[must_use]
    pub fn spelled_otherwise(&self, name: &str) -> Option<&Kind> {
        self.by_label(name).filter(|kind| kind.name != name)
    }

    /// Every adapter that some kind requires, in alphabetical order.
    #[must_use]
    pub fn adapters(&self) -> BTreeSet<&str> {
        self.kinds.iter().flat_map(|kind| &kind.required_adapters).map(String::as_str).collect()
    }

    /// How long a resource may stay unreconciled before it is stuck.
    #[must_use]
    pub fn stuck_after(&self, kind: &str, deleting: bool) -> Duration {
        match (self.get(kind), deleting) {
            (Some(kind), false) => kind.stuck_after,
            (Some(kind), true) => kind.stuck_after_deleting,
            (None, _) => self.default_stuck_after,
        }
    }

    /// The threshold of kinds that are not configured.
    #[must_use]
    pub fn default_stuck_after(&self) -> Duration {
        self.default_stuck_after
    }
}
