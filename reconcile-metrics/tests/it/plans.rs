//! Query plans of the exporter's statements: all use indexes, and a scrape reads no table.

use reconcile_metrics::prepare;
use reconcile_metrics::store::PENDING;
use sqlx::{AssertSqlSafe, Row as _};

use crate::world::{API_SCHEMA, World};

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

/// Returns the plan of a statement as `EXPLAIN` prints it.
async fn plan(world: &mut World, sql: &str, (types, values): Parameters) -> String {
    // The same planner settings as in the exporter's transactions.
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

/// Returns a filled database with each schema, both with the two indexes.
async fn prepared() -> [World; 2] {
    let mut theirs = World::with_schema(API_SCHEMA).await;
    for step in prepare::steps(&mut theirs.connection, false).await.unwrap() {
        prepare::run(&mut theirs.connection, &step).await.unwrap();
    }
    let mut worlds = [World::migrated().await, theirs];
    for world in &mut worlds {
        fill(world).await;
    }
    worlds
}

#[tokio::test]
async fn scrape_statement_is_two_index_only_scans() {
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
async fn scrape_statement_without_our_indexes_uses_the_apis() {
    let mut world = World::with_schema(API_SCHEMA).await;
    fill(&mut world).await;
    let plan = plan(&mut world, PENDING, AGES).await;
    assert!(!plan.contains("Seq Scan") && plan.contains("idx_resource_conditions_type_status"), "{plan}");
}

#[tokio::test]
async fn api_query_uses_our_index_too() {
    for mut world in prepared().await {
        let upstream = "SELECT r.kind, count(*) FROM resources r JOIN resource_conditions c ON c.resource_id = r.id
                        WHERE c.type = 'Reconciled' AND c.status = 'False' AND c.last_transition_time < now() GROUP BY 1";
        let plan = plan(&mut world, upstream, ("", "")).await;
        assert!(plan.contains("Index Only Scan using idx_reconcile_metrics_unreconciled"), "{plan}");
    }
}

#[tokio::test]
async fn details_find_stuck_and_stalled_resources_by_indexes() {
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

/// Checks the plan with and without statistics: after an import there are none, and a plan from wrong estimates would
/// take minutes.
#[tokio::test]
async fn coverage_statement_reads_no_more_than_its_part() {
    let mut world = World::with_schema(API_SCHEMA).await;
    fill(&mut world).await;
    world
        .sql("DELETE FROM pg_statistic WHERE starelid IN ('resources'::regclass, 'resource_conditions'::regclass)")
        .await;
    for has_statistics in [false, true] {
        if has_statistics {
            world.sql("VACUUM ANALYZE").await;
        }
        let plan = plan(&mut world, PART, ("(text, bigint)", "('', 1000)")).await;
        assert!(!plan.contains("Seq Scan") && plan.contains("Limit"), "{plan}");
        let bounds: Vec<_> = plan.lines().filter(|line| line.contains("Index Cond")).collect();
        assert_eq!(bounds.len(), 2, "a range of resources, and one look-up for each: {plan}");
    }
}
