//! One set of servers per test run, shared by all its processes.
//!
//! In: a service's name, a way to start it and a way to see that it answers. Out: the state that its
//! starter wrote down (addresses and file names), whichever process that was.
//!
//! A *run* is a directory: the one named by `LIFECYCLE_E2E_RUN_DIR` (`./test` makes a fresh one), else
//! `e2e/` in cargo's target directory. Each test process holds a shared lock, the *lease*, on a file in it until
//! it ends, however it ends. Every instance is started through a supervisor (`run/supervise.sh`) that
//! stops it once nobody has held the lease for a while; so servers survive the gap between two test binaries,
//! but neither a finished nor a killed run. Bash, `flock` and `setpriv` do this without unsafe code.
//!
//! What can fail: the supervisor's tools are missing, or a server does not come up; the error ends with its log.

mod instance;
mod port;

use std::fs::{self, File, OpenOptions};
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::Context;
use serde::Serialize;
use serde::de::DeserializeOwned;
use tokio::sync::OnceCell;
use tokio::task::spawn_blocking;

pub(crate) use instance::{Instance, Lifetime};
pub(crate) use port::free_port;

/// How long servers outlive the last test process of a plain `cargo test`, which starts one binary after the other.
const LINGER: Duration = Duration::from_secs(20);
/// A second try covers the port that somebody took between its choice and its use.
const ATTEMPTS: usize = 2;
const STATE: &str = "state.json";

/// This process's membership in the run.
pub(crate) struct Run {
    pub(crate) directory: PathBuf,
    linger: Duration,
    /// Locked until the process ends.
    _lease: File,
}

impl Run {
    /// Joins the run; the first call takes the lease, which may wait for servers that are just being stopped.
    pub(crate) async fn join() -> anyhow::Result<&'static Self> {
        static RUN: OnceCell<Run> = OnceCell::const_new();
        RUN.get_or_try_init(|| async { spawn_blocking(Self::enter).await? }).await
    }

    fn enter() -> anyhow::Result<Self> {
        let (directory, linger) = match std::env::var_os("LIFECYCLE_E2E_RUN_DIR") {
            Some(directory) => (PathBuf::from(directory), Duration::ZERO),
            None => (default_directory()?, LINGER),
        };
        fs::create_dir_all(&directory).with_context(|| format!("failed to create {}", directory.display()))?;
        let lease = open(&directory.join("lease"))?;
        lease.lock_shared().context("failed to lock the run's lease")?;
        Ok(Self { directory, linger, _lease: lease })
    }

    fn lease_path(&self) -> PathBuf {
        self.directory.join("lease")
    }
}

/// The directory `e2e` beside the running test's profile directory, so that runs of two checkouts never meet.
fn default_directory() -> anyhow::Result<PathBuf> {
    let test = std::env::current_exe().context("the running test's own path is unknown")?;
    let target = test.ancestors().find(|path| path.join("CACHEDIR.TAG").is_file()).or_else(|| test.parent());
    Ok(target.context("the running test has no directory")?.join("e2e"))
}

fn open(path: &Path) -> anyhow::Result<File> {
    OpenOptions::new()
        .read(true)
        .write(true)
        .create(true)
        .truncate(false)
        .open(path)
        .with_context(|| format!("failed to open {}", path.display()))
}

/// Joins the instance of `service` that the run has, or starts it.
///
/// One process at a time looks and starts, so there is one instance. `alive` guards against an instance whose
/// servers no longer answer; such a one is told to stop and replaced.
pub(crate) async fn start_or_join<S, Start, Alive>(service: &str, start: Start, alive: Alive) -> anyhow::Result<S>
where
    S: Serialize + DeserializeOwned,
    Start: AsyncFn(&mut Instance) -> anyhow::Result<S>,
    Alive: AsyncFn(&S) -> bool,
{
    let run = Run::join().await?;
    let gate = open(&run.directory.join(format!("{service}.lock")))?;
    let _gate = spawn_blocking(move || gate.lock().map(|()| gate)).await?.context("failed to lock the start gate")?;

    for directory in instances(run, service)? {
        let state = fs::read(directory.join(STATE)).ok();
        let state = state.and_then(|bytes| serde_json::from_slice::<S>(&bytes).ok());
        match state {
            Some(state) if alive(&state).await => return Ok(state),
            // Removing the state is what tells a supervisor to stop; the logs of the dead are of no more use.
            Some(_) | None => fs::remove_dir_all(&directory).unwrap_or_default(),
        }
    }

    let mut attempt = 1;
    loop {
        let directory = run.directory.join(crate::unique(service));
        let lifetime = Lifetime { lease: run.lease_path(), linger: run.linger };
        let mut instance = Instance::supervise(directory, &lifetime)?;
        match start(&mut instance).await {
            Ok(state) => {
                instance.publish(&state)?;
                return Ok(state);
            }
            Err(error) if attempt == ATTEMPTS => {
                return Err(error.context(format!("failed to start {service}: {}", instance.last_words())));
            }
            Err(_) => attempt += 1,
        }
    }
}

fn instances(run: &Run, service: &str) -> anyhow::Result<Vec<PathBuf>> {
    let prefix = format!("{service}-");
    let mut found = Vec::new();
    for entry in fs::read_dir(&run.directory).context("failed to list the run's instances")? {
        let entry = entry.context("failed to list the run's instances")?;
        let ours = entry.file_name().to_str().is_some_and(|name| name.starts_with(&prefix));
        if ours && entry.path().is_dir() {
            found.push(entry.path());
        }
    }
    Ok(found)
}
