//! Resources that lack the condition: what is on record, what a pass says of the record, and what it counts without one.

use std::time::Duration;

use lifecycle_e2e::{PATIENCE, await_condition};
use reconcile_metrics::migrations;
use reconcile_metrics::store::{Finding, Missing, Pass, Selection, Store, Trouble};
use serde_json::Value;
use tokio_util::sync::CancellationToken;

use crate::world::{Exporter, KINDS, ROWS, World, config_of, rewrite};

const LIMIT: Duration = Duration::from_secs(5);
/// Its transition lies before its last update, as that of a condition does which was there before.
const SETTLED: &str = "True";
const MISSING: &str =
    "hyperfleet_api_resource_without_reconciled_condition{is_delete=\"false\",resource_type=\"cluster\"}";

/// What is on record as missing, how many clusters the figures count, and their names.
async fn missing(world: &mut World, exporter: &Exporter) -> (i64, f64, Vec<String>) {
    let recorded = world.number("SELECT count(*) FROM unsettled_resources WHERE state = 'missing'").await;
    let (status, body) = exporter.get("/stuck?missing=true&kind=Cluster", &[]).await;
    assert_eq!(status, 200, "{body}");
    let items = serde_json::from_str::<Value>(&body).unwrap()["items"].clone();
    let names = items.as_array().unwrap().iter().map(|item| item["id"].as_str().unwrap().to_owned()).collect();
    (recorded, exporter.scrape().await.get(MISSING), names)
}

/// On how many resources the record is wrong about what is missing.
async fn drift(exporter: &Exporter) -> f64 {
    assert!(exporter.scraper.renew_pass().await);
    exporter.scrape().await.get("hyperfleet_reconcile_metrics_record_drift{state=\"missing\"}")
}

async fn exporter(world: &World) -> Exporter {
    world.exporter(&format!("stuck: {{anonymous: true}}\n{KINDS}")).await
}

fn names(names: &[&str]) -> Vec<String> {
    names.iter().map(|name| (*name).to_owned()).collect()
}

/// No trigger fires when a condition goes that was True, as none does when the API rewrites it.
#[tokio::test]
async fn a_condition_that_is_gone_for_good_is_drift_until_a_repair() {
    let mut world = World::ours().await;
    for id in ["gone", "stays"] {
        world.resource(id, "Cluster", Some("True"), "1 day").await;
    }
    world.resource("never", "Cluster", None, "").await;
    let exporter = exporter(&world).await;
    let samples = exporter.scrape().await;
    assert!(!samples.has("hyperfleet_reconcile_metrics_record_drift"), "not known yet is not zero");
    assert_eq!(drift(&exporter).await, 0.0);
    world.sql("DELETE FROM resource_conditions WHERE resource_id = 'gone'").await;
    assert_eq!(missing(&mut world, &exporter).await, (1, 1.0, names(&["never"])));
    assert_eq!(drift(&exporter).await, 1.0);

    assert_eq!(migrations::repair(&mut world.connection).await.unwrap(), 1);
    assert_eq!(missing(&mut world, &exporter).await, (2, 2.0, names(&["gone", "never"])));
    assert_eq!(drift(&exporter).await, 0.0);
    world.sql(&(rewrite("gone", "True", "0s") + &rewrite("never", "True", "0s"))).await;
    assert_eq!(missing(&mut world, &exporter).await, (0, 0.0, vec![]));
    assert_eq!(drift(&exporter).await, 0.0);
}

/// The API computes the first condition of a kind that got its adapters later at the next report.
#[tokio::test]
async fn a_condition_that_is_true_from_the_first_is_missing_no_more() {
    let mut world = World::ours().await;
    for id in ["as-the-api-does", "with-other-times"] {
        world.resource(id, "Cluster", None, "").await;
    }
    let exporter = exporter(&world).await;
    assert_eq!(missing(&mut world, &exporter).await.0, 2);
    world.sql(&rewrite("as-the-api-does", "True", "0s")).await;
    assert_eq!(missing(&mut world, &exporter).await, (1, 1.0, names(&["with-other-times"])));
    assert_eq!(drift(&exporter).await, 0.0);
    // As an import does it.
    world.sql(&rewrite("with-other-times", SETTLED, "1 hour")).await;
    assert_eq!((missing(&mut world, &exporter).await.1, drift(&exporter).await), (1.0, 1.0), "wrong, and said to be");
    assert_eq!(migrations::repair(&mut world.connection).await.unwrap(), 1);
    assert_eq!(missing(&mut world, &exporter).await, (0, 0.0, vec![]));
    assert_eq!(drift(&exporter).await, 0.0);
}

/// What most writes are pays for no function.
#[tokio::test]
async fn a_rewrite_of_what_is_settled_fires_no_trigger() {
    let mut world = World::ours().await;
    for (id, status) in [("settled", SETTLED), ("pending", "False")] {
        world.resource(id, "Cluster", Some(status), "1 hour").await;
    }
    world.sql("SET track_functions = 'all'").await;
    for (id, status, fires) in [("settled", SETTLED, false), ("pending", "False", true)] {
        world.sql(&format!("BEGIN; {} SET CONSTRAINTS ALL IMMEDIATE", rewrite(id, status, "1 hour"))).await;
        let calls = world.number("SELECT coalesce(sum(calls), 0)::bigint FROM pg_stat_xact_user_functions").await;
        world.sql("COMMIT").await;
        assert_eq!(calls > 0, fires, "{calls} calls for {id}");
    }
}

/// What a pass over one schema has found says nothing of the other, and nobody waits an interval for the next one.
#[tokio::test]
async fn a_pass_is_taken_again_when_the_record_is_not_kept_any_more_or_again() {
    let mut world = World::ours().await;
    world.resource("never", "Cluster", None, "").await;
    let mut config = world.config(KINDS);
    config.details.missing_interval = Duration::from_hours(1);
    let exporter = Exporter::start(config).await;
    let drift = "hyperfleet_reconcile_metrics_record_drift{state=\"missing\"}";
    let has = async |series: &str, other: Option<&str>| {
        await_condition("a pass over this schema", PATIENCE, async || {
            let samples = exporter.scrape().await;
            let is_there = |series: &str| samples.0.contains_key(series);
            anyhow::ensure!(is_there(series) && !other.is_some_and(is_there), "not yet");
            Ok(())
        })
        .await
        .unwrap();
    };
    let stop = CancellationToken::new();
    let details = tokio::spawn(exporter.scraper.clone().keep_details(stop.clone()));
    has(drift, None).await;
    world.sql("ALTER TABLE resources DISABLE TRIGGER resource_created").await;
    has(MISSING, Some(drift)).await;
    migrations::repair(&mut world.connection).await.unwrap();
    has(drift, None).await;
    stop.cancel();
    details.await.unwrap();
}

#[tokio::test]
async fn what_an_old_pass_has_found_is_not_served() {
    let mut world = World::theirs(ROWS).await;
    world.resource("never", "Cluster", None, "").await;
    let mut config = config_of(&world.database, KINDS);
    config.details.missing_interval = Duration::from_millis(1);
    let exporter = Exporter::start(config).await;
    assert!(exporter.scraper.renew_pass().await);
    await_condition("it to be old", PATIENCE, async || {
        anyhow::ensure!(!exporter.scrape().await.0.contains_key(MISSING), "it is not");
        Ok(())
    })
    .await
    .unwrap();
}

/// Each way in which the two can disagree is counted once: by the comparison of what is pending, or by the pass.
#[tokio::test]
async fn a_repair_finds_as_many_as_the_drift_says() {
    let mut world = World::ours().await;
    let statuses = ["none", "True", "False", "Unknown"];
    let records =
        ["none", "pending", "missing", "missing of another kind", "missing in deletion", "missing of nothing"];
    let mut sql = String::new();
    for (n, (status, record)) in statuses.iter().flat_map(|s| records.iter().map(move |r| (s, r))).enumerate() {
        sql += &format!(
            "INSERT INTO resources (id, kind, name, created_by, updated_by, spec) VALUES ('r{n}', 'Cluster', 'r{n}', 't', 't', '{{}}');"
        );
        if *status != "none" {
            sql += &format!(
                "INSERT INTO resource_conditions (resource_id, type, status, last_transition_time) VALUES ('r{n}', 'Reconciled', '{status}', 'epoch');"
            );
        }
        let kind = if record.ends_with("kind") { "NodePool" } else { "Cluster" };
        let state = record.split(' ').next().unwrap();
        if state != "none" {
            let deleting = record.ends_with("deletion");
            sql += &format!(
                "INSERT INTO unsettled_resources VALUES ('r{n}', '{kind}', {deleting}, '{state}', 'epoch', false);"
            );
        }
        if record.ends_with("nothing") {
            sql += &format!(
                "DELETE FROM resource_conditions WHERE resource_id = 'r{n}'; DELETE FROM resources WHERE id = 'r{n}';"
            );
        }
    }
    // What no scrape reads is nobody's drift.
    sql += "INSERT INTO resources (id, kind, name, created_by, updated_by, spec) VALUES ('channel', 'Channel', 'c', 't', 't', '{}');";
    world.sql(&format!("SET session_replication_role = replica; {sql} SET session_replication_role = origin")).await;
    let config = world.config(KINDS);
    let store = Store::new(&config.database, &config.kinds);
    let drift = async || {
        let Finding::Drift(missing) = store.pass(LIMIT).await.unwrap().finding else { panic!("there is a record") };
        (store.drift(LIMIT).await.unwrap().unwrap(), missing)
    };
    let (pending, missing) = drift().await;
    assert!(pending > 0 && missing > 0, "{pending} {missing}");
    let repaired = migrations::repair(&mut world.connection).await.unwrap() as u64;
    assert_eq!(pending + missing + 1, repaired, "and the channel");
    assert_eq!(drift().await, (0, 0));
}

/// However the parts fall, the pass finds each resource once, and those alone that are asked for.
#[tokio::test]
async fn a_pass_in_parts_finds_what_one_pass_finds() {
    let mut world = World::theirs(ROWS).await;
    let mut ours = World::ours().await;
    for world in [&mut world, &mut ours] {
        for n in 0..11 {
            let kind = if n % 2 == 0 { "Cluster" } else { "NodePool" };
            world.resource(&format!("r{n}"), kind, Some("True"), "1 day").await;
        }
        world.sql("DELETE FROM resource_conditions WHERE ltrim(resource_id, 'r')::integer % 3 <> 0").await;
        // Not past its threshold; past that of a deletion, and not.
        world.sql("UPDATE resources SET created_time = now() - interval '9 minutes' WHERE id = 'r10'").await;
        world.sql("UPDATE resources SET deleted_time = now() WHERE id IN ('r2', 'r4')").await;
        world.sql("UPDATE resources SET created_time = now() - interval '50 minutes' WHERE id = 'r4'").await;
    }
    let kinds = KINDS.replace("{kind: Cluster,", "{kind: Cluster, stuck_after_deleting: 1h,");
    let config = world.config(&kinds);
    let store = Store::new(&config.database, &config.kinds);
    let found = [("Cluster", false, 1), ("Cluster", true, 1), ("NodePool", false, 3)]
        .map(|(kind, deleting, count)| Missing { kind: kind.to_owned(), deleting, count });
    assert_eq!(store.pass(LIMIT).await.unwrap(), Pass { schema: "rows", finding: Finding::Missing(found.to_vec()) });
    for size in [1, 2, 3, 11, 12] {
        assert_eq!(store.missing_in_parts(size, LIMIT).await.unwrap(), found, "in parts of {size}");
    }
    let missing = Selection { trouble: Trouble::Missing, limit: 500, ..Selection::default() };
    let selections = [
        (missing.clone(), vec!["r1", "r2", "r5", "r7", "r8"]),
        (Selection { limit: 3, ..missing.clone() }, vec!["r1", "r2", "r5"]),
        (Selection { kind: Some("nodepool".to_owned()), ..missing.clone() }, vec!["r1", "r5", "r7"]),
        (Selection { deleting: Some(true), ..missing.clone() }, vec!["r2"]),
        (Selection { deleting: Some(false), ..missing }, vec!["r1", "r5", "r7", "r8"]),
    ];
    for (selection, expected) in selections {
        let found = store.stuck(&selection, LIMIT).await.unwrap().resources;
        let ids: Vec<_> = found.iter().map(|resource| resource.id.as_str()).collect();
        assert_eq!(ids, expected, "{selection:?}");
    }

    let config = ours.config(&kinds);
    let store = Store::new(&config.database, &config.kinds);
    // The two in deletion came on record when they were written.
    assert_eq!(store.pass(LIMIT).await.unwrap(), Pass { schema: "tracked", finding: Finding::Drift(5) });
    for size in [1, 2, 3, 11, 12] {
        assert_eq!(store.missing_drift_in_parts(size, LIMIT).await.unwrap(), 5, "in parts of {size}");
    }
}
