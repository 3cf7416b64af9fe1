//! The exporter while the database is down, silent, slow or locked.

use std::time::{Duration, Instant};

use lifecycle_e2e::{PATIENCE, await_condition};
use reconcile_metrics::config::{CONFIGURATION, Environment, Flags};
use reconcile_metrics::store::Store;
use sqlx::Connection as _;

use crate::world::{Exporter, KINDS, World, config_of};

fn errors(samples: &crate::world::Samples, reason: &str) -> f64 {
    let series =
        format!("hyperfleet_reconcile_metrics_scrape_errors_total{{collector=\"snapshot\",reason=\"{reason}\"}}");
    samples.get(&series)
}

#[tokio::test]
async fn exporter_survives_a_missing_database_and_recovers() {
    let mut world = World::migrated().await;
    world.resource("c1", "Cluster", Some("False"), "1 hour").await;
    let proxy = world.database.proxy().await.unwrap();
    proxy.refuse();
    let exporter = Exporter::start(config_of(&world.database.through(&proxy).unwrap(), KINDS)).await;

    let samples = exporter.scrape().await;
    assert_eq!((samples.success(), errors(&samples, "connection")), (0.0, 1.0));
    assert!(!samples.has("hyperfleet_api_resource_pending_reconciliation"), "unknown figures must not be zero");
    assert_eq!(exporter.get("/healthz", &[]).await, (200, r#"{"status":"ok"}"#.to_owned()));
    let (status, body) = exporter.get("/readyz", &[]).await;
    assert!(status == 503 && body.contains("no reading of the database has succeeded yet"), "{body}");

    proxy.restore();
    let samples = exporter.scrape().await;
    assert_eq!((samples.success(), samples.flow("cluster", false).0), (1.0, 1.0));
    assert_eq!(exporter.get("/readyz", &[]).await.0, 200);
    exporter.stop.cancel();
    let (status, body) = exporter.get("/readyz", &[]).await;
    assert!(status == 503 && body.contains("shutting down"), "{body}");
    assert_eq!(exporter.get("/healthz", &[]).await.0, 200, "a process that shuts down is still alive");
}

/// The server accepts connections and never answers, as behind a network policy that drops packets.
#[tokio::test]
async fn silent_database_fails_with_reason_connection() {
    let silent = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let text = format!(
        "database: {{host: 127.0.0.1, port: {}, ssl_mode: disable}}\n{KINDS}",
        silent.local_addr().unwrap().port()
    );
    let config = CONFIGURATION.parse("test.yaml", &text, &Environment::new(), &Flags::new()).unwrap().0;
    let store = Store::new(&config.database, &config.kinds);
    let error = store.details(1, Duration::from_millis(50)).await.unwrap_err();
    assert_eq!(error.reason(), "connection", "{error}");
    // The second reading waits for the first one's permit most of its time, so its reason is `timeout`.
    let (first, second) =
        tokio::join!(store.details(1, Duration::from_millis(200)), store.details(1, Duration::from_millis(250)));
    assert_eq!((first.unwrap_err().reason(), second.unwrap_err().reason()), ("connection", "timeout"));
}

#[tokio::test]
async fn scrape_succeeds_after_an_idle_connection_broke() {
    let world = World::migrated().await;
    let proxy = world.database.proxy().await.unwrap();
    let exporter = Exporter::start(config_of(&world.database.through(&proxy).unwrap(), KINDS)).await;
    assert_eq!(exporter.scrape().await.success(), 1.0);
    proxy.cut();
    assert_eq!(exporter.scrape().await.success(), 1.0);
    assert_eq!(proxy.connections(), 2, "a second connection, and no more");
}

/// A firewall has forgotten the connection and drops its packets without an error.
#[tokio::test]
async fn scrape_succeeds_after_an_idle_connection_went_silent() {
    let world = World::migrated().await;
    let proxy = world.database.proxy().await.unwrap();
    let exporter = Exporter::start(config_of(&world.database.through(&proxy).unwrap(), KINDS)).await;
    assert_eq!(exporter.scrape().await.success(), 1.0);
    proxy.mute();
    assert_eq!(exporter.scrape().await.success(), 1.0);
    assert_eq!(proxy.connections(), 2, "a second connection, and no more");
}

#[tokio::test]
async fn failed_scrape_has_no_old_figures() {
    let mut world = World::migrated().await;
    world.resource("c1", "Cluster", Some("False"), "1 hour").await;
    let proxy = world.database.proxy().await.unwrap();
    let exporter = Exporter::start(config_of(&world.database.through(&proxy).unwrap(), KINDS)).await;
    let good = exporter.scrape().await;
    let last = "hyperfleet_reconcile_metrics_last_success_timestamp_seconds{collector=\"snapshot\"}";
    proxy.refuse();
    let bad = exporter.scrape().await;
    assert!(good.has("hyperfleet_api_resource_pending_reconciliation"));
    assert!(!bad.has("hyperfleet_api_resource_pending_reconciliation"));
    assert_eq!(bad.get(last), good.get(last), "the time of the last success stays");
}

/// Another session locks a table that a scrape reads.
#[tokio::test]
async fn scrape_of_a_locked_table_ends_at_its_time_limit() {
    // Long enough to connect on a busy machine, which the exporter's own limit includes.
    const LIMIT: Duration = Duration::from_secs(2);
    let mut world = World::migrated().await;
    let mut holder = world.another_connection().await;
    sqlx::raw_sql("BEGIN; LOCK TABLE resource_conditions IN ACCESS EXCLUSIVE MODE").execute(&mut holder).await.unwrap();
    // Once the server's statement_timeout ends it, once the exporter's own limit.
    for by_the_database in [true, false] {
        let mut config = world.config(KINDS);
        let limit = if by_the_database { &mut config.database.statement_timeout } else { &mut config.scrape_timeout };
        *limit = LIMIT;
        let exporter = Exporter::start(config).await;
        let begun = Instant::now();
        let samples = exporter.scrape().await;
        // The other limit has its default, 8 s.
        assert!(begun.elapsed() < Duration::from_secs(7), "{:?}", begun.elapsed());
        assert_eq!((samples.success(), errors(&samples, "timeout")), (0.0, 1.0));
        let took = samples.get("hyperfleet_reconcile_metrics_scrape_duration_seconds{collector=\"snapshot\"}");
        assert!(took >= LIMIT.as_secs_f64(), "{took}");
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

/// After a timeout the exporter drops the connection; the server must end the statement too, or statements pile up.
#[tokio::test]
async fn timed_out_reading_leaves_no_running_statement() {
    let mut world = World::migrated().await;
    let mut holder = world.another_connection().await;
    sqlx::raw_sql("BEGIN; LOCK TABLE resource_conditions IN ACCESS EXCLUSIVE MODE").execute(&mut holder).await.unwrap();
    let mut config = world.config(KINDS);
    // Long enough to connect on a busy machine: a scrape without a connection fails with another reason.
    config.scrape_timeout = Duration::from_secs(2);
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
async fn concurrent_scrapes_share_one_reading_and_connection() {
    const SCRAPERS: usize = 20;
    let mut world = World::migrated().await;
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

/// `/stuck` waits for a locked table that scrapes do not read, and the details wait for `/stuck`.
#[tokio::test]
async fn scrape_does_not_wait_for_details_or_the_stuck_page() {
    let mut world = World::migrated().await;
    crate::stuck::troubled(&mut world).await;
    let exporter = world.exporter(&format!("stuck: {{anonymous: true}}\n{KINDS}")).await;
    let mut holder = world.another_connection().await;
    sqlx::raw_sql("BEGIN; LOCK TABLE adapter_statuses IN ACCESS EXCLUSIVE MODE").execute(&mut holder).await.unwrap();
    let waiting =
        "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'";
    let page = exporter.get("/stuck", &[]);
    tokio::pin!(page);
    // The page comes first: another request for it would take its turn.
    let under_way = await_condition("the page's statement to wait", PATIENCE, async || {
        anyhow::ensure!(world.number(waiting).await >= 1, "none waits");
        Ok(())
    });
    tokio::select! {
        (status, body) = &mut page => panic!("{status} {body}"),
        under_way = under_way => under_way.unwrap(),
    }
    let scrape = async {
        let (_, body) = exporter.get("/stuck", &[]).await;
        assert!(body.contains("another client is reading"), "{body}");
        assert_eq!(exporter.scrape().await.success(), 1.0);
        assert_eq!(world.number(waiting).await, 1, "the scrape did not wait for it");
        sqlx::raw_sql("COMMIT").execute(&mut holder).await.unwrap();
    };
    let ((), (status, body), ()) = tokio::join!(exporter.scraper.renew_details(), page, scrape);
    assert_eq!(status, 200, "{body}");
}

#[tokio::test]
async fn scrapes_details_and_pages_open_two_connections_at_most() {
    let mut world = World::migrated().await;
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

/// When a client of `/stuck` disconnects, its statement still runs, so the next client must wait for it.
#[tokio::test]
async fn disconnecting_clients_start_no_second_statement() {
    let mut world = World::migrated().await;
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
