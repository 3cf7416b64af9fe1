//! One process of the adapter, and its calls.

use std::collections::BTreeMap;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use anyhow::{Context as _, bail};
use serde_json::{Value, json};

/// The longest line that the client reads.
const LONGEST: u64 = 10 << 20;

/// A running adapter. Its standard error goes to the null device.
pub(crate) struct Session {
    child: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
    next: u64,
}

impl Session {
    pub(crate) fn start(
        program: &Path,
        project: &Path,
        environment: &BTreeMap<String, String>,
    ) -> anyhow::Result<Self> {
        let mut command = Command::new(program);
        command
            .current_dir(project)
            .envs(environment)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null());
        let mut child = command.spawn().with_context(|| format!("failed to start {}", program.display()))?;
        let input = child.stdin.take().context("no standard input")?;
        let output = BufReader::new(child.stdout.take().context("no standard output")?);
        Ok(Self { child, input, output, next: 1 })
    }

    /// Calls a method. Of an error only the text is read.
    pub(crate) fn call(&mut self, method: &str, params: &Value) -> anyhow::Result<Value> {
        let request = json!({"jsonrpc": "2.0", "id": self.next, "method": method, "params": params});
        self.next += 1;
        writeln!(self.input, "{request}").context("failed to write to the adapter")?;
        let mut line = String::new();
        self.output.by_ref().take(LONGEST).read_line(&mut line)?;
        if !line.ends_with('\n') {
            bail!("the adapter's answer ended early, or is over 10 MiB");
        }
        let mut answer: Value = serde_json::from_str(&line).context("the adapter's answer is no JSON")?;
        match answer["error"]["message"].as_str() {
            Some(message) => bail!("{message}"),
            None => Ok(answer["result"].take()),
        }
    }

    /// Closes the input and waits without a limit, as the client does.
    pub(crate) fn end(self) -> anyhow::Result<()> {
        let Self { mut child, input, .. } = self;
        drop(input);
        child.wait()?;
        Ok(())
    }
}
