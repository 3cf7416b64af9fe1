//! The sources of events that the configuration names, opened.
//!
//! In: the deployment file and the broker's file. Out: inputs that are connected, but hand on nothing yet. It fails if
//! one cannot be reached: an adapter that hears nothing must not look healthy.

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

/// Inputs that are connected.
#[derive(Default)]
pub(super) struct Inputs {
    states: Vec<watch::Receiver<InputState>>,
    runs: Vec<Run>,
}

/// Starts one input.
type Run = Box<dyn FnOnce(&mut JoinSet<()>, mpsc::Sender<Incoming>, CancellationToken) + Send>;

impl Inputs {
    /// Opens every input that is configured.
    pub(super) async fn open(
        loaded: &Loaded,
        broker: Option<&BrokerConfig>,
        parallelism: NonZeroUsize,
    ) -> anyhow::Result<Self> {
        let config = &loaded.adapter;
        let mut inputs = Self::default();
        if let Some(address) = config.http_listen {
            inputs.add(HttpInput::bind(address, parallelism.get().saturating_mul(2)).await?);
        }
        match broker.map(|broker| &broker.kind) {
            None => {}
            Some(BrokerKind::RabbitMq(settings)) => {
                let options = rabbitmq_options(config, settings)?;
                inputs.add(RabbitMqInput::connect(options).await.context("failed to subscribe at RabbitMQ")?);
            }
            Some(BrokerKind::GooglePubSub(settings)) => {
                inputs.add_pubsub(config, settings, parallelism).await?;
            }
        }
        Ok(inputs)
    }

    fn add(&mut self, input: impl Input) {
        self.states.push(input.state());
        self.runs.push(Box::new(|tasks, inbox, stop| {
            tasks.spawn(input.run(inbox, stop));
        }));
    }

    #[cfg(feature = "pubsub")]
    async fn add_pubsub(
        &mut self,
        config: &AdapterConfig,
        settings: &PubSubConfig,
        parallelism: NonZeroUsize,
    ) -> anyhow::Result<()> {
        let options = pubsub_options(config, settings, parallelism)?;
        self.add(PubSubInput::connect(options).await.context("failed to subscribe at Pub/Sub")?);
        Ok(())
    }

    #[cfg(not(feature = "pubsub"))]
    #[expect(clippy::unused_async, reason = "the same signature as with the feature")]
    async fn add_pubsub(&mut self, _: &AdapterConfig, _: &PubSubConfig, _: NonZeroUsize) -> anyhow::Result<()> {
        anyhow::bail!(
            "broker.type is googlepubsub, and this binary was built without it: build with `--features pubsub`"
        )
    }

    /// Whether each source can be reached.
    pub(super) fn states(&self) -> Vec<watch::Receiver<InputState>> {
        self.states.clone()
    }

    /// Starts handing events to `inbox`, until `stop`.
    pub(super) fn run(self, inbox: &mpsc::Sender<Incoming>, stop: &CancellationToken) -> Running {
        let mut tasks = JoinSet::new();
        for run in self.runs {
            run(&mut tasks, inbox.clone(), stop.clone());
        }
        Running(tasks)
    }
}

/// Inputs that run.
pub(super) struct Running(JoinSet<()>);

impl Running {
    /// Waits until every input has ended, with everything that it handed on settled.
    pub(super) async fn ended(&mut self) {
        while self.0.join_next().await.is_some() {}
    }
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
