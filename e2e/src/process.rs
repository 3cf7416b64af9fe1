//! A program of this workspace as a process: starts it, reads its log, finds its addresses, sends it signals.
//!
//! In: a [`Setup`], or any command. Out: a [`Process`]. Fails: if the program is not built or cannot be started; later, if
//! it does not log or end in time, as a test waits for it.
//!
//! Dropping a [`Process`] kills the program and prints its last log lines, which the test runner shows only if the test
//! failed.

mod setup;

use std::fs;
use std::path::Path;
use std::process::{ExitStatus, Stdio};

use anyhow::{Context as _, Result, ensure};
use serde_json::Value;
use tempfile::TempDir;
use tokio::io::{AsyncBufReadExt as _, AsyncRead, BufReader};
use tokio::process::{Child, Command};
use tokio::sync::watch;
use tokio::task::JoinHandle;
use tokio::time::timeout;

pub use setup::Setup;

use crate::PATIENCE;

/// How many of the last log lines are printed.
const PRINTED_LINES: usize = 300;

/// A running program.
#[derive(Debug)]
pub struct Process {
    name: String,
    child: Child,
    lines: watch::Sender<Vec<String>>,
    readers: Vec<JoinHandle<()>>,
    _files: TempDir,
}

async fn collect(output: impl AsyncRead + Unpin, lines: watch::Sender<Vec<String>>) {
    let mut output = BufReader::new(output).lines();
    while let Ok(Some(line)) = output.next_line().await {
        lines.send_modify(|lines| lines.push(line));
    }
}

impl Process {
    /// Starts a command. `files` are the files that it reads; they are removed with the process.
    pub fn start(name: &str, mut command: Command, files: TempDir) -> Result<Self> {
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).kill_on_drop(true);
        let mut child = command.spawn().with_context(|| format!("failed to start {name}"))?;
        let lines = watch::Sender::new(Vec::new());
        let readers = vec![
            tokio::spawn(collect(child.stdout.take().context("no stdout")?, lines.clone())),
            tokio::spawn(collect(child.stderr.take().context("no stderr")?, lines.clone())),
        ];
        Ok(Self { name: name.to_owned(), child, lines, readers, _files: files })
    }

    /// The process id, while the program runs.
    pub fn id(&self) -> Result<u32> {
        self.child.id().context("it has ended already")
    }

    /// All lines that the program has printed so far.
    #[must_use]
    pub fn lines(&self) -> Vec<String> {
        self.lines.borrow().clone()
    }

    /// The log entries so far that the predicate accepts.
    pub fn entries(&self, predicate: impl Fn(&Value) -> bool) -> Vec<Value> {
        let lines = self.lines.borrow();
        lines.iter().filter_map(|line| serde_json::from_str(line).ok()).filter(predicate).collect()
    }

    /// Waits until the predicate accepts this many log entries, and returns the last of them; earlier entries count too.
    pub async fn await_entries(&self, what: &str, wanted: usize, predicate: impl Fn(&Value) -> bool) -> Result<Value> {
        let mut lines = self.lines.subscribe();
        let accepted = |lines: &Vec<String>| {
            let entries = lines.iter().filter_map(|line| serde_json::from_str(line).ok());
            entries.filter(&predicate).nth(wanted - 1)
        };
        let seen = timeout(PATIENCE, lines.wait_for(|lines| accepted(lines).is_some())).await;
        let seen = seen.with_context(|| format!("{} never logged {what}", self.name))?.context("no more output")?;
        accepted(&seen).with_context(|| format!("no {what} any more"))
    }

    /// Waits for a log entry that the predicate accepts; earlier entries count too.
    pub async fn await_log(&self, what: &str, predicate: impl Fn(&Value) -> bool) -> Result<Value> {
        self.await_entries(what, 1, predicate).await
    }

    /// The URL at which the program listens for `purpose`, such as `metrics`.
    pub async fn url(&self, purpose: &str) -> Result<String> {
        let what = format!("that it listens for {purpose}");
        let listens = |entry: &Value| entry["message"] == "Listening" && entry["purpose"] == purpose;
        let entry = self.await_log(&what, listens).await?;
        let address = entry["address"].as_str().context("the address is no text")?;
        Ok(format!("http://{address}"))
    }

    /// Sends a signal, such as `TERM`.
    pub async fn signal(&self, name: &str) -> Result<()> {
        let id = self.id()?.to_string();
        let sent = Command::new("sh").args(["-c", "kill -s \"$0\" \"$1\"", name, &id]).status().await?;
        ensure!(sent.success(), "failed to signal: {sent}");
        Ok(())
    }

    /// Waits until the program has ended and all that it printed is read.
    pub async fn exit(&mut self) -> Result<ExitStatus> {
        let ended = timeout(PATIENCE, self.child.wait()).await;
        let status = ended.with_context(|| format!("{} does not end", self.name))??;
        for reader in self.readers.drain(..) {
            reader.await?;
        }
        Ok(status)
    }

    /// Sends SIGTERM, and waits for the exit code 0.
    pub async fn stop(&mut self) -> Result<()> {
        self.signal("TERM").await?;
        let status = self.exit().await?;
        ensure!(status.code() == Some(0), "{status}");
        Ok(())
    }
}

impl Drop for Process {
    #[expect(clippy::print_stdout, reason = "the test runner captures standard output, and no other stream")]
    fn drop(&mut self) {
        let lines = self.lines.borrow();
        println!("--- the last lines of {}", self.name);
        for line in lines.iter().skip(lines.len().saturating_sub(PRINTED_LINES)) {
            println!("{line}");
        }
    }
}

/// The numbers and command lines of all processes whose environment or arguments contain the path of a directory.
pub fn processes_of(directory: &Path) -> Result<Vec<(String, String)>> {
    let needle = directory.to_string_lossy().into_owned();
    let mut found = Vec::new();
    for entry in fs::read_dir("/proc")?.flatten() {
        let read = |name: &str| fs::read(entry.path().join(name)).unwrap_or_default();
        let (arguments, environment) = (read("cmdline"), read("environ"));
        let names_it = |bytes: &[u8]| String::from_utf8_lossy(bytes).contains(&needle);
        if names_it(&arguments) || names_it(&environment) {
            let number = entry.file_name().to_string_lossy().into_owned();
            found.push((number, String::from_utf8_lossy(&arguments).replace('\0', " ")));
        }
    }
    Ok(found)
}
