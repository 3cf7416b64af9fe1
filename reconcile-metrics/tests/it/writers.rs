//! Transactions at random against the record. Of what the API writes it is right at each commit, and counts each transition
//! once. Of what anybody else writes it is found to be wrong where it is, and the figures are right all the same.

use std::collections::BTreeMap;
use std::time::Duration;

use proptest::prelude::*;
use proptest::strategy::ValueTree as _;
use proptest::test_runner::TestRunner;
use reconcile_metrics::migrations;
use reconcile_metrics::store::Store;
use sqlx::AssertSqlSafe;

use crate::api::{ADAPTERS, Event, Resource};
use crate::world::{Exporter, KINDS, World};

const FLEETS: usize = 48;
const RESOURCES: usize = 4;

/// What a writer does to one resource.
#[derive(Debug, Clone)]
enum Write {
    /// Creates it, without conditions.
    Create,
    /// Deletes all conditions and inserts them again, with that time of transition beside an update that is now.
    Rewrite { status: &'static str, transition: &'static str },
    /// Deletes all conditions.
    Strip,
    /// Changes the condition in place.
    Update { status: &'static str },
    /// Makes the condition another one, or that one again.
    Rename { from: &'static str, to: &'static str },
    /// Makes it another kind's.
    Convert,
    /// Requests its deletion.
    Delete,
    /// Takes that back.
    Restore,
    /// Removes it.
    Remove,
}

fn write() -> impl Strategy<Value = Write> {
    let status = || prop_oneof![3 => Just("True"), 3 => Just("False"), 1 => Just("Perhaps")];
    // As of a new condition, of an older one, the same each time, and none.
    let transition = prop_oneof![Just("now()"), Just("now() - interval '1 hour'"), Just("'epoch'"), Just("NULL")];
    prop_oneof![
        4 => Just(Write::Create),
        9 => (status(), transition).prop_map(|(status, transition)| Write::Rewrite { status, transition }),
        1 => Just(Write::Strip),
        2 => status().prop_map(|status| Write::Update { status }),
        1 => Just(Write::Rename { from: "Reconciled", to: "Was" }),
        1 => Just(Write::Rename { from: "Was", to: "Reconciled" }),
        1 => Just(Write::Convert),
        1 => Just(Write::Delete),
        1 => Just(Write::Restore),
        1 => Just(Write::Remove),
    ]
}

fn event() -> impl Strategy<Value = Event> {
    let report =
        (0..ADAPTERS.len(), prop_oneof![4 => Just(0), 1 => Just(1)], -300..1800_i64, prop::bool::weighted(0.7));
    prop_oneof![
        3 => Just(Event::Create),
        2 => Just(Event::Patch),
        12 => report.prop_map(|(adapter, behind, ago, is_good)| Event::Report { adapter, behind, ago, is_good }),
        1 => Just(Event::Delete),
        1 => Just(Event::Remove),
    ]
}

/// The steps of a fleet's transactions, each with the resource that it is about and whether it is rolled back to a savepoint.
fn transactions<T: std::fmt::Debug>(
    step: impl Strategy<Value = T>,
) -> impl Strategy<Value = Vec<Vec<(usize, T, bool)>>> {
    let step = (0..RESOURCES, step, prop::bool::weighted(0.1));
    prop::collection::vec(prop::collection::vec(step, 1..5), 20..30)
}

fn sql(id: &str, write: &Write) -> String {
    match write {
        Write::Create => format!(
            "INSERT INTO resources (id, kind, name, created_by, updated_by, spec, created_time)
             VALUES ('{id}', 'Cluster', '{id}', 't', 't', '{{}}', now() - interval '1 day') ON CONFLICT DO NOTHING"
        ),
        Write::Rewrite { status, transition } => format!(
            "DELETE FROM resource_conditions WHERE resource_id = '{id}';
             INSERT INTO resource_conditions (resource_id, type, status, last_updated_time, last_transition_time)
             SELECT id, type, of_type.status, now(), {transition}
             FROM resources, (VALUES ('Reconciled', '{status}'), ('DnsSuccessful', 'False')) AS of_type(type, status)
             WHERE id = '{id}'"
        ),
        Write::Strip => format!("DELETE FROM resource_conditions WHERE resource_id = '{id}'"),
        Write::Update { status } => format!(
            "UPDATE resource_conditions SET status = '{status}', last_transition_time = now()
             WHERE resource_id = '{id}' AND type = 'Reconciled'"
        ),
        Write::Rename { from, to } => format!(
            "UPDATE resource_conditions c SET type = '{to}' WHERE resource_id = '{id}' AND type = '{from}'
             AND NOT EXISTS (SELECT FROM resource_conditions o WHERE o.resource_id = '{id}' AND o.type = '{to}')"
        ),
        Write::Convert => format!("UPDATE resources SET kind = 'NodePool' WHERE id = '{id}'"),
        Write::Restore => format!("UPDATE resources SET deleted_time = NULL WHERE id = '{id}'"),
        Write::Delete => format!("UPDATE resources SET deleted_time = now() WHERE id = '{id}'"),
        Write::Remove => format!("DELETE FROM resources WHERE id = '{id}'"),
    }
}

/// Commits steps, of which some are rolled back to a savepoint: all that was sent.
async fn commit(world: &mut World, steps: impl IntoIterator<Item = (String, bool)>) -> String {
    let steps = steps.into_iter().map(|(step, is_rolled_back)| {
        if is_rolled_back { format!("SAVEPOINT before; {step}; ROLLBACK TO before;\n") } else { format!("{step};\n") }
    });
    let sql = format!("BEGIN; {} COMMIT", steps.collect::<String>());
    world.sql(&sql).await;
    sql
}

/// The record is wrong about so many.
pub(crate) const WRONG: &str = "
    SELECT count(*)
    FROM unsettled_resources_now n
    FULL JOIN unsettled_resources u ON u.resource_id = n.resource_id
    WHERE n IS DISTINCT FROM u";

#[tokio::test]
async fn what_the_api_writes_is_on_record_and_counted_once() {
    let mut world = World::ours().await;
    let mut runner = TestRunner::deterministic();
    let (mut counted, mut now) = (0, 0);
    for fleet in 0..FLEETS {
        let mut resources: [Resource; RESOURCES] = Default::default();
        for (number, transaction) in
            transactions(event()).new_tree(&mut runner).unwrap().current().into_iter().enumerate()
        {
            let mut was_pending = resources.each_ref().map(Resource::is_pending);
            let mut steps = Vec::new();
            for (nth, event, is_rolled_back) in transaction {
                now += 7;
                let mut resource = resources[nth].clone();
                steps.push((resource.on(&format!("f{fleet}r{nth}"), event, now), is_rolled_back));
                if !is_rolled_back {
                    // What comes after a removal is another resource.
                    was_pending[nth] &= !matches!(event, Event::Remove);
                    resources[nth] = resource;
                }
            }
            let sql = commit(&mut world, steps).await;
            let is_pending = resources.each_ref().map(Resource::is_pending);
            counted += (0..RESOURCES).filter(|&nth| is_pending[nth] && !was_pending[nth]).count();
            let total = world.number("SELECT coalesce(sum(total), 0)::bigint FROM reconciliation_transitions").await;
            let found = (world.number(WRONG).await, total);
            assert_eq!(found, (0, counted as i64), "transaction {number} of fleet {fleet}:\n{sql}");
        }
    }
    assert!(counted > 100, "only {counted} transitions");
    let config = world.config(KINDS);
    let store = Store::new(&config.database, &config.kinds);
    let limit = Duration::from_secs(5);
    let drift = (store.drift(limit).await.unwrap(), store.pass(limit).await.unwrap().drift);
    assert_eq!(drift, (Some(0), Some(0)));
}

/// The one write of the API that no trigger sees: a generation came without conditions, and a report computes them later.
#[tokio::test]
async fn a_transition_that_a_later_report_computes_is_seen_once_it_was_compared() {
    let mut world = World::ours().await;
    let exporter = world.exporter(KINDS).await;
    let report = |adapter| Event::Report { adapter, behind: 0, ago: 0, is_good: true };
    let mut resource = Resource::default();
    for (event, now) in
        [(Event::Create, 0), (report(0), 10), (report(1), 20), (Event::BrokenPatch, 30), (report(0), 40)]
    {
        let step = resource.on("c", event, now);
        commit(&mut world, [(step, false)]).await;
    }
    assert_eq!((resource.is_pending(), world.number(WRONG).await), (true, 1));
    exporter.scraper.renew_details().await;
    let samples = exporter.scrape().await;
    let drift = samples.get("hyperfleet_reconcile_metrics_record_drift{state=\"pending\"}");
    let found = (samples.flow("cluster", false).0, drift, samples.started("cluster", false));
    assert_eq!(found, (1.0, 1.0, 1.0), "it is pending, and its second transition is not counted");
}

/// What the conditions say: how many of each kind and flow are in a state.
async fn conditions(world: &mut World, state: &str) -> BTreeMap<(String, bool), f64> {
    let sql = format!(
        "SELECT lower(kind), deleting, count(*)::float8 FROM unsettled_resources_now WHERE state = '{state}' GROUP BY 1, 2"
    );
    let rows: Vec<(String, bool, f64)> =
        sqlx::query_as(AssertSqlSafe(sql)).fetch_all(&mut world.connection).await.unwrap();
    rows.into_iter().map(|(kind, deleting, count)| ((kind, deleting), count)).collect()
}

/// What the figures say.
async fn figures(exporter: &Exporter, metric: &str) -> BTreeMap<(String, bool), f64> {
    let samples = exporter.scrape().await;
    let flows = ["cluster", "nodepool"].into_iter().flat_map(|kind| [false, true].map(|deleting| (kind, deleting)));
    let figures = flows.map(|(kind, deleting)| {
        let labels = format!("{{is_delete=\"{deleting}\",resource_type=\"{kind}\"}}");
        ((kind.to_owned(), deleting), samples.get(&format!("{metric}{labels}")))
    });
    figures.filter(|(_, count)| *count > 0.0).collect()
}

#[tokio::test]
async fn whatever_is_written_the_figures_are_right_once_it_was_compared() {
    let mut world = World::ours().await;
    let exporter = world.exporter(KINDS).await;
    let drift = "hyperfleet_reconcile_metrics_record_drift";
    let mut runner = TestRunner::deterministic();
    let mut wrong = 0;
    for fleet in 0..FLEETS {
        for transaction in transactions(write()).new_tree(&mut runner).unwrap().current() {
            let steps = transaction.iter();
            let steps =
                steps.map(|(nth, write, is_rolled_back)| (sql(&format!("f{fleet}r{nth}"), write), *is_rolled_back));
            commit(&mut world, steps).await;
        }
        exporter.scraper.renew_details().await;
        assert!(exporter.scraper.renew_pass().await);
        for (state, metric) in [
            ("pending", "hyperfleet_api_resource_pending_reconciliation"),
            ("missing", "hyperfleet_api_resource_without_reconciled_condition"),
        ] {
            assert_eq!(
                figures(&exporter, metric).await,
                conditions(&mut world, state).await,
                "{state} in fleet {fleet}"
            );
        }
        let samples = exporter.scrape().await;
        let found = ["pending", "missing"].map(|state| samples.get(&format!("{drift}{{state=\"{state}\"}}")));
        let repaired = migrations::repair(&mut world.connection).await.unwrap();
        assert_eq!(
            found.iter().sum::<f64>(),
            repaired as f64,
            "all that is wrong is seen, in fleet {fleet}: {found:?}"
        );
        wrong += repaired;
    }
    assert!(wrong > 30, "the record was wrong about {wrong} alone");
}
