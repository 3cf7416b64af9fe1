//! An API server in memory, for dry runs and tests.
//!
//! In: the same calls as a real transport, and the objects that exist at the start. Out: the responses that an
//! API server would give about an object's lifecycle: UIDs, resource versions, taken names, fences, finalizers, terminating namespaces,
//! server-side apply and merge patches, generations, `stringData`, and canonical quantities; and a log of every operation, for traces. The clock shows the same time
//! until a caller sets it, so that a dry run is reproducible.
//!
//! Differences to a real server: the store knows the types of the fields of [common kinds](crate::field_types), and no
//! more of a schema, so that it neither validates other rules nor sets defaults, and
//! an apply replaces a list as a whole (except `finalizers` and `ownerReferences`, which every kind has). It
//! runs no controllers, so that no status appears, and deletes dependents only in
//! [`MemoryTransport::collect_garbage`]. A work that is deleted at a consumer is terminating until
//! [`MemoryTransport::confirm_remote_deletions`], as in Maestro until the agent has confirmed. It knows no field managers but the adapter's, so that an update by
//! `ApplyOverride` is one by `Apply`. It takes a custom kind for namespaced if it holds an object of that
//! kind in a namespace. Every created object counts as applied, without managed-fields migration. A foreground
//! deletion behaves like a background one.
//!
//! What a fence lets through, and what an apply or a patch makes of an object, are rules of [`lifecycle_objects`]. Two smaller servers in
//! memory share them: the store of pure crates' tests (`lifecycle_objects::store`, without a runtime, below the sets), and the cluster of
//! the sweeper's demo, which knows served kinds instead.

mod admission;
mod garbage;
mod immutable;
mod operation;
mod outside;
mod server;
mod state;

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use jiff::Timestamp;
use lifecycle_bundle::guard::{Guard, Members};
use lifecycle_objects::apply;
use lifecycle_objects::destination::Destination;
use lifecycle_objects::fence::Fence;
use lifecycle_objects::identity::Identity;
use lifecycle_objects::inspection::Inspection;
use lifecycle_objects::merge_keys::refuse_equal_keys;
use lifecycle_objects::object_ref::ObjectRef;
use lifecycle_objects::observation::{Query, QueryBy, Version};
use lifecycle_objects::quantity::canonicalize;
use lifecycle_objects::write::{Deletion, PropagationPolicy, Target, UpdateMode, WriteError, WriteErrorKind};
use serde_json::Value;

pub use self::operation::{ApplyResult, Operation, OperationVerb};
use self::state::{Key, State, Stored, fence, is_terminating, refuse};
use crate::Transport;
use crate::field_types;

/// A transport whose API server is a store of objects in memory.
pub struct MemoryTransport {
    overrides: BTreeMap<String, Value>,
    state: Mutex<State>,
}

/// A saved state of the store.
pub struct Saved(State);

impl MemoryTransport {
    /// Creates an empty store, whose clock shows `now`.
    #[must_use]
    pub fn new(now: Timestamp) -> Self {
        let state = Mutex::new(State::new(now));
        Self { overrides: BTreeMap::new(), state }
    }

    /// Sets the clock: the timestamps of later writes are `now`.
    pub fn set_now(&self, now: Timestamp) {
        self.state().now = now;
    }

    /// Adds objects that exist at the start. An object without UID or creation timestamp gets one.
    ///
    /// # Errors
    ///
    /// The first object that lacks `apiVersion` or `kind`, or has no valid name.
    pub fn with_objects(self, objects: impl IntoIterator<Item = Value>) -> Result<Self, WriteError> {
        for object in objects {
            let key = self.check("load", &object)?;
            let object = self.state().admit(&key, object);
            self.state().objects.insert(key, Stored { object, applied: None, awaits_agent: false });
        }
        Ok(self)
    }

    /// Adds objects by name that exist at the start. An apply to one of these names stores the given object
    /// in place of the applied one, as if controllers of the cluster had changed it.
    ///
    /// # Errors
    ///
    /// As [`with_objects`](Self::with_objects).
    pub fn with_overrides(mut self, overrides: BTreeMap<String, Value>) -> Result<Self, WriteError> {
        self = self.with_objects(overrides.values().cloned())?;
        self.overrides = overrides;
        Ok(self)
    }

    /// Every operation so far, in order. A server-side dry run is left out, because it writes nothing.
    #[must_use]
    pub fn operations(&self) -> Vec<Operation> {
        self.state().operations.clone()
    }

    /// Every object, sorted by kind, namespace and name.
    #[must_use]
    pub fn objects(&self) -> Vec<Value> {
        self.state().objects.values().map(|stored| stored.object.clone()).collect()
    }

    /// Deletes objects whose owners are all gone, and then the dependents of those, as the garbage collector of
    /// a cluster does some time after a deletion.
    pub fn collect_garbage(&self) {
        let mut state = self.state();
        loop {
            let dependents_without_owner = garbage::dependents_without_owner(&mut state);
            if dependents_without_owner.is_empty() {
                return;
            }
            for key in dependents_without_owner {
                Self::delete_object(&mut state, &key);
            }
        }
    }

    /// Everything that the store holds, for [`restore`](Self::restore).
    #[must_use]
    pub fn save(&self) -> Saved {
        Saved(self.state().clone())
    }

    /// Puts the store back into a saved state.
    pub fn restore(&self, saved: Saved) {
        *self.state() = saved.0;
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn check(&self, verb: &str, object: &Value) -> Result<Key, WriteError> {
        let object_ref = ObjectRef::of(object);
        match admission::problem(object) {
            Some(message) => Err(refuse(WriteErrorKind::Invalid, verb, &object_ref, &message)),
            None => Ok(Key::new(&object_ref.kind, object_ref.namespace, object_ref.name)),
        }
    }

    fn insert(&self, desired: &Value, dry_run: bool) -> Result<Value, WriteError> {
        let verb = if dry_run { "dry-run the creation of" } else { "create" };
        let key = self.check(verb, desired)?;
        check_types(verb, desired)?;
        refuse_equal_keys(verb, desired)?;
        let mut state = self.state();
        if state.is_terminating_namespace(&key.namespace) {
            let message = format!("namespace {} is being terminated", key.namespace);
            return Err(refuse(WriteErrorKind::NamespaceTerminating, verb, &ObjectRef::of(desired), &message));
        }
        if let Some(holder) = state.objects.get(&key) {
            let message =
                if is_terminating(&holder.object) { "it is still being deleted" } else { "it already exists" };
            return Err(refuse(WriteErrorKind::AlreadyExists, verb, &ObjectRef::of(desired), message));
        }
        let prepared = self.overrides.get(&key.name);
        let mut object = prepared.map_or_else(|| server::stored(desired), Value::clone);
        if !dry_run {
            object = state.admit(&key, object);
            let stored = Stored { object: object.clone(), applied: Some(desired.clone()), awaits_agent: false };
            state.objects.insert(key, stored);
        }
        Ok(object)
    }

    fn write(&self, desired: &Value, target: &Target, mode: UpdateMode) -> Result<Value, WriteError> {
        let verb = if mode == UpdateMode::Replace { "replace" } else { "apply" };
        let key = self.check(verb, desired)?;
        let refused = |kind, message: &str| refuse(kind, verb, &ObjectRef::of(desired), message);
        if mode != UpdateMode::Replace {
            refuse_equal_keys(verb, desired)?;
        }
        if mode == UpdateMode::Replace && target.resource_version.is_empty() {
            return Err(refused(WriteErrorKind::Invalid, "the resource version to replace is unknown"));
        }
        let replacement = self.overrides.get(&key.name);
        let answer = self.change(verb, &key, target, |stored| {
            match (replacement, mode) {
                (Some(replacement), _) => stored.replace(replacement),
                (None, mode) => {
                    let (desired, before) = (server::without_generation(desired), stored.applied.as_ref());
                    match mode {
                        UpdateMode::Apply | UpdateMode::ApplyOverride => {
                            apply::apply(&mut stored.object, before, &desired)
                        }
                        UpdateMode::Replace => apply::replace(&mut stored.object, before, &desired),
                        // What is sent again is as new as its version.
                        UpdateMode::Resend => {
                            drop(stored.object.as_object_mut().and_then(|it| it.remove("unobserved")));
                        }
                    }
                }
            }
            server::drop_last_applied(&key.kind(), &mut stored.object, desired);
            stored.applied = Some(desired.clone());
        })?;
        answer.ok_or_else(|| refused(WriteErrorKind::Conflict, "the object of that UID does not exist"))
    }

    fn merge_patch(&self, document: &Value, target: &Target) -> Result<Option<Value>, WriteError> {
        let invalid = |message: String| refuse(WriteErrorKind::Invalid, "patch", &ObjectRef::from(target), &message);
        let document = server::without_generation(document);
        let document = Fence::from(target).in_patch(&document, &ObjectRef::from(target)).map_err(invalid)?;
        let key = Key::from(target);
        self.change("patch", &key, target, |stored| {
            apply::patch(&mut stored.object, stored.applied.as_mut(), &document)
        })
    }

    /// Changes exactly the object that `target` names, and returns it as a server would. Returns `None` if the
    /// object does not exist.
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
        server::encode_secret(&target.kind, &mut changed.object);
        if !self.overrides.contains_key(&key.name) {
            canonicalize(&mut changed.object);
        }
        if let Some(message) = immutable::problem(&target.kind, &live.object, &changed.object) {
            return Err(refuse(WriteErrorKind::Invalid, verb, &ObjectRef::from(target), &message));
        }
        server::continue_generation(&target.kind, &live.object, &mut changed.object);
        check_types(verb, &changed.object)?;
        if changed.object != live.object {
            changed.object["metadata"]["resourceVersion"] = state.next_version();
        }
        let answer = changed.object.clone();
        if is_terminating(&answer) && !changed.stays_terminating() {
            state.objects.remove(key);
        } else {
            state.objects.insert(key.clone(), changed);
        }
        Ok(Some(answer))
    }

    fn remove(&self, target: &Target, propagation: PropagationPolicy) -> Result<Deletion, WriteError> {
        let key = Key::from(target);
        let mut state = self.state();
        let Some(stored) = state.objects.get_mut(&key) else { return Ok(Deletion::Gone) };
        fence("delete", target, &stored.object)?;
        stored.awaits_agent = matches!(target.destination, Destination::Consumer(_));
        if propagation == PropagationPolicy::Orphan {
            garbage::disown(&mut state, &target.uid);
        }
        Ok(Self::delete_object(&mut state, &key))
    }

    /// Deletes an object, or marks it as terminating if a finalizer or an agent holds it.
    fn delete_object(state: &mut State, key: &Key) -> Deletion {
        let Some(stored) = state.objects.get(key) else { return Deletion::Gone };
        if !stored.stays_terminating() {
            state.objects.remove(key);
            if key.group.is_empty() && key.kind == "Namespace" {
                state.deleted_namespaces.push(key.name.clone());
            }
            return Deletion::Gone;
        }
        let mut terminating = stored.clone();
        if !is_terminating(&terminating.object) {
            terminating.object["metadata"]["deletionTimestamp"] = state.timestamp();
            terminating.object["metadata"]["resourceVersion"] = state.next_version();
            server::end_generation(&mut terminating.object);
            state.objects.insert(key.clone(), terminating.clone());
        }
        Deletion::Pending(terminating.object)
    }

    fn record(&self, verb: OperationVerb, object_ref: ObjectRef, result: Option<ApplyResult>) {
        self.state().operations.push(Operation {
            verb,
            kind: object_ref.kind.kind,
            namespace: object_ref.namespace.unwrap_or_default(),
            name: object_ref.name,
            result,
        });
    }
}

/// Refuses an object with a field of another type than Kubernetes wants.
fn check_types(verb: &str, object: &Value) -> Result<(), WriteError> {
    match field_types::faults(object).first() {
        Some(fault) => Err(refuse(WriteErrorKind::Invalid, verb, &ObjectRef::of(object), &fault.to_string())),
        None => Ok(()),
    }
}

impl Transport for MemoryTransport {
    /// A selector without a namespace, or with the namespace `*`, searches all namespaces. The log of operations leaves the search
    /// of a deletion out, as it lists what is done about the objects of the task.
    async fn find(&self, query: &Query) -> Result<Vec<Value>, WriteError> {
        let verb = match &query.by {
            QueryBy::Name(_) => OperationVerb::Get,
            QueryBy::Labels(_) => OperationVerb::Discover,
        };
        if !query.is_search() {
            self.record(verb, ObjectRef::from(query), None);
        }
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

    /// The log of operations leaves inspections out, as it lists what is done about the objects of the task.
    async fn inspect(&self, inspection: &Inspection, members: &Members) -> Result<Option<Identity>, WriteError> {
        let state = self.state();
        let mut guard = Guard::new(inspection, members);
        let found = state.objects.values().find_map(|stored| guard.look_at(&stored.object));
        Ok(found.or_else(|| guard.finish()))
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

    async fn update(
        &self,
        desired: &Value,
        target: &Target,
        _: &Version,
        mode: UpdateMode,
    ) -> Result<Value, WriteError> {
        let answer = self.write(desired, target, mode);
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
