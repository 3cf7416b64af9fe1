//! Calls to one API server.
//!
//! In: objects of any kind that the server serves, and a [`Fence`] for each write to an existing object. Out:
//! the server's objects. Fails: a [`WriteError`] with the server's message. Three things may add requests to a
//! call:
//!
//! * The first call for a kind discovers the kinds of its group and version, and the result is kept, see `kinds`.
//! * A list that does not fit on one page takes one request per page, see `pages`.
//! * A read in any version reads the versions of the group if the server does not serve the kind in the first one.
//!
//! **No request is retried.** [`connect`](crate::connect) leaves the client's own retries out. Below HTTP,
//! the connection pool takes another connection if a kept-alive one turns out to be closed before a byte of
//! the request was written. Only the discovery of a kind may be sent again, because concurrent callers share
//! its result.
//!
//! # Namespaces
//!
//! Each call for a namespaced kind needs a namespace (`default` is never assumed), except a list, which
//! without a namespace covers all of them. For a cluster-scoped kind the namespace is ignored, so that a
//! manifest which names one anyway still works. `*` is sent as it is, and no cluster has a namespace of that
//! name.
//!
//! # Absent objects
//!
//! An object counts as absent only if the server answers that this object does not exist. An answer that is
//! not the requested object, or not a list of the requested kind, is an error, see `answer`. So is a kind
//! that is not served in the asked version; `get_in_any_version` and `list_in_any_version` look at the others.

mod update;
mod write;

use std::sync::Arc;
use std::time::Duration;

use kube::Client;
#[cfg(doc)]
use lifecycle_objects::fence::Fence;
use lifecycle_objects::id::GroupVersionKind;
use lifecycle_objects::object_ref::ObjectRef;
use lifecycle_objects::write::{WriteError, WriteErrorKind};
use serde_json::Value;

use crate::call::{Call, CallObserver, Verb};
use crate::form::Form;
use crate::kinds::{Discovery, Kinds};
use crate::rate_limit::RateLimit;
use crate::refusal::Refusal;
use crate::request::{self, Endpoint};
use crate::sender::Sender;

/// Full objects per page of a list.
///
/// The page's JSON text is in memory together with the objects of earlier pages, and objects can be large, so
/// pages are small; lists of more than 100 objects are rare.
const PAGE_SIZE: u32 = 100;

/// Objects per page of a metadata-only list.
///
/// The metadata of an object takes a few kilobytes, so that a page takes a few megabytes. 500 is the page size of
/// `kubectl` too; 100,000 objects then take 200 requests.
const METADATA_PAGE_SIZE: u32 = 500;

/// Limits one request, from its first byte to the last byte of its answer. Callers without a deadline need a
/// limit, and a dead connection must not use up the whole deadline of the others.
const REQUEST_TIMEOUT: Duration = Duration::from_secs(30);

/// How long a kind that the server does not serve is remembered as missing.
///
/// Short, so that a newly installed kind is found soon; not zero, so that a kind which is never installed costs
/// at most one request in this time.
const LOOK_AGAIN_AFTER: Duration = Duration::from_secs(2);

/// A client for one API server, which writes under one field manager.
#[derive(Clone)]
pub struct Cluster {
    pub(crate) sender: Sender,
    page_size: u32,
    metadata_page_size: u32,
    kinds: Arc<Kinds>,
    field_manager: String,
    former_managers: &'static [&'static str],
}

/// Optional settings of a [`Cluster`].
#[derive(Clone)]
pub struct Settings {
    /// Requests per second, and the burst above that rate; unlimited if none.
    pub rate_limit: Option<(f64, u32)>,
    /// Called at the beginning and the end of every request.
    pub observer: Option<CallObserver>,
    /// The time limit of one request, its answer included.
    pub request_timeout: Duration,
    /// Objects per page of a list of full objects.
    pub page_size: u32,
    /// Objects per page of a metadata-only list.
    pub metadata_page_size: u32,
    /// How long a kind that the server does not serve is remembered as missing.
    pub look_again_after: Duration,
    /// Field managers of earlier versions, whose fields [`Cluster::migrate`] moves to the current field manager.
    pub former_managers: &'static [&'static str],
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            rate_limit: None,
            observer: None,
            request_timeout: REQUEST_TIMEOUT,
            page_size: PAGE_SIZE,
            metadata_page_size: METADATA_PAGE_SIZE,
            look_again_after: LOOK_AGAIN_AFTER,
            former_managers: &[],
        }
    }
}

impl Cluster {
    /// Sends requests through `client`, which [`connect`](crate::connect) builds without retries; writes as
    /// `field_manager`.
    #[must_use]
    pub fn new(client: Client, field_manager: impl Into<String>, settings: Settings) -> Self {
        let rate_limit = settings.rate_limit.and_then(|(per_second, burst)| RateLimit::new(per_second, burst));
        let sender = Sender::new(client, rate_limit, settings.observer, settings.request_timeout);
        Self {
            kinds: Arc::new(Kinds::new(sender.clone(), settings.look_again_after)),
            sender,
            page_size: settings.page_size,
            metadata_page_size: settings.metadata_page_size,
            field_manager: field_manager.into(),
            former_managers: settings.former_managers,
        }
    }

    /// Requests the server's version, and returns the HTTP status of the answer, whatever it is.
    ///
    /// The request bypasses the rate limit and the observer, and has no time limit.
    ///
    /// # Errors
    ///
    /// No answer came; the text names the network error.
    pub async fn probe(&self) -> Result<u16, String> {
        self.sender.probe().await
    }

    /// Lists every kind that the server serves.
    ///
    /// # Errors
    ///
    /// The list of API groups cannot be read. A group whose kinds cannot be read is not an error: see
    /// [`Discovery::unread`].
    pub async fn discover(&self) -> Result<Discovery, WriteError> {
        self.kinds.discover().await
    }

    /// Lists every kind of one API group; none if the server does not serve the group.
    ///
    /// # Errors
    ///
    /// The list of the group's versions cannot be read. A version whose kinds cannot be read is not an error: see
    /// [`Discovery::unread`].
    pub async fn discover_group(&self, group: &str) -> Result<Discovery, WriteError> {
        self.kinds.discover_group(group).await
    }

    /// The kind in the version that the server prefers among those in which it serves the kind; `None` if it serves the kind
    /// in no version of the group.
    ///
    /// # Errors
    ///
    /// The kind was not found, and a version of the group cannot be read: the kind may be served there.
    pub async fn served_version(&self, kind: &GroupVersionKind) -> Result<Option<GroupVersionKind>, WriteError> {
        let discovery = self.discover_group(&kind.group).await?;
        let served = discovery.kinds.into_iter().find(|served| served.kind.kind == kind.kind);
        match (served, discovery.unread.into_iter().next()) {
            (Some(served), _) => Ok(Some(served.kind)),
            (None, None) => Ok(None),
            (None, Some(unread)) => {
                let message = format!("{}{}", unread.error.message, unread.cure());
                Err(WriteError { message, ..unread.error })
            }
        }
    }

    /// Reads one object as [`get`](Self::get), but in another version of the kind if the server does not serve the kind in
    /// this one; returns `None` also if the server serves the kind in no version.
    ///
    /// # Errors
    ///
    /// The read failed, so that it is unknown whether the object exists.
    pub async fn get_in_any_version(&self, object: &ObjectRef) -> Result<Option<Value>, WriteError> {
        match self.get(object).await {
            Err(error) if error.kind == WriteErrorKind::NotFound => match self.served_version(&object.kind).await? {
                Some(kind) => self.get(&ObjectRef { kind, ..object.clone() }).await,
                None => Ok(None),
            },
            answer => answer,
        }
    }

    /// Reads one object; returns `None` if the server answers that this object does not exist.
    ///
    /// # Errors
    ///
    /// The read failed, so that it is unknown whether the object exists.
    pub async fn get(&self, object: &ObjectRef) -> Result<Option<Value>, WriteError> {
        let call = Call { verb: Verb::Get, object };
        let endpoint = self.endpoint(&call).await?;
        let answer = self.sender.send(&call, request::get(&endpoint.object(&call)?)).await;
        match answer.and_then(|answer| endpoint.expected(object).object(answer)) {
            Ok(found) => Ok(Some(found)),
            Err(refusal) if refusal.is_missing_object(object) => Ok(None),
            Err(refusal) => Err(self.refused(&call, refusal)),
        }
    }

    pub(crate) fn page_size(&self, form: Form) -> u32 {
        match form {
            Form::Full => self.page_size,
            Form::MetadataOnly => self.metadata_page_size,
        }
    }

    pub(crate) async fn endpoint(&self, call: &Call<'_>) -> Result<Endpoint, WriteError> {
        if call.object.kind.version.is_empty() || call.object.kind.kind.is_empty() {
            return Err(call.invalid("apiVersion and kind are required".to_owned()));
        }
        let kind = self.kinds.resolve(call).await?;
        Endpoint::new(&kind, call.object).map_err(|message| call.invalid(message))
    }

    pub(crate) fn refused(&self, call: &Call<'_>, refusal: Refusal) -> WriteError {
        if refusal.is_unserved_path() {
            self.kinds.forget(&call.object.kind);
        }
        refusal.into_error(call)
    }
}

#[cfg(test)]
mod tests;
