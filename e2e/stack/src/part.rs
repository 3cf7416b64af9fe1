//! A part of the stack as a process, which is started again when it ends, as Kubernetes would.
//!
//! In: a [`Setup`]. Out: a process that writes its output to a file. Fails: if the process ends before it is ready.
//!
//! A part ends with this process, even if this process is killed: `setpriv` asks the kernel for a signal at the end of the
//! thread that started it. Control-C in the terminal does not reach it, so that [`Part::stop`] decides the order.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{ExitStatus, Stdio};
use std::time::Duration;

use anyhow::{Context as _, Result, bail, ensure};
use lifecycle_e2e::await_condition;
use lifecycle_e2e::process::Setup;
use tokio::process::{Child, Command};
use tokio::time::{sleep, timeout};

use crate::terminal::{bad, say};

/// Limits the start of a part, which takes a second or two.
const START: Duration = Duration::from_secs(60);
/// How long a part may take to end after SIGTERM.
const END: Duration = Duration::from_secs(15);
/// The wait before a part that has ended is started again.
const PAUSE: Duration = Duration::from_secs(2);
/// How many lines of the log an error shows.
const TAIL: usize = 12;

/// What a part is.
#[derive(Debug, Clone)]
pub(crate) struct Plan {
    /// The name: of its log as well.
    pub(crate) name: String,
    /// A program that ends before the part is started for the first time.
    pub(crate) before: Option<Setup>,
    /// How it is started.
    pub(crate) setup: Setup,
    /// The URL that answers with success once the part is ready.
    pub(crate) ready: String,
    /// The URL of its metrics.
    pub(crate) metrics: String,
    /// The URL to show.
    pub(crate) address: String,
}

/// A running part.
pub(crate) struct Part {
    plan: Plan,
    directory: PathBuf,
    child: Child,
}

impl Part {
    /// Starts a part, and waits until it is ready. Its files are in `directory`, in a directory of its own.
    pub(crate) async fn start(plan: Plan, directory: &Path) -> Result<Self> {
        let directory = directory.join(&plan.name);
        fs::create_dir_all(&directory).with_context(|| format!("failed to create {}", directory.display()))?;
        if let Some(before) = &plan.before {
            let ended = timeout(START, spawn(&plan.name, before, &directory)?.wait()).await;
            let status = ended.with_context(|| tail(&plan.name, &directory))??;
            ensure!(status.success(), "{} cannot be prepared: {status}\n{}", plan.name, tail(&plan.name, &directory));
        }
        let child = spawn(&plan.name, &plan.setup, &directory)?;
        let mut part = Self { plan, directory, child };
        part.await_ready().await?;
        Ok(part)
    }

    async fn await_ready(&mut self) -> Result<()> {
        let what = format!("{} to be ready", self.plan.name);
        let client = reqwest::Client::new();
        let ready = await_condition(&what, START, async || {
            if let Some(status) = self.child.try_wait()? {
                return Ok(Some(status));
            }
            let response = client.get(&self.plan.ready).send().await?;
            let status = response.status();
            ensure!(status.is_success(), "{status}: {}", response.text().await.unwrap_or_default());
            Ok(None)
        });
        match ready.await.with_context(|| self.tail())? {
            None => Ok(()),
            Some(status) => bail!("{} ended at once: {status}\n{}", self.plan.name, self.tail()),
        }
    }

    /// Runs the part for good: starts it again whenever it ends, and says so.
    pub(crate) async fn keep(&mut self) {
        loop {
            let status = self.child.wait().await;
            let how = status.map_or_else(|error| error.to_string(), |status: ExitStatus| status.to_string());
            let name = &self.plan.name;
            say(&bad(&format!("{name} has ended ({how}) and is started again; its log: {}", self.log().display())));
            sleep(PAUSE).await;
            match spawn(&self.plan.name, &self.plan.setup, &self.directory) {
                Ok(child) => self.child = child,
                Err(error) => say(&bad(&format!("{name} cannot be started: {error:#}"))),
            }
        }
    }

    /// Ends the part: SIGTERM, and SIGKILL if that does not help.
    pub(crate) async fn stop(&mut self) -> Result<()> {
        let Some(id) = self.child.id() else { return Ok(()) };
        Command::new("kill").arg(id.to_string()).status().await.context("failed to run `kill`")?;
        if timeout(END, self.child.wait()).await.is_err() {
            say(&bad(&format!("{} does not end, and is killed", self.plan.name)));
            self.child.kill().await.with_context(|| format!("failed to kill {}", self.plan.name))?;
        }
        Ok(())
    }

    /// The process id, while the part runs.
    pub(crate) fn id(&self) -> Option<u32> {
        self.child.id()
    }

    /// What the part is.
    pub(crate) fn plan(&self) -> &Plan {
        &self.plan
    }

    fn log(&self) -> PathBuf {
        log(&self.plan.name, &self.directory)
    }

    fn tail(&self) -> String {
        tail(&self.plan.name, &self.directory)
    }
}

fn log(name: &str, directory: &Path) -> PathBuf {
    directory.join(format!("{name}.log"))
}

fn tail(name: &str, directory: &Path) -> String {
    let log = log(name, directory);
    let text = fs::read_to_string(&log).unwrap_or_default();
    let lines: Vec<&str> = text.lines().collect();
    let last = lines.get(lines.len().saturating_sub(TAIL)..).unwrap_or_default().join("\n  ");
    format!("the last lines of {}:\n  {last}", log.display())
}

fn spawn(name: &str, setup: &Setup, directory: &Path) -> Result<Child> {
    let command = setup.command(directory)?;
    let command = command.as_std();
    let log = log(name, directory);
    let file = File::options().create(true).append(true).open(&log);
    let file = file.with_context(|| format!("failed to open {}", log.display()))?;
    let mut under = Command::new("setpriv");
    under.args(["--pdeathsig", "TERM", "--"]).arg(command.get_program()).args(command.get_args());
    under.env_clear().envs(command.get_envs().filter_map(|(name, value)| Some((name, value?))));
    under.current_dir(directory).process_group(0);
    under.stdin(Stdio::null()).stdout(file.try_clone()?).stderr(file).kill_on_drop(true);
    under.spawn().with_context(|| format!("failed to start {name} (it needs setpriv)"))
}
