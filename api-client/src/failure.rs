//! Why a call got no complete answer.

use std::time::Duration;

use crate::token::TokenError;

/// The size limit of a response body, so that no server can exhaust the memory. Documents of the API are far
/// smaller.
pub(crate) const BODY_LIMIT: usize = 10 * 1024 * 1024;

/// A call that got no complete answer.
#[derive(Debug, thiserror::Error)]
#[error("no answer after {attempts} attempt(s)")]
pub struct Failure {
    /// The number of attempts made; zero if the request cannot be sent.
    pub attempts: u32,
    /// Why the last attempt failed.
    #[source]
    pub error: CallError,
}

/// Why an attempt got no complete answer.
#[derive(Debug, thiserror::Error)]
pub enum CallError {
    /// The URL is not an http or https URL.
    #[error("the URL is no http:// or https:// address")]
    Url,
    /// The call's deadline passed before the first attempt.
    #[error("the deadline has passed")]
    NoTime,
    /// The call's deadline passed during an attempt.
    #[error("the deadline passed before there was an answer")]
    DeadlinePassed,
    /// The attempt reached its time limit.
    #[error("no answer within {0:?}")]
    TimedOut(Duration),
    /// The token file yields no token.
    #[error(transparent)]
    Token(TokenError),
    /// The connection failed, or was closed before the response headers arrived.
    #[error(transparent)]
    Unreachable(reqwest::Error),
    /// The connection was closed before the end of the body.
    #[error("reading the response")]
    BrokenOff(#[source] reqwest::Error),
    /// The body is above the size limit.
    #[error("the response body is over {BODY_LIMIT} bytes")]
    TooLong,
}

impl CallError {
    /// Whether another attempt may succeed.
    pub(crate) fn is_retryable(&self) -> bool {
        match self {
            Self::DeadlinePassed | Self::TimedOut(_) | Self::Token(_) | Self::BrokenOff(_) => true,
            Self::Unreachable(error) => !error.is_builder(),
            Self::Url | Self::NoTime | Self::TooLong => false,
        }
    }
}
