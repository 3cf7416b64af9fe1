//! An API server in memory, for tests of what decides about objects.
//!
//! It assigns a fresh UID to each object and a new resource version to each write, keeps finalizers, and refuses calls that a test
//! names. What a fence lets through, and what an apply or a patch makes of an object, are the rules that the server of dry runs
//! has too ([`Fence::admits`], [`apply`](crate::apply)).
//!
//! It is not that server, `lifecycle_transport::memory`: that one stands above the sets and checks types of fields. A set, the planner and
//! `check` are tested in plain functions, without a runtime, and below it. So these 330 lines execute a command in one step.
#![expect(clippy::unwrap_used, reason = "tests")]

use std::collections::BTreeMap;

use jiff::Timestamp;
use serde_json::{Value, json};

use crate::apply;
use crate::fence::Fence;
use crate::observation::{Observation, Query, QueryBy, Version, could_find};
use crate::write::{Command, Disowning, Executed, NotCreated, Target, WriteError, WriteErrorKind};

/// The kind, the namespace and the name of an object.
type Key = (String, String, String);

/// The objects, and a log of the calls.
#[derive(Debug, Clone)]
pub struct Store {
    objects: BTreeMap<Key, Value>,
    /// The adapter's last apply of each object.
    applied: BTreeMap<Key, Value>,
    /// The kinds whose queries fail.
    pub unreadable: Vec<String>,
    /// If set, every query by labels in all namespaces fails, and whether because it is forbidden.
    pub unlistable: Option<bool>,
    /// The namespaces that are being deleted, and take no new objects.
    pub terminating_namespaces: Vec<String>,
    /// The calls to refuse, in the form of [`log`](Self::log).
    pub refuse: Vec<String>,
    /// An object that another client creates right after this call, in the form of [`log`](Self::log).
    pub meanwhile: Option<(String, Value)>,
    /// All writing calls that the store received, in order: verb and name.
    pub log: Vec<String>,
    /// The time of events and of `creationTimestamp`.
    pub now: Timestamp,
    writes: u32,
}

impl Default for Store {
    fn default() -> Self {
        Self::new()
    }
}

impl Store {
    /// A server without objects.
    ///
    /// # Panics
    /// Never: the time that it begins with is one.
    #[must_use]
    pub fn new() -> Self {
        Self {
            objects: BTreeMap::new(),
            applied: BTreeMap::new(),
            unreadable: Vec::new(),
            unlistable: None,
            terminating_namespaces: Vec::new(),
            refuse: Vec::new(),
            meanwhile: None,
            log: Vec::new(),
            now: "2026-01-01T00:00:00Z".parse().unwrap(),
            writes: 0,
        }
    }

    /// A server with these objects.
    pub fn with(objects: impl IntoIterator<Item = Value>) -> Self {
        let mut store = Self::new();
        for object in objects {
            store.put(object);
        }
        store
    }

    /// Adds an object, with a UID and a resource version.
    pub fn put(&mut self, mut object: Value) -> Value {
        self.writes += 1;
        let metadata = object["metadata"].as_object_mut().unwrap();
        metadata.insert("uid".to_owned(), json!(format!("uid-{}", self.writes)));
        metadata.insert("resourceVersion".to_owned(), json!(self.writes.to_string()));
        metadata.entry("creationTimestamp").or_insert_with(|| json!(self.now.to_string()));
        self.objects.insert(key(&object), object.clone());
        object
    }

    /// Returns the object of a name, whatever its kind.
    #[track_caller]
    pub fn object(&self, name: &str) -> &Value {
        self.objects.values().find(|object| object["metadata"]["name"] == json!(name)).unwrap()
    }

    /// Changes an object, as another client would.
    #[track_caller]
    pub fn change(&mut self, name: &str, patch: &Value) {
        let key = key(self.object(name));
        let object = self.objects.get_mut(&key).unwrap();
        self.writes += 1;
        json_patch::merge(object, patch);
        object["metadata"]["resourceVersion"] = json!(self.writes.to_string());
    }

    /// Removes an object, as another client would.
    #[track_caller]
    pub fn remove(&mut self, name: &str) {
        let key = key(self.object(name));
        self.objects.remove(&key);
    }

    /// Gives the object of this name a finalizer, which keeps it after its deletion.
    pub fn hold(&mut self, name: &str) {
        self.change(name, &json!({ "metadata": { "finalizers": ["example.io/hold"] } }));
    }

    /// The names of all objects.
    pub fn names(&self) -> Vec<&str> {
        self.objects.keys().map(|(_, _, name)| name.as_str()).collect()
    }

    /// Returns all objects, to compare.
    pub fn objects(&self) -> Vec<Value> {
        self.objects.values().cloned().collect()
    }

    /// Answers a query.
    pub fn find(&self, query: &Query) -> Observation {
        if self.unreadable.contains(&query.kind.kind) {
            return Observation::Unknown("connection refused".to_owned());
        }
        let is_search = query.namespace.is_none() && matches!(query.by, QueryBy::Labels(_));
        match self.unlistable.filter(|_| is_search) {
            Some(true) => return Observation::Forbidden("you may not".to_owned()),
            Some(false) => return Observation::Unknown("connection refused".to_owned()),
            None => {}
        }
        let found = self.objects.values().filter(|object| object["kind"] == json!(query.kind.kind));
        Observation::Found(found.filter(|object| could_find(query, *object)).cloned().map(Version::new).collect())
    }

    /// Does what a command says, and answers as a server would.
    pub fn execute(&mut self, command: Command) -> Executed {
        let executed = self.perform(command);
        if let Some((_, object)) = self.meanwhile.take_if(|(call, _)| self.log.contains(call)) {
            self.put(object);
        }
        executed
    }

    fn perform(&mut self, command: Command) -> Executed {
        match command {
            Command::Create { desired, .. } => self.create(desired, Executed::Created),
            Command::Update { desired, target, .. } => match self.update(&desired, &target) {
                Ok(object) => Executed::Updated(object),
                Err(error) => Executed::Failed(error),
            },
            Command::Recreate { desired, targets, .. } => {
                let (last, others) = targets.split_last().unwrap();
                let holder = self.objects.get(&key(&desired));
                if let Some(holder) =
                    holder.filter(|it| targets.iter().all(|target| it["metadata"]["uid"] != *target.uid))
                {
                    return Executed::NameTaken(Some(holder.clone()));
                }
                if let Err(error) = self.admit(&desired) {
                    return Executed::Failed(error);
                }
                let (mut remaining, mut failures) = self.delete_each(others);
                if failures.is_empty() {
                    let (more, refused) = self.delete_each(std::slice::from_ref(last));
                    remaining.extend(more);
                    failures.extend(refused);
                }
                let deleted = deleted(remaining, failures);
                if deleted != Executed::Deleted {
                    return deleted;
                }
                let created = self.create(desired, Executed::Recreated);
                if let Executed::Failed(error) = created {
                    return Executed::DeletedNotCreated(NotCreated::Failed(error));
                }
                created
            }
            Command::Delete { targets, .. } => {
                let (remaining, failures) = self.delete_each(&targets);
                deleted(remaining, failures)
            }
            Command::Patch { target, documents } => self.patch_all(target, &documents),
            Command::Disown { former, last } => self.disown_all(&former, &last),
        }
    }

    fn create(&mut self, desired: Value, done: fn(Value) -> Executed) -> Executed {
        if let Err(error) = self.call("create", desired["metadata"]["name"].as_str().unwrap()) {
            return Executed::Failed(error);
        }
        if let Some(holder) = self.objects.get(&key(&desired)) {
            return Executed::NameTaken(Some(holder.clone()));
        }
        if let Err(error) = self.admit(&desired) {
            return Executed::Failed(error);
        }
        self.applied.insert(key(&desired), desired.clone());
        done(self.put(desired))
    }

    /// Fails if the object's namespace takes no new objects.
    fn admit(&self, desired: &Value) -> Result<(), WriteError> {
        let (kind, namespace, name) = key(desired);
        if !self.terminating_namespaces.contains(&namespace) {
            return Ok(());
        }
        let call = format!("create {kind} {namespace}/{name}");
        let message = "it is being terminated".to_owned();
        Err(WriteError { kind: WriteErrorKind::NamespaceTerminating, call, status: Some(403), message })
    }

    fn update(&mut self, desired: &Value, target: &Target) -> Result<Value, WriteError> {
        self.call("update", &target.name)?;
        let key = self.fenced("update", target)?.ok_or_else(|| gone("update", target))?;
        let before = self.applied.insert(key.clone(), desired.clone());
        Ok(self.write(&key, |object, _| apply::apply(object, before.as_ref(), desired)))
    }

    fn delete_each(&mut self, targets: &[Target]) -> (Vec<Version>, Vec<(Target, WriteError)>) {
        let (mut remaining, mut failures) = (Vec::new(), Vec::new());
        for target in targets {
            match self.delete(target) {
                Ok(object) => remaining.extend(object.map(Version::new)),
                Err(error) => failures.push((target.clone(), error)),
            }
        }
        (remaining, failures)
    }

    fn delete(&mut self, target: &Target) -> Result<Option<Value>, WriteError> {
        self.call("delete", &target.name)?;
        let Some(key) = self.fenced("delete", target)? else { return Ok(None) };
        if self.objects[&key]["metadata"].get("finalizers").is_some() {
            let now = self.now.to_string();
            return Ok(Some(self.write(&key, |object, _| object["metadata"]["deletionTimestamp"] = json!(now))));
        }
        self.objects.remove(&key);
        Ok(None)
    }

    fn patch_all(&mut self, mut target: Target, documents: &[Value]) -> Executed {
        let mut taken = None;
        for document in documents {
            match self.patch("patch", &target, document) {
                Ok(Some(object)) => {
                    target.resource_version = object["metadata"]["resourceVersion"].as_str().unwrap().to_owned();
                    taken = Some(object);
                }
                Ok(None) => return Executed::PatchFailed { object: taken, error: gone("patch", &target) },
                Err(error) => return Executed::PatchFailed { object: taken, error },
            }
        }
        Executed::Patched(taken.unwrap())
    }

    fn disown_all(&mut self, former: &[Disowning], last: &Disowning) -> Executed {
        let (mut disowned, mut failures) = (Vec::new(), Vec::new());
        for (place, disowning) in former.iter().chain([last]).enumerate() {
            if place == former.len() && !failures.is_empty() {
                break;
            }
            match self.patch("disown", &disowning.target, &disowning.patch) {
                Ok(object) => disowned.extend(object.map(Version::new)),
                Err(error) => failures.push((disowning.target.clone(), error)),
            }
        }
        if failures.is_empty() { Executed::Disowned(disowned) } else { Executed::DisownFailed { failures } }
    }

    fn patch(&mut self, verb: &str, target: &Target, document: &Value) -> Result<Option<Value>, WriteError> {
        self.call(verb, &target.name)?;
        let Some(key) = self.fenced(verb, target)? else { return Ok(None) };
        Ok(Some(self.write(&key, |object, applied| apply::patch(object, applied, document))))
    }

    /// Changes an existing object and its last apply, and returns the result.
    fn write(&mut self, key: &Key, change: impl FnOnce(&mut Value, Option<&mut Value>)) -> Value {
        self.writes += 1;
        let object = self.objects.get_mut(key).unwrap();
        change(object, self.applied.get_mut(key));
        object["metadata"]["resourceVersion"] = json!(self.writes.to_string());
        object.clone()
    }

    fn call(&mut self, verb: &str, name: &str) -> Result<(), WriteError> {
        let call = format!("{verb} {name}");
        self.log.push(call.clone());
        self.permit(call)
    }

    /// Fails if the call is one to refuse.
    pub fn permit(&self, call: String) -> Result<(), WriteError> {
        if !self.refuse.contains(&call) {
            return Ok(());
        }
        let message = "the server is down".to_owned();
        Err(WriteError { kind: WriteErrorKind::Unavailable, call, status: Some(503), message })
    }

    /// Returns the key of the object that a write targets, if it exists and its fence matches.
    fn fenced(&self, verb: &str, target: &Target) -> Result<Option<Key>, WriteError> {
        let namespace = target.namespace.clone().unwrap_or_default();
        let key = (target.kind.kind.clone(), namespace, target.name.clone());
        let Some(object) = self.objects.get(&key) else { return Ok(None) };
        let conflict = |message: &str| WriteError {
            kind: WriteErrorKind::Conflict,
            call: format!("{verb} {}", target.name),
            status: Some(409),
            message: message.to_owned(),
        };
        Fence::from(target).admits(object).map_err(conflict)?;
        Ok(Some(key))
    }
}

fn deleted(remaining: Vec<Version>, failures: Vec<(Target, WriteError)>) -> Executed {
    match (failures.is_empty(), remaining.is_empty()) {
        (false, _) => Executed::DeleteFailed { remaining, failures },
        (true, true) => Executed::Deleted,
        (true, false) => Executed::Deleting(remaining),
    }
}

fn gone(verb: &str, target: &Target) -> WriteError {
    WriteError {
        kind: WriteErrorKind::NotFound,
        call: format!("{verb} {}", target.name),
        status: Some(404),
        message: "it is not there".to_owned(),
    }
}

fn key(object: &Value) -> Key {
    let text = |pointer: &str| object.pointer(pointer).and_then(Value::as_str).unwrap_or_default().to_owned();
    (text("/kind"), text("/metadata/namespace"), text("/metadata/name"))
}
