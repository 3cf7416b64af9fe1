//! What a role may read, and what is said where it may not.

use reconcile_metrics::config::Config;
use reconcile_metrics::store::Store;

use crate::world::{Exporter, KINDS, ROWS, World};

/// The configuration of a new role with these grants.
async fn reader(world: &mut World, grants: &str) -> Config {
    let role = lifecycle_e2e::unique("reader").replace('-', "_");
    world.sql(&format!("CREATE ROLE {role} LOGIN; {}", grants.replace("ROLE", &role))).await;
    let mut config = world.config(KINDS);
    config.database.options = config.database.options.username(&role);
    config
}

const READ: &str = "GRANT SELECT ON resources, resource_conditions, adapter_statuses TO ROLE";

#[tokio::test]
async fn the_exporter_needs_no_more_than_to_read() {
    for mut world in [World::ours().await, World::theirs(ROWS).await] {
        world.resource("c1", "Cluster", Some("False"), "1 hour").await;
        // The grants of the quick start.
        let page = include_str!("../../../docs/reconcile-metrics.md");
        let grants: Vec<_> = page.lines().filter(|line| line.starts_with("GRANT ")).collect();
        assert_eq!(grants.len(), 2, "{grants:?}");
        let grants = grants.join("\n").replace(" TO reconcile_metrics;", " TO ROLE;");
        let exporter = Exporter::start(reader(&mut world, &grants).await).await;
        exporter.scraper.renew_details().await;
        let samples = exporter.scrape().await;
        assert_eq!((samples.success(), samples.flow("cluster", false).0), (1.0, 1.0));
        assert_eq!(samples.get("hyperfleet_reconcile_metrics_scrape_success{collector=\"details\"}"), 1.0);
        assert_eq!(exporter.get("/readyz", &[]).await.0, 200);
    }
}

#[tokio::test]
async fn a_role_that_may_read_nothing_is_not_ready() {
    let mut world = World::theirs(ROWS).await;
    let exporter = Exporter::start(reader(&mut world, "").await).await;
    exporter.scraper.renew_details().await;
    let samples = exporter.scrape().await;
    assert_eq!(samples.success(), 0.0);
    for collector in ["snapshot", "details"] {
        let labels = format!("{{collector=\"{collector}\",reason=\"permission\"}}");
        assert_eq!(samples.get(&format!("hyperfleet_reconcile_metrics_scrape_errors_total{labels}")), 1.0);
    }
    assert_eq!(exporter.get("/readyz", &[]).await.0, 503);
}

#[tokio::test]
async fn a_refusal_names_the_grant_that_is_missing() {
    let older = "CREATE TABLE clusters (id text, status_conditions jsonb); GRANT SELECT ON clusters TO ROLE";
    let elsewhere = "CREATE SCHEMA fleet; ALTER TABLE resources SET SCHEMA fleet";
    let cases = [
        (ROWS, "", "run `GRANT SELECT ON resources, resource_conditions, adapter_statuses TO"),
        (ROWS, &format!("{READ}; REVOKE ALL ON SCHEMA public FROM PUBLIC"), "run `GRANT USAGE ON SCHEMA \"public\" TO"),
        (ROWS, &format!("{READ}; {elsewhere}"), "run `GRANT USAGE ON SCHEMA \"fleet\" TO"),
        (
            ROWS,
            &format!("{READ}; {elsewhere}; GRANT USAGE ON SCHEMA fleet TO ROLE"),
            "is in schema \"fleet\"; set `database.schema`",
        ),
        ("", older, "they are those of an API before v0.3.1"),
        ("", "", "there is no table `resources`; is `database.name` wrong"),
    ];
    for (schema, grants, expected) in cases {
        let mut world = World::theirs(schema).await;
        let config = reader(&mut world, grants).await;
        let store = Store::new(&config.database, &config.kinds);
        let error = store.details(1, config.scrape_timeout).await.unwrap_err().chain();
        assert!(error.contains(expected), "{grants}: {error}");
    }
}
