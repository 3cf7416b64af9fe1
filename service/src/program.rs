//! Runs a program: from its arguments and environment to its exit code.
//!
//! In: a function that parses arguments, and a function that executes the parsed command. Out: an exit code.
//! Help goes to standard output. Errors go to standard error, with their causes, and result in the exit code
//! 1.

use std::collections::BTreeMap;
use std::env::ArgsOs;
use std::io::Write as _;
use std::process::ExitCode;

use anyhow::Context as _;
use lifecycle_errors::Chain;

/// The environment variables of the process, as a value.
///
/// Only [`run`] reads the real ones; the exception is `POD_NAME`, which
/// [`Identity::of`](crate::logging::Identity::of) reads on a host without a name.
pub type Environment = BTreeMap<String, String>;

/// Parses the arguments and executes the command. Variables that are not Unicode are ignored.
pub fn run<I>(
    parse: impl FnOnce(ArgsOs) -> Result<I, clap::Error>,
    command: impl FnOnce(I, Environment) -> anyhow::Result<ExitCode>,
) -> ExitCode {
    let invocation = match parse(std::env::args_os()) {
        Ok(invocation) => invocation,
        Err(error) => {
            let _ = error.print();
            // Clap exits with 2; scripts for the Go adapter expect 1.
            return if error.use_stderr() { ExitCode::FAILURE } else { ExitCode::SUCCESS };
        }
    };
    let environment = std::env::vars_os()
        .filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)))
        .collect();
    command(invocation, environment).unwrap_or_else(|error| {
        let _ = writeln!(std::io::stderr(), "Error: {}", Chain(error.as_ref()));
        ExitCode::FAILURE
    })
}

/// Prints the output of a command.
///
/// # Errors
/// Standard output is closed, or its disk is full.
pub fn print(text: &str) -> anyhow::Result<ExitCode> {
    std::io::stdout().lock().write_all(text.as_bytes()).context("failed to print")?;
    Ok(ExitCode::SUCCESS)
}
