//! The plans of what a scrape asks, and of what is read beside it: by an index.

use reconcile_metrics::store::query;
use sqlx::{AssertSqlSafe, Row as _};

use crate::world::{ROWS, World};

/// A statement's parameters: their types, and values.
type Parameters = (&'static str, &'static str);

const NONE: Parameters = ("", "");
const AGES: Parameters = ("(float8[], float8)", "(ARRAY[60, 600], NULL)");
const KINDS: Parameters = ("(text[], float8[], float8[])", "(ARRAY['Cluster'], ARRAY[600], ARRAY[600])");
/// The first 1,111 of the 5,000 by the order of texts.
const PART: Parameters = (
    "(text[], float8[], float8[], float8, text[], text, boolean, bigint, text, text)",
    "(ARRAY['Cluster'], ARRAY[600], ARRAY[600], 600, ARRAY['Cluster'], NULL, NULL, 0, '', '2')",
);
const ENDS: Parameters =
    ("(text[], float8[], float8[], text, text)", "(ARRAY['Cluster'], ARRAY[600], ARRAY[600], '', '2')");
const SELECTION: Parameters = (
    "(text[], float8[], float8[], float8, text[], text, boolean, bigint, integer)",
    "(ARRAY['Cluster'], ARRAY[600], ARRAY[600], 600, ARRAY['Cluster'], NULL, NULL, 100, 0)",
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

async fn load(world: &mut World) {
    world
        .sql(
            "INSERT INTO resources (id, kind, name, created_by, updated_by, spec)
             SELECT n::text, CASE WHEN n % 2 = 0 THEN 'Cluster' ELSE 'NodePool' END, n::text, 't', 't', '{}'
             FROM generate_series(1, 5000) n;
             INSERT INTO resource_conditions (resource_id, type, status, last_transition_time)
             SELECT n::text, 'Reconciled', CASE WHEN n % 100 = 0 THEN 'False' ELSE 'True' END, now()
             FROM generate_series(1, 5000) n",
        )
        .await;
}

async fn fill(world: &mut World) {
    load(world).await;
    world.sql("VACUUM ANALYZE").await;
}

/// What each index is read for.
fn bounds(plan: &str) -> Vec<&str> {
    plan.lines().filter(|line| line.trim_start().starts_with("Index Cond")).collect()
}

/// Also before anybody has counted, as after an import: a plan by wrong estimates would take minutes.
#[tokio::test]
async fn a_part_of_a_pass_reads_no_more_than_its_part() {
    let statements = [(ROWS, query::MISSING_IN_PART, PART), ("", query::COMPARED_IN_PART, ENDS)];
    for (schema, sql, parameters) in statements {
        let mut world = if schema.is_empty() { World::ours().await } else { World::theirs(schema).await };
        load(&mut world).await;
        for count in ["SELECT", "VACUUM ANALYZE"] {
            world.sql(count).await;
            let plan = plan(&mut world, sql, parameters).await;
            assert!(!plan.contains("Seq Scan") && !plan.contains("Nested Loop Anti Join"), "{plan}");
            let bounds = bounds(&plan);
            let is_bounded = |bound: &&str| bound.contains("<= '2'::text") || bound.contains("= (r.id)::text");
            assert!(bounds.len() >= 2 && bounds.iter().all(is_bounded), "read up to the end of the part: {plan}");
        }
    }
}

#[tokio::test]
async fn a_scrape_of_our_schema_scans_no_table() {
    let mut world = World::ours().await;
    fill(&mut world).await;
    let cases = [
        (query::TRACKED_PENDING, AGES, "Index Only Scan using unsettled_resources_pending"),
        (query::TRACKED_MISSING, KINDS, "Index Only Scan using unsettled_resources_missing"),
        (query::TRACKED_TRANSITIONS, NONE, "Index Scan using reconciliation_transitions_p"),
    ];
    for (sql, parameters, by) in cases {
        let plan = plan(&mut world, sql, parameters).await;
        assert!(!plan.contains("Seq Scan") && plan.contains(by), "{plan}");
        for table in ["on resources", "on resource_conditions", "on adapter_statuses"] {
            assert!(!plan.contains(table), "the cost must not depend on who is healthy: {plan}");
        }
    }
}

#[tokio::test]
async fn what_is_read_beside_scrapes_scans_no_table() {
    for mut world in [World::ours().await, World::theirs(ROWS).await] {
        fill(&mut world).await;
        world.sql("UPDATE resources SET deleted_time = now() WHERE id::integer % 100 = 1").await;
        world.sql("VACUUM ANALYZE").await;
        let deletions = plan(&mut world, query::DELETIONS, SELECTION).await;
        for index in ["idx_resources_deleted_time", "resource_conditions_pkey", "idx_resources_owner_id"] {
            assert!(!deletions.contains("Seq Scan") && deletions.contains(index), "{index}: {deletions}");
        }
    }
    let mut world = World::ours().await;
    fill(&mut world).await;
    let drift = plan(&mut world, query::DRIFT, NONE).await;
    for index in ["idx_resource_conditions_type_status", "resources_pkey", "unsettled_resources_"] {
        assert!(!drift.contains("Seq Scan") && drift.contains(index), "{index}: {drift}");
    }
    assert!(drift.contains("Index Cond: ((id)::text = (c.resource_id)::text)"), "what is healthy is not read: {drift}");
}

#[tokio::test]
async fn a_scrape_of_the_apis_schema_scans_no_table() {
    let mut world = World::theirs(ROWS).await;
    fill(&mut world).await;
    let without = plan(&mut world, query::ROWS_PENDING, AGES).await;
    assert!(!without.contains("Seq Scan") && without.contains("idx_resource_conditions_type_status"), "{without}");

    let kinds = world.config(crate::world::KINDS).kinds;
    let (_, indexes) = reconcile_metrics::index::offered(&mut world.connection, &kinds).await.unwrap();
    let [index] = indexes.as_slice() else { panic!("{indexes:?}") };
    // Twice: the second time it is there already.
    for _ in 0..2 {
        reconcile_metrics::index::build(&mut world.connection, index).await.unwrap();
    }
    world.sql("VACUUM ANALYZE").await;
    let with = plan(&mut world, query::ROWS_PENDING, AGES).await;
    assert!(
        !with.contains("Seq Scan") && with.contains("Index Only Scan using idx_reconcile_metrics_pending"),
        "{with}"
    );
}

#[tokio::test]
async fn an_index_on_the_older_schema_is_used() {
    let mut world = World::theirs(crate::world::DOCUMENTS).await;
    let kinds = world.config(crate::world::KINDS).kinds;
    let (_, indexes) = reconcile_metrics::index::offered(&mut world.connection, &kinds).await.unwrap();
    assert_eq!(indexes.len(), 2, "one for each table");
    for index in &indexes {
        reconcile_metrics::index::build(&mut world.connection, index).await.unwrap();
    }
    world
        .sql(
            r#"INSERT INTO clusters (id, name, status_conditions)
               SELECT n::text, 'c', jsonb_build_array(jsonb_build_object('type', 'Reconciled', 'status',
                   CASE WHEN n % 100 = 0 THEN 'False' ELSE 'True' END)) FROM generate_series(1, 5000) n"#,
        )
        .await;
    world.sql("VACUUM ANALYZE").await;
    let sql = r#"SELECT id FROM clusters t WHERE t.status_conditions @> '[{"type": "Reconciled", "status": "False"}]'"#;
    let plan = plan(&mut world, sql, NONE).await;
    assert!(plan.contains("idx_reconcile_metrics_pending_clusters"), "{plan}");
}

#[tokio::test]
async fn an_invalid_index_says_how_to_remove_it() {
    let mut world = World::theirs(ROWS).await;
    let kinds = world.config(crate::world::KINDS).kinds;
    let (_, indexes) = reconcile_metrics::index::offered(&mut world.connection, &kinds).await.unwrap();
    let index = indexes.first().unwrap();
    reconcile_metrics::index::build(&mut world.connection, index).await.unwrap();
    world
        .sql("UPDATE pg_index SET indisvalid = false WHERE indexrelid = 'idx_reconcile_metrics_pending'::regclass")
        .await;
    let error = reconcile_metrics::index::build(&mut world.connection, index).await.unwrap_err().to_string();
    assert!(error.contains("DROP INDEX CONCURRENTLY idx_reconcile_metrics_pending"), "{error}");
}
