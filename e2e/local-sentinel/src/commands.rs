//! Runs the commands.
//!
//! In: an invocation, flags and the environment variables. Out: text on standard output, logs on standard error, and an
//! exit code. Fails: with one error, which contains the texts of its causes.

use std::process::ExitCode;
use std::sync::Arc;

use anyhow::Context as _;
use jiff::Timestamp;
use lifecycle_config::diagnostics::Diagnostics;
use lifecycle_service::logging::{self, Identity};
use lifecycle_service::program::print;
use lifecycle_service::settings::{check, log_diagnostics};
use lifecycle_service::{shutdown, version};
use tracing_subscriber::util::SubscriberInitExt as _;

use crate::args::Invocation;
use crate::config::settings::FILE;
use crate::config::{self, Config, Environment, Flags};
use crate::run;

/// Runs a command.
///
/// # Errors
/// Returns the reason why the command failed.
pub fn run(invocation: Invocation, flags: &Flags, environment: &Environment) -> anyhow::Result<ExitCode> {
    match invocation {
        Invocation::Serve => serve(flags, environment),
        Invocation::Check => check(load(flags, environment)),
        Invocation::Schema => print(&format!("{:#}\n", config::schema())),
        Invocation::Version => print(&format!("{}\n", version::THIS)),
    }
}

fn load(flags: &Flags, environment: &Environment) -> Result<(Config, Diagnostics), Diagnostics> {
    config::load(FILE.resolve(flags, environment).as_deref(), environment, flags)
}

fn serve(flags: &Flags, environment: &Environment) -> anyhow::Result<ExitCode> {
    let (config, warnings) =
        load(flags, environment).map_err(|diagnostics| anyhow::anyhow!("the configuration is wrong\n{diagnostics}"))?;
    let _ = logging::subscriber(config.log, &Identity::of(&config.name)).try_init();
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
