//! Calls to the lifecycle API, and to whatever else a task names.
//!
//! In: a rendered request and the pass it belongs to. Out: the last answer, whatever its status, or why there was
//! none. A call retries by its policy and ends before the pass does. It does not decide what a status means for the
//! pass, beyond telling which ones are worth another attempt.
//!
//! The bearer token and the default headers go to the API's own origin and nowhere else: a task that names a
//! foreign URL must not hand out the adapter's identity. For the same reason a redirect is followed only within
//! its origin.

use std::future::Future;

use lifecycle_core::api_call::{ApiFailure, ApiRequest, ApiResponse};
use tokio::time::Instant;

use crate::trace::TraceContext;

mod client;
mod endpoint;
mod failure;
mod own;
mod retry;
mod token;
mod url;

pub use client::{ApiSettings, ApiSettingsError, HttpApi, TokenSettings};
pub use failure::{failure_text, is_resource_not_found};
pub use own::names_resource_of;
pub use retry::RetryPolicy;
pub use url::resolve;

/// Where a call belongs.
#[derive(Debug, Clone, Default)]
pub struct CallContext {
    /// Its place in a distributed trace.
    pub trace: TraceContext,
    /// When the pass ends: no attempt lasts beyond it, no wait for another one either.
    pub deadline: Option<Instant>,
}

/// Whatever answers API calls: the network, or a rehearsal.
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
