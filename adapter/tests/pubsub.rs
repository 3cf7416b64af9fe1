//! Tests of the Pub/Sub input with the server by which Google tests its own clients, from a message to its settlement.
#![expect(clippy::unwrap_used, reason = "tests")]

use std::num::NonZeroU32;
use std::time::Duration;

use anyhow::{Context, Result};
use bytes::Bytes;
use google_cloud_auth::credentials::anonymous;
use google_cloud_pubsub::client::{Publisher, SubscriptionAdmin, TopicAdmin};
use google_cloud_pubsub::model::Message as Published;
use hyperfleet_adapter::consumer::pubsub::{PubSubInput, PubSubOptions, SubscriptionPolicies};
use hyperfleet_adapter::consumer::{Disposition, Incoming, Input, InputState, Message};
use lifecycle_e2e::pubsub::PubSub;
use lifecycle_e2e::{PATIENCE, unique};
use tokio::sync::{mpsc, watch};
use tokio::task::JoinHandle;
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;

const PROJECT: &str = "test";

/// The fewest deliveries after which the service dead-letters.
const ATTEMPTS: u8 = 5;

fn options(server: &PubSub, topic: &str) -> PubSubOptions {
    PubSubOptions {
        project_id: PROJECT.to_owned(),
        topic: topic.to_owned(),
        subscription_id: format!("{topic}-job"),
        max_outstanding_messages: NonZeroU32::new(8).unwrap(),
        max_outstanding_bytes: None,
        create_topic_if_missing: true,
        create_subscription_if_missing: true,
        emulator: Some(server.address().to_owned()),
        policies: SubscriptionPolicies {
            ack_deadline_seconds: Some(10),
            message_retention: Some(Duration::from_secs(3600)),
            dead_letter_max_attempts: Some(ATTEMPTS),
            retry_min_backoff: Some(Duration::ZERO),
            retry_max_backoff: Some(Duration::from_secs(1)),
            ..SubscriptionPolicies::default()
        },
    }
}

/// An input that runs, and what it sends.
struct Running {
    inbox: mpsc::Receiver<Incoming>,
    state: watch::Receiver<InputState>,
    stop: CancellationToken,
    input: JoinHandle<()>,
}

impl Running {
    async fn start(options: PubSubOptions) -> Result<Self> {
        let connected = watch::Sender::new(InputState::Disconnected);
        let state = connected.subscribe();
        let mut input = PubSubInput::connect(options, connected).await?;
        let (sender, inbox) = mpsc::channel(8);
        let stop = CancellationToken::new();
        let input = tokio::spawn({
            let stop = stop.clone();
            async move { input.run(&sender, &stop).await }
        });
        Ok(Self { inbox, state, stop, input })
    }

    async fn next(&mut self) -> Result<Incoming> {
        timeout(PATIENCE, self.inbox.recv()).await.context("no message arrived")?.context("the input ended")
    }

    /// The text of the next message, which is settled so.
    async fn settle_next(&mut self, disposition: Disposition) -> Result<String> {
        let Incoming { message, settlement, .. } = self.next().await?;
        settlement.settle(disposition);
        let Message::Structured(body) = message else { anyhow::bail!("{message:?}") };
        Ok(String::from_utf8(body.to_vec())?)
    }

    async fn stop(self) -> Result<()> {
        self.stop.cancel();
        timeout(PATIENCE, self.input).await??;
        assert_eq!(*self.state.borrow(), InputState::Disconnected);
        Ok(())
    }
}

async fn topics(server: &PubSub) -> Result<TopicAdmin> {
    let builder = TopicAdmin::builder().with_endpoint(format!("http://{}", server.address()));
    Ok(builder.with_credentials(anonymous::Builder::new().build()).build().await?)
}

async fn subscriptions(server: &PubSub) -> Result<SubscriptionAdmin> {
    let builder = SubscriptionAdmin::builder().with_endpoint(format!("http://{}", server.address()));
    Ok(builder.with_credentials(anonymous::Builder::new().build()).build().await?)
}

/// Publishes messages to a topic, one after the other.
async fn publish(server: &PubSub, topic: &str, texts: &[&'static str]) -> Result<()> {
    let builder = Publisher::builder(format!("projects/{PROJECT}/topics/{topic}"));
    let builder = builder.with_endpoint(format!("http://{}", server.address()));
    let publisher = builder.with_credentials(anonymous::Builder::new().build()).build().await?;
    for text in texts {
        publisher.publish(Published::new().set_data(Bytes::from_static(text.as_bytes()))).await?;
    }
    Ok(())
}

#[tokio::test]
async fn message_is_received_by_a_subscription_that_the_adapter_made_and_acknowledged_once() -> Result<()> {
    let server = PubSub::shared().await?;
    let topic = unique("topic");
    let mut running = Running::start(options(&server, &topic)).await?;
    assert_eq!(*running.state.borrow(), InputState::Connected);
    publish(&server, &topic, &["first"]).await?;
    assert_eq!(running.settle_next(Disposition::Ack).await?, "first");
    running.stop().await?;

    let name = format!("projects/{PROJECT}/subscriptions/{topic}-job");
    let made = subscriptions(&server).await?.get_subscription().set_subscription(&name).send().await?;
    let dead_letters = made.dead_letter_policy.context("no dead-letter policy")?;
    assert_eq!(made.ack_deadline_seconds, 10);
    assert_eq!(dead_letters.max_delivery_attempts, i32::from(ATTEMPTS));
    assert_eq!(dead_letters.dead_letter_topic, format!("projects/{PROJECT}/topics/{topic}-job-dlq"));

    // What was acknowledged is gone: a second adapter, which creates nothing, gets the next message first.
    let existing = PubSubOptions {
        create_topic_if_missing: false,
        create_subscription_if_missing: false,
        ..options(&server, &topic)
    };
    let mut running = Running::start(existing).await?;
    publish(&server, &topic, &["second"]).await?;
    assert_eq!(running.settle_next(Disposition::Ack).await?, "second");
    running.stop().await
}

#[tokio::test]
async fn message_that_is_requeued_or_never_settled_is_delivered_again() -> Result<()> {
    let server = PubSub::shared().await?;
    let topic = unique("topic");
    let mut running = Running::start(options(&server, &topic)).await?;
    publish(&server, &topic, &["event"]).await?;
    assert_eq!(running.settle_next(Disposition::Requeue).await?, "event");
    // As a pass that panics.
    drop(running.next().await?);
    assert_eq!(running.settle_next(Disposition::Ack).await?, "event");
    running.stop().await
}

#[tokio::test]
async fn message_that_is_no_event_reaches_the_dead_letter_topic() -> Result<()> {
    let server = PubSub::shared().await?;
    let topic = unique("topic");
    let mut running = Running::start(options(&server, &topic)).await?;
    let dead = PubSubOptions {
        topic: format!("{topic}-job-dlq"),
        subscription_id: format!("{topic}-dead"),
        ..options(&server, &topic)
    };
    let mut dead = Running::start(dead).await?;
    publish(&server, &topic, &["poison"]).await?;
    for _ in 0..ATTEMPTS {
        let poison = Disposition::DeadLetter { reason: "no event".to_owned() };
        assert_eq!(running.settle_next(poison).await?, "poison");
    }
    assert_eq!(dead.settle_next(Disposition::Ack).await?, "poison");
    running.stop().await?;
    dead.stop().await
}

#[tokio::test]
async fn adapter_does_not_start_without_its_subscription_or_with_that_of_another_topic() -> Result<()> {
    let server = PubSub::shared().await?;
    let topic = unique("topic");
    let refused = async |options: PubSubOptions| {
        let error = PubSubInput::connect(options, watch::Sender::new(InputState::Disconnected)).await.err();
        error.map(|error| error.to_string()).context("it started")
    };
    let none = PubSubOptions { create_subscription_if_missing: false, ..options(&server, &topic) };
    let error = refused(none).await?;
    assert!(error.ends_with("create it, or set broker.googlepubsub.create_subscription_if_missing"), "{error}");
    let no_topic = PubSubOptions { create_topic_if_missing: false, ..options(&server, &topic) };
    let error = refused(no_topic).await?;
    assert!(error.ends_with("create it, or set broker.googlepubsub.create_topic_if_missing"), "{error}");

    Running::start(options(&server, &topic)).await?.stop().await?;
    let other = unique("other");
    topics(&server).await?.create_topic().set_name(format!("projects/{PROJECT}/topics/{other}")).send().await?;
    let error = refused(PubSubOptions { topic: other, ..options(&server, &topic) }).await?;
    assert!(error.contains("is attached to topic") && error.contains("correct clients.broker.topic"), "{error}");
    Ok(())
}
