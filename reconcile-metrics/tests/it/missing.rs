//! Resources that lack the condition: what is on record, what a pass says of the record, and what it counts without one.

use std::collections::BTreeSet;
use std::time::Duration;

use lifecycle_e2e::{PATIENCE, await_condition};
use reconcile_metrics::migrations::{self, MIGRATIONS};
use reconcile_metrics::store::{Missing, Pass, Selection, Store, Trouble};
use serde_json::Value;
use tokio_util::sync::CancellationToken;

use crate::world::{Exporter, KINDS, ROWS, World, config_of, rewrite, rewrite_unchanged};

const LIMIT: Duration = Duration::from_secs(5);
const MISSING: &str =
    "hyperfleet_api_resource_without_reconciled_condition{is_delete=\"false\",resource_type=\"cluster\"}";

/// What is on record as missing, how many clusters the figures count, and their names.
async fn missing(world: &mut World, exporter: &Exporter) -> (i64, f64, Vec<String>) {
    let recorded = world.number("SELECT count(*) FROM unsettled_resources WHERE state = 'missing'").await;
    let (status, body) = exporter.get("/stuck?missing=true&kind=Cluster", &[]).await;
    assert_eq!(status, 200, "{body}");
    let items = serde_json::from_str::<Value>(&body).unwrap()["items"].clone();
    let mut names: Vec<_> =
        items.as_array().unwrap().iter().map(|item| item["id"].as_str().unwrap().to_owned()).collect();
    names.sort();
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

/// No trigger watches for a condition that goes, as the API takes them all away at each rewrite. What the next comparison
/// finds is told from then on.
#[tokio::test]
async fn a_condition_that_is_gone_for_good_is_missing_with_the_next_pass() {
    let mut world = World::ours().await;
    for (id, status) in [("was-true", "True"), ("was-false", "False")] {
        world.resource(id, "Cluster", Some(status), "1 day").await;
    }
    world.resource("never", "Cluster", None, "").await;
    let exporter = exporter(&world).await;
    let samples = exporter.scrape().await;
    assert!(!samples.has("hyperfleet_reconcile_metrics_record_drift"), "not known yet is not zero");
    assert_eq!(drift(&exporter).await, 0.0);
    world.sql("DELETE FROM resource_conditions WHERE resource_id LIKE 'was%'").await;
    assert_eq!(missing(&mut world, &exporter).await, (1, 1.0, names(&["never"])));
    assert_eq!(drift(&exporter).await, 1.0, "the other one is wrong about what is pending");
    let all = names(&["never", "was-false", "was-true"]);
    assert_eq!(missing(&mut world, &exporter).await, (1, 3.0, all.clone()), "by the conditions, and by name");
    exporter.scraper.renew_details().await;
    let samples = exporter.scrape().await;
    let pending = samples.get("hyperfleet_reconcile_metrics_record_drift{state=\"pending\"}");
    assert_eq!((pending, samples.flow("cluster", false).0), (1.0, 0.0));

    assert_eq!(migrations::repair(&mut world.connection).await.unwrap(), 2);
    exporter.scraper.renew_details().await;
    assert_eq!(drift(&exporter).await, 0.0);
    assert_eq!(missing(&mut world, &exporter).await, (3, 3.0, all));
    world.sql(&["never", "was-true", "was-false"].map(|id| rewrite(id, "True", "0s")).concat()).await;
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
    world.sql(&rewrite_unchanged("with-other-times", "True", "1 hour")).await;
    assert_eq!(missing(&mut world, &exporter).await, (1, 1.0, names(&["with-other-times"])), "nobody has seen it yet");
    assert_eq!(drift(&exporter).await, 1.0);
    assert_eq!(missing(&mut world, &exporter).await, (1, 0.0, vec![]), "by the conditions");
    assert_eq!(migrations::repair(&mut world.connection).await.unwrap(), 1);
    assert_eq!(drift(&exporter).await, 0.0);
    assert_eq!(missing(&mut world, &exporter).await, (0, 0.0, vec![]));
}

/// What most writes are pays for no function, whatever the conditions say: once more was reported than the change.
#[tokio::test]
async fn a_rewrite_that_updates_and_changes_nothing_fires_no_trigger() {
    let mut world = World::ours().await;
    world.sql("SET track_functions = 'all'").await;
    for status in ["True", "False", "Unknown"] {
        world.resource(status, "Cluster", Some(status), "1 hour").await;
        let others = format!(
            "DELETE FROM resource_conditions WHERE resource_id = '{status}' AND type <> 'Reconciled';
             INSERT INTO resource_conditions (resource_id, type, status) VALUES ('{status}', 'DnsSuccessful', 'False');"
        );
        for (rewrite, fires) in [
            (rewrite_unchanged(status, status, "1 hour"), false),
            (others, false),
            (rewrite(status, status, "1 hour"), true),
        ] {
            let calls = "SELECT coalesce(sum(calls), 0)::bigint FROM pg_stat_xact_user_functions";
            world.sql("BEGIN").await;
            let before = world.number(calls).await;
            world.sql(&format!("{rewrite} SET CONSTRAINTS ALL IMMEDIATE")).await;
            let calls = world.number(calls).await - before;
            world.sql("COMMIT").await;
            assert_eq!(calls > 0, fires, "{calls} calls for {status}");
        }
    }
}

/// What a pass over one schema has found says nothing of the other, and nobody waits an interval for the next one.
#[tokio::test]
async fn a_pass_is_taken_again_when_the_record_goes_or_comes() {
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
    migrations::revert_to(&mut world.connection, MIGRATIONS[0].0).await.unwrap();
    has(MISSING, Some(drift)).await;
    migrations::apply(&mut world.connection).await.unwrap();
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
    let records = [
        "none",
        "pending",
        "pending undated",
        "missing",
        "missing of another kind",
        "missing in deletion",
        "missing of nothing",
    ];
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
            let (deleting, undated) = (record.ends_with("deletion"), record.ends_with("undated"));
            sql += &format!(
                "INSERT INTO unsettled_resources VALUES ('r{n}', '{kind}', {deleting}, '{state}', 'epoch', {undated});"
            );
        }
        if record.ends_with("nothing") {
            sql += &format!(
                "DELETE FROM resource_conditions WHERE resource_id = 'r{n}'; DELETE FROM resources WHERE id = 'r{n}';"
            );
        }
    }
    // The record may go on where the resources end.
    sql += "INSERT INTO unsettled_resources VALUES ('z', 'Cluster', false, 'missing', 'epoch', false);";
    // What no scrape reads is nobody's drift.
    sql += "INSERT INTO resources (id, kind, name, created_by, updated_by, spec) VALUES ('channel', 'Channel', 'c', 't', 't', '{}');";
    world.sql(&format!("SET session_replication_role = replica; {sql} SET session_replication_role = origin")).await;
    let config = world.config(KINDS);
    let store = Store::new(&config.database, &config.kinds);
    let drift = async || (store.drift(LIMIT).await.unwrap().unwrap(), store.pass(LIMIT).await.unwrap().drift.unwrap());
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
        world.sql("UPDATE resources SET created_time = now() - interval '50 minutes' WHERE id = 'r4'").await;
        world.sql("UPDATE resources SET deleted_time = now() WHERE id IN ('r2', 'r4')").await;
    }
    let kinds = KINDS.replace("{kind: Cluster,", "{kind: Cluster, stuck_after_deleting: 1h,");
    let config = world.config(&kinds);
    let store = Store::new(&config.database, &config.kinds);
    let found = [("Cluster", false, 1), ("Cluster", true, 1), ("NodePool", false, 3)]
        .map(|(kind, deleting, count)| Missing { kind: kind.to_owned(), deleting, count });
    assert_eq!(store.pass(LIMIT).await.unwrap(), Pass { schema: "rows", missing: found.to_vec(), drift: None });
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
        let found = store.stuck(&selection, LIMIT, |_| BTreeSet::new()).await.unwrap().resources;
        let ids: Vec<_> = found.iter().map(|resource| resource.id.as_str()).collect();
        assert_eq!(ids, expected, "{selection:?}");
    }

    let config = ours.config(&kinds);
    let store = Store::new(&config.database, &config.kinds);
    // What is gone may be on record amid the resources, and beyond them.
    for orphan in ["r5a", "z1", "z2", "z3"] {
        let sql = format!(
            "SET session_replication_role = replica;
             INSERT INTO unsettled_resources VALUES ('{orphan}', 'Cluster', false, 'missing', 'epoch', false);
             SET session_replication_role = origin"
        );
        ours.sql(&sql).await;
    }
    // Beside these: the two in deletion came on record when they were written.
    let expected = Pass { schema: "tracked", missing: found.to_vec(), drift: Some(9) };
    assert_eq!(store.pass(LIMIT).await.unwrap(), expected);
    for size in [1, 2, 3, 11, 12, 15, 100] {
        let found = store.compared_in_parts(size, LIMIT).await.unwrap();
        assert_eq!(found, (expected.missing.clone(), 9), "in parts of {size}");
    }
}
