//! Starts the inputs that the configuration names.
//!
//! In: the deployment file, the broker's file, and the state of the intake. Out: events, from HTTP at any time,
//! from the broker while the intake is open or held. Fails if the address of the HTTP input cannot be bound, or
//! if the first subscription fails: an adapter that receives no events must not look healthy.

use std::num::{NonZeroU16, NonZeroUsize};

use anyhow::Context as _;
use tokio::sync::{mpsc, watch};
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use crate::config::broker::{BrokerConfig, BrokerKind, PubSubConfig, RabbitMqConfig};
use crate::config::{AdapterConfig, Loaded};
use crate::consumer::http::HttpInput;
#[cfg(feature = "pubsub")]
use crate::consumer::pubsub::{PubSubInput, PubSubOptions, SubscriptionPolicies};
use crate::consumer::rabbitmq::{BrokerUrl, RabbitMqInput, RabbitMqOptions, Topology};
use crate::consumer::{Incoming, Input, InputState};
use crate::dependency::Intake;

/// Every configured input, not started yet.
#[derive(Default)]
pub(super) struct Inputs {
    http: Option<HttpInput>,
    broker: Option<Broker>,
}

/// The settings of the configured broker.
enum Broker {
    RabbitMq(Box<RabbitMqOptions>),
    #[cfg(feature = "pubsub")]
    PubSub(Box<PubSubOptions>),
}

impl Inputs {
    /// Only the HTTP input.
    #[cfg(test)]
    pub(super) fn of_http(http: HttpInput) -> Self {
        Self { http: Some(http), broker: None }
    }

    /// Binds the address of the HTTP input, and checks the settings of the broker.
    pub(super) async fn open(
        loaded: &Loaded,
        broker: Option<&BrokerConfig>,
        parallelism: NonZeroUsize,
    ) -> anyhow::Result<Self> {
        let config = &loaded.adapter;
        let mut inputs = Self::default();
        if let Some(address) = config.http_listen {
            inputs.http = Some(HttpInput::bind(address, parallelism.get().saturating_mul(2)).await?);
        }
        inputs.broker = match broker.map(|broker| &broker.kind) {
            None => None,
            Some(BrokerKind::RabbitMq(settings)) => {
                Some(Broker::RabbitMq(Box::new(rabbitmq_options(config, settings)?)))
            }
            Some(BrokerKind::GooglePubSub(settings)) => Some(pubsub(config, settings, parallelism)?),
        };
        Ok(inputs)
    }

    /// Starts every input. The HTTP input also runs while the intake is paused, because it can answer its
    /// clients with 503.
    pub(super) fn run(
        self,
        inbox: &mpsc::Sender<Incoming>,
        intake: &watch::Receiver<Intake>,
        stop: &CancellationToken,
    ) -> Running {
        let mut tasks = JoinSet::new();
        let state = watch::Sender::new(InputState::Connected);
        let shown = state.subscribe();
        if let Some(http) = self.http {
            let (inbox, stop) = (inbox.clone(), stop.clone());
            tasks.spawn(async move {
                http.run(inbox, stop).await;
                Ok(())
            });
        }
        if let Some(broker) = self.broker {
            state.send_replace(InputState::Disconnected);
            let subscription = SubscriptionLoop { inbox: inbox.clone(), intake: intake.clone(), stop: stop.clone() };
            match broker {
                Broker::RabbitMq(options) => {
                    let connect = async move {
                        RabbitMqInput::connect(*options, state).await.context("failed to subscribe at RabbitMQ")
                    };
                    tasks.spawn(subscription.run(connect));
                }
                #[cfg(feature = "pubsub")]
                Broker::PubSub(options) => {
                    let connect = async move {
                        PubSubInput::connect(*options, state).await.context("failed to subscribe at Pub/Sub")
                    };
                    tasks.spawn(subscription.run(connect));
                }
            }
        }
        Running { tasks, state: shown }
    }
}

/// Runs a subscription while the intake is not paused.
struct SubscriptionLoop {
    inbox: mpsc::Sender<Incoming>,
    intake: watch::Receiver<Intake>,
    stop: CancellationToken,
}

impl SubscriptionLoop {
    /// Subscribes for the first time once the intake is not paused; fails if that subscription fails. From then
    /// on, unsubscribes at each pause and subscribes again after it.
    async fn run<I: Input>(self, connect: impl Future<Output = anyhow::Result<I>>) -> anyhow::Result<()> {
        let Self { inbox, mut intake, stop } = self;
        if !stop.run_until_cancelled(not_paused(&mut intake)).await.unwrap_or_default() {
            return Ok(());
        }
        let Some(connected) = stop.run_until_cancelled(connect).await else { return Ok(()) };
        let mut input = connected?;
        loop {
            let session = stop.child_token();
            let mut running = std::pin::pin!(input.run(&inbox, &session));
            tokio::select! {
                // Check for a pause first: a pause that began while the input subscribed must end the
                // subscription at once.
                biased;
                () = paused(&mut intake) => {
                    // Wait for `run`, which returns when every event that it sent is settled.
                    session.cancel();
                    running.await;
                }
                () = &mut running => {}
            }
            let goes_on = stop.run_until_cancelled(not_paused(&mut intake)).await.unwrap_or_default();
            if !goes_on || stop.is_cancelled() || inbox.is_closed() {
                return Ok(());
            }
        }
    }
}

async fn not_paused(intake: &mut watch::Receiver<Intake>) -> bool {
    intake.wait_for(|intake| *intake != Intake::Paused).await.is_ok()
}

async fn paused(intake: &mut watch::Receiver<Intake>) {
    // If the supervisor has dropped its sender, the process is shutting down, so end the subscription too.
    let _ = intake.wait_for(|intake| *intake == Intake::Paused).await;
}

/// The started inputs: a task for each, and the state of the broker's connection.
pub(super) struct Running {
    tasks: JoinSet<anyhow::Result<()>>,
    state: watch::Receiver<InputState>,
}

impl Running {
    /// The state of the broker's connection; always connected if no broker is configured.
    pub(super) fn state(&self) -> watch::Receiver<InputState> {
        self.state.clone()
    }

    /// Waits until every input has ended and settled its events, or until one input has failed.
    pub(super) async fn ended(&mut self) -> anyhow::Result<()> {
        while let Some(ended) = self.tasks.join_next().await {
            ended.context("an input panicked")??;
        }
        Ok(())
    }
}

#[cfg(feature = "pubsub")]
fn pubsub(config: &AdapterConfig, settings: &PubSubConfig, parallelism: NonZeroUsize) -> anyhow::Result<Broker> {
    Ok(Broker::PubSub(Box::new(pubsub_options(config, settings, parallelism)?)))
}

#[cfg(not(feature = "pubsub"))]
fn pubsub(_: &AdapterConfig, _: &PubSubConfig, _: NonZeroUsize) -> anyhow::Result<Broker> {
    anyhow::bail!("broker.type is googlepubsub, and this binary was built without it: build with `--features pubsub`")
}

fn required(value: Option<&String>, key: &str, variable: &str) -> anyhow::Result<String> {
    value.cloned().with_context(|| format!("clients.broker.{key} is required: set it, or {variable}"))
}

fn subscription(config: &AdapterConfig) -> anyhow::Result<(String, String)> {
    let id = required(config.subscription_id.as_ref(), "subscription_id", "HYPERFLEET_BROKER_SUBSCRIPTION_ID")?;
    let topic = required(config.topic.as_ref(), "topic", "HYPERFLEET_BROKER_TOPIC")?;
    Ok((topic, id))
}

fn rabbitmq_options(config: &AdapterConfig, settings: &RabbitMqConfig) -> anyhow::Result<RabbitMqOptions> {
    let (topic, subscription_id) = subscription(config)?;
    let (exchange, queue) = (settings.exchange.as_deref(), settings.queue.as_deref());
    Ok(RabbitMqOptions {
        url: settings.url.expose().parse::<BrokerUrl>()?,
        topology: Topology::new(&topic, &subscription_id, exchange, settings.exchange_type, queue),
        prefetch: NonZeroU16::new(settings.prefetch_count).unwrap_or(NonZeroU16::MIN),
        consumer_tag: settings.consumer_tag.clone().unwrap_or_default(),
        connection_name: config.name.clone(),
    })
}

#[cfg(feature = "pubsub")]
fn pubsub_options(
    config: &AdapterConfig,
    settings: &PubSubConfig,
    parallelism: NonZeroUsize,
) -> anyhow::Result<PubSubOptions> {
    let (topic, subscription_id) = subscription(config)?;
    let default = u32::try_from(parallelism.get().saturating_mul(2)).unwrap_or(u32::MAX);
    let outstanding = settings.max_outstanding_messages.filter(|most| *most > 0).unwrap_or(default);
    Ok(PubSubOptions {
        project_id: settings.project_id.clone(),
        topic,
        subscription_id,
        max_outstanding_messages: std::num::NonZeroU32::new(outstanding).unwrap_or(std::num::NonZeroU32::MIN),
        max_outstanding_bytes: settings.max_outstanding_bytes.and_then(|bytes| i64::try_from(bytes).ok()),
        create_topic_if_missing: settings.create_topic_if_missing,
        create_subscription_if_missing: settings.create_subscription_if_missing,
        // As every client of Google reads it.
        emulator: std::env::var("PUBSUB_EMULATOR_HOST").ok().filter(|host| !host.is_empty()),
        policies: SubscriptionPolicies {
            ack_deadline_seconds: settings.ack_deadline.and_then(|time| u16::try_from(time.as_secs()).ok()),
            message_retention: settings.message_retention,
            expiration_ttl: settings.expiration_ttl,
            retry_min_backoff: settings.retry_min_backoff,
            retry_max_backoff: settings.retry_max_backoff,
            dead_letter_max_attempts: u8::try_from(settings.dead_letter_max_attempts).ok(),
            enable_message_ordering: settings.enable_message_ordering,
        },
    })
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "tests")]

    use std::time::Duration;

    use tokio::time::timeout;

    use super::*;

    /// A fake input that sends, at each run, whether `stop` was cancelled before the run began.
    struct Fake(mpsc::UnboundedSender<bool>);

    impl Input for Fake {
        async fn run(&mut self, _: &mpsc::Sender<Incoming>, stop: &CancellationToken) {
            self.0.send(stop.is_cancelled()).unwrap();
            stop.cancelled().await;
        }
    }

    #[tokio::test(start_paused = true)]
    async fn pause_during_the_first_subscription_ends_the_subscription() {
        let intake = watch::Sender::new(Intake::Open);
        let (inbox, _events) = mpsc::channel(1);
        let stop = CancellationToken::new();
        let (told, mut runs) = mpsc::unbounded_channel();
        let subscription = SubscriptionLoop { inbox, intake: intake.subscribe(), stop: stop.clone() };
        let pauses = intake.clone();
        let running = tokio::spawn(subscription.run(async move {
            pauses.send_replace(Intake::Paused);
            Ok(Fake(told))
        }));
        let mut next = async || timeout(Duration::from_secs(1), runs.recv()).await;
        assert_eq!(next().await, Ok(Some(true)), "the subscription ends during the pause");
        next().await.unwrap_err();
        intake.send_replace(Intake::Open);
        assert_eq!(next().await, Ok(Some(false)), "the input subscribes again after the pause");
        stop.cancel();
        running.await.unwrap().unwrap();
    }
}
