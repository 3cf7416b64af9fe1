//! A remote cluster behind Maestro.
//!
//! In: a client of the Kubernetes that plays the remote cluster. Out: Maestro's addresses, and what configuration files say
//! of it. Fails: if no port is free.
//!
//! Server and agent are in this process, as the agent needs the handle of the server. They keep no files, and end with it.

use std::time::Duration;

use anyhow::{Context as _, Result};
use kube::Client;
use local_maestro::{KubeAgent, LocalMaestro, Options};
use serde_json::{Value, json};

/// The name of the remote cluster in Maestro.
pub(crate) const CONSUMER: &str = "remote";
/// The source of all works. Adapter and sweeper share it, so that `sweeper restore` can create a work again.
const SOURCE: &str = "stack";
/// The time between two looks of the agent, which only tell it that an object has gone: it hears of works at once.
const PERIOD: Duration = Duration::from_secs(1);

/// A Maestro with one consumer, whose agent runs until this is dropped.
pub(crate) struct Remote {
    maestro: LocalMaestro,
    _agent: KubeAgent,
}

impl Remote {
    /// Starts Maestro, and the agent of its consumer.
    pub(crate) async fn start(client: Client) -> Result<Self> {
        let options = Options { consumers: vec![CONSUMER.to_owned()], ..Options::default() };
        let maestro = LocalMaestro::start(options).await.context("failed to start Maestro")?;
        let agent = KubeAgent::start(&maestro, CONSUMER, client, PERIOD);
        Ok(Self { maestro, _agent: agent })
    }

    /// The block by which a program reaches Maestro.
    pub(crate) fn block(&self) -> Value {
        json!({
            "grpc_server_address": self.grpc_address(),
            "http_server_address": self.rest_url(),
            "source_id": SOURCE,
            "insecure": true,
        })
    }

    /// Host and port of the gRPC interface, which writes.
    pub(crate) fn grpc_address(&self) -> &str {
        self.maestro.grpc_url().trim_start_matches("http://")
    }

    /// The URL of the REST interface, which reads.
    pub(crate) fn rest_url(&self) -> &str {
        self.maestro.rest_url()
    }
}
