//! Calls to one API server.
//!
//! In: objects of any kind that the server serves, and a [`Fence`] for each write onto an object that exists. Out: the
//! server's objects, or an [`Error`] with the server's words. What a call does beyond one HTTP request:
//!
//! * A kind is looked up once (one small request per group and version) and remembered, see `kinds`.
//! * A list that does not fit on one page takes one request per page, see `pages`.
//!
//! **Nothing is retried.** The client's own retries are switched off ([`connect`](crate::connect)). What remains is below
//! HTTP: if a kept-alive connection turns out to be closed before one byte of the request was written, the connection
//! pool takes another one. No request that was begun is sent again, but for the lookup of a kind, for which all wait.
//!
//! # Namespaces
//!
//! A namespaced kind needs a namespace in every call but a list, which without one is a list of all namespaces;
//! `default` is never assumed. For a cluster-scoped kind, a namespace is ignored, because manifests that work elsewhere give one.
//! A `*` is a namespace of that name, which no cluster has.
//!
//! # What is not there
//!
//! An answer that is not the object, or not a list of the kind, that was asked for proves nothing: the call fails, see
//! `answer`. Only the server's word that this very object does not exist is an absence. A kind that is not served is an
//! error, not an absence: its definition may be away for a minute, and its objects with it.

mod write;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use kube::Client;
use lifecycle_core::id::GroupVersionKind;
use lifecycle_core::object_ref::ObjectRef;
use serde_json::Value;

pub use self::write::Deletion;
use crate::call::{Call, CallObserver, Verb};
use crate::error::Error;
use crate::kinds::{Discovery, Kinds};
use crate::pages::{Form, Pages};
use crate::rate_limit::RateLimit;
use crate::refusal::Refusal;
use crate::request::{self, Endpoint};
use crate::sender::Sender;
#[cfg(doc)]
use crate::{ErrorKind, Fence};

/// How many objects one page of a list holds: the page's text is held in memory beside the objects of the pages before, and
/// objects can be large. Lists of more objects are rare enough for another request.
const PAGE_SIZE: u32 = 100;

/// How long one request may take, from its first byte to the last of its answer. This bound is for callers that have no
/// deadline of their own, and keeps one dead connection from using a deadline up.
const REQUEST_TIMEOUT: Duration = Duration::from_secs(30);

/// How long a missing kind stays missing before it is looked up again: a kind that was installed meanwhile is found
/// soon, and one that is asked for all the time but never installed costs one request in that time.
const LOOK_AGAIN_AFTER: Duration = Duration::from_secs(2);

/// One API server, to which one field manager writes.
#[derive(Clone)]
pub struct Cluster {
    pub(crate) sender: Sender,
    pub(crate) page_size: u32,
    kinds: Arc<Kinds>,
    field_manager: String,
    former_managers: &'static [&'static str],
}

/// What can be set about a [`Cluster`] besides its client and field manager.
#[derive(Clone)]
pub struct Settings {
    /// Requests per second and the burst beyond them; no limit if none.
    pub rate_limit: Option<(f64, u32)>,
    /// Hears of every request.
    pub observer: Option<CallObserver>,
    /// How long one request may take.
    pub request_timeout: Duration,
    /// How many objects one page of a list holds.
    pub page_size: u32,
    /// How long a kind that is not served counts as such.
    pub look_again_after: Duration,
    /// Other field managers whose fields [`Cluster::migrate`] takes for the field manager's own.
    pub former_managers: &'static [&'static str],
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            rate_limit: None,
            observer: None,
            request_timeout: REQUEST_TIMEOUT,
            page_size: PAGE_SIZE,
            look_again_after: LOOK_AGAIN_AFTER,
            former_managers: &[],
        }
    }
}

impl Cluster {
    /// Uses `client` (see [`connect`](crate::connect) about its retries), and writes as `field_manager`.
    #[must_use]
    pub fn new(client: Client, field_manager: impl Into<String>, settings: Settings) -> Self {
        let rate_limit = settings.rate_limit.and_then(|(per_second, burst)| RateLimit::new(per_second, burst));
        let sender = Sender::new(client, rate_limit, settings.observer, settings.request_timeout);
        Self {
            kinds: Arc::new(Kinds::new(sender.clone(), settings.look_again_after)),
            sender,
            page_size: settings.page_size,
            field_manager: field_manager.into(),
            former_managers: settings.former_managers,
        }
    }

    /// Asks for the server's version, and gives the status of the answer, whatever it is.
    ///
    /// The request waits for no turn under the rate limit, is not observed, and is not bounded in time.
    ///
    /// # Errors
    ///
    /// No answer came; the network's words.
    pub async fn probe(&self) -> Result<u16, String> {
        self.sender.probe().await
    }

    /// Asks for every kind that the server serves.
    ///
    /// # Errors
    ///
    /// The groups could not be read. A group whose kinds could not be read is no error, but [`Discovery::unread`].
    pub async fn discover(&self) -> Result<Discovery, Error> {
        self.kinds.discover().await
    }

    /// Reads one object; none if the server says that this object does not exist.
    ///
    /// # Errors
    ///
    /// Whether the object exists is unknown.
    pub async fn get(&self, object: &ObjectRef) -> Result<Option<Value>, Error> {
        let call = Call { verb: Verb::Get, object };
        let endpoint = self.endpoint(&call).await?;
        let answer = self.sender.send(&call, request::get(&endpoint.object(&call)?)).await;
        match answer.and_then(|answer| endpoint.expected(object).object(answer)) {
            Ok(found) => Ok(Some(found)),
            Err(refusal) if refusal.is_missing_object(object) => Ok(None),
            Err(refusal) => Err(self.refused(&call, refusal)),
        }
    }

    /// Begins a list of the objects of a kind that have all of these labels, in one namespace or, with none, in all. Sends
    /// nothing yet.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Invalid`]: no labels, which would select everything, or text that is no label.
    pub fn list(
        &self,
        kind: &GroupVersionKind,
        namespace: Option<&str>,
        labels: &BTreeMap<String, String>,
        form: Form,
    ) -> Result<Pages<'_>, Error> {
        let objects = ObjectRef::all(kind.clone(), namespace);
        match request::selector(labels) {
            Ok(selector) => Ok(Pages::new(self, objects, selector, form)),
            Err(message) => Err(Call { verb: Verb::List, object: &objects }.invalid(message)),
        }
    }

    pub(crate) async fn endpoint(&self, call: &Call<'_>) -> Result<Endpoint, Error> {
        if call.object.kind.version.is_empty() || call.object.kind.kind.is_empty() {
            return Err(call.invalid("apiVersion and kind are required".to_owned()));
        }
        let kind = self.kinds.resolve(call).await?;
        Endpoint::new(&kind, call.object).map_err(|message| call.invalid(message))
    }

    pub(crate) fn refused(&self, call: &Call<'_>, refusal: Refusal) -> Error {
        if refusal.is_unserved_path() {
            self.kinds.forget(&call.object.kind);
        }
        refusal.into_error(call)
    }
}

#[cfg(test)]
mod tests;
