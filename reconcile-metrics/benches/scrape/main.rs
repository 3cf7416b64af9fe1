//! What a scrape costs, and what makes it cheap costs writers, on a fleet of a given size.
//!
//! In: `--resources N` (1,000,000), `--unreconciled N` (10,000), `--check`. Out: a table for docs/performance.md and the
//! plans, on standard output; how far it is, on standard error. With `--check` it is an error if our query is not at
//! least three times as fast as the API's, the triggers cost writers four times what they should, or the exporter takes
//! twice the memory that it should: that is a plan that changed, not a busy machine.
//!
//! Everything runs in one go against one private server, so that the figures can be compared with each other.

#![expect(clippy::unwrap_used, clippy::print_stdout, reason = "a benchmark")]

mod fleet;
mod timing;
mod writes;

use std::time::{Duration, Instant};

use lifecycle_e2e::postgres::{Database, PrivateServer};
use lifecycle_e2e::{PATIENCE, await_condition};
use reconcile_metrics::config::{self, Environment, Overrides};
use reconcile_metrics::migrations::{self, MIGRATIONS};
use reconcile_metrics::store::{Store, query};
use sqlx::{AssertSqlSafe, Connection as _, PgConnection, Row as _};

use timing::Timing;
use writes::Reports;

/// The API's own query: one statement, at each scrape, over every condition that is False.
const UPSTREAM: &str = "
    SELECT lower(r.kind), r.deleted_time IS NOT NULL, count(*),
        count(*) FILTER (WHERE c.last_transition_time < now() - interval '10 minutes'),
        coalesce(max(extract(epoch FROM now() - c.last_transition_time))
            FILTER (WHERE c.last_transition_time < now() - interval '10 minutes'), 0)::float8
    FROM resources r
    JOIN resource_conditions c ON c.resource_id = r.id
    WHERE c.type = 'Reconciled' AND c.status = 'False'
    GROUP BY 1, 2";
const EDGES: [f64; 11] = [60.0, 300.0, 600.0, 900.0, 1800.0, 3600.0, 10800.0, 21600.0, 43200.0, 86400.0, 604_800.0];
const ROUNDS: usize = 300;

struct Arguments {
    resources: u64,
    unreconciled: u64,
    check: bool,
}

fn arguments() -> Arguments {
    let mut arguments = Arguments { resources: 1_000_000, unreconciled: 10_000, check: false };
    let mut words = std::env::args().skip(1);
    while let Some(word) = words.next() {
        match word.as_str() {
            "--resources" => arguments.resources = words.next().unwrap().parse().unwrap(),
            "--unreconciled" => arguments.unreconciled = words.next().unwrap().parse().unwrap(),
            "--check" => arguments.check = true,
            // Cargo's own.
            "--bench" => {}
            other => panic!("unknown argument {other}"),
        }
    }
    arguments
}

#[tokio::main]
async fn main() {
    let arguments = arguments();
    lifecycle_e2e::init();
    // Durable, as in production: the cost of a commit is part of the cost of a write.
    let settings =
        ["shared_buffers=3GB", "fsync=on", "full_page_writes=on", "max_wal_size=8GB", "maintenance_work_mem=512MB"];
    let server = PrivateServer::start(&settings).await.unwrap();
    let database = server.server().database().await.unwrap();
    let mut connection = PgConnection::connect(&database.url()).await.unwrap();
    let [(first, ..), _] = MIGRATIONS;
    migrations::apply(&mut connection).await.unwrap();
    migrations::revert_to(&mut connection, first).await.unwrap();
    fleet::load(&mut connection, &arguments).await;

    println!(
        "{} resources, {} unreconciled, PostgreSQL {}\n",
        arguments.resources,
        arguments.unreconciled,
        version(&mut connection).await
    );
    eprintln!("reading the API's schema");
    println!("| What | p50 | p99 | max |\n| --- | --- | --- | --- |");
    let upstream = timed(&mut connection, UPSTREAM, Binding::None, "").await;
    println!("| the API's query | {upstream} |");
    let rows = timed(&mut connection, query::ROWS_PENDING, Binding::Edges, GUARDS).await;
    println!("| our query on the API's schema | {rows} |");
    run(&mut connection, "CREATE INDEX bench_pending ON resource_conditions (resource_id) INCLUDE (last_transition_time) WHERE type = 'Reconciled' AND status = 'False'").await;
    run(&mut connection, "VACUUM ANALYZE resource_conditions").await;
    let indexed = timed(&mut connection, query::ROWS_PENDING, Binding::Edges, GUARDS).await;
    println!("| the same with the index that is offered | {indexed} |");
    run(&mut connection, "DROP INDEX bench_pending").await;

    eprintln!("migrating to our schema, and reading it");
    let taking_in = Instant::now();
    migrations::apply(&mut connection).await.unwrap();
    let taking_in = taking_in.elapsed();
    run(&mut connection, "VACUUM ANALYZE unsettled_resources").await;
    let ours = timed(&mut connection, query::TRACKED_PENDING, Binding::Edges, GUARDS).await;
    println!("| our query on our schema | {ours} |");
    let scrape = scrapes(&database).await;
    println!("| a whole scrape over HTTP | {} |", scrape.time);
    eprintln!("comparing the record with the conditions");
    let (drift, pass) = comparisons(&database).await;
    eprintln!("writing");
    let mut bare = PgConnection::connect(&database.url()).await.unwrap();
    writes::pass_triggers(&mut bare).await;
    let writes = writes::compare(&mut connection, &mut bare, &arguments, Reports::Unchanged).await;
    let unreported = writes::compare(&mut connection, &mut bare, &arguments, Reports::Unreported).await;
    let day = writes::compare(&mut connection, &mut bare, &arguments, Reports::Day).await;
    let after = timed(&mut connection, query::TRACKED_PENDING, Binding::Edges, GUARDS).await;
    let transactions = writes.transactions + unreported.transactions + day.transactions;
    println!("| our query after {transactions} writes, not vacuumed | {after} |");
    let upstream_plan = plan(&mut connection, UPSTREAM, Binding::None, "").await;
    let our_plan = plan(&mut connection, query::TRACKED_PENDING, Binding::Edges, GUARDS).await;
    // What is written without triggers goes past the record, so that nothing is read after this.
    let changes = writes::compare(&mut connection, &mut bare, &arguments, Reports::Changed).await;

    println!("\nResident memory of the exporter: {:.1} MiB, at most {:.1} MiB", scrape.resident, scrape.peak);
    println!("Migration of a fleet that is there: {:.1} s", taking_in.as_secs_f64());
    println!("Comparing what is pending with the conditions: {:.0} ms", drift.as_secs_f64() * 1e3);
    println!("Comparing all resources with them, in parts: {:.1} s\n", pass.as_secs_f64());
    println!("{day}\n{writes}\n{unreported}\n{changes}");
    println!("\nThe API's query:\n\n```text\n{upstream_plan}\n```");
    println!("\nOurs:\n\n```text\n{our_plan}\n```");

    if arguments.check {
        // Ratios, which a busy machine leaves as they are.
        let gain = upstream.quantile(0.5) / ours.quantile(0.5);
        assert!(gain >= 3.0, "our query is only {gain:.1} times as fast as the API's: its plan has changed");
        let cost = day.most_percent();
        assert!(cost <= 20.0, "the triggers add {cost:.0} % to what a resource's reports cost in a day");
        assert!(scrape.peak <= 32.0, "the exporter took {:.1} MiB", scrape.peak);
    }
}

/// What the exporter sets for each of its transactions.
const GUARDS: &str =
    "SET LOCAL jit = off; SET LOCAL enable_seqscan = off; SET LOCAL max_parallel_workers_per_gather = 0;";

#[derive(Clone, Copy)]
enum Binding {
    None,
    Edges,
}

async fn run(connection: &mut PgConnection, sql: &str) {
    sqlx::raw_sql(AssertSqlSafe(sql)).execute(connection).await.unwrap_or_else(|error| panic!("{error}: {sql}"));
}

async fn version(connection: &mut PgConnection) -> String {
    sqlx::query_scalar("SHOW server_version").fetch_one(connection).await.unwrap()
}

/// Only the statement's own time: what the transaction around it costs is in the whole scrape's.
async fn timed(connection: &mut PgConnection, sql: &'static str, binding: Binding, guards: &str) -> Timing {
    let mut timing = Timing::default();
    for round in 0..ROUNDS + 20 {
        run(connection, &format!("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY; {guards}")).await;
        let begun = Instant::now();
        let query = match binding {
            Binding::None => sqlx::query(sql),
            Binding::Edges => sqlx::query(sql).bind(EDGES.as_slice()).bind(None::<f64>),
        };
        let rows = query.fetch_all(&mut *connection).await.unwrap();
        let took = begun.elapsed();
        assert!(!rows.is_empty());
        run(connection, "COMMIT").await;
        // The first ones fill the caches.
        if round >= 20 {
            timing.add(took);
        }
    }
    timing
}

async fn plan(connection: &mut PgConnection, sql: &str, binding: Binding, guards: &str) -> String {
    let (types, values) = match binding {
        Binding::None => ("", String::new()),
        Binding::Edges => ("(float8[], float8)", format!("(ARRAY{EDGES:?}, NULL)")),
    };
    let sql = format!(
        "BEGIN; {guards} PREPARE asked {types} AS {sql}; EXPLAIN (ANALYZE, BUFFERS, COSTS OFF, TIMING OFF) EXECUTE asked {values}; \
         DEALLOCATE asked; COMMIT"
    );
    let rows = sqlx::raw_sql(AssertSqlSafe(sql)).fetch_all(connection).await.unwrap();
    rows.iter().map(|row| row.get::<String, _>(0)).collect::<Vec<_>>().join("\n")
}

fn config(database: &Database) -> String {
    format!(
        "database: {{url: '{}'}}\nhealth: {{listen: '127.0.0.1:0'}}\nmetrics: {{listen: '127.0.0.1:0'}}\n{}",
        database.url(),
        fleet::KINDS
    )
}

/// How long the two comparisons take that are made beside scrapes.
async fn comparisons(database: &Database) -> (Duration, Duration) {
    let parsed = config::parse("bench.yaml", &config(database), &Environment::new(), &Overrides::new());
    let (config, _) = parsed.unwrap_or_else(|mistakes| panic!("{mistakes}"));
    let store = Store::new(&config.database, &config.kinds);
    let begun = Instant::now();
    assert_eq!(store.drift(PATIENCE).await.unwrap(), Some(0));
    let drift = begun.elapsed();
    let begun = Instant::now();
    assert_eq!(store.pass(PATIENCE).await.unwrap().drift, Some(0));
    (drift, begun.elapsed())
}

struct Scrapes {
    time: Timing,
    resident: f64,
    peak: f64,
}

/// The real program, scraped as Prometheus does it.
async fn scrapes(database: &Database) -> Scrapes {
    let directory = tempfile::tempdir().unwrap();
    let (file, log) = (directory.path().join("exporter.yaml"), directory.path().join("log"));
    std::fs::write(&file, config(database)).unwrap();
    let mut child = tokio::process::Command::new(env!("CARGO_BIN_EXE_reconcile-metrics"))
        .arg("serve")
        .arg("--config")
        .arg(&file)
        .stderr(std::fs::File::create(&log).unwrap())
        .kill_on_drop(true)
        .spawn()
        .unwrap();
    let address = await_condition("the exporter to listen", PATIENCE, async || {
        let text = std::fs::read_to_string(&log)?;
        let entries = text.lines().filter_map(|line| serde_json::from_str::<serde_json::Value>(line).ok());
        let found = entries.into_iter().find(|entry| entry["purpose"] == "metrics");
        let found = found.and_then(|entry| entry["address"].as_str().map(str::to_owned));
        anyhow::Context::context(found, "not yet")
    })
    .await
    .unwrap();
    let client = reqwest::Client::new();
    await_condition("the record to be compared, and used", PATIENCE, async || {
        let text = client.get(format!("http://{address}/metrics")).send().await?.text().await?;
        anyhow::ensure!(
            text.contains("transitions_exact{component=\"reconcile-metrics\",version=\"0.0.0-dev\"} 1"),
            "not yet"
        );
        Ok(())
    })
    .await
    .unwrap();
    let mut time = Timing::default();
    for round in 0..ROUNDS + 20 {
        let begun = Instant::now();
        let response = client.get(format!("http://{address}/metrics")).send().await.unwrap();
        let text = response.text().await.unwrap();
        let took = begun.elapsed();
        assert!(
            text.contains(
                "scrape_success{component=\"reconcile-metrics\",version=\"0.0.0-dev\",collector=\"snapshot\"} 1"
            ),
            "{text}"
        );
        if round >= 20 {
            time.add(took);
        }
    }
    let status = std::fs::read_to_string(format!("/proc/{}/status", child.id().unwrap())).unwrap();
    let mebibytes = |name: &str| {
        let line = status.lines().find_map(|line| line.strip_prefix(name)).unwrap();
        line.trim().trim_end_matches("kB").trim().parse::<f64>().unwrap() / 1024.0
    };
    let (resident, peak) = (mebibytes("VmRSS:"), mebibytes("VmHWM:"));
    child.start_kill().unwrap();
    tokio::time::timeout(Duration::from_secs(10), child.wait()).await.unwrap().unwrap();
    Scrapes { time, resident, peak }
}
