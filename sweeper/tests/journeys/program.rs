//! The sweeper's program as a process: starts it, reads its log and metrics, sends it signals.
//!
//! [`Process`] has what all programs do alike.

use std::fs;
use std::ops::{Deref, DerefMut};
use std::process::{Output, Stdio};

use anyhow::{Context as _, Result, ensure};
use lifecycle_e2e::process::Process;
use lifecycle_e2e::{PATIENCE, await_condition};
use regex::Regex;
use serde_json::Value;
use tempfile::TempDir;
use tokio::process::Command;
use tokio::time::timeout;

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
        let (command, files) = self.command(arguments)?;
        Ok(Sweeper(Process::start("the sweeper", command, files)?))
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

/// A running sweeper; dropping it kills the process.
pub(crate) struct Sweeper(Process);

impl Deref for Sweeper {
    type Target = Process;

    fn deref(&self) -> &Process {
        &self.0
    }
}

impl DerefMut for Sweeper {
    fn deref_mut(&mut self) -> &mut Process {
        &mut self.0
    }
}

impl Sweeper {
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
        let url = self.url("metrics").await?;
        let text = reqwest::get(format!("{url}/metrics")).await?.error_for_status()?.text().await?;
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
}
