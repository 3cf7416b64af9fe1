//! The client that really calls.
//!
//! In: settings, then requests. Out: answers, one connection pool for all of them. A client cannot be made without a
//! base URL; everything after that is the fate of a call.

use std::path::PathBuf;
use std::time::Duration;

use bytes::Bytes;
use http::header::{AUTHORIZATION, CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue, RETRY_AFTER, USER_AGENT};
use http::{Method, StatusCode};
use jiff::Timestamp;
use lifecycle_core::api_call::{self, ApiFailure, ApiRequest, ApiResponse};
use lifecycle_service::logging::Chain;
use reqwest::{Client, Response, Url, redirect};
use rustls::ClientConfig;
use tokio::time::{Instant, timeout};
use tracing::{Instrument as _, Span, field, info_span};

use super::endpoint::endpoint;
use super::retry::{self, Attempt, RetryPolicy};
use super::token::TokenFile;
use super::url::{locate, may_be_at, resolve};
use super::{Api, CallContext};
use crate::dependency::{Doubt, Probe, is_away};
use crate::metrics::{self, SharedMetrics};
use crate::secret::{Secret, shown_url};
use crate::tls;
use crate::trace::{self, TraceContext};

/// An answer over this is no API resource; reading it would be somebody's way to exhaust our memory.
const BODY_LIMIT: usize = 10 * 1024 * 1024;
/// As many as browsers and Go follow, or fewer.
const REDIRECT_LIMIT: usize = 10;

/// How the API is called.
#[derive(Debug, Clone)]
pub struct ApiSettings {
    /// Where the API is, such as `http://hyperfleet-api:8000`.
    pub base_url: String,
    /// The version in paths; empty means `v1`.
    pub version: String,
    /// The longest that one attempt may take; a call's own limit can only be shorter.
    pub timeout: Duration,
    /// How often and after which delays a call is tried again.
    pub retry: RetryPolicy,
    /// Headers of each request to the API.
    pub default_headers: Vec<(String, Secret<String>)>,
    /// The bearer token, if the API wants one.
    pub token: Option<TokenSettings>,
    /// `User-Agent`, unless a request has its own.
    pub user_agent: String,
    /// Whether the W3C trace context is sent.
    pub propagate: bool,
    /// Hears of calls to the API's own origin that got no answer.
    pub doubt: Doubt,
}

/// Where the bearer token is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TokenSettings {
    /// The file that holds it.
    pub path: PathBuf,
    /// For how long it is used without looking at the file again.
    pub cache_ttl: Duration,
}

/// Settings that no client can be made of.
#[derive(Debug, thiserror::Error)]
pub enum ApiSettingsError {
    /// There is no base URL.
    #[error("the base URL of the HyperFleet API is not configured")]
    NoBaseUrl,
    /// The base URL, shown without credentials, is no web address.
    #[error("`{0}` is no base URL, expected http:// or https:// and a host")]
    BaseUrl(String),
    /// A default header cannot be sent.
    #[error("default header `{0}` is no valid HTTP header")]
    Header(String),
    /// TLS could not be set up.
    #[error("failed to set up TLS")]
    Tls(#[source] rustls::Error),
    /// The HTTP client could not be built.
    #[error("failed to build the HTTP client")]
    Client(#[source] reqwest::Error),
}

/// The API over the network.
#[derive(Debug)]
pub struct HttpApi {
    client: Client,
    base: Url,
    version: String,
    timeout: Duration,
    retry: RetryPolicy,
    default_headers: HeaderMap,
    token: Option<TokenFile>,
    user_agent: HeaderValue,
    propagate: bool,
    doubt: Doubt,
    metrics: SharedMetrics,
}

/// A request with everything that is the same in each attempt.
struct Prepared {
    method: Method,
    url: Url,
    headers: HeaderMap,
    body: Option<Bytes>,
    is_own: bool,
    endpoint: String,
    timeout: Duration,
}

impl HttpApi {
    /// Makes a client that trusts the system's certificate authorities.
    ///
    /// # Errors
    /// The base URL is missing or unusable, or a default header is.
    pub fn new(settings: ApiSettings, metrics: SharedMetrics) -> Result<Self, ApiSettingsError> {
        let tls = tls::client_config().map_err(ApiSettingsError::Tls)?;
        Self::with_tls(settings, metrics, tls)
    }

    fn with_tls(settings: ApiSettings, metrics: SharedMetrics, tls: ClientConfig) -> Result<Self, ApiSettingsError> {
        if settings.base_url.trim().is_empty() {
            return Err(ApiSettingsError::NoBaseUrl);
        }
        let base = Url::parse(settings.base_url.trim())
            .ok()
            .filter(|url| matches!(url.scheme(), "http" | "https") && url.has_host() && url.query().is_none())
            .ok_or_else(|| ApiSettingsError::BaseUrl(shown_url(&settings.base_url)))?;
        let mut default_headers = HeaderMap::new();
        for (name, value) in &settings.default_headers {
            let (name, value) = header(name, value.expose()).ok_or_else(|| ApiSettingsError::Header(name.clone()))?;
            default_headers.insert(name, value);
        }
        let user_agent = HeaderValue::from_str(&settings.user_agent)
            .map_err(|_| ApiSettingsError::Header(format!("{USER_AGENT}: {}", settings.user_agent)))?;
        let client = Client::builder()
            .tls_backend_preconfigured(tls)
            .redirect(redirect::Policy::custom(follow))
            .tcp_keepalive(Duration::from_secs(30))
            .tcp_nodelay(true)
            .build()
            .map_err(ApiSettingsError::Client)?;
        Ok(Self {
            client,
            base,
            version: settings.version,
            timeout: settings.timeout,
            retry: settings.retry,
            default_headers,
            token: settings.token.map(|token| TokenFile::new(token.path, token.cache_ttl)),
            user_agent,
            propagate: settings.propagate,
            doubt: settings.doubt,
            metrics,
        })
    }

    /// Asks the root of the API's version for any answer, without the token: a refusal is an answer.
    ///
    /// A router may serve that prefix alone and answer 503 elsewhere, so `base_url` itself tells nothing about the API.
    #[must_use]
    pub fn probe(&self) -> Probe {
        let mut headers = self.default_headers.clone();
        headers.entry(USER_AGENT).or_insert_with(|| self.user_agent.clone());
        let root = locate(&resolve("", Some(&self.base), &self.version), &self.base);
        let request = self.client.get(root.unwrap_or_else(|| self.base.clone())).headers(headers);
        Box::new(move || {
            let request = request.try_clone();
            Box::pin(async move {
                let request = request.ok_or("the probe cannot be repeated")?;
                let response = request.send().await.map_err(|error| Chain(&error.without_url()).to_string())?;
                let status = response.status().as_u16();
                if is_away(status) { Err(format!("HTTP status {status}")) } else { Ok(()) }
            })
        })
    }

    /// Whether a call may go to the API itself, by its URL as the task has it, templates included.
    #[must_use]
    pub fn may_serve(&self, url: &str) -> bool {
        may_be_at(&self.base, url)
    }

    /// Gathers what each attempt sends; fails with words for what cannot be sent at all.
    fn prepare(&self, request: &ApiRequest) -> Result<Prepared, String> {
        let resolved = resolve(&request.url, Some(&self.base), &self.version);
        let url =
            locate(&resolved, &self.base).ok_or_else(|| format!("`{}` is no valid URL", shown_url(&request.url)))?;
        let is_own = url.origin() == self.base.origin();
        let mut headers = if is_own { self.default_headers.clone() } else { HeaderMap::new() };
        for (name, value) in &request.headers {
            let (name, value) = header(name, value).ok_or_else(|| format!("`{name}` is no valid HTTP header"))?;
            headers.insert(name, value);
        }
        headers.entry(USER_AGENT).or_insert_with(|| self.user_agent.clone());
        let takes_body = !matches!(request.method, api_call::Method::Get | api_call::Method::Delete);
        let body = request.body.as_ref().filter(|_| takes_body).map(|body| Bytes::from(body.clone()));
        if body.is_some() {
            headers.entry(CONTENT_TYPE).or_insert(HeaderValue::from_static("application/json"));
        }
        Ok(Prepared {
            method: match request.method {
                api_call::Method::Get => Method::GET,
                api_call::Method::Post => Method::POST,
                api_call::Method::Put => Method::PUT,
                api_call::Method::Patch => Method::PATCH,
                api_call::Method::Delete => Method::DELETE,
            },
            endpoint: if is_own {
                endpoint(resolved.split_once('?').map_or(resolved.as_str(), |(path, _)| path))
            } else {
                // The hosts and paths of others are no closed set.
                "external".to_owned()
            },
            url,
            headers,
            body,
            is_own,
            timeout: request.timeout.map_or(self.timeout, |own| own.min(self.timeout)),
        })
    }

    /// One attempt, timed, counted and traced.
    async fn attempt(&self, prepared: &Prepared, number: u32, method: &'static str, context: &CallContext) -> Attempt {
        let room = context.deadline.map(|deadline| deadline.saturating_duration_since(Instant::now()));
        let limit = room.map_or(prepared.timeout, |room| room.min(prepared.timeout));
        let span = info_span!(
            "http.client",
            otel.name = method,
            otel.kind = "client",
            http.request.method = method,
            http.request.resend_count = (number > 1).then(|| number - 1),
            server.address = prepared.url.host_str(),
            server.port = prepared.url.port_or_known_default(),
            url.full = shown(&prepared.url),
            http.response.status_code = field::Empty,
        );
        let started = Instant::now();
        let sending = timeout(limit, self.send(prepared, trace::outgoing(&span, &context.trace)));
        let attempt = sending.instrument(span.clone()).await.unwrap_or_else(|_| Attempt::Failed {
            message: if limit < prepared.timeout {
                "the event's deadline passed before there was an answer".to_owned()
            } else {
                format!("no answer within {limit:?}")
            },
            retryable: true,
        });
        let status = match &attempt {
            Attempt::Answered { status, .. } => Some(*status),
            Attempt::Failed { .. } => None,
        };
        let api = if prepared.is_own { metrics::Api::Hyperfleet } else { metrics::Api::External };
        self.metrics.api_request(api, method, &prepared.endpoint, status, started.elapsed());
        record(&span, &attempt);
        attempt
    }

    async fn send(&self, prepared: &Prepared, trace: TraceContext) -> Attempt {
        let mut headers = prepared.headers.clone();
        let mut token = None;
        if let Some(file) = self.token.as_ref().filter(|_| prepared.is_own) {
            let read = match file.token().await {
                Ok(read) => read,
                Err(error) => return Attempt::Failed { message: Chain(&error).to_string(), retryable: true },
            };
            let Some(value) = bearer(&read) else {
                return Attempt::Failed { message: "the token is no valid header value".to_owned(), retryable: true };
            };
            headers.insert(AUTHORIZATION, value);
            token = Some((file, read));
        }
        if self.propagate {
            add_trace(&mut headers, &trace);
        }
        let mut request = self.client.request(prepared.method.clone(), prepared.url.clone()).headers(headers);
        if let Some(body) = &prepared.body {
            request = request.body(body.clone());
        }
        let doubtful = prepared.is_own.then(|| self.doubt.call());
        let response = match request.send().await {
            Ok(response) => response,
            Err(error) => {
                let retryable = !error.is_builder();
                return Attempt::Failed { message: Chain(&error.without_url()).to_string(), retryable };
            }
        };
        let status = response.status();
        let retry_after = response
            .headers()
            .get(RETRY_AFTER)
            .and_then(|value| retry::retry_after(value.to_str().ok()?, Timestamp::now()));
        let body = match read_body(response).await {
            Ok(body) => body,
            Err(failed) => return failed,
        };
        if let Some(call) = doubtful {
            call.answered(status.as_u16());
        }
        let stale_credential = match &token {
            Some((file, sent)) if status == StatusCode::UNAUTHORIZED => file.has_replaced(sent).await,
            _ => false,
        };
        Attempt::Answered { status: status.as_u16(), body, retry_after, stale_credential }
    }
}

impl Api for HttpApi {
    async fn call(&self, request: &ApiRequest, context: &CallContext) -> Result<ApiResponse, ApiFailure> {
        let policy = RetryPolicy {
            attempts: request.retry_attempts.filter(|attempts| *attempts > 0).unwrap_or(self.retry.attempts),
            backoff: request.retry_backoff.unwrap_or(self.retry.backoff),
            ..self.retry
        };
        if context.deadline.is_some_and(|deadline| deadline <= Instant::now()) {
            return Err(ApiFailure { attempts: 0, message: "the event's deadline has passed".to_owned() });
        }
        let prepared = self.prepare(request).map_err(|message| ApiFailure { attempts: 0, message })?;
        let method = request.method.as_str();
        let jitter = || fastrand::f64() * 2.0 - 1.0;
        let (outcome, attempts) =
            retry::run(policy, context.deadline, jitter, |number| self.attempt(&prepared, number, method, context))
                .await;
        match outcome {
            Attempt::Answered { status, body, .. } => Ok(ApiResponse { status, body, attempts }),
            Attempt::Failed { message, .. } => Err(ApiFailure { attempts, message }),
        }
    }

    fn resolve_url(&self, url: &str) -> String {
        resolve(url, Some(&self.base), &self.version)
    }
}

/// Credentials and bodies stay on the origin that they were meant for.
fn follow(attempt: redirect::Attempt<'_>) -> redirect::Action {
    let stays = attempt.previous().last().is_some_and(|from| from.origin() == attempt.url().origin());
    if stays && attempt.previous().len() <= REDIRECT_LIMIT { attempt.follow() } else { attempt.stop() }
}

async fn read_body(mut response: Response) -> Result<String, Attempt> {
    let too_long =
        || Attempt::Failed { message: format!("the response body is over {BODY_LIMIT} bytes"), retryable: false };
    if response.content_length().is_some_and(|length| length > BODY_LIMIT as u64) {
        return Err(too_long());
    }
    let mut body = Vec::new();
    loop {
        match response.chunk().await {
            Ok(None) => return Ok(into_text(body)),
            Ok(Some(chunk)) if body.len() + chunk.len() > BODY_LIMIT => return Err(too_long()),
            Ok(Some(chunk)) => body.extend_from_slice(&chunk),
            Err(error) => {
                let message = format!("reading the response: {}", Chain(&error.without_url()));
                return Err(Attempt::Failed { message, retryable: true });
            }
        }
    }
}

fn into_text(body: Vec<u8>) -> String {
    String::from_utf8(body).unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned())
}

fn header(name: &str, value: &str) -> Option<(HeaderName, HeaderValue)> {
    Some((HeaderName::from_bytes(name.trim().as_bytes()).ok()?, HeaderValue::from_str(value.trim()).ok()?))
}

fn bearer(token: &Secret<String>) -> Option<HeaderValue> {
    let mut value = HeaderValue::from_str(&format!("Bearer {}", token.expose())).ok()?;
    value.set_sensitive(true);
    Some(value)
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

fn record(span: &Span, attempt: &Attempt) {
    match attempt {
        Attempt::Answered { status, .. } => {
            span.record("http.response.status_code", status);
            if *status >= 400 {
                trace::mark_failed(span, "");
            }
        }
        Attempt::Failed { message, .. } => trace::mark_failed(span, message.clone()),
    }
}

#[cfg(test)]
mod tests;
