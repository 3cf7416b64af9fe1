//! Measures the cost of a scrape with and without the two indexes of `prepare`, and the cost of the indexes for writers.
//!
//! In: `--resources N` (1,000,000), `--unreconciled N` (10,000), `--check`. Out: a table for docs/performance.md and query
//! plans, on standard output; progress, on standard error. `--check`, which CI runs, measures only the two statements, on
//! fewer resources. It fails if the exporter's statement reads a table or is not clearly faster than the API's.
//!
//! All measurements use one PostgreSQL server in one run, so that they can be compared with each other.

#![expect(clippy::unwrap_used, clippy::print_stdout, reason = "a benchmark")]

mod fleet;
mod timing;
mod writes;

use std::time::{Duration, Instant};

use lifecycle_benches::build;
use lifecycle_e2e::postgres::{Database, PrivateServer};
use lifecycle_e2e::usage::Usage;
use lifecycle_e2e::{PATIENCE, await_condition};
use lifecycle_migrations as migrations;
use reconcile_metrics::config::{AGE_BUCKETS, CONFIGURATION, Environment, Flags};
use reconcile_metrics::prepare;
use reconcile_metrics::store::{PENDING, Store};
use sqlx::{AssertSqlSafe, Connection as _, PgConnection, Row as _};

use timing::Timing;

/// The API's own query for the same metrics, which the API runs at each scrape.
const UPSTREAM: &str = "
    SELECT lower(r.kind), r.deleted_time IS NOT NULL, count(*),
        count(*) FILTER (WHERE c.last_transition_time < now() - interval '10 minutes'),
        coalesce(max(extract(epoch FROM now() - c.last_transition_time))
            FILTER (WHERE c.last_transition_time < now() - interval '10 minutes'), 0)::float8
    FROM resources r
    JOIN resource_conditions c ON c.resource_id = r.id
    WHERE c.type = 'Reconciled' AND c.status = 'False'
    GROUP BY 1, 2";
const ROUNDS: usize = 300;
/// How many times faster than the API's query `--check` wants the exporter's statement. The target on an idle machine is 2.5;
/// a busy machine must not fail CI.
const LEAST_GAIN: f64 = 1.3;

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
            "--check" => arguments = Arguments { resources: 200_000, unreconciled: 2_000, check: true },
            // Cargo passes this argument to every benchmark.
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
    // fsync as in production, because a commit is part of the cost of a write; no autovacuum, so that the benchmark decides
    // when a table is vacuumed.
    let settings = [
        "shared_buffers=3GB",
        "fsync=on",
        "full_page_writes=on",
        "max_wal_size=8GB",
        "maintenance_work_mem=512MB",
        "autovacuum=off",
    ];
    let server = PrivateServer::start(&settings).await.unwrap();
    let database = server.server().database().await.unwrap();
    let mut connection = PgConnection::connect(&database.url()).await.unwrap();
    migrations::apply(&mut connection).await.unwrap();
    change_indexes(&mut connection, true).await;
    fleet::load(&mut connection, &arguments).await;

    let Arguments { resources, unreconciled, .. } = arguments;
    println!("{resources} resources, {unreconciled} unreconciled, PostgreSQL {}\n", version(&mut connection).await);
    eprintln!("reading without the indexes");
    println!("| statement | p50 | p99 | max |\n| --- | --- | --- | --- |");
    let upstream = timed(&mut connection, Statement::Upstream).await;
    println!("| the API's query, without the indexes | {upstream} |");
    let upstream_plan = plan(&mut connection, Statement::Upstream).await;
    let without = timed(&mut connection, Statement::Ours).await;
    println!("| the exporter's, without the indexes | {without} |");
    // Copy the database before the indexes exist, to measure writes without them.
    connection.close().await.unwrap();
    let bare = if arguments.check { None } else { Some(copy(&server, &database).await) };
    let mut connection = PgConnection::connect(&database.url()).await.unwrap();

    eprintln!("building the indexes, and reading with them");
    let building = Instant::now();
    change_indexes(&mut connection, false).await;
    let building = building.elapsed();
    let with = timed(&mut connection, Statement::Ours).await;
    println!("| the exporter's, with the indexes | {with} |");
    let our_plan = plan(&mut connection, Statement::Ours).await;
    let upstream_with = timed(&mut connection, Statement::Upstream).await;
    println!("| the API's query, with the indexes | {upstream_with} |");
    let gain = upstream.quantile(0.5) / with.quantile(0.5);
    if arguments.check {
        println!("\nThe gain: {gain:.1} times");
        assert!(our_plan.matches("Index Only Scan").count() == 2 && !our_plan.contains("Index Scan"), "{our_plan}");
        assert!(gain >= LEAST_GAIN, "our statement is only {gain:.1} times as fast as the API's: its plan has changed");
        return;
    }
    let scrape = scrapes(&database).await;
    println!("| a whole scrape over HTTP | {} |", scrape.time);
    let details = details(&database).await;
    println!("| the reading of details in the background: the oldest 2,000 stuck resources | {details} |");

    let bare = bare.unwrap();
    let mut bare = PgConnection::connect(&bare.url()).await.unwrap();
    eprintln!("writing");
    let (bare_report, indexed_report) = writes::compare(&mut bare, &mut connection, &arguments).await;
    println!("| writing a report, without the indexes | {bare_report} |");
    println!("| writing a report, with the indexes | {indexed_report} |");
    eprintln!("writing 100,000 reports without a VACUUM");
    writes::many(&mut connection, &arguments, 100_000).await;
    let after = timed(&mut connection, Statement::Ours).await;
    println!("| the exporter's, after 100,000 reports without a VACUUM | {after} |");
    let plan_after = plan(&mut connection, Statement::Ours).await;
    run(&mut connection, "VACUUM resource_conditions; VACUUM resources").await;
    let vacuumed = timed(&mut connection, Statement::Ours).await;
    println!("| the same after a VACUUM | {vacuumed} |");

    println!("\nThe gain: {gain:.1} times; building the indexes: {:.1} s", building.as_secs_f64());
    let [resident, peak] =
        [scrape.usage.resident, scrape.usage.most_resident].map(|kibibytes| kibibytes as f64 / 1024.0);
    println!("Resident memory of the exporter: {resident:.1} MiB, at most {peak:.1} MiB");
    println!("\nThe API's query, without the indexes:\n\n```text\n{upstream_plan}\n```");
    println!("\nOurs, with them:\n\n```text\n{our_plan}\n```");
    println!("\nOurs, after 100,000 reports without a VACUUM:\n\n```text\n{plan_after}\n```");
}

/// A statement of a scrape: the API's or the exporter's.
#[derive(Clone, Copy)]
enum Statement {
    Upstream,
    Ours,
}

impl Statement {
    fn sql(self) -> &'static str {
        match self {
            Self::Upstream => UPSTREAM,
            Self::Ours => PENDING,
        }
    }

    fn guards(self) -> &'static str {
        match self {
            Self::Upstream => "",
            Self::Ours => {
                "SET LOCAL jit = off; SET LOCAL enable_seqscan = off; SET LOCAL max_parallel_workers_per_gather = 0;"
            }
        }
    }
}

/// Builds or removes the two indexes.
async fn change_indexes(connection: &mut PgConnection, remove: bool) {
    for step in prepare::steps(connection, remove).await.unwrap() {
        prepare::run(connection, &step).await.unwrap();
    }
}

async fn run(connection: &mut PgConnection, sql: &str) {
    for sql in sql.split("; ") {
        sqlx::raw_sql(AssertSqlSafe(sql))
            .execute(&mut *connection)
            .await
            .unwrap_or_else(|error| panic!("{error}: {sql}"));
    }
}

async fn version(connection: &mut PgConnection) -> String {
    sqlx::query_scalar("SHOW server_version").fetch_one(connection).await.unwrap()
}

/// Creates a copy of the database on the same server, with the database as its template.
async fn copy(server: &PrivateServer, database: &Database) -> Database {
    let copy = server.server().database().await.unwrap();
    let mut connection = PgConnection::connect(&database.url().replace(database.name(), "postgres")).await.unwrap();
    run(&mut connection, &format!("DROP DATABASE \"{}\"", copy.name())).await;
    run(&mut connection, &format!("CREATE DATABASE \"{}\" TEMPLATE \"{}\"", copy.name(), database.name())).await;
    copy
}

/// Measures the statement alone, without the transaction around it.
async fn timed(connection: &mut PgConnection, statement: Statement) -> Timing {
    let mut timing = Timing::default();
    for round in 0..ROUNDS + 20 {
        run(connection, "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY").await;
        sqlx::raw_sql(statement.guards()).execute(&mut *connection).await.unwrap();
        let begun = Instant::now();
        let query = match statement {
            Statement::Upstream => sqlx::query(statement.sql()),
            Statement::Ours => sqlx::query(statement.sql()).bind(AGE_BUCKETS.as_slice()),
        };
        let rows = query.fetch_all(&mut *connection).await.unwrap();
        let took = begun.elapsed();
        assert!(!rows.is_empty());
        run(connection, "COMMIT").await;
        // The first rounds only fill the caches.
        if round >= 20 {
            timing.add(took);
        }
    }
    timing
}

async fn plan(connection: &mut PgConnection, statement: Statement) -> String {
    let (types, values) = match statement {
        Statement::Upstream => ("", String::new()),
        Statement::Ours => ("(float8[])", format!("(ARRAY{AGE_BUCKETS:?})")),
    };
    let (guards, sql) = (statement.guards(), statement.sql());
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

/// Measures the background reading of stuck resources, which scrapes do not wait for.
async fn details(database: &Database) -> Timing {
    let parsed = CONFIGURATION.parse("bench.yaml", &config(database), &Environment::new(), &Flags::new());
    let (config, _) = parsed.unwrap_or_else(|mistakes| panic!("{mistakes}"));
    let store = Store::new(&config.database, &config.kinds);
    let mut timing = Timing::default();
    for round in 0..ROUNDS / 5 + 5 {
        let begun = Instant::now();
        let details = store.details(config.details.max_resources, PATIENCE).await.unwrap();
        assert!(!details.stuck.is_empty());
        if round >= 5 {
            timing.add(begun.elapsed());
        }
    }
    timing
}

struct Scrapes {
    time: Timing,
    usage: Usage,
}

/// Runs the exporter and scrapes it over HTTP.
async fn scrapes(database: &Database) -> Scrapes {
    let directory = tempfile::tempdir().unwrap();
    let (file, log) = (directory.path().join("exporter.yaml"), directory.path().join("log"));
    std::fs::write(&file, config(database)).unwrap();
    let mut child = tokio::process::Command::new(build("reconcile-metrics").unwrap())
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
    let usage = Usage::of(child.id().unwrap()).unwrap();
    child.start_kill().unwrap();
    tokio::time::timeout(Duration::from_secs(10), child.wait()).await.unwrap().unwrap();
    Scrapes { time, usage }
}
