//! The plans of what the exporter asks: by an index, and a scrape by indexes alone.

use reconcile_metrics::prepare;
use reconcile_metrics::store::PENDING;
use sqlx::{AssertSqlSafe, Row as _};

use crate::world::{ROWS, World};

const STUCK: &str = include_str!("../../src/store/sql/stuck.sql");
const STALLED: &str = include_str!("../../src/store/sql/stalled.sql");
const PART: &str = include_str!("../../src/store/sql/coverage_of_part.sql");

/// A statement's parameters: their types, and values.
type Parameters = (&'static str, &'static str);

const AGES: Parameters = ("(float8[])", "(ARRAY[60, 600])");
const SELECTION: Parameters = (
    "(text[], float8[], float8[], float8, text, boolean, bigint)",
    "(ARRAY['Cluster'], ARRAY[600], ARRAY[600], 600, NULL, NULL, 100)",
);

/// Every node of a plan, as `EXPLAIN` prints it.
async fn plan(world: &mut World, sql: &str, (types, values): Parameters) -> String {
    // The limits of a scrape's transaction, as the exporter sets them.
    let sql = format!(
        "BEGIN; SET LOCAL enable_seqscan = off; SET LOCAL max_parallel_workers_per_gather = 0;
         PREPARE asked {types} AS {sql}; EXPLAIN EXECUTE asked {values}; DEALLOCATE asked; COMMIT"
    );
    let rows = sqlx::raw_sql(AssertSqlSafe(sql)).fetch_all(&mut world.connection).await.unwrap();
    rows.iter().map(|row| row.get::<String, _>(0)).collect::<Vec<_>>().join("\n")
}

async fn fill(world: &mut World) {
    world
        .sql(
            "INSERT INTO resources (id, kind, name, created_by, updated_by, spec, deleted_time)
             SELECT n::text, CASE WHEN n % 2 = 0 THEN 'Cluster' ELSE 'NodePool' END, n::text, 't', 't', '{}',
                 CASE WHEN n % 100 = 1 THEN now() END
             FROM generate_series(1, 5000) n;
             INSERT INTO resource_conditions (resource_id, type, status, last_transition_time)
             SELECT n::text, 'Reconciled', CASE WHEN n % 100 = 0 THEN 'False' ELSE 'True' END, now()
             FROM generate_series(1, 5000) n",
        )
        .await;
    world.sql("VACUUM ANALYZE").await;
}

/// A world with the indexes, whoever made the tables.
async fn prepared() -> [World; 2] {
    let mut theirs = World::theirs(ROWS).await;
    for step in prepare::steps(&mut theirs.connection, false).await.unwrap() {
        prepare::run(&mut theirs.connection, &step).await.unwrap();
    }
    let mut worlds = [World::ours().await, theirs];
    for world in &mut worlds {
        fill(world).await;
    }
    worlds
}

#[tokio::test]
async fn a_scrape_reads_indexes_alone_on_both_sides() {
    for mut world in prepared().await {
        let plan = plan(&mut world, PENDING, AGES).await;
        for index in ["idx_reconcile_metrics_unreconciled", "idx_reconcile_metrics_resources"] {
            assert!(plan.contains(&format!("Index Only Scan using {index}")), "{index}: {plan}");
        }
        for node in ["Seq Scan", "Index Scan", "Bitmap"] {
            assert!(!plan.contains(node), "{node}: {plan}");
        }
    }
}

#[tokio::test]
async fn a_scrape_without_the_indexes_scans_no_table() {
    let mut world = World::theirs(ROWS).await;
    fill(&mut world).await;
    let plan = plan(&mut world, PENDING, AGES).await;
    assert!(!plan.contains("Seq Scan") && plan.contains("idx_resource_conditions_type_status"), "{plan}");
}

#[tokio::test]
async fn the_apis_own_query_uses_the_index_too() {
    for mut world in prepared().await {
        let upstream = "SELECT r.kind, count(*) FROM resources r JOIN resource_conditions c ON c.resource_id = r.id
                        WHERE c.type = 'Reconciled' AND c.status = 'False' AND c.last_transition_time < now() GROUP BY 1";
        let plan = plan(&mut world, upstream, ("", "")).await;
        assert!(plan.contains("Index Only Scan using idx_reconcile_metrics_unreconciled"), "{plan}");
    }
}

#[tokio::test]
async fn details_find_the_oldest_by_indexes_and_deletions_by_theirs() {
    for mut world in prepared().await {
        let stuck = plan(&mut world, STUCK, SELECTION).await;
        for index in ["idx_reconcile_metrics_unreconciled", "idx_reconcile_metrics_resources"] {
            assert!(stuck.contains(&format!("Index Only Scan using {index}")), "{index}: {stuck}");
        }
        let stalled = plan(&mut world, STALLED, SELECTION).await;
        for index in ["idx_resources_deleted_time", "resource_conditions_pkey", "idx_resources_owner_id"] {
            assert!(stalled.contains(index), "{index}: {stalled}");
        }
        assert!(!stuck.contains("Seq Scan") && !stalled.contains("Seq Scan"), "{stuck}\n{stalled}");
    }
}

/// Also before anybody has counted, as after an import: a plan by wrong estimates would take minutes.
#[tokio::test]
async fn a_part_of_a_pass_reads_no_more_than_its_part() {
    let mut world = World::theirs(ROWS).await;
    fill(&mut world).await;
    world
        .sql("DELETE FROM pg_statistic WHERE starelid IN ('resources'::regclass, 'resource_conditions'::regclass)")
        .await;
    for counted in [false, true] {
        if counted {
            world.sql("VACUUM ANALYZE").await;
        }
        let plan = plan(&mut world, PART, ("(text, bigint)", "('', 1000)")).await;
        assert!(!plan.contains("Seq Scan") && plan.contains("Limit"), "{plan}");
        let bounds: Vec<_> = plan.lines().filter(|line| line.contains("Index Cond")).collect();
        assert_eq!(bounds.len(), 2, "a range of resources, and one look-up for each: {plan}");
    }
}
