//! `dry-run`, and `serve` with the Go adapter's dry-run flags.

use std::io::{Stderr, Stdout};
use std::path::Path;
use std::process::ExitCode;

use anyhow::Context as _;
use jiff::Timestamp;
use lifecycle_service::logging::{self, Format, Identity, LogSettings, Output};
use lifecycle_service::version;
use tracing::level_filters::LevelFilter;

use super::print_diagnostics;
use crate::args::{DryRunArgs, LegacyDryRun};
use crate::config::{Environment, Flags, Paths};
use crate::dry_run::legacy::Request;
use crate::dry_run::{DryRunError, Ending, Streams, run_legacy, run_scenario};

/// Plays a scenario folder.
///
/// # Errors
/// The folder cannot be loaded, or a trace cannot be printed or written.
pub fn dry_run(arguments: &DryRunArgs) -> anyhow::Result<ExitCode> {
    let mut streams = standard_streams();
    play(run_scenario(arguments, Timestamp::now(), &mut streams))
}

/// Plays the event, answers and objects that the Go adapter's dry-run flags name.
///
/// # Errors
/// An input file cannot be used, or the trace cannot be printed.
pub fn legacy_dry_run(given: &Flags, flags: &LegacyDryRun, environment: &Environment) -> anyhow::Result<ExitCode> {
    let paths = match Paths::resolve(given, environment, &Path::exists) {
        Ok(paths) => paths,
        Err(diagnostics) => return print_diagnostics(&diagnostics),
    };
    let request = Request {
        flags,
        paths: &paths,
        environment,
        config_flags: given,
        version: &version::THIS,
        now: Timestamp::now(),
    };
    let mut streams = standard_streams();
    play(run_legacy(&request, &mut streams))
}

fn standard_streams() -> Streams<Stdout, Stderr> {
    let choice = anstream::AutoStream::choice(&std::io::stdout());
    Streams { out: std::io::stdout(), err: std::io::stderr(), colour: choice != anstream::ColorChoice::Never }
}

fn play(run: impl Future<Output = Result<Ending, DryRunError>>) -> anyhow::Result<ExitCode> {
    let settings = LogSettings { level: LevelFilter::WARN, format: Format::Text, output: Output::Stderr };
    tracing::subscriber::set_global_default(logging::subscriber(settings, &Identity::of("dry-run")))
        .context("failed to install the log subscriber")?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build();
    match runtime.context("failed to start the runtime")?.block_on(run) {
        Ok(ending) => Ok(ending.exit_code().into()),
        Err(DryRunError::Configuration(diagnostics)) => print_diagnostics(&diagnostics),
        Err(error) => Err(error.into()),
    }
}
