//! An exchange for one test. The Sentinel declares a durable topic exchange and publishes persistent events to it,
//! with an empty routing key; a test does the same in its place.

use std::time::Duration;

use anyhow::{Context, ensure};
use lapin::options::{
    BasicGetOptions, BasicPublishOptions, ConfirmSelectOptions, ExchangeDeclareOptions, QueueBindOptions,
    QueueDeclareOptions,
};
use lapin::types::FieldTable;
use lapin::{BasicProperties, Channel, Confirmation, Connection, ExchangeKind};

use super::Broker;
use crate::await_condition;
use crate::sentinel::Event;

/// A durable topic exchange, with a connection for publishing.
pub struct Topic {
    name: String,
    channel: Channel,
    /// Dropping the connection closes the channel.
    _connection: Connection,
}

/// A message taken from a queue.
#[derive(Debug, Clone)]
pub struct Message {
    /// The body as it was published.
    pub body: Vec<u8>,
    /// The message's headers and delivery mode.
    pub properties: BasicProperties,
}

impl Topic {
    /// Declares the exchange with the settings of the Sentinel's chart: durable, of type topic.
    pub async fn declare(broker: &Broker, name: String) -> anyhow::Result<Self> {
        let connection = broker.connect().await?;
        let channel = connection.create_channel().await.context("failed to open a channel")?;
        // Unlike the Sentinel, use publisher confirms: a test must know that the broker has the message.
        channel.confirm_select(ConfirmSelectOptions::default()).await.context("failed to ask for confirms")?;
        let durable = ExchangeDeclareOptions { durable: true, ..ExchangeDeclareOptions::default() };
        channel
            .exchange_declare(name.as_str().into(), ExchangeKind::Topic, durable, FieldTable::default())
            .await
            .with_context(|| format!("failed to declare exchange `{name}`"))?;
        Ok(Self { name, channel, _connection: connection })
    }

    /// The name of the exchange, which the Sentinel calls the topic.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The name of the queue from which a subscription of this topic consumes.
    #[must_use]
    pub fn queue_name(&self, subscription: &str) -> String {
        format!("{}-{subscription}", self.name)
    }

    /// Declares and binds the queue of a subscription, so that no event is lost before its consumer connects.
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

    /// Publishes an event as the Sentinel does, and waits for the broker's confirm.
    pub async fn publish(&self, event: &Event) -> anyhow::Result<()> {
        self.publish_raw(&event.to_bytes()?, event.properties()).await
    }

    /// Publishes any bytes with any properties, for messages that the Sentinel never sends.
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

    /// Takes the next message from a queue; waits until there is one.
    pub async fn take(&self, queue: &str, limit: Duration) -> anyhow::Result<Message> {
        await_condition(&format!("a message in queue {queue}"), limit, async || {
            let options = BasicGetOptions { no_ack: true };
            let message = self.channel.basic_get(queue.into(), options).await?.context("the queue is empty")?;
            Ok(Message { body: message.delivery.data, properties: message.delivery.properties })
        })
        .await
    }
}
