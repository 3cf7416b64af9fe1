//! The record of unsettled resources: who may write beside it, what goes past it, and how that is seen and put right.

use reconcile_metrics::migrations::{self, MIGRATIONS, MigrationError};
use sqlx::{AssertSqlSafe, Connection as _};

use crate::world::{Exporter, KINDS, ROWS, Samples, World, resource, rewrite};

pub(crate) const EXACT: &str = "hyperfleet_reconcile_metrics_transitions_exact{}";
pub(crate) const DRIFT: &str = "hyperfleet_reconcile_metrics_record_drift{state=\"pending\"}";

async fn exporter(world: &World) -> (Exporter, Samples) {
    let exporter = world.exporter(KINDS).await;
    exporter.scrape().await;
    exporter.scraper.renew_details().await;
    let samples = exporter.scrape().await;
    (exporter, samples)
}

fn schema(samples: &Samples, schema: &str) -> f64 {
    samples.get(&format!("hyperfleet_reconcile_metrics_schema_info{{schema=\"{schema}\"}}"))
}

/// As a restore or a logical replica writes: no trigger fires.
pub(crate) async fn past_the_triggers(world: &mut World, sql: &str) {
    world.sql(&format!("SET session_replication_role = replica; {sql}; SET session_replication_role = origin")).await;
}

#[tokio::test]
async fn what_goes_past_the_triggers_is_seen_and_put_right() {
    let mut world = World::ours().await;
    world.resource("gone", "Cluster", Some("False"), "1 hour").await;
    world.resource("settled", "Cluster", Some("False"), "1 hour").await;
    world.resource("again", "Cluster", Some("True"), "1 hour").await;
    world.resource("older", "Cluster", Some("False"), "1 hour").await;
    world.resource("deleted", "NodePool", Some("False"), "1 hour").await;
    world.resource("right", "Cluster", Some("False"), "1 hour").await;
    let (_, samples) = exporter(&world).await;
    assert_eq!((samples.get(DRIFT), samples.flow("cluster", false).0), (0.0, 4.0));

    let change = [
        "DELETE FROM resource_conditions WHERE resource_id = 'gone'; DELETE FROM resources WHERE id = 'gone'"
            .to_owned(),
        rewrite("settled", "True", "0s"),
        rewrite("again", "False", "2 hours"),
        rewrite("older", "False", "3 hours"),
        "UPDATE resources SET deleted_time = now() WHERE id = 'deleted'".to_owned(),
        resource("new", "Cluster") + &rewrite("new", "False", "1 minute"),
        resource("missing", "Cluster"),
    ];
    past_the_triggers(&mut world, &change.join(";")).await;
    let (_, samples) = exporter(&world).await;
    assert_eq!(samples.get(DRIFT), 6.0, "all but the missing one, which takes a pass over all to see");
    // The conditions are read from then on.
    assert_eq!((samples.flow("cluster", false).0, samples.flow("nodepool", true).0), (4.0, 1.0));
    assert_eq!((schema(&samples, "tracked"), samples.get(EXACT)), (1.0, 0.0));

    let before = samples.started("cluster", false);
    assert_eq!(migrations::repair(&mut world.connection).await.unwrap(), 7);
    let (_, samples) = exporter(&world).await;
    assert_eq!((samples.get(DRIFT), samples.flow("cluster", false).0), (0.0, 4.0), "again, older, right, new");
    assert_eq!((samples.flow("nodepool", true).0, samples.get(EXACT)), (1.0, 1.0));
    assert_eq!(samples.started("cluster", false), before, "nobody saw the transitions");
    let wrong = "SELECT count(*) FROM unsettled_resources_now n FULL JOIN unsettled_resources u USING (resource_id)
                 WHERE (n.kind, n.deleting, n.state, n.since, n.undated) IS DISTINCT FROM (u.kind, u.deleting, u.state, u.since, u.undated)";
    assert_eq!(world.number(wrong).await, 0);
    assert_eq!(migrations::repair(&mut world.connection).await.unwrap(), 0);
}

/// Who is waited on must not be lost with what costs most when most is pending.
#[tokio::test]
async fn a_comparison_that_fails_takes_no_other_figure_away() {
    let mut world = World::ours().await;
    crate::stuck::troubled(&mut world).await;
    let role = lifecycle_e2e::unique("reader").replace('-', "_");
    // Without the times of creation, which of these the comparison alone reads, as the record was found to be right before.
    let grants = format!(
        "CREATE ROLE {role} LOGIN;
         GRANT SELECT ON resource_conditions, adapter_statuses, unsettled_resources, reconciliation_transitions TO {role};
         GRANT SELECT (id, kind, name, owner_id, generation, deleted_time) ON resources TO {role}"
    );
    world.sql(&grants).await;
    let mut config = world.config(KINDS);
    config.database.options = config.database.options.username(&role);
    let exporter = Exporter::start(config).await;
    exporter.scraper.renew_details().await;
    let samples = exporter.scrape().await;
    let success = |collector: &str| {
        samples.get(&format!("hyperfleet_reconcile_metrics_scrape_success{{collector=\"{collector}\"}}"))
    };
    let collectors = ["snapshot", "details", "lingering", "drift"].map(success);
    assert_eq!(collectors, [1.0, 1.0, 1.0, 0.0]);
    let errors = "hyperfleet_reconcile_metrics_scrape_errors_total{collector=\"drift\",reason=\"query\"}";
    assert_eq!((samples.get(errors), samples.has("hyperfleet_reconcile_metrics_record_drift")), (1.0, false));
    let waiting = "hyperfleet_api_resource_pending_reconciliation_stuck_waiting_on\
                   {adapter=\"dns\",is_delete=\"false\",reason=\"never_reported\",resource_type=\"cluster\"}";
    assert_eq!(samples.get(waiting), 1.0);
    let lingering = "hyperfleet_api_resource_deletion_lingering{held_by=\"stuck_child\",resource_type=\"cluster\"}";
    assert_eq!(samples.get(lingering), 1.0);

    // Without a record there is nothing to compare, and nothing that fails.
    migrations::revert_to(&mut world.connection, MIGRATIONS[0].0).await.unwrap();
    world.sql(&format!("GRANT SELECT ON resources TO {role}")).await;
    assert_eq!(exporter.scrape().await.success(), 1.0);
    exporter.scraper.renew_details().await;
    let samples = exporter.scrape().await;
    let drift = "hyperfleet_reconcile_metrics_scrape_success{collector=\"drift\"}";
    assert_eq!((samples.0.contains_key(drift), samples.get(errors)), (false, 1.0));
}

#[tokio::test]
async fn a_record_that_is_not_kept_is_not_read() {
    for disable in [
        "ALTER TABLE resource_conditions DISABLE TRIGGER reconciled_written",
        "ALTER TABLE resources DISABLE TRIGGER USER",
        "ALTER TABLE resource_conditions ENABLE REPLICA TRIGGER reconciled_changed",
    ] {
        let mut world = World::ours().await;
        world.sql(disable).await;
        past_the_triggers(&mut world, &(resource("c1", "Cluster") + &rewrite("c1", "False", "1 hour"))).await;
        let (_, samples) = exporter(&world).await;
        assert_eq!((samples.success(), samples.flow("cluster", false).1), (1.0, 1.0), "{disable}");
        assert_eq!((schema(&samples, "rows"), schema(&samples, "tracked"), samples.get(DRIFT)), (1.0, 0.0, 1.0));
        assert_eq!(samples.get(EXACT), 0.0);

        assert_eq!(migrations::repair(&mut world.connection).await.unwrap(), 1);
        world.resource("c2", "Cluster", Some("False"), "1 hour").await;
        let (_, samples) = exporter(&world).await;
        assert_eq!(
            (schema(&samples, "tracked"), samples.get(DRIFT), samples.flow("cluster", false).1),
            (1.0, 0.0, 2.0)
        );
    }
}

/// A counter that falls reads as a new beginning, and all of it as new.
#[tokio::test]
async fn the_counter_never_falls_while_the_record_is_not_kept_nor_after_its_repair() {
    let mut world = World::ours().await;
    for id in ["c1", "c2", "c3"] {
        world.resource(id, "Cluster", Some("False"), "0s").await;
    }
    let exporter = world.exporter(KINDS).await;
    let mut last = exporter.scrape().await.started("cluster", false);
    assert_eq!(last, 3.0);
    let disable = "ALTER TABLE resource_conditions DISABLE TRIGGER reconciled_written;
                   ALTER TABLE resources DISABLE TRIGGER resource_created;";
    let steps = [
        ("nothing new", disable.to_owned(), 0.0, 3.0),
        ("unseen", resource("u1", "Cluster") + &rewrite("u1", "False", "0s"), 0.0, 3.0),
        (
            "seen by a trigger that is left",
            "BEGIN; UPDATE resource_conditions SET status = 'True' WHERE resource_id = 'c1'; COMMIT;
             BEGIN; UPDATE resource_conditions SET status = 'False', last_transition_time = now() WHERE resource_id = 'c1'; COMMIT"
                .to_owned(),
            0.0,
            4.0,
        ),
        ("unseen again", resource("u2", "Cluster") + &rewrite("u2", "False", "0s"), 0.0, 4.0),
        ("repaired", String::new(), 1.0, 4.0),
        ("seen", resource("c4", "Cluster") + &rewrite("c4", "False", "0s"), 1.0, 5.0),
    ];
    for (name, sql, exact, started) in steps {
        world.sql(&sql).await;
        if name == "repaired" {
            assert_eq!(migrations::repair(&mut world.connection).await.unwrap(), 2);
            exporter.scraper.renew_details().await;
        }
        // A replica that started just now says the same, once it has compared.
        let replica = Exporter::fresh(world.config(KINDS)).await;
        replica.scraper.renew_details().await;
        for samples in [exporter.scrape().await, replica.scrape().await] {
            assert_eq!(samples.get(EXACT), exact, "{name}");
            assert_eq!(samples.started("cluster", false), started, "{name}");
        }
        assert!(started >= last, "{name}");
        last = started;
    }
}

/// A trigger that was dropped cannot be enabled: only the migration makes it again.
#[tokio::test]
async fn a_trigger_that_is_gone_comes_back_by_reverting_and_applying() {
    let mut world = World::ours().await;
    world.resource("c1", "Cluster", Some("False"), "1 hour").await;
    world.sql("DROP TRIGGER reconciled_written ON resource_conditions").await;
    world.sql("ALTER TABLE resources DISABLE TRIGGER resource_created").await;
    world.resource("c2", "Cluster", Some("False"), "1 hour").await;
    let (_, samples) = exporter(&world).await;
    assert_eq!((schema(&samples, "rows"), samples.flow("cluster", false).1), (1.0, 2.0));
    assert_eq!(samples.get(DRIFT), 1.0);

    let refused = migrations::repair(&mut world.connection).await.unwrap_err();
    assert!(matches!(&refused, MigrationError::TriggersGone(gone) if *gone == ["reconciled_written"]), "{refused:?}");
    let cure = format!("migrate --revert-to {}`", MIGRATIONS[0].0);
    assert!(refused.to_string().contains(&cure), "{refused}");
    let disabled = "SELECT count(*) FROM pg_trigger WHERE tgname = 'resource_created' AND tgenabled = 'D'";
    assert_eq!(world.number(disabled).await, 1, "before anything else");

    migrations::revert_to(&mut world.connection, MIGRATIONS[0].0).await.unwrap();
    migrations::apply(&mut world.connection).await.unwrap();
    world.resource("c3", "Cluster", Some("False"), "1 hour").await;
    let (_, samples) = exporter(&world).await;
    assert_eq!((schema(&samples, "tracked"), samples.flow("cluster", false).1), (1.0, 3.0));
    assert_eq!((samples.get(DRIFT), samples.started("cluster", false)), (0.0, 1.0));
    assert_eq!(migrations::repair(&mut world.connection).await.unwrap(), 0);
}

#[tokio::test]
async fn a_repair_waits_for_the_writer_of_a_resource_and_sees_what_it_wrote() {
    let mut world = World::ours().await;
    world.resource("c1", "Cluster", Some("True"), "1 hour").await;
    past_the_triggers(&mut world, &rewrite("c1", "False", "1 hour")).await;
    let mut writer = world.another_connection().await;
    let write = format!("BEGIN; SELECT FROM resources WHERE id = 'c1' FOR UPDATE; {}", rewrite("c1", "True", "0s"));
    sqlx::raw_sql(AssertSqlSafe(write)).execute(&mut writer).await.unwrap();
    let mut repairer = world.another_connection().await;
    let repair = migrations::repair(&mut repairer);
    let release = async {
        lifecycle_e2e::await_condition("the repair to wait", lifecycle_e2e::PATIENCE, async || {
            let waiting =
                "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'";
            anyhow::ensure!(world.number(waiting).await == 1, "it does not");
            Ok(())
        })
        .await
        .unwrap();
        sqlx::raw_sql("COMMIT").execute(&mut writer).await.unwrap();
    };
    let (repaired, ()) = tokio::join!(repair, release);
    assert_eq!(repaired.unwrap(), 1);
    assert_eq!(world.number("SELECT count(*) FROM unsettled_resources").await, 0, "what the writer left behind");
}

#[tokio::test]
async fn there_is_nothing_to_repair_without_a_record() {
    let mut world = World::empty().await;
    let refused = migrations::repair(&mut world.connection).await;
    assert!(matches!(refused, Err(MigrationError::NoRecord)), "{refused:?}");
    let mut theirs = World::theirs(ROWS).await;
    let refused = migrations::repair(&mut theirs.connection).await;
    assert!(matches!(refused, Err(MigrationError::NotOurs)), "{refused:?}");
    let refused = migrations::list(&mut theirs.connection).await;
    assert!(
        matches!(refused, Err(MigrationError::NotOurs)),
        "another program's migrations are not pending: {refused:?}"
    );
}

/// An old transaction must not make every writer wait behind the migration.
#[tokio::test]
async fn a_migration_that_cannot_have_its_locks_gives_up() {
    let mut world = World::empty().await;
    migrations::apply(&mut world.connection).await.unwrap();
    migrations::revert_to(&mut world.connection, MIGRATIONS[0].0).await.unwrap();
    let mut old = world.another_connection().await;
    sqlx::raw_sql("BEGIN; UPDATE resources SET name = name").execute(&mut old).await.unwrap();
    let mut command = world.another_connection().await;
    let failed = migrations::apply(&mut command).await.unwrap_err();
    let chain = format!("{:#}", anyhow::Error::from(failed));
    assert!(chain.contains("lock timeout"), "{chain}");
    sqlx::raw_sql("COMMIT").execute(&mut old).await.unwrap();
    // Its session holds the lock of all migrations until it ends.
    command.close_hard().await.unwrap();
    migrations::apply(&mut world.connection).await.unwrap();
}
