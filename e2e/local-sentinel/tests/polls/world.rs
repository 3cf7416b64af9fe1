//! The servers around a Sentinel under test, and the clock that the test moves.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use jiff::Timestamp;
use lifecycle_e2e::api::LocalApi;
use lifecycle_e2e::rabbitmq::{Broker, Message, Topic};
use lifecycle_e2e::sentinel::Event;
use lifecycle_e2e::{PATIENCE, init};
use lifecycle_service::metrics::Exposition;
use local_sentinel::config::{CONFIGURATION, Config, Environment, Flags};
use local_sentinel::listing::ListingError;
use local_sentinel::metrics::Metrics;
use local_sentinel::run;
use local_sentinel::sentinel::{Polled, Sentinel};
use tokio_util::sync::CancellationToken;

/// An API, and an exchange on a broker.
pub(crate) struct World {
    pub(crate) api: LocalApi,
    pub(crate) broker: Broker,
    pub(crate) topic: Topic,
    now: Arc<Mutex<Timestamp>>,
}

/// A Sentinel that polls when the test says so.
pub(crate) struct Polling {
    pub(crate) sentinel: Sentinel,
    metrics: Arc<Metrics>,
}

impl World {
    pub(crate) async fn start() -> anyhow::Result<Self> {
        Self::around(Broker::shared().await?).await
    }

    pub(crate) async fn around(broker: Broker) -> anyhow::Result<Self> {
        init();
        let (api, topic) = (LocalApi::start().await?, broker.topic().await?);
        // Without a fraction, which the API's tables would cut.
        let now = Timestamp::from_second(Timestamp::now().as_second())?;
        Ok(Self { api, broker, topic, now: Arc::new(Mutex::new(now)) })
    }

    /// A configuration of this world; `more` has further keys as YAML.
    pub(crate) fn config(&self, more: &str) -> anyhow::Result<Config> {
        let text = format!(
            "clients: {{hyperfleet_api: {{base_url: '{}', page_size: 2}}, broker: {{topic: {}}}}}\n\
             broker: {{rabbitmq: {{url: '{}', exchange_type: topic}}}}\n{more}",
            self.api.url(),
            self.topic.name(),
            self.broker.url(),
        );
        Ok(CONFIGURATION
            .parse("sentinel.yaml", &text, &Environment::new(), &Flags::new())
            .map_err(|error| anyhow::anyhow!("{error}"))?
            .0)
    }

    /// A connected Sentinel for resources of this type.
    pub(crate) async fn sentinel(&self, resource_type: &str, more: &str) -> anyhow::Result<Polling> {
        let config = self.config(&format!("resource_type: {resource_type}\n{more}"))?;
        let metrics = Arc::new(run::metrics(&config));
        let now = Arc::clone(&self.now);
        let clock = Arc::new(move || *now.lock().unwrap());
        let polling = Polling { sentinel: run::sentinel(&config, clock, Arc::clone(&metrics))?, metrics };
        polling.connected().await?;
        Ok(polling)
    }

    /// Stores a cluster whose condition `Reconciled` has this status and is as old as the clock.
    pub(crate) async fn put_cluster(&self, id: &str, status: &str) -> anyhow::Result<()> {
        self.api.put_cluster(id, 1).await?;
        let now = *self.now.lock().unwrap();
        self.api.put_reconciled(id, status, now).await
    }

    /// Moves the clock of the Sentinels.
    pub(crate) fn advance(&self, duration: Duration) {
        *self.now.lock().unwrap() += duration;
    }

    /// Takes the next message from a queue, with its event.
    pub(crate) async fn take(&self, queue: &str) -> anyhow::Result<(Message, Event)> {
        let message = self.topic.take(queue, PATIENCE).await?;
        let event = serde_json::from_slice(&message.body)?;
        Ok((message, event))
    }
}

impl Polling {
    /// Waits until there is a connection to the broker.
    pub(crate) async fn connected(&self) -> anyhow::Result<()> {
        let mut state = self.sentinel.publisher().state();
        tokio::time::timeout(PATIENCE, state.wait_for(Option::is_some)).await??;
        Ok(())
    }

    pub(crate) async fn poll(&mut self) -> Result<Polled, ListingError> {
        self.sentinel.poll(&CancellationToken::new()).await
    }

    /// The value of the only series whose text begins with `name` and contains all `labels`.
    pub(crate) fn metric(&self, name: &str, labels: &[&str]) -> String {
        let text = self.metrics.expose(Exposition::Classic);
        let is_wanted = |line: &&str| line.starts_with(name) && labels.iter().all(|label| line.contains(label));
        let found: Vec<_> = text.lines().filter(is_wanted).collect();
        let [series] = found[..] else { panic!("{name} {labels:?}: {found:?} in {text}") };
        series.rsplit_once(' ').unwrap().1.to_owned()
    }
}
