//! An exchange of a test's own, used as the Sentinel uses it.

use std::time::Duration;

use anyhow::{Context, ensure};
use lapin::options::{
    BasicGetOptions, BasicPublishOptions, ConfirmSelectOptions, ExchangeDeclareOptions, QueueBindOptions,
    QueueDeclareOptions,
};
use lapin::types::{AMQPValue, FieldTable, LongString};
use lapin::{BasicProperties, Channel, Confirmation, Connection, ExchangeKind};

use super::Broker;
use crate::await_condition;
use crate::sentinel::Event;

/// The header in which the Sentinel's publisher repeats the event's id.
const MESSAGE_UUID: &str = "_watermill_message_uuid";
const PERSISTENT: u8 = 2;

/// A durable topic exchange, and a connection for publishing to it.
pub struct Topic {
    name: String,
    channel: Channel,
    /// Closes its channels when dropped.
    _connection: Connection,
}

/// A message taken from a queue.
#[derive(Debug, Clone)]
pub struct Message {
    /// The body as it was published.
    pub body: Vec<u8>,
    /// Headers and delivery mode.
    pub properties: BasicProperties,
}

impl Topic {
    /// Declares the exchange as the Sentinel's charts configure it: durable, of type topic.
    pub(super) async fn declare(broker: &Broker, name: String) -> anyhow::Result<Self> {
        let connection = broker.connect().await?;
        let channel = connection.create_channel().await.context("failed to open a channel")?;
        // The Sentinel publishes without confirms; a test wants to know that the broker has the message.
        channel.confirm_select(ConfirmSelectOptions::default()).await.context("failed to ask for confirms")?;
        let durable = ExchangeDeclareOptions { durable: true, ..ExchangeDeclareOptions::default() };
        channel
            .exchange_declare(name.as_str().into(), ExchangeKind::Topic, durable, FieldTable::default())
            .await
            .with_context(|| format!("failed to declare exchange `{name}`"))?;
        Ok(Self { name, channel, _connection: connection })
    }

    /// The exchange's name, which is the topic's.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The name of the queue that a subscriber of this topic consumes.
    #[must_use]
    pub fn queue_name(&self, subscription: &str) -> String {
        format!("{}-{subscription}", self.name)
    }

    /// Declares and binds a subscriber's queue, so that events published before it connects are not lost.
    pub async fn subscribe(&self, subscription: &str) -> anyhow::Result<String> {
        let queue = self.queue_name(subscription);
        let durable = QueueDeclareOptions { durable: true, ..QueueDeclareOptions::default() };
        self.channel
            .queue_declare(queue.as_str().into(), durable, FieldTable::default())
            .await
            .with_context(|| format!("failed to declare queue `{queue}`"))?;
        let options = QueueBindOptions::default();
        self.channel
            .queue_bind(queue.as_str().into(), self.name.as_str().into(), "".into(), options, FieldTable::default())
            .await
            .with_context(|| format!("failed to bind queue `{queue}`"))?;
        Ok(queue)
    }

    /// Publishes an event exactly as the Sentinel does, and waits until the broker has it.
    pub async fn publish(&self, event: &Event) -> anyhow::Result<()> {
        let mut headers = FieldTable::default();
        headers.insert(MESSAGE_UUID.into(), AMQPValue::LongString(LongString::from(event.id.as_str())));
        let properties = BasicProperties::default().with_delivery_mode(PERSISTENT).with_headers(headers);
        self.publish_raw(&event.to_bytes()?, properties).await
    }

    /// Publishes any bytes with any properties: the messages that the Sentinel would never send.
    pub async fn publish_raw(&self, body: &[u8], properties: BasicProperties) -> anyhow::Result<()> {
        let options = BasicPublishOptions::default();
        let confirmation = self
            .channel
            .basic_publish(self.name.as_str().into(), "".into(), options, body, properties)
            .await
            .context("failed to publish")?
            .await
            .context("failed to get the broker's confirm")?;
        ensure!(matches!(confirmation, Confirmation::Ack(_)), "the broker refused the message: {confirmation:?}");
        Ok(())
    }

    /// Takes the next message from a queue, waiting for one to arrive.
    pub async fn take(&self, queue: &str, limit: Duration) -> anyhow::Result<Message> {
        await_condition(&format!("a message in queue {queue}"), limit, async || {
            let options = BasicGetOptions { no_ack: true };
            let message = self.channel.basic_get(queue.into(), options).await?.context("the queue is empty")?;
            Ok(Message { body: message.delivery.data, properties: message.delivery.properties })
        })
        .await
    }
}
