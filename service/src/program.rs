//! From the process' arguments and environment to its exit code.
//!
//! In: what parses arguments, and what does what they ask for. Out: an exit code. Help goes to standard output; every
//! mistake goes to standard error, with its causes, and exits with 1.

use std::collections::BTreeMap;
use std::env::ArgsOs;
use std::io::Write as _;
use std::process::ExitCode;

use anyhow::Context as _;

/// The process environment, as a value. Only [`run`] reads the real one, but for `POD_NAME`, which
/// [`Identity::of`](crate::logging::Identity::of) reads on a host without a name.
pub type Environment = BTreeMap<String, String>;

/// Parses the arguments and does what they ask for. Variables that are not Unicode are left out of the environment.
pub fn run<I>(
    parse: impl FnOnce(ArgsOs) -> Result<I, clap::Error>,
    command: impl FnOnce(I, Environment) -> anyhow::Result<ExitCode>,
) -> ExitCode {
    let invocation = match parse(std::env::args_os()) {
        Ok(invocation) => invocation,
        Err(error) => {
            let _ = error.print();
            // Clap's own code is 2: scripts around the Go adapter expect 1.
            return if error.use_stderr() { ExitCode::FAILURE } else { ExitCode::SUCCESS };
        }
    };
    let environment = std::env::vars_os()
        .filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)))
        .collect();
    command(invocation, environment).unwrap_or_else(|error| {
        let _ = writeln!(std::io::stderr(), "Error: {error:#}");
        ExitCode::FAILURE
    })
}

/// Prints the answer of a command.
///
/// # Errors
/// Standard output is closed or full.
pub fn print(text: &str) -> anyhow::Result<ExitCode> {
    std::io::stdout().lock().write_all(text.as_bytes()).context("failed to print")?;
    Ok(ExitCode::SUCCESS)
}
