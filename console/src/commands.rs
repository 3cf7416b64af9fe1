//! Runs the commands.
//!
//! In: an invocation and the environment variables. Out: text on standard output, logs on standard error, and an exit code. Fails: with
//! one error, which contains the texts of its causes.

use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context as _;
use lifecycle_service::configuration::{Environment, Flags, check};
use lifecycle_service::metrics::{registry, write};
use lifecycle_service::probes::Readiness;
use lifecycle_service::servers::{serve_health, serve_metrics};
use lifecycle_service::settings::log_diagnostics;
use lifecycle_service::{shutdown, version};

use crate::PROGRAM;
use crate::args::Invocation;
use crate::config::{CONFIGURATION, Config};
use crate::server;
use crate::source::Sources;

/// How long a shutdown waits for running answers.
const DRAIN: Duration = Duration::from_secs(5);

/// Runs a command.
///
/// # Errors
/// Returns the reason why the command failed.
pub fn run(invocation: Invocation, flags: &Flags, environment: &Environment) -> anyhow::Result<ExitCode> {
    let loaded = CONFIGURATION.load(environment, flags);
    match invocation {
        Invocation::Serve => {
            let (config, warnings) = CONFIGURATION.start(loaded, "")?;
            log_diagnostics(&warnings);
            serve(config)
        }
        Invocation::Check => check(loaded),
    }
}

fn serve(config: Config) -> anyhow::Result<ExitCode> {
    let _ = rustls::crypto::ring::default_provider().install_default();
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build();
    runtime.context("failed to start")?.block_on(async {
        let stop = shutdown::listen().context("failed to listen for signals")?;
        let (health, metrics) = (config.health_listen, config.metrics_listen);
        let sources = Arc::new(Sources::new(&config).context("failed to build the clients of the sources")?);
        let health = serve_health(PROGRAM, health, stop.clone(), Readiness::default, []).await?;
        let metrics =
            serve_metrics(PROGRAM, metrics, async |format| write(&registry(PROGRAM, version::THIS.number), format));
        let metrics = metrics.await?;
        let pages = server::serve(Arc::new(config), sources, stop.clone()).await?;
        stop.cancelled().await;
        tokio::join!(pages.stop(DRAIN), metrics.stop(DRAIN), health.stop(DRAIN));
        tracing::info!("Stopped");
        Ok(ExitCode::SUCCESS)
    })
}
