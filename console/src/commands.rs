//! Runs the commands.
//!
//! In: an invocation and the environment variables. Out: text on standard output, logs on standard error, and an exit code. Fails: with
//! one error, which contains the texts of its causes.

use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context as _;
use lifecycle_config::diagnostics::Diagnostics;
use lifecycle_config::settings::{Environment, Flags};
use lifecycle_service::logging::{self, Identity};
use lifecycle_service::metrics::{registry, write};
use lifecycle_service::probes::Readiness;
use lifecycle_service::program::print;
use lifecycle_service::servers::{serve_health, serve_metrics};
use lifecycle_service::settings::{check, log_diagnostics};
use lifecycle_service::{shutdown, version};
use tracing_subscriber::util::SubscriberInitExt as _;

use crate::args::Invocation;
use crate::config::settings::FILE;
use crate::config::{self, Config};
use crate::server;
use crate::source::Sources;

/// The name of the program in logs and metrics.
const PROGRAM: &str = "hyperfleet-console";

/// How long a shutdown waits for running answers.
const DRAIN: Duration = Duration::from_secs(5);

/// Runs a command.
///
/// # Errors
/// Returns the reason why the command failed.
pub fn run(invocation: Invocation, environment: &Environment) -> anyhow::Result<ExitCode> {
    let load = |flags: &Flags| config::load(FILE.resolve(flags, environment).as_deref(), environment, flags);
    match invocation {
        Invocation::Serve(flags) => serve(start(load(&flags))?),
        Invocation::Check(flags) => check(load(&flags)),
        Invocation::Schema => print(&format!("{:#}\n", config::schema())),
        Invocation::Version => print(&format!("{}\n", version::THIS)),
    }
}

/// Starts the log of a configuration that loaded.
fn start(loaded: Result<(Config, Diagnostics), Diagnostics>) -> anyhow::Result<Config> {
    let (config, warnings) =
        loaded.map_err(|diagnostics| anyhow::anyhow!("the configuration is wrong\n{diagnostics}"))?;
    let _ = logging::subscriber(config.log, &Identity::of(PROGRAM)).try_init();
    log_diagnostics(&warnings);
    Ok(config)
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
