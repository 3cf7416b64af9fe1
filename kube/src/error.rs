//! Why a call has no result, in kinds that callers tell apart.

/// A call that the server refused, or that did not reach it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("failed to {call}: {message}")]
pub struct Error {
    /// What kind of refusal it was.
    pub kind: ErrorKind,
    /// The call: verb, kind, namespace and name, such as `create ConfigMap team-a/settings`.
    pub call: String,
    /// The HTTP status, if the server answered.
    pub status: Option<u16>,
    /// The server's or the network's words.
    pub message: String,
}

/// The kinds of refusal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ErrorKind {
    /// 404: the path, the kind or the namespace is not there. It says nothing of the object: a read or deletion of an
    /// object that does not exist succeeds.
    NotFound,
    /// 409 `AlreadyExists`.
    AlreadyExists,
    /// 409 Conflict, or the 422 that names `metadata.uid`: the object is no longer the one that the fence names.
    Conflict,
    /// 410: the list began too long ago to be read on; it has to be read from its start.
    Expired,
    /// The server does not accept the request, or the request was not sent because it lacks a namespace or a fence.
    Invalid,
    /// 401 and 403.
    Forbidden,
    /// 429.
    TooManyRequests,
    /// 5xx, or an answer that is not what was asked for. The request may have been carried out.
    Unavailable,
    /// No answer: connection refused, reset, or cut. The request may have been carried out.
    Unreachable,
}
