//! One live object of a resource, as the adapter read it, and access to the metadata on which decisions depend.

use jiff::Timestamp;
use serde_json::Value;

use crate::id::Generation;
use crate::keys;
use crate::observation::Described;

/// Since when no agent has observed what was last written, of an object of a remote cluster.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Unobserved {
    /// When the content that nobody has observed was first sent; when the object was deleted, if it is terminating.
    pub since: Timestamp,
    /// When it was last sent.
    pub sent: Timestamp,
}

/// One live object of a resource, as the adapter read it. A resource with retention has several versions.
#[derive(Debug, Clone, PartialEq)]
pub struct Version {
    object: Value,
    managed_fields: Option<Value>,
}

impl Version {
    /// Stores an object as the server sent it, with `metadata.managedFields` apart: no expression reads them,
    /// and they are most of the object's bytes.
    #[must_use]
    pub fn new(mut object: Value) -> Self {
        let managed_fields = object
            .get_mut("metadata")
            .and_then(Value::as_object_mut)
            .and_then(|metadata| metadata.remove("managedFields"));
        Self { object, managed_fields }
    }

    /// Returns the live object as JSON, without `metadata.managedFields`.
    #[must_use]
    pub fn into_object(self) -> Value {
        self.object
    }

    /// The live object as JSON, without `metadata.managedFields`.
    #[must_use]
    pub fn object(&self) -> &Value {
        &self.object
    }

    /// The object's `metadata.managedFields`, which [`Version::new`] took out of the object: a list, or its JSON as a text.
    #[must_use]
    pub fn managed_fields(&self) -> Option<&Value> {
        self.managed_fields.as_ref()
    }

    /// The object's `metadata.name`; empty if the object has none.
    #[must_use]
    pub fn name(&self) -> &str {
        self.text("name")
    }

    /// `metadata.namespace`; empty for a cluster-scoped object.
    #[must_use]
    pub fn namespace(&self) -> &str {
        self.text("namespace")
    }

    /// `metadata.uid`; empty if the object has none.
    #[must_use]
    pub fn uid(&self) -> &str {
        self.text("uid")
    }

    /// `metadata.resourceVersion`; empty if the object has none.
    #[must_use]
    pub fn resource_version(&self) -> &str {
        self.text("resourceVersion")
    }

    /// The value of the object's label `key`; none if the object lacks the label.
    #[must_use]
    pub fn label(&self, key: &str) -> Option<&str> {
        self.member("labels", key)
    }

    /// The value of the object's annotation `key`; none if the object lacks the annotation.
    #[must_use]
    pub fn annotation(&self, key: &str) -> Option<&str> {
        self.member("annotations", key)
    }

    /// The object's `metadata.ownerReferences`; empty if the object has none.
    #[must_use]
    pub fn owner_references(&self) -> &[Value] {
        self.metadata("ownerReferences").and_then(Value::as_array).map_or(&[], Vec::as_slice)
    }

    /// The kind and the name of the object's controller, which writes the object again and may take it away; none if it has none.
    #[must_use]
    pub fn controller(&self) -> Option<String> {
        let reference = self.owner_references().iter().find(|reference| reference["controller"] == true)?;
        let text = |key: &str| reference[key].as_str().unwrap_or("?");
        Some(format!("{} {}", text("kind"), text("name")))
    }

    /// The owner references that the object keeps when it is disowned; `None` if it keeps all of them.
    ///
    /// Controller references stay, because a controller would adopt the object again. Every other reference goes:
    /// through it the garbage collector could delete the disowned object. A missing reference has no such risk: the
    /// object merely stays.
    #[must_use]
    pub fn kept_references(&self) -> Option<Vec<Value>> {
        let is_controllers = |reference: &&Value| reference.get("controller").and_then(Value::as_bool) == Some(true);
        let references = self.owner_references();
        let kept: Vec<Value> = references.iter().filter(is_controllers).cloned().collect();
        (kept.len() < references.len()).then_some(kept)
    }

    /// Whether the object has the label of disowned objects, with any value: no resource may write it then.
    #[must_use]
    pub fn is_disowned(&self) -> bool {
        self.label(keys::DISOWNED).is_some()
    }

    /// Whether an adapter wrote the object: it has the annotation of generations, which the Go adapter demands of every
    /// manifest, too; or the label of this adapter; or it was disowned. Any other object is foreign.
    #[must_use]
    pub fn is_written_by(&self, adapter: &str) -> bool {
        self.annotation(keys::GENERATION).is_some() || self.label(keys::ADAPTER) == Some(adapter) || self.is_disowned()
    }

    /// The generation for which the adapter last wrote the object; `None` if its annotation is absent or not a
    /// number.
    #[must_use]
    pub fn generation(&self) -> Option<Generation> {
        let text = self.annotation(keys::GENERATION)?;
        text.trim().parse().ok().map(Generation)
    }

    /// Whether the object has a `metadata.deletionTimestamp`.
    #[must_use]
    pub fn is_terminating(&self) -> bool {
        self.metadata("deletionTimestamp").is_some_and(|at| !at.is_null())
    }

    /// The object's `metadata.creationTimestamp`; none if it is absent or not a timestamp.
    #[must_use]
    pub fn created_at(&self) -> Option<Timestamp> {
        self.text("creationTimestamp").parse().ok()
    }

    /// Since when no agent has observed the last write. Only the transport to remote clusters tells it, as the key
    /// `unobserved` beside `metadata`.
    #[must_use]
    pub fn unobserved(&self) -> Option<Unobserved> {
        let unobserved = self.object.get("unobserved")?;
        let time = |key: &str| unobserved.get(key)?.as_str()?.parse().ok();
        let since = time("since")?;
        Some(Unobserved { since, sent: time("sent").unwrap_or(since) })
    }

    fn metadata(&self, key: &str) -> Option<&Value> {
        self.object.get("metadata")?.get(key)
    }

    fn text(&self, key: &str) -> &str {
        self.metadata(key).and_then(Value::as_str).unwrap_or_default()
    }

    fn member(&self, map: &str, key: &str) -> Option<&str> {
        self.metadata(map)?.get(key)?.as_str()
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
