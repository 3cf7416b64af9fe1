//! The Pub/Sub server with which Google tests its own clients.
//!
//! In: nothing. Out: the address of a server on the loopback interface, which keeps topics, subscriptions and messages in memory,
//! delivers again and dead-letters. All tests of the run share it. Each test names its own topics.
//!
//! It is built by `e2e/tools/build pubsub`.

use std::path::Path;
use std::process::Command;

use anyhow::{Context, ensure};
use serde::{Deserialize, Serialize};
use tokio::net::TcpStream;
use tokio::sync::OnceCell;

use crate::run::{Instance, free_port, start_or_join};

/// A server, by its address.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PubSub {
    address: String,
}

impl PubSub {
    /// Connects to the run's server, or starts one.
    pub async fn shared() -> anyhow::Result<Self> {
        static SHARED: OnceCell<PubSub> = OnceCell::const_new();
        crate::init();
        let alive = async |server: &PubSub| TcpStream::connect(&server.address).await.is_ok();
        Ok(SHARED.get_or_try_init(|| start_or_join("pubsub", start, alive)).await?.clone())
    }

    /// The server's address `HOST:PORT`, as `PUBSUB_EMULATOR_HOST` names it.
    #[must_use]
    pub fn address(&self) -> &str {
        &self.address
    }
}

async fn start(instance: &mut Instance) -> anyhow::Result<PubSub> {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tools/build");
    let output =
        Command::new(&script).args(["--where", "pubsub"]).output().context("failed to run `e2e/tools/build`")?;
    let directory = String::from_utf8_lossy(&output.stdout).trim().to_owned();
    let program = Path::new(&directory).join("pubsub-server");
    ensure!(program.is_file(), "the Pub/Sub server is not built; run `e2e/tools/build pubsub` once");
    let port = free_port()?;
    let address = format!("127.0.0.1:{port}");
    instance.spawn("pubsub", &[], &[program.display().to_string(), address.clone()])?;
    instance.await_port("the Pub/Sub server to listen", port).await?;
    Ok(PubSub { address })
}
