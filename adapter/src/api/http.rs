//! Sends API calls over the network, with metrics and spans.
//!
//! In: the requests of tasks. Out: responses, through the client that all programs share. This module adds the
//! adapter's own parts: error texts, spans, metrics, and the suspicion that the API is unreachable.

use std::collections::BTreeMap;
use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::header::{HeaderMap, HeaderName, HeaderValue};
use http::{Method, StatusCode};
use lifecycle_api_client::watch::{Outgoing, Watch, WatchAttempt};
use lifecycle_api_client::{CallError, Client, Request, Settings, SettingsError};
use lifecycle_core::api_call::{self, ApiRequest};
use lifecycle_errors::Chain;
use reqwest::Url;
use tokio::time::{Instant, timeout_at};
use tracing::{Span, field, info_span};

use super::endpoint::endpoint;
use super::large_answers::{Kept, Room};
use super::{Answer, Api, ApiFailure, CallContext, Identity};
use crate::dependency::{self, Probe, Suspicion, is_gateway_error};
use crate::metrics::{self, SharedMetrics};
use crate::secret::redacted_url;
use crate::trace::{self, TraceContext};

/// The label `endpoint` for calls to other hosts, whose paths are not a closed set.
const EXTERNAL: &str = "external";

/// Why the API client cannot be built from the configuration.
#[derive(Debug, thiserror::Error)]
pub enum ApiSetupError {
    /// The base URL is missing or not an HTTP URL. The text has no credentials.
    #[error("`{0}` is not a base URL, expected http:// or https:// and a host")]
    BaseUrl(String),
    /// The header of this name is not valid in HTTP.
    #[error("default header `{0}` is not a valid HTTP header")]
    Header(String),
    /// The HTTP client cannot be built.
    #[error(transparent)]
    Client(SettingsError),
}

/// The adapter's observers of API calls.
#[derive(Debug)]
pub struct Observers {
    /// Whether requests carry the W3C trace context.
    pub propagate: bool,
    /// Is raised by a call to the API itself that gets no response.
    pub suspicion: Suspicion,
    /// Counts and times each attempt.
    pub metrics: SharedMetrics,
    /// Learns from each answer whether the API itself answers.
    pub identity: Arc<Identity>,
}

/// Sends API calls over the network.
#[derive(Debug)]
pub struct HttpApi {
    client: Arc<Client>,
    observers: Observers,
    room: Room,
}

impl HttpApi {
    /// Builds a client that trusts the system's certificate authorities.
    ///
    /// # Errors
    /// The base URL is missing or invalid, or TLS cannot be set up.
    pub fn new(settings: Settings, observers: Observers) -> Result<Self, ApiSetupError> {
        let base_url = settings.base_url.clone();
        let client = Client::new(settings).map_err(|error| match error {
            SettingsError::BaseUrl => ApiSetupError::BaseUrl(redacted_url(&base_url)),
            error => ApiSetupError::Client(error),
        })?;
        Ok(Self { client: Arc::new(client), observers, room: Room::new() })
    }

    /// Returns a probe that sends one request and succeeds if the API sends any response of its own.
    #[must_use]
    pub fn probe(&self) -> Probe {
        let probe = self.client.probe();
        Box::new(move || {
            let probe = probe.clone();
            Box::pin(async move {
                let status = probe.ask().await.map_err(|error| Chain(&error).to_string())?.as_u16();
                if is_gateway_error(status) { Err(format!("HTTP status {status}")) } else { Ok(()) }
            })
        })
    }

    /// Asks the API again, `every` so often, while something else answers in its place. Never returns.
    pub fn ask_again(&self, every: Duration) -> impl Future<Output = ()> + use<> {
        self.observers.identity.ask_again(Arc::clone(&self.client), every)
    }

    /// Whether a URL as the task writes it, with templates, may be a URL of the API rather than of another
    /// host.
    #[must_use]
    pub fn may_target_api(&self, url: &str) -> bool {
        self.client.base().may_serve(url)
    }
}

impl Api for HttpApi {
    async fn call(&self, request: &ApiRequest, context: &CallContext) -> Result<Answer, ApiFailure> {
        let unsent = |message| ApiFailure { attempts: 0, message };
        let calling = client_request(request).map_err(|name| unsent(format!("`{name}` is not a valid HTTP header")))?;
        let watch = CallObserver {
            observers: &self.observers,
            room: &self.room,
            kept: &context.kept,
            method: request.method.as_str(),
            url_template: &request.url_template,
            trace: &context.trace,
        };
        match self.client.call(&calling, context.deadline, &watch).await {
            Ok(answer) => {
                self.observers.identity.note(&self.resolve_url(&request.url), &answer);
                let keep = self.room.keep(&context.kept, &answer.body);
                if within(context.deadline, keep).await.is_none() {
                    let message = "the event's deadline passed while another pass kept large answers".to_owned();
                    return Err(ApiFailure { attempts: answer.attempts, message });
                }
                Ok(answer)
            }
            Err(failure) => {
                Err(ApiFailure { attempts: failure.attempts, message: no_response_text(&failure.error, &request.url) })
            }
        }
    }

    fn resolve_url(&self, url: &str) -> String {
        self.client.base().resolve(url)
    }
}

/// The future's result, unless the deadline passes before.
async fn within<T>(deadline: Option<Instant>, future: impl Future<Output = T>) -> Option<T> {
    match deadline {
        Some(deadline) => timeout_at(deadline, future).await.ok(),
        None => Some(future.await),
    }
}

/// Converts the configured headers to HTTP's types.
///
/// # Errors
/// The first header that is not valid in HTTP.
pub fn default_headers(written: &BTreeMap<String, String>) -> Result<HeaderMap, ApiSetupError> {
    headers(written.iter()).map_err(|name| ApiSetupError::Header(name.to_owned()))
}

/// Converts a task's request for the client. Fails with the name of the first header that is not valid in HTTP.
fn client_request(request: &ApiRequest) -> Result<Request, &str> {
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

/// Converts the configured kind of backoff to the client's type.
#[must_use]
pub fn backoff(written: api_call::RetryBackoff) -> lifecycle_api_client::DelayGrowth {
    match written {
        api_call::RetryBackoff::Exponential => lifecycle_api_client::DelayGrowth::Exponential,
        api_call::RetryBackoff::Linear => lifecycle_api_client::DelayGrowth::Linear,
        api_call::RetryBackoff::Constant => lifecycle_api_client::DelayGrowth::Constant,
    }
}

/// Converts headers to HTTP's types; of two with the same name, the last one wins. Fails with the name of the
/// first header that is not valid.
fn headers<'a>(written: impl Iterator<Item = (&'a String, &'a String)>) -> Result<HeaderMap, &'a str> {
    let mut headers = HeaderMap::new();
    for (name, value) in written {
        let parsed = HeaderName::from_bytes(name.trim().as_bytes()).ok().zip(HeaderValue::from_str(value.trim()).ok());
        let (parsed, mut value) = parsed.ok_or(name.as_str())?;
        // Header values may hold credentials, so mark each as sensitive: `Debug` then prints `Sensitive`.
        value.set_sensitive(true);
        headers.insert(parsed, value);
    }
    Ok(headers)
}

/// The reason why a call got no response, as error texts print it.
fn no_response_text(error: &CallError, url: &str) -> String {
    match error {
        CallError::Url => format!("`{}` is not a valid URL", redacted_url(url)),
        CallError::NoTime => "the event's deadline has passed".to_owned(),
        CallError::DeadlinePassed => "the event's deadline passed before there was an answer".to_owned(),
        CallError::TimedOut(_)
        | CallError::Token(_)
        | CallError::Unreachable(_)
        | CallError::BrokenOff(_)
        | CallError::TooLong => Chain(error).to_string(),
    }
}

/// Observes the attempts of one call: times, counts and traces them.
struct CallObserver<'a> {
    observers: &'a Observers,
    room: &'a Room,
    kept: &'a Kept,
    method: &'static str,
    url_template: &'a str,
    trace: &'a TraceContext,
}

/// Observes one attempt of an API call, from its beginning to its end: its span, its metrics, and what it
/// tells about the API's availability.
struct AttemptObserver<'a> {
    observers: &'a Observers,
    room: &'a Room,
    kept: &'a Kept,
    method: &'static str,
    inherited: &'a TraceContext,
    api: metrics::Api,
    endpoint: String,
    span: Span,
    started: Instant,
    suspicion: Option<dependency::Call>,
}

impl<'a> Watch for CallObserver<'a> {
    type Attempt = AttemptObserver<'a>;

    fn attempt(&self, request: &Outgoing, number: u32) -> AttemptObserver<'a> {
        let Self { observers, room, kept, method, url_template, trace } = *self;
        let path = request.resolved.split('?').next().unwrap_or_default();
        AttemptObserver {
            observers,
            room,
            kept,
            method,
            inherited: trace,
            api: if request.is_own { metrics::Api::Hyperfleet } else { metrics::Api::External },
            endpoint: if request.is_own { endpoint(path, url_template) } else { EXTERNAL.to_owned() },
            span: info_span!(
                "http.client",
                otel.name = method,
                otel.kind = "client",
                http.request.method = method,
                http.request.resend_count = (number > 1).then(|| number - 1),
                server.address = request.url.host_str(),
                server.port = request.url.port_or_known_default(),
                url.full = public_url(&request.url),
                http.response.status_code = field::Empty,
            ),
            started: Instant::now(),
            suspicion: None,
        }
    }
}

impl WatchAttempt for AttemptObserver<'_> {
    fn sending(&mut self, headers: &mut HeaderMap) {
        if self.observers.propagate {
            add_trace(headers, &trace::outgoing(&self.span, self.inherited));
        }
        self.suspicion = (self.api == metrics::Api::Hyperfleet).then(|| self.observers.suspicion.call());
    }

    async fn large(&mut self) {
        self.room.keep_large(self.kept).await;
    }

    fn ended(self, outcome: Result<StatusCode, &CallError>) {
        let status = outcome.as_ref().ok().map(StatusCode::as_u16);
        self.observers.metrics.api_request(self.api, self.method, &self.endpoint, status, self.started.elapsed());
        match outcome {
            Ok(status) => {
                if let Some(call) = self.suspicion {
                    call.answered(status.as_u16());
                }
                self.span.record("http.response.status_code", status.as_u16());
                if self.api == metrics::Api::Hyperfleet
                    && let Some(failure) = metrics::AuthFailure::of(status)
                {
                    self.observers.metrics.api_auth_failure(failure);
                }
                if status.as_u16() >= 400 {
                    trace::mark_failed(&self.span, "");
                }
            }
            Err(error) => trace::mark_failed(&self.span, no_response_text(error, &self.endpoint)),
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

/// The URL without credentials and without its query, either of which may be private.
fn public_url(url: &Url) -> String {
    let port = url.port().map(|port| format!(":{port}")).unwrap_or_default();
    format!("{}://{}{port}{}", url.scheme(), url.host_str().unwrap_or_default(), url.path())
}

#[cfg(test)]
pub(super) mod tests;
