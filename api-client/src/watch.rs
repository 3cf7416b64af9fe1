//! What a program measures and traces of its calls.
//!
//! In: each attempt of a call, as it begins, leaves and ends. Out: whatever the program makes of it; to the client only
//! headers, such as those of a trace. A watch cannot fail, and cannot stop a call.

use http::{HeaderMap, Method, StatusCode};
use reqwest::Url;

use crate::client::CallError;

/// What every attempt of a call sends.
#[derive(Debug)]
pub struct Outgoing {
    /// The method.
    pub method: Method,
    /// The URL that is called; it may hold credentials.
    pub url: Url,
    /// The URL as [`Base::resolve`](crate::Base::resolve) gave it: a path below the API's base, or a foreign URL.
    pub resolved: String,
    /// Whether the request goes to the API's own origin.
    pub is_own: bool,
}

/// Watches the attempts of one call.
pub trait Watch: Sync {
    /// What the watch keeps of one attempt.
    type Attempt: WatchAttempt;

    /// An attempt begins; the first has the number 1.
    fn attempt(&self, request: &Outgoing, number: u32) -> Self::Attempt;
}

/// Watches one attempt. If it is dropped before [`ended`](Self::ended), the caller has given the whole call up.
pub trait WatchAttempt: Send {
    /// The request leaves now, with these headers: from here on the attempt waits for the server.
    fn leaves(&mut self, headers: &mut HeaderMap);

    /// The attempt has ended: with the status of a complete answer, or without one.
    fn ended(self, outcome: Result<StatusCode, &CallError>);
}

/// Watches nothing.
impl Watch for () {
    type Attempt = ();

    fn attempt(&self, _request: &Outgoing, _number: u32) {}
}

impl WatchAttempt for () {
    fn leaves(&mut self, _headers: &mut HeaderMap) {}

    fn ended(self, _outcome: Result<StatusCode, &CallError>) {}
}
