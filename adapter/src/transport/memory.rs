//! An API server in memory, for dry runs and tests.
//!
//! In: the same calls as a real transport, and the objects that exist at the start. Out: the answers that the
//! API server would give as far as an object's life goes: UIDs, resource versions, taken names, fences,
//! finalizers, an apply that keeps what others wrote, and patches that an apply keeps; and a log of every operation, for
//! traces. Its clock stands still until it is set, so that a timeline can be replayed.
//!
//! What it does not do: it knows no schema, so that it neither validates nor defaults, and a list is replaced as
//! a whole (finalizers and ownerReferences excepted, which every kind has); it runs no controllers, so that no status
//! appears, and a dependent goes with its owner only if that is asked for; and of the kinds that are not Kubernetes' own, it takes
//! those for namespaced of which it has an object in a namespace. Everything that was created here counts as applied, whether or not its fields were taken over. A deletion
//! in the foreground is one in the background.

mod admission;
mod garbage;
mod merge;
mod operation;
mod state;

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use jiff::Timestamp;
use lifecycle_core::destination::Destination;
use lifecycle_core::observation::{Query, QueryBy, Version};
use lifecycle_core::task::PropagationPolicy;
use lifecycle_core::write::{Target, WriteError, WriteErrorKind};
use serde_json::Value;

pub use self::operation::{ApplyResult, Operation, OperationVerb};
use self::state::{Key, State, Stored, fence, is_terminating, refuse};
use crate::transport::kubernetes::fence as fence_of;
use crate::transport::{Deletion, Transport};
use lifecycle_core::object_ref::ObjectRef;

/// The store.
pub struct MemoryTransport {
    keep_deleted: bool,
    overrides: BTreeMap<String, Value>,
    state: Mutex<State>,
}

impl MemoryTransport {
    /// Starts empty; everything happens at `now` until the clock is set.
    #[must_use]
    pub fn new(now: Timestamp) -> Self {
        let state = Mutex::new(State::new(now));
        Self { keep_deleted: false, overrides: BTreeMap::new(), state }
    }

    /// Sets the clock: what happens from here on happens at `now`.
    pub fn set_now(&self, now: Timestamp) {
        self.state().now = now;
    }

    /// Adds objects that exist from the start. Those without UID or creationTimestamp get them.
    ///
    /// # Errors
    ///
    /// The first object that has no `apiVersion`, `kind` or usable name.
    pub fn with_objects(self, objects: impl IntoIterator<Item = Value>) -> Result<Self, WriteError> {
        for object in objects {
            let key = self.check("load", &object)?;
            let object = self.state().admit(object);
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

    /// Every operation so far, in order. Dry runs are not among them: they write nothing.
    #[must_use]
    pub fn operations(&self) -> Vec<Operation> {
        self.state().operations.clone()
    }

    /// Every object, sorted by kind, namespace and name.
    #[must_use]
    pub fn objects(&self) -> Vec<Value> {
        self.state().objects.values().map(|stored| stored.object.clone()).collect()
    }

    /// Deletes what only gone objects own, and what only that owned, as the garbage collector of a cluster does some time
    /// after a deletion.
    pub fn collect_garbage(&self) {
        let mut state = self.state();
        loop {
            let left_behind = garbage::left_behind(&mut state);
            if left_behind.is_empty() {
                return;
            }
            for key in left_behind {
                self.end(&mut state, &key);
            }
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn check(&self, verb: &str, object: &Value) -> Result<Key, WriteError> {
        let subject = ObjectRef::of(object);
        match admission::problem(object) {
            Some(message) => Err(refuse(WriteErrorKind::Invalid, verb, &subject, &message)),
            None => Ok(Key::new(&subject.kind, subject.namespace, subject.name)),
        }
    }

    fn insert(&self, desired: &Value, dry_run: bool) -> Result<Value, WriteError> {
        let verb = if dry_run { "dry-run the creation of" } else { "create" };
        let key = self.check(verb, desired)?;
        let mut state = self.state();
        if let Some(holder) = state.objects.get(&key) {
            let message =
                if is_terminating(&holder.object) { "it is still being deleted" } else { "it already exists" };
            return Err(refuse(WriteErrorKind::AlreadyExists, verb, &ObjectRef::of(desired), message));
        }
        let mut object = self.overrides.get(&key.name).unwrap_or(desired).clone();
        if !dry_run {
            object = state.admit(object);
            let stored = Stored { object: object.clone(), applied: Some(desired.clone()) };
            state.objects.insert(key, stored);
        }
        Ok(object)
    }

    fn merge(&self, desired: &Value, target: &Target) -> Result<Value, WriteError> {
        let key = self.check("apply", desired)?;
        let instead = self.overrides.get(&key.name);
        let answer = self.change("apply", &key, target, |stored| {
            match instead {
                Some(instead) => stored.replace(instead),
                None => merge::apply(&mut stored.object, stored.applied.as_ref(), desired),
            }
            stored.applied = Some(desired.clone());
        })?;
        answer.ok_or_else(|| {
            let message = "the object of that UID does not exist";
            refuse(WriteErrorKind::Conflict, "apply", &ObjectRef::of(desired), message)
        })
    }

    fn merge_patch(&self, document: &Value, target: &Target) -> Result<Option<Value>, WriteError> {
        let invalid = |message: String| refuse(WriteErrorKind::Invalid, "patch", &ObjectRef::from(target), &message);
        let document = fence_of(target).in_patch(document, &ObjectRef::from(target)).map_err(invalid)?;
        let key = Key::from(target);
        self.change("patch", &key, target, |stored| {
            merge::patch(&mut stored.object, stored.applied.as_mut(), &document)
        })
    }

    /// Changes the very object that a target names, and answers as a server; none if it is not there.
    fn change(
        &self,
        verb: &str,
        key: &Key,
        target: &Target,
        change: impl FnOnce(&mut Stored),
    ) -> Result<Option<Value>, WriteError> {
        let mut state = self.state();
        let Some(live) = state.objects.get(key) else { return Ok(None) };
        fence(verb, target, &live.object)?;
        let mut changed = live.clone();
        change(&mut changed);
        self.check(verb, &changed.object)?;
        if changed.object != live.object {
            changed.object["metadata"]["resourceVersion"] = state.next_version();
        }
        let answer = changed.object.clone();
        if is_terminating(&answer) && !self.is_held(&answer) {
            state.objects.remove(key);
        } else {
            state.objects.insert(key.clone(), changed);
        }
        Ok(Some(answer))
    }

    /// Whether a deletion leaves the object standing.
    fn is_held(&self, object: &Value) -> bool {
        let finalizers = object.pointer("/metadata/finalizers").and_then(Value::as_array);
        self.keep_deleted || finalizers.is_some_and(|finalizers| !finalizers.is_empty())
    }

    fn remove(&self, target: &Target, propagation: PropagationPolicy) -> Result<Deletion, WriteError> {
        let key = Key::from(target);
        let mut state = self.state();
        let Some(stored) = state.objects.get(&key) else { return Ok(Deletion::Gone) };
        fence("delete", target, &stored.object)?;
        if propagation == PropagationPolicy::Orphan {
            garbage::disown(&mut state, &target.uid);
        }
        Ok(self.end(&mut state, &key))
    }

    /// Deletes an object, or marks it as terminating if something holds it.
    fn end(&self, state: &mut State, key: &Key) -> Deletion {
        let Some(stored) = state.objects.get(key) else { return Deletion::Gone };
        if !self.is_held(&stored.object) {
            state.objects.remove(key);
            return Deletion::Gone;
        }
        let mut ending = stored.clone();
        if !is_terminating(&ending.object) {
            ending.object["metadata"]["deletionTimestamp"] = state.timestamp();
            ending.object["metadata"]["resourceVersion"] = state.next_version();
            state.objects.insert(key.clone(), ending.clone());
        }
        Deletion::Pending(ending.object)
    }

    fn record(&self, verb: OperationVerb, subject: ObjectRef, result: Option<ApplyResult>) {
        self.state().operations.push(Operation {
            verb,
            kind: subject.kind.kind,
            namespace: subject.namespace.unwrap_or_default(),
            name: subject.name,
            result,
        });
    }
}

impl Transport for MemoryTransport {
    /// A selector without namespace, or with `*`, looks in all of them.
    async fn find(&self, query: &Query) -> Result<Vec<Value>, WriteError> {
        let verb = match &query.by {
            QueryBy::Name(_) => OperationVerb::Get,
            QueryBy::Labels(_) => OperationVerb::Discover,
        };
        self.record(verb, ObjectRef::from(query), None);
        let anywhere = matches!(query.namespace.as_deref(), None | Some("" | "*"));
        let state = self.state();
        let is_by_name = matches!(query.by, QueryBy::Name(_));
        if is_by_name && anywhere && state.is_namespaced(&query.kind) {
            let message = format!("{} is a namespaced kind: the namespace is missing", query.kind.kind);
            return Err(refuse(WriteErrorKind::Invalid, "get", &ObjectRef::from(query), &message));
        }
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

    async fn create(&self, desired: &Value, _: &Destination) -> Result<Value, WriteError> {
        let answer = self.insert(desired, false);
        let result = if answer.is_ok() { ApplyResult::Create } else { ApplyResult::Failed };
        self.record(OperationVerb::Apply, ObjectRef::of(desired), Some(result));
        answer
    }

    async fn dry_run_create(&self, desired: &Value, _: &Destination) -> Result<(), WriteError> {
        self.insert(desired, true).map(drop)
    }

    async fn update(&self, desired: &Value, target: &Target, _: &Version) -> Result<Value, WriteError> {
        let answer = self.merge(desired, target);
        let result = if answer.is_ok() { ApplyResult::Update } else { ApplyResult::Failed };
        self.record(OperationVerb::Apply, ObjectRef::of(desired), Some(result));
        answer
    }

    async fn patch(&self, document: &Value, target: &Target) -> Result<Option<Value>, WriteError> {
        let answer = self.merge_patch(document, target);
        let result = if matches!(answer, Ok(Some(_))) { ApplyResult::Update } else { ApplyResult::Failed };
        self.record(OperationVerb::Patch, ObjectRef::from(target), Some(result));
        answer
    }

    async fn delete(&self, target: &Target, propagation: PropagationPolicy) -> Result<Deletion, WriteError> {
        let answer = self.remove(target, propagation);
        self.record(OperationVerb::Delete, ObjectRef::from(target), None);
        answer
    }
}

#[cfg(test)]
mod tests;
