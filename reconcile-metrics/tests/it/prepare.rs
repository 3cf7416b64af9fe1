//! `prepare` on a database that the API created: while clients write, and after a build that broke off.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use reconcile_metrics::prepare::{self, INDEXES};
use sqlx::AssertSqlSafe;

use crate::cli::run;
use crate::world::{API_SCHEMA, World, rewrite};

const WRITERS: usize = 16;
const VALID: &str = "SELECT count(*) FROM pg_index i JOIN pg_class c ON c.oid = i.indexrelid
                     WHERE c.relname LIKE 'idx_reconcile_metrics_%' AND i.indisvalid";

/// Inserts resources, one in a hundred of them unreconciled.
async fn fill(world: &mut World, resources: usize) {
    world
        .sql(&format!(
            "INSERT INTO resources (id, kind, name, created_by, updated_by, spec)
             SELECT 'r' || n, 'Cluster', n::text, 't', 't', '{{}}' FROM generate_series(0, {resources} - 1) n;
             INSERT INTO resource_conditions (resource_id, type, status, last_transition_time)
             SELECT 'r' || n, 'Reconciled', CASE WHEN n % 100 = 0 THEN 'False' ELSE 'True' END, now()
             FROM generate_series(0, {resources} - 1) n"
        ))
        .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn prepare_prints_builds_and_removes_its_indexes() {
    let mut world = World::with_schema(API_SCHEMA).await;
    let (good, text, error) = run(&world, &["prepare", "--dry-run"]);
    assert!(good && text.matches("CREATE INDEX CONCURRENTLY").count() == 2, "{text}{error}");
    assert_eq!(world.number(VALID).await, 0);
    for outcome in ["is built", "exists already"] {
        let (good, text, error) = run(&world, &["prepare"]);
        assert!(good && text.matches(outcome).count() == 2, "{text}{error}");
        assert_eq!(world.number(VALID).await, 2);
    }
    let (good, text, _) = run(&world, &["prepare", "--remove", "--dry-run"]);
    assert!(good && text.matches("DROP INDEX CONCURRENTLY").count() == 2, "{text}");
    assert_eq!(world.number(VALID).await, 2);
    for outcome in ["is removed", "does not exist"] {
        let (good, text, error) = run(&world, &["prepare", "--remove"]);
        assert!(good && text.matches(outcome).count() == 2, "{text}{error}");
        assert_eq!(world.number(VALID).await, 0);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn migrate_and_prepare_build_the_same_indexes() {
    let world = World::migrated().await;
    let (good, text, error) = run(&world, &["prepare"]);
    assert!(good && text.matches("exists already").count() == 2, "{text}{error}");
    let mut definitions = Vec::new();
    for mut world in [world, World::with_schema(API_SCHEMA).await] {
        for step in prepare::steps(&mut world.connection, false).await.unwrap() {
            prepare::run(&mut world.connection, &step).await.unwrap();
        }
        for index in INDEXES {
            let definition = format!("SELECT pg_get_indexdef('{}'::regclass)", index.name);
            let definition: String =
                sqlx::query_scalar(AssertSqlSafe(definition)).fetch_one(&mut world.connection).await.unwrap();
            definitions.push(definition);
        }
    }
    let (migrated, prepared) = definitions.split_at(INDEXES.len());
    assert_eq!(migrated, prepared);
}

#[tokio::test(flavor = "multi_thread")]
async fn prepare_replaces_an_invalid_index() {
    let mut world = World::with_schema(API_SCHEMA).await;
    run(&world, &["prepare"]);
    world
        .sql("UPDATE pg_index SET indisvalid = false WHERE indexrelid = 'idx_reconcile_metrics_resources'::regclass")
        .await;
    let (good, text, error) = run(&world, &["prepare"]);
    assert!(good && text.contains("idx_reconcile_metrics_resources is built again"), "{text}{error}");
    assert_eq!(world.number(VALID).await, 2);
}

#[tokio::test(flavor = "multi_thread")]
async fn prepare_by_another_role_names_the_owner_in_its_error() {
    let mut world = World::with_schema(API_SCHEMA).await;
    let role = lifecycle_e2e::unique("reader").replace('-', "_");
    world.sql(&format!("CREATE ROLE {role} LOGIN; GRANT SELECT ON ALL TABLES IN SCHEMA public TO {role}")).await;
    let (good, _, error) = run(&world, &["prepare", "--db-username", &role]);
    assert!(
        !good && error.contains("which only the tables' owner may run: ") && error.contains("must be owner"),
        "{error}"
    );
}

/// Each writer does what the API does for a report: it locks the resource, upserts the report, and rewrites all
/// conditions, in one transaction.
#[tokio::test(flavor = "multi_thread")]
async fn prepare_fails_no_request_of_sixteen_writers() {
    const RESOURCES: usize = 20_000;
    let mut world = World::with_schema(API_SCHEMA).await;
    fill(&mut world, RESOURCES).await;
    let (done, requests) = (AtomicBool::new(false), AtomicU64::new(0));
    let mut connections = Vec::new();
    for _ in 0..WRITERS {
        connections.push(world.another_connection().await);
    }
    let writers = connections.iter_mut().enumerate().map(|(writer, connection)| {
        let (done, requests) = (&done, &requests);
        async move {
            // The API's clients give up after a while, so a request that waits longer for a lock counts as failed.
            sqlx::raw_sql("SET lock_timeout = '1s'; SET deadlock_timeout = '100ms'").execute(&mut *connection).await.unwrap();
            let mut turn = 0;
            while !done.load(Ordering::Relaxed) {
                let id = format!("r{}", (turn * 97 + writer) % RESOURCES);
                turn += 1;
                let status = if turn % 3 == 0 { "False" } else { "True" };
                let sql = format!(
                    "BEGIN;
                     SELECT * FROM resources WHERE id = '{id}' FOR UPDATE;
                     INSERT INTO adapter_statuses (id, resource_type, resource_id, adapter, observed_generation, last_report_time, conditions)
                     VALUES (gen_random_uuid()::text, 'Cluster', '{id}', 'dns', 1, now(), '[]')
                     ON CONFLICT (resource_type, resource_id, adapter) DO UPDATE SET last_report_time = excluded.last_report_time;
                     UPDATE resources SET generation = generation + 1, updated_time = now() WHERE id = '{id}';
                     {} COMMIT",
                    rewrite(&id, status, "1 hour")
                );
                sqlx::raw_sql(AssertSqlSafe(sql)).execute(&mut *connection).await.unwrap();
                requests.fetch_add(1, Ordering::Relaxed);
            }
        }
    });
    let preparing = async {
        let mut preparing = world.another_connection().await;
        for remove in [false, true, false] {
            let before = requests.load(Ordering::Relaxed);
            for step in prepare::steps(&mut preparing, remove).await.unwrap() {
                prepare::run(&mut preparing, &step).await.unwrap();
            }
            assert!(requests.load(Ordering::Relaxed) > before, "no request succeeded while the index was built");
        }
        done.store(true, Ordering::Relaxed);
    };
    tokio::join!(futures::future::join_all(writers), preparing);
    assert_eq!(world.number(VALID).await, 2);
    let use_indexes = "SET enable_seqscan = off; SET enable_bitmapscan = off";
    let pending = "SELECT count(*) FROM resource_conditions WHERE type = 'Reconciled' AND status = 'False'";
    let all = world.number(pending).await;
    world.sql(use_indexes).await;
    assert_eq!(world.number(pending).await, all, "the index lacks rows that were written while it was built");
}
