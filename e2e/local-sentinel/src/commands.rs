//! Runs the commands.
//!
//! In: an invocation, flags and the environment variables. Out: text on standard output, logs on standard error, and an
//! exit code. Fails: with one error, which contains the texts of its causes.

use std::process::ExitCode;
use std::sync::Arc;

use anyhow::Context as _;
use jiff::Timestamp;
use lifecycle_service::configuration::{Environment, Flags, Loaded, check};
use lifecycle_service::settings::log_diagnostics;
use lifecycle_service::shutdown;

use crate::args::Invocation;
use crate::config::{self, CONFIGURATION, Config};
use crate::run;

/// Runs a command.
///
/// # Errors
/// Returns the reason why the command failed.
pub fn run(invocation: Invocation, flags: &Flags, environment: &Environment) -> anyhow::Result<ExitCode> {
    let loaded = config::load(environment, flags);
    match invocation {
        Invocation::Serve => serve(loaded),
        Invocation::Check => check(loaded),
    }
}

fn serve(loaded: Loaded<Config>) -> anyhow::Result<ExitCode> {
    let (config, warnings) = CONFIGURATION.start(loaded, "")?;
    log_diagnostics(&warnings);
    // An error means that a provider is already installed.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build();
    runtime.context("failed to start")?.block_on(async {
        let stop = shutdown::listen().context("failed to listen for signals")?;
        run::run(&config, Arc::new(Timestamp::now), stop).await?;
        tracing::info!("Stopped");
        Ok(ExitCode::SUCCESS)
    })
}
