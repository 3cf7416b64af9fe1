//! The Kubernetes API as a transport.
//!
//! In: core's queries and fenced writes, of any kind that the API server serves, custom ones included. Out: the
//! server's objects, or a [`WriteError`] with the server's words. What it does beyond one HTTP request per call:
//!
//! * A kind is looked up once (one small discovery request per group and version) and remembered, see `kinds`.
//! * A list that does not fit on one page takes one request per page.
//! * The first update of an object that was created by POST hands that creation's fields over to the applied
//!   configuration, with one JSON patch before the apply, see `take_over`.
//!
//! **Nothing is retried.** The client's own retries are switched off ([`connect`]). What remains is below HTTP: if
//! a kept-alive connection turns out to be closed before one byte of the request was written, the connection
//! pool takes another one. No request that was begun is sent again, but for the lookup of a kind, for which all wait.
//!
//! # Namespaces
//!
//! A namespaced kind needs a namespace in every call but a list by labels, which without one is a list of all
//! namespaces; `default` is never assumed. For a cluster-scoped kind, a namespace is ignored, as task files
//! that work today give one. A `*` is a namespace of that name, which no cluster has.
//!
//! # What is not there
//!
//! An answer that is not the object, or not a list of the kind, that was asked for proves nothing: the object is unread,
//! or the write has failed, see `answer`.
//!
//! Only the server's word that this very object does not exist is an absence. A kind that is not served is an
//! error, not an absence: its definition may be away for a minute, and its objects with it.

mod answer;
pub mod call;
mod client;
mod kinds;
mod rate_limit;
mod refusal;
mod request;
mod take_over;

use std::sync::Arc;
use std::time::Duration;

use kube::Client;
use lifecycle_core::destination::Destination;
use lifecycle_core::observation::{Query, QueryBy, Version};
use lifecycle_core::task::PropagationPolicy;
use lifecycle_core::write::{Target, WriteError, WriteErrorKind};
use serde_json::{Value, json};

use self::call::{Call, Calls};
pub use self::call::{CallObserver, CallRecord, Verb};
pub use self::client::{ConnectError, connect};
use self::kinds::Kinds;
use self::rate_limit::RateLimit;
use self::refusal::Refusal;
use self::request::Endpoint;
pub use self::take_over::FORMER_MANAGERS;
use crate::dependency::{Doubt, Probe};
use crate::transport::merge_patch;
use crate::transport::{Deletion, Transport};
use lifecycle_core::object_ref::ObjectRef;

/// How many objects one page of a list holds: the page's text is held beside the objects read before it, and objects can be
/// large. A resource with more versions than this is rare enough for another request.
const PAGE_SIZE: u32 = 100;

/// How long one request may take, from its first byte to the last of its answer. The event's deadline is the
/// other bound; this one is for callers that have none, and keeps one dead connection from using an event up.
const REQUEST_TIMEOUT: Duration = Duration::from_secs(30);

/// How long a missing kind stays missing before it is looked up again: a kind that was installed meanwhile
/// is found by the next event, and a task file with a kind that never comes costs one request in that time.
const LOOK_AGAIN_AFTER: Duration = Duration::from_secs(2);

/// A connection to one API server, as one field manager.
#[derive(Clone)]
pub struct KubernetesTransport {
    calls: Calls,
    kinds: Arc<Kinds>,
    field_manager: String,
    page_size: u32,
}

/// What can be set about a [`KubernetesTransport`] besides its client and field manager.
#[derive(Clone)]
pub struct Settings {
    /// Requests per second and the burst beyond them; no limit if none.
    pub rate_limit: Option<(f64, u32)>,
    /// Is told of every request.
    pub observer: Option<CallObserver>,
    /// Hears of calls without an answer.
    pub doubt: Doubt,
    /// How long one request may take.
    pub request_timeout: Duration,
    /// How many objects one page of a list holds.
    pub page_size: u32,
    /// How long a kind that is not served counts as such.
    pub look_again_after: Duration,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            rate_limit: None,
            observer: None,
            doubt: Doubt::default(),
            request_timeout: REQUEST_TIMEOUT,
            page_size: PAGE_SIZE,
            look_again_after: LOOK_AGAIN_AFTER,
        }
    }
}

impl KubernetesTransport {
    /// Uses `client` (see [`connect`] about its retries), and writes as `field_manager`, the adapter's name.
    #[must_use]
    pub fn new(client: Client, field_manager: impl Into<String>, settings: Settings) -> Self {
        let rate_limit = settings.rate_limit.and_then(|(per_second, burst)| RateLimit::new(per_second, burst));
        let calls = Calls::new(client, rate_limit, settings.observer, settings.doubt, settings.request_timeout);
        Self {
            kinds: Arc::new(Kinds::new(calls.clone(), settings.look_again_after)),
            calls,
            field_manager: field_manager.into(),
            page_size: settings.page_size,
        }
    }

    /// Asks the API server for any answer.
    #[must_use]
    pub fn probe(&self) -> Probe {
        let calls = self.calls.clone();
        Box::new(move || {
            let calls = calls.clone();
            Box::pin(async move { calls.probe().await })
        })
    }

    async fn endpoint(&self, call: &Call<'_>) -> Result<Endpoint, WriteError> {
        if call.subject.kind.version.is_empty() || call.subject.kind.kind.is_empty() {
            return Err(call.invalid("apiVersion and kind are required".to_owned()));
        }
        let kind = self.kinds.resolve(call).await?;
        Endpoint::new(&kind, call.subject).map_err(|message| call.invalid(message))
    }

    fn refused(&self, call: &Call<'_>, refusal: Refusal) -> WriteError {
        if refusal.is_unserved_path() {
            self.kinds.forget(&call.subject.kind);
        }
        refusal.into_error(call)
    }

    async fn get(&self, subject: &ObjectRef) -> Result<Option<Value>, WriteError> {
        let call = Call { verb: Verb::Get, subject };
        let endpoint = self.endpoint(&call).await?;
        let answer = self.calls.send(&call, request::get(&endpoint.object(&call)?)).await;
        match answer.and_then(|answer| endpoint.wanted(subject).object(answer)) {
            Ok(object) => Ok(Some(object)),
            Err(refusal) if refusal.is_missing_object(subject) => Ok(None),
            Err(refusal) => Err(self.refused(&call, refusal)),
        }
    }

    async fn list(&self, subject: &ObjectRef, selector: &str) -> Result<Vec<Value>, WriteError> {
        let call = Call { verb: Verb::List, subject };
        let endpoint = self.endpoint(&call).await?;
        let mut found = Vec::new();
        let mut next_page = String::new();
        loop {
            let request = request::list(endpoint.collection(), selector, self.page_size, &next_page);
            // A page that fails, expired ones included, fails the whole: half a list proves nothing.
            let answer = self.calls.send(&call, request).await;
            let listed = answer.and_then(|answer| endpoint.wanted(subject).list(answer));
            let (items, token) = listed.map_err(|refusal| self.refused(&call, refusal))?;
            found.extend(items);
            match token {
                Some(token) => next_page = token,
                None => return Ok(found),
            }
        }
    }

    async fn post(&self, verb: Verb, desired: &Value) -> Result<Value, WriteError> {
        let subject = ObjectRef::of(desired);
        let call = Call { verb, subject: &subject };
        let endpoint = self.endpoint(&call).await?;
        let path = endpoint.collection_for_create(&call)?;
        let request = request::create(path, &self.field_manager, verb == Verb::Rehearse, desired);
        let answer = self.calls.send(&call, request).await;
        let created = answer.and_then(|answer| endpoint.wanted(&subject).object(answer));
        created.map_err(|refusal| self.refused(&call, refusal))
    }

    /// Makes fields of our own POST, and of the Go adapter, ours of operation Apply. Gives the resource version that
    /// the object has then, if there was anything to take over.
    async fn take_over(
        &self,
        endpoint: &Endpoint,
        subject: &ObjectRef,
        target: &Target,
        managed_fields: &Value,
    ) -> Result<Option<String>, WriteError> {
        let Some(taken_over) = take_over::take_over(managed_fields, &self.field_manager) else { return Ok(None) };
        let call = Call { verb: Verb::TakeOver, subject };
        let test = |path: &str, value: &Value| json!({ "op": "test", "path": path, "value": value });
        let mut patch = vec![
            test("/metadata/uid", &target.uid.as_str().into()),
            test("/metadata/managedFields", managed_fields),
            json!({ "op": "replace", "path": "/metadata/managedFields", "value": taken_over }),
        ];
        // The answer's version is the apply's fence, so nothing may have come before it: not every write shows in the
        // managed fields, and a deletion that finalizers hold up never does.
        if !target.resource_version.is_empty() {
            patch.insert(0, test("/metadata/resourceVersion", &target.resource_version.as_str().into()));
        }
        let patch = Value::Array(patch);
        let request = request::json_patch(&endpoint.object(&call)?, &self.field_manager, &patch);
        let answer = self.calls.send(&call, request).await;
        match answer.and_then(|answer| endpoint.wanted(subject).with_uid(&target.uid).object(answer)) {
            Ok(object) => Ok(object.pointer("/metadata/resourceVersion").and_then(Value::as_str).map(str::to_owned)),
            Err(refusal) if refusal.is_failed_test() => Err(WriteError {
                kind: WriteErrorKind::Conflict,
                message: "the object or its field managers changed meanwhile".to_owned(),
                ..refusal.into_error(&call)
            }),
            Err(refusal) => Err(self.refused(&call, refusal)),
        }
    }
}

impl Transport for KubernetesTransport {
    async fn find(&self, query: &Query) -> Result<Vec<Value>, WriteError> {
        let subject = ObjectRef::from(query);
        match &query.by {
            QueryBy::Name(_) => Ok(self.get(&subject).await?.into_iter().collect()),
            QueryBy::Labels(labels) => match request::selector(labels) {
                Ok(selector) => self.list(&subject, &selector).await,
                Err(message) => Err(Call { verb: Verb::List, subject: &subject }.invalid(message)),
            },
        }
    }

    async fn create(&self, desired: &Value, _: &Destination) -> Result<Value, WriteError> {
        self.post(Verb::Create, desired).await
    }

    async fn rehearse_create(&self, desired: &Value, _: &Destination) -> Result<(), WriteError> {
        self.post(Verb::Rehearse, desired).await.map(drop)
    }

    async fn update(&self, desired: &Value, target: &Target, live: &Version) -> Result<Value, WriteError> {
        // The version in the path has to be the body's, which may be newer than the one that was read.
        let subject = ObjectRef { kind: ObjectRef::of(desired).kind, ..ObjectRef::from(target) };
        let call = Call { verb: Verb::Apply, subject: &subject };
        if target.uid.is_empty() {
            return Err(call.invalid("nothing is updated without its UID".to_owned()));
        }
        let endpoint = self.endpoint(&call).await?;
        let path = endpoint.object(&call)?;
        let taken_over = match live.managed_fields() {
            Some(managed_fields) => self.take_over(&endpoint, &subject, target, managed_fields).await?,
            None => None,
        };
        let resource_version = taken_over.as_deref().unwrap_or(&target.resource_version);
        let body = request::fenced(desired, &target.uid, resource_version).map_err(|message| call.invalid(message))?;
        let answer = self.calls.send(&call, request::apply(&path, &self.field_manager, &body)).await;
        let applied = answer.and_then(|answer| endpoint.wanted(&subject).with_uid(&target.uid).object(answer));
        applied.map_err(|refusal| self.refused(&call, refusal))
    }

    async fn patch(&self, document: &Value, target: &Target) -> Result<Option<Value>, WriteError> {
        let subject = ObjectRef::from(target);
        let call = Call { verb: Verb::Patch, subject: &subject };
        let fenced = merge_patch::fenced(document, target).map_err(|message| call.invalid(message))?;
        let endpoint = self.endpoint(&call).await?;
        // A manager of its own: as the adapter's, the patched fields would go with the next apply, which does not name them.
        let manager = format!("{}-patch", self.field_manager);
        let answer = self.calls.send(&call, request::merge_patch(&endpoint.object(&call)?, &manager, &fenced)).await;
        match answer.and_then(|answer| endpoint.wanted(&subject).with_uid(&target.uid).object(answer)) {
            Ok(object) => Ok(Some(object)),
            Err(refusal) if refusal.is_missing_object(&subject) => Ok(None),
            Err(refusal) => Err(self.refused(&call, refusal)),
        }
    }

    async fn delete(&self, target: &Target, propagation: PropagationPolicy) -> Result<Deletion, WriteError> {
        let subject = ObjectRef::from(target);
        let call = Call { verb: Verb::Delete, subject: &subject };
        if target.uid.is_empty() {
            return Err(call.invalid("nothing is deleted without its UID".to_owned()));
        }
        let endpoint = self.endpoint(&call).await?;
        let path = endpoint.object(&call)?;
        let request = request::delete(&path, &target.uid, &target.resource_version, propagation);
        let answer = self.calls.send(&call, request).await;
        match answer.and_then(|answer| endpoint.wanted(&subject).with_uid(&target.uid).deletion(answer)) {
            Ok(answer) => Ok(deletion(answer)),
            Err(refusal) if refusal.is_missing_object(&subject) => Ok(Deletion::Gone),
            Err(refusal) => Err(self.refused(&call, refusal)),
        }
    }
}

/// Reads the answer to a DELETE: a status, or the object as it was last.
///
/// Some kinds answer with the object even when it is gone at once; one that stays carries a deletionTimestamp.
fn deletion(answer: Value) -> Deletion {
    let stays = answer.pointer("/metadata/deletionTimestamp").is_some_and(|at| !at.is_null());
    if stays { Deletion::Pending(answer) } else { Deletion::Gone }
}

#[cfg(test)]
mod tests;
