//! The servers of one test, which may stop them and start them again on their data.
//!
//! In: a directory, and a function that starts the servers. Out: what that function returns; the servers end when the
//! [`Private`] is dropped. Fails: if a server does not start; the error ends with the servers' logs.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::Context as _;
use serde::Serialize;
use tempfile::TempDir;
use tokio::runtime::{Handle, RuntimeFlavor};

use super::{Instance, Lifetime, Run};

/// The supervised servers of one test, and their directory.
pub(crate) struct Private {
    instance: Instance,
    /// The supervisor stops the servers when no process holds a shared lock on this file; `None` while they are stopped.
    lease: Option<File>,
    directory: TempDir,
}

impl Private {
    /// A directory for servers of one test.
    pub(crate) async fn directory() -> anyhow::Result<TempDir> {
        let run = Run::join().await?;
        let made = tempfile::Builder::new().prefix("private-").tempdir_in(&run.directory);
        made.context("failed to create the directory of a private server")
    }

    /// Starts servers in a directory.
    pub(crate) async fn start<S: Serialize>(
        directory: TempDir,
        start: impl AsyncFnOnce(&mut Instance) -> anyhow::Result<S>,
    ) -> anyhow::Result<(Self, S)> {
        let (instance, lease, started) = launch(directory.path(), start).await?;
        Ok((Self { instance, lease: Some(lease), directory }, started))
    }

    /// Ends the servers by a signal, such as `TERM`, and keeps their data.
    pub(crate) fn stop(&mut self, signal: &str) -> anyhow::Result<()> {
        fs::write(self.keep(), signal).context("failed to mark the data of a private server for keeping")?;
        self.end()
    }

    /// Starts servers again on the data that [`stop`](Self::stop) has kept.
    pub(crate) async fn resume<S: Serialize>(
        &mut self,
        start: impl AsyncFnOnce(&mut Instance) -> anyhow::Result<S>,
    ) -> anyhow::Result<S> {
        let (instance, lease, started) = launch(self.directory.path(), start).await?;
        fs::remove_file(self.keep()).context("failed to release the data of a private server")?;
        (self.instance, self.lease) = (instance, Some(lease));
        Ok(started)
    }

    pub(crate) fn instance(&self) -> &Instance {
        &self.instance
    }

    /// The file whose existence makes the supervisor keep the data; it names the signal.
    fn keep(&self) -> PathBuf {
        self.directory.path().join("keep")
    }

    /// Waits until the servers have ended; on a multi-threaded runtime, other tasks go on meanwhile.
    fn end(&mut self) -> anyhow::Result<()> {
        self.lease = None;
        match Handle::try_current().map(|handle| handle.runtime_flavor()) {
            Ok(RuntimeFlavor::MultiThread) => tokio::task::block_in_place(|| self.instance.wait()),
            _ => self.instance.wait(),
        }
    }
}

impl Drop for Private {
    fn drop(&mut self) {
        // Wait until the servers have stopped writing into the directory, which is deleted next.
        let _ = self.end();
    }
}

async fn launch<S: Serialize>(
    directory: &Path,
    start: impl AsyncFnOnce(&mut Instance) -> anyhow::Result<S>,
) -> anyhow::Result<(Instance, File, S)> {
    let path = directory.join("lease");
    let lease = File::create(&path).context("failed to create the lease of a private server")?;
    lease.lock_shared().context("failed to lock the lease of a private server")?;
    let lifetime = Lifetime { lease: path, linger: Duration::ZERO };
    let mut instance = Instance::supervise(directory.to_owned(), &lifetime)?;
    match start(&mut instance).await {
        Ok(started) => {
            instance.publish(&started)?;
            Ok((instance, lease, started))
        }
        Err(error) => Err(error.context(format!("failed to start a private server: {}", instance.log_tails()))),
    }
}
