//! Calls to the HyperFleet API, and to whatever else a task names.
//!
//! In: a rendered request and the pass it belongs to. Out: the last answer, whatever its status, or why there was
//! none. How a call is made, retried and ended is the [client's](lifecycle_api_client) part; here is what a pass adds: the
//! trait that dry runs implement as well, metrics and spans, the words for a failure, and which 404 means that the
//! event's own resource is gone.

use std::future::Future;

use lifecycle_core::api_call::{ApiFailure, ApiRequest, ApiResponse};
use tokio::time::Instant;

use crate::trace::TraceContext;

mod endpoint;
mod failure;
mod http;
mod own;

pub use failure::{failure_text, is_resource_not_found};
pub use http::{Accounts, ApiSetupError, HttpApi, backoff, default_headers};
pub use own::names_resource_of;

/// Where a call belongs.
#[derive(Debug, Clone, Default)]
pub struct CallContext {
    /// Its place in a distributed trace.
    pub trace: TraceContext,
    /// When the pass ends: no attempt lasts beyond it, no wait for another one either.
    pub deadline: Option<Instant>,
}

/// Whatever answers API calls: the network, or a dry run.
pub trait Api: Send + Sync + 'static {
    /// Makes the call, with its retries.
    fn call(
        &self,
        request: &ApiRequest,
        context: &CallContext,
    ) -> impl Future<Output = Result<ApiResponse, ApiFailure>> + Send;

    /// The URL that a request for `url` goes to: absolute for a foreign one, else a path below the API's base.
    fn resolve_url(&self, url: &str) -> String;
}

#[cfg(test)]
mod tests;
