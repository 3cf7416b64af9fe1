//! The API over the network, measured and traced.
//!
//! In: the requests of tasks. Out: answers, through the client that every program shares. Here is what concerns the
//! adapter alone: the words for a call without an answer, spans, metrics, and the doubt whether the API is there.

use std::collections::BTreeMap;

use bytes::Bytes;
use http::header::{HeaderMap, HeaderName, HeaderValue};
use http::{Method, StatusCode};
use lifecycle_api_client::watch::{Outgoing, Watch, WatchAttempt};
use lifecycle_api_client::{CallError, Client, Request, Settings, SettingsError};
use lifecycle_core::api_call::{self, ApiFailure, ApiRequest, ApiResponse};
use lifecycle_errors::Chain;
use reqwest::Url;
use tokio::time::Instant;
use tracing::{Span, field, info_span};

use super::endpoint::endpoint;
use super::{Api, CallContext};
use crate::dependency::{self, Doubt, Probe, is_away};
use crate::metrics::{self, SharedMetrics};
use crate::secret::shown_url;
use crate::trace::{self, TraceContext};

/// What stands for the paths of other hosts in metrics: they are no closed set.
const EXTERNAL: &str = "external";

/// An API that cannot be called with the adapter's configuration.
#[derive(Debug, thiserror::Error)]
pub enum ApiSetupError {
    /// The base URL, shown without credentials, is no web address.
    #[error("`{0}` is no base URL, expected http:// or https:// and a host")]
    BaseUrl(String),
    /// A header cannot be sent.
    #[error("default header `{0}` is no valid HTTP header")]
    Header(String),
    /// There is no client.
    #[error(transparent)]
    Client(SettingsError),
}

/// What the adapter does besides calling.
#[derive(Debug)]
pub struct Accounts {
    /// Whether the W3C trace context is sent.
    pub propagate: bool,
    /// Hears of calls to the API's own origin that got no answer.
    pub doubt: Doubt,
    /// Counts and times each attempt.
    pub metrics: SharedMetrics,
}

/// The API over the network.
#[derive(Debug)]
pub struct HttpApi {
    client: Client,
    accounts: Accounts,
}

impl HttpApi {
    /// Makes a client that trusts the system's certificate authorities.
    ///
    /// # Errors
    /// The base URL is missing or unusable, or TLS cannot be set up.
    pub fn new(settings: Settings, accounts: Accounts) -> Result<Self, ApiSetupError> {
        let base_url = settings.base_url.clone();
        let client = Client::new(settings).map_err(|error| match error {
            SettingsError::BaseUrl => ApiSetupError::BaseUrl(shown_url(&base_url)),
            error => ApiSetupError::Client(error),
        })?;
        Ok(Self { client, accounts })
    }

    /// Asks the API for any answer, once.
    #[must_use]
    pub fn probe(&self) -> Probe {
        let probe = self.client.probe();
        Box::new(move || {
            let probe = probe.clone();
            Box::pin(async move {
                let status = probe.ask().await.map_err(|error| Chain(&error).to_string())?.as_u16();
                if is_away(status) { Err(format!("HTTP status {status}")) } else { Ok(()) }
            })
        })
    }

    /// Whether a call may go to the API itself, by its URL as the task has it, templates included.
    #[must_use]
    pub fn may_serve(&self, url: &str) -> bool {
        self.client.base().may_serve(url)
    }
}

impl Api for HttpApi {
    async fn call(&self, request: &ApiRequest, context: &CallContext) -> Result<ApiResponse, ApiFailure> {
        let unsent = |message| ApiFailure { attempts: 0, message };
        let calling = sendable(request).map_err(|name| unsent(format!("`{name}` is no valid HTTP header")))?;
        let watch = Accountant { accounts: &self.accounts, method: request.method.as_str(), trace: &context.trace };
        match self.client.call(&calling, context.deadline, &watch).await {
            Ok(answer) => {
                Ok(ApiResponse { status: answer.status.as_u16(), body: answer.body, attempts: answer.attempts })
            }
            Err(failure) => {
                Err(ApiFailure { attempts: failure.attempts, message: words(&failure.error, &request.url) })
            }
        }
    }

    fn resolve_url(&self, url: &str) -> String {
        self.client.base().resolve(url)
    }
}

/// The headers that a configuration names.
///
/// # Errors
/// One of them cannot be sent.
pub fn default_headers(written: &BTreeMap<String, String>) -> Result<HeaderMap, ApiSetupError> {
    headers(written.iter()).map_err(|name| ApiSetupError::Header(name.to_owned()))
}

/// The request of a task for the client; fails with the name of a header that cannot be sent.
fn sendable(request: &ApiRequest) -> Result<Request, &str> {
    Ok(Request {
        method: match request.method {
            api_call::Method::Get => Method::GET,
            api_call::Method::Post => Method::POST,
            api_call::Method::Put => Method::PUT,
            api_call::Method::Patch => Method::PATCH,
            api_call::Method::Delete => Method::DELETE,
        },
        url: request.url.clone(),
        headers: headers(request.headers.iter().map(|(name, value)| (name, value)))?,
        body: request.body.as_ref().map(|body| Bytes::from(body.clone())),
        timeout: request.timeout,
        attempts: request.retry_attempts.filter(|attempts| *attempts > 0),
        backoff: request.retry_backoff.map(backoff),
    })
}

/// The client's own word for the growth of delays that a file names.
#[must_use]
pub fn backoff(written: api_call::RetryBackoff) -> lifecycle_api_client::DelayGrowth {
    match written {
        api_call::RetryBackoff::Exponential => lifecycle_api_client::DelayGrowth::Exponential,
        api_call::RetryBackoff::Linear => lifecycle_api_client::DelayGrowth::Linear,
        api_call::RetryBackoff::Constant => lifecycle_api_client::DelayGrowth::Constant,
    }
}

/// Headers in HTTP's types; fails with the name of the first that is not one. The later one of two namesakes wins.
fn headers<'a>(written: impl Iterator<Item = (&'a String, &'a String)>) -> Result<HeaderMap, &'a str> {
    let mut headers = HeaderMap::new();
    for (name, value) in written {
        let parsed = HeaderName::from_bytes(name.trim().as_bytes()).ok().zip(HeaderValue::from_str(value.trim()).ok());
        let (parsed, mut value) = parsed.ok_or(name.as_str())?;
        // Any header may carry a credential, and debug output must not print one.
        value.set_sensitive(true);
        headers.insert(parsed, value);
    }
    Ok(headers)
}

/// Why there was no answer, as users of the adapter read it.
fn words(error: &CallError, url: &str) -> String {
    match error {
        CallError::Url => format!("`{}` is no valid URL", shown_url(url)),
        CallError::NoTime => "the event's deadline has passed".to_owned(),
        CallError::DeadlinePassed => "the event's deadline passed before there was an answer".to_owned(),
        CallError::TimedOut(_)
        | CallError::Token(_)
        | CallError::Unreachable(_)
        | CallError::BrokenOff(_)
        | CallError::TooLong => Chain(error).to_string(),
    }
}

/// Times, counts and traces the attempts of one call.
struct Accountant<'a> {
    accounts: &'a Accounts,
    method: &'static str,
    trace: &'a TraceContext,
}

/// One attempt under way.
struct Account<'a> {
    accounts: &'a Accounts,
    method: &'static str,
    inherited: &'a TraceContext,
    api: metrics::Api,
    endpoint: String,
    span: Span,
    started: Instant,
    doubt: Option<dependency::Call>,
}

impl<'a> Watch for Accountant<'a> {
    type Attempt = Account<'a>;

    fn attempt(&self, request: &Outgoing, number: u32) -> Account<'a> {
        let Self { accounts, method, trace } = *self;
        let path = request.resolved.split('?').next().unwrap_or_default();
        Account {
            accounts,
            method,
            inherited: trace,
            api: if request.is_own { metrics::Api::Hyperfleet } else { metrics::Api::External },
            endpoint: if request.is_own { endpoint(path) } else { EXTERNAL.to_owned() },
            span: info_span!(
                "http.client",
                otel.name = method,
                otel.kind = "client",
                http.request.method = method,
                http.request.resend_count = (number > 1).then(|| number - 1),
                server.address = request.url.host_str(),
                server.port = request.url.port_or_known_default(),
                url.full = shown(&request.url),
                http.response.status_code = field::Empty,
            ),
            started: Instant::now(),
            doubt: None,
        }
    }
}

impl WatchAttempt for Account<'_> {
    fn sending(&mut self, headers: &mut HeaderMap) {
        if self.accounts.propagate {
            add_trace(headers, &trace::outgoing(&self.span, self.inherited));
        }
        self.doubt = (self.api == metrics::Api::Hyperfleet).then(|| self.accounts.doubt.call());
    }

    fn ended(self, outcome: Result<StatusCode, &CallError>) {
        let status = outcome.as_ref().ok().map(StatusCode::as_u16);
        self.accounts.metrics.api_request(self.api, self.method, &self.endpoint, status, self.started.elapsed());
        match outcome {
            Ok(status) => {
                if let Some(call) = self.doubt {
                    call.answered(status.as_u16());
                }
                self.span.record("http.response.status_code", status.as_u16());
                if status.as_u16() >= 400 {
                    trace::mark_failed(&self.span, "");
                }
            }
            Err(error) => trace::mark_failed(&self.span, words(error, &self.endpoint)),
        }
    }
}

fn add_trace(headers: &mut HeaderMap, trace: &TraceContext) {
    let parent = trace.traceparent();
    for (name, value) in [("traceparent", parent.as_deref()), ("tracestate", trace.tracestate())] {
        if let Some(value) = value.and_then(|value| HeaderValue::from_str(value).ok()) {
            headers.insert(HeaderName::from_static(name), value);
        }
    }
}

/// The URL without what may be private: credentials and the query.
fn shown(url: &Url) -> String {
    let port = url.port().map(|port| format!(":{port}")).unwrap_or_default();
    format!("{}://{}{port}{}", url.scheme(), url.host_str().unwrap_or_default(), url.path())
}

#[cfg(test)]
mod tests;
