//! The adapter's program: arguments in, exit code out.

use std::io::Write as _;
use std::process::ExitCode;

use hyperfleet_adapter::args::{self, Invocation};
use hyperfleet_adapter::commands;
use hyperfleet_adapter::config::Environment;

fn main() -> ExitCode {
    let environment = std::env::vars_os()
        .filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)))
        .collect();
    let invocation = match args::parse(std::env::args_os()) {
        Ok(invocation) => invocation,
        Err(error) => {
            let _ = error.print();
            // Every mistake exits with 1, as scripts around the Go adapter expect.
            return if error.use_stderr() { ExitCode::FAILURE } else { ExitCode::SUCCESS };
        }
    };
    run(invocation, environment).unwrap_or_else(|error| {
        let _ = writeln!(std::io::stderr(), "Error: {error:#}");
        ExitCode::FAILURE
    })
}

fn run(invocation: Invocation, environment: Environment) -> anyhow::Result<ExitCode> {
    match invocation {
        Invocation::Serve { source, dry_run } if dry_run.is_asked_for() => {
            commands::legacy_dry_run(&source, &dry_run, &environment)
        }
        Invocation::Serve { source, .. } => commands::serve(&source, environment),
        Invocation::ConfigDump(source) => commands::config_dump(&source, &environment),
        Invocation::Check(arguments) => commands::check(&arguments, &environment),
        Invocation::Schema(file) => commands::schema(file),
        Invocation::DryRun(arguments) => commands::dry_run(&arguments),
        Invocation::Version => commands::version(),
    }
}
