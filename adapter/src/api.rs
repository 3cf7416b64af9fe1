//! Calls to the HyperFleet API, and to other hosts that a task names.
//!
//! In: a rendered request, and the pass that sends it. Out: the last response, whatever its status, or the
//! reason why none came. The crate [`lifecycle_api_client`] sends and retries calls. This module adds what
//! belongs to a pass: the trait that dry runs implement too, metrics and spans, error texts, and the decision
//! whether a 404 means that the event's own resource does not exist.

use std::future::Future;

use lifecycle_core::api_call::{ApiFailure, ApiRequest, ApiResponse};
use tokio::time::Instant;

use crate::trace::TraceContext;

mod endpoint;
mod failure;
mod http;
mod own;

pub use failure::{failure_text, is_resource_not_found};
pub use http::{ApiSetupError, HttpApi, Observers, backoff, default_headers};
pub use own::names_resource_of;

/// The pass that a call is part of.
#[derive(Debug, Clone, Default)]
pub struct CallContext {
    /// The parent of the call's span.
    pub trace: TraceContext,
    /// The end of the pass: attempts and the delays between them end by then. `None` sets no limit.
    pub deadline: Option<Instant>,
}

/// Sends API calls: over the network, or to a dry run's canned answers.
pub trait Api: Send + Sync + 'static {
    /// Sends the request, with its retries.
    fn call(
        &self,
        request: &ApiRequest,
        context: &CallContext,
    ) -> impl Future<Output = Result<ApiResponse, ApiFailure>> + Send;

    /// The URL that a request for `url` goes to: a path below the API's base URL, or an absolute URL of another
    /// host.
    fn resolve_url(&self, url: &str) -> String;
}

#[cfg(test)]
mod tests;
