//! What an executor is told to write, and what it says became of it.

use serde_json::Value;

use crate::destination::Destination;
use crate::id::GroupVersionKind;
use crate::observation::Version;
use crate::task::PropagationPolicy;

/// A write, or a short fenced sequence of writes, for one resource.
///
/// The executor does what it says, in order, once: it never chooses and never retries.
#[derive(Debug, Clone, PartialEq)]
pub enum Command {
    /// POST the object. If its name is taken, read that name and answer [`Executed::NameTaken`].
    Create {
        /// Where the object is created.
        destination: Destination,
        /// The stamped object.
        desired: Value,
    },
    /// Server-side apply, forced, onto the very object of that UID.
    Update {
        /// The stamped object, without `metadata.uid`.
        desired: Value,
        /// The fence.
        target: Target,
        /// The live object: a transport may have to migrate its managed fields first.
        live: Version,
    },
    /// A dry-run POST that has to be accepted or answered "already exists"; then delete every target, the last one when
    /// none of the others was refused; and if all are gone, POST the object.
    Recreate {
        /// Where the object is created.
        destination: Destination,
        /// The stamped object.
        desired: Value,
        /// What is to go first, with its UIDs.
        targets: Vec<Target>,
    },
    /// Delete every target, each fenced. One that is already gone counts as deleted.
    Delete {
        /// What is to go.
        targets: Vec<Target>,
        /// How dependents go.
        propagation: PropagationPolicy,
    },
    /// Send the JSON merge patches (RFC 7396) in order, each onto the version that the one before it made; the first failure ends it.
    Patch {
        /// The fence of the first.
        target: Target,
        /// The patches; at least one.
        documents: Vec<Value>,
    },
    /// Send each former object its patch, at the same time; if none failed, send the last one its own.
    /// An object that is gone counts as disowned.
    Disown {
        /// What is disowned first.
        former: Vec<Disowning>,
        /// What is disowned when all those are.
        last: Disowning,
    },
}

/// One object to disown.
#[derive(Debug, Clone, PartialEq)]
pub struct Disowning {
    /// The fence.
    pub target: Target,
    /// The JSON merge patch that takes the adapter's marks off.
    pub patch: Value,
}

/// One very object.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Target {
    /// Where it lives.
    pub destination: Destination,
    /// Its kind.
    pub kind: GroupVersionKind,
    /// Its namespace; none for cluster-scoped objects.
    pub namespace: Option<String>,
    /// Its name.
    pub name: String,
    /// Its UID: a namesake created since is left alone.
    pub uid: String,
    /// Its resource version when it was looked at; empty if not known. A write or deletion that somebody else's write
    /// came before is refused: what was decided then may not be what is wanted now.
    pub resource_version: String,
}

/// What became of a [`Command`].
#[derive(Debug, Clone, PartialEq)]
pub enum Executed {
    /// The object was created; the server's answer.
    Created(Value),
    /// Its name is taken by this object (read back), or by one that was gone again when read.
    NameTaken(Option<Value>),
    /// The object was updated; the server's answer.
    Updated(Value),
    /// What was there is gone, and the object was created; the server's answer.
    Recreated(Value),
    /// What was there is gone, and the object was not created in its place.
    DeletedNotCreated(NotCreated),
    /// Deletion began, but these still stand.
    Deleting(Vec<Version>),
    /// Every target is gone.
    Deleted,
    /// Some targets were not deleted. What became of the others is kept: nothing is undone.
    DeleteFailed {
        /// Those whose deletion began, and which still stand.
        remaining: Vec<Version>,
        /// Those that were not deleted, and why; at least one.
        failures: Vec<(Target, WriteError)>,
    },
    /// Every patch was taken; the server's last answer.
    Patched(Value),
    /// A patch was not taken, nor were those after it.
    PatchFailed {
        /// The server's answer to the one before, if there was one.
        object: Option<Value>,
        /// Why.
        error: WriteError,
    },
    /// Every object that still existed was disowned; the server's answers, the last object's at the end.
    Disowned(Vec<Version>),
    /// Some objects were not disowned. What became of the others is kept: nothing is undone.
    DisownFailed {
        /// Those that were not disowned, and why; at least one.
        failures: Vec<(Target, WriteError)>,
    },
    /// The write failed.
    Failed(WriteError),
}

/// Why a recreation did not create its object.
#[derive(Debug, Clone, PartialEq)]
pub enum NotCreated {
    /// Its name is taken by this object (read back), or by one that was gone again when read.
    NameTaken(Option<Value>),
    /// The creation failed.
    Failed(WriteError),
}

/// A call that the server refused, or that did not reach it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("failed to {call}: {message}")]
pub struct WriteError {
    /// What kind of refusal it was.
    pub kind: WriteErrorKind,
    /// The call: verb, kind, namespace and name, such as `create ConfigMap team-a/settings`.
    pub call: String,
    /// The HTTP status, if the server answered.
    pub status: Option<u16>,
    /// The server's or the network's words.
    pub message: String,
}

/// The kinds of refusal that decisions and reports tell apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WriteErrorKind {
    /// 404 or 410: the object, its kind or its namespace is not there.
    NotFound,
    /// 409 `AlreadyExists`.
    AlreadyExists,
    /// 409 Conflict, or the 422 that names `metadata.uid`: the object is no longer the one that was looked at.
    Conflict,
    /// 400 and 422: the server does not accept the object.
    Invalid,
    /// 401 and 403.
    Forbidden,
    /// 429.
    TooManyRequests,
    /// 5xx: the server failed.
    Unavailable,
    /// No answer: connection refused, reset, or cut.
    Unreachable,
    /// The event's deadline passed.
    DeadlineExceeded,
}
