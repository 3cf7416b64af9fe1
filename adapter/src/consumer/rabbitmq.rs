//! Events from a RabbitMQ queue.
//!
//! In: messages of one durable queue, bound to one durable exchange. Both are declared exactly as the Go
//! adapter declares them, so that either adapter can consume the other's queue. Out: events in the queue's
//! order.
//!
//! **One channel, many events.** The Go adapter opens one channel for each parallel handler. This consumer
//! opens a single channel with a higher prefetch count. Two channels on one queue could receive two events of
//! one API resource at the same moment, and the order of the two would be lost; one channel delivers in the
//! queue's order. One channel is fast enough: an acknowledgement is one small frame, and a pass takes many
//! round trips.
//!
//! The first connection must succeed, so that a wrong configuration stops the start. After a lost connection
//! the consumer reconnects without a limit of attempts. RabbitMQ redelivers every message that was unsettled at
//! that moment, so that a later settlement of the first delivery has no effect.

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

/// The settings of a RabbitMQ consumer.
#[derive(Debug, Clone)]
pub struct RabbitMqOptions {
    /// The URL at which the consumer connects to the broker.
    pub url: BrokerUrl,
    /// The exchange and the queue to declare and consume.
    pub topology: Topology,
    /// The largest number of unsettled messages. Zero would mean no limit in AMQP, so that the broker could
    /// send the whole queue.
    pub prefetch: NonZeroU16,
    /// The consumer tag; the broker chooses one if empty.
    pub consumer_tag: String,
    /// The connection's name in RabbitMQ's management tools.
    pub connection_name: String,
}

/// An exchange and a queue, bound with the empty routing key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Topology {
    exchange: String,
    exchange_type: ExchangeType,
    queue: String,
}

impl Topology {
    /// Derives the names of a subscription: the queue is `<queue or topic>-<subscription_id>`, the exchange is
    /// `<exchange or topic>`. An empty text counts as absent.
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

    /// The name of the exchange that the queue is bound to.
    #[must_use]
    pub fn exchange(&self) -> &str {
        &self.exchange
    }

    /// The type with which the exchange is declared.
    #[must_use]
    pub fn exchange_type(&self) -> ExchangeType {
        self.exchange_type
    }

    /// The name of the queue that the adapter consumes.
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

/// A RabbitMQ consumer whose first session is open, so that it can receive events.
#[derive(Debug)]
pub struct RabbitMqInput {
    options: RabbitMqOptions,
    /// `None` between two calls of `run`.
    session: Option<Session>,
    state: watch::Sender<InputState>,
}

impl RabbitMqInput {
    /// Connects, declares exchange and queue, and starts to consume. From then on, keeps `state` up to date.
    ///
    /// # Errors
    /// The broker does not answer, refuses the user, or has the exchange or queue with other properties.
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
        // The first attempt needs no delay, because no connection was lost yet.
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
            match current.forward(inbox, stop, state).await {
                Ended::Stopped => return,
                Ended::Lost(reason) => {
                    state.send_replace(InputState::Disconnected);
                    tracing::warn!(broker = %options.url, queue = options.topology.queue(), error = %reason, "lost the broker, reconnecting");
                }
            }
            backoff.connected_for(connected_at.elapsed());
            delay = backoff.delay(fastrand::f64());
            // If only the consumer was cancelled, the connection still holds its messages. Close the connection
            // first, so that the broker requeues them before the next consumer starts.
            drop(current);
        }
    }
}

/// Connects again, first after `delay`, until it succeeds. Returns `None` if the adapter takes no more events.
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

/// A broker that accepts the connection but does not answer must not block the start or a reconnection.
const OPEN_TIMEOUT: Duration = Duration::from_secs(30);
/// A broker that does not answer must not block the shutdown. Closing the socket requeues the messages as well.
const CLOSE_TIMEOUT: Duration = Duration::from_secs(5);
/// The heartbeat interval of the Go client. With the broker's default of 60 s, a dead connection stays
/// unnoticed for up to 120 s.
const HEARTBEAT_SECONDS: u16 = 10;
/// The largest AMQP frame, unless the URL sets `frame_max`. The value is RabbitMQ's default.
///
/// The client proposes the size instead of taking it from the broker: if the client learns the size only from
/// the broker, it allocates a buffer of 64 frames and fills it with zeros, 8 MiB that an idle adapter never
/// uses. For a size known in advance it allocates the buffer without touching the memory. A smaller frame is no
/// choice: a message whose headers exceed one frame breaks the connection at each delivery.
const FRAME_BYTES: u32 = 128 * 1024;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn topology_names_equal_the_go_adapters() {
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
