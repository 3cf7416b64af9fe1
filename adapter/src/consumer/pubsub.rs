//! Events from a Google Cloud Pub/Sub subscription.
//!
//! In: messages whose data is a structured event; message attributes are ignored. Out: events in the service's
//! order of delivery, which is the order of publication only if the publisher sets ordering keys.
//!
//! A consumer cannot dead-letter a Pub/Sub message: the service does so after a number of negative
//! acknowledgements (nacks). An event that can never succeed is therefore nacked if the subscription has a
//! dead-letter policy, and acknowledged if it has none, because the service would redeliver it without end.
//!
//! The caller installs a process-wide TLS provider first. Credentials are Google's application default
//! credentials; an emulator gets none.

use std::num::NonZeroU32;
use std::time::Duration;

use google_cloud_auth::credentials::anonymous;
use google_cloud_pubsub::client::{Subscriber, SubscriptionAdmin, TopicAdmin};
use google_cloud_pubsub::subscriber::handler::Handler;
use lifecycle_errors::Chain;
use tokio::sync::{mpsc, watch};
use tokio::task::JoinSet;
use tokio::time::{Instant, timeout};
use tokio_util::sync::CancellationToken;

use self::setup::Admin;
pub use self::setup::{PubSubError, SubscriptionPolicies};
use super::{Disposition, Incoming, Input, InputState, Message, Settled};
use crate::backoff::Backoff;

mod setup;

/// The settings of a Pub/Sub consumer.
#[derive(Debug, Clone)]
pub struct PubSubOptions {
    /// The Google Cloud project of the topic and the subscription.
    pub project_id: String,
    /// The id of the topic. The subscription must be attached to this topic.
    pub topic: String,
    /// The subscription's full id. Unlike a queue's name in RabbitMQ, it does not contain the topic.
    pub subscription_id: String,
    /// The largest number of unsettled messages.
    pub max_outstanding_messages: NonZeroU32,
    /// The largest total size of unsettled messages, in bytes; the client library's limit if `None`.
    pub max_outstanding_bytes: Option<i64>,
    /// Whether to create a missing topic and a missing dead-letter topic.
    pub create_topic_if_missing: bool,
    /// Whether to create a missing subscription.
    pub create_subscription_if_missing: bool,
    /// The emulator to use in place of the service, as `HOST:PORT`.
    pub emulator: Option<String>,
    /// The properties of a subscription that the adapter creates.
    pub policies: SubscriptionPolicies,
}

/// The time that the shutdown may take to nack the unsettled messages.
const CLOSE_TIMEOUT: Duration = Duration::from_secs(5);

/// A Pub/Sub consumer whose subscription exists.
#[derive(Debug)]
pub struct PubSubInput {
    options: PubSubOptions,
    subscriber: Subscriber,
    admin: Admin,
    state: watch::Sender<InputState>,
}

impl PubSubInput {
    /// Finds the subscription; creates it and the topics if they are missing and `options` allows that. From
    /// then on, keeps `state` up to date.
    ///
    /// # Errors
    /// The client has no credentials, the service refuses them, or the subscription is missing or attached to
    /// another topic.
    pub async fn connect(options: PubSubOptions, state: watch::Sender<InputState>) -> Result<Self, PubSubError> {
        let (mut topics, mut subscriptions) = (TopicAdmin::builder(), SubscriptionAdmin::builder());
        let mut subscriber = Subscriber::builder();
        if let Some(emulator) = &options.emulator {
            let endpoint = format!("http://{emulator}");
            let nobody = || anonymous::Builder::new().build();
            topics = topics.with_endpoint(&endpoint).with_credentials(nobody());
            subscriptions = subscriptions.with_endpoint(&endpoint).with_credentials(nobody());
            subscriber = subscriber.with_endpoint(&endpoint).with_credentials(nobody());
        }
        let topics = topics.build().await.map_err(PubSubError::client)?;
        let subscriptions = subscriptions.build().await.map_err(PubSubError::client)?;
        let subscriber = subscriber.build().await.map_err(PubSubError::client)?;
        let admin = Admin { topics, subscriptions };
        admin.ensure(&options).await?;
        state.send_replace(InputState::Connected);
        Ok(Self { options, subscriber, admin, state })
    }

    async fn forward(&self, inbox: &mpsc::Sender<Incoming>, stop: &CancellationToken) -> Ended {
        let mut subscription = self
            .subscriber
            .subscribe(setup::subscription_name(&self.options))
            .set_max_outstanding_messages(self.options.max_outstanding_messages.get());
        if let Some(bytes) = self.options.max_outstanding_bytes {
            subscription = subscription.set_max_outstanding_bytes(bytes);
        }
        let mut stream = subscription.build();
        // The set lives as long as this session: dropping it aborts its tasks, which nacks every unsettled
        // message.
        let mut settling = JoinSet::new();
        loop {
            let next = tokio::select! {
                biased;
                () = stop.cancelled() => break,
                () = inbox.closed() => break,
                next = stream.next() => next,
            };
            match next {
                Some(Ok((message, handler))) => {
                    let (incoming, settled) = Incoming::new(Message::Structured(message.data));
                    settling.spawn(settle(handler, settled));
                    let _ = inbox.send(incoming).await;
                }
                Some(Err(error)) => return Ended::Lost(Chain(&error).to_string()),
                None => return Ended::Lost("the stream of messages ended".to_owned()),
            }
            while settling.try_join_next().is_some() {}
        }
        // Report the disconnection before the running passes end, because no event can arrive while they run.
        self.state.send_replace(InputState::Disconnected);
        let token = stream.shutdown_token();
        drop(stream);
        while settling.join_next().await.is_some() {}
        let _ = timeout(CLOSE_TIMEOUT, token.shutdown()).await;
        Ended::Stopped
    }

    /// Waits until the service finds the subscription, or creates it. Returns `None` if the adapter takes no
    /// more events.
    async fn wait_for_subscription(&self, backoff: &mut Backoff, inbox: &mpsc::Sender<Incoming>) -> Option<()> {
        loop {
            let delay = backoff.delay(fastrand::f64());
            tokio::select! {
                () = tokio::time::sleep(delay) => {}
                () = inbox.closed() => return None,
            }
            match self.admin.ensure(&self.options).await {
                Ok(()) => return Some(()),
                Err(error) => {
                    let error = Chain(&error).to_string();
                    tracing::warn!(waited_seconds = delay.as_secs_f64(), error, "subscription still out of reach");
                }
            }
        }
    }
}

/// How a streaming session ended.
enum Ended {
    Stopped,
    Lost(String),
}

impl Input for PubSubInput {
    async fn run(&mut self, inbox: &mpsc::Sender<Incoming>, stop: &CancellationToken) {
        let mut backoff = Backoff::new();
        loop {
            self.state.send_replace(InputState::Connected);
            let connected_at = Instant::now();
            match self.forward(inbox, stop).await {
                Ended::Stopped => return,
                Ended::Lost(reason) => {
                    self.state.send_replace(InputState::Disconnected);
                    tracing::warn!(
                        subscription = self.options.subscription_id,
                        error = reason,
                        "lost the subscription, reconnecting"
                    );
                }
            }
            backoff.connected_for(connected_at.elapsed());
            let Some(Some(())) = stop.run_until_cancelled(self.wait_for_subscription(&mut backoff, inbox)).await else {
                return;
            };
            tracing::info!(subscription = self.options.subscription_id, "consuming again");
        }
    }
}

async fn settle(handler: Handler, settled: Settled) {
    let disposition = settled.await;
    if acknowledges(&disposition, handler.delivery_attempt()) { handler.ack() } else { handler.nack() }
}

/// Whether to acknowledge a message. A message to dead-letter is acknowledged only if it has no delivery
/// attempt, which means that the subscription has no dead-letter policy.
fn acknowledges(disposition: &Disposition, delivery_attempt: Option<i32>) -> bool {
    match disposition {
        Disposition::Ack => true,
        Disposition::Requeue => false,
        Disposition::DeadLetter { .. } => delivery_attempt.is_none(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dead_letter_nacks_only_with_a_dead_letter_policy() {
        let dead = || Disposition::DeadLetter { reason: "poison".to_owned() };
        let cases = [
            ("done", Disposition::Ack, None, true),
            ("done, with a dead-letter policy", Disposition::Ack, Some(1), true),
            ("to be repeated", Disposition::Requeue, None, false),
            ("poison, with a dead-letter policy", dead(), Some(1), false),
            ("poison, without one", dead(), None, true),
        ];
        for (name, disposition, attempt, expected) in cases {
            assert_eq!(acknowledges(&disposition, attempt), expected, "{name}");
        }
    }
}
