//! Writers change rows while scrapes read: the figures of each scrape must come from one moment.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use sqlx::AssertSqlSafe;

use crate::world::{KINDS, World, resource, rewrite};

const PAIRS: usize = 20;
const WRITERS: usize = 4;
const SCRAPES: usize = 200;

/// Each transaction makes one resource of a pair pending and the other reconciled, so half of all are always pending.
#[tokio::test]
async fn figures_of_a_scrape_come_from_one_snapshot() {
    let mut world = World::migrated().await;
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
    let (done, flips) = (AtomicBool::new(false), AtomicU64::new(0));
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
                // Each writer has its own pairs, because the API locks a resource while it writes it.
                let n = (turn * WRITERS + writer) % PAIRS;
                turn += 1;
                let was = cluster_pending[n];
                cluster_pending[n] = !was;
                let (cluster, pool) = if was { ("True", "False") } else { ("False", "True") };
                let sql = format!(
                    "BEGIN; {}{}{} COMMIT",
                    rewrite(&format!("c{n}"), cluster, "1 hour"),
                    rewrite(&format!("n{n}"), pool, "1 hour"),
                    // Also rewrite the conditions unchanged, as the API does for a report without news.
                    rewrite(&format!("n{n}"), pool, "1 hour"),
                );
                sqlx::raw_sql(AssertSqlSafe(sql)).execute(&mut *connection).await.unwrap();
                flips.fetch_add(1, Ordering::Relaxed);
            }
        }
    });
    let scrapes = async {
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
        }
        done.store(true, Ordering::Relaxed);
    };
    let details = async {
        while !done.load(Ordering::Relaxed) {
            exporter.scraper.renew_details().await;
        }
    };
    tokio::join!(futures::future::join_all(writers), scrapes, details);
    assert!(flips.load(Ordering::Relaxed) > 0);
}
