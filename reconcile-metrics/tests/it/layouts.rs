//! The figures on each schema that the exporter knows.

use crate::world::{DOCUMENTS, KINDS, ROWS, Samples, World};

/// The same fleet on both of the newer schemas.
pub(crate) async fn fleet(world: &mut World) {
    world.resource("c1", "Cluster", Some("False"), "30 minutes").await;
    world.resource("c2", "Cluster", Some("False"), "1 minute").await;
    world.resource("c3", "Cluster", Some("True"), "30 minutes").await;
    world.resource("c4", "Cluster", None, "").await;
    world.resource("n1", "NodePool", Some("False"), "6 minutes").await;
    world.resource("ch", "Channel", None, "").await;
    world.sql("UPDATE resources SET deleted_time = now() WHERE id = 'n1'").await;
}

#[track_caller]
fn assert_fleet(samples: &Samples) {
    let (pending, stuck, longest) = samples.flow("cluster", false);
    assert_eq!((pending, stuck), (2.0, 1.0));
    assert!((1_800.0..1_860.0).contains(&longest), "{longest}");
    assert_eq!(samples.flow("cluster", true), (0.0, 0.0, 0.0), "a known type reads zero");
    let (pending, stuck, longest) = samples.flow("nodepool", true);
    assert_eq!((pending, stuck), (1.0, 1.0), "its threshold is 5m");
    assert!((360.0..420.0).contains(&longest), "{longest}");
    let bucket = |le: &str| {
        let name = "hyperfleet_api_resource_pending_reconciliation_age_seconds_bucket";
        samples.get(&format!("{name}{{is_delete=\"false\",le=\"{le}\",resource_type=\"cluster\"}}"))
    };
    assert_eq!((bucket("300"), bucket("1800"), bucket("3600"), bucket("+Inf")), (1.0, 1.0, 2.0, 2.0));
    assert_eq!(samples.success(), 1.0);
}

fn missing(samples: &Samples, resource_type: &str) -> f64 {
    let name = "hyperfleet_api_resource_without_reconciled_condition";
    samples.get(&format!("{name}{{is_delete=\"false\",resource_type=\"{resource_type}\"}}"))
}

fn schema(samples: &Samples) -> Vec<&'static str> {
    let is =
        |schema: &&str| samples.get(&format!("hyperfleet_reconcile_metrics_schema_info{{schema=\"{schema}\"}}")) == 1.0;
    ["documents", "rows", "tracked"].into_iter().filter(is).collect()
}

#[tokio::test]
async fn our_schema() {
    let mut world = World::ours().await;
    fleet(&mut world).await;
    let samples = world.exporter(KINDS).await.scrape().await;
    assert_fleet(&samples);
    assert_eq!(samples.flow("channel", false), (0.0, 0.0, 0.0));
    assert_eq!(schema(&samples), ["tracked"]);
    assert_eq!(samples.get("hyperfleet_reconcile_metrics_transitions_exact{}"), 1.0);
    assert_eq!(samples.started("cluster", false), 2.0);
    // c4 was created with a time that is a week ago, and is missed at the first scrape.
    assert_eq!((missing(&samples, "cluster"), missing(&samples, "nodepool")), (1.0, 0.0));
    assert!(!samples.0.keys().any(|s| s.starts_with("hyperfleet_api_resource_without") && s.contains("channel")));
}

#[tokio::test]
async fn the_apis_schema() {
    let mut world = World::theirs(ROWS).await;
    fleet(&mut world).await;
    let exporter = world.exporter(KINDS).await;
    let samples = exporter.scrape().await;
    assert_fleet(&samples);
    assert_eq!(schema(&samples), ["rows"]);
    assert_eq!(samples.get("hyperfleet_reconcile_metrics_transitions_exact{}"), 0.0);
    assert!(!samples.has("hyperfleet_api_resource_without_reconciled_condition"), "not known yet is not zero");
    exporter.scraper.renew_pass().await;
    assert_eq!(missing(&exporter.scrape().await, "cluster"), 1.0);
}

#[tokio::test]
async fn transitions_on_the_apis_schema_are_those_that_a_scrape_finds_pending() {
    let mut world = World::theirs(ROWS).await;
    let exporter = world.exporter(KINDS).await;
    assert_eq!(
        exporter.scrape().await.started("cluster", false),
        0.0,
        "what came before the first scrape is not counted"
    );
    world.resource("c1", "Cluster", Some("False"), "0s").await;
    assert_eq!(exporter.scrape().await.started("cluster", false), 1.0);
    assert_eq!(exporter.scrape().await.started("cluster", false), 1.0, "once");
}

/// The API's clock, or a writer's, may be ahead of the database's.
#[tokio::test]
async fn a_transition_that_is_dated_ahead_is_counted_once_when_its_time_has_come() {
    let rows = "UPDATE resource_conditions SET last_transition_time = TIME WHERE type = 'Reconciled'";
    let documents = r#"UPDATE clusters SET status_conditions = jsonb_build_array(jsonb_build_object(
        'type', 'Reconciled', 'status', 'False', 'last_transition_time', TIME))"#;
    let create = "INSERT INTO clusters (id, name) VALUES ('c1', 'c1')";
    for (schema, sql) in [(ROWS, rows), (DOCUMENTS, documents)] {
        let mut world = World::theirs(schema).await;
        let exporter = world.exporter(KINDS).await;
        exporter.scrape().await;
        if schema == ROWS {
            world.resource("c1", "Cluster", Some("False"), "0s").await;
        } else {
            world.sql(create).await;
        }
        world.sql(&sql.replace("TIME", "now() + interval '1 day'")).await;
        for _ in 0..3 {
            assert_eq!(exporter.scrape().await.started("cluster", false), 0.0, "its time has not come");
        }
        world.sql(&sql.replace("TIME", "now()")).await;
        for _ in 0..3 {
            assert_eq!(exporter.scrape().await.started("cluster", false), 1.0, "once");
        }
    }
}

#[tokio::test]
async fn the_apis_older_schema() {
    let mut world = World::theirs(DOCUMENTS).await;
    world
        .sql(
            r#"
        CREATE FUNCTION conditions(status text, age interval) RETURNS jsonb LANGUAGE sql AS $$
            SELECT jsonb_build_array(
                jsonb_build_object('type', 'Available', 'status', 'True'),
                jsonb_build_object('type', 'Reconciled', 'status', status,
                    'last_transition_time', to_char((now() - age) AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"'))
            )
        $$;
        INSERT INTO clusters (id, name, status_conditions, created_time) VALUES
            ('c1', 'c1', conditions('False', '30 minutes'), now() - interval '7 days'),
            ('c2', 'c2', conditions('False', '1 minute'), now() - interval '7 days'),
            ('c3', 'c3', conditions('True', '30 minutes'), now() - interval '7 days'),
            ('c4', 'c4', NULL, now() - interval '7 days');
        INSERT INTO node_pools (id, name, owner_id, status_conditions, deleted_at) VALUES
            ('n1', 'n1', 'c1', conditions('False', '6 minutes'), now());
        "#,
        )
        .await;
    let exporter = world.exporter(KINDS).await;
    let samples = exporter.scrape().await;
    assert_fleet(&samples);
    assert!(!samples.0.keys().any(|s| s.starts_with("hyperfleet_api_") && s.contains("channel")), "it has no table");
    assert_eq!(schema(&samples), ["documents"]);
    exporter.scraper.renew_pass().await;
    assert_eq!(missing(&exporter.scrape().await, "cluster"), 1.0);
}

/// An upgrade leaves the old tables behind and looks like an empty fleet.
#[tokio::test]
async fn the_newer_schema_is_read_where_both_are() {
    let mut world = World::theirs(DOCUMENTS).await;
    world.sql("DROP TABLE adapter_statuses").await;
    world.sql(ROWS).await;
    let exporter = world.exporter(KINDS).await;
    let read = async || {
        let samples = exporter.scrape().await;
        let unread = samples.get("hyperfleet_reconcile_metrics_older_tables_unread{}");
        (schema(&samples), samples.flow("cluster", false).0, unread)
    };
    assert_eq!(read().await, (vec!["rows"], 0.0, 0.0), "nothing is anywhere");
    let pending = r#"'[{"type": "Reconciled", "status": "False"}]'"#;
    world.sql(&format!("INSERT INTO clusters (id, name, status_conditions) VALUES ('old', 'old', {pending})")).await;
    assert_eq!(read().await, (vec!["documents"], 1.0, 0.0), "the upgrade did not happen, or was taken back");
    world.resource("c1", "Cluster", Some("False"), "1 hour").await;
    world.resource("c2", "Cluster", Some("False"), "1 hour").await;
    assert_eq!(read().await, (vec!["rows"], 2.0, 1.0), "nobody reads the old one");
    world.sql("DELETE FROM resources").await;
    assert_eq!(read().await, (vec!["rows"], 0.0, 1.0), "it was in use: what went is gone");
    world.sql("TRUNCATE clusters").await;
    assert_eq!(read().await, (vec!["rows"], 0.0, 0.0));
}

#[tokio::test]
async fn a_schema_that_appears_later_is_found() {
    let mut world = World::empty().await;
    let exporter = world.exporter(KINDS).await;
    let samples = exporter.scrape().await;
    assert_eq!(samples.success(), 0.0);
    let errors = "hyperfleet_reconcile_metrics_scrape_errors_total{collector=\"snapshot\",reason=\"schema\"}";
    assert_eq!(samples.get(errors), 1.0);
    reconcile_metrics::migrations::apply(&mut world.connection).await.unwrap();
    assert_eq!(exporter.scrape().await.success(), 1.0);
}

#[tokio::test]
async fn tables_in_a_schema_of_their_own_are_found_by_its_name() {
    let mut world = World::empty().await;
    world.sql("CREATE SCHEMA \"the \"\"fleet\"; SET search_path = \"the \"\"fleet\"").await;
    reconcile_metrics::migrations::apply(&mut world.connection).await.unwrap();
    world.resource("c1", "Cluster", Some("False"), "1 hour").await;
    let mut config = world.config(KINDS);
    config.database.schema = Some("the \"fleet".to_owned());
    let samples = crate::world::Exporter::start(config).await.scrape().await;
    assert_eq!(samples.flow("cluster", false).0, 1.0);
}

#[tokio::test]
async fn without_configured_kinds_the_rows_alone_are_told() {
    let mut world = World::ours().await;
    fleet(&mut world).await;
    let exporter = world.exporter("").await;
    exporter.scraper.renew_details().await;
    let samples = exporter.scrape().await;
    assert_eq!(samples.flow("cluster", false).0, 2.0);
    assert_eq!(samples.flow("nodepool", true).1, 0.0, "the default threshold is 10m");
    for unknown in ["_stuck_waiting_on", "_without_reconciled_condition"] {
        assert!(!samples.0.keys().any(|series| series.contains(unknown)), "{unknown} needs the configuration");
    }
    assert!(!samples.0.keys().any(|series| series.contains("channel")), "nothing is known of types without rows");
}

/// Rows that no program should write, and one does.
#[tokio::test]
async fn odd_rows_are_counted_and_fail_nothing() {
    for mut world in [World::ours().await, World::theirs(ROWS).await] {
        let odd = [
            ("past", "Cluster", "'-infinity'"),
            ("future", "Cluster", "'infinity'"),
            ("ahead", "Cluster", "now() + interval '1 hour'"),
            ("zone", "Cluster", "'2020-01-01 00:00:00+14'"),
            ("unknown", "Nobody\"s {kind}\n", "now()"),
            ("null", "Cluster", "NULL"),
        ];
        for (id, kind, time) in odd {
            world.resource(id, kind, Some("False"), "0s").await;
            world
                .sql(&format!(
                    "UPDATE resource_conditions SET last_transition_time = {time} WHERE resource_id = '{id}'"
                ))
                .await;
        }
        world.report("Cluster", "past", "dns", 1, "\"not a list\"").await;
        world.report("Cluster", "null", "dns", 1, "[1, {\"type\": 2}, null]").await;
        let exporter = world.exporter(KINDS).await;
        exporter.scraper.renew_details().await;
        let samples = exporter.scrape().await;
        assert_eq!(samples.success(), 1.0);
        let (pending, stuck, longest) = samples.flow("cluster", false);
        assert_eq!((pending, stuck), (5.0, 3.0), "past, zone and null are old; null by its creation");
        assert!(longest > 1.5e9, "an endless past begins with the epoch: {longest}");
        let odd = |reason: &str| samples.get(&format!("hyperfleet_reconcile_metrics_odd_rows{{reason=\"{reason}\"}}"));
        assert_eq!((odd("unknown_kind"), odd("future_time"), odd("no_time")), (1.0, 2.0, 1.0));
        let details = "hyperfleet_reconcile_metrics_scrape_success{collector=\"details\"}";
        assert_eq!(samples.get(details), 1.0, "reports that are no lists of conditions are read as saying nothing");
    }
}

#[tokio::test]
async fn odd_documents_are_counted_and_fail_nothing() {
    let mut world = World::theirs(DOCUMENTS).await;
    let conditions = [
        r#"[{"type": "Reconciled", "status": "False", "last_transition_time": "2026-02-30T00:00:00Z"}]"#,
        r#"[{"type": "Reconciled", "status": "False", "last_transition_time": 7}]"#,
        r#"[{"type": "Reconciled", "status": "False"}, 1, null, "x"]"#,
        r#"[{"type": "Reconciled", "status": "False", "last_transition_time": "2024-05-01T12:00:00+05:30"}]"#,
        r#"{"type": "Reconciled"}"#,
        r#""text""#,
    ];
    for (n, conditions) in conditions.iter().enumerate() {
        world
            .sql(&format!("INSERT INTO clusters (id, name, status_conditions) VALUES ('{n}', 'c', '{conditions}')"))
            .await;
    }
    let samples = world.exporter(KINDS).await.scrape().await;
    assert_eq!(samples.success(), 1.0);
    let (pending, stuck, _) = samples.flow("cluster", false);
    assert_eq!((pending, stuck), (4.0, 1.0));
    assert_eq!(samples.get("hyperfleet_reconcile_metrics_odd_rows{reason=\"no_time\"}"), 3.0);
}
