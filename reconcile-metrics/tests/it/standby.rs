//! The exporter reads a hot standby instead of the primary.

use lifecycle_e2e::postgres::PrivateServer;
use lifecycle_e2e::{PATIENCE, await_condition};
use lifecycle_migrations as migrations;
use sqlx::{Connection as _, PgConnection};

use crate::world::{Exporter, KINDS, config_of, resource, rewrite};

/// When the standby stops replaying, readings still succeed but are old, so only this metric shows the problem.
#[tokio::test]
async fn standby_age_rises_when_the_standby_stops_replaying() {
    lifecycle_e2e::init();
    let primary = PrivateServer::start(&[]).await.unwrap();
    let standby = primary.standby().await.unwrap();
    let database = primary.server().database().await.unwrap();
    let mut connection = PgConnection::connect(&database.url()).await.unwrap();
    migrations::apply(&mut connection).await.unwrap();
    let write = async |connection: &mut PgConnection, id: &str| {
        let sql = resource(id, "Cluster") + &rewrite(id, "False", "1 hour");
        sqlx::raw_sql(sqlx::AssertSqlSafe(sql)).execute(connection).await.unwrap();
    };
    write(&mut connection, "c1").await;

    let replica = database.on(standby.server());
    let exporter = Exporter::start(config_of(&replica, KINDS)).await;
    let age = "hyperfleet_reconcile_metrics_standby_age_seconds{}";
    let samples = await_condition("the standby to have what was written", PATIENCE, async || {
        let samples = exporter.scrape().await;
        anyhow::ensure!(samples.success() == 1.0 && samples.flow("cluster", false).1 == 1.0, "it has not");
        Ok(samples)
    });
    let before = samples.await.unwrap().get(age);
    exporter.scraper.renew_details().await;
    let details = "hyperfleet_reconcile_metrics_scrape_success{collector=\"details\"}";
    assert_eq!(exporter.scrape().await.get(details), 1.0, "a standby must accept every statement");

    let mut paused = PgConnection::connect(&replica.url()).await.unwrap();
    sqlx::query("SELECT pg_wal_replay_pause()").execute(&mut paused).await.unwrap();
    await_condition("the replay to pause", PATIENCE, async || {
        let state: String = sqlx::query_scalar("SELECT pg_get_wal_replay_pause_state()").fetch_one(&mut paused).await?;
        anyhow::ensure!(state == "paused", "{state}");
        Ok(())
    })
    .await
    .unwrap();
    write(&mut connection, "c2").await;
    let samples = await_condition("the standby to be older than it was", PATIENCE, async || {
        let samples = exporter.scrape().await;
        anyhow::ensure!(samples.get(age) > before + 0.2, "{}", samples.get(age));
        Ok(samples)
    });
    let samples = samples.await.unwrap();
    assert_eq!(
        (samples.success(), samples.flow("cluster", false).1),
        (1.0, 1.0),
        "the standby has one of two resources"
    );
    let at_primary = Exporter::start(config_of(&database, KINDS)).await.scrape().await;
    assert_eq!((at_primary.get(age), at_primary.flow("cluster", false).1), (0.0, 2.0));
}
