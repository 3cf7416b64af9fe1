//! What is live: queries, the objects that they found, and what is unknown.

use std::collections::BTreeMap;

use jiff::Timestamp;
use serde_json::Value;

use crate::id::{Generation, GroupVersionKind};
use crate::keys;

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

/// One live object.
#[derive(Debug, Clone, PartialEq)]
pub struct Version {
    object: Value,
    managed_fields: Option<Value>,
}

impl Version {
    /// Takes an object as the server sent it. `metadata.managedFields` is kept apart: no expression
    /// needs it, and it is most of the bytes.
    #[must_use]
    pub fn new(mut object: Value) -> Self {
        let managed_fields = object
            .get_mut("metadata")
            .and_then(Value::as_object_mut)
            .and_then(|metadata| metadata.remove("managedFields"));
        Self { object, managed_fields }
    }

    /// The object, without `metadata.managedFields`.
    #[must_use]
    pub fn object(&self) -> &Value {
        &self.object
    }

    /// The object, as a value of its own.
    #[must_use]
    pub fn into_object(self) -> Value {
        self.object
    }

    /// `metadata.managedFields`.
    #[must_use]
    pub fn managed_fields(&self) -> Option<&Value> {
        self.managed_fields.as_ref()
    }

    fn metadata(&self, key: &str) -> Option<&Value> {
        self.object.get("metadata")?.get(key)
    }

    fn metadata_text(&self, key: &str) -> &str {
        self.metadata(key).and_then(Value::as_str).unwrap_or_default()
    }

    /// `metadata.name`.
    #[must_use]
    pub fn name(&self) -> &str {
        self.metadata_text("name")
    }

    /// `metadata.namespace`; empty for a cluster-scoped object.
    #[must_use]
    pub fn namespace(&self) -> &str {
        self.metadata_text("namespace")
    }

    /// `metadata.uid`; empty if the store has none.
    #[must_use]
    pub fn uid(&self) -> &str {
        self.metadata_text("uid")
    }

    /// `metadata.resourceVersion`; empty if the store has none.
    #[must_use]
    pub fn resource_version(&self) -> &str {
        self.metadata_text("resourceVersion")
    }

    /// A label's value.
    #[must_use]
    pub fn label(&self, key: &str) -> Option<&str> {
        self.metadata("labels")?.get(key)?.as_str()
    }

    /// An annotation's value.
    #[must_use]
    pub fn annotation(&self, key: &str) -> Option<&str> {
        self.metadata("annotations")?.get(key)?.as_str()
    }

    /// Whether it was released: whatever the label's value, it is nobody's to write.
    #[must_use]
    pub fn is_disowned(&self) -> bool {
        self.label(keys::DISOWNED).is_some()
    }

    /// The generation it was last written for, if it carries a readable one.
    #[must_use]
    pub fn generation(&self) -> Option<Generation> {
        let text = self.annotation(keys::GENERATION)?;
        text.trim().parse().ok().map(Generation)
    }

    /// Whether it has a `deletionTimestamp`.
    #[must_use]
    pub fn is_terminating(&self) -> bool {
        self.metadata("deletionTimestamp").is_some_and(|at| !at.is_null())
    }

    /// `metadata.creationTimestamp`.
    #[must_use]
    pub fn created_at(&self) -> Option<Timestamp> {
        self.metadata_text("creationTimestamp").parse().ok()
    }
}
