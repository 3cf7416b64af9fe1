//! Events from a RabbitMQ queue.
//!
//! In: messages of one durable queue that is bound to one durable exchange, both declared exactly as the Go
//! adapter declares them, so that either can take over the other's queue. Out: events in the queue's order.
//!
//! **One channel, many events.** The Go adapter opens a channel per parallel handler. Here one channel with a
//! prefetch of many feeds handlers that run side by side. Two channels on one queue would be handed two events of
//! one resource at the same moment, and nobody could say which of them is the older; one channel delivers in the
//! queue's order. Nor are acknowledgements a bottleneck: each is one small frame, and a pass takes many round trips.
//!
//! The first connection must succeed, for a mistake in the configuration shall show at once. A connection that is lost
//! or given up later is sought again for ever. What was unsettled then is delivered again by the broker, so that whatever is
//! still said about it is dropped quietly.

use std::num::NonZeroU16;
use std::time::Duration;

use lapin::ExchangeKind;
use lifecycle_errors::Chain;
use tokio::sync::{mpsc, watch};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

pub use self::session::RabbitMqError;
use self::session::{Ended, Session};
pub use self::url::{BrokerUrl, BrokerUrlError};
use super::{Incoming, Input, InputState};
use crate::backoff::Backoff;
pub use crate::config::broker::ExchangeType;

mod message;
mod session;
mod url;

/// What a consumer needs to know.
#[derive(Debug, Clone)]
pub struct RabbitMqOptions {
    /// Where the broker is.
    pub url: BrokerUrl,
    /// What is consumed.
    pub topology: Topology,
    /// The most messages that are here unsettled at a time. Never unlimited: that would be the whole queue.
    pub prefetch: NonZeroU16,
    /// The consumer's tag; empty lets the broker choose one.
    pub consumer_tag: String,
    /// How the broker's own tools show the connection.
    pub connection_name: String,
}

/// The exchange, the queue, and the empty routing key between them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Topology {
    exchange: String,
    exchange_type: ExchangeType,
    queue: String,
}

impl Topology {
    /// Names what belongs to a subscription: the queue is `<queue or topic>-<subscription_id>`, the exchange
    /// `<exchange or topic>`. An empty text stands for an absent one.
    #[must_use]
    pub fn new(
        topic: &str,
        subscription_id: &str,
        exchange: Option<&str>,
        exchange_type: ExchangeType,
        queue: Option<&str>,
    ) -> Self {
        let or_topic = |name: Option<&str>| name.filter(|name| !name.is_empty()).unwrap_or(topic).to_owned();
        Self { exchange: or_topic(exchange), exchange_type, queue: format!("{}-{subscription_id}", or_topic(queue)) }
    }

    /// The exchange's name.
    #[must_use]
    pub fn exchange(&self) -> &str {
        &self.exchange
    }

    /// The exchange's type.
    #[must_use]
    pub fn exchange_type(&self) -> ExchangeType {
        self.exchange_type
    }

    /// The queue's name.
    #[must_use]
    pub fn queue(&self) -> &str {
        &self.queue
    }
}

impl ExchangeType {
    pub(super) fn kind(self) -> ExchangeKind {
        match self {
            Self::Direct => ExchangeKind::Direct,
            Self::Fanout => ExchangeKind::Fanout,
            Self::Topic => ExchangeKind::Topic,
            Self::Headers => ExchangeKind::Headers,
        }
    }
}

/// A consumer that is connected.
#[derive(Debug)]
pub struct RabbitMqInput {
    options: RabbitMqOptions,
    /// None between two runs.
    session: Option<Session>,
    state: watch::Sender<InputState>,
}

impl RabbitMqInput {
    /// Connects, declares the topology and starts to consume. `state` is kept up to date from then on.
    ///
    /// # Errors
    /// The broker cannot be reached, refuses the user, or has the exchange or queue with other properties.
    pub async fn connect(options: RabbitMqOptions, state: watch::Sender<InputState>) -> Result<Self, RabbitMqError> {
        let session = Session::open(&options).await?;
        state.send_replace(InputState::Connected);
        Ok(Self { options, session: Some(session), state })
    }
}

impl Input for RabbitMqInput {
    async fn run(&mut self, inbox: &mpsc::Sender<Incoming>, stop: &CancellationToken) {
        let Self { options, session, state } = self;
        let mut backoff = Backoff::new();
        // Nothing was lost: the first attempt of a run need not wait.
        let mut delay = Duration::ZERO;
        loop {
            let mut current = match session.take() {
                Some(opened) => opened,
                None => {
                    let opening = reconnect(options, delay, &mut backoff, inbox, state);
                    let Some(Some(opened)) = stop.run_until_cancelled(opening).await else { return };
                    state.send_replace(InputState::Connected);
                    tracing::info!(broker = %options.url, queue = options.topology.queue(), "consuming again");
                    opened
                }
            };
            let connected_at = Instant::now();
            match current.pump(inbox, stop, state).await {
                Ended::Stopped => return,
                Ended::Lost(reason) => {
                    state.send_replace(InputState::Disconnected);
                    tracing::warn!(broker = %options.url, queue = options.topology.queue(), error = %reason, "lost the broker, reconnecting");
                }
            }
            backoff.connected_for(connected_at.elapsed());
            delay = backoff.delay(fastrand::f64());
            // If only the consumer was lost, closing gives back what it held before another one asks for it.
            drop(current);
        }
    }
}

/// Tries until it succeeds, for the first time after `delay`. `None` if nobody wants events any more.
async fn reconnect(
    options: &RabbitMqOptions,
    mut delay: Duration,
    backoff: &mut Backoff,
    inbox: &mpsc::Sender<Incoming>,
    state: &watch::Sender<InputState>,
) -> Option<Session> {
    loop {
        tokio::select! {
            () = tokio::time::sleep(delay) => {}
            () = inbox.closed() => return None,
        }
        match Session::open(options).await {
            Ok(session) => return Some(session),
            Err(error) => {
                let error = Chain(&error).to_string();
                state.send_replace(InputState::Disconnected);
                tracing::warn!(broker = %options.url, waited_seconds = delay.as_secs_f64(), error, "broker still out of reach");
                delay = backoff.delay(fastrand::f64());
            }
        }
    }
}

/// A broker that accepts a connection and then says nothing must not hold up a start or a reconnection.
const OPEN_TIMEOUT: Duration = Duration::from_secs(30);
/// A broker that does not answer must not hold up a shutdown: closing the socket requeues as well.
const CLOSE_TIMEOUT: Duration = Duration::from_secs(5);
/// As the Go client's. The broker's own suggestion of a minute leaves a dead connection unnoticed for two.
const HEARTBEAT_SECONDS: u16 = 10;
/// The largest frame, unless the address says otherwise (`?frame_max=`): RabbitMQ's own default.
///
/// Not left to the broker to say: the client would make room for 64 frames once it knows, and write zeros all over
/// it, 8 MiB that an idle adapter never uses. What it reserves for a size that it is told before is not touched
/// until it is needed. Not smaller either: a message whose headers are longer than a frame breaks the
/// connection, each time that it is delivered.
const FRAME_BYTES: u32 = 128 * 1024;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_those_that_the_go_adapter_declares() {
        let cases = [
            ("topic alone", None, None, "ns-clusters", "ns-clusters-job"),
            ("empty texts are absent", Some(""), Some(""), "ns-clusters", "ns-clusters-job"),
            ("a static exchange", Some("events"), None, "events", "ns-clusters-job"),
            ("a queue equal to the subscription", None, Some("job"), "ns-clusters", "job-job"),
        ];
        for (name, exchange, queue, expected_exchange, expected_queue) in cases {
            let topology = Topology::new("ns-clusters", "job", exchange, ExchangeType::Topic, queue);
            assert_eq!((topology.exchange(), topology.queue()), (expected_exchange, expected_queue), "{name}");
        }
    }
}
