//! The client that calls.
//!
//! In: settings, then requests. Out: complete answers, one connection pool for all of them. A client cannot be made
//! without a base URL; everything after that is the fate of a call ([`CallError`]). What a status means is the caller's
//! to say, beyond which ones are worth another attempt.

use std::path::PathBuf;
use std::time::Duration;

use bytes::Bytes;
use http::header::{AUTHORIZATION, CONTENT_TYPE, HeaderMap, HeaderValue, RETRY_AFTER, USER_AGENT};
use http::{Method, StatusCode};
use jiff::Timestamp;
use lifecycle_service::logging::Chain;
use reqwest::{Response, Url, redirect};
use tokio::time::{Instant, timeout};

use crate::retry::{self, Backoff, Next, Outcome, RetryPolicy};
use crate::tls;
use crate::token::{TokenError, TokenFile};
use crate::url::{Base, is_web_address};
use crate::watch::{Outgoing, Watch, WatchAttempt};

/// An answer over this is no API resource; reading it would be somebody's way to exhaust our memory.
const BODY_LIMIT: usize = 10 * 1024 * 1024;
/// As many as browsers and Go follow, or fewer.
const REDIRECT_LIMIT: usize = 10;

/// How the API is called.
#[derive(Debug, Clone)]
pub struct Settings {
    /// Where the API is, such as `http://hyperfleet-api:8000`.
    pub base_url: String,
    /// The version in paths; empty means `v1`.
    pub version: String,
    /// The longest that one attempt may take; a request's own limit can only be shorter.
    pub timeout: Duration,
    /// How often and after which delays a call is tried again.
    pub retry: RetryPolicy,
    /// Headers of each request to the API.
    pub default_headers: HeaderMap,
    /// The bearer token, if the API wants one.
    pub token: Option<TokenSettings>,
    /// `User-Agent`, unless a request has its own.
    pub user_agent: HeaderValue,
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
pub enum SettingsError {
    /// There is no base URL.
    #[error("the base URL of the HyperFleet API is not configured")]
    NoBaseUrl,
    /// The base URL is no web address, or has a query.
    #[error("the base URL of the HyperFleet API is no base URL, expected http:// or https:// and a host")]
    BaseUrl,
    /// TLS could not be set up.
    #[error("failed to set up TLS")]
    Tls(#[source] rustls::Error),
    /// The HTTP client could not be built.
    #[error("failed to build the HTTP client")]
    Http(#[source] reqwest::Error),
}

/// A request, without what the client adds to each.
#[derive(Debug, Clone, Default)]
pub struct Request {
    /// The method.
    pub method: Method,
    /// A path of the API, or an absolute URL.
    pub url: String,
    /// Headers; they win over the client's own, but for the token.
    pub headers: HeaderMap,
    /// The body; never sent with GET and DELETE. Without a header that says otherwise it is JSON.
    pub body: Option<Bytes>,
    /// The time for one attempt; the client's own if none.
    pub timeout: Option<Duration>,
    /// Attempts in total; the client's own number if none.
    pub attempts: Option<u32>,
    /// How the delay between attempts grows; as for the client if none.
    pub backoff: Option<Backoff>,
}

impl Request {
    /// Asks for a resource or a list.
    #[must_use]
    pub fn get(url: impl Into<String>) -> Self {
        Self { url: url.into(), ..Self::default() }
    }
}

/// A complete answer, whatever its status.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Answer {
    /// The status.
    pub status: StatusCode,
    /// The media type of the body, as the server says.
    pub content_type: Option<String>,
    /// Whether it comes from another URL than the one that was asked.
    pub redirected: bool,
    /// The body.
    pub body: String,
    /// Attempts made.
    pub attempts: u32,
}

/// A call without an answer.
#[derive(Debug, thiserror::Error)]
#[error("no answer after {attempts} attempt(s)")]
pub struct Failure {
    /// Attempts made; zero if the request cannot be sent at all.
    pub attempts: u32,
    /// Why the last attempt failed.
    #[source]
    pub error: CallError,
}

/// Why there is no answer.
#[derive(Debug, thiserror::Error)]
pub enum CallError {
    /// The URL cannot be called.
    #[error("the URL is no http:// or https:// address")]
    Url,
    /// The call's deadline had passed before the first attempt.
    #[error("the deadline has passed")]
    NoTime,
    /// The call's deadline passed during an attempt.
    #[error("the deadline passed before there was an answer")]
    DeadlinePassed,
    /// An attempt took too long.
    #[error("no answer within {0:?}")]
    TimedOut(Duration),
    /// There is no token to send.
    #[error(transparent)]
    Token(TokenError),
    /// The server could not be reached, or hung up.
    #[error(transparent)]
    Unreachable(reqwest::Error),
    /// The answer broke off.
    #[error("reading the response")]
    BrokenOff(#[source] reqwest::Error),
    /// The answer is too long to be one of the API.
    #[error("the response body is over {BODY_LIMIT} bytes")]
    TooLong,
}

impl CallError {
    /// Whether another attempt can end otherwise.
    fn is_retryable(&self) -> bool {
        match self {
            Self::DeadlinePassed | Self::TimedOut(_) | Self::Token(_) | Self::BrokenOff(_) => true,
            Self::Unreachable(error) => !error.is_builder(),
            Self::Url | Self::NoTime | Self::TooLong => false,
        }
    }
}

/// A complete answer, and what it says about another attempt.
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

/// The API over the network.
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

/// A request with everything that is the same in each attempt.
struct Prepared {
    outgoing: Outgoing,
    headers: HeaderMap,
    body: Option<Bytes>,
    timeout: Duration,
}

impl Client {
    /// Makes a client that trusts the system's certificate authorities.
    ///
    /// # Errors
    /// The base URL is missing or unusable, or the parts of the client cannot be built.
    pub fn new(settings: Settings) -> Result<Self, SettingsError> {
        let base_url = settings.base_url.trim();
        if base_url.is_empty() {
            return Err(SettingsError::NoBaseUrl);
        }
        let is_base = |url: &Url| is_web_address(url) && url.has_host() && url.query().is_none();
        let base_url = Url::parse(base_url).ok().filter(is_base).ok_or(SettingsError::BaseUrl)?;
        let http = reqwest::Client::builder()
            .tls_backend_preconfigured(tls::client_config().map_err(SettingsError::Tls)?)
            .redirect(redirect::Policy::custom(follow))
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
            token: settings.token.map(|token| TokenFile::new(token.path, token.cache_ttl)),
            user_agent: settings.user_agent,
        })
    }

    /// Where the API is.
    #[must_use]
    pub fn base(&self) -> &Base {
        &self.base
    }

    /// What asks whether the API is there.
    #[must_use]
    pub fn probe(&self) -> Probe {
        let mut headers = self.default_headers.clone();
        headers.entry(USER_AGENT).or_insert_with(|| self.user_agent.clone());
        Probe { http: self.http.clone(), root: self.base.root(), headers }
    }

    /// Makes a call, with its retries. No attempt and no wait for another one lasts beyond `deadline`.
    ///
    /// # Errors
    /// The last attempt got no complete answer, or none was made.
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

    /// Gathers what each attempt sends; none if the URL cannot be called.
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

    /// One attempt, watched, and ended in time.
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
        watched.leaves(&mut headers);
        let mut request = self.http.request(outgoing.method.clone(), outgoing.url.clone()).headers(headers);
        if let Some(body) = body {
            request = request.body(body.clone());
        }
        let response = request.send().await.map_err(|error| CallError::Unreachable(error.without_url()))?;
        let header = |name| response.headers().get(name).and_then(|value| value.to_str().ok());
        let retry_after = header(RETRY_AFTER).and_then(|value| retry::retry_after(value, Timestamp::now()));
        let content_type = header(CONTENT_TYPE).map(str::to_owned);
        let redirected = *response.url() != outgoing.url;
        let status = response.status();
        let body = read_body(response).await?;
        let stale_credential = match credential {
            Some((file, sent)) if status == StatusCode::UNAUTHORIZED => file.has_replaced(&sent).await,
            Some(_) | None => false,
        };
        let answer = Answer { status, content_type, redirected, body, attempts: 0 };
        Ok(Answered { answer, retry_after, stale_credential })
    }
}

/// Asks the root of the API's version for any answer, once and without the token: a refusal is an answer.
///
/// A router may serve that prefix alone and answer 503 elsewhere, so the base URL itself tells nothing about the API.
#[derive(Debug, Clone)]
pub struct Probe {
    http: reqwest::Client,
    root: Url,
    headers: HeaderMap,
}

impl Probe {
    /// The status that something answered with.
    ///
    /// # Errors
    /// There was no answer.
    pub async fn ask(&self) -> Result<StatusCode, CallError> {
        let request = self.http.get(self.root.clone()).headers(self.headers.clone());
        let response = request.send().await.map_err(|error| CallError::Unreachable(error.without_url()))?;
        Ok(response.status())
    }
}

/// Credentials and bodies stay on the origin that they were meant for.
fn follow(attempt: redirect::Attempt<'_>) -> redirect::Action {
    let stays = attempt.previous().last().is_some_and(|from| from.origin() == attempt.url().origin());
    if stays && attempt.previous().len() <= REDIRECT_LIMIT { attempt.follow() } else { attempt.stop() }
}

async fn read_body(mut response: Response) -> Result<String, CallError> {
    if response.content_length().is_some_and(|length| length > BODY_LIMIT as u64) {
        return Err(CallError::TooLong);
    }
    let mut body = Vec::new();
    while let Some(chunk) = response.chunk().await.map_err(|error| CallError::BrokenOff(error.without_url()))? {
        if body.len() + chunk.len() > BODY_LIMIT {
            return Err(CallError::TooLong);
        }
        body.extend_from_slice(&chunk);
    }
    Ok(into_text(body))
}

fn into_text(body: Vec<u8>) -> String {
    String::from_utf8(body).unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned())
}

#[cfg(test)]
mod tests;
