//! Finds the subscription, and creates missing topics and subscriptions if the options allow that.
//!
//! In: the consumer's options. Out: nothing; on success the subscription exists and is attached to the
//! configured topic. An existing subscription is never changed.

use std::time::Duration;

use google_cloud_gax::error::rpc::Code;
use google_cloud_pubsub::Error;
use google_cloud_pubsub::client::{SubscriptionAdmin, TopicAdmin};
use google_cloud_pubsub::model::{DeadLetterPolicy, ExpirationPolicy, RetryPolicy, Subscription};
use lifecycle_errors::Chain;

use super::PubSubOptions;

/// The properties of a subscription that the adapter creates. The service chooses a property that is `None`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SubscriptionPolicies {
    /// The time in seconds after which the service redelivers an unsettled message.
    pub ack_deadline_seconds: Option<u16>,
    /// How long the service keeps a message.
    pub message_retention: Option<Duration>,
    /// The service deletes the subscription after it was unused this long; zero means never.
    pub expiration_ttl: Option<Duration>,
    /// The shortest delay before the service redelivers a nacked message.
    pub retry_min_backoff: Option<Duration>,
    /// The longest delay before the service redelivers a nacked message.
    pub retry_max_backoff: Option<Duration>,
    /// After this many deliveries the service moves a message to the dead-letter topic; 5 if `None`.
    pub dead_letter_max_attempts: Option<u8>,
    /// Whether the service delivers messages of one ordering key in order.
    pub enable_message_ordering: bool,
}

/// Why a subscription cannot be consumed.
#[derive(Debug, thiserror::Error)]
pub enum PubSubError {
    /// The client library failed to start, most often because it found no credentials.
    #[error("failed to create the Pub/Sub client: {reason}")]
    Client {
        /// The error of the Pub/Sub client library.
        reason: String,
    },
    /// The subscription or topic does not exist, and the configuration does not allow creating it.
    #[error("{what} `{name}` does not exist; create it, or set broker.googlepubsub.{switch}")]
    Missing {
        /// The kind of the missing thing, for the error text: `subscription` or `topic`.
        what: &'static str,
        /// The full resource name of the missing subscription or topic.
        name: String,
        /// The configuration key that allows creating it.
        switch: &'static str,
    },
    /// The subscription is attached to another topic.
    #[error(
        "subscription `{subscription}` is attached to topic `{found}` and not to `{wanted}`; correct clients.broker.topic or clients.broker.subscription_id"
    )]
    OtherTopic {
        /// The full name of the configured subscription.
        subscription: String,
        /// The full name of the topic that the subscription is attached to.
        found: String,
        /// The full name of the configured topic.
        wanted: String,
    },
    /// A configured duration exceeds the range of the service's type.
    #[error("broker.googlepubsub.{key} is out of range")]
    Duration {
        /// The configuration key of the duration.
        key: &'static str,
    },
    /// A request to the service failed.
    #[error("failed to {step}")]
    Setup {
        /// The request, as the object of "failed to".
        step: String,
        /// The error with which Pub/Sub answered the request.
        source: Error,
    },
}

impl PubSubError {
    pub(super) fn client(error: impl std::error::Error + 'static) -> Self {
        Self::Client { reason: Chain(&error).to_string() }
    }
}

const DEFAULT_MAX_ATTEMPTS: u8 = 5;

pub(super) fn subscription_name(options: &PubSubOptions) -> String {
    format!("projects/{}/subscriptions/{}", options.project_id, options.subscription_id)
}

fn topic_name(options: &PubSubOptions, topic: &str) -> String {
    format!("projects/{}/topics/{topic}", options.project_id)
}

/// The full name of the topic that gets messages after too many nacks.
fn dead_letter_topic(options: &PubSubOptions) -> String {
    topic_name(options, &format!("{}-dlq", options.subscription_id))
}

/// The clients that create and look up topics and subscriptions.
#[derive(Debug)]
pub(super) struct Admin {
    pub(super) topics: TopicAdmin,
    pub(super) subscriptions: SubscriptionAdmin,
}

impl Admin {
    pub(super) async fn ensure(&self, options: &PubSubOptions) -> Result<(), PubSubError> {
        let name = subscription_name(options);
        let wanted = topic_name(options, &options.topic);
        match self.subscriptions.get_subscription().set_subscription(&name).send().await {
            Ok(found) if found.topic == wanted => Ok(()),
            Ok(found) => Err(PubSubError::OtherTopic { subscription: name, found: found.topic, wanted }),
            Err(error) if !is_code(&error, Code::NotFound) => {
                Err(setup(format!("look up subscription `{name}`"))(error))
            }
            Err(_) if options.create_subscription_if_missing => self.create(options).await,
            Err(_) => {
                Err(PubSubError::Missing { what: "subscription", name, switch: "create_subscription_if_missing" })
            }
        }
    }

    async fn create(&self, options: &PubSubOptions) -> Result<(), PubSubError> {
        let subscription = subscription_of(options)?;
        self.ensure_topic(topic_name(options, &options.topic), options.create_topic_if_missing).await?;
        if options.create_topic_if_missing {
            self.ensure_topic(dead_letter_topic(options), true).await?;
        }
        let step = format!("create subscription `{}`", subscription.name);
        match self.subscriptions.create_subscription().with_request(subscription).send().await {
            // Another replica created the subscription at the same moment, with the same properties.
            Err(error) if is_code(&error, Code::AlreadyExists) => Ok(()),
            created => created.map(|_| ()).map_err(setup(step)),
        }
    }

    async fn ensure_topic(&self, name: String, create: bool) -> Result<(), PubSubError> {
        match self.topics.get_topic().set_topic(&name).send().await {
            Ok(_) => Ok(()),
            Err(error) if !is_code(&error, Code::NotFound) => Err(setup(format!("look up topic `{name}`"))(error)),
            Err(_) if create => match self.topics.create_topic().set_name(&name).send().await {
                Err(error) if is_code(&error, Code::AlreadyExists) => Ok(()),
                created => created.map(|_| ()).map_err(setup(format!("create topic `{name}`"))),
            },
            Err(_) => Err(PubSubError::Missing { what: "topic", name, switch: "create_topic_if_missing" }),
        }
    }
}

/// The subscription to create. It always has a dead-letter policy, so that an event that can never succeed
/// leaves the subscription.
fn subscription_of(options: &PubSubOptions) -> Result<Subscription, PubSubError> {
    let policies = &options.policies;
    let dead_letters = DeadLetterPolicy::new()
        .set_dead_letter_topic(dead_letter_topic(options))
        .set_max_delivery_attempts(policies.dead_letter_max_attempts.unwrap_or(DEFAULT_MAX_ATTEMPTS));
    let retention = duration("message_retention_duration", policies.message_retention)?;
    let mut subscription = Subscription::new()
        .set_name(subscription_name(options))
        .set_topic(topic_name(options, &options.topic))
        .set_enable_message_ordering(policies.enable_message_ordering)
        .set_dead_letter_policy(dead_letters)
        .set_or_clear_message_retention_duration(retention);
    if let Some(seconds) = policies.ack_deadline_seconds {
        subscription = subscription.set_ack_deadline_seconds(seconds);
    }
    if let Some(ttl) = policies.expiration_ttl {
        // An expiration policy without a time to live means that the subscription never expires.
        let ttl = duration("expiration_ttl", Some(ttl).filter(|ttl| !ttl.is_zero()))?;
        subscription = subscription.set_expiration_policy(ExpirationPolicy::new().set_or_clear_ttl(ttl));
    }
    let (min, max) = (policies.retry_min_backoff, policies.retry_max_backoff);
    if min.is_some() || max.is_some() {
        let retry = RetryPolicy::new()
            .set_or_clear_minimum_backoff(duration("retry_min_backoff", min)?)
            .set_or_clear_maximum_backoff(duration("retry_max_backoff", max)?);
        subscription = subscription.set_retry_policy(retry);
    }
    Ok(subscription)
}

fn duration(key: &'static str, value: Option<Duration>) -> Result<Option<google_cloud_wkt::Duration>, PubSubError> {
    value.map(TryInto::try_into).transpose().map_err(|_| PubSubError::Duration { key })
}

fn setup(step: String) -> impl FnOnce(Error) -> PubSubError {
    |source| PubSubError::Setup { step, source }
}

fn is_code(error: &Error, code: Code) -> bool {
    error.status().is_some_and(|status| status.code == code)
}

#[cfg(test)]
mod tests;
