//! Finds out under which name and scope the API server serves a kind, and remembers it.
//!
//! One request for each group and version, on first use, shared by all who ask meanwhile; because all of them wait for
//! it, it is sent once more if no answer comes soon. What is remembered is dropped when the server no longer knows a
//! path that was made from it; a kind that is missing is looked up again after a while, so that one that is installed
//! later is found without a restart. A failed lookup is never remembered.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use futures::FutureExt;
use futures::future::{BoxFuture, Shared, select_ok};
use lifecycle_core::id::GroupVersionKind;
use lifecycle_core::write::{WriteError, WriteErrorKind};
use serde::Deserialize;
use tokio::time::Instant;
use tracing::Instrument;

use super::call::{Call, Calls, Verb};
use super::refusal::Refusal;
use super::request;
use lifecycle_core::object_ref::ObjectRef;

/// How long a lookup may go unanswered before it is sent once more, on another connection. A healthy server needs
/// milliseconds; the request itself may take ten times as long, and a connection that has died takes all of that.
const SEND_AGAIN_AFTER: Duration = Duration::from_secs(3);

/// How the API server serves a kind.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ServedKind {
    /// Its name in paths.
    pub(super) plural: String,
    /// Whether its objects live in namespaces.
    pub(super) namespaced: bool,
}

type ServedKinds = Arc<HashMap<String, ServedKind>>;
type Lookup = Shared<BoxFuture<'static, Result<ServedKinds, WriteError>>>;

enum Slot {
    Looking(Lookup),
    Known { kinds: ServedKinds, at: Instant },
}

/// The kinds that were asked for, and their neighbours.
pub(super) struct Kinds {
    calls: Calls,
    look_again_after: Duration,
    slots: Arc<Slots>,
}

#[derive(Default)]
struct Slots(Mutex<HashMap<String, Slot>>);

impl Slots {
    fn lock(&self) -> MutexGuard<'_, HashMap<String, Slot>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Kinds {
    pub(super) fn new(calls: Calls, look_again_after: Duration) -> Self {
        Self { calls, look_again_after, slots: Arc::default() }
    }

    /// Says how the call's kind is served.
    pub(super) async fn resolve(&self, call: &Call<'_>) -> Result<ServedKind, WriteError> {
        let kind = &call.subject.kind;
        let lookup = {
            let mut slots = self.slots.lock();
            match slots.get(&kind.api_version()) {
                Some(Slot::Known { kinds, at }) => match kinds.get(&kind.kind) {
                    Some(served) => return Ok(served.clone()),
                    None if at.elapsed() < self.look_again_after => return Err(not_served(call)),
                    None => self.look_up(kind, &mut slots),
                },
                Some(Slot::Looking(lookup)) => lookup.clone(),
                None => self.look_up(kind, &mut slots),
            }
        };
        let kinds = lookup.await.map_err(|error| WriteError { call: call.text(), ..error })?;
        kinds.get(&kind.kind).cloned().ok_or_else(|| not_served(call))
    }

    /// Drops what is remembered of the kind's group and version.
    pub(super) fn forget(&self, kind: &GroupVersionKind) {
        let mut slots = self.slots.lock();
        if let Some(Slot::Known { .. }) = slots.get(&kind.api_version()) {
            slots.remove(&kind.api_version());
        }
    }

    /// Starts a lookup as a task of its own: one who gives up waiting takes nothing away from the others.
    fn look_up(&self, kind: &GroupVersionKind, slots: &mut HashMap<String, Slot>) -> Lookup {
        let (calls, shared, kind) = (self.calls.clone(), Arc::clone(&self.slots), kind.clone());
        let api_version = kind.api_version();
        let task = async move {
            let answer = insist(SEND_AGAIN_AFTER, || discover(&calls, &kind)).await;
            let mut slots = shared.lock();
            match &answer {
                Ok(kinds) => {
                    slots.insert(kind.api_version(), Slot::Known { kinds: Arc::clone(kinds), at: Instant::now() });
                }
                Err(_) => {
                    slots.remove(&kind.api_version());
                }
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
                        message: format!("the lookup of the kind ended early: {error}"),
                    })
                })
            })
            .boxed()
            .shared();
        slots.insert(api_version, Slot::Looking(lookup.clone()));
        lookup
    }
}

/// Asks; asks once more if nothing is heard within `patience`, and takes the first good answer of the two.
///
/// A refusal is an answer: what was refused in time is not asked again.
async fn insist<T, E, F: Future<Output = Result<T, E>>>(patience: Duration, ask: impl Fn() -> F) -> Result<T, E> {
    let mut first = Box::pin(ask());
    match tokio::time::timeout(patience, &mut first).await {
        Ok(answer) => answer,
        Err(_) => select_ok([first, Box::pin(ask())]).await.map(|(answer, _)| answer),
    }
}

#[derive(Deserialize)]
struct ResourceList {
    resources: Vec<Resource>,
}

#[derive(Deserialize)]
struct Resource {
    name: String,
    kind: String,
    namespaced: bool,
}

async fn discover(calls: &Calls, kind: &GroupVersionKind) -> Result<ServedKinds, WriteError> {
    let subject = ObjectRef::all(kind.clone(), None);
    let call = Call { verb: Verb::Discover, subject: &subject };
    let answer = match calls.send(&call, request::get(&request::group_version_path(kind))).await {
        Ok(answer) => answer,
        // No such group or version: it serves nothing, which is an answer.
        Err(Refusal::Answered(status)) if status.code == 404 => return Ok(ServedKinds::default()),
        Err(refusal) => {
            let error = refusal.into_error(&call);
            return Err(WriteError { message: format!("failed to look up the kind: {}", error.message), ..error });
        }
    };
    let list: ResourceList = serde_json::from_value(answer)
        .map_err(|error| call.error(WriteErrorKind::Unavailable, Some(200), format!("the list of kinds: {error}")))?;
    let mut kinds = HashMap::new();
    // Subresources (`deployments/scale`) are listed beside their resources, with kinds of their own.
    for resource in list.resources.into_iter().filter(|resource| !resource.name.contains('/')) {
        kinds.entry(resource.kind).or_insert(ServedKind { plural: resource.name, namespaced: resource.namespaced });
    }
    Ok(Arc::new(kinds))
}

fn not_served(call: &Call<'_>) -> WriteError {
    let kind = &call.subject.kind;
    let message = format!("the API server serves no kind {} in {}", kind.kind, kind.api_version());
    call.error(WriteErrorKind::NotFound, Some(404), message)
}

#[cfg(test)]
mod tests;
