//! Records every call to one server, with the objects right before and after each write.

use std::sync::{Arc, Mutex, PoisonError};

use lifecycle_objects::destination::Destination;
use lifecycle_objects::id::GroupVersionKind;
use lifecycle_objects::observation::{Query, QueryBy};
use lifecycle_objects::write::{Target, WriteError, WriteErrorKind};
use lifecycle_transport::Transport;
use serde_json::Value;

use crate::object::name;
use crate::shape::MARKER;

/// A call with its arguments.
#[derive(Debug, Clone)]
pub(crate) enum Call {
    Find(Query),
    Create(Value),
    DryRun(Value),
    Update(Value, Target),
    Patch(Value, Target),
    Delete(Target),
}

/// The result of a call, as the caller got it.
#[derive(Debug, Clone)]
pub(crate) enum CallResult {
    /// The objects that a read found.
    Found(Vec<Value>),
    /// The object after the write.
    Object(Value),
    /// The object does not exist (any more), or the dry run succeeded.
    Nothing,
    Refused(WriteErrorKind),
    /// No result: the process crashed in the call.
    Crashed,
}

/// A call of a pass, with its result.
#[derive(Debug, Clone)]
pub(crate) struct Entry {
    /// The number of the pass, counted over both replicas.
    pub(crate) pass: usize,
    pub(crate) call: Call,
    pub(crate) result: CallResult,
    /// The objects of the sequence before and after the call; empty for a call that does not write.
    pub(crate) before: Vec<Value>,
    pub(crate) after: Vec<Value>,
}

/// The record of all calls to one server, shared by both replicas.
pub(crate) struct Journal<T> {
    store: Arc<T>,
    /// The value of the marker label, which all objects of the sequence carry.
    id: String,
    namespace: String,
    kinds: Vec<(Destination, GroupVersionKind)>,
    entries: Mutex<Vec<Entry>>,
    /// Held during a call, so that each change between `before` and `after` is an effect of this call.
    pub(crate) one_at_a_time: tokio::sync::Mutex<()>,
}

impl<T: Transport> Journal<T> {
    /// Begins the record of the objects with the marker `id`. `store` is the server without the watching
    /// transport.
    pub(crate) fn new(store: Arc<T>, id: &str, namespace: &str, kinds: Vec<(Destination, GroupVersionKind)>) -> Self {
        let (id, namespace) = (id.to_owned(), namespace.to_owned());
        Self { store, id, namespace, kinds, entries: Mutex::default(), one_at_a_time: tokio::sync::Mutex::default() }
    }

    /// All objects of the sequence, by kind and name.
    ///
    /// # Errors
    /// The server does not answer.
    pub(crate) async fn objects(&self) -> Result<Vec<Value>, WriteError> {
        let mut objects = Vec::new();
        for (destination, kind) in &self.kinds {
            let by = QueryBy::Labels([(MARKER.to_owned(), self.id.clone())].into());
            let query = Query {
                destination: destination.clone(),
                kind: kind.clone(),
                namespace: Some(self.namespace.clone()),
                by,
            };
            let mut found = self.store.find(&query).await?;
            // Maestro sorts works by ids, which differ from run to run.
            found.sort_by(|a, b| name(a).cmp(name(b)));
            objects.extend(found);
        }
        Ok(objects)
    }

    pub(crate) fn note(&self, entry: Entry) {
        self.entries.lock().unwrap_or_else(PoisonError::into_inner).push(entry);
    }

    /// The calls of a pass.
    pub(crate) fn of(&self, pass: usize) -> Vec<Entry> {
        let entries = self.entries.lock().unwrap_or_else(PoisonError::into_inner);
        entries.iter().filter(|entry| entry.pass == pass).cloned().collect()
    }
}

impl Call {
    pub(crate) fn verb(&self) -> &'static str {
        match self {
            Self::Find(_) => "find",
            Self::Create(_) => "create",
            Self::DryRun(_) => "dry-run",
            Self::Update(..) => "update",
            Self::Patch(..) => "patch",
            Self::Delete(_) => "delete",
        }
    }

    pub(crate) fn writes(&self) -> bool {
        !matches!(self, Self::Find(_) | Self::DryRun(_))
    }

    /// The kind and name of the call's object; none for a find.
    pub(crate) fn place(&self) -> Option<(&str, &str)> {
        match self {
            Self::Find(_) => None,
            Self::Create(desired) | Self::DryRun(desired) => {
                Some((crate::object::kind(desired), crate::object::name(desired)))
            }
            Self::Update(_, target) | Self::Patch(_, target) | Self::Delete(target) => {
                Some((&target.kind.kind, &target.name))
            }
        }
    }

    /// The fenced target of the call; none for a find or a creation.
    pub(crate) fn target(&self) -> Option<&Target> {
        match self {
            Self::Find(_) | Self::Create(_) | Self::DryRun(_) => None,
            Self::Update(_, target) | Self::Patch(_, target) | Self::Delete(target) => Some(target),
        }
    }
}

impl Entry {
    /// Whether the call sent a write. A write of a work that would change nothing is not sent to Maestro.
    pub(crate) fn is_sent(&self) -> bool {
        let is_work = self.call.place().is_some_and(|(kind, _)| kind == "ManifestWork");
        self.call.writes() && (!is_work || self.before != self.after)
    }

    /// The object of the call, before and after it.
    pub(crate) fn subject(&self) -> [Option<&Value>; 2] {
        let place = self.call.place();
        [&self.before, &self.after].map(|objects| {
            let is_it = |object: &&Value| place == Some((crate::object::kind(object), crate::object::name(object)));
            objects.iter().find(is_it)
        })
    }

    /// The call's target before and after the call, if the call changed it.
    pub(crate) fn changed(&self) -> Option<(&Value, &Value)> {
        let target = self.call.target()?;
        let [before, after] =
            self.subject().map(|object| object.filter(|object| crate::object::uid(object) == target.uid));
        before.zip(after).filter(|(before, after)| before != after)
    }
}
