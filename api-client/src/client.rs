//! The HTTP client of the HyperFleet API.
//!
//! In: [`Settings`], then requests. Out: complete answers, whatever their status. Fails: [`SettingsError`]
//! without a usable base URL; [`CallError`] if a call gets no complete answer. The client decides from the
//! status only whether to retry; the caller decides what else the status means.

use std::path::PathBuf;
use std::time::Duration;

use bytes::Bytes;
use http::header::{AGE, AUTHORIZATION, CONTENT_TYPE, HeaderMap, HeaderValue, LOCATION, RETRY_AFTER, USER_AGENT};
use http::{Method, StatusCode};
use jiff::Timestamp;
use lifecycle_errors::Chain;
use reqwest::{Response, Url, redirect};
use tokio::time::{Instant, timeout};

use crate::failure::{BODY_LIMIT, CallError, Failure};
use crate::retry::{self, DelayGrowth, Next, Outcome, RetryPolicy};
use crate::tls;
use crate::token::{AuthScheme, TokenFile};
use crate::url::{Base, is_web_address};
use crate::watch::{Outgoing, SMALL_BODY, Watch, WatchAttempt};

/// The settings with which a [`Client`] is built.
#[derive(Debug, Clone)]
pub struct Settings {
    /// The URL of the API, such as `http://hyperfleet-api:8000`.
    pub base_url: String,
    /// The API version in paths; empty means `v1`.
    pub version: String,
    /// Limits one attempt; the limit of a request can only be shorter.
    pub timeout: Duration,
    /// How often and after which delays a failed attempt is repeated.
    pub retry: RetryPolicy,
    /// Headers that each request to the API carries.
    pub default_headers: HeaderMap,
    /// The file of the bearer token, if the API requires one.
    pub token: Option<TokenSettings>,
    /// The header `User-Agent`, unless a request sets its own.
    pub user_agent: HeaderValue,
}

/// The file of the bearer token.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TokenSettings {
    /// The path of the file.
    pub path: PathBuf,
    /// How long a token is used before the file is checked for a change.
    pub cache_ttl: Duration,
    /// The word before the token in the header `Authorization`.
    pub scheme: AuthScheme,
}

/// Why no client can be built from the settings.
#[derive(Debug, thiserror::Error)]
pub enum SettingsError {
    /// There is no base URL.
    #[error("the base URL of the HyperFleet API is not configured")]
    NoBaseUrl,
    /// The base URL is not an http or https URL with a host, or it has a query.
    #[error("the base URL of the HyperFleet API is no base URL, expected http:// or https:// and a host")]
    BaseUrl,
    /// TLS could not be set up.
    #[error("failed to set up TLS")]
    Tls(#[source] rustls::Error),
    /// The HTTP client could not be built.
    #[error("failed to build the HTTP client")]
    Http(#[source] reqwest::Error),
}

/// A request to the API; the client adds its default headers, token and `User-Agent`.
#[derive(Debug, Clone, Default)]
pub struct Request {
    /// The HTTP method of the request.
    pub method: Method,
    /// A path of the API, or an absolute URL.
    pub url: String,
    /// Headers; they replace the client's headers of the same name, except the token.
    pub headers: HeaderMap,
    /// The body; not sent with GET and DELETE. Its type is JSON unless `headers` has a `Content-Type`.
    pub body: Option<Bytes>,
    /// Limits one attempt; none means the client's limit.
    pub timeout: Option<Duration>,
    /// The number of attempts, the first included; none means the client's number.
    pub attempts: Option<u32>,
    /// How the delay between attempts grows; none means as in the client's settings.
    pub backoff: Option<DelayGrowth>,
}

impl Request {
    /// Builds a GET request without headers, body or settings of its own.
    #[must_use]
    pub fn get(url: impl Into<String>) -> Self {
        Self { url: url.into(), ..Self::default() }
    }
}

/// A complete answer, whatever its status.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Answer {
    /// The HTTP status of the answer; any status counts as an answer.
    pub status: StatusCode,
    /// The body's media type, from the header `Content-Type`.
    pub content_type: Option<String>,
    /// The target of a redirect, without credentials and query; the client does not follow it.
    pub redirect: Option<String>,
    /// Whether a cache kept the answer for a while: the answer has the header `Age`, and it is not zero.
    pub cached: bool,
    /// The body of the answer, as text.
    pub body: String,
    /// The number of attempts made.
    pub attempts: u32,
}

impl Answer {
    /// Whether the header `Content-Type` names this media type, with or without parameters.
    #[must_use]
    pub fn is_of_type(&self, media_type: &str) -> bool {
        let written = self.content_type.as_deref().and_then(|value| value.split(';').next()).unwrap_or_default();
        written.trim().eq_ignore_ascii_case(media_type)
    }
}

/// A complete answer, with what the retry policy reads from it.
struct Answered {
    answer: Answer,
    retry_after: Option<Duration>,
    stale_credential: bool,
}

impl Outcome for Result<Answered, CallError> {
    fn next(&self) -> Next {
        match self {
            Ok(it) => Next::after_answer(it.answer.status, it.retry_after, it.stale_credential),
            Err(error) => Next::after_failure(error.is_retryable()),
        }
    }

    fn reason(&self) -> String {
        match self {
            Ok(it) => format!("the server answered {}", it.answer.status.as_u16()),
            Err(error) => Chain(error).to_string(),
        }
    }
}

/// A client of the HyperFleet API, with one connection pool.
#[derive(Debug)]
pub struct Client {
    http: reqwest::Client,
    base: Base,
    timeout: Duration,
    retry: RetryPolicy,
    default_headers: HeaderMap,
    token: Option<TokenFile>,
    user_agent: HeaderValue,
}

/// The parts of a request that are the same in each attempt.
struct Prepared {
    outgoing: Outgoing,
    headers: HeaderMap,
    body: Option<Bytes>,
    timeout: Duration,
}

/// Whether an answer comes from a cache: by its age, by the warning 110 that it is stale (RFC 7234), or by the header that
/// content delivery networks send.
fn is_cached(headers: &HeaderMap) -> bool {
    let begins = |name: &str, with: &str| {
        let is_so = |value: &HeaderValue| value.to_str().is_ok_and(|value| value.to_lowercase().starts_with(with));
        headers.get_all(name).iter().any(is_so)
    };
    headers.get_all(AGE).iter().any(|age| age != "0") || begins("warning", "110") || begins("x-cache", "hit")
}

/// Reads the URL under which the API answers.
///
/// # Errors
/// The text is empty, or it is not an http or https URL with a host, or it has a query.
pub fn base_url(text: &str) -> Result<Url, SettingsError> {
    let text = text.trim();
    if text.is_empty() {
        return Err(SettingsError::NoBaseUrl);
    }
    let is_base = |url: &Url| is_web_address(url) && url.has_host() && url.query().is_none();
    Url::parse(text).ok().filter(is_base).ok_or(SettingsError::BaseUrl)
}

impl Client {
    /// Builds a client that trusts the system's certificate authorities.
    ///
    /// # Errors
    /// The base URL is missing or unusable, or TLS or the HTTP client cannot be set up.
    pub fn new(settings: Settings) -> Result<Self, SettingsError> {
        let base_url = base_url(&settings.base_url)?;
        let http = reqwest::Client::builder()
            .tls_backend_preconfigured(tls::client_config().map_err(SettingsError::Tls)?)
            .redirect(redirect::Policy::none())
            .tcp_keepalive(Duration::from_secs(30))
            .tcp_nodelay(true)
            .build()
            .map_err(SettingsError::Http)?;
        Ok(Self {
            http,
            base: Base::new(base_url, &settings.version),
            timeout: settings.timeout,
            retry: settings.retry,
            default_headers: settings.default_headers,
            token: settings.token.map(|token| TokenFile::new(token.path, token.cache_ttl).with_scheme(token.scheme)),
            user_agent: settings.user_agent,
        })
    }

    /// The URL of the API, and how request URLs are resolved against it.
    #[must_use]
    pub fn base(&self) -> &Base {
        &self.base
    }

    /// Returns a [`Probe`] that checks whether the API answers.
    #[must_use]
    pub fn probe(&self) -> Probe {
        let mut headers = self.default_headers.clone();
        headers.entry(USER_AGENT).or_insert_with(|| self.user_agent.clone());
        Probe { http: self.http.clone(), root: self.base.root(), headers }
    }

    /// Sends a request, with retries. Attempts and the delays between them end at `deadline`.
    ///
    /// # Errors
    /// The last attempt got no complete answer, or no attempt was made.
    pub async fn call<W: Watch>(
        &self,
        request: &Request,
        deadline: Option<Instant>,
        watch: &W,
    ) -> Result<Answer, Failure> {
        let policy = RetryPolicy {
            attempts: request.attempts.unwrap_or(self.retry.attempts),
            backoff: request.backoff.unwrap_or(self.retry.backoff),
            ..self.retry
        };
        if deadline.is_some_and(|deadline| deadline <= Instant::now()) {
            return Err(Failure { attempts: 0, error: CallError::NoTime });
        }
        let prepared = self.prepare(request).ok_or(Failure { attempts: 0, error: CallError::Url })?;
        let jitter = || fastrand::f64() * 2.0 - 1.0;
        let attempt = |number| self.attempt(&prepared, number, deadline, watch);
        match retry::run(policy, deadline, jitter, attempt).await {
            (Ok(Answered { answer, .. }), attempts) => Ok(Answer { attempts, ..answer }),
            (Err(error), attempts) => Err(Failure { attempts, error }),
        }
    }

    /// Gathers what each attempt sends; `None` if the URL is not an http or https URL.
    fn prepare(&self, request: &Request) -> Option<Prepared> {
        let resolved = self.base.resolve(&request.url);
        let url = self.base.locate(&resolved)?;
        let is_own = self.base.is_origin_of(&url);
        let mut headers = if is_own { self.default_headers.clone() } else { HeaderMap::new() };
        headers.extend(request.headers.clone());
        headers.entry(USER_AGENT).or_insert_with(|| self.user_agent.clone());
        let takes_body = !matches!(request.method, Method::GET | Method::DELETE);
        let body = request.body.clone().filter(|_| takes_body);
        if body.is_some() {
            headers.entry(CONTENT_TYPE).or_insert(HeaderValue::from_static("application/json"));
        }
        let timeout = request.timeout.map_or(self.timeout, |own| own.min(self.timeout));
        let outgoing = Outgoing { method: request.method.clone(), url, resolved, is_own };
        Some(Prepared { outgoing, headers, body, timeout })
    }

    /// Makes one attempt, within its time limit and the deadline, and reports it to `watch`.
    async fn attempt<W: Watch>(
        &self,
        prepared: &Prepared,
        number: u32,
        deadline: Option<Instant>,
        watch: &W,
    ) -> Result<Answered, CallError> {
        let room = deadline.map(|deadline| deadline.saturating_duration_since(Instant::now()));
        let limit = room.map_or(prepared.timeout, |room| room.min(prepared.timeout));
        let mut watched = watch.attempt(&prepared.outgoing, number);
        let outcome = timeout(limit, self.send(prepared, &mut watched)).await.unwrap_or_else(|_| {
            Err(if limit < prepared.timeout { CallError::DeadlinePassed } else { CallError::TimedOut(limit) })
        });
        watched.ended(outcome.as_ref().map(|answered| answered.answer.status));
        outcome
    }

    async fn send(&self, prepared: &Prepared, watched: &mut impl WatchAttempt) -> Result<Answered, CallError> {
        let Prepared { outgoing, headers, body, .. } = prepared;
        let mut headers = headers.clone();
        let mut credential = None;
        if let Some(file) = self.token.as_ref().filter(|_| outgoing.is_own) {
            let token = file.token().await.map_err(CallError::Token)?;
            headers.insert(AUTHORIZATION, token.clone());
            credential = Some((file, token));
        }
        watched.sending(&mut headers);
        let mut request = self.http.request(outgoing.method.clone(), outgoing.url.clone()).headers(headers);
        if let Some(body) = body {
            request = request.body(body.clone());
        }
        let response = request.send().await.map_err(|error| CallError::Unreachable(error.without_url()))?;
        let header = |name| response.headers().get(name).and_then(|value| value.to_str().ok());
        let retry_after = header(RETRY_AFTER).and_then(|value| retry::retry_after(value, Timestamp::now()));
        let content_type = header(CONTENT_TYPE).map(str::to_owned);
        let cached = is_cached(response.headers());
        let status = response.status();
        let redirect = status.is_redirection().then(|| target(header(LOCATION), &outgoing.url));
        let body = read_body(response, watched).await?;
        let stale_credential = match credential {
            Some((file, sent)) if status == StatusCode::UNAUTHORIZED => file.has_replaced(&sent).await,
            Some(_) | None => false,
        };
        let answer = Answer { status, content_type, redirect, cached, body, attempts: 0 };
        Ok(Answered { answer, retry_after, stale_credential })
    }
}

/// Checks whether the API answers: requests the root of the API's version, once and without the token. Any
/// status counts.
///
/// The base URL itself is no proof: a router may forward only the API's prefix and answer 503 everywhere else.
#[derive(Debug, Clone)]
pub struct Probe {
    http: reqwest::Client,
    root: Url,
    headers: HeaderMap,
}

impl Probe {
    /// Sends the request, and returns the status of the answer.
    ///
    /// # Errors
    /// No answer arrived.
    pub async fn ask(&self) -> Result<StatusCode, CallError> {
        let request = self.http.get(self.root.clone()).headers(self.headers.clone());
        let response = request.send().await.map_err(|error| CallError::Unreachable(error.without_url()))?;
        Ok(response.status())
    }
}

/// The target of a redirect, as far as an error text may show it: a query can hold credentials. Not followed,
/// because no page at another URL is the API's answer to this request.
fn target(location: Option<&str>, from: &Url) -> String {
    let Some(mut target) = location.and_then(|location| from.join(location).ok()) else {
        return "an unknown URL".to_owned();
    };
    target.set_query(None);
    target.set_fragment(None);
    // Fails only for a URL that cannot hold credentials.
    let _ = (target.set_username(""), target.set_password(None));
    target.to_string()
}

async fn read_body(mut response: Response, watched: &mut impl WatchAttempt) -> Result<String, CallError> {
    if response.content_length().is_some_and(|length| length > BODY_LIMIT as u64) {
        return Err(CallError::TooLong);
    }
    let mut body = Vec::new();
    while let Some(chunk) = response.chunk().await.map_err(|error| CallError::BrokenOff(error.without_url()))? {
        let length = body.len() + chunk.len();
        if length > BODY_LIMIT {
            return Err(CallError::TooLong);
        }
        if body.len() <= SMALL_BODY && length > SMALL_BODY {
            watched.large().await;
        }
        body.extend_from_slice(&chunk);
    }
    Ok(into_text(body))
}

fn into_text(body: Vec<u8>) -> String {
    String::from_utf8(body).unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned())
}

#[cfg(test)]
pub(crate) mod tests;
