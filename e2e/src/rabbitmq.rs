//! A real RabbitMQ broker.
//!
//! In: nothing. Out: the address of a broker on the loopback interface. All tests of the run share one
//! broker, and each test declares its own [`Topic`]s. A [`PrivateBroker`] belongs to one test, which may
//! restart it.
//!
//! The variable `LIFECYCLE_E2E_AMQP_URL` names an existing broker to use instead of the shared one.

mod start;
mod tls;
mod topic;

use anyhow::Context;
use lapin::options::QueueDeclareOptions;
use lapin::types::FieldTable;
use lapin::{Connection, ConnectionProperties};
use serde::{Deserialize, Serialize};
use tempfile::TempDir;
use tokio::net::TcpStream;
use tokio::sync::OnceCell;

pub use tls::Tls;
pub use topic::{Message, Topic};

use self::tls::TlsListener;
use crate::fault::TcpProxy;
use crate::run::{Instance, Private, start_or_join};

/// A broker, by its URL.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Broker {
    url: String,
}

/// The broker's counts of a queue's messages and consumers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Depth {
    /// Messages that are ready for delivery, without those delivered but not yet acknowledged.
    pub ready: u32,
    /// The number of consumers of the queue.
    pub consumers: u32,
}

impl Broker {
    /// Connects to the run's broker, or starts one, which takes a few seconds.
    pub async fn shared() -> anyhow::Result<Self> {
        static SHARED: OnceCell<Broker> = OnceCell::const_new();
        crate::init();
        let broker = SHARED
            .get_or_try_init(|| async {
                match std::env::var("LIFECYCLE_E2E_AMQP_URL") {
                    Ok(url) => Ok(Self { url }),
                    Err(_) => start_or_join("rabbitmq", start_shared, answers).await,
                }
            })
            .await?;
        Ok(broker.clone())
    }

    /// The broker's URL with user and password, for the configuration key `broker.rabbitmq.url`.
    #[must_use]
    pub fn url(&self) -> &str {
        &self.url
    }

    /// Opens a connection in the current runtime.
    pub async fn connect(&self) -> anyhow::Result<Connection> {
        Connection::connect(&self.url, ConnectionProperties::default()).await.context("failed to reach RabbitMQ")
    }

    /// Declares an exchange that no other test uses.
    pub async fn topic(&self) -> anyhow::Result<Topic> {
        Topic::declare(self, crate::unique("topic")).await
    }

    /// Returns the counts of a queue; an error if the queue does not exist.
    pub async fn depth(&self, queue: &str) -> anyhow::Result<Depth> {
        let connection = self.connect().await?;
        let channel = connection.create_channel().await.context("failed to open a channel")?;
        let passive = QueueDeclareOptions { passive: true, ..QueueDeclareOptions::default() };
        let seen = channel
            .queue_declare(queue.into(), passive, FieldTable::default())
            .await
            .with_context(|| format!("failed to look at queue `{queue}`"))?;
        connection.close(200, "done".into()).await.context("failed to close the connection")?;
        Ok(Depth { ready: seen.message_count(), consumers: seen.consumer_count() })
    }

    /// Starts a proxy for the broker; clients connect with [`Broker::through`].
    pub async fn proxy(&self) -> anyhow::Result<TcpProxy> {
        TcpProxy::before(self.authority()?).await
    }

    /// The same broker, with a URL that leads through the proxy.
    pub fn through(&self, proxy: &TcpProxy) -> anyhow::Result<Self> {
        Ok(Self { url: self.url.replacen(self.authority()?, &proxy.address().to_string(), 1) })
    }

    /// Returns the part `host:port` of the broker's URL `amqp://user:password@host:port/vhost`.
    fn authority(&self) -> anyhow::Result<&str> {
        let rest = self.url.strip_prefix("amqp://").context("only amqp:// addresses can be proxied")?;
        let authority = rest.split('/').next().unwrap_or(rest);
        Ok(authority.rsplit_once('@').map_or(authority, |(_, address)| address))
    }
}

async fn start_shared(instance: &mut Instance) -> anyhow::Result<Broker> {
    let listeners = start::Listeners::choose(None)?;
    start::start(instance, &listeners).await
}

async fn answers(broker: &Broker) -> bool {
    match broker.authority() {
        Ok(address) => TcpStream::connect(address).await.is_ok(),
        Err(_) => false,
    }
}

/// A broker for one test. Dropping it stops the broker.
pub struct PrivateBroker {
    broker: Broker,
    listeners: start::Listeners,
    private: Private,
}

impl PrivateBroker {
    /// Starts a broker for one test.
    pub async fn start() -> anyhow::Result<Self> {
        Self::start_in(Private::directory().await?, None).await
    }

    /// Starts a broker that also listens for TLS, with a certificate for exactly these host names and addresses.
    pub async fn start_with_tls(names: &[&str]) -> anyhow::Result<(Self, Tls)> {
        let directory = Private::directory().await?;
        let listener = TlsListener::prepare(directory.path(), names)?;
        let tls = listener.client_side();
        Ok((Self::start_in(directory, Some(listener)).await?, tls))
    }

    async fn start_in(directory: TempDir, tls: Option<TlsListener>) -> anyhow::Result<Self> {
        let listeners = start::Listeners::choose(tls)?;
        let start = async |instance: &mut Instance| start::start(instance, &listeners).await;
        let (private, broker) = Private::start(directory, start).await?;
        Ok(Self { broker, listeners, private })
    }

    /// The broker; its address stays the same after a restart.
    #[must_use]
    pub fn broker(&self) -> &Broker {
        &self.broker
    }

    /// Shuts the broker down cleanly, and starts it again with the same port and durable queues.
    pub async fn restart(&mut self) -> anyhow::Result<()> {
        self.stop()?;
        self.resume().await
    }

    /// Shuts the broker down cleanly; connections end, and new ones are refused.
    pub fn stop(&mut self) -> anyhow::Result<()> {
        self.private.stop("TERM")
    }

    /// Starts the broker again after [`stop`](Self::stop).
    pub async fn resume(&mut self) -> anyhow::Result<()> {
        let start = async |instance: &mut Instance| start::start(instance, &self.listeners).await;
        self.broker = self.private.resume(start).await?;
        Ok(())
    }

    /// Runs the broker's administration tool `rabbitmqctl`, for operations that AMQP lacks, such as setting a
    /// policy.
    pub async fn control(&self, arguments: &[&str]) -> anyhow::Result<()> {
        start::control(self.private.instance(), &self.listeners, arguments).await
    }
}
