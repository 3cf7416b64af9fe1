//! Sends each request once: waits for the rate limit, limits the time, records a span, logs the server's
//! warnings, calls the observer.
//!
//! In: a request and its purpose. Out: the JSON of a 2xx answer. Fails: a [`Refusal`]; nothing is retried.

use std::sync::Arc;
use std::time::Duration;

use http::{HeaderMap, Request};
use http_body_util::BodyExt as _;
use kube::Client;
use lifecycle_errors::Chain;
use serde::de::DeserializeOwned;
use tokio::time::Instant;
use tracing::Instrument;

use crate::call::{Call, CallObserver, CallRecord};
use crate::rate_limit::RateLimit;
use crate::refusal::Refusal;
use crate::warnings::Warnings;

/// The size limit of an answer.
///
/// The longest answer of an API server is a page of 100 full objects, so 64 MiB leave 655 KiB for each. In a
/// container with the recommended memory limit (128 MiB), a longer answer and the values parsed from it would
/// not fit.
const ANSWER_LIMIT: usize = 64 * 1024 * 1024;
/// What most answers take, so that their buffer does not grow in many steps.
const USUAL_ANSWER: usize = 16 * 1024;

#[derive(Clone)]
pub(crate) struct Sender {
    client: Client,
    rate_limit: Option<Arc<RateLimit>>,
    observer: Option<CallObserver>,
    timeout: Duration,
    warnings: Arc<Warnings>,
}

impl Sender {
    pub(crate) fn new(
        client: Client,
        rate_limit: Option<RateLimit>,
        observer: Option<CallObserver>,
        timeout: Duration,
    ) -> Self {
        Self { client, rate_limit: rate_limit.map(Arc::new), observer, timeout, warnings: Arc::default() }
    }

    /// Requests the server's version, which every client may read, and returns the HTTP status.
    ///
    /// The request bypasses the rate limit and the observer, and has no time limit.
    pub(crate) async fn probe(&self) -> Result<u16, String> {
        let request = Request::get("/version").body(Vec::new()).map_err(|error| error.to_string())?;
        self.exchange(request).await.map(|(status, ..)| status).map_err(|(_, message)| message)
    }

    /// Sends a request, once, and returns the JSON of a 2xx answer.
    pub(crate) async fn send<T: DeserializeOwned>(
        &self,
        call: &Call<'_>,
        request: Request<Vec<u8>>,
    ) -> Result<T, Refusal> {
        if let Some(limit) = &self.rate_limit {
            limit.acquire().await;
        }
        let span = call.span();
        let end = self.observer.as_ref().map(|observer| observer());
        let start = Instant::now();
        let exchange = tokio::time::timeout(self.timeout, self.exchange(request)).instrument(span.clone());
        let mut warnings = Vec::new();
        let (status, is_answered, answer) = match exchange.await {
            Ok(Ok((status, headers, body))) => {
                warnings = self.warnings.new_in(&headers, call.object);
                (Some(status), true, body.ok_or_else(|| answer_too_long(status)).and_then(|body| read(status, &body)))
            }
            Ok(Err((status, message))) => (status, false, Err(Refusal::Lost { status, message })),
            Err(_) => {
                let message = format!("no answer within {} s", self.timeout.as_secs_f32());
                (None, false, Err(Refusal::Lost { status: None, message }))
            }
        };

        if let Some(status) = status {
            span.record("http.response.status_code", status);
        }
        if let Err(refusal) = &answer {
            span.record("error.type", refusal.error_type());
        }
        for warning in &warnings {
            let object = call.object;
            tracing::warn!(
                k8s.kind = object.kind.kind,
                k8s.namespace.name = object.namespace,
                k8s.name = object.name,
                "the API server warns: {warning}"
            );
        }
        if let Some(end) = end {
            let (kind, duration) = (&call.object.kind.kind, start.elapsed());
            end(&CallRecord { verb: call.verb, kind, status, is_answered, duration, warnings: warnings.len() });
        }
        answer
    }

    /// Returns the status, the headers and the body; the body is `None` if it is above the limit. Fails with
    /// the status, if one arrived, and a message.
    async fn exchange(
        &self,
        request: Request<Vec<u8>>,
    ) -> Result<(u16, HeaderMap, Option<Vec<u8>>), (Option<u16>, String)> {
        let response = self.client.send(request.map(Into::into)).await.map_err(|error| (None, chain(&error)))?;
        let status = response.status().as_u16();
        let (parts, mut answer) = response.into_parts();
        let mut body = Vec::with_capacity(USUAL_ANSWER);
        while let Some(frame) = answer.frame().await {
            let frame = frame.map_err(|error| (Some(status), format!("the answer was cut: {}", chain(&error))))?;
            let Ok(chunk) = frame.into_data() else { continue };
            if body.len() + chunk.len() > ANSWER_LIMIT {
                return Ok((status, parts.headers, None));
            }
            body.extend_from_slice(&chunk);
        }
        Ok((status, parts.headers, Some(body)))
    }
}

fn answer_too_long(status: u16) -> Refusal {
    let message = format!(
        "the answer is longer than {} MiB; delete objects that are not needed, or make the objects smaller",
        ANSWER_LIMIT / 1024 / 1024
    );
    Refusal::Lost { status: Some(status), message }
}

fn read<T: DeserializeOwned>(status: u16, body: &[u8]) -> Result<T, Refusal> {
    if !(200..300).contains(&status) {
        return Err(Refusal::answered(status, body));
    }
    let lost = |error: &dyn std::fmt::Display| Refusal::Lost {
        status: Some(status),
        message: format!("the answer is not JSON: {error}"),
    };
    // A text is checked at once; bytes would be checked again in each of the thousands of strings of a list.
    let text = std::str::from_utf8(body).map_err(|error| lost(&error))?;
    serde_json::from_str(text).map_err(|error| lost(&error))
}

/// Prints a client error with its causes, without the text that the client puts before the error of its connection.
fn chain(error: &kube::Error) -> String {
    if let kube::Error::Service(error) = error {
        return Chain(&**error).to_string();
    }
    Chain(error).to_string()
}
