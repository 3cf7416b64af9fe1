//! One session with the broker: connects, consumes, and settles messages until the connection is lost or
//! closed.

use std::error::Error;
use std::fmt;

use futures::StreamExt;
use futures::stream::FuturesUnordered;
use lapin::options::{
    BasicAckOptions, BasicCancelOptions, BasicConsumeOptions, BasicQosOptions, BasicRejectOptions,
    ExchangeDeclareOptions, QueueBindOptions, QueueDeclareOptions,
};
use lapin::protocol::{AMQPErrorKind, AMQPSoftError};
use lapin::types::{FieldTable, ShortString};
use lapin::{Acker, Channel, Connection, ConnectionProperties, Consumer, ErrorKind};
use tokio::sync::{mpsc, watch};
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;

use super::message::message_of;
use super::{CLOSE_TIMEOUT, OPEN_TIMEOUT, RabbitMqOptions, Topology};
use crate::consumer::{Disposition, Incoming, InputState, Settled};

/// Why a session could not start.
#[derive(Debug, thiserror::Error)]
pub enum RabbitMqError {
    /// A name is longer than AMQP allows.
    #[error("{what} name of {bytes} bytes is longer than the 255 that AMQP allows: {name}")]
    NameTooLong {
        /// The kind of name, such as `queue`.
        what: &'static str,
        /// The name that is too long.
        name: String,
        /// The length of the name in bytes.
        bytes: usize,
    },
    /// The connection to the broker could not be opened.
    #[error("failed to connect to the broker at {broker}")]
    Connect {
        /// The broker's URL, without credentials.
        broker: String,
        /// The AMQP library's error, such as a refused login.
        source: Cause,
    },
    /// The broker accepted the connection, but sent no response.
    #[error("broker at {broker} did not answer within {} seconds", OPEN_TIMEOUT.as_secs())]
    Silent {
        /// The broker's URL, without credentials.
        broker: String,
    },
    /// The exchange exists with other properties.
    #[error(
        "exchange `{exchange}` exists with other properties than durable and of type `{exchange_type}`; \
         set broker.rabbitmq.exchange_type to the type that its publisher declares, or delete the exchange"
    )]
    ExchangeMismatch {
        /// The name of the existing exchange.
        exchange: String,
        /// The configured type, with which the existing exchange was declared again.
        exchange_type: &'static str,
        /// The error with which the broker refused the declaration.
        source: Cause,
    },
    /// The queue exists with other properties.
    #[error(
        "queue `{queue}` exists with other properties than durable and without arguments; \
         delete it, or choose another one by broker.rabbitmq.queue or clients.broker.subscription_id"
    )]
    QueueMismatch {
        /// The name of the existing queue.
        queue: String,
        /// The error with which the broker refused the declaration.
        source: Cause,
    },
    /// The broker refused another step.
    #[error("failed to {step}")]
    Setup {
        /// The step, as the object of "failed to".
        step: String,
        /// The AMQP library's error at this step.
        source: Cause,
    },
}

/// The client library's error, without its sources, because those repeat the same text.
#[derive(Debug)]
pub struct Cause(lapin::Error);

impl fmt::Display for Cause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl Error for Cause {}

impl Cause {
    fn is_precondition_failed(&self) -> bool {
        matches!(self.0.kind(), ErrorKind::ProtocolError(error)
            if *error.kind() == AMQPErrorKind::Soft(AMQPSoftError::PRECONDITIONFAILED))
    }
}

/// The end of a session with the broker, by which the consumer decides whether to reconnect.
#[derive(Debug)]
pub(super) enum Ended {
    /// The input was stopped. Every message is settled, and the connection is closed.
    Stopped,
    /// The connection or the consumer was lost, for this reason.
    Lost(String),
}

/// A consumer with its channel and connection. Dropping the session closes the channel.
#[derive(Debug)]
pub(super) struct Session {
    connection: Connection,
    channel: Channel,
    consumer: Consumer,
}

impl Session {
    pub(super) async fn open(options: &RabbitMqOptions) -> Result<Self, RabbitMqError> {
        let silent = |_| RabbitMqError::Silent { broker: options.url.to_string() };
        timeout(OPEN_TIMEOUT, Self::open_unbounded(options)).await.map_err(silent)?
    }

    async fn open_unbounded(options: &RabbitMqOptions) -> Result<Self, RabbitMqError> {
        let exchange = short_string("exchange", options.topology.exchange())?;
        let queue = short_string("queue", options.topology.queue())?;
        let tag = short_string("consumer tag", &options.consumer_tag)?;

        let properties = ConnectionProperties::default().with_connection_name(options.connection_name.as_str().into());
        let connection = Connection::connect_uri(options.url.uri(), properties)
            .await
            .map_err(|error| RabbitMqError::Connect { broker: options.url.to_string(), source: Cause(error) })?;
        let channel = connection.create_channel().await.map_err(step("open a channel"))?;
        declare(&channel, &options.topology, &exchange, &queue).await?;
        channel
            .basic_qos(options.prefetch.get(), BasicQosOptions::default())
            .await
            .map_err(step("set the prefetch count"))?;
        let consumer = channel
            .basic_consume(queue.clone(), tag, BasicConsumeOptions::default(), FieldTable::default())
            .await
            .map_err(step(format!("consume from queue `{queue}`")))?;
        Ok(Self { connection, channel, consumer })
    }

    /// Sends deliveries to `inbox` and settles them, until `stop` or until the connection is lost.
    pub(super) async fn forward(
        &mut self,
        inbox: &mpsc::Sender<Incoming>,
        stop: &CancellationToken,
        state: &watch::Sender<InputState>,
    ) -> Ended {
        let mut settling = FuturesUnordered::new();
        loop {
            tokio::select! {
                // Check for the stop first: otherwise a message that the shutdown requeues could be delivered
                // to this consumer again.
                biased;
                () = stop.cancelled() => break,
                () = inbox.closed() => break,
                Some(()) = settling.next() => {}
                delivery = self.consumer.next() => match delivery {
                    Some(Ok(mut delivery)) => {
                        let (incoming, settled) = Incoming::new(message_of(&mut delivery));
                        settling.push(settle(delivery.acker, settled));
                        // If the dispatcher has closed the inbox, the event is dropped, which requeues its
                        // message. The next iteration then ends the loop.
                        let _ = inbox.send(incoming).await;
                    }
                    Some(Err(error)) => return Ended::Lost(error.to_string()),
                    None => return Ended::Lost("the broker cancelled the consumer; was its queue deleted?".to_owned()),
                }
            }
        }
        // Report the disconnection before the running passes end, because no event can arrive while they run.
        state.send_replace(InputState::Disconnected);
        // Cancel the consumer, so that the broker delivers no more. If that fails, the connection is lost, and
        // the broker delivers nothing either.
        let _ = self.channel.basic_cancel(self.consumer.tag(), BasicCancelOptions::default()).await;
        while let Some(()) = settling.next().await {}
        drop(settling);
        let close = self.connection.close(200, "unsubscribing".into());
        let _ = timeout(CLOSE_TIMEOUT, close).await;
        Ended::Stopped
    }
}

async fn declare(
    channel: &Channel,
    topology: &Topology,
    exchange: &ShortString,
    queue: &ShortString,
) -> Result<(), RabbitMqError> {
    let durable = ExchangeDeclareOptions { durable: true, ..ExchangeDeclareOptions::default() };
    channel
        .exchange_declare(exchange.clone(), topology.exchange_type().kind(), durable, FieldTable::default())
        .await
        .map_err(|error| match Cause(error) {
        source if source.is_precondition_failed() => RabbitMqError::ExchangeMismatch {
            exchange: exchange.to_string(),
            exchange_type: topology.exchange_type().as_str(),
            source,
        },
        source => RabbitMqError::Setup { step: format!("declare exchange `{exchange}`"), source },
    })?;
    let durable = QueueDeclareOptions { durable: true, ..QueueDeclareOptions::default() };
    channel.queue_declare(queue.clone(), durable, FieldTable::default()).await.map_err(|error| match Cause(error) {
        source if source.is_precondition_failed() => RabbitMqError::QueueMismatch { queue: queue.to_string(), source },
        source => RabbitMqError::Setup { step: format!("declare queue `{queue}`"), source },
    })?;
    let no_key = ShortString::default();
    channel
        .queue_bind(queue.clone(), exchange.clone(), no_key, QueueBindOptions::default(), FieldTable::default())
        .await
        .map_err(step(format!("bind queue `{queue}` to exchange `{exchange}`")))
}

fn step(step: impl Into<String>) -> impl FnOnce(lapin::Error) -> RabbitMqError {
    |error| RabbitMqError::Setup { step: step.into(), source: Cause(error) }
}

/// Converts a name, because the client library's own conversion panics on one that is too long.
fn short_string(what: &'static str, name: &str) -> Result<ShortString, RabbitMqError> {
    ShortString::try_new(name).map_err(|_| RabbitMqError::NameTooLong {
        what,
        name: name.to_owned(),
        bytes: name.len(),
    })
}

async fn settle(acker: Acker, settled: Settled) {
    let settled = match settled.await {
        Disposition::Ack => acker.ack(BasicAckOptions::default()).await,
        Disposition::Requeue => acker.reject(BasicRejectOptions { requeue: true }).await,
        Disposition::DeadLetter { .. } => acker.reject(BasicRejectOptions { requeue: false }).await,
    };
    match settled {
        Ok(true) => {}
        Ok(false) => {
            tracing::debug!("a message was not settled, because its channel is closed: the broker redelivers it")
        }
        Err(error) => tracing::debug!(%error, "failed to settle a message: the broker redelivers it"),
    }
}
