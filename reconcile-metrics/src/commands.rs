//! What each command does, from its configuration to its exit code.
//!
//! In: an invocation and the environment. Out: text on standard output, logs on standard error, an exit code. What can
//! fail ends in one error with its causes.

use std::io::{BufRead, IsTerminal as _, Write};
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context as _;
use lifecycle_config::decode::suggest;
use lifecycle_config::diagnostics::{Diagnostic, Diagnostics, Severity};
use lifecycle_config::settings::FileName;
use lifecycle_service::logging::{self, Identity};
use lifecycle_service::program::print;
use lifecycle_service::{files, shutdown, version};
use tracing_subscriber::util::SubscriberInitExt as _;

use crate::args::{Invocation, MigrateAction, Source};
use crate::causes::chain;
use crate::config::settings::{EXPORTER, FILE};
use crate::config::{self, AGE_BUCKETS, Config, Environment, Kind, Kinds};
use crate::figures::Edges;
use crate::listing::Filter;
use crate::scrape::Scraper;
use crate::server::{Shared, serve_health, serve_metrics};
use crate::store::{Coverage, Silent, Store, StoreError, Unconditioned, connect};
use crate::{migrations, prepare, stuck_text};

/// The time that running scrapes get on shutdown.
const DRAIN: Duration = Duration::from_secs(10);

/// Does what was asked.
///
/// # Errors
/// Whatever kept it from being done.
pub fn run(invocation: Invocation, environment: &Environment) -> anyhow::Result<ExitCode> {
    let is_configured = invocation.source().is_none_or(|source| names_database(source, environment));
    // One thread: the work is waiting for the database, and each thread of a runtime costs memory.
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().context("failed to start")?;
    let done = runtime.block_on(async {
        match invocation {
            Invocation::Serve(source) => serve(load(&source, environment)?).await,
            Invocation::Migrate { source, action } => migrate(&load(&source, environment)?, action).await,
            Invocation::Prepare { source, remove, dry_run } => {
                prepare_database(&load(&source, environment)?, remove, dry_run).await
            }
            Invocation::Stuck { source, filter, limit, json } => {
                stuck(&load(&source, environment)?, &filter, limit, json).await
            }
            Invocation::Check { source, database } => check(&source, environment, database).await,
            Invocation::Schema => print(&format!("{:#}\n", config::schema())),
            Invocation::Version => print(&format!("{}\n", version::THIS)),
        }
    });
    done.map_err(|error| {
        let is_unreachable = error.downcast_ref().is_some_and(|error: &StoreError| error.reason() == "connection");
        let FileName { flag, variable, .. } = FILE;
        // Most often it is somebody who asks within the exporter's own container, without its file.
        let hint = (is_unreachable && !is_configured)
            .then(|| format!("; no configuration file was named, by --{flag} or {variable}"));
        anyhow::anyhow!("{}{}", chain(&*error), hint.unwrap_or_default())
    })
}

/// Whether somebody said which database it is.
fn names_database(source: &Source, environment: &Environment) -> bool {
    let is_set = |key| EXPORTER.sets(key, environment, &source.flags);
    FILE.resolve(source.file.as_deref(), environment).is_some() || is_set("database.url") || is_set("database.host")
}

fn read(source: &Source, environment: &Environment) -> Result<(Config, Diagnostics), Diagnostics> {
    config::load(FILE.resolve(source.file.as_deref(), environment).as_deref(), environment, &source.flags)
}

fn load(source: &Source, environment: &Environment) -> anyhow::Result<Config> {
    let (config, diagnostics) = read(source, environment)
        .map_err(|diagnostics| anyhow::anyhow!("the configuration is wrong:\n{diagnostics}"))?;
    let _ = logging::subscriber(config.log, &Identity::of("reconcile-metrics")).try_init();
    let _ = rustls::crypto::ring::default_provider().install_default();
    for diagnostic in diagnostics.all() {
        tracing::warn!(file = diagnostic.file, key = diagnostic.path, "{}", diagnostic.message);
    }
    Ok(config)
}

async fn check(source: &Source, environment: &Environment, database: bool) -> anyhow::Result<ExitCode> {
    match read(source, environment) {
        Ok((config, mut diagnostics)) => {
            for (key, file) in config.files() {
                if let Err(error) = files::read_text(file, files::SECRET) {
                    let message = format!("`{}` cannot be read: {error}", file.display());
                    let diagnostic = Diagnostic::outside("this machine", key, message, None);
                    diagnostics.push(diagnostic.as_severity(Severity::Warning));
                }
            }
            if database {
                let _ = rustls::crypto::ring::default_provider().install_default();
                let store = Store::new(&config.database, &config.kinds);
                let coverage = store.coverage(config.scrape_timeout).await?;
                // Whatever a scrape needs, too.
                store.snapshot(&Edges::new(&AGE_BUCKETS, &config.kinds), config.scrape_timeout).await?;
                print(&format!("the database has {}\n", resources(coverage.kinds.values().sum())))?;
                diagnostics.extend(compare(&coverage, &config.kinds));
            }
            print(&format!("{diagnostics}\n"))
        }
        Err(diagnostics) => {
            print(&format!("{diagnostics}\n"))?;
            Ok(ExitCode::FAILURE)
        }
    }
}

/// Where the configuration and the database do not belong together.
fn compare(coverage: &Coverage, kinds: &Kinds) -> Diagnostics {
    let mut diagnostics = Diagnostics::default();
    let mut warn = |message: String, help: String| {
        diagnostics.push(Diagnostic::outside("database", "kinds", message, Some(help)).as_severity(Severity::Warning));
    };
    for kind in coverage.kinds.keys().filter(|kind| !kinds.all().is_empty() && kinds.get(kind).is_none()) {
        match kinds.spelled_otherwise(kind) {
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
    for (kind, Unconditioned { count, ids }) in &coverage.without_condition {
        // The API writes none for kinds without adapters.
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
    let health = serve_health(shared.clone()).await?;
    let metrics = serve_metrics(shared.clone()).await?;
    // Logs at once why the database cannot be read, if so; a database that is absent may come later.
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
        MigrateAction::RevertTo { version, confirmed } => {
            let listed = migrations::list(&mut connection).await?;
            let to_revert: Vec<_> =
                listed.iter().filter(|one| one.applied && one.version > version).map(|one| one.name).collect();
            if !confirmed && !to_revert.is_empty() {
                let database = sqlx::query_scalar("SELECT current_database()::text").fetch_one(&mut connection).await?;
                confirm(&to_revert, database)?;
            }
            migrations::revert_to(&mut connection, version).await?;
        }
        MigrateAction::List => {}
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

/// Asks at a terminal whether migrations are to be reverted.
///
/// # Errors
/// The answer was no, or there is nobody to ask.
fn confirm(migrations: &[&str], database: String) -> anyhow::Result<()> {
    let what = format!("reverting {} drops tables of `{database}` with all that is in them", migrations.join(", "));
    let terminal = std::io::stdin();
    anyhow::ensure!(terminal.is_terminal(), "{what}: confirm it by --yes");
    let question = format!("{what}. Type the database's name to go on: ");
    let confirmed = ask(&question, &database, &mut terminal.lock(), &mut std::io::stderr());
    anyhow::ensure!(confirmed.context("failed to ask")?, "not confirmed, so nothing was reverted");
    Ok(())
}

fn ask(question: &str, expected: &str, from: &mut impl BufRead, to: &mut impl Write) -> std::io::Result<bool> {
    write!(to, "{question}")?;
    to.flush()?;
    let mut answer = String::new();
    from.read_line(&mut answer)?;
    Ok(answer.trim() == expected)
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

async fn stuck(config: &Config, filter: &Filter, limit: u32, json: bool) -> anyhow::Result<ExitCode> {
    let store = Store::new(&config.database, &config.kinds);
    let chooses = filter.chooses_after_reading(&config.kinds);
    let most = if chooses { config.details.max_resources.max(limit) } else { limit };
    let mut listing = filter.list(&store, most, 0..limit as usize, config.scrape_timeout).await?;
    let beyond = listing.found.len() > limit as usize || (listing.truncated && !chooses);
    let remark = filter.remark(&config.kinds).filter(|_| listing.found.is_empty());
    if let Some(warning) = &remark {
        writeln!(std::io::stderr(), "warning: {warning}").context("failed to write")?;
    }
    listing.found.truncate(limit as usize);
    let (items, read, truncated) = (&listing.found, listing.read, beyond || listing.truncated);
    if json {
        let body = serde_json::json!({
            "items": items, "size": items.len(), "read": read, "truncated": truncated, "remark": remark,
        });
        return print(&format!("{body:#}\n"));
    }
    if items.is_empty() {
        return print(&format!("{}\n", listing.why_empty(filter)));
    }
    print(&stuck_text::table(items))?;
    match (beyond, listing.truncated) {
        (true, _) => print("there are more; see --limit\n"),
        (false, true) => print(&format!("only the {read} oldest were looked into; see details.max_resources\n")),
        (false, false) => Ok(ExitCode::SUCCESS),
    }
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "tests")]

    use super::*;

    #[test]
    fn only_the_databases_name_confirms() {
        let cases = [
            ("hyperfleet\n", "hyperfleet", true),
            ("yes\n", "hyperfleet", false),
            ("\n", "hyperfleet", false),
            ("", "hyperfleet", false),
        ];
        for (answer, database, confirmed) in cases {
            let mut asked = Vec::new();
            assert_eq!(ask("Sure? ", database, &mut answer.as_bytes(), &mut asked).unwrap(), confirmed, "{answer:?}");
            assert_eq!(asked, b"Sure? ");
        }
    }
}
