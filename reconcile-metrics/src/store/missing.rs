//! Resources that lack the condition Reconciled.
//!
//! In: the kinds that are to have it. Out: how many lack it, or which. On our schema that is on record; elsewhere it takes
//! a pass over all resources. On the API's schema the pass goes by the key in parts, each a transaction of its own: however
//! many resources there are, no statement lasts long, and no other reader waits long for its connection. A pass that fails
//! in one part gives no answer.

use std::collections::BTreeMap;
use std::time::Duration;

use sqlx::postgres::{PgArguments, PgRow};
use sqlx::query::Query;
use sqlx::{PgConnection, Postgres, Row as _};

use super::documents::{self, Wanted};
use super::layout::{Layout, detect};
use super::resource::{Texts, from_row, order};
use super::snapshot::{allow_sequential_scans, now, query, unsigned};
use super::{Resource, Selection, Store, StoreError, Thresholds};

const ROWS_STUCK_MISSING: &str = include_str!("sql/rows_stuck_missing.sql");
/// The last id of the part that begins after an id.
const PART: &str = "SELECT max(id) FROM (SELECT id FROM resources WHERE id > $1 ORDER BY id LIMIT $2) AS part";
/// So many resources are one part: about 0.1 s where everything is cached.
const PART_SIZE: i64 = 50_000;

/// Resources without a condition Reconciled, past their threshold.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Missing {
    /// The kind as written.
    pub kind: String,
    /// Whether they are being deleted.
    pub deleting: bool,
    /// How many they are.
    pub count: u64,
}

impl Store {
    /// Counts missing conditions by a pass over all resources; on our schema a snapshot has them already. `limit` is the
    /// time for each part of the pass.
    ///
    /// # Errors
    /// As [`snapshot`](Self::snapshot).
    pub async fn missing(&self, limit: Duration) -> Result<Vec<Missing>, StoreError> {
        let found = self
            .read(limit, async |connection: &mut PgConnection| match detect(connection, self.kinds()).await? {
                Layout::Tracked => self.missing_on_record(connection).await.map(Some),
                Layout::Documents(tables) => self.missing_in_documents(connection, &tables.read).await.map(Some),
                Layout::Rows { .. } => Ok(None),
            })
            .await?;
        match found {
            Some(found) => Ok(found),
            None => self.missing_in_parts(PART_SIZE, limit).await,
        }
    }

    /// What our schema has on record.
    pub(super) async fn missing_on_record(&self, connection: &mut PgConnection) -> Result<Vec<Missing>, StoreError> {
        let thresholds = Thresholds::of(self.kinds().with_adapters());
        if thresholds.kinds.is_empty() {
            return Ok(Vec::new());
        }
        let rows = sqlx::query(query::TRACKED_MISSING)
            .bind(thresholds.kinds)
            .bind(thresholds.live)
            .bind(thresholds.deletion)
            .fetch_all(connection)
            .await?;
        let missing = rows
            .iter()
            .map(|row| Ok(Missing { kind: row.try_get(0)?, deleting: row.try_get(1)?, count: unsigned(row, 2)? }));
        Ok(missing.collect::<Result<_, sqlx::Error>>()?)
    }

    async fn missing_in_documents(
        &self,
        connection: &mut PgConnection,
        tables: &[super::DocumentTable],
    ) -> Result<Vec<Missing>, StoreError> {
        allow_sequential_scans(connection).await?;
        let now = now(connection).await?;
        let mut counts: BTreeMap<(String, bool), u64> = BTreeMap::new();
        let of_kinds: Vec<_> = self.kinds().with_adapters().map(|kind| kind.name.clone()).collect();
        let tables: Vec<_> = tables.iter().filter(|table| of_kinds.contains(&table.kind)).cloned().collect();
        documents::each(connection, &tables, Wanted::Missing, Texts::Unread, |row| {
            let threshold = self.kinds().stuck_after(&row.kind, row.deleting).as_secs_f64();
            if now - row.since > threshold {
                *counts.entry((row.kind, row.deleting)).or_default() += 1;
            }
        })
        .await?;
        Ok(as_missing(counts))
    }

    /// A pass over the API's schema.
    ///
    /// # Errors
    /// As [`snapshot`](Self::snapshot).
    pub async fn missing_in_parts(&self, size: i64, limit: Duration) -> Result<Vec<Missing>, StoreError> {
        let thresholds = Thresholds::of(self.kinds().with_adapters());
        let mut counts: BTreeMap<(String, bool), u64> = BTreeMap::new();
        let mut after = String::new();
        let ask = || {
            let Thresholds { kinds, live, deletion } = thresholds.clone();
            sqlx::query(query::ROWS_MISSING).bind(kinds).bind(live).bind(deletion)
        };
        while let Some((to, rows)) = self.part(ask(), &after, size, limit).await? {
            for row in rows {
                *counts.entry((row.try_get(0)?, row.try_get(1)?)).or_default() += unsigned(&row, 2)?;
            }
            after = to;
        }
        Ok(as_missing(counts))
    }

    /// The oldest that lack the condition, by a pass over the API's schema.
    pub(super) async fn list_missing_in_parts(
        &self,
        selection: &Selection,
        limit: Duration,
    ) -> Result<Vec<Resource>, StoreError> {
        let mut found: Vec<Resource> = Vec::new();
        let mut after = String::new();
        let ask = || self.ask(ROWS_STUCK_MISSING, selection);
        while let Some((to, rows)) = self.part(ask(), &after, PART_SIZE, limit).await? {
            for row in &rows {
                found.push(from_row(row)?);
            }
            found.sort_by(order);
            found.truncate(selection.limit as usize);
            after = to;
        }
        Ok(found)
    }

    /// Puts a question to the part that begins after an id: the part's last id, and the answer. None after the last part.
    async fn part(
        &self,
        question: Query<'static, Postgres, PgArguments>,
        after: &str,
        size: i64,
        limit: Duration,
    ) -> Result<Option<(String, Vec<PgRow>)>, StoreError> {
        self.read(limit, async |connection: &mut PgConnection| {
            let to: Option<String> =
                sqlx::query_scalar(PART).bind(after).bind(size).fetch_one(&mut *connection).await?;
            let Some(to) = to else { return Ok(None) };
            let rows = question.bind(after.to_owned()).bind(to.clone()).fetch_all(connection).await?;
            Ok(Some((to, rows)))
        })
        .await
    }
}

fn as_missing(counts: BTreeMap<(String, bool), u64>) -> Vec<Missing> {
    counts.into_iter().map(|((kind, deleting), count)| Missing { kind, deleting, count }).collect()
}
