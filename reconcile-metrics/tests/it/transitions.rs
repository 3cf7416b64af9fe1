//! The record of unsettled resources and the counter of transitions, under the API's write pattern.

use reconcile_metrics::migrations::{self, MIGRATIONS, MigrationError};
use sqlx::{AssertSqlSafe, Connection as _};

use crate::world::{KINDS, ROWS, World, resource, rewrite, rewritten};
use crate::writers::WRONG;

/// The state of a resource, and whether it is being deleted; none if it is settled.
type Record = Option<(String, bool)>;

/// The record of a resource, and all transitions so far.
async fn record(world: &mut World, id: &str) -> (Record, i64) {
    let sql = format!("SELECT state, deleting FROM unsettled_resources WHERE resource_id = '{id}'");
    let state = sqlx::query_as(AssertSqlSafe(sql)).fetch_optional(&mut world.connection).await.unwrap();
    (state, world.number("SELECT coalesce(sum(total), 0)::bigint FROM reconciliation_transitions").await)
}

fn pending() -> Record {
    Some(("pending".to_owned(), false))
}

#[tokio::test]
async fn true_changes_are_counted_and_rewrites_are_not() {
    let mut world = World::ours().await;
    let create = resource("c", "Cluster") + &rewrite("c", "False", "1 hour");
    let undated = rewrite("c", "False", "0s").replace("now() - interval '0s'", "NULL");
    let created = "(SELECT created_time FROM resources WHERE id = 'c')";
    let dated = rewrite("c", "False", "0s").replace("now() - interval '0s'", created);
    let steps: [(&str, String, Record, i64); 23] = [
        ("created", create, pending(), 1),
        ("rewritten unchanged", rewrite("c", "False", "1 hour"), pending(), 1),
        ("rewritten with another time", rewrite("c", "False", "1 minute"), pending(), 1),
        ("rewritten without a time", undated, pending(), 1),
        ("rewritten with the time of its creation", dated, pending(), 1),
        ("reconciled", rewrite("c", "True", "0s"), None, 1),
        ("rewritten while reconciled", rewrite("c", "True", "0s"), None, 1),
        ("patched", rewrite("c", "False", "0s"), pending(), 2),
        ("there and back in one transaction", rewrite("c", "True", "0s") + &rewrite("c", "False", "0s"), pending(), 2),
        ("reconciled again", rewrite("c", "True", "0s"), None, 2),
        ("out and back in one transaction", rewrite("c", "False", "0s") + &rewrite("c", "True", "0s"), None, 2),
        (
            "updated in place",
            "UPDATE resource_conditions SET status = 'False' WHERE type = 'Reconciled'".to_owned(),
            pending(),
            3,
        ),
        (
            "deleted while pending",
            format!("UPDATE resources SET deleted_time = now(); {}", rewrite("c", "False", "0s")),
            Some(("pending".to_owned(), true)),
            3,
        ),
        ("finalized, with children left", rewrite("c", "True", "0s"), None, 3),
        ("and pending again", rewrite("c", "False", "0s"), Some(("pending".to_owned(), true)), 4),
        ("reconciled once more", rewrite("c", "True", "0s"), None, 4),
        // By what was reported on the new generation already.
        ("patched, and updated before", rewritten("c", "False", "0s", "1 hour"), Some(("pending".to_owned(), true)), 5),
        ("reconciled without a time", rewrite("c", "True", "0s").replace("now() - interval '0s'", "NULL"), None, 5),
        ("with an odd status", rewrite("c", "Perhaps", "0s"), Some(("missing".to_owned(), true)), 5),
        ("pending once more", rewrite("c", "False", "0s"), Some(("pending".to_owned(), true)), 6),
        (
            "made another condition",
            "UPDATE resource_conditions SET type = 'Was' WHERE type = 'Reconciled'".to_owned(),
            Some(("missing".to_owned(), true)),
            6,
        ),
        (
            "made that condition again",
            "UPDATE resource_conditions SET type = 'Reconciled' WHERE type = 'Was'".to_owned(),
            Some(("pending".to_owned(), true)),
            7,
        ),
        ("removed", "DELETE FROM resource_conditions; DELETE FROM resources".to_owned(), None, 7),
    ];
    for (name, sql, state, total) in steps {
        world.sql(&format!("BEGIN; {sql}; COMMIT")).await;
        assert_eq!(record(&mut world, "c").await, (state, total), "{name}");
        assert_eq!(world.number(WRONG).await, 0, "{name}");
    }
}

#[tokio::test]
async fn what_is_rolled_back_is_not_counted() {
    let mut world = World::ours().await;
    world.sql(&format!("BEGIN; {}{} ROLLBACK", resource("c", "Cluster"), rewrite("c", "False", "0s"))).await;
    assert_eq!(record(&mut world, "c").await, (None, 0));
}

#[tokio::test]
async fn a_deletion_is_counted_as_one_and_read_by_type() {
    let mut world = World::ours().await;
    world.resource("c", "Cluster", Some("True"), "1 day").await;
    world
        .sql(&format!("BEGIN; UPDATE resources SET deleted_time = now(); {} COMMIT", rewrite("c", "False", "0s")))
        .await;
    let mut config = world.config(KINDS);
    config.exposure.requests = true;
    // Two exporters, one after the other: the counter is the database's.
    for _ in 0..2 {
        let exporter = crate::world::Exporter::start(config.clone()).await;
        let samples = exporter.scrape().await;
        assert_eq!((samples.started("cluster", true), samples.started("cluster", false)), (1.0, 0.0));
        assert_eq!(samples.started("nodepool", false), 0.0, "a known type reads zero");
        let requests = "hyperfleet_api_reconciliation_requests_total{is_delete=\"true\",resource_type=\"cluster\"}";
        assert_eq!(samples.get(requests), 1.0);
    }
}

#[tokio::test]
async fn transactions_count_at_the_same_time_without_waiting_for_each_other() {
    const WRITERS: usize = 8;
    let mut world = World::ours().await;
    let mut open = Vec::new();
    for n in 0..WRITERS {
        let mut connection = world.another_connection().await;
        let (cluster, pool) = (format!("c{n}"), format!("n{n}"));
        // Half of them in the other order, which would deadlock if a counter were locked.
        let (first, second) = if n % 2 == 0 { (&cluster, &pool) } else { (&pool, &cluster) };
        let sql = format!(
            "BEGIN; {}{}{}{}",
            resource(first, &first[..1]),
            rewrite(first, "False", "0s"),
            resource(second, &second[..1]),
            rewrite(second, "False", "0s")
        );
        // `SET CONSTRAINTS` runs the triggers now: every transaction holds what it counted in until all have.
        let sql = format!("{sql} SET LOCAL lock_timeout = '5s'; SET CONSTRAINTS ALL IMMEDIATE");
        sqlx::raw_sql(AssertSqlSafe(sql)).execute(&mut connection).await.unwrap();
        open.push(connection);
    }
    for mut connection in open {
        sqlx::raw_sql("COMMIT").execute(&mut connection).await.unwrap();
        connection.close().await.unwrap();
    }
    assert_eq!(record(&mut world, "c0").await, (pending(), 2 * WRITERS as i64));
    let rows = world.number("SELECT count(*) FROM reconciliation_transitions").await;
    assert_eq!(rows, 2 * WRITERS as i64, "as many rows as transactions at once");
    world.sql(&format!("{}{}", rewrite("c0", "True", "0s"), rewrite("c0", "False", "0s"))).await;
    world.sql(&rewrite("c1", "True", "0s")).await;
    world.sql(&rewrite("c1", "False", "0s")).await;
    assert_eq!(world.number("SELECT count(*) FROM reconciliation_transitions").await, rows, "and no more than that");
}

/// Nothing that others count may fail a writer, whatever it can see of that.
#[tokio::test]
async fn a_writer_with_an_older_snapshot_counts_as_well() {
    let mut world = World::ours().await;
    for id in ["before", "one", "other"] {
        world.resource(id, "Cluster", Some("True"), "1 day").await;
    }
    world.sql(&rewrite("before", "False", "0s")).await;
    let mut writer = world.another_connection().await;
    let sql = format!("BEGIN ISOLATION LEVEL REPEATABLE READ; {}", rewrite("one", "False", "0s"));
    sqlx::raw_sql(AssertSqlSafe(sql)).execute(&mut writer).await.unwrap();
    world.sql(&rewrite("other", "False", "0s")).await;
    sqlx::raw_sql("COMMIT").execute(&mut writer).await.unwrap();
    assert_eq!(record(&mut world, "one").await, (pending(), 3));
    world.sql(&rewrite("one", "True", "0s")).await;
    world.sql(&rewrite("one", "False", "0s")).await;
    assert_eq!(record(&mut world, "one").await, (pending(), 4));
    let rows = world.number("SELECT count(*) FROM reconciliation_transitions").await;
    assert_eq!((rows, world.number(WRONG).await), (2, 0));
}

#[tokio::test]
async fn migrations_go_up_and_down_and_take_in_what_is_there() {
    let mut world = World::empty().await;
    let [(first, ..), (second, ..)] = MIGRATIONS;
    let applied = async |world: &mut World| {
        migrations::list(&mut world.connection).await.unwrap().iter().map(|m| m.applied).collect::<Vec<_>>()
    };
    assert_eq!(applied(&mut world).await, [false, false]);
    migrations::apply(&mut world.connection).await.unwrap();
    assert_eq!(applied(&mut world).await, [true, true]);
    migrations::apply(&mut world.connection).await.unwrap();

    migrations::revert_to(&mut world.connection, first).await.unwrap();
    assert_eq!(applied(&mut world).await, [true, false]);
    world.resource("pending", "Cluster", Some("False"), "1 hour").await;
    world.resource("settled", "Cluster", Some("True"), "1 hour").await;
    world.resource("missing", "Cluster", None, "").await;
    migrations::apply(&mut world.connection).await.unwrap();
    assert_eq!(record(&mut world, "pending").await, (pending(), 0), "nobody saw the transition");
    assert_eq!(record(&mut world, "missing").await.0, Some(("missing".to_owned(), false)));
    assert_eq!(record(&mut world, "settled").await.0, None);

    migrations::revert_to(&mut world.connection, 0).await.unwrap();
    let left = "SELECT count(*) FROM pg_class WHERE relnamespace = 'public'::regnamespace AND relkind = 'r'";
    assert_eq!(world.number(left).await, 1, "nothing but the record of migrations is left");
    migrations::apply(&mut world.connection).await.unwrap();
    assert_eq!(applied(&mut world).await, [true, true]);
    let unknown = migrations::revert_to(&mut world.connection, second + 1).await;
    assert!(matches!(unknown, Err(MigrationError::Unknown(_))), "{unknown:?}");
}

#[tokio::test]
async fn another_programs_database_is_not_migrated() {
    let mut world = World::theirs(ROWS).await;
    let refused = migrations::apply(&mut world.connection).await;
    assert!(matches!(refused, Err(MigrationError::NotOurs)), "{refused:?}");
    assert_eq!(world.number("SELECT count(*) FROM pg_class WHERE relname LIKE '%sqlx%'").await, 0);
}

#[test]
fn the_compiled_migrations_are_those_of_the_directory() {
    let directory = concat!(env!("CARGO_MANIFEST_DIR"), "/../migrations");
    let mut files: Vec<String> = std::fs::read_dir(directory)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .filter(|name| name.ends_with(".sql"))
        .collect();
    files.sort();
    let compiled: Vec<String> = MIGRATIONS
        .iter()
        .flat_map(|(version, name, ..)| [format!("{version}_{name}.down.sql"), format!("{version}_{name}.up.sql")])
        .collect();
    assert_eq!(files, compiled);
}
