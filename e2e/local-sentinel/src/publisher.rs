//! Publishes events to RabbitMQ, and keeps the connection to it.
//!
//! In: the broker's address and the exchange; then events. Out: whether a queue received each event. Fails: an event
//! that cannot be published is an error at once or after a time limit, and is not kept: the Sentinel's next poll
//! builds it again. A lost connection is opened again, with growing delays, while polls continue.

use std::time::Duration;

use lapin::options::{BasicPublishOptions, ConfirmSelectOptions, ExchangeDeclareOptions};
use lapin::types::{FieldTable, ShortString};
use lapin::{Channel, Confirmation, Connection, ConnectionProperties};
use lifecycle_errors::Chain;
use lifecycle_sentinel_event::Event;
use tokio::sync::watch;
use tokio::time::{Instant, sleep, timeout};
use tokio_util::sync::CancellationToken;
use tokio_util::task::AbortOnDropHandle;

use crate::config::{BrokerConfig, BrokerUrl};

/// The time limit of opening a connection: a broker that accepts connections and is silent must not look like one
/// that is slow.
const OPEN_TIMEOUT: Duration = Duration::from_secs(10);
/// The time limit of the broker's confirm.
const CONFIRM_TIMEOUT: Duration = Duration::from_secs(5);
/// The time limit of an orderly end of the connection.
const CLOSE_TIMEOUT: Duration = Duration::from_secs(2);
/// How often the connection's state is read. The library reports a channel that the broker closed by its state alone.
const STATE_CHECK: Duration = Duration::from_millis(250);
/// The first and the longest delay between two attempts to connect. On a developer's machine a broker that was
/// restarted must not stay unused for longer than a few polls.
const DELAYS: (Duration, Duration) = (Duration::from_millis(500), Duration::from_secs(10));

/// What became of an event that the broker confirmed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Routing {
    /// At least one queue received the event.
    Routed,
    /// No queue is bound to the exchange, so nobody will receive the event.
    Unroutable,
}

/// Why an event was not published.
#[derive(Debug, thiserror::Error)]
pub enum PublishError {
    /// There is no connection to the broker; the publisher is opening one.
    #[error("there is no connection to the broker")]
    Disconnected,
    /// The event could not be written as JSON.
    #[error("failed to write the event")]
    Event(#[from] serde_json::Error),
    /// The connection or the channel was lost.
    #[error("failed to publish: {0}")]
    Lost(lapin::Error),
    /// The broker did not confirm the event.
    #[error("the broker did not confirm the event within {CONFIRM_TIMEOUT:?}")]
    NoConfirm,
    /// The broker refused the event.
    #[error("the broker refused the event")]
    Refused,
}

/// A publisher for one exchange.
#[derive(Debug)]
pub struct Publisher {
    exchange: ShortString,
    channel: watch::Receiver<Option<Channel>>,
    stop: CancellationToken,
    connecting: AbortOnDropHandle<()>,
}

impl Publisher {
    /// Begins to connect, in the current runtime.
    #[must_use]
    pub fn start(name: &str, exchange: ShortString, broker: BrokerConfig) -> Self {
        let (state, channel) = watch::channel(None);
        let stop = CancellationToken::new();
        let target = Target { name: name.to_owned(), exchange: exchange.clone(), broker };
        let connecting = AbortOnDropHandle::new(tokio::spawn(target.keep_connected(state, stop.clone())));
        Self { exchange, channel, stop, connecting }
    }

    /// The name of the exchange.
    #[must_use]
    pub fn exchange(&self) -> &str {
        self.exchange.as_str()
    }

    /// The state of the connection: whether there is a channel.
    #[must_use]
    pub fn state(&self) -> watch::Receiver<Option<Channel>> {
        self.channel.clone()
    }

    /// Publishes an event, and waits for the broker's confirm.
    ///
    /// # Errors
    /// The broker did not confirm the event; it may have received it nevertheless.
    pub async fn publish(&self, event: &Event) -> Result<Routing, PublishError> {
        let channel = self.channel.borrow().clone().ok_or(PublishError::Disconnected)?;
        let body = event.to_bytes()?;
        let confirmed = timeout(CONFIRM_TIMEOUT, async {
            let options = BasicPublishOptions { mandatory: true, ..BasicPublishOptions::default() };
            let no_key = ShortString::default();
            let published =
                channel.basic_publish(self.exchange.clone(), no_key, options, &body, event.properties()).await;
            published?.await
        });
        match confirmed.await.map_err(|_| PublishError::NoConfirm)?.map_err(PublishError::Lost)? {
            Confirmation::Ack(None) => Ok(Routing::Routed),
            Confirmation::Ack(Some(_)) => Ok(Routing::Unroutable),
            Confirmation::Nack(_) | Confirmation::NotRequested => Err(PublishError::Refused),
        }
    }

    /// Closes the connection.
    pub async fn close(mut self) {
        self.stop.cancel();
        // After the time limit, dropping the task closes the connection without the broker's answer.
        let _ = timeout(CLOSE_TIMEOUT, &mut self.connecting).await;
    }
}

/// What the publisher connects to.
#[derive(Debug)]
struct Target {
    name: String,
    exchange: ShortString,
    broker: BrokerConfig,
}

/// A connection with a channel that has the exchange, and publisher confirms.
struct Session {
    connection: Connection,
    channel: Channel,
}

impl Target {
    /// Opens sessions one after the other, and hands their channels to `state`, until `stop`.
    async fn keep_connected(self, state: watch::Sender<Option<Channel>>, stop: CancellationToken) {
        let mut delay = DELAYS.0;
        // A failure is logged once for each outage.
        let mut is_known_down = false;
        while let Some(opened) = stop.run_until_cancelled(self.open()).await {
            match opened {
                Ok(session) => {
                    tracing::info!(broker = %self.broker.url, exchange = %self.exchange, "Connected to the broker");
                    let began = Instant::now();
                    state.send_replace(Some(session.channel.clone()));
                    let ended = stop.run_until_cancelled(session.lost()).await;
                    state.send_replace(None);
                    if ended.is_none() {
                        let _ = session.connection.close(200, "stopping".into()).await;
                        return;
                    }
                    tracing::warn!(broker = %self.broker.url, "The connection to the broker is lost, connecting again");
                    is_known_down = false;
                    // A broker that accepts and drops connections at once must still see growing delays.
                    if began.elapsed() > delay {
                        delay = DELAYS.0;
                    }
                }
                Err(error) if !is_known_down => {
                    is_known_down = true;
                    tracing::warn!(error = %Chain(error.as_ref()), "The broker cannot be used, trying again");
                }
                Err(error) => tracing::debug!(error = %Chain(error.as_ref()), "The broker still cannot be used"),
            }
            if stop.run_until_cancelled(sleep(delay)).await.is_none() {
                return;
            }
            delay = (delay * 2).min(DELAYS.1);
        }
    }

    async fn open(&self) -> anyhow::Result<Session> {
        match timeout(OPEN_TIMEOUT, self.open_unbounded()).await {
            Ok(opened) => opened,
            Err(_) => anyhow::bail!("the broker at {} did not answer within {OPEN_TIMEOUT:?}", self.broker.url),
        }
    }

    async fn open_unbounded(&self) -> anyhow::Result<Session> {
        let BrokerConfig { url, exchange_type } = &self.broker;
        // The sources of the library's errors repeat the same text, so only their own text is kept.
        let failed = |step: String| move |error: lapin::Error| anyhow::anyhow!("failed to {step}: {error}");
        let connection = self.connect(url).await.map_err(failed(format!("connect to {url}")))?;
        let channel = connection.create_channel().await.map_err(failed("open a channel".to_owned()))?;
        let durable = ExchangeDeclareOptions { durable: true, ..ExchangeDeclareOptions::default() };
        channel
            .exchange_declare(self.exchange.clone(), exchange_type.kind(), durable, FieldTable::default())
            .await
            .map_err(failed(format!(
                "declare exchange `{}` as durable and of type {} (broker.rabbitmq.exchange_type)",
                self.exchange,
                exchange_type.label(),
            )))?;
        let confirms = channel.confirm_select(ConfirmSelectOptions::default());
        confirms.await.map_err(failed("ask for confirms".to_owned()))?;
        Ok(Session { connection, channel })
    }

    async fn connect(&self, url: &BrokerUrl) -> lapin::Result<Connection> {
        let properties = ConnectionProperties::default().with_connection_name(self.name.as_str().into());
        Connection::connect_uri(url.uri(), properties).await
    }
}

impl Session {
    /// Returns when the connection or the channel is no longer open.
    async fn lost(&self) {
        while self.connection.status().connected() && self.channel.status().connected() {
            sleep(STATE_CHECK).await;
        }
    }
}
