//! One request to the API server: sent once, timed, traced and counted.

use std::sync::Arc;
use std::time::Duration;

use axum::body::Body;
use futures::StreamExt as _;
use http::Request;
use kube::Client;
use lifecycle_core::write::{WriteError, WriteErrorKind};
use serde_json::Value;
use tokio::time::Instant;
use tracing::field::Empty;
use tracing::{Instrument, Span};

use super::rate_limit::RateLimit;
use super::refusal::Refusal;
use crate::dependency::{Doubt, is_away};
use lifecycle_core::object_ref::ObjectRef;

/// The longest answer that is read.
///
/// The longest answer of an API server is a page of 100 objects: 64 MiB leave 655 KiB for each. A container with the
/// memory limit that the documentation recommends (128 MiB) has no room for a longer answer and the values in it.
const ANSWER_LIMIT: usize = 64 * 1024 * 1024;

/// What a request does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Verb {
    /// Asks which kinds a group and version have.
    Discover,
    /// Reads one object.
    Get,
    /// Reads one page of objects.
    List,
    /// Creates an object.
    Create,
    /// Goes through a creation without writing.
    Rehearse,
    /// Makes managed fields ours.
    TakeOver,
    /// Applies a configuration.
    Apply,
    /// Merges a patch.
    Patch,
    /// Deletes an object.
    Delete,
}

impl Verb {
    /// Every verb.
    pub const ALL: [Self; 9] = [
        Self::Discover,
        Self::Get,
        Self::List,
        Self::Create,
        Self::Rehearse,
        Self::TakeOver,
        Self::Apply,
        Self::Patch,
        Self::Delete,
    ];

    /// The verb as a label value.
    #[must_use]
    pub fn label(self) -> &'static str {
        match self {
            Self::Discover => "discover",
            Self::Get => "get",
            Self::List => "list",
            Self::Create => "create",
            Self::Rehearse => "rehearse",
            Self::TakeOver => "take_over",
            Self::Apply => "apply",
            Self::Patch => "patch",
            Self::Delete => "delete",
        }
    }

    fn span_name(self) -> &'static str {
        match self {
            Self::Discover => "k8s.discover",
            Self::Get => "k8s.get",
            Self::List => "k8s.list",
            Self::Create => "k8s.create",
            Self::Rehearse => "k8s.rehearse",
            Self::TakeOver => "k8s.take_over",
            Self::Apply => "k8s.apply",
            Self::Patch => "k8s.patch",
            Self::Delete => "k8s.delete",
        }
    }

    /// The verb as error texts say it, with the object after it.
    fn phrase(self) -> &'static str {
        match self {
            Self::Discover => "discover the kinds next to",
            Self::Get => "get",
            Self::List => "list",
            Self::Create => "create",
            Self::Rehearse => "rehearse the creation of",
            Self::TakeOver => "take over the fields of",
            Self::Apply => "apply",
            Self::Patch => "patch",
            Self::Delete => "delete",
        }
    }
}

/// One request that has ended.
#[derive(Debug, Clone, Copy)]
pub struct CallRecord<'a> {
    /// What it did.
    pub verb: Verb,
    /// The kind that it was about.
    pub kind: &'a str,
    /// The HTTP status; none if no answer came.
    pub status: Option<u16>,
    /// From its turn under the rate limit to the last byte of the answer.
    pub duration: Duration,
}

impl CallRecord<'_> {
    /// The class of its status: `2xx` to `5xx`, or `none` without an answer.
    #[must_use]
    pub fn status_class(&self) -> &'static str {
        match self.status.map(|status| status / 100) {
            Some(2) => "2xx",
            Some(3) => "3xx",
            Some(4) => "4xx",
            Some(_) => "5xx",
            None => "none",
        }
    }
}

/// Is told of every request that has ended. It must not block.
pub type CallObserver = Arc<dyn Fn(&CallRecord<'_>) + Send + Sync>;

/// What a request is for.
#[derive(Clone, Copy)]
pub(super) struct Call<'a> {
    pub(super) verb: Verb,
    pub(super) subject: &'a ObjectRef,
}

impl Call<'_> {
    /// Says that this call was refused before it was sent.
    pub(super) fn invalid(&self, message: String) -> WriteError {
        self.error(WriteErrorKind::Invalid, None, message)
    }

    pub(super) fn error(&self, kind: WriteErrorKind, status: Option<u16>, message: String) -> WriteError {
        WriteError { kind, call: self.text(), status, message }
    }

    /// The call in words, such as `create ConfigMap team-a/settings`.
    pub(super) fn text(&self) -> String {
        format!("{} {}", self.verb.phrase(), self.subject)
    }

    fn span(&self) -> Span {
        tracing::info_span!(
            "k8s",
            otel.name = self.verb.span_name(),
            otel.kind = "client",
            k8s.kind = self.subject.kind.kind,
            k8s.namespace.name = self.subject.namespace,
            k8s.name = Some(&self.subject.name).filter(|name| !name.is_empty()),
            http.response.status_code = Empty,
            "error.type" = Empty,
        )
    }
}

/// Sends requests.
#[derive(Clone)]
pub(super) struct Calls {
    client: Client,
    rate_limit: Option<Arc<RateLimit>>,
    observer: Option<CallObserver>,
    doubt: Doubt,
    timeout: Duration,
}

impl Calls {
    pub(super) fn new(
        client: Client,
        rate_limit: Option<RateLimit>,
        observer: Option<CallObserver>,
        doubt: Doubt,
        timeout: Duration,
    ) -> Self {
        Self { client, rate_limit: rate_limit.map(Arc::new), observer, doubt, timeout }
    }

    /// Asks for the server's version, which everybody may read; any answer will do. It waits for no turn under the rate
    /// limit, and is not observed.
    pub(super) async fn probe(&self) -> Result<(), String> {
        let request = Request::get("/version").body(Vec::new()).map_err(|error| error.to_string())?;
        match self.exchange(request).await {
            Ok((status, _)) if is_away(status) => Err(format!("HTTP status {status}")),
            Ok(_) => Ok(()),
            Err((_, message)) => Err(message),
        }
    }

    /// Sends a request, once, and returns the JSON of a 2xx answer.
    pub(super) async fn send(&self, call: &Call<'_>, request: Request<Vec<u8>>) -> Result<Value, Refusal> {
        if let Some(limit) = &self.rate_limit {
            limit.turn().await;
        }
        let span = call.span();
        let doubtful = self.doubt.call();
        let start = Instant::now();
        let (status, answer) =
            match tokio::time::timeout(self.timeout, self.exchange(request)).instrument(span.clone()).await {
                Ok(Ok((status, body))) => {
                    doubtful.answered(status);
                    (Some(status), body.ok_or_else(|| too_long(status)).and_then(|body| read(status, &body)))
                }
                Ok(Err((status, message))) => (status, Err(Refusal::Lost { status, message })),
                Err(_) => {
                    let message = format!("no answer within {} s", self.timeout.as_secs_f32());
                    (None, Err(Refusal::Lost { status: None, message }))
                }
            };

        if let Some(status) = status {
            span.record("http.response.status_code", status);
        }
        if let Err(refusal) = &answer {
            span.record("error.type", refusal.error_type());
        }
        if let Some(observer) = &self.observer {
            let kind = &call.subject.kind.kind;
            observer(&CallRecord { verb: call.verb, kind, status, duration: start.elapsed() });
        }
        answer
    }

    /// Returns the status and the whole body, or how far the answer got. An answer above the limit has no body.
    async fn exchange(&self, request: Request<Vec<u8>>) -> Result<(u16, Option<Vec<u8>>), (Option<u16>, String)> {
        let response = self.client.send(request.map(Into::into)).await.map_err(|error| (None, chain(&error)))?;
        let status = response.status().as_u16();
        let mut chunks = Body::new(response.into_body()).into_data_stream();
        let mut body = Vec::new();
        while let Some(chunk) = chunks.next().await {
            let chunk = chunk.map_err(|error| (Some(status), format!("the answer was cut: {}", chain(&error))))?;
            if body.len() + chunk.len() > ANSWER_LIMIT {
                return Ok((status, None));
            }
            body.extend_from_slice(&chunk);
        }
        Ok((status, Some(body)))
    }
}

fn too_long(status: u16) -> Refusal {
    let message = format!(
        "the answer is longer than {} MiB; delete objects that are not needed, or make the objects smaller",
        ANSWER_LIMIT / 1024 / 1024
    );
    Refusal::Lost { status: Some(status), message }
}

fn read(status: u16, body: &[u8]) -> Result<Value, Refusal> {
    if !(200..300).contains(&status) {
        return Err(Refusal::answered(status, body));
    }
    serde_json::from_slice(body)
        .map_err(|error| Refusal::Lost { status: Some(status), message: format!("the answer is not JSON: {error}") })
}

/// Joins an error and its causes; the innermost says what happened ("connection refused").
fn chain(error: &(dyn std::error::Error + 'static)) -> String {
    let mut parts: Vec<String> = Vec::new();
    let mut next = Some(error);
    while let Some(error) = next {
        let text = error.to_string();
        // The client's own wrappers print their source: keep the shorter, inner text.
        if let Some(last) = parts.last_mut()
            && let Some(outer) = last.strip_suffix(&text)
        {
            *last = outer.trim_end_matches([':', ' ']).to_owned();
        }
        parts.push(text);
        next = error.source();
    }
    parts.retain(|part| !part.is_empty() && part != "ServiceError");
    parts.join(": ")
}
