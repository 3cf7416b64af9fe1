//! An API server in memory, for dry runs and tests.
//!
//! In: the same calls as a real transport, and the objects that exist at the start. Out: the answers that the
//! API server would give as far as an object's life goes: UIDs, resource versions, taken names, UID fences,
//! finalizers, and an apply that keeps what others wrote; and a log of every operation, for traces.
//!
//! What it does not do: it knows no schema, so that it neither validates nor defaults, and a list is replaced as
//! a whole (finalizers and ownerReferences excepted, which every kind has); it runs no controllers, so that no
//! dependent goes with its owner and no status appears; and it does not know which kinds have namespaces.
//! Everything that was created here counts as applied, whether or not its fields were taken over.

mod merge;
mod operation;

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use jiff::Timestamp;
use lifecycle_core::id::GroupVersionKind;
use lifecycle_core::observation::{Query, QueryBy};
use lifecycle_core::task::PropagationPolicy;
use lifecycle_core::write::{Target, WriteError, WriteErrorKind};
use serde_json::{Map, Value};

pub use self::operation::{ApplyResult, Operation, OperationVerb};
use crate::transport::subject::Subject;
use crate::transport::{Deletion, Transport};

/// The store.
pub struct MemoryTransport {
    now: Timestamp,
    keep_deleted: bool,
    overrides: BTreeMap<String, Value>,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    objects: BTreeMap<Key, Stored>,
    operations: Vec<Operation>,
    revision: u64,
    uids: u64,
}

struct Stored {
    object: Value,
    /// What was last applied; none for an object that was there at the start.
    applied: Option<Value>,
}

/// Where an object is kept. Versions of a group share their objects, as at a server.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Key {
    group: String,
    kind: String,
    namespace: String,
    name: String,
}

impl MemoryTransport {
    /// Starts empty; everything that happens happens at `now`.
    #[must_use]
    pub fn new(now: Timestamp) -> Self {
        Self { now, keep_deleted: false, overrides: BTreeMap::new(), state: Mutex::default() }
    }

    /// Adds objects that exist from the start. Those without UID or creationTimestamp get them.
    ///
    /// # Errors
    ///
    /// The first object that has no `apiVersion`, `kind` or usable name.
    pub fn with_objects(self, objects: impl IntoIterator<Item = Value>) -> Result<Self, WriteError> {
        for object in objects {
            let key = self.check("load", &object)?;
            let object = self.state().admit(object, self.now);
            self.state().objects.insert(key, Stored { object, applied: None });
        }
        Ok(self)
    }

    /// Adds objects by name that exist from the start, and that moreover take the place of whatever is applied
    /// under that name, as if the cluster had made that of it.
    ///
    /// # Errors
    ///
    /// As [`with_objects`](Self::with_objects).
    pub fn with_overrides(mut self, overrides: BTreeMap<String, Value>) -> Result<Self, WriteError> {
        self = self.with_objects(overrides.values().cloned())?;
        self.overrides = overrides;
        Ok(self)
    }

    /// Keeps every deleted object, as terminating: what a remote cluster shows that has yet to be told.
    #[must_use]
    pub fn keep_deleted(mut self) -> Self {
        self.keep_deleted = true;
        self
    }

    /// Every operation so far, in order. Rehearsals are not among them: they do nothing.
    #[must_use]
    pub fn operations(&self) -> Vec<Operation> {
        self.state().operations.clone()
    }

    /// Every object, sorted by kind, namespace and name.
    #[must_use]
    pub fn objects(&self) -> Vec<Value> {
        self.state().objects.values().map(|stored| stored.object.clone()).collect()
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn check(&self, verb: &str, object: &Value) -> Result<Key, WriteError> {
        let subject = Subject::of(object);
        let name = subject.name.clone().unwrap_or_default();
        let problem = if subject.kind.version.is_empty() || subject.kind.kind.is_empty() {
            Some("apiVersion and kind are required".to_owned())
        } else if !is_name(&subject.kind, &name) {
            Some(format!("metadata.name: {name:?} is not a DNS subdomain (lower case letters, digits, - and .)"))
        } else if !has_plain_maps(object) {
            Some("metadata.labels and metadata.annotations must map strings to strings".to_owned())
        } else {
            None
        };
        match problem {
            Some(message) => Err(refuse(WriteErrorKind::Invalid, verb, &subject, &message)),
            None => Ok(Key::new(&subject.kind, subject.namespace, name)),
        }
    }

    fn insert(&self, desired: &Value, rehearse: bool) -> Result<Value, WriteError> {
        let verb = if rehearse { "rehearse the creation of" } else { "create" };
        let key = self.check(verb, desired)?;
        let mut state = self.state();
        if let Some(holder) = state.objects.get(&key) {
            let message =
                if is_terminating(&holder.object) { "it is still being deleted" } else { "it already exists" };
            return Err(refuse(WriteErrorKind::AlreadyExists, verb, &Subject::of(desired), message));
        }
        let mut object = self.overrides.get(&key.name).unwrap_or(desired).clone();
        if !rehearse {
            object = state.admit(object, self.now);
            let stored = Stored { object: object.clone(), applied: Some(desired.clone()) };
            state.objects.insert(key, stored);
        }
        Ok(object)
    }

    fn merge(&self, desired: &Value, target: &Target) -> Result<Value, WriteError> {
        let subject = Subject::of(desired);
        let key = self.check("apply", desired)?;
        let mut state = self.state();
        let revision = state.revision + 1;
        let Some(stored) = state.objects.get_mut(&key) else {
            let message = "the object of that UID does not exist";
            return Err(refuse(WriteErrorKind::Conflict, "apply", &subject, message));
        };
        if metadata_text(&stored.object, "uid") != target.uid {
            return Err(refuse(WriteErrorKind::Conflict, "apply", &subject, "the UID is another one"));
        }
        let (looked_at, live) = (&target.resource_version, metadata_text(&stored.object, "resourceVersion"));
        if !looked_at.is_empty() && looked_at != live {
            return Err(refuse(WriteErrorKind::Conflict, "apply", &subject, "the object was modified meanwhile"));
        }
        let before = stored.object.clone();
        match self.overrides.get(&key.name) {
            Some(instead) => {
                let (uid, created) = (before.pointer("/metadata/uid"), before.pointer("/metadata/creationTimestamp"));
                stored.object = instead.clone();
                fill(&mut stored.object, "uid", uid.cloned());
                fill(&mut stored.object, "creationTimestamp", created.cloned());
                fill(&mut stored.object, "resourceVersion", before.pointer("/metadata/resourceVersion").cloned());
            }
            None => merge::apply(&mut stored.object, stored.applied.as_ref(), desired),
        }
        stored.applied = Some(desired.clone());
        let changed = stored.object != before;
        if changed {
            stored.object["metadata"]["resourceVersion"] = revision.to_string().into();
        }
        let answer = stored.object.clone();
        if changed {
            state.revision = revision;
        }
        if is_terminating(&answer) && !self.is_held(&answer) {
            state.objects.remove(&key);
        }
        Ok(answer)
    }

    /// Whether a deletion leaves the object standing.
    fn is_held(&self, object: &Value) -> bool {
        let finalizers = object.pointer("/metadata/finalizers").and_then(Value::as_array);
        self.keep_deleted || finalizers.is_some_and(|finalizers| !finalizers.is_empty())
    }

    fn remove(&self, target: &Target) -> Result<Deletion, WriteError> {
        let key = Key::new(&target.kind, target.namespace.clone(), target.name.clone());
        let mut state = self.state();
        let revision = state.revision + 1;
        let Some(stored) = state.objects.get_mut(&key) else { return Ok(Deletion::Gone) };
        if metadata_text(&stored.object, "uid") != target.uid {
            return Err(refuse(WriteErrorKind::Conflict, "delete", &Subject::from(target), "the UID is another one"));
        }
        if !self.is_held(&stored.object) {
            state.objects.remove(&key);
            return Ok(Deletion::Gone);
        }
        if !is_terminating(&stored.object) {
            stored.object["metadata"]["deletionTimestamp"] = seconds(self.now);
            stored.object["metadata"]["resourceVersion"] = revision.to_string().into();
        }
        let answer = stored.object.clone();
        state.revision = revision;
        Ok(Deletion::Pending(answer))
    }

    fn record(&self, verb: OperationVerb, subject: Subject, result: Option<ApplyResult>) {
        self.state().operations.push(Operation {
            verb,
            kind: subject.kind.kind,
            namespace: subject.namespace.unwrap_or_default(),
            name: subject.name.unwrap_or_default(),
            result,
        });
    }
}

impl Transport for MemoryTransport {
    /// A query without namespace, or with `*`, looks in all of them; an object without one comes first.
    async fn find(&self, query: &Query) -> Result<Vec<Value>, WriteError> {
        let verb = match &query.by {
            QueryBy::Name(_) => OperationVerb::Get,
            QueryBy::Labels(_) => OperationVerb::Discover,
        };
        self.record(verb, Subject::from(query), None);
        let anywhere = matches!(query.namespace.as_deref(), None | Some("" | "*"));
        let state = self.state();
        let mut found = state
            .objects
            .iter()
            .filter(|(key, _)| key.group == query.kind.group && key.kind == query.kind.kind)
            .filter(|(key, _)| anywhere || Some(&key.namespace) == query.namespace.as_ref())
            .filter(|(key, stored)| match &query.by {
                QueryBy::Name(name) => key.name == *name,
                QueryBy::Labels(labels) => labels.iter().all(|(label, value)| {
                    let labels = stored.object.pointer("/metadata/labels");
                    labels.and_then(|labels| labels.get(label)).and_then(Value::as_str) == Some(value)
                }),
            })
            .map(|(_, stored)| stored.object.clone());
        Ok(match &query.by {
            QueryBy::Name(_) => found.next().into_iter().collect(),
            QueryBy::Labels(_) => found.collect(),
        })
    }

    async fn create(&self, desired: &Value) -> Result<Value, WriteError> {
        let answer = self.insert(desired, false);
        let result = if answer.is_ok() { ApplyResult::Create } else { ApplyResult::Failed };
        self.record(OperationVerb::Apply, Subject::of(desired), Some(result));
        answer
    }

    async fn rehearse_create(&self, desired: &Value) -> Result<(), WriteError> {
        self.insert(desired, true).map(drop)
    }

    async fn update(&self, desired: &Value, target: &Target, _: Option<&Value>) -> Result<Value, WriteError> {
        let answer = self.merge(desired, target);
        let result = if answer.is_ok() { ApplyResult::Update } else { ApplyResult::Failed };
        self.record(OperationVerb::Apply, Subject::of(desired), Some(result));
        answer
    }

    async fn delete(&self, target: &Target, _: PropagationPolicy) -> Result<Deletion, WriteError> {
        let answer = self.remove(target);
        self.record(OperationVerb::Delete, Subject::from(target), None);
        answer
    }
}

impl State {
    /// Gives an object what a server gives it on creation.
    fn admit(&mut self, mut object: Value, now: Timestamp) -> Value {
        self.revision += 1;
        self.uids += 1;
        fill(&mut object, "uid", Some(format!("00000000-0000-4000-8000-{:012x}", self.uids).into()));
        fill(&mut object, "creationTimestamp", Some(seconds(now)));
        fill(&mut object, "resourceVersion", Some(self.revision.to_string().into()));
        object
    }
}

impl Key {
    fn new(kind: &GroupVersionKind, namespace: Option<String>, name: String) -> Self {
        Self { group: kind.group.clone(), kind: kind.kind.clone(), namespace: namespace.unwrap_or_default(), name }
    }
}

fn refuse(kind: WriteErrorKind, verb: &str, subject: &Subject, message: &str) -> WriteError {
    let status = match kind {
        WriteErrorKind::Invalid => Some(422),
        WriteErrorKind::AlreadyExists | WriteErrorKind::Conflict => Some(409),
        _ => None,
    };
    WriteError { kind, call: format!("{verb} {subject}"), status, message: message.to_owned() }
}

fn fill(object: &mut Value, key: &str, value: Option<Value>) {
    if let (Some(metadata), Some(value)) = (object.get_mut("metadata").and_then(Value::as_object_mut), value) {
        metadata.entry(key).or_insert(value);
    }
}

fn metadata_text<'a>(object: &'a Value, key: &str) -> &'a str {
    object.get("metadata").and_then(|metadata| metadata.get(key)).and_then(Value::as_str).unwrap_or_default()
}

fn is_terminating(object: &Value) -> bool {
    object.pointer("/metadata/deletionTimestamp").is_some_and(|at| !at.is_null())
}

/// A time as Kubernetes writes it: whole seconds.
fn seconds(at: Timestamp) -> Value {
    Timestamp::from_second(at.as_second()).unwrap_or(at).to_string().into()
}

/// Names are DNS subdomains, but those of RBAC objects only have to fit into a path.
fn is_name(kind: &GroupVersionKind, name: &str) -> bool {
    if kind.group == "rbac.authorization.k8s.io" {
        return !matches!(name, "" | "." | "..") && !name.contains(['/', '%']);
    }
    let inner = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit();
    let is_label =
        |label: &str| label.starts_with(inner) && label.ends_with(inner) && label.chars().all(|c| inner(c) || c == '-');
    name.len() <= 253 && name.split('.').all(is_label)
}

fn has_plain_maps(object: &Value) -> bool {
    ["labels", "annotations"].into_iter().all(|key| {
        let map: Option<&Map<String, Value>> = match object.get("metadata").and_then(|metadata| metadata.get(key)) {
            None | Some(Value::Null) => return true,
            Some(value) => value.as_object(),
        };
        map.is_some_and(|map| map.values().all(Value::is_string))
    })
}

#[cfg(test)]
mod tests;
