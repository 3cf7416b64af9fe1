//! The objects of the in-memory store, and the fields that a server adds to them.

use std::collections::BTreeMap;

use jiff::Timestamp;
use lifecycle_objects::fence::Fence;
use lifecycle_objects::id::GroupVersionKind;
use lifecycle_objects::kinds::is_namespaced;
use lifecycle_objects::object_ref::ObjectRef;
use lifecycle_objects::write::{Target, WriteError, WriteErrorKind};
use serde_json::Value;

use super::operation::Operation;
use super::server;

#[derive(Clone, Default)]
pub(super) struct State {
    pub(super) now: Timestamp,
    pub(super) objects: BTreeMap<Key, Stored>,
    pub(super) operations: Vec<Operation>,
    /// The namespaces that were deleted, and whose objects are still there.
    pub(super) deleted_namespaces: Vec<String>,
    revision: u64,
    uids: u64,
}

#[derive(Clone)]
pub(super) struct Stored {
    pub(super) object: Value,
    /// The object of the last apply, without the fields that patches changed since; `None` if the object
    /// existed at the start.
    pub(super) applied: Option<Value>,
    /// Whether it was deleted at a consumer, whose agent has not confirmed the deletion yet.
    pub(super) awaits_agent: bool,
}

/// Identifies an object. The API version is not part of the key, because all versions of a group share their
/// objects.
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

    /// Adds the fields that a server sets at creation: UID, creation timestamp, resource version, and generation.
    pub(super) fn admit(&mut self, key: &Key, mut object: Value) -> Value {
        self.uids += 1;
        fill(&mut object, "uid", Some(format!("00000000-0000-4000-8000-{:012x}", self.uids).into()));
        fill(&mut object, "creationTimestamp", Some(self.timestamp()));
        fill(&mut object, "resourceVersion", Some(self.next_version()));
        // A test's object may bring its own resource version. Continue after that number, so that it stays
        // unique.
        server::encode_secret(&key.kind(), &mut object);
        server::begin_generation(&key.kind(), &mut object);
        let revision = metadata_text(&object, "resourceVersion").parse().unwrap_or_default();
        self.revision = self.revision.max(revision);
        object
    }

    /// A resource version that no object has had.
    pub(super) fn next_version(&mut self) -> Value {
        self.revision += 1;
        self.revision.to_string().into()
    }

    /// Whether objects of a kind are namespaced. For a custom kind, whether the store holds one in a namespace.
    pub(super) fn is_namespaced(&self, kind: &GroupVersionKind) -> bool {
        is_namespaced(kind).unwrap_or_else(|| {
            let mut keys = self.objects.keys().filter(|key| key.group == kind.group && key.kind == kind.kind);
            keys.any(|key| !key.namespace.is_empty())
        })
    }

    /// Whether the store holds a namespace of this name that is being deleted. A namespace that it does not hold counts as there.
    pub(super) fn is_terminating_namespace(&self, name: &str) -> bool {
        let key = Key::new(&GroupVersionKind::new("v1", "Namespace"), None, name.to_owned());
        self.objects.get(&key).is_some_and(|namespace| is_terminating(&namespace.object))
    }

    /// The clock's time in Kubernetes' format, which has whole seconds.
    pub(super) fn timestamp(&self) -> Value {
        Timestamp::from_second(self.now.as_second()).unwrap_or(self.now).to_string().into()
    }
}

impl Stored {
    /// Whether the object stays as terminating once it is deleted: a finalizer holds it, or an agent is still to confirm.
    pub(super) fn stays_terminating(&self) -> bool {
        let finalizers = self.object.pointer("/metadata/finalizers").and_then(Value::as_array);
        self.awaits_agent || finalizers.is_some_and(|finalizers| !finalizers.is_empty())
    }

    /// Replaces the object by `replacement`, but keeps UID, creation timestamp, and resource version.
    pub(super) fn replace(&mut self, replacement: &Value) {
        let before = std::mem::replace(&mut self.object, replacement.clone());
        for key in ["uid", "creationTimestamp", "resourceVersion"] {
            fill(&mut self.object, key, before.get("metadata").and_then(|metadata| metadata.get(key)).cloned());
        }
    }
}

impl Key {
    pub(super) fn new(kind: &GroupVersionKind, namespace: Option<String>, name: String) -> Self {
        Self { group: kind.group.clone(), kind: kind.kind.clone(), namespace: namespace.unwrap_or_default(), name }
    }

    pub(super) fn of(object_ref: &ObjectRef) -> Self {
        Self::new(&object_ref.kind, object_ref.namespace.clone(), object_ref.name.clone())
    }

    /// The kind, without a version.
    pub(super) fn kind(&self) -> GroupVersionKind {
        GroupVersionKind { group: self.group.clone(), version: String::new(), kind: self.kind.clone() }
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
        WriteErrorKind::NamespaceTerminating => Some(403),
        WriteErrorKind::AlreadyExists | WriteErrorKind::Conflict => Some(409),
        WriteErrorKind::NotFound
        | WriteErrorKind::NamespaceMissing
        | WriteErrorKind::Expired
        | WriteErrorKind::Denied
        | WriteErrorKind::Forbidden
        | WriteErrorKind::TooManyRequests
        | WriteErrorKind::Unavailable
        | WriteErrorKind::Unreachable
        | WriteErrorKind::DeadlineExceeded => None,
    };
    WriteError { kind, call: format!("{verb} {subject}"), status, message: message.to_owned() }
}

/// Checks that `live` has the UID and, if the target names one, the resource version of `target`.
pub(super) fn fence(verb: &str, target: &Target, live: &Value) -> Result<(), WriteError> {
    let refused = |message| refuse(WriteErrorKind::Conflict, verb, &ObjectRef::from(target), message);
    Fence::from(target).admits(live).map_err(refused)
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
