//! Transactions at random against the record: at each commit it is right about what is pending.

use std::collections::BTreeSet;
use std::time::Duration;

use proptest::prelude::*;
use proptest::strategy::ValueTree as _;
use proptest::test_runner::TestRunner;
use reconcile_metrics::migrations;
use reconcile_metrics::store::{Finding, Store};
use sqlx::AssertSqlSafe;

use crate::world::{KINDS, World};

const FLEETS: usize = 48;
const RESOURCES: usize = 4;

/// What a writer does to one resource.
#[derive(Debug, Clone)]
enum Write {
    /// Creates it, without conditions.
    Create,
    /// Deletes all conditions and inserts them again, as the API does.
    Rewrite { status: &'static str, times: &'static str },
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
    // The transition, beside a last update that is now: as of a new condition, of an older one, the same each time, and none.
    let times = prop_oneof![Just("now()"), Just("now() - interval '1 hour'"), Just("r.created_time"), Just("NULL")];
    prop_oneof![
        4 => Just(Write::Create),
        9 => (status(), times).prop_map(|(status, times)| Write::Rewrite { status, times }),
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

/// Each step of a transaction, with the resource that it is about and whether it is rolled back to a savepoint.
type Transaction = Vec<(usize, Write, bool)>;

fn transactions() -> impl Strategy<Value = Vec<Transaction>> {
    let step = (0..RESOURCES, write(), prop::bool::weighted(0.1));
    prop::collection::vec(prop::collection::vec(step, 1..5), 20..30)
}

fn sql(id: &str, write: &Write) -> String {
    let conditions = format!("resource_conditions WHERE resource_id = '{id}'");
    match write {
        Write::Create => format!(
            "INSERT INTO resources (id, kind, name, created_by, updated_by, spec)
             VALUES ('{id}', 'Cluster', '{id}', 't', 't', '{{}}') ON CONFLICT DO NOTHING"
        ),
        Write::Rewrite { status, times } => format!(
            "DELETE FROM {conditions};
             INSERT INTO resource_conditions (resource_id, type, status, created_time, last_updated_time, last_transition_time)
             SELECT id, type, of_type.status, now(), now(), {times}
             FROM resources r, (VALUES ('Reconciled', '{status}'), ('DnsSuccessful', 'False')) AS of_type(type, status)
             WHERE id = '{id}'"
        ),
        Write::Strip => format!("DELETE FROM {conditions}"),
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

async fn pending(world: &mut World) -> BTreeSet<String> {
    let sql = "SELECT resource_id FROM unsettled_resources_now WHERE state = 'pending'";
    sqlx::query_scalar(sql).fetch_all(&mut world.connection).await.unwrap().into_iter().collect()
}

/// The record is wrong about what is pending.
const WRONG: &str = "
    SELECT count(*)
    FROM (SELECT * FROM unsettled_resources_now WHERE state = 'pending') AS n
    FULL JOIN (SELECT * FROM unsettled_resources WHERE state = 'pending') AS u ON u.resource_id = n.resource_id
    WHERE n IS DISTINCT FROM u";
/// It says nothing of one that lacks the condition: more than a condition that was True and is gone.
const UNSEEN: &str = "
    SELECT count(*)
    FROM unsettled_resources_now n
    WHERE n.state = 'missing'
        AND NOT EXISTS (SELECT FROM unsettled_resources u WHERE u.resource_id = n.resource_id AND u.state = 'missing')
        AND (EXISTS (SELECT FROM resource_conditions c WHERE c.resource_id = n.resource_id AND c.type = 'Reconciled')
            OR EXISTS (SELECT FROM unsettled_resources u WHERE u.resource_id = n.resource_id))";
/// It says that one lacks the condition that has it: more than a condition that is True with other times than a new one.
const UNHEALED: &str = "
    SELECT count(*)
    FROM unsettled_resources u
    JOIN resource_conditions c ON c.resource_id = u.resource_id AND c.type = 'Reconciled'
    WHERE u.state = 'missing' AND (c.status = 'False' OR (c.status = 'True' AND c.last_transition_time = c.last_updated_time))";

#[tokio::test]
async fn what_is_pending_is_on_record_and_counted_once() {
    let mut world = World::ours().await;
    let mut runner = TestRunner::deterministic();
    let mut counted = 0;
    for fleet in 0..FLEETS {
        let transactions = transactions().new_tree(&mut runner).unwrap().current();
        for (number, transaction) in transactions.iter().enumerate() {
            let mut before = pending(&mut world).await;
            let mut steps = String::new();
            for (resource, write, rolled_back) in transaction {
                let id = format!("f{fleet}r{resource}");
                let step = sql(&id, write);
                if *rolled_back {
                    steps += &format!("SAVEPOINT before; {step}; ROLLBACK TO before;\n");
                } else {
                    steps += &format!("{step};\n");
                    if matches!(write, Write::Remove) {
                        // What comes after it is another resource.
                        before.remove(&id);
                    }
                }
            }
            sqlx::raw_sql(AssertSqlSafe(format!("BEGIN; {steps} COMMIT")))
                .execute(&mut world.connection)
                .await
                .unwrap();
            counted += pending(&mut world).await.difference(&before).count();
            let total = world.number("SELECT coalesce(sum(total), 0)::bigint FROM reconciliation_transitions").await;
            let found = [world.number(WRONG).await, world.number(UNSEEN).await, world.number(UNHEALED).await];
            assert_eq!((found, total), ([0; 3], counted as i64), "transaction {number} of fleet {fleet}:\n{steps}");
        }
    }
    let config = world.config(KINDS);
    let store = Store::new(&config.database, &config.kinds);
    let limit = Duration::from_secs(5);
    assert_eq!(store.drift(limit).await.unwrap(), Some(0));
    let Finding::Drift(drift) = store.pass(limit).await.unwrap().finding else { panic!("there is a record") };
    assert_eq!(migrations::repair(&mut world.connection).await.unwrap() as u64, drift, "all that is wrong is seen");
    assert!(drift > 0, "nothing was lost");
    assert!(counted > 100, "only {counted} transitions");
}
