//! Events from a Google Cloud Pub/Sub subscription.
//!
//! In: messages whose data is a structured event; their attributes say nothing. Out: events in the order in which
//! the service delivers them, which is the order of publication only where the publisher sets ordering keys.
//!
//! Pub/Sub cannot dead-letter a message on request: it moves one that was refused often enough. So a message
//! that can never succeed is refused where the subscription has a dead-letter policy (the service then delivers it
//! again until the policy's limit), and acknowledged where it has none, as it would come back for ever.
//!
//! The caller installs a process-wide TLS provider first; credentials are the application default ones.

use std::num::NonZeroU32;
use std::time::Duration;

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

/// What a consumer needs to know.
#[derive(Debug, Clone)]
pub struct PubSubOptions {
    /// The project of topic and subscription.
    pub project_id: String,
    /// The topic's id, to which the subscription must be attached.
    pub topic: String,
    /// The subscription's id, which is its whole name: unlike a queue's it does not contain the topic's.
    pub subscription_id: String,
    /// The most messages that are here unsettled at a time.
    pub max_outstanding_messages: NonZeroU32,
    /// The most bytes of such messages; the client's own limit if none.
    pub max_outstanding_bytes: Option<i64>,
    /// Create the topic, and the dead-letter topic, if missing.
    pub create_topic_if_missing: bool,
    /// Create the subscription if missing.
    pub create_subscription_if_missing: bool,
    /// What a subscription that is created is given.
    pub policies: SubscriptionPolicies,
}

/// Refusing it gives an unsettled message back; this is how long that may take.
const CLOSE_TIMEOUT: Duration = Duration::from_secs(5);

/// A consumer whose subscription exists.
#[derive(Debug)]
pub struct PubSubInput {
    options: PubSubOptions,
    subscriber: Subscriber,
    admin: Admin,
    state: watch::Sender<InputState>,
}

impl PubSubInput {
    /// Looks the subscription up, or creates what is missing if the options say so. `state` is kept up to date from then on.
    ///
    /// # Errors
    /// There are no credentials, the service refuses them, or the subscription is missing or another topic's.
    pub async fn connect(options: PubSubOptions, state: watch::Sender<InputState>) -> Result<Self, PubSubError> {
        let topics = TopicAdmin::builder().build().await.map_err(PubSubError::client)?;
        let subscriptions = SubscriptionAdmin::builder().build().await.map_err(PubSubError::client)?;
        let subscriber = Subscriber::builder().build().await.map_err(PubSubError::client)?;
        let admin = Admin { topics, subscriptions };
        admin.ensure(&options).await?;
        state.send_replace(InputState::Connected);
        Ok(Self { options, subscriber, admin, state })
    }

    async fn pump(&self, inbox: &mpsc::Sender<Incoming>, stop: &CancellationToken) -> Ended {
        let mut subscription = self
            .subscriber
            .subscribe(setup::subscription_name(&self.options))
            .set_max_outstanding_messages(self.options.max_outstanding_messages.get());
        if let Some(bytes) = self.options.max_outstanding_bytes {
            subscription = subscription.set_max_outstanding_bytes(bytes);
        }
        let mut stream = subscription.build();
        // Ends with this session: what is unsettled when it is lost goes back.
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
        // The passes that run may take until their deadline, and no event can arrive meanwhile.
        self.state.send_replace(InputState::Disconnected);
        let token = stream.shutdown_token();
        drop(stream);
        while settling.join_next().await.is_some() {}
        let _ = timeout(CLOSE_TIMEOUT, token.shutdown()).await;
        Ended::Stopped
    }

    /// Waits until the service knows the subscription again.
    async fn regain(&self, backoff: &mut Backoff, inbox: &mpsc::Sender<Incoming>) -> Option<()> {
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

/// Why a session ended.
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
            match self.pump(inbox, stop).await {
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
            let Some(Some(())) = stop.run_until_cancelled(self.regain(&mut backoff, inbox)).await else { return };
            tracing::info!(subscription = self.options.subscription_id, "consuming again");
        }
    }
}

async fn settle(handler: Handler, settled: Settled) {
    let disposition = settled.await;
    if acknowledges(&disposition, handler.delivery_attempt()) { handler.ack() } else { handler.nack() }
}

/// The service counts attempts only where the subscription has a dead-letter policy.
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
    fn a_message_that_can_never_succeed_is_refused_only_where_that_ends() {
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
