//! Who writes resources beside the record, with what grants and on what path.

use reconcile_metrics::migrations;
use sqlx::{AssertSqlSafe, Connection as _, PgConnection};

use crate::world::{Exporter, KINDS, World, resource, rewrite};

async fn writer(world: &mut World, grants: &str) -> PgConnection {
    let role = lifecycle_e2e::unique("writer").replace('-', "_");
    world.sql(&format!("CREATE ROLE {role} LOGIN; {}", grants.replace("ROLE", &role))).await;
    let config = world.config(KINDS);
    PgConnection::connect_with(&config.database.options.username(&role)).await.unwrap()
}

/// The API's role has the API's five tables, and knows nothing of the record.
#[tokio::test]
async fn a_writer_needs_no_grants_on_the_record_and_cannot_touch_it() {
    let mut world = World::ours().await;
    let grants = "GRANT SELECT, INSERT, UPDATE, DELETE ON resources, resource_conditions, resource_labels,
                  resource_references, adapter_statuses TO ROLE";
    let mut writer = writer(&mut world, grants).await;
    // A writer's own table of the same name is not taken for the record.
    let write = format!(
        "CREATE TEMPORARY TABLE unsettled_resources (resource_id text); BEGIN; {}{}COMMIT; {} DELETE FROM resources WHERE id = 'd'",
        resource("c", "Cluster"),
        rewrite("c", "False", "1 hour"),
        resource("d", "Cluster")
    );
    sqlx::raw_sql(AssertSqlSafe(write)).execute(&mut writer).await.unwrap();
    assert_eq!(world.number("SELECT count(*) FROM public.unsettled_resources").await, 1);
    assert_eq!(world.number("SELECT total FROM reconciliation_transitions").await, 1);
    for sql in [
        "DELETE FROM public.unsettled_resources",
        "SELECT settle_resource('c', true)",
        "SELECT count_reconciliation_transition('Cluster', false)",
    ] {
        let refused = sqlx::raw_sql(AssertSqlSafe(sql)).execute(&mut writer).await.unwrap_err().to_string();
        assert!(refused.contains("permission denied"), "{sql}: {refused}");
    }
}

#[tokio::test]
async fn a_writer_with_another_search_path_is_recorded() {
    let mut world = World::empty().await;
    world.sql("CREATE SCHEMA \"the fleet\"; SET search_path = \"the fleet\"").await;
    migrations::apply(&mut world.connection).await.unwrap();
    let grants = "GRANT USAGE ON SCHEMA \"the fleet\" TO ROLE;
                  GRANT SELECT, INSERT, UPDATE, DELETE ON resources, resource_conditions TO ROLE";
    let mut writer = writer(&mut world, grants).await;
    let qualified = |sql: String| {
        sql.replace(" resource", " \"the fleet\".resource").replace("(\"the fleet\".resource_id", "(resource_id")
    };
    let write = qualified(resource("c", "Cluster"))
        + &qualified(rewrite("c", "False", "1 hour")).replace("WHERE \"the fleet\".", "WHERE ");
    sqlx::raw_sql(AssertSqlSafe(write)).execute(&mut writer).await.unwrap();
    let mut config = world.config(KINDS);
    config.database.schema = Some("the fleet".to_owned());
    let samples = Exporter::start(config).await.scrape().await;
    assert_eq!((samples.flow("cluster", false).0, samples.started("cluster", false)), (1.0, 1.0));
}
