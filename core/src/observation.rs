//! What is live: queries, the objects that they found, and what is unknown.

mod version;

use std::collections::BTreeMap;

use crate::id::GroupVersionKind;

pub use version::Version;

/// A read of live objects, with every template rendered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Query {
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

/// What a read of live objects gave.
#[derive(Debug, Clone, PartialEq)]
pub enum Observation {
    /// The read failed: nothing is known, least of all that nothing is there.
    Unknown(String),
    /// The read was answered; no version means absent.
    Found(Vec<Version>),
}
