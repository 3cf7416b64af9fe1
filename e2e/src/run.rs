//! One set of servers per test run, shared by all its test processes.
//!
//! In: a service's name, a function that starts it, and a function that checks whether it answers. Out: the
//! service's state (addresses and file names), as the process that started it wrote it down. Fails: if the
//! supervisor's tools are missing or a server does not start; the error ends with the server's log.
//!
//! A *run* is a directory: `LIFECYCLE_E2E_RUN_DIR` (`./test` creates one), else `e2e/` in cargo's target
//! directory. Each test process holds a shared lock, the *lease*, on a file of this directory until the
//! process ends, even if it is killed. A supervisor (`run/supervise.sh`) starts each instance's servers, and
//! stops them when no process has held the lease for a while. So the servers survive the gap between two test
//! binaries, and end with the run. The supervisor uses bash, `flock` and `setpriv`, because Rust would need
//! unsafe code for it.

mod instance;
mod port;
mod private;

use std::fs::{self, File, OpenOptions};
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::time::Duration;

use anyhow::{Context, ensure};
use serde::Serialize;
use serde::de::DeserializeOwned;
use tokio::sync::OnceCell;
use tokio::task::spawn_blocking;

use crate::await_condition;

pub(crate) use instance::{Instance, Lifetime};
pub use port::free_port;
pub(crate) use private::Private;

/// How long servers run without a test process. A plain `cargo test` runs one test binary after the other.
const LINGER: Duration = Duration::from_secs(20);
/// Attempts to start a server: the second one chooses other ports, in case another process took one of them.
const ATTEMPTS: usize = 2;
const STATE: &str = "state.json";
/// How long the servers may take to end: their supervisors look each second whether they are still needed.
const END: Duration = Duration::from_secs(30);
/// The directory of a process that keeps servers of its own.
static OWN_DIRECTORY: OnceLock<PathBuf> = OnceLock::new();

/// The membership of this process in the test run: while a process holds the lease, the run's servers stay
/// up.
pub(crate) struct Run {
    pub(crate) directory: PathBuf,
    linger: Duration,
    /// The lock on the lease, held until the process ends.
    lease: File,
}

impl Run {
    /// Joins the run. The first call locks the lease, and may wait for a supervisor that is stopping servers.
    pub(crate) async fn join() -> anyhow::Result<&'static Self> {
        static RUN: OnceCell<Run> = OnceCell::const_new();
        RUN.get_or_try_init(|| async { spawn_blocking(Self::enter).await? }).await
    }

    fn enter() -> anyhow::Result<Self> {
        let own = OWN_DIRECTORY.get().cloned();
        let chosen = own.or_else(|| std::env::var_os("LIFECYCLE_E2E_RUN_DIR").map(PathBuf::from));
        let (directory, linger) = match chosen {
            Some(directory) => (directory, Duration::ZERO),
            None => (default_directory()?, LINGER),
        };
        fs::create_dir_all(&directory).with_context(|| format!("failed to create {}", directory.display()))?;
        let lease = open(&directory.join("lease"))?;
        lease.lock_shared().context("failed to lock the run's lease")?;
        Ok(Self { directory, linger, lease })
    }

    fn lease_path(&self) -> PathBuf {
        self.directory.join("lease")
    }
}

/// Keeps the servers of this process in a directory of their own, apart from those of the tests.
///
/// # Errors
/// The process has chosen a directory before.
pub fn keep_servers_in(directory: PathBuf) -> anyhow::Result<()> {
    let other = OWN_DIRECTORY.set(directory).err();
    ensure!(other.is_none(), "the servers of this process have a directory already");
    Ok(())
}

/// Gives up the servers that this process has started, and waits until they have ended and their data is removed.
///
/// # Errors
/// A server does not end, as another process uses it as well, or hangs.
pub async fn stop_servers() -> anyhow::Result<()> {
    let run = Run::join().await?;
    run.lease.unlock().context("failed to unlock the run's lease")?;
    await_condition("the servers to end", END, async || {
        let data = instances(run, "")?.into_iter().find(|directory| directory.join("data").exists());
        ensure!(data.is_none(), "{data:?} is there");
        Ok(())
    })
    .await
}

/// The directory `e2e` in cargo's target directory, so that the runs of two checkouts are separate.
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

/// Returns the state of the run's instance of `service`, and starts an instance if there is none.
///
/// A lock makes sure that only one process at a time checks and starts. An instance for which `alive` returns
/// false is stopped and replaced.
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
            // A supervisor stops its servers when their state file is gone. The logs of a dead instance are
            // not needed.
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
                return Err(error.context(format!("failed to start {service}: {}", instance.log_tails())));
            }
            Err(_) => attempt += 1,
        }
    }
}

/// The directories of a service's instances; of all services if the name is empty.
fn instances(run: &Run, service: &str) -> anyhow::Result<Vec<PathBuf>> {
    let prefix = if service.is_empty() { String::new() } else { format!("{service}-") };
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
