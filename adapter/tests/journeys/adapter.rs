//! The adapter's program as a process: starts it, reads its log and metrics, sends it signals.
//!
//! Dropping an [`Adapter`] prints its last log lines, which the test runner shows only if the test failed.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::{ExitStatus, Stdio};

use anyhow::{Context, Result, bail, ensure};
use lifecycle_e2e::{PATIENCE, await_condition};
use serde_json::Value;
use tempfile::TempDir;
use tokio::io::{AsyncBufReadExt, AsyncRead, BufReader};
use tokio::process::{Child, Command};
use tokio::sync::watch;
use tokio::task::JoinHandle;
use tokio::time::timeout;

/// How many of the last log lines are printed.
const PRINTED_LINES: usize = 300;

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
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().context("failed to start")?;
        let lines = watch::Sender::new(Vec::new());
        let readers = vec![
            tokio::spawn(collect(child.stdout.take().context("no stdout")?, lines.clone())),
            tokio::spawn(collect(child.stderr.take().context("no stderr")?, lines.clone())),
        ];
        Ok(Adapter { child, lines, readers, _files: files })
    }
}

/// The program with an empty environment, in an empty directory, so that no setting of this machine affects it.
fn program(directory: &Path) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_hyperfleet-adapter"));
    command.env_clear().current_dir(directory).stdin(Stdio::null()).kill_on_drop(true);
    command
}

async fn collect(output: impl AsyncRead + Unpin, lines: watch::Sender<Vec<String>>) {
    let mut output = BufReader::new(output).lines();
    while let Ok(Some(line)) = output.next_line().await {
        lines.send_modify(|lines| lines.push(line));
    }
}

/// A running adapter; dropping it kills the process.
pub(crate) struct Adapter {
    child: Child,
    lines: watch::Sender<Vec<String>>,
    readers: Vec<JoinHandle<()>>,
    _files: TempDir,
}

impl Adapter {
    /// Returns all lines that the adapter has logged so far.
    pub(crate) fn lines(&self) -> Vec<String> {
        self.lines.borrow().clone()
    }

    /// Waits for a log entry that the predicate accepts; earlier entries count too.
    pub(crate) async fn await_log(&self, what: &str, predicate: impl Fn(&Value) -> bool) -> Result<Value> {
        let entry = |line: &String| serde_json::from_str(line).ok().filter(&predicate);
        let mut lines = self.lines.subscribe();
        let seen = timeout(PATIENCE, lines.wait_for(|lines| lines.iter().any(|line| entry(line).is_some()))).await;
        let seen = seen.with_context(|| format!("the adapter never logged {what}"))?.context("no more output")?;
        seen.iter().find_map(entry).with_context(|| format!("no {what} any more"))
    }

    /// Waits for a log entry with this message.
    pub(crate) async fn await_message(&self, message: &str) -> Result<Value> {
        self.await_log(message, |entry| entry["message"] == message).await
    }

    /// The URL at which the adapter listens for `purpose`: `health`, `metrics` or `events`.
    pub(crate) async fn address(&self, purpose: &str) -> Result<String> {
        let what = format!("that it listens for {purpose}");
        let entry =
            self.await_log(&what, |entry| entry["message"] == "Listening" && entry["purpose"] == purpose).await?;
        let address = entry["address"].as_str().context("the address is no text")?;
        Ok(format!("http://{address}"))
    }

    /// Sends a GET to the server for `purpose`, `health` or `metrics`; returns status and body.
    pub(crate) async fn get(&self, purpose: &str, path: &str) -> Result<(u16, String)> {
        lifecycle_e2e::init();
        let response = reqwest::get(format!("{}{path}", self.address(purpose).await?)).await?;
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

    /// Returns the process id of the running adapter.
    pub(crate) fn process(&self) -> Result<u32> {
        self.child.id().context("it has ended already")
    }

    /// The peak of the process' resident memory, in KiB.
    pub(crate) fn peak_memory(&self) -> Result<u64> {
        self.memory("VmHWM:")
    }

    /// The process' resident memory, in KiB.
    pub(crate) fn resident_memory(&self) -> Result<u64> {
        self.memory("VmRSS:")
    }

    fn memory(&self, figure: &str) -> Result<u64> {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.process()?))?;
        let value = status.lines().find_map(|line| line.strip_prefix(figure)).context("no such figure")?;
        Ok(value.trim().trim_end_matches(" kB").parse()?)
    }

    /// Sends a signal to the process, such as `TERM`.
    pub(crate) async fn signal(&self, name: &str) -> Result<()> {
        let process = self.child.id().context("it has ended already")?.to_string();
        let sent = Command::new("sh").args(["-c", "kill -s \"$0\" \"$1\"", name, &process]).status().await?;
        ensure!(sent.success(), "failed to signal: {sent}");
        Ok(())
    }

    /// Waits until the process has ended.
    pub(crate) async fn exit(&mut self) -> Result<ExitStatus> {
        let status = timeout(PATIENCE, self.child.wait()).await.context("the adapter does not end")??;
        for reader in self.readers.drain(..) {
            reader.await?;
        }
        Ok(status)
    }

    /// Sends SIGTERM, and waits for the exit code 0.
    pub(crate) async fn stop(&mut self) -> Result<()> {
        self.signal("TERM").await?;
        let status = self.exit().await?;
        ensure!(status.code() == Some(0), "{status}");
        Ok(())
    }
}

impl Drop for Adapter {
    #[expect(clippy::print_stdout, reason = "shown for a failed test only")]
    fn drop(&mut self) {
        let lines = self.lines.borrow();
        println!("--- the adapter's last lines");
        for line in lines.iter().skip(lines.len().saturating_sub(PRINTED_LINES)) {
            println!("{line}");
        }
    }
}
