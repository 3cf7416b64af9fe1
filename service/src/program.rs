//! Runs a program: from its arguments and environment to its exit code.
//!
//! In: a function that parses arguments, and a function that executes the parsed command. Out: an exit code.
//! Help goes to standard output. Errors go to standard error, with their causes, and result in the exit code
//! 1. Every program also has the command `probe URL`, which [`run`] handles itself.

use std::env::ArgsOs;
use std::ffi::OsString;
use std::io::{self, Write as _};
use std::process::ExitCode;

use anyhow::Context as _;
pub use lifecycle_config::settings::Environment;
use lifecycle_errors::Chain;

use crate::probe::ask;

/// Parses the arguments and executes the command. Variables that are not Unicode are ignored.
///
/// Only this function reads the environment of the process; the exception is `POD_NAME`, which
/// [`Identity::of`](crate::logging::Identity::of) reads on a host without a name.
///
/// The command `probe URL` is not in the program's help, because it is for the health checks of containers.
pub fn run<I>(
    parse: impl FnOnce(ArgsOs) -> Result<I, clap::Error>,
    command: impl FnOnce(I, Environment) -> anyhow::Result<ExitCode>,
) -> ExitCode {
    if let Some(url) = url_to_probe(std::env::args_os().skip(1)) {
        return exit_code(probe(&url));
    }
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
    exit_code(command(invocation, environment))
}

fn url_to_probe(mut arguments: impl Iterator<Item = OsString>) -> Option<String> {
    arguments.next().filter(|command| command == "probe")?;
    arguments.next()?.into_string().ok()
}

/// Prints what a server answers, and tells by the exit code whether the answer is good.
fn probe(url: &str) -> anyhow::Result<ExitCode> {
    let (is_success, body) = ask(url)?;
    print(&format!("{body}\n"))?;
    Ok(if is_success { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

fn exit_code(result: anyhow::Result<ExitCode>) -> ExitCode {
    result.unwrap_or_else(|error| {
        let _ = writeln!(std::io::stderr(), "Error: {}", Chain(error.as_ref()));
        ExitCode::FAILURE
    })
}

/// Prints the output of a command. Whoever reads it may stop reading, as `head` does.
///
/// # Errors
/// The disk of standard output is full, or the output cannot be written for another reason.
pub fn print(text: &str) -> anyhow::Result<ExitCode> {
    print_to(&mut std::io::stdout().lock(), text)
}

fn print_to(out: &mut impl io::Write, text: &str) -> anyhow::Result<ExitCode> {
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => Err(error).context("failed to print"),
        Ok(()) | Err(_) => Ok(ExitCode::SUCCESS),
    }
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "tests")]

    use super::*;

    #[test]
    fn reader_that_stops_reading_is_no_error() {
        let (reader, mut writer) = io::pipe().unwrap();
        drop(reader);
        let printed = print_to(&mut writer, "a plan");
        assert!(printed.is_ok(), "{printed:?}");
    }

    #[test]
    fn full_disk_is_an_error() {
        let mut full = std::fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
        let error = print_to(&mut full, "a plan").unwrap_err();
        assert!(format!("{error:#}").starts_with("failed to print: No space left"), "{error:#}");
    }
}
