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
    /// The kind that owns it.
    pub parent: Option<String>,
    /// Where the older schema keeps it, if it has it.
    pub table: Option<Table>,
}

/// A table of the older schema. A column that is not named here has one of the names that the API gave it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Table {
    /// Its name.
    pub name: String,
    /// Its column of conditions, and the keys that lead to the list within it: `status.conditions`.
    pub conditions: String,
    /// The column of ids.
    pub id: Option<String>,
    /// The column of names.
    pub resource_name: Option<String>,
    /// The column of the wanted generation.
    pub generation: Option<String>,
    /// The column of the time of creation.
    pub created: Option<String>,
    /// The column of the time of deletion.
    pub deleted: Option<String>,
    /// The column of the parent's id.
    pub owner: Option<String>,
}

impl Kinds {
    /// Kinds, and the threshold of all others.
    #[must_use]
    pub fn new(kinds: Vec<Kind>, default_stuck_after: Duration) -> Self {
        Self { kinds, default_stuck_after }
    }

    /// The longest of all thresholds.
    #[must_use]
    pub fn longest_stuck_after(&self) -> Duration {
        let thresholds = self.kinds.iter().flat_map(|kind| [kind.stuck_after, kind.stuck_after_deleting]);
        thresholds.chain([self.default_stuck_after]).max().unwrap_or_default()
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

    /// Whether the configuration names a parent of the kind.
    #[must_use]
    pub fn has_parent(&self, name: &str) -> bool {
        self.get(name).is_some_and(|kind| kind.parent.is_some())
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

    /// The kinds whose resources are to have the condition, as the API has adapters for them.
    pub fn with_adapters(&self) -> impl Iterator<Item = &Kind> {
        self.kinds.iter().filter(|kind| !kind.required_adapters.is_empty())
    }
}
