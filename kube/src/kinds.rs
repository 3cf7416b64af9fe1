//! Finds out under which name and scope the API server serves a kind, and remembers it.
//!
//! One request for each group and version, on first use, shared by all who ask meanwhile; because all of them wait for
//! it, it is sent once more if no answer comes soon. A group and version are forgotten when the server no longer knows a
//! path of theirs. A kind that is missing is looked up again after a while, so that one that is installed later is found
//! without a restart. A failed lookup is never remembered. [`Kinds::discover`] reads every group and version instead.

mod discovery;

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use futures::FutureExt;
use futures::future::{BoxFuture, Shared, select_ok};
use lifecycle_core::id::GroupVersionKind;
use lifecycle_core::object_ref::ObjectRef;
use tokio::time::Instant;
use tracing::Instrument;

use crate::call::{Call, Verb};
use crate::error::{Error, ErrorKind};
use crate::refusal::Refusal;
use crate::request;
use crate::sender::Sender;

pub use self::discovery::Discovery;

/// How long a lookup may go unanswered before it is sent once more, on another connection. A healthy server needs
/// milliseconds; the request itself may take ten times as long, and a connection that has died takes all of that.
const SEND_AGAIN_AFTER: Duration = Duration::from_secs(3);

/// How the API server serves a kind.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ServedKind {
    /// The kind.
    pub kind: GroupVersionKind,
    /// Its name in paths.
    pub plural: String,
    /// Whether its objects live in namespaces.
    pub namespaced: bool,
    /// What the server can do with it, in the words of RBAC.
    pub verbs: Vec<String>,
}

impl ServedKind {
    /// Whether the server can do all of this with the kind.
    #[must_use]
    pub fn has_verbs(&self, verbs: &[&str]) -> bool {
        verbs.iter().all(|verb| self.verbs.iter().any(|served| served == verb))
    }
}

/// The kinds of one group and version.
type ServedKinds = Arc<Vec<ServedKind>>;
type Lookup = Shared<BoxFuture<'static, Result<ServedKinds, Error>>>;

enum Slot {
    Looking(Lookup),
    Known { kinds: ServedKinds, at: Instant },
}

/// The kinds that were asked for, and the others of their groups and versions.
pub(crate) struct Kinds {
    sender: Sender,
    look_again_after: Duration,
    slots: Arc<Slots>,
}

/// What is known of each group and version, by `apiVersion`.
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

    /// Says how the call's kind is served.
    pub(crate) async fn resolve(&self, call: &Call<'_>) -> Result<ServedKind, Error> {
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
        let kinds = lookup.await.map_err(|error| Error {
            call: call.to_string(),
            message: format!("failed to look up the kind: {}", error.message),
            ..error
        })?;
        find(&kinds, kind).ok_or_else(|| not_served(call))
    }

    /// Reads the kinds of every group and version that the server has.
    pub(crate) async fn discover(&self) -> Result<Discovery, Error> {
        discovery::discover(&self.sender, |api_version, kinds| self.slots.remember(api_version, kinds)).await
    }

    /// Drops what is remembered of the kind's group and version.
    pub(crate) fn forget(&self, kind: &GroupVersionKind) {
        let mut slots = self.slots.lock();
        if let Some(Slot::Known { .. }) = slots.get(&kind.api_version()) {
            slots.remove(&kind.api_version());
        }
    }

    /// Starts a lookup as a task of its own: one who gives up waiting takes nothing away from the others.
    fn look_up(&self, kind: &GroupVersionKind, slots: &mut HashMap<String, Slot>) -> Lookup {
        let (sender, shared, kind) = (self.sender.clone(), Arc::clone(&self.slots), kind.clone());
        let api_version = kind.api_version();
        let task = async move {
            let answer = insist(SEND_AGAIN_AFTER, || read_kinds(&sender, &kind)).await;
            match &answer {
                Ok(kinds) => shared.remember(kind.api_version(), kinds),
                Err(_) => drop(shared.lock().remove(&kind.api_version())),
            }
            answer
        };
        let lookup = tokio::spawn(task.in_current_span())
            .map(|joined| {
                joined.unwrap_or_else(|error| {
                    Err(Error {
                        kind: ErrorKind::Unreachable,
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

/// Asks; asks once more if no answer comes within `patience`, and takes the first good answer of the two.
///
/// A refusal is an answer: what was refused in time is not asked again.
async fn insist<T, E, F: Future<Output = Result<T, E>>>(patience: Duration, ask: impl Fn() -> F) -> Result<T, E> {
    let mut first = Box::pin(ask());
    match tokio::time::timeout(patience, &mut first).await {
        Ok(answer) => answer,
        Err(_) => select_ok([first, Box::pin(ask())]).await.map(|(answer, _)| answer),
    }
}

/// Reads the kinds of one group and version; `kind` says which, and is named to observers.
async fn read_kinds(sender: &Sender, kind: &GroupVersionKind) -> Result<ServedKinds, Error> {
    let object = ObjectRef::all(kind.clone(), None);
    let call = Call { verb: Verb::Discover, object: &object };
    let answer = match sender.send(&call, request::get(&request::group_version_path(kind))).await {
        Ok(answer) => answer,
        // No such group or version: it serves nothing, which is an answer.
        Err(Refusal::Answered(status)) if status.code == 404 => return Ok(ServedKinds::default()),
        Err(refusal) => return Err(refusal.into_error(&call)),
    };
    discovery::kinds_of(kind, answer)
        .map(Arc::new)
        .map_err(|error| call.error(ErrorKind::Unavailable, Some(200), format!("the list of kinds: {error}")))
}

fn not_served(call: &Call<'_>) -> Error {
    let kind = &call.object.kind;
    let message = format!("the API server serves no kind {} in {}", kind.kind, kind.api_version());
    call.error(ErrorKind::NotFound, Some(404), message)
}

#[cfg(test)]
mod tests;
