//! Events over HTTP: the CloudEvents HTTP binding at `/`.
//!
//! In: POST requests, in structured mode (`content-type: application/cloudevents+json`) or binary mode (`ce-…`
//! headers). Out: the events; and to the sender, once the pass has ended:
//!
//! | status | meaning |
//! | --- | --- |
//! | 204 | the pass has ended, whatever its result; or a newer event of the resource made this one superfluous |
//! | 400 | the event can never succeed; the body says why |
//! | 408, 413, 415 | the body was too slow, too large, or in no mode of the binding |
//! | 429 | as many events as allowed are unsettled here; try again after `Retry-After` |
//! | 503 | shutting down before the pass has ended, or a dependency is away; try again, elsewhere or after `Retry-After` |
//!
//! It does not authenticate: who may reach the address may send events. Batches are not supported.

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

/// What the last answers may take to get out once every event is settled.
const FAREWELL: Duration = Duration::from_secs(2);
const RETRY_AFTER_SECONDS: u32 = 1;
const STRUCTURED: &str = "application/cloudevents+json";
const ATTRIBUTE_PREFIX: &str = "ce-";

/// A listener that takes events.
#[derive(Debug)]
pub struct HttpInput {
    listener: Listener,
    max_unsettled: usize,
}

impl HttpInput {
    /// Listens at `address`; at most `max_unsettled` events are here at a time.
    ///
    /// # Errors
    /// The address cannot be bound.
    pub async fn bind(address: SocketAddr, max_unsettled: usize) -> Result<Self, ListenError> {
        let listener = Listener::bind(address, "events").await?;
        let max_unsettled = max_unsettled.clamp(1, Semaphore::MAX_PERMITS);
        Ok(Self { listener, max_unsettled })
    }

    /// Where it listens.
    #[must_use]
    pub fn local_addr(&self) -> SocketAddr {
        self.listener.address()
    }

    /// Hands events to `inbox` until `stop`, then waits until every one of them is settled.
    pub async fn run(self, inbox: mpsc::Sender<Incoming>, stop: CancellationToken) {
        let places = Arc::new(Semaphore::new(self.max_unsettled));
        let router = router(Intake { inbox, places: Arc::clone(&places), stop: stop.clone() });
        let limits = Limits::default();
        // Every event here keeps a connection busy. As many are left to tell further senders at once that it is full.
        let connections = limits.connections.max(self.max_unsettled.saturating_mul(2));
        let server = self.listener.serve(router, Limits { connections, ..limits });
        stop.cancelled().await;
        server.close();
        let everything = u32::try_from(self.max_unsettled).unwrap_or(u32::MAX);
        let _ = places.acquire_many(everything).await;
        server.stop(FAREWELL).await;
    }
}

#[derive(Clone)]
struct Intake {
    inbox: mpsc::Sender<Incoming>,
    places: Arc<Semaphore>,
    stop: CancellationToken,
}

fn router(intake: Intake) -> Router {
    Router::new().route("/", post(receive)).layer(DefaultBodyLimit::max(MAX_EVENT_BYTES)).with_state(intake)
}

async fn receive(State(intake): State<Intake>, request: Request) -> Response {
    if intake.stop.is_cancelled() {
        return not_now();
    }
    // The place is taken before the body is read, so that bodies cannot pile up either.
    let Ok(place) = intake.places.try_acquire_owned() else {
        return again_later(StatusCode::TOO_MANY_REQUESTS, "too many events are being processed");
    };
    let Some(mode) = Mode::of(request.headers()) else {
        let text = "send one CloudEvent: content-type application/cloudevents+json, or ce-specversion and the other ce- headers";
        return (StatusCode::UNSUPPORTED_MEDIA_TYPE, text).into_response();
    };
    let body = match whole_body(request).await {
        Ok(body) => body,
        Err(refusal) => return refusal,
    };
    let (incoming, settled) = Incoming::new(mode.message(body));
    if intake.inbox.send(incoming).await.is_err() {
        return not_now();
    }
    // A client that hangs up ends this handler; the event goes on, and keeps its place while it does.
    let settled = tokio::spawn(async move {
        let disposition = settled.await;
        drop(place);
        disposition
    });
    match settled.await {
        Ok(Disposition::Ack) => StatusCode::NO_CONTENT.into_response(),
        Ok(Disposition::DeadLetter { reason }) => (StatusCode::BAD_REQUEST, reason).into_response(),
        Ok(Disposition::Requeue) | Err(_) => not_now(),
    }
}

fn not_now() -> Response {
    again_later(StatusCode::SERVICE_UNAVAILABLE, "no events are taken now")
}

fn again_later(status: StatusCode, text: &'static str) -> Response {
    (status, [(header::RETRY_AFTER, RETRY_AFTER_SECONDS.to_string())], text).into_response()
}

/// How a request carries its event.
enum Mode {
    Structured,
    Binary(Vec<(String, String)>),
}

impl Mode {
    /// `None` if it carries none, or a batch.
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

/// Undoes the binding's encoding of a header: an optional quoted string, then percent-encoding.
/// What is no valid escape stands for itself.
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
