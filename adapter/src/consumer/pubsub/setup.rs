//! Finds the subscription, or creates what is missing.
//!
//! In: the options. Out: nothing but the certainty that the subscription exists and is the topic's. An existing
//! subscription is never changed.

use std::time::Duration;

use google_cloud_gax::error::rpc::Code;
use google_cloud_pubsub::Error;
use google_cloud_pubsub::client::{SubscriptionAdmin, TopicAdmin};
use google_cloud_pubsub::model::{DeadLetterPolicy, ExpirationPolicy, RetryPolicy, Subscription};
use lifecycle_errors::Chain;

use super::PubSubOptions;

/// What a subscription that is created is given. What is absent is left to the service.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SubscriptionPolicies {
    /// How long the service waits for a settlement.
    pub ack_deadline_seconds: Option<u16>,
    /// How long it keeps messages.
    pub message_retention: Option<Duration>,
    /// How long it keeps a subscription that nobody uses; zero is for ever.
    pub expiration_ttl: Option<Duration>,
    /// The least time before it delivers again what was refused.
    pub retry_min_backoff: Option<Duration>,
    /// The longest time before it delivers again what was refused.
    pub retry_max_backoff: Option<Duration>,
    /// How often it delivers before it gives a message to the dead-letter topic; 5 if absent.
    pub dead_letter_max_attempts: Option<u8>,
    /// Whether messages with one ordering key come in order.
    pub enable_message_ordering: bool,
}

/// A subscription that cannot be consumed.
#[derive(Debug, thiserror::Error)]
pub enum PubSubError {
    /// There is no client, most often for want of credentials.
    #[error("failed to make a client of Pub/Sub: {reason}")]
    Client {
        /// Why.
        reason: String,
    },
    /// The subscription or topic does not exist, and must not be created.
    #[error("{what} `{name}` does not exist; create it, or set broker.googlepubsub.{switch}")]
    Missing {
        /// What is missing.
        what: &'static str,
        /// Its full name.
        name: String,
        /// The key that would have it created.
        switch: &'static str,
    },
    /// The subscription belongs to another topic.
    #[error(
        "subscription `{subscription}` is attached to topic `{found}` and not to `{wanted}`; correct clients.broker.topic or clients.broker.subscription_id"
    )]
    OtherTopic {
        /// The subscription's full name.
        subscription: String,
        /// Its topic.
        found: String,
        /// The topic that was asked for.
        wanted: String,
    },
    /// A duration that the service cannot be told.
    #[error("broker.googlepubsub.{key} is out of range")]
    Duration {
        /// The duration's key.
        key: &'static str,
    },
    /// The service refused a step.
    #[error("failed to {step}")]
    Setup {
        /// What was tried.
        step: String,
        /// Why it failed.
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

/// The topic for messages that were refused too often.
fn dead_letter_topic(options: &PubSubOptions) -> String {
    topic_name(options, &format!("{}-dlq", options.subscription_id))
}

/// The service's administrative side.
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
            // Another replica was faster.
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

/// The subscription as it is created, with a dead-letter policy in any case.
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
        // To the service an expiration policy without a time to live is one that never comes.
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
