//! A trait by which a program measures and traces the attempts of its calls.
//!
//! In: the beginning, sending and end of each attempt. Out: headers to add to the request, such as those of a trace.
//! A watch can delay the reading of a large answer, but neither fail nor stop a call.

use http::{HeaderMap, Method, StatusCode};
use reqwest::Url;

use crate::failure::CallError;

/// The size in bytes of an answer above which [`WatchAttempt::large`] is called.
pub const SMALL_BODY: usize = 256 * 1024;

/// The request of a call, which every attempt sends again.
#[derive(Debug)]
pub struct Outgoing {
    /// The HTTP method of the request.
    pub method: Method,
    /// The URL that is called; it may hold credentials.
    pub url: Url,
    /// The result of [`Base::resolve`](crate::Base::resolve): a path below the API's base, or a foreign URL.
    pub resolved: String,
    /// Whether the request goes to the API's own origin.
    pub is_own: bool,
}

/// Observes the attempts of one call.
pub trait Watch: Sync {
    /// The state of the watch during one attempt.
    type Attempt: WatchAttempt;

    /// Called when an attempt begins; the first has the number 1.
    fn attempt(&self, request: &Outgoing, number: u32) -> Self::Attempt;
}

/// Observes one attempt. If it is dropped before [`ended`](Self::ended), the caller abandoned the call.
pub trait WatchAttempt: Send {
    /// Called just before the request is sent; may add headers. From here on, the attempt waits for the server.
    fn sending(&mut self, headers: &mut HeaderMap);

    /// Called once before the client receives more than [`SMALL_BODY`] bytes of an answer; it goes on when the future ends.
    /// The wait counts as time of the attempt.
    fn large(&mut self) -> impl Future<Output = ()> + Send {
        std::future::ready(())
    }

    /// Called when the attempt ends, with the status of a complete answer, or with the error.
    fn ended(self, outcome: Result<StatusCode, &CallError>);
}

/// `()` observes nothing, for programs that neither measure nor trace their calls.
impl Watch for () {
    type Attempt = ();

    fn attempt(&self, _request: &Outgoing, _number: u32) {}
}

impl WatchAttempt for () {
    fn sending(&mut self, _headers: &mut HeaderMap) {}

    fn ended(self, _outcome: Result<StatusCode, &CallError>) {}
}
