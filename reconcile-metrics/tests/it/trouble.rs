//! What the exporter does when the database is absent, slow, or in somebody's hands.

use std::time::{Duration, Instant};

use lifecycle_e2e::{PATIENCE, await_condition};
use reconcile_metrics::config::{self, Environment, Flags};
use reconcile_metrics::store::Store;
use sqlx::Connection as _;

use crate::world::{Exporter, KINDS, World, config_of};

fn errors(samples: &crate::world::Samples, reason: &str) -> f64 {
    let series =
        format!("hyperfleet_reconcile_metrics_scrape_errors_total{{collector=\"snapshot\",reason=\"{reason}\"}}");
    samples.get(&series)
}

#[tokio::test]
async fn an_absent_database_is_no_crash_and_is_found_when_it_comes() {
    let mut world = World::ours().await;
    world.resource("c1", "Cluster", Some("False"), "1 hour").await;
    let proxy = world.database.proxy().await.unwrap();
    proxy.refuse();
    let exporter = Exporter::start(config_of(&world.database.through(&proxy).unwrap(), KINDS)).await;

    let samples = exporter.scrape().await;
    assert_eq!((samples.success(), errors(&samples, "connection")), (0.0, 1.0));
    assert!(!samples.has("hyperfleet_api_resource_pending_reconciliation"), "no figure is not the figure zero");
    assert_eq!(exporter.get("/healthz", &[]).await, (200, r#"{"status":"ok"}"#.to_owned()));
    let (status, body) = exporter.get("/readyz", &[]).await;
    assert!(status == 503 && body.contains("no reading of the database has succeeded yet"), "{body}");

    proxy.restore();
    let samples = exporter.scrape().await;
    assert_eq!((samples.success(), samples.flow("cluster", false).0), (1.0, 1.0));
    assert_eq!(exporter.get("/readyz", &[]).await.0, 200);
    exporter.shared.shut_down();
    let (status, body) = exporter.get("/readyz", &[]).await;
    assert!(status == 503 && body.contains("shutting down"), "{body}");
    assert_eq!(exporter.get("/healthz", &[]).await.0, 200, "a process that ends is alive");
}

/// As behind a network policy that drops packets.
#[tokio::test]
async fn a_database_that_says_nothing_is_out_of_reach() {
    let silent = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let text = format!(
        "database: {{host: 127.0.0.1, port: {}, ssl_mode: disable}}\n{KINDS}",
        silent.local_addr().unwrap().port()
    );
    let config = config::parse("test.yaml", &text, &Environment::new(), &Flags::new()).unwrap().0;
    let store = Store::new(&config.database, &config.kinds);
    let error = store.details(1, Duration::from_millis(50)).await.unwrap_err();
    assert_eq!(error.reason(), "connection", "{error}");
    // The second one waits for the first one's connection for most of its time: that is not the database's silence.
    let (first, second) =
        tokio::join!(store.details(1, Duration::from_millis(200)), store.details(1, Duration::from_millis(250)));
    assert_eq!((first.unwrap_err().reason(), second.unwrap_err().reason()), ("connection", "timeout"));
}

#[tokio::test]
async fn a_connection_that_broke_while_idle_costs_no_scrape() {
    let world = World::ours().await;
    let proxy = world.database.proxy().await.unwrap();
    let exporter = Exporter::start(config_of(&world.database.through(&proxy).unwrap(), KINDS)).await;
    assert_eq!(exporter.scrape().await.success(), 1.0);
    proxy.cut();
    assert_eq!(exporter.scrape().await.success(), 1.0);
    assert_eq!(proxy.connections(), 2, "a second connection, and no more");
}

/// What is between has forgotten the connection, and drops what is sent.
#[tokio::test]
async fn a_connection_that_fell_silent_while_idle_costs_no_scrape() {
    let world = World::ours().await;
    let proxy = world.database.proxy().await.unwrap();
    let mut config = config_of(&world.database.through(&proxy).unwrap(), KINDS);
    config.scrape_timeout = Duration::from_secs(2);
    let exporter = Exporter::start(config).await;
    assert_eq!(exporter.scrape().await.success(), 1.0);
    proxy.mute();
    assert_eq!(exporter.scrape().await.success(), 1.0);
    assert_eq!(proxy.connections(), 2, "a second connection, and no more");
}

#[tokio::test]
async fn stale_figures_are_not_served_as_fresh() {
    let mut world = World::ours().await;
    world.resource("c1", "Cluster", Some("False"), "1 hour").await;
    let proxy = world.database.proxy().await.unwrap();
    let exporter = Exporter::start(config_of(&world.database.through(&proxy).unwrap(), KINDS)).await;
    let good = exporter.scrape().await;
    let last = "hyperfleet_reconcile_metrics_last_success_timestamp_seconds{collector=\"snapshot\"}";
    proxy.refuse();
    let bad = exporter.scrape().await;
    assert!(good.has("hyperfleet_api_resource_pending_reconciliation"));
    assert!(!bad.has("hyperfleet_api_resource_pending_reconciliation"));
    assert_eq!(bad.get(last), good.get(last), "it says since when");
}

/// Somebody holds the table that a scrape reads.
#[tokio::test]
async fn a_slow_query_ends_in_time_and_fails_no_scrape() {
    let mut world = World::ours().await;
    let mut holder = world.another_connection().await;
    sqlx::raw_sql("BEGIN; LOCK TABLE resource_conditions IN ACCESS EXCLUSIVE MODE").execute(&mut holder).await.unwrap();
    // By the database's own limit, and by ours where that is not enough.
    for by_the_database in [true, false] {
        let mut config = world.config(KINDS);
        let limit = if by_the_database { &mut config.database.statement_timeout } else { &mut config.scrape_timeout };
        *limit = Duration::from_millis(100);
        let exporter = Exporter::start(config).await;
        let begun = Instant::now();
        let samples = exporter.scrape().await;
        assert!(begun.elapsed() < Duration::from_secs(4), "{:?}", begun.elapsed());
        assert_eq!((samples.success(), errors(&samples, "timeout")), (0.0, 1.0));
        let took = samples.get("hyperfleet_reconcile_metrics_scrape_duration_seconds{collector=\"snapshot\"}");
        assert!(took >= 0.1, "{took}");
    }
    sqlx::raw_sql("COMMIT").execute(&mut holder).await.unwrap();
    assert_eq!(world.exporter(KINDS).await.scrape().await.success(), 1.0);
    await_condition("no session of an exporter to be left waiting", PATIENCE, async || {
        let waiting = "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database()
                       AND application_name = 'reconcile-metrics' AND state <> 'idle'";
        let waiting = world.number(waiting).await;
        anyhow::ensure!(waiting == 0, "{waiting} sessions");
        Ok(())
    })
    .await
    .unwrap();
}

/// Its connection is one that the next reading opens anew: the two must not add up for as long as a statement may take.
#[tokio::test]
async fn a_reading_whose_time_is_up_leaves_no_statement_behind() {
    let mut world = World::ours().await;
    let mut holder = world.another_connection().await;
    sqlx::raw_sql("BEGIN; LOCK TABLE resource_conditions IN ACCESS EXCLUSIVE MODE").execute(&mut holder).await.unwrap();
    let mut config = world.config(KINDS);
    config.scrape_timeout = Duration::from_millis(100);
    config.database.statement_timeout = Duration::from_hours(1);
    let exporter = Exporter::start(config).await;
    assert_eq!(errors(&exporter.scrape().await, "timeout"), 1.0);
    await_condition("its statement to end", PATIENCE, async || {
        let running =
            "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'";
        anyhow::ensure!(world.number(running).await == 0, "it waits");
        Ok(())
    })
    .await
    .unwrap();
    holder.close().await.unwrap();
}

#[tokio::test]
async fn concurrent_scrapes_share_one_query_and_few_connections() {
    const SCRAPERS: usize = 20;
    let mut world = World::ours().await;
    world.resource("c1", "Cluster", Some("False"), "1 hour").await;
    let proxy = world.database.proxy().await.unwrap();
    let exporter = Exporter::start(config_of(&world.database.through(&proxy).unwrap(), KINDS)).await;
    let mut holder = world.another_connection().await;
    sqlx::raw_sql("BEGIN; LOCK TABLE resource_conditions IN ACCESS EXCLUSIVE MODE").execute(&mut holder).await.unwrap();
    let scrapes = futures::future::join_all((0..SCRAPERS).map(|_| exporter.scrape()));
    let release = async {
        await_condition("one query to wait", PATIENCE, async || {
            let waiting =
                "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'";
            anyhow::ensure!(world.number(waiting).await == 1, "none waits");
            Ok(())
        })
        .await
        .unwrap();
        sqlx::raw_sql("COMMIT").execute(&mut holder).await.unwrap();
    };
    let (scrapes, ()) = tokio::join!(scrapes, release);
    assert!(scrapes.iter().all(|samples| samples.success() == 1.0));
    assert_eq!(proxy.connections(), 1);
    holder.close().await.unwrap();
}

/// Details and a reader of `/stuck` both wait for a table that no scrape reads.
#[tokio::test]
async fn a_scrape_waits_for_no_other_reader() {
    let mut world = World::ours().await;
    crate::stuck::troubled(&mut world).await;
    let exporter = world.exporter(&format!("stuck: {{anonymous: true}}\n{KINDS}")).await;
    let mut holder = world.another_connection().await;
    sqlx::raw_sql("BEGIN; LOCK TABLE adapter_statuses IN ACCESS EXCLUSIVE MODE").execute(&mut holder).await.unwrap();
    let waiting =
        "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'";
    let scrape = async {
        await_condition("both to be under way", PATIENCE, async || {
            let (_, body) = exporter.get("/stuck", &[]).await;
            anyhow::ensure!(body.contains("somebody else is reading"), "{body}");
            anyhow::ensure!(world.number(waiting).await >= 1, "none waits");
            Ok(())
        })
        .await
        .unwrap();
        assert_eq!(exporter.scrape().await.success(), 1.0);
        assert_eq!(world.number(waiting).await, 1, "the scrape did not wait for it");
        sqlx::raw_sql("COMMIT").execute(&mut holder).await.unwrap();
    };
    let ((), (status, body), ()) = tokio::join!(exporter.scraper.renew_details(), exporter.get("/stuck", &[]), scrape);
    assert_eq!(status, 200, "{body}");
}

#[tokio::test]
async fn everything_together_opens_no_more_connections_than_allowed() {
    let mut world = World::ours().await;
    crate::stuck::troubled(&mut world).await;
    let proxy = world.database.proxy().await.unwrap();
    let more = format!("stuck: {{anonymous: true}}\n{KINDS}");
    let exporter = Exporter::start(config_of(&world.database.through(&proxy).unwrap(), &more)).await;
    for _ in 0..5 {
        let pages = futures::future::join_all((0..5).map(|_| exporter.get("/stuck", &[])));
        let (samples, pages, ()) = tokio::join!(exporter.scrape(), pages, exporter.scraper.renew_details());
        assert_eq!(samples.success(), 1.0);
        let answered = pages.iter().filter(|(status, _)| *status == 200).count();
        let refused = pages.iter().filter(|(status, body)| *status == 503 && body.contains("try again")).count();
        assert!(answered >= 1 && answered + refused == pages.len(), "{pages:?}");
    }
    assert!(proxy.connections() <= 2, "{} connections", proxy.connections());
}

/// The database does not notice that a client of the exporter hung up: its statement goes on, and so must what limits it.
#[tokio::test]
async fn who_hangs_up_leaves_no_statements_beyond_the_limit() {
    let mut world = World::ours().await;
    crate::stuck::troubled(&mut world).await;
    let proxy = world.database.proxy().await.unwrap();
    let more = format!("stuck: {{anonymous: true}}\n{KINDS}");
    let exporter = Exporter::start(config_of(&world.database.through(&proxy).unwrap(), &more)).await;
    let mut holder = world.another_connection().await;
    sqlx::raw_sql("BEGIN; LOCK TABLE adapter_statuses IN ACCESS EXCLUSIVE MODE").execute(&mut holder).await.unwrap();
    let waiting =
        "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'";
    let mut until_waiting = async |sessions: i64| {
        await_condition("statements to wait", PATIENCE, async || {
            anyhow::ensure!(world.number(waiting).await >= sessions, "too few wait");
            Ok(())
        })
        .await
    };
    tokio::select! {
        (status, body) = exporter.get("/stuck", &[]) => panic!("{status} {body}"),
        waiting = until_waiting(1) => waiting.unwrap(),
    }
    for _ in 0..50 {
        tokio::select! {
            (status, body) = exporter.get("/stuck", &[]) => assert!(status == 503 && body.contains("try again"), "{body}"),
            more = until_waiting(2) => panic!("a second statement beside the first: {more:?}"),
        }
    }
    sqlx::raw_sql("COMMIT").execute(&mut holder).await.unwrap();
    await_condition("the page to open again", PATIENCE, async || {
        let (status, body) = exporter.get("/stuck", &[]).await;
        anyhow::ensure!(status == 200, "{status} {body}");
        Ok(())
    })
    .await
    .unwrap();
    assert_eq!(proxy.connections(), 1);
}
