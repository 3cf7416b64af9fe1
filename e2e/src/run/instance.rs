//! The servers of one service instance, and their supervisor.

use std::fmt::Write as _;
use std::fs::{self, File};
use std::io::Write as _;
use std::net::{Ipv4Addr, SocketAddr};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::time::Duration;

use anyhow::{Context, bail, ensure};
use serde::Serialize;

use super::STATE;
use crate::await_condition;

/// Limits the start of a server, which takes three or four seconds on an idle machine.
const START: Duration = Duration::from_secs(120);
/// Limits one probe. A server that is starting may accept a connection and never answer on it, so the next probe
/// connects again.
const PROBE_TIME: Duration = Duration::from_secs(10);

/// When the supervisor stops an instance.
pub(crate) struct Lifetime {
    /// The file on which test processes hold a shared lock.
    pub(crate) lease: PathBuf,
    /// How long the instance keeps running while no test process locks the file.
    pub(crate) linger: Duration,
}

/// A directory, a supervisor, and the servers started so far.
///
/// Dropping it before [`publish`](Self::publish) stops the servers; afterwards only the lease does.
pub(crate) struct Instance {
    directory: PathBuf,
    supervisor: Child,
    commands: Option<ChildStdin>,
}

impl Instance {
    pub(crate) fn supervise(directory: PathBuf, lifetime: &Lifetime) -> anyhow::Result<Self> {
        fs::create_dir_all(directory.join("data"))
            .with_context(|| format!("failed to create {}", directory.display()))?;
        let log = File::create(directory.join("supervisor.log")).context("failed to create the supervisor's log")?;
        let mut supervisor = Command::new("bash")
            .args(["-c", include_str!("supervise.sh"), "supervise"])
            .arg(&directory)
            .arg(&lifetime.lease)
            .arg(lifetime.linger.as_secs().to_string())
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(log)
            // In its own process group, so that Control-C ends only the tests. The supervisor then notices
            // that the lease is free.
            .process_group(0)
            .spawn()
            .context("failed to start the servers' supervisor (it needs bash, flock and setpriv)")?;
        let commands = supervisor.stdin.take();
        Ok(Self { directory, supervisor, commands })
    }

    pub(crate) fn directory(&self) -> &Path {
        &self.directory
    }

    /// Creates a directory for a server's data; it is deleted with the instance.
    pub(crate) fn data(&self, name: &str) -> anyhow::Result<PathBuf> {
        let path = self.directory.join("data").join(name);
        fs::create_dir_all(&path).with_context(|| format!("failed to create {}", path.display()))?;
        Ok(path)
    }

    /// Starts a server, and writes its output to `<name>.log`.
    pub(crate) fn spawn(&mut self, name: &str, environment: &[(&str, String)], argv: &[String]) -> anyhow::Result<()> {
        let mut line = String::from("exec setpriv --pdeathsig KILL -- env");
        for (key, value) in environment {
            let _ = write!(line, " {}", quote(&format!("{key}={value}")));
        }
        for argument in argv {
            let _ = write!(line, " {}", quote(argument));
        }
        let log = self.log(name);
        let _ = writeln!(line, " </dev/null >>{} 2>&1", quote(&log.display().to_string()));
        let commands = self.commands.as_mut().context("the instance has been published already")?;
        commands.write_all(line.as_bytes()).context("the servers' supervisor is gone")
    }

    /// Waits until a server listens on the port.
    pub(crate) async fn await_port(&mut self, what: &str, port: u16) -> anyhow::Result<()> {
        self.await_start(what, async || {
            tokio::net::TcpStream::connect(SocketAddr::from((Ipv4Addr::LOCALHOST, port))).await?;
            Ok(())
        })
        .await
    }

    /// Waits until `probe` succeeds; fails at once if a server has ended.
    pub(crate) async fn await_start(
        &mut self,
        what: &str,
        mut probe: impl AsyncFnMut() -> anyhow::Result<()>,
    ) -> anyhow::Result<()> {
        let attempt = async || tokio::time::timeout(PROBE_TIME, probe()).await.context("no answer in time")?;
        let ended = await_condition("the supervisor to end", START, async || {
            self.supervisor.try_wait()?.context("it runs").map(drop)
        });
        tokio::select! {
            up = await_condition(what, START, attempt) => up,
            Ok(()) = ended => bail!("a server ended before {what} was seen"),
        }
    }

    /// Writes the state for other processes, and ends the start-up phase.
    pub(crate) fn publish(&mut self, state: &impl Serialize) -> anyhow::Result<()> {
        let partial = self.directory.join("state.partial");
        fs::write(&partial, serde_json::to_vec_pretty(state)?).context("failed to write the instance's state")?;
        fs::rename(&partial, self.directory.join(STATE)).context("failed to write the instance's state")?;
        self.commands = None;
        Ok(())
    }

    /// Waits until the supervisor, and so the servers, have ended.
    pub(crate) fn wait(&mut self) -> anyhow::Result<()> {
        self.commands = None;
        let status = self.supervisor.wait().context("failed to wait for the servers' supervisor")?;
        ensure!(status.success(), "the servers' supervisor failed: {status}");
        Ok(())
    }

    /// The last lines of all logs, for the error of a failed start.
    pub(crate) fn log_tails(&self) -> String {
        const LINES: usize = 8;
        let mut tails = String::new();
        let entries = fs::read_dir(&self.directory).into_iter().flatten().flatten();
        let mut logs: Vec<PathBuf> = entries.map(|entry| entry.path()).collect();
        logs.retain(|path| path.extension().is_some_and(|extension| extension == "log"));
        logs.sort();
        for log in logs {
            let text = String::from_utf8_lossy(&fs::read(&log).unwrap_or_default()).into_owned();
            let lines: Vec<&str> = text.lines().collect();
            let tail = lines.get(lines.len().saturating_sub(LINES)..).unwrap_or_default().join("\n    ");
            let _ = write!(tails, "\n  {}:\n    {tail}", log.display());
        }
        tails
    }

    fn log(&self, name: &str) -> PathBuf {
        self.directory.join(format!("{name}.log"))
    }
}

/// Quotes text as one word of a shell command.
fn quote(word: &str) -> String {
    format!("'{}'", word.replace('\'', r"'\''"))
}

#[cfg(test)]
mod tests {
    use super::quote;

    #[test]
    fn quoted_word_reaches_the_program_unchanged() -> anyhow::Result<()> {
        let cases = ["plain", "two words", "it's", "$(touch x) `y` \\", "", "--flag=*"];
        for word in cases {
            let script = format!("printf %s {}", quote(word));
            let output = std::process::Command::new("bash").args(["-c", &script]).output()?;
            assert_eq!(String::from_utf8_lossy(&output.stdout), word, "{word:?}");
        }
        Ok(())
    }
}
