//! The broker's file as its author writes it. The decoder ignores unknown keys.

use schemars::JsonSchema;
use serde::Deserialize;

/// The broker's file: how the adapter receives events.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
pub(super) struct BrokerFileSpec {
    /// Whether the adapter logs this configuration at its start, without the password.
    #[serde(default)]
    pub(super) log_config: bool,
    /// How the adapter handles the messages that it receives.
    pub(super) subscriber: Option<SubscriberSpec>,
    /// The broker and its settings.
    pub(super) broker: Option<BrokerSpec>,
}

/// How the adapter handles the messages that it receives.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
pub(super) struct SubscriberSpec {
    /// The largest number of events handled at once; 16 by default.
    pub(super) parallelism: Option<i64>,
}

/// The broker and its settings.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
pub(super) struct BrokerSpec {
    /// rabbitmq or googlepubsub.
    #[serde(rename = "type")]
    pub(super) kind: Option<String>,
    /// Settings of `RabbitMQ`.
    pub(super) rabbitmq: Option<RabbitMqSpec>,
    /// Settings of Google Cloud Pub/Sub.
    pub(super) googlepubsub: Option<PubSubSpec>,
}

/// Settings of `RabbitMQ`.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
pub(super) struct RabbitMqSpec {
    /// The server's URL: `amqp://user:password@host:5672/vhost`, or `amqps://`.
    pub(super) url: Option<String>,
    /// The name of the exchange; the topic by default.
    pub(super) exchange: Option<String>,
    /// The exchange's type: direct, fanout (the default), topic or headers.
    pub(super) exchange_type: Option<String>,
    /// The first part of the queue's name; the topic by default.
    pub(super) queue: Option<String>,
    /// The number of unacknowledged messages that the server sends at most; twice the parallelism by default.
    pub(super) prefetch_count: Option<i64>,
    /// Must be 0: `RabbitMQ` does not implement it.
    pub(super) prefetch_size: Option<i64>,
    /// The consumer tag; the broker chooses one by default.
    pub(super) consumer_tag: Option<String>,
}

/// Settings of Google Cloud Pub/Sub.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
pub(super) struct PubSubSpec {
    /// The Google Cloud project; required.
    pub(super) project_id: Option<String>,
    /// The time in seconds after which Pub/Sub redelivers an unacknowledged message: 10 to 600.
    pub(super) ack_deadline_seconds: Option<i64>,
    /// How long Pub/Sub keeps an unacknowledged message: 10m to 31d.
    pub(super) message_retention_duration: Option<String>,
    /// Pub/Sub deletes the subscription after it was unused this long: at least 1d, or 0 for never.
    pub(super) expiration_ttl: Option<String>,
    /// The shortest delay before a redelivery: 0s to 600s.
    pub(super) retry_min_backoff: Option<String>,
    /// The longest delay before a redelivery: 0s to 600s.
    pub(super) retry_max_backoff: Option<String>,
    /// Deliveries after which Pub/Sub dead-letters a message: 5 (the default) to 100.
    pub(super) dead_letter_max_attempts: Option<i64>,
    /// Checked for compatibility; it has no effect.
    pub(super) topic_retention_duration: Option<String>,
    /// Whether Pub/Sub delivers messages of one ordering key in order.
    #[serde(default)]
    pub(super) enable_message_ordering: bool,
    /// The largest number of messages that the client holds at once.
    pub(super) max_outstanding_messages: Option<i64>,
    /// The largest total size of the messages that the client holds at once, in bytes.
    pub(super) max_outstanding_bytes: Option<i64>,
    /// Checked for compatibility; it has no effect.
    pub(super) num_goroutines: Option<i64>,
    /// Whether the adapter creates a missing topic.
    #[serde(default)]
    pub(super) create_topic_if_missing: bool,
    /// Whether the adapter creates a missing subscription.
    #[serde(default)]
    pub(super) create_subscription_if_missing: bool,
}
