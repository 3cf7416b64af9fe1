//! Measures what the indexes cost the API's most frequent write: an adapter's report, which rewrites all conditions.

use std::time::Instant;

use sqlx::{PgConnection, Row as _};

use crate::timing::Timing;
use crate::{Arguments, run};

/// The number of reports on each database.
const REPORTS: u64 = 6_000;
/// One of this many reports changes the status of the conditions; the other reports rewrite them unchanged.
const TURNS: u64 = 10;

/// Measures reports without and with indexes, alternately, so that load on the machine affects both equally.
pub(crate) async fn compare(
    bare: &mut PgConnection,
    indexed: &mut PgConnection,
    fleet: &Arguments,
) -> (Timing, Timing) {
    let (mut without, mut with) = (Timing::default(), Timing::default());
    for nth in 0..REPORTS {
        let n = nth * 104_729 % fleet.resources + 1;
        for turn in 0..2 {
            // Alternate which database comes first, too.
            let is_indexed = (nth + turn) % 2 == 0;
            let (connection, timing) = if is_indexed { (&mut *indexed, &mut with) } else { (&mut *bare, &mut without) };
            let begun = Instant::now();
            report(connection, n, nth % TURNS == 0).await;
            timing.add(begun.elapsed());
        }
    }
    (without, with)
}

/// Sends many reports on one connection, without a VACUUM afterwards.
pub(crate) async fn many(connection: &mut PgConnection, fleet: &Arguments, reports: u64) {
    run(connection, "SET synchronous_commit = off").await;
    for nth in 0..reports {
        report(connection, nth * 7_919 % fleet.resources + 1, false).await;
    }
    run(connection, "RESET synchronous_commit").await;
}

/// Sends a report on resource `n`, with the API's own statements. If `turns`, it changes the status and changes it back, so that
/// the number of unreconciled resources stays.
async fn report(connection: &mut PgConnection, n: u64, turns: bool) {
    let id = format!("0198f1c2-7a00-7000-8000-{n:012x}");
    let kind = if n.is_multiple_of(5) { "Cluster" } else { "NodePool" };
    for _ in 0..if turns { 2 } else { 1 } {
        run(connection, "BEGIN").await;
        let resource = sqlx::query("SELECT * FROM resources WHERE id = $1 FOR UPDATE").bind(&id);
        resource.fetch_one(&mut *connection).await.unwrap();
        sqlx::query(
            "INSERT INTO adapter_statuses (id, resource_type, resource_id, adapter, observed_generation, last_report_time, conditions)
             VALUES ('hypershift' || $2, $1, $2, 'hypershift', 1, now(), '[{\"type\": \"Available\", \"status\": \"True\"}]')
             ON CONFLICT (resource_type, resource_id, adapter) DO UPDATE SET last_report_time = excluded.last_report_time",
        )
        .bind(kind)
        .bind(&id)
        .execute(&mut *connection)
        .await
        .unwrap();
        let columns =
            "type, status, reason, message, observed_generation::text, created_time::text, last_transition_time::text";
        let conditions: Vec<[String; 7]> = sqlx::query(sqlx::AssertSqlSafe(format!(
            "SELECT {columns} FROM resource_conditions WHERE resource_id = $1"
        )))
        .bind(&id)
        .fetch_all(&mut *connection)
        .await
        .unwrap()
        .iter()
        .map(|row| std::array::from_fn(|column| row.get(column)))
        .collect();
        // The API deletes and inserts all conditions for every report.
        let delete = sqlx::query("DELETE FROM resource_conditions WHERE resource_id = $1").bind(&id);
        delete.execute(&mut *connection).await.unwrap();
        let mut insert = sqlx::query(
            "INSERT INTO resource_conditions (resource_id, type, status, reason, message, observed_generation,
                 created_time, last_updated_time, last_transition_time)
             SELECT $1, type, CASE WHEN NOT $9 THEN status WHEN status = 'True' THEN 'False' ELSE 'True' END,
                 reason, message, generation::int, created::timestamptz, now(), transition::timestamptz
             FROM unnest($2::text[], $3::text[], $4::text[], $5::text[], $6::text[], $7::text[], $8::text[])
                 AS c(type, status, reason, message, generation, created, transition)",
        )
        .bind(&id);
        for column in 0..7 {
            insert = insert.bind(conditions.iter().map(|condition| condition[column].clone()).collect::<Vec<_>>());
        }
        insert.bind(turns).execute(&mut *connection).await.unwrap();
        run(connection, "COMMIT").await;
    }
}
