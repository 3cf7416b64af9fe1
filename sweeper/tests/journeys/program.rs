//! The sweeper's program as a process: starts it, reads its log and metrics, sends it signals.
//!
//! Dropping a [`Sweeper`] kills the process and prints its last log lines, which the test runner shows only if the test
//! failed.

use std::fs;
use std::process::{ExitStatus, Output, Stdio};

use anyhow::{Context as _, Result, ensure};
use lifecycle_e2e::{PATIENCE, await_condition};
use regex::Regex;
use serde_json::Value;
use tempfile::TempDir;
use tokio::io::{AsyncBufReadExt as _, AsyncRead, BufReader};
use tokio::process::{Child, Command};
use tokio::sync::watch;
use tokio::task::JoinHandle;
use tokio::time::timeout;

/// How many of the last log lines are printed.
const PRINTED_LINES: usize = 200;

/// The configuration of a sweeper to start.
#[derive(Debug, Clone)]
pub(crate) struct Setup {
    config: Value,
    /// A command that runs the program, such as `ip netns exec island`; empty for none.
    under: Vec<String>,
}

impl Setup {
    pub(crate) fn new(config: Value) -> Self {
        Self { config, under: Vec::new() }
    }

    /// Runs the program by another command, given by its path and arguments.
    pub(crate) fn under(self, command: &[&str]) -> Self {
        Self { under: command.iter().map(|&word| word.to_owned()).collect(), ..self }
    }

    /// Sets a key of the configuration, such as `limits.percent`.
    pub(crate) fn with(mut self, key: &str, value: impl Into<Value>) -> Self {
        let place = key.split('.').fold(&mut self.config, |place, key| &mut place[key]);
        *place = value.into();
        self
    }

    /// Starts `sweeper run`.
    pub(crate) fn run(&self) -> Result<Sweeper> {
        self.spawn(&["run"])
    }

    /// Starts a command without waiting for its end.
    pub(crate) fn spawn(&self, arguments: &[&str]) -> Result<Sweeper> {
        let (mut command, files) = self.command(arguments)?;
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().context("failed to start")?;
        let lines = watch::Sender::new(Vec::new());
        let readers = vec![
            tokio::spawn(collect(child.stdout.take().context("no stdout")?, lines.clone())),
            tokio::spawn(collect(child.stderr.take().context("no stderr")?, lines.clone())),
        ];
        Ok(Sweeper { child, lines, readers, _files: files })
    }

    /// Runs a command to its end.
    pub(crate) async fn output(&self, arguments: &[&str]) -> Result<Output> {
        let (mut command, _files) = self.command(arguments)?;
        Ok(timeout(PATIENCE, command.output()).await.with_context(|| format!("{arguments:?} does not end"))??)
    }

    /// The program with an empty environment, in an empty directory, so that no setting of this machine affects it.
    fn command(&self, arguments: &[&str]) -> Result<(Command, TempDir)> {
        let files = TempDir::new()?;
        // JSON is valid YAML, so no YAML serializer is needed.
        let config = files.path().join("sweeper.yaml");
        fs::write(&config, self.config.to_string())?;
        let program = env!("CARGO_BIN_EXE_sweeper");
        let mut words = self.under.iter().map(String::as_str).chain([program]);
        let mut command = Command::new(words.next().unwrap_or(program));
        command.args(words).args(arguments).arg("--config").arg(config);
        command.env_clear().current_dir(files.path()).stdin(Stdio::null()).kill_on_drop(true);
        Ok((command, files))
    }
}

async fn collect(output: impl AsyncRead + Unpin, lines: watch::Sender<Vec<String>>) {
    let mut output = BufReader::new(output).lines();
    while let Ok(Some(line)) = output.next_line().await {
        lines.send_modify(|lines| lines.push(line));
    }
}

/// A running sweeper; dropping it kills the process.
pub(crate) struct Sweeper {
    child: Child,
    lines: watch::Sender<Vec<String>>,
    readers: Vec<JoinHandle<()>>,
    _files: TempDir,
}

impl Sweeper {
    /// The log entries so far that the predicate accepts.
    pub(crate) fn entries(&self, predicate: impl Fn(&Value) -> bool) -> Vec<Value> {
        let lines = self.lines.borrow();
        lines.iter().filter_map(|line| serde_json::from_str(line).ok()).filter(predicate).collect()
    }

    /// Waits until the predicate accepts this many log entries, and returns the last of them; earlier entries count too.
    async fn await_entries(&self, what: &str, wanted: usize, predicate: impl Fn(&Value) -> bool) -> Result<Value> {
        let mut lines = self.lines.subscribe();
        let accepted = |lines: &Vec<String>| {
            let entries = lines.iter().filter_map(|line| serde_json::from_str(line).ok());
            entries.filter(&predicate).nth(wanted - 1)
        };
        let seen = timeout(PATIENCE, lines.wait_for(|lines| accepted(lines).is_some())).await;
        let seen = seen.with_context(|| format!("the sweeper never logged {what}"))?.context("no more output")?;
        accepted(&seen).with_context(|| format!("no {what} any more"))
    }

    /// Waits for a log entry that the predicate accepts; earlier entries count too.
    pub(crate) async fn await_log(&self, what: &str, predicate: impl Fn(&Value) -> bool) -> Result<Value> {
        self.await_entries(what, 1, predicate).await
    }

    /// Waits until this many passes have begun and ended from now on, and returns the entry of the last one.
    pub(crate) async fn await_passes(&self, wanted: usize) -> Result<Value> {
        let is_end = |entry: &Value| entry["message"] == "Pass ended";
        let known = self.entries(is_end).len();
        // The first pass that ends from now on may have begun before.
        self.await_entries("so many passes", known + wanted + 1, is_end).await
    }

    /// Waits for a log entry that says that nothing is deleted for this reason.
    pub(crate) async fn await_hold(&self, reason: &str) -> Result<Value> {
        self.await_log(reason, |entry| entry["reason"] == reason).await
    }

    /// The lines that the metrics server exposes, without the labels that every series has.
    pub(crate) async fn metrics(&self) -> Result<Vec<String>> {
        lifecycle_e2e::init();
        let listens = |entry: &Value| entry["message"] == "Listening" && entry["purpose"] == "metrics";
        let entry = self.await_log("the address of its metrics", listens).await?;
        let address = entry["address"].as_str().context("the address is no text")?;
        let text = reqwest::get(format!("http://{address}/metrics")).await?.error_for_status()?.text().await?;
        let common = Regex::new("component=\"[^\"]*\",version=\"[^\"]*\",?")?;
        Ok(text.lines().map(|line| common.replace(line, "").replace("{}", "")).collect())
    }

    /// Waits until the metrics have this line, which begins behind `hyperfleet_sweeper_`.
    pub(crate) async fn await_metric(&self, line: &str) -> Result<()> {
        let line = format!("hyperfleet_sweeper_{line}");
        let (name, _) = line.split_once(['{', ' ']).context("a line of metrics")?;
        await_condition(&format!("the metric {line}"), PATIENCE, async || {
            let mut lines = self.metrics().await?;
            lines.retain(|found| found.starts_with(name));
            ensure!(lines.contains(&line), "{lines:?}");
            Ok(())
        })
        .await
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
        let status = timeout(PATIENCE, self.child.wait()).await.context("the sweeper does not end")??;
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

impl Drop for Sweeper {
    #[expect(clippy::print_stdout, reason = "shown for a failed test only")]
    fn drop(&mut self) {
        let lines = self.lines.borrow();
        println!("--- the sweeper's last lines");
        for line in lines.iter().skip(lines.len().saturating_sub(PRINTED_LINES)) {
            println!("{line}");
        }
    }
}
