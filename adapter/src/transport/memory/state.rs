//! What the store holds, and what a server adds to it.

use std::collections::BTreeMap;

use jiff::Timestamp;
use lifecycle_core::id::GroupVersionKind;
use lifecycle_core::task::is_namespaced;
use lifecycle_core::write::{Target, WriteError, WriteErrorKind};
use serde_json::Value;

use super::operation::Operation;
use lifecycle_core::object_ref::ObjectRef;

#[derive(Default)]
pub(super) struct State {
    pub(super) now: Timestamp,
    pub(super) objects: BTreeMap<Key, Stored>,
    pub(super) operations: Vec<Operation>,
    revision: u64,
    uids: u64,
}

#[derive(Clone)]
pub(super) struct Stored {
    pub(super) object: Value,
    /// What was last applied, without what patches changed since; none for an object that was there at the start.
    pub(super) applied: Option<Value>,
}

/// Where an object is kept. Versions of a group share their objects, as at a server.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Key {
    pub(super) group: String,
    pub(super) kind: String,
    pub(super) namespace: String,
    pub(super) name: String,
}

impl State {
    pub(super) fn new(now: Timestamp) -> Self {
        Self { now, ..Self::default() }
    }

    /// Gives an object what a server gives it on creation.
    pub(super) fn admit(&mut self, mut object: Value) -> Value {
        self.uids += 1;
        fill(&mut object, "uid", Some(format!("00000000-0000-4000-8000-{:012x}", self.uids).into()));
        fill(&mut object, "creationTimestamp", Some(self.timestamp()));
        fill(&mut object, "resourceVersion", Some(self.next_version()));
        // A version that an object brings along must not come again.
        let given = metadata_text(&object, "resourceVersion").parse().unwrap_or_default();
        self.revision = self.revision.max(given);
        object
    }

    /// A resource version that no object has had.
    pub(super) fn next_version(&mut self) -> Value {
        self.revision += 1;
        self.revision.to_string().into()
    }

    /// Whether objects of a kind are in namespaces, as far as its name or an object of it tells.
    pub(super) fn is_namespaced(&self, kind: &GroupVersionKind) -> bool {
        is_namespaced(kind).unwrap_or_else(|| {
            let mut keys = self.objects.keys().filter(|key| key.group == kind.group && key.kind == kind.kind);
            keys.any(|key| !key.namespace.is_empty())
        })
    }

    /// The time as Kubernetes writes it: whole seconds.
    pub(super) fn timestamp(&self) -> Value {
        Timestamp::from_second(self.now.as_second()).unwrap_or(self.now).to_string().into()
    }
}

impl Stored {
    /// Takes another object's place, as the same object.
    pub(super) fn replace(&mut self, instead: &Value) {
        let before = std::mem::replace(&mut self.object, instead.clone());
        for key in ["uid", "creationTimestamp", "resourceVersion"] {
            fill(&mut self.object, key, before.get("metadata").and_then(|metadata| metadata.get(key)).cloned());
        }
    }
}

impl Key {
    pub(super) fn new(kind: &GroupVersionKind, namespace: Option<String>, name: String) -> Self {
        Self { group: kind.group.clone(), kind: kind.kind.clone(), namespace: namespace.unwrap_or_default(), name }
    }
}

impl From<&Target> for Key {
    fn from(target: &Target) -> Self {
        Self::new(&target.kind, target.namespace.clone(), target.name.clone())
    }
}

pub(super) fn refuse(kind: WriteErrorKind, verb: &str, subject: &ObjectRef, message: &str) -> WriteError {
    let status = match kind {
        WriteErrorKind::Invalid => Some(422),
        WriteErrorKind::AlreadyExists | WriteErrorKind::Conflict => Some(409),
        _ => None,
    };
    WriteError { kind, call: format!("{verb} {subject}"), status, message: message.to_owned() }
}

/// Whether a target is the live object, in the version that was looked at.
pub(super) fn fence(verb: &str, target: &Target, live: &Value) -> Result<(), WriteError> {
    let looked_at = &target.resource_version;
    let message = if metadata_text(live, "uid") != target.uid {
        "the UID is another one"
    } else if !looked_at.is_empty() && looked_at != metadata_text(live, "resourceVersion") {
        "the object was modified meanwhile"
    } else {
        return Ok(());
    };
    Err(refuse(WriteErrorKind::Conflict, verb, &ObjectRef::from(target), message))
}

fn fill(object: &mut Value, key: &str, value: Option<Value>) {
    if let (Some(metadata), Some(value)) = (object.get_mut("metadata").and_then(Value::as_object_mut), value) {
        metadata.entry(key).or_insert(value);
    }
}

pub(super) fn metadata_text<'a>(object: &'a Value, key: &str) -> &'a str {
    object.get("metadata").and_then(|metadata| metadata.get(key)).and_then(Value::as_str).unwrap_or_default()
}

pub(super) fn is_terminating(object: &Value) -> bool {
    object.pointer("/metadata/deletionTimestamp").is_some_and(|at| !at.is_null())
}
