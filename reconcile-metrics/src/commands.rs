//! What each command does, from its configuration to its exit code.
//!
//! In: an invocation and the environment. Out: text on standard output, logs on standard error, an exit code. What can
//! fail ends in one error with its causes.

use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context as _;
use lifecycle_service::logging::{self, Identity};
use lifecycle_service::program::print;
use lifecycle_service::{shutdown, version};
use tracing_subscriber::util::SubscriberInitExt as _;

use crate::args::{Invocation, MigrateAction, Source, StuckFilter};
use crate::config::{self, Config, Environment};
use crate::diagnosis::diagnose;
use crate::scrape::Scraper;
use crate::server::{Shared, serve_health, serve_metrics};
use crate::store::{Selection, Store, connect};
use crate::{index, migrations, stuck_text};

/// The time that running scrapes get on shutdown.
const DRAIN: Duration = Duration::from_secs(10);

/// Does what was asked.
///
/// # Errors
/// Whatever kept it from being done.
pub fn run(invocation: Invocation, environment: &Environment) -> anyhow::Result<ExitCode> {
    // One thread: the work is waiting for the database, and each thread of a runtime costs memory.
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().context("failed to start")?;
    runtime.block_on(async {
        match invocation {
            Invocation::Serve(source) => serve(load(&source, environment)?).await,
            Invocation::Migrate { source, action } => migrate(&load(&source, environment)?, action).await,
            Invocation::Index { source, dry_run } => build_index(&load(&source, environment)?, dry_run).await,
            Invocation::Stuck { source, filter, json } => stuck(&load(&source, environment)?, &filter, json).await,
            Invocation::Check(source) => check(&source, environment),
            Invocation::Schema => print(&format!("{:#}\n", config::schema())),
            Invocation::Version => print(&format!("{}\n", version::THIS)),
        }
    })
}

fn load(source: &Source, environment: &Environment) -> anyhow::Result<Config> {
    let (config, remarks) = config::load(source.file.as_deref(), environment, &source.overrides)
        .map_err(|mistakes| anyhow::anyhow!("the configuration is wrong:\n{mistakes}"))?;
    let _ = logging::subscriber(config.log, &Identity::of("reconcile-metrics")).try_init();
    let _ = rustls::crypto::ring::default_provider().install_default();
    for remark in remarks.mistakes() {
        tracing::warn!(file = remark.file, key = remark.path, "{}", remark.message);
    }
    Ok(config)
}

fn check(source: &Source, environment: &Environment) -> anyhow::Result<ExitCode> {
    match config::load(source.file.as_deref(), environment, &source.overrides) {
        Ok((_, remarks)) => print(&format!("{remarks}\n")),
        Err(mistakes) => {
            print(&format!("{mistakes}\n"))?;
            Ok(ExitCode::FAILURE)
        }
    }
}

async fn serve(config: Config) -> anyhow::Result<ExitCode> {
    let stop = shutdown::listen().context("failed to listen for signals")?;
    let config = Arc::new(config);
    let store = Arc::new(Store::new(&config.database, &config.kinds));
    let scraper = Scraper::new(store.clone(), &config);
    let shared = Shared::new(config.clone(), scraper.clone(), store);
    let health = serve_health(shared.clone()).await?;
    let metrics = serve_metrics(shared.clone()).await?;
    // Says at once which schema is read, or why none is; a database that is absent may come later.
    scraper.scrape().await;
    let details = tokio::spawn(scraper.keep_details(stop.clone()));
    stop.cancelled().await;
    shared.shut_down();
    metrics.stop(DRAIN).await;
    health.stop(DRAIN).await;
    details.abort();
    tracing::info!("Stopped");
    Ok(ExitCode::SUCCESS)
}

async fn migrate(config: &Config, action: MigrateAction) -> anyhow::Result<ExitCode> {
    let mut connection = connect(&config.database).await?;
    match action {
        MigrateAction::Apply => migrations::apply(&mut connection).await?,
        MigrateAction::RevertTo(version) => migrations::revert_to(&mut connection, version).await?,
        MigrateAction::List => {}
    }
    let mut text = String::new();
    for migration in migrations::list(&mut connection).await? {
        let state = if migration.applied { "applied" } else { "pending" };
        text.push_str(&format!("{}  {state}  {}\n", migration.version, migration.name));
    }
    print(&text)
}

async fn build_index(config: &Config, dry_run: bool) -> anyhow::Result<ExitCode> {
    let mut connection = connect(&config.database).await?;
    let (layout, indexes) = index::offered(&mut connection, &config.kinds).await?;
    if indexes.is_empty() {
        return print(&format!("nothing to build: {}\n", layout.describe()));
    }
    for offered in indexes {
        print(&format!("{};\n", offered.statement))?;
        if !dry_run {
            index::build(&mut connection, &offered).await?;
        }
    }
    Ok(ExitCode::SUCCESS)
}

async fn stuck(config: &Config, filter: &StuckFilter, json: bool) -> anyhow::Result<ExitCode> {
    let store = Store::new(&config.database, &config.kinds);
    // Who waits on an adapter is decided after reading, so that filter needs more to choose from.
    let limit = if filter.adapter.is_some() { config.details.max_resources.max(filter.limit) } else { filter.limit };
    let selection = Selection {
        kind: filter.kind.clone(),
        deleting: filter.deleting,
        limit: limit.saturating_add(1),
        missing: filter.missing,
    };
    let resources = store.stuck(&selection, config.scrape_timeout).await?;
    let read_all = resources.len() <= limit as usize;
    let mut stuck = diagnose(&resources, store.kinds());
    if let Some(adapter) = &filter.adapter {
        stuck.retain(|stuck| stuck.waits_on.iter().any(|wait| wait.adapter == *adapter));
    }
    let more = !read_all || stuck.len() > filter.limit as usize;
    stuck.truncate(filter.limit as usize);
    if json {
        let body = serde_json::json!({"items": stuck, "size": stuck.len(), "truncated": more});
        return print(&format!("{body:#}\n"));
    }
    if stuck.is_empty() {
        return print("nothing is stuck\n");
    }
    print(&stuck_text::table(&stuck))?;
    if more { print("there are more; see --limit\n") } else { Ok(ExitCode::SUCCESS) }
}
