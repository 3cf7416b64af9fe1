//! Queries for live objects, and their results.

mod holding;
mod owner;
mod recorded;
mod version;

use std::collections::BTreeMap;
use std::fmt;

use serde_json::Value;

use crate::destination::Destination;
use crate::id::{GroupVersionKind, is_same_namespace};
use crate::keys;

pub use holding::held_by;
pub use owner::{labelled_owner, whose};
pub use recorded::Recorded;
pub use version::{Unobserved, Version};

/// A read of live objects, with every template rendered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Query {
    /// The destination to read from.
    pub destination: Destination,
    /// The kind to look for.
    pub kind: GroupVersionKind,
    /// The namespace. `None` means a cluster-scoped object for a name, and all namespaces for labels: at a consumer, which is a
    /// namespace to Maestro, the works of all consumers.
    pub namespace: Option<String>,
    /// Selects the objects by name or by labels.
    pub by: QueryBy,
}

impl Query {
    /// Whether the query is a search of all namespaces by the labels of the adapter and the API resource alone, as each deletion
    /// makes one: it asks after no place of the task.
    #[must_use]
    pub fn is_search(&self) -> bool {
        let QueryBy::Labels(labels) = &self.by else { return false };
        self.namespace.is_none() && labels.keys().eq([keys::ADAPTER, keys::RESOURCE_ID])
    }
}

/// The two ways to find live objects.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum QueryBy {
    /// Selects the one object of this name.
    Name(String),
    /// Selects any number of objects: those that have all of these labels with exactly these values.
    Labels(BTreeMap<String, String>),
}

impl fmt::Display for QueryBy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Name(name) => write!(f, "name {name}"),
            Self::Labels(labels) => {
                let labels: Vec<String> = labels.iter().map(|(key, value)| format!("{key}={value}")).collect();
                f.write_str(&labels.join(","))
            }
        }
    }
}

/// The result of a query.
#[derive(Debug, Clone, PartialEq)]
pub enum Observation {
    /// The read failed, for this reason. The objects may exist.
    Unknown(String),
    /// The server forbids the read, and says so in this text: the objects may exist.
    Forbidden(String),
    /// The server answered with these objects; an empty list means that no object exists.
    Found(Vec<Version>),
}

/// The properties of an object that a query compares.
pub trait Described {
    /// `metadata.name`; empty if the object has none.
    fn name(&self) -> &str;
    /// `metadata.namespace`; empty for a cluster-scoped object.
    fn namespace(&self) -> &str;
    /// The value of the object's label `key`; none if the object lacks the label.
    fn label(&self, key: &str) -> Option<&str>;
}

impl Described for Value {
    fn name(&self) -> &str {
        self.get("metadata").and_then(|metadata| metadata.get("name")?.as_str()).unwrap_or_default()
    }

    fn namespace(&self) -> &str {
        self.get("metadata").and_then(|metadata| metadata.get("namespace")?.as_str()).unwrap_or_default()
    }

    fn label(&self, key: &str) -> Option<&str> {
        self.get("metadata")?.get("labels")?.get(key)?.as_str()
    }
}

/// Whether an object is in the namespace, if there is one, and has the name or the labels of `by`.
#[must_use]
pub fn satisfies(namespace: Option<&str>, by: &QueryBy, object: &impl Described) -> bool {
    let namespace = namespace.unwrap_or_default();
    (namespace.is_empty() || namespace == object.namespace()) && matches(by, object)
}

/// Whether the query can find an object at its destination.
///
/// A cluster-scoped object has no namespace, and the API server ignores the namespace of a query for such a kind, so a
/// missing namespace matches every other.
#[must_use]
pub fn could_find(query: &Query, object: &impl Described) -> bool {
    is_same_namespace(query.namespace.as_deref().unwrap_or_default(), object.namespace()) && matches(&query.by, object)
}

fn matches(by: &QueryBy, object: &impl Described) -> bool {
    match by {
        QueryBy::Name(name) => object.name() == name,
        QueryBy::Labels(labels) => labels.iter().all(|(key, value)| object.label(key) == Some(value)),
    }
}
