//! The rights that the exporter's role needs, and the errors without them.

use reconcile_metrics::config::Config;
use reconcile_metrics::store::Store;

use crate::world::{API_SCHEMA, Exporter, KINDS, World};

/// Creates a role with the given grants and returns a configuration that uses it.
async fn reader(world: &mut World, grants: &str) -> Config {
    let role = lifecycle_e2e::unique("reader").replace('-', "_");
    world.sql(&format!("CREATE ROLE {role} LOGIN; {}", grants.replace("ROLE", &role))).await;
    let mut config = world.config(KINDS);
    config.database.options = config.database.options.username(&role);
    config
}

const READ: &str = "GRANT SELECT ON resources, resource_conditions, adapter_statuses TO ROLE";

#[tokio::test]
async fn grants_of_the_quick_start_are_enough() {
    for mut world in [World::migrated().await, World::with_schema(API_SCHEMA).await] {
        world.resource("c1", "Cluster", Some("False"), "1 hour").await;
        // Take the grants from the page's quick start, so that they are tested too.
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
async fn exporter_without_grants_is_not_ready() {
    let mut world = World::with_schema(API_SCHEMA).await;
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
async fn error_names_the_missing_grant_schema_or_table() {
    let older = "CREATE TABLE clusters (id text, status_conditions jsonb); GRANT SELECT ON clusters TO ROLE";
    let elsewhere = "CREATE SCHEMA fleet; ALTER TABLE resources SET SCHEMA fleet";
    let cases = [
        (API_SCHEMA, "", "run `GRANT SELECT ON resources, resource_conditions, adapter_statuses TO"),
        (
            API_SCHEMA,
            &format!("{READ}; REVOKE ALL ON SCHEMA public FROM PUBLIC"),
            "run `GRANT USAGE ON SCHEMA \"public\" TO",
        ),
        (API_SCHEMA, &format!("{READ}; {elsewhere}"), "run `GRANT USAGE ON SCHEMA \"fleet\" TO"),
        (
            API_SCHEMA,
            &format!("{READ}; {elsewhere}; GRANT USAGE ON SCHEMA fleet TO ROLE"),
            "is in schema \"fleet\"; set `database.schema`",
        ),
        ("", older, "they are those of an API before v0.3.1"),
        ("", "", "there is no table `resources`; is `database.name` wrong"),
    ];
    for (schema, grants, expected) in cases {
        let mut world = World::with_schema(schema).await;
        let config = reader(&mut world, grants).await;
        let store = Store::new(&config.database, &config.kinds);
        let error = store.details(1, config.scrape_timeout).await.unwrap_err().chain();
        assert!(error.contains(expected), "{grants}: {error}");
    }
}
