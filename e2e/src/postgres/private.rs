//! A PostgreSQL server for one test, with its own settings.

use std::fs::File;
use std::time::Duration;

use anyhow::Context;
use tempfile::TempDir;

use super::{Server, start};
use crate::run::{Instance, Lifetime, Run};

/// A server for one test. Dropping it stops the server.
pub struct PrivateServer {
    server: Server,
    instance: Instance,
    /// The supervisor stops the server when no process holds a shared lock on this file.
    lease: Option<File>,
    _directory: TempDir,
}

impl PrivateServer {
    /// Starts a server; `settings` (`name=value`) override those of the shared server.
    pub async fn start(settings: &[&str]) -> anyhow::Result<Self> {
        Self::supervise(async |instance| start::start_with(instance, settings).await).await
    }

    /// Starts a hot standby of this server.
    pub async fn standby(&self) -> anyhow::Result<Self> {
        Self::supervise(async |instance| start::start_standby(instance, &self.server).await).await
    }

    async fn supervise(start: impl AsyncFnOnce(&mut Instance) -> anyhow::Result<Server>) -> anyhow::Result<Self> {
        let run = Run::join().await?;
        let directory = tempfile::Builder::new().prefix("private-").tempdir_in(&run.directory)?;
        let path = directory.path().join("lease");
        let lease = File::create(&path).context("failed to create the server's lease")?;
        lease.lock_shared().context("failed to lock the server's lease")?;
        let lifetime = Lifetime { lease: path, linger: Duration::ZERO };
        let mut instance = Instance::supervise(directory.path().to_owned(), &lifetime)?;
        match start(&mut instance).await {
            Ok(server) => {
                instance.publish(&server)?;
                Ok(Self { server, instance, lease: Some(lease), _directory: directory })
            }
            Err(error) => Err(error.context(format!("failed to start a private server: {}", instance.log_tails()))),
        }
    }

    /// Returns the running server, for connections and databases.
    #[must_use]
    pub fn server(&self) -> &Server {
        &self.server
    }
}

impl Drop for PrivateServer {
    fn drop(&mut self) {
        self.lease = None;
        // Wait until the server has stopped writing into the directory, which is deleted next.
        let _ = self.instance.wait();
    }
}
