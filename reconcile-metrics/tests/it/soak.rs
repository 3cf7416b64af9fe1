//! Writers change rows while scrapes read: each scrape's figures are those of one moment.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use sqlx::AssertSqlSafe;

use crate::world::{KINDS, World, resource, rewrite, rewrite_unchanged};

const PAIRS: usize = 20;
const WRITERS: usize = 4;
const SCRAPES: usize = 200;

/// Each transaction makes one of a pair pending and reconciles the other, so that at every moment half of all are.
#[tokio::test]
async fn each_scrape_agrees_with_one_snapshot() {
    let mut world = World::ours().await;
    for n in 0..PAIRS {
        let pair = [("c", "Cluster", "False"), ("n", "NodePool", "True")];
        let sql: String = pair
            .iter()
            .map(|(letter, kind, status)| {
                let id = format!("{letter}{n}");
                resource(&id, kind) + &rewrite(&id, status, "1 hour")
            })
            .collect();
        world.sql(&format!("BEGIN; {sql} COMMIT")).await;
    }
    let exporter = world.exporter(KINDS).await;
    let (done, flips, compared) = (AtomicBool::new(false), AtomicU64::new(0), AtomicU64::new(0));
    let mut connections = Vec::new();
    for _ in 0..WRITERS {
        connections.push(world.another_connection().await);
    }
    let writers = connections.iter_mut().enumerate().map(|(writer, connection)| {
        let (done, flips) = (&done, &flips);
        async move {
            let mut cluster_pending = [true; PAIRS];
            let mut turn = 0;
            while !done.load(Ordering::Relaxed) {
                // Writers own pairs of their own, as the API's lock on the resource makes it.
                let n = (turn * WRITERS + writer) % PAIRS;
                turn += 1;
                let was = cluster_pending[n];
                cluster_pending[n] = !was;
                let (cluster, pool) = if was { ("True", "False") } else { ("False", "True") };
                let sql = format!(
                    "BEGIN; {}{}{} COMMIT",
                    rewrite(&format!("c{n}"), cluster, "1 hour"),
                    // A rewrite that changes nothing on the way.
                    rewrite(&format!("n{n}"), pool, "1 hour"),
                    rewrite_unchanged(&format!("n{n}"), pool, "1 hour"),
                );
                sqlx::raw_sql(AssertSqlSafe(sql)).execute(&mut *connection).await.unwrap();
                flips.fetch_add(1, Ordering::Relaxed);
            }
        }
    });
    let scrapes = async {
        let mut last = 0.0;
        for _ in 0..SCRAPES {
            let samples = exporter.scrape().await;
            let (clusters, pools) = (samples.flow("cluster", false), samples.flow("nodepool", false));
            assert_eq!(clusters.0 + pools.0, PAIRS as f64, "half of all are pending at every moment");
            assert_eq!((clusters.0, pools.0), (clusters.1, pools.1), "all of them for an hour");
            let count = |resource_type: &str| {
                let name = "hyperfleet_api_resource_pending_reconciliation_age_seconds_count";
                samples.get(&format!("{name}{{is_delete=\"false\",resource_type=\"{resource_type}\"}}"))
            };
            assert_eq!((count("cluster"), count("nodepool")), (clusters.0, pools.0));
            // A flip makes one transition, so both counters and both gauges come from one moment, too:
            // the pools that became pending are those flips that were not turned back.
            let (started_clusters, started_pools) =
                (samples.started("cluster", false), samples.started("nodepool", false));
            assert_eq!(started_pools - (started_clusters - PAIRS as f64), pools.0);
            assert!(started_clusters + started_pools >= last, "a counter does not fall");
            last = started_clusters + started_pools;
        }
        done.store(true, Ordering::Relaxed);
    };
    // Both sides of a comparison are of one moment, too: a difference that is none would keep the record from being used.
    let comparisons = async {
        while !done.load(Ordering::Relaxed) {
            exporter.scraper.renew_details().await;
            assert!(exporter.scraper.renew_pass().await);
            let samples = exporter.scrape().await;
            for state in ["pending", "missing"] {
                let drift = format!("hyperfleet_reconcile_metrics_record_drift{{state=\"{state}\"}}");
                assert_eq!(samples.get(&drift), 0.0, "{state}");
            }
            compared.fetch_add(1, Ordering::Relaxed);
        }
    };
    tokio::join!(futures::future::join_all(writers), scrapes, comparisons);
    assert!(compared.load(Ordering::Relaxed) > 1);

    let flips = flips.load(Ordering::Relaxed);
    assert!(flips > 0);
    let samples = exporter.scrape().await;
    let total = samples.started("cluster", false) + samples.started("nodepool", false);
    assert_eq!(total, (PAIRS as u64 + flips) as f64, "no transition is missed between scrapes, and none counted twice");
    let wrong =
        "SELECT count(*) FROM resources r JOIN resource_conditions c ON c.resource_id = r.id AND c.type = 'Reconciled'
                 LEFT JOIN unsettled_resources u ON u.resource_id = r.id
                 WHERE (c.status = 'False') IS DISTINCT FROM (u.state IS NOT NULL AND u.state = 'pending')";
    assert_eq!(world.number(wrong).await, 0, "the record is what a fresh reading would make it");
}
