//! A running adapter: lines in, lines out, deadlines, signals.
//!
//! In: bytes. Out: the lines of its standard output, and how it exits. Fails: with a verdict, because silence, a line that is no
//! JSON and an early end are what an adapter does wrong.

use std::io::{BufRead as _, BufReader, Write as _};
use std::process::{Child, ChildStdin, Command, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, TryRecvError, channel};
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

use crate::profile;
use crate::rows::End;

/// How often the exit of a process is asked for.
const EVERY: Duration = Duration::from_millis(5);

/// A process. It is killed when dropped.
pub(crate) struct Adapter {
    child: Child,
    input: Option<Sender<Vec<u8>>>,
    lines: Receiver<Vec<u8>>,
    patience: Duration,
}

impl Adapter {
    /// Starts the adapter as the client does: standard error goes to the null device.
    pub(crate) fn start(profile: &profile::Adapter) -> Result<Self, End> {
        let failed = |error: std::io::Error| End::Failed(format!("failed to start {:?}: {error}", profile.command));
        let (program, arguments) =
            profile.command.split_first().ok_or_else(|| End::failed("adapter.command is empty"))?;
        let mut command = Command::new(program);
        command.args(arguments).envs(&profile.environment).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.stderr(Stdio::null()).spawn().map_err(failed)?;
        let input = child.stdin.take().map(writer);
        let output = child.stdout.take().ok_or_else(|| End::failed("the adapter has no standard output"))?;
        let (sender, lines) = channel();
        thread::spawn(move || {
            let mut output = BufReader::new(output);
            let mut line = Vec::new();
            while output.read_until(b'\n', &mut line).is_ok_and(|read| read > 0) && sender.send(line).is_ok() {
                line = Vec::new();
            }
        });
        Ok(Self { child, input, lines, patience: profile.patience() })
    }

    /// Sends bytes, and does not wait until they are read: an adapter that reads nothing is one that does not answer.
    pub(crate) fn send(&mut self, bytes: &[u8]) -> Result<(), End> {
        let input = self.input.as_ref().ok_or_else(|| End::failed("the input is closed"))?;
        input.send(bytes.to_vec()).map_err(|_| End::failed("the adapter stopped reading"))
    }

    /// Returns the next line, with its line feed.
    pub(crate) fn line(&mut self) -> Result<String, End> {
        let patience = self.patience;
        let line = self.lines.recv_timeout(patience).map_err(|error| match error {
            RecvTimeoutError::Timeout => End::Failed(format!("no answer within {patience:?}")),
            RecvTimeoutError::Disconnected => End::failed("the adapter ended without an answer"),
        })?;
        String::from_utf8(line).map_err(|_| End::failed("an answer is not UTF-8"))
    }

    /// Returns the next line as JSON.
    pub(crate) fn answer(&mut self) -> Result<Value, End> {
        let line = self.line()?;
        if line.len() > 10 << 20 {
            return Err(End::Failed(format!("a line of {} bytes, and the client reads 10 MiB at most", line.len())));
        }
        serde_json::from_str(&line)
            .map_err(|error| End::Failed(format!("a line is no JSON ({error}): {}", short(&line))))
    }

    /// Closes the input, and waits for the exit.
    pub(crate) fn close(mut self, within: Duration) -> Result<(), End> {
        self.input = None;
        let status = self.exit(within)?;
        let rest = self.lines.recv_timeout(self.patience);
        if let Ok(line) = rest {
            return Err(End::Failed(format!("an extra line: {}", short(&String::from_utf8_lossy(&line)))));
        }
        if status.success() { Ok(()) } else { Err(End::Failed(format!("the adapter ended with {status}"))) }
    }

    /// Says whether an answer has come, which it takes, or never will.
    pub(crate) fn has_answered(&self) -> bool {
        !matches!(self.lines.try_recv(), Err(TryRecvError::Empty))
    }

    /// Closes the input, and returns the one line that comes then.
    pub(crate) fn finish(mut self) -> Result<String, End> {
        self.input = None;
        let line = self.line()?;
        self.close(crate::stage::EXITS_WITHIN)?;
        Ok(line)
    }

    pub(crate) fn exit(&mut self, within: Duration) -> Result<ExitStatus, End> {
        let started = Instant::now();
        loop {
            match self.child.try_wait() {
                Ok(Some(status)) => return Ok(status),
                Ok(None) if started.elapsed() < within => thread::sleep(EVERY),
                Ok(None) => return Err(End::Failed(format!("no exit within {within:?}"))),
                Err(error) => return Err(End::Failed(format!("failed to wait for the adapter: {error}"))),
            }
        }
    }

    /// Sends SIGTERM.
    pub(crate) fn terminate(&self) -> Result<(), End> {
        let pid = Pid::from_child(&self.child);
        kill_process(pid, Signal::TERM).map_err(|error| End::Failed(format!("failed to send SIGTERM: {error}")))
    }

    /// Kills the process, as kill -9 does, and waits for its end.
    pub(crate) fn kill(mut self) {
        self.end();
    }

    fn end(&mut self) {
        // It may have ended by itself.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Drop for Adapter {
    fn drop(&mut self) {
        self.end();
    }
}

/// Writes what it is sent until an error, which shows as an answer that does not come. Its end closes the input.
fn writer(mut input: ChildStdin) -> Sender<Vec<u8>> {
    let (sender, bytes) = channel::<Vec<u8>>();
    thread::spawn(move || bytes.iter().try_for_each(|bytes| input.write_all(&bytes)));
    sender
}

/// The beginning of a text, for a verdict.
pub(crate) fn short(text: &str) -> String {
    let text = text.trim_end();
    match text.char_indices().nth(300) {
        Some((end, _)) => format!("{}…", text.get(..end).unwrap_or(text)),
        None => text.to_owned(),
    }
}
