//! What the triggers cost the API's most frequent write: an adapter's report, which rewrites all conditions, most often as they
//! were.

use std::fmt;
use std::time::Instant;

use sqlx::{PgConnection, Row as _};

use crate::timing::Timing;
use crate::{Arguments, fleet, run};

const ROUNDS: u64 = 80;
const TRANSACTIONS: u64 = 75;

/// What a report does.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Report {
    /// It leaves the conditions as they were.
    Unchanged,
    /// The same, where nothing was reported since the conditions have changed: their update is their transition.
    Unreported,
    /// It turns all of them around.
    Changed,
}

/// The same writes with and without triggers.
pub(crate) struct Writes {
    report: Report,
    pub(crate) transactions: u64,
    pairs: Vec<(String, Pair)>,
}

/// Times with and without.
#[derive(Default)]
struct Pair {
    with: Timing,
    without: Timing,
    /// What one round took with triggers for each unit of time that it took without, at the median.
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

impl fmt::Display for Writes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let what = match self.report {
            Report::Unchanged => "A report that changes nothing",
            Report::Unreported => "A report on an older generation, that changes nothing",
            Report::Changed => "A report that changes everything",
        };
        writeln!(f, "| {what} | p50 | p99 | max | median of the rounds |\n| --- | --- | --- | --- | --- |")?;
        for (name, pair) in &self.pairs {
            writeln!(f, "| {name}, without triggers | {} | |", pair.without)?;
            writeln!(f, "| {name}, with triggers | {} | {:+.1} % |", pair.with, pair.percent())?;
        }
        Ok(())
    }
}

/// In turns, so that neither side has the better machine.
pub(crate) async fn compare(connection: &mut PgConnection, fleet: &Arguments, what: Report) -> Writes {
    let mut writes = Writes { report: what, transactions: 0, pairs: Vec::new() };
    let everything = |nth: u64| nth * 104_729 % fleet.resources + 1;
    let unreconciled = |nth: u64| fleet::unreconciled(nth * 7_919, fleet);
    let any: (&str, &dyn Fn(u64) -> u64) = ("any resource", &everything);
    let pending: (&str, &dyn Fn(u64) -> u64) = ("one that is pending", &unreconciled);
    let populations = match what {
        Report::Unchanged => vec![any, pending],
        Report::Unreported => {
            let sql = "UPDATE resource_conditions SET last_updated_time = last_transition_time WHERE status = 'False'";
            run(connection, sql).await;
            run(connection, "VACUUM resource_conditions").await;
            vec![pending]
        }
        Report::Changed => vec![any],
    };
    for (commits, mode) in [("durable commits", "on"), ("synchronous_commit = off", "off")] {
        run(connection, &format!("SET synchronous_commit = {mode}")).await;
        for (population, id) in &populations {
            let mut pair = Pair::default();
            for round in 0..ROUNDS {
                let (mut with, mut without) = (Timing::default(), Timing::default());
                for step in 0..2 {
                    // The order turns around, too.
                    let enabled = (round + step) % 2 == 0;
                    switch(connection, enabled).await;
                    let timing = if enabled { &mut with } else { &mut without };
                    for n in 0..TRANSACTIONS {
                        let n = id((round * 2 + step) * TRANSACTIONS + n);
                        let begun = Instant::now();
                        report(connection, n, what).await;
                        timing.add(begun.elapsed());
                        writes.transactions += 1;
                    }
                }
                pair.ratios.push(with.quantile(0.5) / without.quantile(0.5));
                pair.with.append(with);
                pair.without.append(without);
            }
            writes.pairs.push((format!("{population}, {commits}"), pair));
        }
    }
    switch(connection, true).await;
    run(connection, "SET synchronous_commit = on").await;
    writes
}

async fn switch(connection: &mut PgConnection, enabled: bool) {
    let word = if enabled { "ENABLE" } else { "DISABLE" };
    run(connection, &format!("ALTER TABLE resource_conditions {word} TRIGGER reconciled_written")).await;
}

/// One report, statement by statement as the API's server sends them.
async fn report(connection: &mut PgConnection, n: u64, what: Report) {
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
         VALUES ('x' || $2, $1, $2, 'hypershift', 1, now(), '[{\"type\": \"Available\", \"status\": \"True\"}]')
         ON CONFLICT (resource_type, resource_id, adapter) DO UPDATE SET last_report_time = excluded.last_report_time",
    )
    .bind(kind)
    .bind(&id)
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
         SELECT $1, type,
             CASE WHEN NOT $10 THEN status WHEN status = 'True' THEN 'False' ELSE 'True' END,
             reason, message, generation::int, created::timestamptz,
             CASE WHEN $10 THEN now() ELSE updated::timestamptz END,
             CASE WHEN $10 THEN now() ELSE transition::timestamptz END
         FROM unnest($2::text[], $3::text[], $4::text[], $5::text[], $6::text[], $7::text[], $8::text[], $9::text[])
             AS c(type, status, reason, message, generation, created, updated, transition)",
    )
    .bind(&id);
    for column in 0..8 {
        insert = insert.bind(conditions.iter().map(|condition| condition[column].clone()).collect::<Vec<_>>());
    }
    insert.bind(what == Report::Changed).execute(&mut *connection).await.unwrap();
    run(connection, "COMMIT").await;
}
