//! A PostgreSQL server for one test, with its own settings, which the test may kill and start again.

use std::fs::{self, File};
use std::path::PathBuf;
use std::time::Duration;

use anyhow::Context;
use tempfile::TempDir;

use super::{Server, start};
use crate::await_condition;
use crate::run::{Instance, Lifetime, Run, wait};

/// A server for one test. Dropping it stops the server.
pub struct PrivateServer {
    server: Server,
    instance: Instance,
    settings: Vec<String>,
    /// The supervisor stops the server when no process holds a shared lock on this file; `None` while the server is
    /// killed.
    lease: Option<File>,
    directory: TempDir,
}

/// How long the processes of a killed server may take to end: until then no other server may use the data.
const BACKENDS_END: Duration = Duration::from_secs(60);

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
        fs::write(self.keep(), "KILL").context("failed to mark the server's data for keeping")?;
        self.lease = None;
        wait(&mut self.instance)
    }

    /// Starts the server again after [`kill`](Self::kill), with the same port.
    pub async fn resume(&mut self) -> anyhow::Result<()> {
        let port = self.server.authority()?.rsplit_once(':').context("the address has no port")?.1.parse()?;
        let settings: Vec<&str> = self.settings.iter().map(String::as_str).collect();
        let start =
            async || launch(&self.directory, async |instance| start::run(instance, port, &settings).await).await;
        let (server, instance, lease) =
            await_condition("the killed server's processes to end", BACKENDS_END, start).await?;
        fs::remove_file(self.keep()).context("failed to release the server's data")?;
        (self.server, self.instance, self.lease) = (server, instance, Some(lease));
        Ok(())
    }

    async fn begin(
        settings: &[&str],
        start: impl AsyncFn(&mut Instance) -> anyhow::Result<Server>,
    ) -> anyhow::Result<Self> {
        let run = Run::join().await?;
        let directory = tempfile::Builder::new().prefix("private-").tempdir_in(&run.directory)?;
        let (server, instance, lease) = launch(&directory, start).await?;
        let settings = settings.iter().map(|&setting| setting.to_owned()).collect();
        Ok(Self { server, instance, settings, lease: Some(lease), directory })
    }

    fn keep(&self) -> PathBuf {
        self.directory.path().join("keep")
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
        let _ = wait(&mut self.instance);
    }
}

async fn launch(
    directory: &TempDir,
    start: impl AsyncFn(&mut Instance) -> anyhow::Result<Server>,
) -> anyhow::Result<(Server, Instance, File)> {
    let path = directory.path().join("lease");
    let lease = File::create(&path).context("failed to create the server's lease")?;
    lease.lock_shared().context("failed to lock the server's lease")?;
    let lifetime = Lifetime { lease: path, linger: Duration::ZERO };
    let mut instance = Instance::supervise(directory.path().to_owned(), &lifetime)?;
    match start(&mut instance).await {
        Ok(server) => {
            instance.publish(&server)?;
            Ok((server, instance, lease))
        }
        Err(error) => Err(error.context(format!("failed to start a private server: {}", instance.log_tails()))),
    }
}
