//! One connection to the broker, from its handshake to its loss.

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

/// A session with the broker that did not come about.
#[derive(Debug, thiserror::Error)]
pub enum RabbitMqError {
    /// A name that does not fit into the protocol.
    #[error("{what} name of {bytes} bytes is longer than the 255 that AMQP allows: {name}")]
    NameTooLong {
        /// What bears the name.
        what: &'static str,
        /// The name.
        name: String,
        /// Its length.
        bytes: usize,
    },
    /// There is no connection.
    #[error("failed to connect to the broker at {broker}")]
    Connect {
        /// Where it was sought.
        broker: String,
        /// Why.
        source: Cause,
    },
    /// The broker accepted the connection and fell silent.
    #[error("broker at {broker} did not answer within {} seconds", OPEN_TIMEOUT.as_secs())]
    Silent {
        /// Where it was sought.
        broker: String,
    },
    /// The exchange exists and is another one.
    #[error(
        "exchange `{exchange}` exists with other properties than durable and of type `{exchange_type}`; \
         set broker.rabbitmq.exchange_type to the type that its publisher declares, or delete the exchange"
    )]
    ExchangeMismatch {
        /// The exchange's name.
        exchange: String,
        /// The type that was asked for.
        exchange_type: &'static str,
        /// The broker's words.
        source: Cause,
    },
    /// The queue exists and is another one.
    #[error(
        "queue `{queue}` exists with other properties than durable and without arguments; \
         delete it, or choose another one by broker.rabbitmq.queue or clients.broker.subscription_id"
    )]
    QueueMismatch {
        /// The queue's name.
        queue: String,
        /// The broker's words.
        source: Cause,
    },
    /// The broker refused one of the other steps.
    #[error("failed to {step}")]
    Setup {
        /// What was tried.
        step: String,
        /// Why it failed.
        source: Cause,
    },
}

/// The client library's error as the last link of a chain: its own sources only repeat what it says.
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

/// Why a session ended.
#[derive(Debug)]
pub(super) enum Ended {
    /// It was asked to, or nobody takes events any more. Everything is settled and the connection closed.
    Stopped,
    /// The broker went away, for this reason.
    Lost(String),
}

/// A consumer on its channel on its connection. The channel closes when the last handle on it is dropped.
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
        let exchange = short("exchange", options.topology.exchange())?;
        let queue = short("queue", options.topology.queue())?;
        let tag = short("consumer tag", &options.consumer_tag)?;

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

    /// Hands on what arrives and carries back what became of it, until `stop` or the connection's loss.
    pub(super) async fn pump(
        &mut self,
        inbox: &mpsc::Sender<Incoming>,
        stop: &CancellationToken,
        state: &watch::Sender<InputState>,
    ) -> Ended {
        let mut settling = FuturesUnordered::new();
        loop {
            tokio::select! {
                // Before anything else, lest a message that is requeued for the shutdown be delivered here again.
                biased;
                () = stop.cancelled() => break,
                () = inbox.closed() => break,
                Some(()) = settling.next() => {}
                delivery = self.consumer.next() => match delivery {
                    Some(Ok(mut delivery)) => {
                        let (incoming, settled) = Incoming::new(message_of(&mut delivery));
                        settling.push(settle(delivery.acker, settled));
                        // A closed inbox has dropped the event, which requeues it; the next turn sees it closed.
                        let _ = inbox.send(incoming).await;
                    }
                    Some(Err(error)) => return Ended::Lost(error.to_string()),
                    None => return Ended::Lost("the broker cancelled the consumer; was its queue deleted?".to_owned()),
                }
            }
        }
        // The passes that run may take until their deadline, and no event can arrive meanwhile.
        state.send_replace(InputState::Disconnected);
        // No more deliveries from here on; if the connection is gone there are none either.
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

/// The conversion of the client library panics on what is too long.
fn short(what: &'static str, name: &str) -> Result<ShortString, RabbitMqError> {
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
        Ok(false) => tracing::debug!("not settled: the channel is gone, the broker delivers the message again"),
        Err(error) => tracing::debug!(%error, "not settled, the broker delivers the message again"),
    }
}
