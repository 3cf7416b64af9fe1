//! The error of a call, with a closed set of kinds by which callers decide.

/// A call that failed: the server refused it, its answer was lost, or it was never sent.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("failed to {call}: {message}")]
pub struct Error {
    /// The kind of failure, by which callers decide.
    pub kind: ErrorKind,
    /// The call: verb, kind, namespace and name, such as `create ConfigMap team-a/settings`.
    pub call: String,
    /// The HTTP status, if the server answered.
    pub status: Option<u16>,
    /// The message of the server or of the network.
    pub message: String,
}

/// The kinds of failure that callers of a cluster tell apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ErrorKind {
    /// 404: the server does not serve the path or the kind, or the namespace does not exist. An absent object
    /// is not an error: its read returns `None`, and its deletion succeeds.
    NotFound,
    /// 409 with the reason `AlreadyExists`: an object of the name to create exists.
    AlreadyExists,
    /// 409 Conflict, or 422 about `metadata.uid`: the live object has another UID or resource version than
    /// the fence.
    Conflict,
    /// 410: the list's continue token expired; the caller must list again from the first page.
    Expired,
    /// The server rejects the request as invalid, or the request was not sent because it lacks a namespace or
    /// a fence.
    Invalid,
    /// Admission denied the request: a policy, a webhook or a quota. The message names it.
    Denied,
    /// The namespace of the object to create is terminating, and takes no new objects until it is gone.
    NamespaceTerminating,
    /// 401 or 403: the server does not accept the credentials, or does not allow the request.
    Forbidden,
    /// 429: the server refuses the request for now, to limit its load.
    TooManyRequests,
    /// 5xx, or a successful answer that is not the requested object. The server may have carried the request out.
    Unavailable,
    /// No complete answer: the connection was refused, reset or cut. The server may have carried the request out.
    Unreachable,
}
