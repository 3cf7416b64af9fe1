//! The broker's file as its author writes it; other keys are ignored.

use schemars::JsonSchema;
use serde::Deserialize;

/// How events are received.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
pub(super) struct BrokerFileSpec {
    /// Whether the configuration is logged, without the password.
    #[serde(default)]
    pub(super) log_config: bool,
    /// The receiving side.
    pub(super) subscriber: Option<SubscriberSpec>,
    /// Which broker, and where.
    pub(super) broker: Option<BrokerSpec>,
}

/// The receiving side.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
pub(super) struct SubscriberSpec {
    /// Events handled at once; 16 by default.
    pub(super) parallelism: Option<i64>,
}

/// Which broker, and where.
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
    /// Where it is: `amqp://user:password@host:5672/vhost`, or `amqps://`.
    pub(super) url: Option<String>,
    /// The exchange; the topic's name by default.
    pub(super) exchange: Option<String>,
    /// direct, fanout (the default), topic or headers.
    pub(super) exchange_type: Option<String>,
    /// The first part of the queue's name; the topic's name by default.
    pub(super) queue: Option<String>,
    /// Messages that the server sends ahead; twice the parallelism by default.
    pub(super) prefetch_count: Option<i64>,
    /// Must be 0: the server does not implement it.
    pub(super) prefetch_size: Option<i64>,
    /// The consumer's tag; of the client's making by default.
    pub(super) consumer_tag: Option<String>,
}

/// Settings of Google Cloud Pub/Sub.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
pub(super) struct PubSubSpec {
    /// The project.
    pub(super) project_id: Option<String>,
    /// Seconds to acknowledge a message in: 10 to 600.
    pub(super) ack_deadline_seconds: Option<i64>,
    /// How long an unacknowledged message is kept: 10m to 31d.
    pub(super) message_retention_duration: Option<String>,
    /// The time without use after which the subscription goes: 0 for never, or at least 1d.
    pub(super) expiration_ttl: Option<String>,
    /// The shortest time before a redelivery: 0s to 600s.
    pub(super) retry_min_backoff: Option<String>,
    /// The longest time before a redelivery: 0s to 600s.
    pub(super) retry_max_backoff: Option<String>,
    /// Deliveries before a message is dead-lettered: 5 (the default) to 100.
    pub(super) dead_letter_max_attempts: Option<i64>,
    /// Checked for compatibility; it has no effect.
    pub(super) topic_retention_duration: Option<String>,
    /// Whether messages of one ordering key come in order.
    #[serde(default)]
    pub(super) enable_message_ordering: bool,
    /// Messages that the client holds at once.
    pub(super) max_outstanding_messages: Option<i64>,
    /// Bytes that the client holds at once.
    pub(super) max_outstanding_bytes: Option<i64>,
    /// Checked for compatibility; it has no effect.
    pub(super) num_goroutines: Option<i64>,
    /// Whether a topic that is missing is created.
    #[serde(default)]
    pub(super) create_topic_if_missing: bool,
    /// Whether a subscription that is missing is created.
    #[serde(default)]
    pub(super) create_subscription_if_missing: bool,
}
