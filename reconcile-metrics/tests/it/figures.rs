//! The figures of a scrape, with the schema of `migrations/` and with the API's.

use std::collections::BTreeMap;

use reconcile_metrics::store::PENDING;
use sqlx::{AssertSqlSafe, Connection as _, Row as _};

use crate::world::{API_SCHEMA, Exporter, KINDS, Samples, World};

/// Inserts pending and reconciled resources of several kinds, one of them being deleted.
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
    assert_eq!(
        samples.flow("cluster", true),
        (0.0, 0.0, 0.0),
        "a configured type without pending resources reads zero"
    );
    assert_eq!(samples.flow("channel", false), (0.0, 0.0, 0.0));
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

#[tokio::test]
async fn figures_are_the_same_with_the_exporters_and_the_apis_schema() {
    for mut world in [World::migrated().await, World::with_schema(API_SCHEMA).await] {
        fleet(&mut world).await;
        assert_fleet(&world.exporter(KINDS).await.scrape().await);
    }
}

#[tokio::test]
async fn exporter_finds_tables_that_are_created_later() {
    let mut world = World::empty().await;
    let exporter = world.exporter(KINDS).await;
    let samples = exporter.scrape().await;
    assert_eq!(samples.success(), 0.0);
    let errors = "hyperfleet_reconcile_metrics_scrape_errors_total{collector=\"snapshot\",reason=\"schema\"}";
    assert_eq!(samples.get(errors), 1.0);
    lifecycle_migrations::apply(&mut world.connection).await.unwrap();
    assert_eq!(exporter.scrape().await.success(), 1.0);
}

#[tokio::test]
async fn database_schema_key_selects_a_schema_with_any_name() {
    let mut world = World::empty().await;
    world.sql("CREATE SCHEMA \"the \"\"fleet\"; SET search_path = \"the \"\"fleet\"").await;
    lifecycle_migrations::apply(&mut world.connection).await.unwrap();
    world.resource("c1", "Cluster", Some("False"), "1 hour").await;
    let mut config = world.config(KINDS);
    config.database.schema = Some("the \"fleet".to_owned());
    let samples = Exporter::start(config).await.scrape().await;
    assert_eq!(samples.flow("cluster", false).0, 1.0);
}

#[tokio::test]
async fn exporter_without_configured_kinds_counts_pending_rows() {
    let mut world = World::migrated().await;
    fleet(&mut world).await;
    let exporter = world.exporter("").await;
    exporter.scraper.renew_details().await;
    let samples = exporter.scrape().await;
    assert_eq!(samples.flow("cluster", false).0, 2.0);
    assert_eq!(samples.flow("nodepool", true).1, 0.0, "the default threshold is 10m");
    assert!(!samples.0.keys().any(|series| series.contains("_stuck_waiting_on")), "needs the configuration");
    assert!(!samples.0.keys().any(|series| series.contains("channel")), "nothing is known of types without rows");
}

/// Rows that no program should write, and one does.
#[tokio::test]
async fn odd_rows_are_counted_and_fail_nothing() {
    let mut world = World::with_schema(API_SCHEMA).await;
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
        let sql = format!("UPDATE resource_conditions SET last_transition_time = {time} WHERE resource_id = '{id}'");
        world.sql(&sql).await;
    }
    world.report("Cluster", "past", "dns", 1, "\"not a list\"").await;
    world.report("Cluster", "null", "dns", 1, "[1, {\"type\": 2}, null]").await;
    let exporter = world.exporter(KINDS).await;
    exporter.scraper.renew_details().await;
    let samples = exporter.scrape().await;
    assert_eq!(samples.success(), 1.0);
    let (pending, stuck, longest) = samples.flow("cluster", false);
    assert_eq!((pending, stuck), (5.0, 3.0), "past, zone and null are old; null counts from its creation");
    assert!(longest > 1.5e9, "-infinity counts as the epoch: {longest}");
    let odd = |reason: &str| samples.get(&format!("hyperfleet_reconcile_metrics_odd_rows{{reason=\"{reason}\"}}"));
    assert_eq!((odd("unknown_kind"), odd("future_time"), odd("no_time")), (1.0, 2.0, 1.0));
    let details = "hyperfleet_reconcile_metrics_scrape_success{collector=\"details\"}";
    assert_eq!(samples.get(details), 1.0, "a report that is not a list of conditions must not fail the reading");
}

/// Inserts resources of many kinds and ages, including ages on a bound, in the future, and infinite ones.
const RESOURCES: &str = "
    INSERT INTO resources (id, kind, name, created_by, updated_by, spec, deleted_time)
    SELECT n::text, CASE WHEN n % 3 = 0 THEN 'Cluster' WHEN n % 50 = 1 THEN 'Kind ' || n ELSE 'NodePool' END, n::text,
        't', 't', '{}', CASE WHEN n % 7 = 0 THEN now() END
    FROM generate_series(1, 3000) n;
    INSERT INTO resource_conditions (resource_id, type, status, last_transition_time)
    SELECT n::text, 'Reconciled', CASE WHEN n % 11 = 0 THEN 'True' ELSE 'False' END, CASE n % 13
        WHEN 0 THEN 'infinity'
        WHEN 1 THEN '-infinity'
        WHEN 2 THEN now()
        WHEN 3 THEN now() - make_interval(secs => 600)
        WHEN 4 THEN now() - make_interval(secs => 600.000001)
        WHEN 5 THEN now() + make_interval(secs => n)
        WHEN 6 THEN '1969-12-31 23:00:00+00'
        ELSE now() - make_interval(secs => n * 0.7919)
    END
    FROM generate_series(1, 3000) n;";

/// Selects every pending resource with its age.
const ONE_BY_ONE: &str = "
    SELECT r.kind, r.deleted_time IS NOT NULL,
        date_part('epoch', now() - greatest(least(coalesce(c.last_transition_time, r.created_time), now()), 'epoch')),
        coalesce(c.last_transition_time, r.created_time) > now() + interval '5 minutes'
    FROM resources r JOIN resource_conditions c ON c.resource_id = r.id AND c.type = 'Reconciled' AND c.status = 'False'";

/// Of one interval of ages: the count, how many lie in the future, and the sum of the ages.
type Bucket = (i64, i64, f64);

#[tokio::test]
async fn statement_equals_counting_rows_one_by_one() {
    let mut world = World::migrated().await;
    let bounds: [&[f64]; 3] = [&[600.0], &[60.0, 300.0, 600.0, 900.0, 1800.5, 86_400.0, 604_800.0], &[1e-6, 1e9]];
    // `now()` is the time of the transaction, so in one transaction both statements use the same time.
    let mut transaction = world.connection.begin().await.unwrap();
    for step in [RESOURCES, "DELETE FROM resources WHERE id::integer > 1", "DELETE FROM resources"] {
        sqlx::raw_sql(AssertSqlSafe(step)).execute(&mut *transaction).await.unwrap();
        let one_by_one = sqlx::query(ONE_BY_ONE).fetch_all(&mut *transaction).await.unwrap();
        for bounds in bounds {
            let mut expected: BTreeMap<(String, bool, i32), Bucket> = BTreeMap::new();
            for row in &one_by_one {
                let age: f64 = row.get(2);
                let bucket = bounds.iter().filter(|bound| age > **bound).count() as i32;
                let (count, future, sum) = expected.entry((row.get(0), row.get(1), bucket)).or_default();
                *count += 1;
                *future += i64::from(row.get::<bool, _>(3));
                *sum += age;
            }
            let rows = sqlx::query(PENDING).bind(bounds).fetch_all(&mut *transaction).await.unwrap();
            assert_eq!(rows.len(), expected.len().max(1), "one row without a kind where nothing is pending");
            for row in rows.iter().filter(|row| row.get::<Option<String>, _>("kind").is_some()) {
                let found = expected[&(row.get("kind"), row.get("deleting"), row.get("bucket"))];
                let (count, future): (i64, i64) = (row.get("resources"), row.get("future"));
                assert_eq!((count, future), (found.0, found.1), "{bounds:?} after {step}");
                // Floating-point sums depend on the order of their terms.
                let sum: f64 = row.get("age_sum");
                assert!((sum - found.2).abs() <= sum.abs().max(1.0) * 1e-12, "{sum} {}", found.2);
            }
        }
    }
}
