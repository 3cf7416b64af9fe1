//! Runs the commands.
//!
//! In: an invocation and the environment variables. Out: text on standard output, logs on standard error, and an exit
//! code. Fails: with one error, which contains the texts of its causes.

use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context as _;
use jiff::Timestamp;
use lifecycle_service::configuration::{Environment, Flags, Loaded, check};
use lifecycle_service::http::{Limits, Listener};
use lifecycle_service::probes::Readiness;
use lifecycle_service::servers::{serve_health, serve_metrics};
use lifecycle_service::settings::log_diagnostics;
use lifecycle_service::shutdown;
use sqlx::postgres::PgPoolOptions;
use sqlx::{Connection as _, PgConnection, PgPool};
use tokio::sync::watch;
use tokio::time::timeout;

use crate::args::Invocation;
use crate::changes::Api;
use crate::config::{CONFIGURATION, Config};
use crate::metrics::Metrics;
use crate::routes::router;

/// The most connections to the database; the default of the real API.
const CONNECTIONS: u32 = 50;
/// How long a request waits for a connection.
const PATIENCE: Duration = Duration::from_secs(5);
/// How long a shutdown waits for running requests.
const DRAIN: Duration = Duration::from_secs(20);
/// How often the database is asked whether it is there.
const PING: Duration = Duration::from_secs(2);

/// Runs a command.
///
/// # Errors
/// Returns the reason why the command failed.
pub fn run(invocation: Invocation, flags: &Flags, environment: &Environment) -> anyhow::Result<ExitCode> {
    let _ = rustls::crypto::ring::default_provider().install_default();
    let loaded = CONFIGURATION.load(environment, flags);
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().context("failed to start")?;
    runtime.block_on(async {
        match invocation {
            Invocation::Serve => serve(start(loaded)?).await,
            Invocation::Migrate => migrate(&start(loaded)?).await,
            Invocation::Check => check(loaded),
        }
    })
}

fn start(loaded: Loaded<Config>) -> anyhow::Result<Config> {
    let (config, warnings) = CONFIGURATION.start(loaded, "")?;
    log_diagnostics(&warnings);
    Ok(config)
}

fn connect(config: &Config) -> PgPool {
    PgPoolOptions::new()
        .max_connections(CONNECTIONS)
        .acquire_timeout(PATIENCE)
        .connect_lazy_with(config.database.clone())
}

async fn migrate(config: &Config) -> anyhow::Result<ExitCode> {
    let address = format!("{}:{}", config.database.get_host(), config.database.get_port());
    // Not by the pool, which tries again for seconds, and then does not say why it failed.
    let connected = timeout(PATIENCE, PgConnection::connect_with(&config.database)).await;
    let connected = connected.with_context(|| format!("the database at {address} does not answer"))?;
    let mut connection = connected.with_context(|| format!("failed to connect to the database at {address}"))?;
    lifecycle_migrations::apply(&mut connection).await?;
    connection.close().await.context("failed to end the migration")?;
    Ok(ExitCode::SUCCESS)
}

async fn serve(config: Config) -> anyhow::Result<ExitCode> {
    let stop = shutdown::listen().context("failed to listen for signals")?;
    migrate(&config).await?;
    let pool = connect(&config);
    let metrics = Arc::new(Metrics::default());
    let api = Api {
        pool: pool.clone(),
        registry: Arc::new(config.registry),
        clock: Arc::new(Timestamp::now),
        metrics: Arc::clone(&metrics),
    };
    let (found, readiness) = watch::channel(true);
    let pings = tokio::spawn(ping(pool.clone(), found));
    let ready = move || {
        let is_up = *readiness.borrow();
        let problem = (!is_up).then(|| "the database does not answer".to_owned());
        Readiness { checks: [("database", is_up)].into(), problem, note: None }
    };
    let health = serve_health("local-api", config.health_listen, stop.clone(), ready, []).await?;
    let exposed =
        serve_metrics("local-api", config.metrics_listen, move |format| std::future::ready(metrics.expose(format)));
    let exposed = exposed.await?;
    let server = Listener::bind(config.listen, "the API").await?.serve(router(api), Limits::default());
    stop.cancelled().await;
    server.stop(DRAIN).await;
    pings.abort();
    exposed.stop(DRAIN).await;
    health.stop(DRAIN).await;
    pool.close().await;
    tracing::info!("Stopped");
    Ok(ExitCode::SUCCESS)
}

async fn ping(pool: PgPool, found: watch::Sender<bool>) {
    loop {
        let answer = timeout(PING, sqlx::query("SELECT 1").execute(&pool)).await;
        found.send_replace(matches!(answer, Ok(Ok(_))));
        tokio::time::sleep(PING).await;
    }
}
