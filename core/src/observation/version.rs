//! One live object, whole or as far as its metadata.
//!
//! Expressions need the current version whole. Of the others only metadata is ever asked: whose they are, how old, for which
//! generation, on the way out or released. So a history does not have to be held in memory, whatever its objects weigh.

use jiff::Timestamp;
use serde_json::Value;

use super::metadata::Metadata;
use crate::belonging::Described;
use crate::id::Generation;
use crate::keys;

/// One live object.
#[derive(Debug, Clone, PartialEq)]
pub struct Version(Content);

#[derive(Debug, Clone, PartialEq)]
enum Content {
    Whole {
        object: Value,
        managed_fields: Option<Value>,
    },
    /// Boxed, as it is far larger than the other.
    Condensed(Box<Metadata>),
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
        Self(Content::Whole { object, managed_fields })
    }

    /// Lets go of everything but what plans ask of a version that is not the current one.
    pub fn condense(&mut self) {
        if let Content::Whole { object, .. } = &self.0 {
            self.0 = Content::Condensed(Box::new(Metadata::of(object)));
        }
    }

    /// Whether the object is here as the server sent it.
    #[must_use]
    pub fn is_whole(&self) -> bool {
        matches!(self.0, Content::Whole { .. })
    }

    /// The object, without `metadata.managedFields`; of a condensed one, what is left.
    #[must_use]
    pub fn into_object(self) -> Value {
        match self.0 {
            Content::Whole { object, .. } => object,
            Content::Condensed(metadata) => metadata.into_object(),
        }
    }

    /// The object, without `metadata.managedFields`; none if it is condensed.
    #[must_use]
    pub fn object(&self) -> Option<&Value> {
        match &self.0 {
            Content::Whole { object, .. } => Some(object),
            Content::Condensed(_) => None,
        }
    }

    /// `metadata.managedFields`; none if it is condensed.
    #[must_use]
    pub fn managed_fields(&self) -> Option<&Value> {
        match &self.0 {
            Content::Whole { managed_fields, .. } => managed_fields.as_ref(),
            Content::Condensed(_) => None,
        }
    }

    /// `metadata.name`.
    #[must_use]
    pub fn name(&self) -> &str {
        match &self.0 {
            Content::Whole { object, .. } => text(object, "name"),
            Content::Condensed(metadata) => &metadata.name,
        }
    }

    /// `metadata.namespace`; empty for a cluster-scoped object.
    #[must_use]
    pub fn namespace(&self) -> &str {
        match &self.0 {
            Content::Whole { object, .. } => text(object, "namespace"),
            Content::Condensed(metadata) => &metadata.namespace,
        }
    }

    /// `metadata.uid`; empty if the store has none.
    #[must_use]
    pub fn uid(&self) -> &str {
        match &self.0 {
            Content::Whole { object, .. } => text(object, "uid"),
            Content::Condensed(metadata) => &metadata.uid,
        }
    }

    /// `metadata.resourceVersion`; empty if the store has none.
    #[must_use]
    pub fn resource_version(&self) -> &str {
        match &self.0 {
            Content::Whole { object, .. } => text(object, "resourceVersion"),
            Content::Condensed(metadata) => &metadata.resource_version,
        }
    }

    /// A label's value.
    #[must_use]
    pub fn label(&self, key: &str) -> Option<&str> {
        match &self.0 {
            Content::Whole { object, .. } => member(object, "labels", key),
            Content::Condensed(metadata) => metadata.labels.get(key),
        }
    }

    /// The value of an annotation of ours; others may be gone.
    #[must_use]
    pub fn annotation(&self, key: &str) -> Option<&str> {
        match &self.0 {
            Content::Whole { object, .. } => member(object, "annotations", key),
            Content::Condensed(metadata) => metadata.annotations.get(key),
        }
    }

    /// `metadata.ownerReferences`.
    #[must_use]
    pub fn owner_references(&self) -> &[Value] {
        match &self.0 {
            Content::Whole { object, .. } => {
                metadata(object, "ownerReferences").and_then(Value::as_array).map_or(&[], Vec::as_slice)
            }
            Content::Condensed(metadata) => &metadata.owner_references,
        }
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
        match &self.0 {
            Content::Whole { object, .. } => metadata(object, "deletionTimestamp").is_some_and(|at| !at.is_null()),
            Content::Condensed(metadata) => metadata.deleted_at.is_some(),
        }
    }

    /// `metadata.creationTimestamp`.
    #[must_use]
    pub fn created_at(&self) -> Option<Timestamp> {
        match &self.0 {
            Content::Whole { object, .. } => text(object, "creationTimestamp").parse().ok(),
            Content::Condensed(metadata) => metadata.created_at,
        }
    }
}

impl Described for Version {
    fn name(&self) -> &str {
        self.name()
    }

    fn namespace(&self) -> &str {
        self.namespace()
    }

    fn label(&self, key: &str) -> Option<&str> {
        self.label(key)
    }
}

pub(super) fn metadata<'v>(object: &'v Value, key: &str) -> Option<&'v Value> {
    object.get("metadata")?.get(key)
}

pub(super) fn text<'v>(object: &'v Value, key: &str) -> &'v str {
    metadata(object, key).and_then(Value::as_str).unwrap_or_default()
}

fn member<'v>(object: &'v Value, map: &str, key: &str) -> Option<&'v str> {
    metadata(object, map)?.get(key)?.as_str()
}
