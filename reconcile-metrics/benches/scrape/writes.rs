//! What the triggers cost the API's most frequent write: an adapter's report, which rewrites all conditions, most often as they
//! were.

use std::fmt;
use std::time::Instant;

use sqlx::{PgConnection, Row as _};

use crate::timing::Timing;
use crate::{Arguments, fleet, run};

const ROUNDS: u64 = 80;
const TRANSACTIONS: u64 = 75;
const DAYS: u64 = 24;
const ADAPTERS: [&str; 4] = ["hypershift", "validation", "dns", "pullsecret"];

/// Reports that are measured together.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Reports {
    /// They leave the conditions as they were.
    Unchanged,
    /// The same, where nothing was reported since the conditions have changed: their update is their transition.
    Unreported,
    /// They turn all conditions around, and back.
    Changed,
    /// All that a resource gets in a day on which its generation changes once.
    Day,
}

/// What one report does to the conditions.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Step {
    /// Nothing: they are written again as they were.
    Keep,
    /// It is the last of the reports that the update's time waited for.
    Renew,
    /// They have this status from now on.
    Turn(&'static str),
}

/// What resources are written to, and how.
struct Case<'a> {
    name: &'static str,
    rounds: u64,
    /// How many resources a round writes to, with triggers and without.
    resources: u64,
    resource: &'a dyn Fn(u64) -> u64,
    /// What each of them gets.
    steps: Vec<Step>,
}

/// The same writes with and without triggers.
pub(crate) struct Writes {
    reports: Reports,
    pub(crate) transactions: u64,
    pairs: Vec<(String, Pair)>,
}

/// Times with and without.
#[derive(Default)]
struct Pair {
    with: Timing,
    without: Timing,
    /// What one round took with triggers for each unit of time that it took without.
    ratios: Vec<f64>,
}

impl Pair {
    /// The median of the rounds: the machine is another one from minute to minute, and hardly within a round.
    fn percent(&self) -> f64 {
        let mut ratios = self.ratios.clone();
        ratios.sort_unstable_by(f64::total_cmp);
        (ratios[ratios.len() / 2] - 1.0) * 100.0
    }
}

impl Writes {
    /// The most that triggers add to one of the cases, in percent.
    pub(crate) fn most_percent(&self) -> f64 {
        self.pairs.iter().map(|(_, pair)| pair.percent()).fold(f64::NEG_INFINITY, f64::max)
    }
}

impl fmt::Display for Writes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let what = match self.reports {
            Reports::Unchanged => "A report that changes nothing",
            Reports::Unreported => "A report on an older generation, that changes nothing",
            Reports::Changed => "A report that changes everything",
            Reports::Day => "The reports of a day on which the generation changes",
        };
        writeln!(f, "| {what} | p50 | p99 | max | median of the rounds |\n| --- | --- | --- | --- | --- |")?;
        for (name, pair) in &self.pairs {
            writeln!(f, "| {name}, without triggers | {} | |", pair.without)?;
            writeln!(f, "| {name}, with triggers | {} | {:+.1} % |", pair.with, pair.percent())?;
        }
        Ok(())
    }
}

/// A day on which the generation changes once: four adapters report on each event, the Sentinel sends one every ten
/// seconds until the resource is reconciled, which takes five minutes, and one every half hour from then on. The update's
/// time is that of the oldest report on the generation, so after each change it stands still for three reports.
fn day() -> Vec<Step> {
    let follows = |status, events: usize| {
        let kept = std::iter::repeat_n(Step::Keep, ADAPTERS.len() - 1);
        let renewed = std::iter::repeat_n(Step::Renew, (events - 1) * ADAPTERS.len() + 1);
        std::iter::once(Step::Turn(status)).chain(kept).chain(renewed)
    };
    follows("False", 30).chain(follows("True", 47)).collect()
}

/// Transaction by transaction in turns, so that neither side has the better machine. `bare` fires none of our triggers,
/// and is ready for that by `pass_triggers`.
pub(crate) async fn compare(
    connection: &mut PgConnection,
    bare: &mut PgConnection,
    fleet: &Arguments,
    reports: Reports,
) -> Writes {
    let mut writes = Writes { reports, transactions: 0, pairs: Vec::new() };
    let everything = |nth: u64| nth * 104_729 % fleet.resources + 1;
    let unreconciled = |nth: u64| fleet::unreconciled(nth * 7_919, fleet);
    let each =
        |name, resource, step| Case { name, rounds: ROUNDS, resources: TRANSACTIONS, resource, steps: vec![step] };
    let cases: Vec<Case<'_>> = match reports {
        Reports::Unchanged => {
            vec![each("any resource", &everything, Step::Keep), each("one that is pending", &unreconciled, Step::Keep)]
        }
        Reports::Unreported => {
            let sql = "UPDATE resource_conditions SET last_updated_time = last_transition_time WHERE status = 'False'";
            run(connection, sql).await;
            run(connection, "VACUUM resource_conditions").await;
            vec![each("one that is pending", &unreconciled, Step::Keep)]
        }
        // The second one finds what the first one left.
        Reports::Changed => vec![
            each("to False", &everything, Step::Turn("False")),
            each("back to True", &everything, Step::Turn("True")),
        ],
        Reports::Day => {
            vec![Case { name: "any resource", rounds: DAYS, resources: 1, resource: &everything, steps: day() }]
        }
    };
    for (commits, mode) in [("durable commits", "on"), ("synchronous_commit = off", "off")] {
        for connection in [&mut *connection, &mut *bare] {
            run(connection, &format!("SET synchronous_commit = {mode}")).await;
        }
        for case in &cases {
            let pair = measure(connection, bare, case).await;
            writes.transactions += 2 * case.rounds * case.resources * case.steps.len() as u64;
            writes.pairs.push((format!("{}, {commits}", case.name), pair));
        }
    }
    writes
}

async fn measure(connection: &mut PgConnection, bare: &mut PgConnection, case: &Case<'_>) -> Pair {
    let mut pair = Pair::default();
    for round in 0..case.rounds {
        let (mut with, mut without) = (Timing::default(), Timing::default());
        for nth in 0..case.resources {
            for (at, step) in case.steps.iter().enumerate() {
                for turn in 0..2 {
                    // Who comes first turns around, too.
                    let side = (nth + at as u64 + turn) % 2;
                    let n = (case.resource)((round * 2 + side) * case.resources + nth);
                    let begun = Instant::now();
                    if side == 0 {
                        report(connection, n, at, *step).await;
                        with.add(begun.elapsed());
                    } else {
                        report(bare, n, at, *step).await;
                        without.add(begun.elapsed());
                    }
                }
            }
        }
        pair.ratios.push(if case.steps.len() == 1 {
            with.quantile(0.5) / without.quantile(0.5)
        } else {
            // The few that are dear count for what they are.
            with.sum() / without.sum()
        });
        pair.with.append(with);
        pair.without.append(without);
    }
    pair
}

/// From now on triggers pass this connection by, except those of foreign keys, which the API's schema has as well.
pub(crate) async fn pass_triggers(bare: &mut PgConnection) {
    let keys = "SELECT tgrelid::regclass::text, quote_ident(tgname) FROM pg_trigger WHERE tgisinternal";
    let keys: Vec<(String, String)> = sqlx::query_as(keys).fetch_all(&mut *bare).await.unwrap();
    for (table, trigger) in keys {
        run(bare, &format!("ALTER TABLE {table} ENABLE ALWAYS TRIGGER {trigger}")).await;
    }
    run(bare, "SET session_replication_role = replica").await;
}

/// The `nth` report on resource `n`, statement by statement as the API's server sends them.
async fn report(connection: &mut PgConnection, n: u64, nth: usize, step: Step) {
    let id = format!("0198f1c2-7a00-7000-8000-{n:012x}");
    let kind = if n.is_multiple_of(5) { "Cluster" } else { "NodePool" };
    run(connection, "BEGIN").await;
    sqlx::query("SELECT * FROM resources WHERE id = $1 FOR UPDATE")
        .bind(&id)
        .fetch_one(&mut *connection)
        .await
        .unwrap();
    sqlx::query(
        "INSERT INTO adapter_statuses (id, resource_type, resource_id, adapter, observed_generation, last_report_time, conditions)
         VALUES ($3 || $2, $1, $2, $3, 1, now(), '[{\"type\": \"Available\", \"status\": \"True\"}]')
         ON CONFLICT (resource_type, resource_id, adapter) DO UPDATE SET last_report_time = excluded.last_report_time",
    )
    .bind(kind)
    .bind(&id)
    .bind(ADAPTERS[nth % ADAPTERS.len()])
    .execute(&mut *connection)
    .await
    .unwrap();
    sqlx::query("SELECT * FROM adapter_statuses WHERE resource_type = $1 AND resource_id = $2")
        .bind(kind)
        .bind(&id)
        .fetch_all(&mut *connection)
        .await
        .unwrap();
    let conditions: Vec<[String; 8]> = sqlx::query(
        "SELECT type, status, reason, message, observed_generation::text, created_time::text, last_updated_time::text,
             last_transition_time::text
         FROM resource_conditions WHERE resource_id = $1",
    )
    .bind(&id)
    .fetch_all(&mut *connection)
    .await
    .unwrap()
    .iter()
    .map(|row| std::array::from_fn(|column| row.get(column)))
    .collect();
    // Deleted and inserted again, which is what the API does with every condition.
    sqlx::query("DELETE FROM resource_conditions WHERE resource_id = $1")
        .bind(&id)
        .execute(&mut *connection)
        .await
        .unwrap();
    let mut insert = sqlx::query(
        "INSERT INTO resource_conditions (resource_id, type, status, reason, message, observed_generation,
             created_time, last_updated_time, last_transition_time)
         SELECT $1, type, coalesce($10, status), reason, message, generation::int, created::timestamptz,
             CASE WHEN $11 THEN now() ELSE updated::timestamptz END,
             CASE WHEN $10 IS NOT NULL THEN now() ELSE transition::timestamptz END
         FROM unnest($2::text[], $3::text[], $4::text[], $5::text[], $6::text[], $7::text[], $8::text[], $9::text[])
             AS c(type, status, reason, message, generation, created, updated, transition)",
    )
    .bind(&id);
    for column in 0..8 {
        insert = insert.bind(conditions.iter().map(|condition| condition[column].clone()).collect::<Vec<_>>());
    }
    let status = match step {
        Step::Turn(status) => Some(status),
        Step::Keep | Step::Renew => None,
    };
    insert.bind(status).bind(step != Step::Keep).execute(&mut *connection).await.unwrap();
    run(connection, "COMMIT").await;
}
