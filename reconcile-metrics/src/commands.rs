//! What each command does, from its configuration to its exit code.
//!
//! In: an invocation and the environment. Out: text on standard output, logs on standard error, an exit code. What can
//! fail ends in one error with its causes.

use std::collections::BTreeSet;
use std::io::{BufRead, IsTerminal as _, Write};
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context as _;
use lifecycle_config::diagnostics::{Diagnostic, Diagnostics, Severity};
use lifecycle_service::logging::{self, Identity};
use lifecycle_service::program::print;
use lifecycle_service::{shutdown, version};
use tracing_subscriber::util::SubscriberInitExt as _;

use crate::args::{Invocation, MigrateAction, Source};
use crate::causes::chain;
use crate::config::{self, Config, Environment, Kind, Kinds};
use crate::figures::Edges;
use crate::index::Built;
use crate::listing::Filter;
use crate::scrape::Scraper;
use crate::server::{Shared, serve_health, serve_metrics};
use crate::store::{Store, StoreError, Trouble, connect};
use crate::{index, migrations, stuck_text};

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
            Invocation::Index { source, dry_run } => build_index(&load(&source, environment)?, dry_run).await,
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
        let (option, variable) = config::FILE;
        // Most often it is somebody who asks within the exporter's own container, without its file.
        let hint = (is_unreachable && !is_configured)
            .then(|| format!("; no configuration file was named, by --{option} or {variable}"));
        anyhow::anyhow!("{}{}", chain(&*error), hint.unwrap_or_default())
    })
}

/// Whether somebody said which database it is.
fn names_database(source: &Source, environment: &Environment) -> bool {
    let mut address =
        config::SETTINGS.iter().filter(|setting| ["database.url", "database.host"].contains(&setting.key));
    source.file.is_some() || address.any(|setting| setting.given(environment, &source.overrides).is_some())
}

fn load(source: &Source, environment: &Environment) -> anyhow::Result<Config> {
    let (config, remarks) = config::load(source.file.as_deref(), environment, &source.overrides)
        .map_err(|mistakes| anyhow::anyhow!("the configuration is wrong:\n{mistakes}"))?;
    let _ = logging::subscriber(config.log, &Identity::of("reconcile-metrics")).try_init();
    let _ = rustls::crypto::ring::default_provider().install_default();
    for remark in remarks.all() {
        tracing::warn!(file = remark.file, key = remark.path, "{}", remark.message);
    }
    Ok(config)
}

async fn check(source: &Source, environment: &Environment, database: bool) -> anyhow::Result<ExitCode> {
    match config::load(source.file.as_deref(), environment, &source.overrides) {
        Ok((config, mut remarks)) => {
            if database {
                let _ = rustls::crypto::ring::default_provider().install_default();
                let store = Store::new(&config.database, &config.kinds);
                let edges = Edges::new(&config.exposure.age_buckets, &config.kinds);
                let drift = store.drift(config.scrape_timeout).await;
                let snapshot = store.snapshot(&edges, None, config.scrape_timeout).await?;
                let doubt = match drift {
                    Ok(None | Some(0)) => None,
                    Ok(Some(drift)) => Some((
                        format!("the record of what is pending is wrong about {}", resources(drift)),
                        Some("run `reconcile-metrics migrate --repair`".to_owned()),
                    )),
                    Err(error) => {
                        Some((format!("the record was not compared with the conditions: {}", error.chain()), None))
                    }
                };
                if let Some((message, help)) = doubt {
                    remarks.push(
                        Diagnostic::outside("database", "unsettled_resources", message, help)
                            .as_severity(Severity::Warning),
                    );
                }
                print(&format!("the database has {}\n", snapshot.layout.describe()))?;
                for (kind, table) in snapshot.layout.tables() {
                    print(&format!("kind {kind} is read from table `{table}`\n"))?;
                }
                for unread in snapshot.layout.unread() {
                    let (kind, problem) = (&unread.kind, &unread.problem);
                    let message = format!("kind {kind:?} is not read: {problem}");
                    remarks
                        .push(Diagnostic::outside("database", "kinds", message, None).as_severity(Severity::Warning));
                }
                let found: BTreeSet<_> = snapshot.kinds().collect();
                remarks.extend(remarks_on(&found, &config.kinds));
            }
            print(&format!("{remarks}\n"))
        }
        Err(mistakes) => {
            print(&format!("{mistakes}\n"))?;
            Ok(ExitCode::FAILURE)
        }
    }
}

/// Kinds in the database that the configuration does not have, if it has any.
fn remarks_on(found: &BTreeSet<&str>, kinds: &Kinds) -> Diagnostics {
    let mut remarks = Diagnostics::default();
    for kind in found.iter().filter(|kind| !kinds.all().is_empty() && kinds.get(kind).is_none()) {
        let (message, help) = match kinds.spelled_otherwise(kind) {
            Some(Kind { name, .. }) => (
                format!("kind {kind:?} is configured as {name:?}: its thresholds and adapters do not apply"),
                format!("write `kind: {kind:?}`"),
            ),
            None => (
                format!("kind {kind:?} is not configured: it has the default threshold, and no adapters"),
                "list it under `kinds`, as the API does".to_owned(),
            ),
        };
        remarks.push(Diagnostic::outside("database", "kinds", message, Some(help)).as_severity(Severity::Warning));
    }
    remarks
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
        MigrateAction::Repair => {
            let wrong = migrations::repair(&mut connection).await?;
            return print(&format!("the record was wrong about {}, and is right now\n", resources(wrong as u64)));
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

async fn build_index(config: &Config, dry_run: bool) -> anyhow::Result<ExitCode> {
    let mut connection = connect(&config.database).await?;
    let (layout, indexes) = index::offered(&mut connection, &config.kinds).await?;
    if indexes.is_empty() {
        return print(&format!("nothing to build: {}\n", layout.describe()));
    }
    for offered in indexes {
        print(&format!("{};\n", offered.statement))?;
        if !dry_run {
            let built = match index::build(&mut connection, &offered).await? {
                Built::Now => "was built",
                Built::Before => "was there already",
            };
            print(&format!("{} {built}\n", offered.name))?;
        }
    }
    Ok(ExitCode::SUCCESS)
}

async fn stuck(config: &Config, filter: &Filter, limit: u32, json: bool) -> anyhow::Result<ExitCode> {
    // Nobody has compared our record with the conditions, so that these are read.
    let store = Store::new(&config.database, &config.kinds);
    let chooses = filter.chooses_after_reading(&config.kinds);
    let most = if chooses { config.details.max_resources.max(limit) } else { limit };
    let mut uncompared = None;
    let list = async || filter.list(&store, most, 0..limit as usize, config.scrape_timeout).await;
    let mut listing = match list().await {
        // Better what the record says, where there is one, than nothing in an outage.
        Err(timeout @ StoreError::Timeout(_)) => {
            let listing = match (filter.trouble, store.trust_record()) {
                (Trouble::Pending | Trouble::Missing, true) => list().await.map_err(|_| timeout)?,
                _ => return Err(timeout.into()),
            };
            let warning = "there was no time to read the conditions; this is what triggers have recorded of them";
            uncompared = Some(warning.to_owned());
            listing
        }
        listing => listing?,
    };
    let beyond = listing.found.len() > limit as usize || (listing.truncated && !chooses);
    let remark = uncompared.or_else(|| filter.remark(&config.kinds).filter(|_| listing.found.is_empty()));
    let unread = listing.unread.iter().map(|unread| format!("not read: {unread}"));
    for warning in unread.chain(remark.clone()) {
        writeln!(std::io::stderr(), "warning: {warning}").context("failed to write")?;
    }
    listing.found.truncate(limit as usize);
    let (items, read, truncated) = (&listing.found, listing.read, beyond || listing.truncated);
    if json {
        let body = serde_json::json!({
            "items": items, "size": items.len(), "read": read, "truncated": truncated, "remark": remark,
            "unread": listing.unread,
        });
        return print(&format!("{body:#}\n"));
    }
    if items.is_empty() {
        return print(&format!("{}\n", listing.why_empty(filter, &config.kinds)));
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
