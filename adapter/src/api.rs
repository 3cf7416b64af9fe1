//! Calls to the HyperFleet API, and to other hosts that a task names.
//!
//! In: a rendered request, and the pass that sends it. Out: the last response, whatever its status, or the
//! reason why none came. The crate [`lifecycle_api_client`] sends and retries calls. This module adds what
//! belongs to a pass: the trait that dry runs implement too, metrics and spans, error texts, and the decision
//! what an answer means: success, a failure, or that a resource does not exist. Only the API's own answer says
//! the last.

use std::future::Future;

use lifecycle_core::api_call::ApiRequest;
use tokio::time::Instant;

use crate::trace::TraceContext;

mod discard;
mod endpoint;
mod http;
mod identity;
mod large_answers;
mod meaning;
mod origin;
mod own;

pub use lifecycle_api_client::Answer;

pub use discard::{Discard, dropped, explain};
pub use http::{ApiSetupError, HttpApi, Observers, backoff, default_headers};
pub use identity::Identity;
pub use large_answers::Kept;
pub use meaning::{Meaning, failure, meaning};
pub use own::{is_api_report, is_report, names_resource_of};

#[cfg(test)]
pub(crate) use http::tests::api as client;

/// The pass that a call is part of.
#[derive(Debug, Default)]
pub struct CallContext {
    /// The parent of the call's span.
    pub trace: TraceContext,
    /// The end of the pass: attempts and the delays between them end by then. `None` sets no limit.
    pub deadline: Option<Instant>,
    /// What the pass keeps of its answers.
    pub kept: Kept,
}

/// A call whose attempts all ended without a complete answer.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("no response after {attempts} attempt(s): {message}")]
pub struct ApiFailure {
    /// How many attempts the client made before it gave up.
    pub attempts: u32,
    /// Why the last attempt failed.
    pub message: String,
}

/// Sends API calls: over the network, or to a dry run's canned answers.
pub trait Api: Send + Sync + 'static {
    /// Sends the request, with its retries.
    fn call(
        &self,
        request: &ApiRequest,
        context: &CallContext,
    ) -> impl Future<Output = Result<Answer, ApiFailure>> + Send;

    /// The URL that a request for `url` goes to: a path below the API's base URL, or an absolute URL of another
    /// host.
    fn resolve_url(&self, url: &str) -> String;

    /// Whether a person prepared the answers, as for a dry run. Such answers need not say whose documents they are.
    fn is_prepared(&self) -> bool {
        false
    }
}

#[cfg(test)]
mod tests;
