//! What is live: queries, the objects that they found, and what is unknown.

mod version;

use std::collections::BTreeMap;
use std::fmt;

use crate::destination::Destination;
use crate::id::GroupVersionKind;

pub use version::Version;

/// A read of live objects, with every template rendered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Query {
    /// Where to look.
    pub destination: Destination,
    /// The kind to look for.
    pub kind: GroupVersionKind,
    /// The namespace; none means cluster-scoped for a name, all namespaces for labels.
    pub namespace: Option<String>,
    /// By name or by labels.
    pub by: QueryBy,
}

/// The two ways to find live objects.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum QueryBy {
    /// One object, by name.
    Name(String),
    /// Any number of objects, by equality of every label.
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

/// What a read of live objects gave.
#[derive(Debug, Clone, PartialEq)]
pub enum Observation {
    /// The read failed: nothing is known, least of all that nothing is there.
    Unknown(String),
    /// The read was answered; no version means absent.
    Found(Vec<Version>),
}
