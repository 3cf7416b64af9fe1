//! Events over HTTP: the CloudEvents HTTP binding at `/`.
//!
//! In: POST requests, in structured mode (`content-type: application/cloudevents+json`) or binary mode (`ce-…`
//! headers). Out: the events. The response follows when the pass has ended:
//!
//! | status | meaning |
//! | --- | --- |
//! | 204 | the pass has ended, whatever its result; or a newer event of the resource replaced this one |
//! | 400 | the event can never succeed; the body says why |
//! | 408, 413, 415 | the body was too slow, too large, or in neither mode |
//! | 429 | the input has its maximum of unsettled events; try again after `Retry-After` |
//! | 503 | the adapter is shutting down, or a dependency does not answer; try again after `Retry-After` |
//!
//! The input does not authenticate: whoever reaches the address may send events. Batches are not supported.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use ::http::{HeaderMap, StatusCode, header};
use axum::Router;
use axum::extract::{DefaultBodyLimit, Request, State};
use axum::response::{IntoResponse, Response};
use axum::routing::post;
use bytes::Bytes;
use lifecycle_core::event::MAX_EVENT_BYTES;
use lifecycle_service::http::{Limits, ListenError, Listener, whole_body};
use tokio::sync::{Semaphore, mpsc};
use tokio_util::sync::CancellationToken;

use super::{Disposition, Incoming, Message};

/// The time that the last responses may take to reach their clients after every event is settled.
const CLOSE_TIMEOUT: Duration = Duration::from_secs(2);
const RETRY_AFTER_SECONDS: u32 = 1;
const STRUCTURED: &str = "application/cloudevents+json";
const ATTRIBUTE_PREFIX: &str = "ce-";

/// The HTTP server that receives events.
#[derive(Debug)]
pub struct HttpInput {
    listener: Listener,
    max_unsettled: usize,
}

impl HttpInput {
    /// Listens on `address`. The input holds at most `max_unsettled` events at a time.
    ///
    /// # Errors
    /// The address cannot be bound.
    pub async fn bind(address: SocketAddr, max_unsettled: usize) -> Result<Self, ListenError> {
        let listener = Listener::bind(address, "events").await?;
        let max_unsettled = max_unsettled.clamp(1, Semaphore::MAX_PERMITS);
        Ok(Self { listener, max_unsettled })
    }

    /// The address that the server listens on, with the port that the system chose for port 0.
    #[must_use]
    pub fn local_addr(&self) -> SocketAddr {
        self.listener.address()
    }

    /// Sends events to `inbox` until `stop`, then waits until every event it sent is settled.
    pub async fn run(self, inbox: mpsc::Sender<Incoming>, stop: CancellationToken) {
        let permits = Arc::new(Semaphore::new(self.max_unsettled));
        let router = router(Intake { inbox, permits: Arc::clone(&permits), stop: stop.clone() });
        let limits = Limits::default();
        // Every unsettled event occupies a connection. Allow as many again, so that further clients get their
        // 429 at once instead of waiting for a connection.
        let connections = limits.connections.max(self.max_unsettled.saturating_mul(2));
        let server = self.listener.serve(router, Limits { connections, ..limits });
        stop.cancelled().await;
        server.close();
        let everything = u32::try_from(self.max_unsettled).unwrap_or(u32::MAX);
        let _ = permits.acquire_many(everything).await;
        server.stop(CLOSE_TIMEOUT).await;
    }
}

#[derive(Clone)]
struct Intake {
    inbox: mpsc::Sender<Incoming>,
    permits: Arc<Semaphore>,
    stop: CancellationToken,
}

impl Intake {
    /// Answers a request whose body the input does not take, and lets the dispatcher log and count it.
    async fn refuse(&self, response: Response, reason: String) -> Response {
        let (incoming, _) = Incoming::new(Message::Refused(reason));
        match self.inbox.send(incoming).await {
            Ok(()) => response,
            Err(_) => unavailable(),
        }
    }
}

fn router(intake: Intake) -> Router {
    Router::new().route("/", post(receive)).layer(DefaultBodyLimit::max(MAX_EVENT_BYTES)).with_state(intake)
}

async fn receive(State(intake): State<Intake>, request: Request) -> Response {
    if intake.stop.is_cancelled() {
        return unavailable();
    }
    // Take the permit before reading the body, so that the limit also bounds the bodies in memory.
    let Ok(permit) = Arc::clone(&intake.permits).try_acquire_owned() else {
        return retry_later(StatusCode::TOO_MANY_REQUESTS, "too many events are being processed");
    };
    let Some(mode) = Mode::of(request.headers()) else {
        let text = "send one CloudEvent: content-type application/cloudevents+json, or ce-specversion and the other ce- headers";
        let response = (StatusCode::UNSUPPORTED_MEDIA_TYPE, text).into_response();
        return intake.refuse(response, format!("HTTP status 415: {text}")).await;
    };
    let body = match whole_body(request).await {
        Ok(body) => body,
        Err(response) => {
            let reason = format!(
                "HTTP status {}: the body was refused, the limit is {MAX_EVENT_BYTES} bytes",
                response.status()
            );
            return intake.refuse(response, reason).await;
        }
    };
    let (incoming, settled) = Incoming::new(mode.message(body));
    if intake.inbox.send(incoming).await.is_err() {
        return unavailable();
    }
    // Hyper drops this handler when the client disconnects. The task keeps the permit until the event is
    // settled.
    let settled = tokio::spawn(async move {
        let disposition = settled.await;
        drop(permit);
        disposition
    });
    match settled.await {
        Ok(Disposition::Ack) => StatusCode::NO_CONTENT.into_response(),
        Ok(Disposition::DeadLetter { reason }) => (StatusCode::BAD_REQUEST, reason).into_response(),
        Ok(Disposition::Requeue) | Err(_) => unavailable(),
    }
}

fn unavailable() -> Response {
    retry_later(StatusCode::SERVICE_UNAVAILABLE, "no events are taken now")
}

fn retry_later(status: StatusCode, text: &'static str) -> Response {
    (status, [(header::RETRY_AFTER, RETRY_AFTER_SECONDS.to_string())], text).into_response()
}

/// The mode of the CloudEvents HTTP binding in which a request carries its event.
enum Mode {
    Structured,
    Binary(Vec<(String, String)>),
}

impl Mode {
    /// Reads the mode from the headers; `None` for a request without an event, or with a batch.
    fn of(headers: &HeaderMap) -> Option<Self> {
        let content_type = headers.get(header::CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default();
        let media_type = content_type.split(';').next().unwrap_or_default().trim();
        if media_type.eq_ignore_ascii_case(STRUCTURED) {
            return Some(Self::Structured);
        }
        headers.get("ce-specversion")?;
        let attributes = headers.iter().filter_map(|(name, value)| {
            let name = name.as_str().strip_prefix(ATTRIBUTE_PREFIX)?;
            Some((name.to_owned(), decode(value.as_bytes())))
        });
        Some(Self::Binary(attributes.collect()))
    }

    fn message(self, body: Bytes) -> Message {
        match self {
            Self::Structured => Message::Structured(body),
            Self::Binary(attributes) => Message::Binary { attributes, body },
        }
    }
}

/// Decodes a header value of the binding: strips quotes, then percent-decodes. An invalid escape is kept as it
/// is.
fn decode(value: &[u8]) -> String {
    let quoted = value.len() >= 2 && value.starts_with(b"\"") && value.ends_with(b"\"");
    let inner = if quoted { &value[1..value.len() - 1] } else { value };
    let mut decoded = Vec::with_capacity(inner.len());
    let mut rest = inner;
    while let Some((&byte, tail)) = rest.split_first() {
        let (byte, tail) = match (byte, tail) {
            (b'\\', [escaped, tail @ ..]) if quoted => (*escaped, tail),
            (b'%', [high, low, tail @ ..]) => match (hex(*high), hex(*low)) {
                (Some(high), Some(low)) => (high << 4 | low, tail),
                _ => (byte, &rest[1..]),
            },
            _ => (byte, tail),
        };
        decoded.push(byte);
        rest = tail;
    }
    String::from_utf8_lossy(&decoded).into_owned()
}

fn hex(digit: u8) -> Option<u8> {
    let value = char::from(digit).to_digit(16)?;
    u8::try_from(value).ok()
}

#[cfg(test)]
mod tests;
