//! Runs the commands.
//!
//! In: an invocation and the environment variables. Out: text on standard output, logs on standard error, and an exit
//! code. Fails: with one error, which contains the texts of its causes.

use std::io::Write as _;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context as _;
use lifecycle_config::decode::suggest;
use lifecycle_config::diagnostics::{Diagnostic, Diagnostics, Severity};
use lifecycle_config::settings::FileName;
use lifecycle_migrations as migrations;
use lifecycle_service::configuration::{self, Loaded};
use lifecycle_service::program::print;
use lifecycle_service::settings::log_diagnostics;
use lifecycle_service::{files, shutdown};

use crate::args::{Invocation, StuckArgs};
use crate::config::settings::{EXPORTER, FILE};
use crate::config::{AGE_BUCKETS, CONFIGURATION, Config, Environment, Flags, Kind, Kinds};
use crate::error_text::chain;
use crate::figures::Bounds;
use crate::scrape::Scraper;
use crate::server::{Shared, serve_health, serve_metrics};
use crate::store::{Coverage, Silent, Store, StoreError, WithoutCondition, connect};
use crate::{prepare, stuck_text};

/// How long a shutdown waits for running scrapes.
const DRAIN: Duration = Duration::from_secs(10);

/// Runs a command.
///
/// # Errors
/// Returns the reason why the command failed.
pub fn run(invocation: Invocation, flags: &Flags, environment: &Environment) -> anyhow::Result<ExitCode> {
    let loaded = CONFIGURATION.load(environment, flags);
    // Every TLS connection of this process uses ring.
    let _ = rustls::crypto::ring::default_provider().install_default();
    // The program mostly waits for the database, so more threads would only cost memory.
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().context("failed to start")?;
    let done = runtime.block_on(async {
        match invocation {
            Invocation::Serve => {
                let (config, diagnostics) = start(loaded)?;
                log_diagnostics(&diagnostics);
                serve(config).await
            }
            Invocation::Migrate { list } => migrate(&start(loaded)?.0, list).await,
            Invocation::Prepare { remove, dry_run } => prepare_database(&start(loaded)?.0, remove, dry_run).await,
            Invocation::Stuck(arguments) => stuck(&start(loaded)?.0, &arguments).await,
            Invocation::Check { database } => check(loaded, database).await,
        }
    });
    done.map_err(|error| {
        let is_unreachable = error.downcast_ref().is_some_and(|error: &StoreError| error.reason() == "connection");
        let FileName { flag, variable, .. } = FILE;
        // The usual cause: a person runs `stuck` in the exporter's container and forgets --config.
        let hint = (is_unreachable && !names_database(flags, environment))
            .then(|| format!("; no configuration file was given: set --{flag} or {variable}"));
        anyhow::anyhow!("{}{}", chain(&*error), hint.unwrap_or_default())
    })
}

/// Whether a file, a variable or a flag sets the database's address.
fn names_database(flags: &Flags, environment: &Environment) -> bool {
    let is_set = |key| EXPORTER.sets(key, environment, flags);
    FILE.resolve(flags, environment).is_some() || is_set("database.url") || is_set("database.host")
}

fn start(loaded: Loaded<Config>) -> anyhow::Result<(Config, Diagnostics)> {
    CONFIGURATION.start(loaded, ":")
}

async fn check(mut loaded: Loaded<Config>, database: bool) -> anyhow::Result<ExitCode> {
    if let Ok((config, diagnostics)) = &mut loaded {
        for (key, file) in config.files() {
            if let Err(error) = files::read_text(file, files::SECRET) {
                let message = format!("`{}` cannot be read: {error}", file.display());
                let diagnostic = Diagnostic::outside("this machine", key, message, None);
                diagnostics.push(diagnostic.as_severity(Severity::Warning));
            }
        }
        if database {
            let store = Store::new(&config.database, &config.kinds);
            let coverage = store.coverage(config.scrape_timeout).await?;
            // A scrape needs more rights than `coverage`, so try one as well.
            store.snapshot(&Bounds::new(&AGE_BUCKETS, &config.kinds), config.scrape_timeout).await?;
            print(&format!("the database has {}\n", resources(coverage.kinds.values().sum())))?;
            diagnostics.extend(compare(&coverage, &config.kinds));
        }
    }
    configuration::check(loaded)
}

/// Warns where the configuration does not match the database.
fn compare(coverage: &Coverage, kinds: &Kinds) -> Diagnostics {
    let mut diagnostics = Diagnostics::default();
    let mut warn = |message: String, help: String| {
        diagnostics.push(Diagnostic::outside("database", "kinds", message, Some(help)).as_severity(Severity::Warning));
    };
    for kind in coverage.kinds.keys().filter(|kind| !kinds.all().is_empty() && kinds.get(kind).is_none()) {
        match kinds.in_other_case(kind) {
            Some(Kind { name, .. }) => warn(
                format!("kind {kind:?} is configured as {name:?}: its thresholds and adapters do not apply"),
                format!("write `kind: {kind:?}`"),
            ),
            None => warn(
                format!("kind {kind:?} is not configured: it has the default threshold, and no adapters"),
                "list it under `kinds`, as the API does, or name the API's configuration by api_config_file".to_owned(),
            ),
        }
    }
    for Silent { kind, adapter, reporting } in &coverage.silent {
        let names: Vec<_> = reporting.iter().map(String::as_str).collect();
        let help = match suggest(adapter, &names) {
            Some(meant) => format!("did you mean {meant:?}?"),
            None => format!("adapters that report on it: {}", reporting.join(", ").escape_debug()),
        };
        warn(format!("adapter {adapter:?} never reported on any resource of kind {kind:?}, which requires it"), help);
    }
    for (kind, WithoutCondition { count, ids }) in &coverage.without_condition {
        // The API writes no condition Reconciled for kinds without required adapters.
        if kinds.get(kind).is_some_and(|kind| !kind.required_adapters.is_empty()) {
            let ids: Vec<_> = ids.iter().map(|id| id.escape_debug().to_string()).collect();
            warn(
                format!("kind {kind:?}: {} without a condition Reconciled, which no metric counts", resources(*count)),
                format!(
                    "a report on each makes the API write it: {}{}",
                    ids.join(", "),
                    if *count > ids.len() as u64 { ", …" } else { "" }
                ),
            );
        }
    }
    diagnostics
}

async fn serve(config: Config) -> anyhow::Result<ExitCode> {
    let stop = shutdown::listen().context("failed to listen for signals")?;
    let config = Arc::new(config);
    let store = Arc::new(Store::new(&config.database, &config.kinds));
    let scraper = Scraper::new(store.clone(), &config);
    let shared = Shared::new(config.clone(), scraper.clone(), store);
    let health = serve_health(shared.clone(), stop.clone()).await?;
    let metrics = serve_metrics(shared).await?;
    // Log at the start why the database cannot be read. It may become readable later, so go on.
    scraper.scrape().await;
    let details = tokio::spawn(scraper.keep_details());
    stop.cancelled().await;
    details.abort();
    metrics.stop(DRAIN).await;
    health.stop(DRAIN).await;
    tracing::info!("Stopped");
    Ok(ExitCode::SUCCESS)
}

async fn migrate(config: &Config, list: bool) -> anyhow::Result<ExitCode> {
    let mut connection = connect(&config.database).await?;
    if !list {
        migrations::apply(&mut connection).await?;
    }
    let mut text = String::new();
    for migration in migrations::list(&mut connection).await? {
        let state = if migration.applied { "applied" } else { "pending" };
        text.push_str(&format!("{}  {state}  {}\n", migration.version, migration.name));
    }
    print(&text)
}

fn resources(count: u64) -> String {
    format!("{count} resource{}", if count == 1 { "" } else { "s" })
}

async fn prepare_database(config: &Config, remove: bool, dry_run: bool) -> anyhow::Result<ExitCode> {
    let mut connection = connect(&config.database).await?;
    for step in prepare::steps(&mut connection, remove).await? {
        for statement in &step.statements {
            print(&format!("{statement};\n"))?;
        }
        if !dry_run {
            prepare::run(&mut connection, &step).await?;
        }
        if !dry_run || step.statements.is_empty() {
            print(&format!("{} {}\n", step.index.name, step.outcome))?;
        }
    }
    Ok(ExitCode::SUCCESS)
}

async fn stuck(config: &Config, arguments: &StuckArgs) -> anyhow::Result<ExitCode> {
    let (filter, limit) = (arguments.filter(), arguments.limit);
    let store = Store::new(&config.database, &config.kinds);
    let in_memory = filter.filters_in_memory(&config.kinds);
    let most = if in_memory { config.details.max_resources.max(limit) } else { limit };
    let mut listing = filter.list(&store, most, 0..limit as usize, config.scrape_timeout).await?;
    let beyond = listing.found.len() > limit as usize || (listing.truncated && !in_memory);
    let hint = filter.hint(&config.kinds).filter(|_| listing.found.is_empty());
    if let Some(warning) = &hint {
        writeln!(std::io::stderr(), "warning: {warning}").context("failed to write")?;
    }
    listing.found.truncate(limit as usize);
    let (items, read, truncated) = (&listing.found, listing.read, beyond || listing.truncated);
    if arguments.is_json() {
        let body = serde_json::json!({
            "items": items, "size": items.len(), "read": read, "truncated": truncated, "hint": hint,
        });
        return print(&format!("{body:#}\n"));
    }
    if items.is_empty() {
        return print(&format!("{}\n", listing.why_empty(&filter)));
    }
    print(&stuck_text::table(items))?;
    match (beyond, listing.truncated) {
        (true, _) => print("there are more; see --limit\n"),
        (false, true) => print(&format!("only the {read} oldest were read; see details.max_resources\n")),
        (false, false) => Ok(ExitCode::SUCCESS),
    }
}
