//! The adapter's program as a process: starts it, reads its log and metrics, sends it signals.
//!
//! [`Process`] has what all programs do alike.

use std::collections::BTreeMap;
use std::fs;
use std::ops::{Deref, DerefMut};
use std::path::Path;
use std::process::Stdio;

use anyhow::{Context, Result, bail, ensure};
use lifecycle_e2e::process::Process;
use lifecycle_e2e::usage::Usage;
use lifecycle_e2e::{PATIENCE, await_condition};
use serde_json::Value;
use tempfile::TempDir;
use tokio::process::Command;

/// The files and environment of an adapter to start.
pub(crate) struct Setup {
    pub(crate) deployment: Value,
    pub(crate) broker: Option<Value>,
    pub(crate) task: String,
    pub(crate) environment: BTreeMap<String, String>,
}

impl Setup {
    /// Sets a key of the deployment file, such as `clients.hyperfleet_api.timeout`.
    pub(crate) fn with(mut self, key: &str, value: impl Into<Value>) -> Self {
        let place = key.split('.').fold(&mut self.deployment, |place, key| &mut place[key]);
        *place = value.into();
        self
    }

    /// Leaves the broker's configuration file out.
    pub(crate) fn without_broker(mut self) -> Self {
        self.broker = None;
        self
    }

    /// Starts the program, and waits until it reports that it is ready.
    pub(crate) async fn start(self) -> Result<Adapter> {
        let adapter = self.spawn()?;
        adapter.await_readiness(200).await?;
        Ok(adapter)
    }

    /// Starts the program without waiting.
    pub(crate) fn spawn(self) -> Result<Adapter> {
        self.spawn_as(|command| command)
    }

    /// Starts the program by the command that `change` makes of its own, without waiting.
    pub(crate) fn spawn_as(self, change: impl FnOnce(Command) -> Command) -> Result<Adapter> {
        let files = TempDir::new()?;
        // JSON is valid YAML, so no YAML serializer is needed.
        let write = |name: &str, text: String| -> Result<_> {
            let path = files.path().join(name);
            fs::write(&path, text).with_context(|| format!("failed to write {name}"))?;
            Ok(path)
        };
        let deployment = write("adapter.yaml", self.deployment.to_string())?;
        let task = write("task.yaml", self.task)?;
        let mut command = program(files.path());
        command.arg("serve").arg("-c").arg(deployment).arg("-t").arg(task).envs(&self.environment);
        if let Some(broker) = self.broker {
            command.env("BROKER_CONFIG_FILE", write("broker.yaml", broker.to_string())?);
        }
        let mut command = change(command);
        command.stdin(Stdio::null()).kill_on_drop(true);
        Ok(Adapter(Process::start("the adapter", command, files)?))
    }
}

/// The program with an empty environment, in an empty directory, so that no setting of this machine affects it.
fn program(directory: &Path) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_hyperfleet-adapter"));
    command.env_clear().current_dir(directory);
    command
}

/// A running adapter; dropping it kills the process.
pub(crate) struct Adapter(Process);

impl Deref for Adapter {
    type Target = Process;

    fn deref(&self) -> &Process {
        &self.0
    }
}

impl DerefMut for Adapter {
    fn deref_mut(&mut self) -> &mut Process {
        &mut self.0
    }
}

impl Adapter {
    /// Waits for a log entry with this message.
    pub(crate) async fn await_message(&self, message: &str) -> Result<Value> {
        self.await_log(message, |entry| entry["message"] == message).await
    }

    /// Sends a GET to the server for `purpose`, `health` or `metrics`; returns status and body.
    pub(crate) async fn get(&self, purpose: &str, path: &str) -> Result<(u16, String)> {
        lifecycle_e2e::init();
        let response = reqwest::get(format!("{}{path}", self.url(purpose).await?)).await?;
        Ok((response.status().as_u16(), response.text().await?))
    }

    /// Waits until `/readyz` answers with `status`.
    pub(crate) async fn await_readiness(&self, status: u16) -> Result<()> {
        await_condition(&format!("readiness {status}"), PATIENCE, async || {
            let seen = self.get("health", "/readyz").await?;
            ensure!(seen.0 == status, "{seen:?}");
            Ok(())
        })
        .await
    }

    /// The sum of the series of a metric that have all these labels.
    pub(crate) async fn metric(&self, name: &str, labels: &[(&str, &str)]) -> Result<f64> {
        let (status, text) = self.get("metrics", "/metrics").await?;
        ensure!(status == 200, "{status}");
        let wanted: Vec<String> = labels.iter().map(|(name, value)| format!("{name}=\"{value}\"")).collect();
        let series = text.lines().filter_map(|line| {
            let (series, value) = line.rsplit_once(' ')?;
            let (found, labels) = series.split_once('{').unwrap_or((series, ""));
            (found == name && wanted.iter().all(|label| labels.contains(label))).then_some(value)
        });
        let values: Vec<f64> = series.map(str::parse).collect::<Result<_, _>>()?;
        if values.is_empty() {
            bail!("no series {name} {labels:?} in\n{text}");
        }
        Ok(values.iter().sum())
    }

    /// Waits until a metric has this value.
    pub(crate) async fn await_metric(&self, name: &str, labels: &[(&str, &str)], wanted: f64) -> Result<()> {
        await_condition(&format!("{name} {labels:?} to be {wanted}"), PATIENCE, async || {
            let value = self.metric(name, labels).await?;
            // Counters are whole numbers, so half a unit of tolerance compares floats safely.
            ensure!((value - wanted).abs() < 0.5, "{value}");
            Ok(())
        })
        .await
    }

    /// Waits until this number of events is processed, with any result.
    pub(crate) async fn await_handled(&self, events: f64) -> Result<()> {
        self.await_metric("hyperfleet_adapter_events_processed_total", &[], events).await
    }

    /// The peak of the process' resident memory, in KiB.
    pub(crate) fn peak_memory(&self) -> Result<u64> {
        Ok(Usage::of(self.id()?)?.most_resident)
    }

    /// The process' resident memory, in KiB.
    pub(crate) fn resident_memory(&self) -> Result<u64> {
        Ok(Usage::of(self.id()?)?.resident)
    }
}
