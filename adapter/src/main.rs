//! The program `hyperfleet-adapter`: parses the arguments, runs the command, and returns its exit code.

use std::process::ExitCode;

use hyperfleet_adapter::args::{self, Invocation};
use hyperfleet_adapter::commands;
use lifecycle_service::program::{self, Environment};

fn main() -> ExitCode {
    program::run(args::parse, command)
}

fn command(invocation: Invocation, environment: Environment) -> anyhow::Result<ExitCode> {
    match invocation {
        Invocation::Serve { flags, dry_run } if dry_run.is_requested() => {
            commands::legacy_dry_run(&flags, &dry_run, &environment)
        }
        Invocation::Serve { flags, .. } => commands::serve(&flags, environment),
        Invocation::ConfigDump(flags) => commands::config_dump(&flags, &environment),
        Invocation::Check(arguments) => commands::check(&arguments, &environment),
        Invocation::Rbac(arguments) => commands::rbac(&arguments, &environment),
        Invocation::Schema(file) => commands::schema(file),
        Invocation::DryRun(arguments) => commands::dry_run(&arguments),
        Invocation::Version => commands::version(),
    }
}
