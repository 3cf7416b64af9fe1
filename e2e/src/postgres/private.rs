//! A PostgreSQL server for one test, with its own settings, which the test may kill and start again.

use std::time::Duration;

use anyhow::Context;

use super::{Server, start};
use crate::await_condition;
use crate::run::{Instance, Private};

/// How long the processes of a killed server may take to end: until then no other server may use the data.
const BACKENDS_END: Duration = Duration::from_secs(60);

/// A server for one test. Dropping it stops the server.
pub struct PrivateServer {
    server: Server,
    settings: Vec<String>,
    private: Private,
}

impl PrivateServer {
    /// Starts a server; `settings` (`name=value`) override those of the shared server.
    pub async fn start(settings: &[&str]) -> anyhow::Result<Self> {
        Self::begin(settings, async |instance| start::start_with(instance, settings).await).await
    }

    /// Starts a hot standby of this server.
    pub async fn standby(&self) -> anyhow::Result<Self> {
        Self::begin(&[], async |instance| start::start_standby(instance, &self.server).await).await
    }

    /// Kills the server, as a crash of its machine would; connections end, and new ones are refused. What was committed
    /// stays.
    pub fn kill(&mut self) -> anyhow::Result<()> {
        self.private.stop("KILL")
    }

    /// Starts the server again after [`kill`](Self::kill), with the same port.
    pub async fn resume(&mut self) -> anyhow::Result<()> {
        let port = self.server.authority()?.rsplit_once(':').context("the address has no port")?.1.parse()?;
        let settings: Vec<&str> = self.settings.iter().map(String::as_str).collect();
        let private = &mut self.private;
        let resume = async || private.resume(async |instance| start::run(instance, port, &settings).await).await;
        self.server = await_condition("the killed server's processes to end", BACKENDS_END, resume).await?;
        Ok(())
    }

    /// Returns the running server, for connections and databases.
    #[must_use]
    pub fn server(&self) -> &Server {
        &self.server
    }

    async fn begin(
        settings: &[&str],
        start: impl AsyncFnOnce(&mut Instance) -> anyhow::Result<Server>,
    ) -> anyhow::Result<Self> {
        let (private, server) = Private::start(Private::directory().await?, start).await?;
        let settings = settings.iter().map(|&setting| setting.to_owned()).collect();
        Ok(Self { server, settings, private })
    }
}
