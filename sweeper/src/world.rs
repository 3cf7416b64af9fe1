//! A cluster and an API in memory, for the demo and for the tests of a pass.
//!
//! In: objects as manifests, API resources with their generations, and answers that differ from the API's own. Out: the
//! answers of real servers, as far as a sweep asks for them: fenced deletions, finalizers, the API's problem documents.
//! The API's answers are classified by the same function as real ones, and fences by the rule of all servers in memory
//! ([`Fence::admits`]).
//!
//! The cluster is 100 of these 220 lines, and not the server of the adapter's dry runs (`lifecycle_transport::memory`): a sweep asks
//! for what that one does not know, which kinds are served and which group cannot be read, and writes nothing but deletions.

use std::cell::{RefCell, RefMut};
use std::collections::BTreeMap;

use http::StatusCode;
use lifecycle_api_client::lookup::judge;
use lifecycle_api_client::{Answer, Lookup};
use lifecycle_core::sweep::Candidate;
use lifecycle_kube::{Discovery, Fence, ServedKind, UnreadGroup};
use lifecycle_objects::destination::Destination;
use lifecycle_objects::id::{Generation, is_same_kind};
use lifecycle_objects::object_ref::ObjectRef;
use lifecycle_objects::write::{Deletion, WriteError, WriteErrorKind};
use serde_json::{Value, json};

use crate::api::Api;
use crate::objects::{Choice, Objects};

/// A cluster and an API.
#[derive(Debug, Default)]
pub struct World {
    state: RefCell<State>,
}

#[derive(Debug, Default)]
struct State {
    objects: Vec<Value>,
    /// Every kind that the cluster had an object of.
    kinds: Vec<ServedKind>,
    resources: BTreeMap<String, Generation>,
    /// The HTTP status by which the API answers about a resource, instead of the truth.
    answers: BTreeMap<String, u16>,
    made: u64,
    /// A group of the cluster whose kinds cannot be read.
    hidden_group: Option<String>,
}

impl State {
    /// Serves the kind of this object from now on, also after its last object is gone.
    fn serve(&mut self, object: ObjectRef) {
        if self.kinds.iter().any(|served| is_same_kind(&served.kind, &object.kind)) {
            return;
        }
        let plural = format!("{}s", object.kind.kind.to_lowercase());
        // Reviews, such as a SubjectAccessReview, can only be created.
        let verbs: &[&str] =
            if object.kind.group == "authorization.k8s.io" { &["create"] } else { &["list", "delete"] };
        let verbs = verbs.iter().map(|verb| (*verb).to_owned()).collect();
        let (kind, namespaced) = (object.kind, object.namespace.is_some());
        self.kinds.push(ServedKind { kind, plural, namespaced, verbs, has_status: false });
    }
}

impl World {
    /// Adds an object. A missing UID, resource version or creation time is made up.
    pub fn add(&self, mut object: Value) -> Value {
        let mut state = self.state();
        state.made += 1;
        let made = state.made;
        if let Some(metadata) = object.get_mut("metadata").and_then(Value::as_object_mut) {
            if let Some(prefix) = metadata.remove("generateName") {
                metadata.insert("name".to_owned(), format!("{}{made}", prefix.as_str().unwrap_or_default()).into());
            }
            metadata.entry("uid").or_insert_with(|| format!("uid-{made}").into());
            metadata.entry("creationTimestamp").or_insert_with(|| "2026-01-01T00:00:00Z".into());
            metadata.insert("resourceVersion".to_owned(), made.to_string().into());
        }
        state.serve(ObjectRef::of(&object));
        state.objects.push(object.clone());
        object
    }

    /// Makes the kinds of this group unreadable.
    #[cfg(test)]
    pub(crate) fn hide_group(&self, group: &str) {
        self.state().hidden_group = Some(group.to_owned());
    }

    /// Removes the objects of this name.
    #[cfg(test)]
    pub(crate) fn remove(&self, name: &str) {
        self.state().objects.retain(|object| object["metadata"]["name"] != name);
    }

    /// Makes the API have exactly these resources.
    pub fn set_resources(&self, resources: BTreeMap<String, Generation>) {
        self.state().resources = resources;
    }

    /// Makes the API answer about these resources with a status of its proxy, instead of the truth.
    pub fn set_answers(&self, answers: BTreeMap<String, u16>) {
        self.state().answers = answers;
    }

    /// The objects that the cluster has.
    #[must_use]
    pub fn objects(&self) -> Vec<ObjectRef> {
        self.state().objects.iter().map(ObjectRef::of).collect()
    }

    fn state(&self) -> RefMut<'_, State> {
        self.state.borrow_mut()
    }
}

impl Objects for World {
    async fn discover(&self) -> Result<Discovery, WriteError> {
        let state = self.state();
        let unread = state.hidden_group.iter().map(|group| {
            let (call, message) = (format!("discover {group}"), "503".to_owned());
            let error = WriteError { kind: WriteErrorKind::Unavailable, call, status: Some(503), message };
            UnreadGroup { group: group.clone(), error }
        });
        Ok(Discovery { kinds: state.kinds.clone(), unread: unread.collect() })
    }

    async fn list(
        &self,
        kind: &ServedKind,
        choice: Choice<'_>,
        each: &mut dyn FnMut(Candidate),
    ) -> Result<(), WriteError> {
        for object in &self.state().objects {
            let candidate = Candidate::of(object, Destination::ThisCluster);
            let is_chosen = match choice {
                Choice::Labelled(label) => object["metadata"]["labels"].get(label).is_some(),
                Choice::InNamespace(namespace) => candidate.object.namespace.as_deref() == Some(namespace),
                Choice::All => true,
            };
            if is_same_kind(&candidate.object.kind, &kind.kind) && is_chosen {
                each(candidate);
            }
        }
        Ok(())
    }

    async fn read(&self, _: &Destination, object: &ObjectRef) -> Result<Option<Value>, WriteError> {
        Ok(self.state().objects.iter().find(|live| ObjectRef::of(live) == *object).cloned())
    }

    async fn create(&self, _: &Destination, object: &Value) -> Result<Value, WriteError> {
        Ok(self.add(object.clone()))
    }

    async fn delete(&self, _: &Destination, object: &ObjectRef, fence: Fence<'_>) -> Result<Deletion, WriteError> {
        let mut state = self.state();
        let Some(index) = state.objects.iter().position(|live| ObjectRef::of(live) == *object) else {
            return Ok(Deletion::Gone);
        };
        let Some(live) = state.objects.get_mut(index) else { return Ok(Deletion::Gone) };
        if fence.admits(live).is_err() {
            let message = "the object was changed".to_owned();
            return Err(WriteError {
                kind: WriteErrorKind::Conflict,
                call: format!("delete {object}"),
                status: Some(409),
                message,
            });
        }
        if live.pointer("/metadata/finalizers").and_then(Value::as_array).is_some_and(|all| !all.is_empty()) {
            live["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z".into();
            return Ok(Deletion::Pending(live.clone()));
        }
        state.objects.remove(index);
        Ok(Deletion::Gone)
    }
}

impl Api for World {
    async fn look_up(&self, id: &str) -> Lookup {
        judge(&path(id), &self.answer(id))
    }

    async fn search(&self, ids: &[&str]) -> Result<BTreeMap<String, Generation>, String> {
        let state = self.state();
        let is_listed = |id: &&&str| !state.answers.contains_key(**id);
        let found = |id: &&str| Some(((*id).to_owned(), *state.resources.get(*id)?));
        Ok(ids.iter().filter(is_listed).filter_map(found).collect())
    }

    async fn any(&self) -> Result<Option<String>, String> {
        Ok(self.state().resources.keys().next().cloned())
    }
}

impl World {
    /// Answers `GET /resources/{id}`.
    fn answer(&self, id: &str) -> Answer {
        let state = self.state();
        let answer = |status: StatusCode, content_type: &str, body: String| Answer {
            status,
            content_type: Some(content_type.to_owned()),
            body,
            ..Answer::default()
        };
        if let Some(status) = state.answers.get(id) {
            let status = StatusCode::from_u16(*status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
            return answer(status, "text/html", "<h1>proxy</h1>".to_owned());
        }
        match state.resources.get(id) {
            Some(generation) => {
                answer(StatusCode::OK, "application/json", json!({ "id": id, "generation": generation }).to_string())
            }
            None => {
                let problem = json!({ "code": "HYPERFLEET-NTF-001", "status": 404, "instance": path(id) });
                answer(StatusCode::NOT_FOUND, "application/problem+json", problem.to_string())
            }
        }
    }
}

/// The path of `GET /resources/{id}`.
fn path(id: &str) -> String {
    format!("/api/hyperfleet/v1/resources/{id}")
}
