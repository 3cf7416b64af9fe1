//! Discovers the URL path, scope and verbs of a kind on its first use, and caches them.
//!
//! The cache has one entry for each API group and version. One request fills an entry, and concurrent callers
//! share it; because all of them wait for it, it is sent a second time if no answer arrives within
//! [`SEND_AGAIN_AFTER`]. An entry is dropped when the server answers that one of its paths is not served. A
//! kind that an entry lacks is looked up again after a while, so that a kind which is installed later works
//! without a restart. Failed lookups are not cached. [`Kinds::discover`] reads every group and version
//! instead, and [`Kinds::discover_group`] every version of one group.

mod discovery;

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use futures::FutureExt;
use futures::future::{BoxFuture, Shared, select_ok};
use lifecycle_objects::id::GroupVersionKind;
use lifecycle_objects::object_ref::ObjectRef;
use lifecycle_objects::write::{WriteError, WriteErrorKind};
use tokio::time::Instant;
use tracing::Instrument;

use crate::call::{Call, Verb};
use crate::refusal::Refusal;
use crate::request;
use crate::sender::Sender;
use crate::served_kind::ServedKind;

pub use self::discovery::{Discovery, UnreadGroup};

/// How long a lookup may be unanswered before it is sent a second time, on another connection.
///
/// A healthy server answers in milliseconds. A request times out after ten times as long, and on a dead
/// connection it would use all of that time.
const SEND_AGAIN_AFTER: Duration = Duration::from_secs(3);

/// The kinds of one group and version.
type ServedKinds = Arc<Vec<ServedKind>>;
type Lookup = Shared<BoxFuture<'static, Result<ServedKinds, WriteError>>>;

enum Slot {
    Looking(Lookup),
    Known { kinds: ServedKinds, at: Instant },
}

/// The cache of served kinds, filled by lookups.
pub(crate) struct Kinds {
    sender: Sender,
    look_again_after: Duration,
    slots: Arc<Slots>,
}

/// The cache entries, by `apiVersion` (`group/version`).
#[derive(Default)]
struct Slots(Mutex<HashMap<String, Slot>>);

impl Slots {
    fn lock(&self) -> MutexGuard<'_, HashMap<String, Slot>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn remember(&self, api_version: String, kinds: &ServedKinds) {
        self.lock().insert(api_version, Slot::Known { kinds: Arc::clone(kinds), at: Instant::now() });
    }
}

impl Kinds {
    pub(crate) fn new(sender: Sender, look_again_after: Duration) -> Self {
        Self { sender, look_again_after, slots: Arc::default() }
    }

    /// Returns how the call's kind is served, from the cache or after a lookup.
    pub(crate) async fn resolve(&self, call: &Call<'_>) -> Result<ServedKind, WriteError> {
        let kind = &call.object.kind;
        let lookup = {
            let mut slots = self.slots.lock();
            match slots.get(&kind.api_version()) {
                Some(Slot::Known { kinds, at }) => match find(kinds, kind) {
                    Some(served) => return Ok(served),
                    None if at.elapsed() < self.look_again_after => return Err(not_served(call)),
                    None => self.look_up(kind, &mut slots),
                },
                Some(Slot::Looking(lookup)) => lookup.clone(),
                None => self.look_up(kind, &mut slots),
            }
        };
        let kinds = lookup.await.map_err(|error| WriteError {
            call: call.to_string(),
            message: format!("failed to look up the kind: {}", error.message),
            ..error
        })?;
        find(&kinds, kind).ok_or_else(|| not_served(call))
    }

    /// Reads the kinds of every group and version that the server serves, and caches them.
    pub(crate) async fn discover(&self) -> Result<Discovery, WriteError> {
        discovery::discover(&self.sender, |api_version, kinds| self.slots.remember(api_version, kinds)).await
    }

    /// Reads the kinds of every version of one group, and caches them. Finds none if the server does not serve the group.
    pub(crate) async fn discover_group(&self, group: &str) -> Result<Discovery, WriteError> {
        discovery::discover_group(&self.sender, group, |version, kinds| self.slots.remember(version, kinds)).await
    }

    /// Drops the cache entry of the kind's group and version.
    pub(crate) fn forget(&self, kind: &GroupVersionKind) {
        let mut slots = self.slots.lock();
        if let Some(Slot::Known { .. }) = slots.get(&kind.api_version()) {
            slots.remove(&kind.api_version());
        }
    }

    /// Starts a lookup in its own task, so that a caller who is cancelled does not cancel it for the others.
    fn look_up(&self, kind: &GroupVersionKind, slots: &mut HashMap<String, Slot>) -> Lookup {
        let (sender, shared, kind) = (self.sender.clone(), Arc::clone(&self.slots), kind.clone());
        let api_version = kind.api_version();
        let task = async move {
            let answer = send_again_if_silent(SEND_AGAIN_AFTER, || read_kinds(&sender, &kind)).await;
            match &answer {
                Ok(kinds) => shared.remember(kind.api_version(), kinds),
                Err(_) => drop(shared.lock().remove(&kind.api_version())),
            }
            answer
        };
        let lookup = tokio::spawn(task.in_current_span())
            .map(|joined| {
                joined.unwrap_or_else(|error| {
                    Err(WriteError {
                        kind: WriteErrorKind::Unreachable,
                        call: String::new(),
                        status: None,
                        message: format!("its task ended early: {error}"),
                    })
                })
            })
            .boxed()
            .shared();
        slots.insert(api_version, Slot::Looking(lookup.clone()));
        lookup
    }
}

fn find(kinds: &ServedKinds, kind: &GroupVersionKind) -> Option<ServedKind> {
    kinds.iter().find(|served| served.kind.kind == kind.kind).cloned()
}

/// Sends a request; sends it again if no answer arrives within `patience`, and returns the first success of
/// the two requests.
///
/// An error within `patience` is an answer too, and is returned without a second request.
async fn send_again_if_silent<T, E, F>(patience: Duration, send: impl Fn() -> F) -> Result<T, E>
where
    F: Future<Output = Result<T, E>>,
{
    let mut first = Box::pin(send());
    match tokio::time::timeout(patience, &mut first).await {
        Ok(answer) => answer,
        Err(_) => select_ok([first, Box::pin(send())]).await.map(|(answer, _)| answer),
    }
}

/// Reads the kinds of the group and version of `kind`. Observers see the whole `kind`.
async fn read_kinds(sender: &Sender, kind: &GroupVersionKind) -> Result<ServedKinds, WriteError> {
    let object = ObjectRef::all(kind.clone(), None);
    let call = Call { verb: Verb::Discover, object: &object };
    let answer = match sender.send(&call, request::get(&request::group_version_path(kind))).await {
        Ok(answer) => answer,
        // A 404 means that the server serves no such group or version: the list of its kinds is empty.
        Err(Refusal::Answered(status)) if status.code == 404 => return Ok(ServedKinds::default()),
        Err(refusal) => return Err(refusal.into_error(&call)),
    };
    discovery::kinds_of(kind, answer)
        .map(Arc::new)
        .map_err(|error| call.error(WriteErrorKind::Unavailable, Some(200), format!("the list of kinds: {error}")))
}

fn not_served(call: &Call<'_>) -> WriteError {
    let kind = &call.object.kind;
    let message = format!("the API server serves no kind {} in {}", kind.kind, kind.api_version());
    call.error(WriteErrorKind::NotFound, Some(404), message)
}

#[cfg(test)]
mod tests;
