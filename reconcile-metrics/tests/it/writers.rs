//! Transactions at random against the record. Of writers that keep to the API's times it is right at each commit, and counts
//! each transition once. Of others it is found to be wrong where it is, and the figures are right all the same.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use proptest::prelude::*;
use proptest::strategy::ValueTree as _;
use proptest::test_runner::TestRunner;
use reconcile_metrics::migrations;
use reconcile_metrics::store::Store;
use sqlx::AssertSqlSafe;

use crate::world::{Exporter, KINDS, World};

const FLEETS: usize = 48;
const RESOURCES: usize = 4;

/// What a writer does to one resource.
#[derive(Debug, Clone)]
enum Write {
    /// Creates it, without conditions.
    Create,
    /// Deletes all conditions and inserts them again. `transition` is the time of the condition's transition beside an
    /// update that is now; none for the one that the API writes.
    Rewrite { status: &'static str, transition: Option<&'static str> },
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

/// Rewrites as the API does: a condition that has changed has its transition at its update, one that has not keeps it.
const REWRITE: &str = "
    CREATE FUNCTION rewrite(subject text, new_status text, odd_transition timestamptz, is_odd boolean) RETURNS void
    LANGUAGE plpgsql AS $$
    DECLARE
        was resource_conditions;
        at timestamptz := clock_timestamp();
    BEGIN
        SELECT * INTO was FROM resource_conditions WHERE resource_id = subject AND type = 'Reconciled';
        DELETE FROM resource_conditions WHERE resource_id = subject;
        INSERT INTO resource_conditions (resource_id, type, status, created_time, last_updated_time, last_transition_time)
        SELECT id, type, status, at, at, transition
        FROM resources, (VALUES
            ('Reconciled', new_status, CASE WHEN is_odd THEN odd_transition WHEN was.status = new_status THEN was.last_transition_time ELSE at END),
            ('DnsSuccessful', 'False', at)
        ) AS condition(type, status, transition)
        WHERE id = subject;
    END
    $$";

fn write(keeps_to_the_api: bool) -> impl Strategy<Value = Write> {
    let status = || prop_oneof![3 => Just("True"), 3 => Just("False"), 1 => Just("Perhaps")];
    let odd = prop_oneof![Just("now()"), Just("now() - interval '1 hour'"), Just("'epoch'"), Just("NULL")];
    let transition = if keeps_to_the_api { Just(None).boxed() } else { odd.prop_map(Some).boxed() };
    prop_oneof![
        4 => Just(Write::Create),
        9 => (status(), transition).prop_map(|(status, transition)| Write::Rewrite { status, transition }),
        u32::from(!keeps_to_the_api) => Just(Write::Strip),
        2 => status().prop_map(|status| Write::Update { status }),
        1 => Just(Write::Rename { from: "Reconciled", to: "Was" }),
        1 => Just(Write::Rename { from: "Was", to: "Reconciled" }),
        1 => Just(Write::Convert),
        1 => Just(Write::Delete),
        1 => Just(Write::Restore),
        1 => Just(Write::Remove),
    ]
}

/// Each step of a transaction, with the resource that it is about and whether it is rolled back to a savepoint.
type Transaction = Vec<(usize, Write, bool)>;

fn transactions(keeps_to_the_api: bool) -> impl Strategy<Value = Vec<Transaction>> {
    let step = (0..RESOURCES, write(keeps_to_the_api), prop::bool::weighted(0.1));
    prop::collection::vec(prop::collection::vec(step, 1..5), 20..30)
}

fn sql(id: &str, write: &Write) -> String {
    match write {
        Write::Create => format!(
            "INSERT INTO resources (id, kind, name, created_by, updated_by, spec, created_time)
             VALUES ('{id}', 'Cluster', '{id}', 't', 't', '{{}}', now() - interval '1 day') ON CONFLICT DO NOTHING"
        ),
        Write::Rewrite { status, transition } => {
            let (odd, is_odd) = (transition.unwrap_or("NULL"), transition.is_some());
            format!("SELECT rewrite('{id}', '{status}', {odd}, {is_odd})")
        }
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

/// Commits a transaction: its statements, and what it removed on the way.
async fn commit(world: &mut World, fleet: usize, transaction: &Transaction) -> (String, BTreeSet<String>) {
    let (mut steps, mut removed) = (String::new(), BTreeSet::new());
    for (resource, write, rolled_back) in transaction {
        let id = format!("f{fleet}r{resource}");
        let step = sql(&id, write);
        if *rolled_back {
            steps += &format!("SAVEPOINT before; {step}; ROLLBACK TO before;\n");
        } else {
            steps += &format!("{step};\n");
            if matches!(write, Write::Remove) {
                removed.insert(id);
            }
        }
    }
    world.sql(&format!("BEGIN; {steps} COMMIT")).await;
    (steps, removed)
}

async fn pending(world: &mut World) -> BTreeSet<String> {
    let sql = "SELECT resource_id FROM unsettled_resources_now WHERE state = 'pending'";
    sqlx::query_scalar(sql).fetch_all(&mut world.connection).await.unwrap().into_iter().collect()
}

/// The record is wrong about so many.
const WRONG: &str = "
    SELECT count(*)
    FROM unsettled_resources_now n
    FULL JOIN unsettled_resources u ON u.resource_id = n.resource_id
    WHERE n IS DISTINCT FROM u";

#[tokio::test]
async fn what_the_api_writes_is_on_record_and_counted_once() {
    let mut world = World::ours().await;
    world.sql(REWRITE).await;
    let mut runner = TestRunner::deterministic();
    let mut counted = 0;
    for fleet in 0..FLEETS {
        let transactions = transactions(true).new_tree(&mut runner).unwrap().current();
        for (number, transaction) in transactions.iter().enumerate() {
            let before = pending(&mut world).await;
            let (steps, removed) = commit(&mut world, fleet, transaction).await;
            // What comes after a removal is another resource.
            let left = before.difference(&removed).cloned().collect();
            counted += pending(&mut world).await.difference(&left).count();
            let total = world.number("SELECT coalesce(sum(total), 0)::bigint FROM reconciliation_transitions").await;
            let found = (world.number(WRONG).await, total);
            assert_eq!(found, (0, counted as i64), "transaction {number} of fleet {fleet}:\n{steps}");
        }
    }
    assert!(counted > 100, "only {counted} transitions");
    let config = world.config(KINDS);
    let store = Store::new(&config.database, &config.kinds);
    let limit = Duration::from_secs(5);
    let drift = (store.drift(limit).await.unwrap(), store.pass(limit).await.unwrap().drift);
    assert_eq!(drift, (Some(0), Some(0)));
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
    world.sql(REWRITE).await;
    let exporter = world.exporter(KINDS).await;
    let drift = "hyperfleet_reconcile_metrics_record_drift";
    let mut runner = TestRunner::deterministic();
    let mut wrong = 0;
    for fleet in 0..FLEETS {
        for transaction in transactions(false).new_tree(&mut runner).unwrap().current() {
            commit(&mut world, fleet, &transaction).await;
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
    assert!(wrong > 50, "the record was wrong about {wrong} alone");
}
