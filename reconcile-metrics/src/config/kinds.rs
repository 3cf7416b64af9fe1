//! The configured kinds of resources, such as `Cluster`, with their required adapters and thresholds.
//!
//! The API's database does not contain them; they come from the API's configuration file or from the exporter's.

use std::collections::BTreeSet;
use std::time::Duration;

/// The kinds of the configuration, and the threshold of all kinds that have none of their own.
#[derive(Debug, Clone, PartialEq)]
pub struct Kinds {
    kinds: Vec<Kind>,
    default_stuck_after: Duration,
}

/// One configured kind of resource, such as `Cluster`.
#[derive(Debug, Clone, PartialEq)]
pub struct Kind {
    /// The name as the API writes it: `Cluster`.
    pub name: String,
    /// The adapters that must be done before a resource of this kind is reconciled.
    pub required_adapters: Vec<String>,
    /// How long a resource may be unreconciled before it is stuck.
    pub stuck_after: Duration,
    /// The same for a resource that is being deleted.
    pub stuck_after_deleting: Duration,
}

impl Kinds {
    /// Creates the list, with the threshold of kinds that are not in it.
    #[must_use]
    pub fn new(kinds: Vec<Kind>, default_stuck_after: Duration) -> Self {
        Self { kinds, default_stuck_after }
    }

    /// Returns every configured kind, in the order of the file.
    #[must_use]
    pub fn all(&self) -> &[Kind] {
        &self.kinds
    }

    /// Finds a kind by its name; case matters, as in the API.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&Kind> {
        self.kinds.iter().find(|kind| kind.name == name)
    }

    /// Finds a kind by its name in any case, because labels are lower case and filters may be.
    #[must_use]
    pub fn by_label(&self, name: &str) -> Option<&Kind> {
        let label = name.to_lowercase();
        self.kinds.iter().find(|kind| kind.name.to_lowercase() == label)
    }

    /// Finds a configured kind whose name differs from `name` in case only, which is probably a mistake: for the API they
    /// are two kinds, so the configured thresholds and adapters do not apply.
    #[must_use]
    pub fn in_other_case(&self, name: &str) -> Option<&Kind> {
        self.by_label(name).filter(|kind| kind.name != name)
    }

    /// Returns every adapter that some kind requires.
    #[must_use]
    pub fn adapters(&self) -> BTreeSet<&str> {
        self.kinds.iter().flat_map(|kind| &kind.required_adapters).map(String::as_str).collect()
    }

    /// Returns how long a resource may be unreconciled before it is stuck.
    #[must_use]
    pub fn stuck_after(&self, kind: &str, deleting: bool) -> Duration {
        match (self.get(kind), deleting) {
            (Some(kind), false) => kind.stuck_after,
            (Some(kind), true) => kind.stuck_after_deleting,
            (None, _) => self.default_stuck_after,
        }
    }

    /// Returns the threshold of kinds that are not configured.
    #[must_use]
    pub fn default_stuck_after(&self) -> Duration {
        self.default_stuck_after
    }
}
