//! Resources that lack the condition Reconciled.
//!
//! In: the kinds that are to have it. Out: how many lack it, or which. On our schema that is on record, and a pass over all
//! resources says whether the record is right; elsewhere it takes that pass to know. On tables of rows the pass goes by
//! the key in parts, each a transaction of its own: however many resources there are, no statement lasts long, and no other
//! reader waits long for its connection. A pass that fails in one part gives no answer.

use std::collections::BTreeMap;
use std::time::Duration;

use sqlx::postgres::{PgArguments, PgRow};
use sqlx::query::Query;
use sqlx::{PgConnection, Postgres, Row as _};

use super::documents::{self, Wanted};
use super::layout::{Layout, detect};
use super::resource::{Texts, from_row, order};
use super::snapshot::{allow_sequential_scans, now, query, unsigned};
use super::tables::Tables;
use super::{Resource, Selection, Store, StoreError, Thresholds};

/// The last id of the part that begins after an id.
const PART: &str = "SELECT max(id) FROM (SELECT id FROM resources WHERE id > $1 ORDER BY id LIMIT $2) AS part";
/// So many resources are one part: about 0.05 s where everything is cached, and well below a second where nothing is.
const PART_SIZE: i64 = 10_000;

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

/// What a pass over all resources found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pass {
    /// The schema that was passed over: a [`Layout::label`].
    pub schema: &'static str,
    /// What is to be told of it.
    pub finding: Finding,
}

/// What a pass tells.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Finding {
    /// What lacks the condition, where nothing has that on record.
    Missing(Vec<Missing>),
    /// On how many resources our record is wrong about that.
    Drift(u64),
}

impl Store {
    /// Passes over all resources for missing conditions. `limit` is the time for each part.
    ///
    /// # Errors
    /// As [`snapshot`](Self::snapshot).
    pub async fn pass(&self, limit: Duration) -> Result<Pass, StoreError> {
        let layout =
            self.read(limit, async |connection: &mut PgConnection| detect(connection, self.kinds()).await).await?;
        let finding = match &layout {
            Layout::Documents(tables) => self.missing_in_documents(tables, limit).await.map(Finding::Missing),
            Layout::Rows { .. } => self.missing_in_parts(PART_SIZE, limit).await.map(Finding::Missing),
            Layout::Tracked => self.missing_drift_in_parts(PART_SIZE, limit).await.map(Finding::Drift),
        };
        Ok(Pass { schema: layout.label(), finding: finding? })
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

    async fn missing_in_documents(&self, tables: &Tables, limit: Duration) -> Result<Vec<Missing>, StoreError> {
        self.read(limit, async |connection: &mut PgConnection| {
            allow_sequential_scans(connection).await?;
            let now = now(connection).await?;
            let mut counts: BTreeMap<(String, bool), u64> = BTreeMap::new();
            let is_to_have_it =
                |kind: &str| self.kinds().with_adapters().any(|with_adapters| with_adapters.name == kind);
            let tables: Vec<_> = tables.read.iter().filter(|table| is_to_have_it(&table.kind)).cloned().collect();
            documents::each(connection, &tables, Wanted::Missing, Texts::Unread, |row| {
                let threshold = self.kinds().stuck_after(&row.kind, row.deleting).as_secs_f64();
                if now - row.since > threshold {
                    *counts.entry((row.kind, row.deleting)).or_default() += 1;
                }
            })
            .await?;
            Ok(as_missing(counts))
        })
        .await
    }

    /// Counts missing conditions on the API's schema, in parts of `size` resources.
    ///
    /// # Errors
    /// As [`snapshot`](Self::snapshot).
    pub async fn missing_in_parts(&self, size: i64, limit: Duration) -> Result<Vec<Missing>, StoreError> {
        let sql = format!("SELECT kind, deleting, count(*) FROM ({}) AS m GROUP BY 1, 2", query::MISSING_IN_PART);
        let mut counts: BTreeMap<(String, bool), u64> = BTreeMap::new();
        let question = || self.ask(&sql, &Selection::default());
        self.each_part(question, size, limit, |rows| {
            for row in rows {
                *counts.entry((row.try_get(0)?, row.try_get(1)?)).or_default() += unsigned(&row, 2)?;
            }
            Ok(())
        })
        .await?;
        Ok(as_missing(counts))
    }

    /// Compares our record with the conditions, in parts of `size` resources.
    ///
    /// # Errors
    /// As [`snapshot`](Self::snapshot).
    pub async fn missing_drift_in_parts(&self, size: i64, limit: Duration) -> Result<u64, StoreError> {
        let kinds: Vec<_> = self.kinds().with_adapters().map(|kind| kind.name.clone()).collect();
        let question = || sqlx::query(query::MISSING_DRIFT_IN_PART).bind(kinds.clone());
        let mut drift = 0;
        self.each_part(question, size, limit, |rows| {
            for row in rows {
                drift += unsigned(&row, 0)?;
            }
            Ok(())
        })
        .await?;
        Ok(drift)
    }

    /// The oldest that lack the condition on the API's schema.
    pub(super) async fn list_missing_in_parts(
        &self,
        selection: &Selection,
        limit: Duration,
    ) -> Result<Vec<Resource>, StoreError> {
        let sql = format!("SELECT * FROM ({}) AS m ORDER BY since, id LIMIT $8", query::MISSING_IN_PART);
        let mut found: Vec<Resource> = Vec::new();
        self.each_part(
            || self.ask(&sql, selection),
            PART_SIZE,
            limit,
            |rows| {
                for row in &rows {
                    found.push(from_row(row)?);
                }
                found.sort_by(order);
                found.truncate(selection.limit as usize);
                Ok(())
            },
        )
        .await?;
        Ok(found)
    }

    /// Puts a question to one part of the resources after the other: its last two parameters are the id before the part,
    /// and the part's last.
    async fn each_part<'q>(
        &self,
        question: impl Fn() -> Query<'q, Postgres, PgArguments>,
        size: i64,
        limit: Duration,
        mut take: impl FnMut(Vec<PgRow>) -> Result<(), sqlx::Error>,
    ) -> Result<(), StoreError> {
        let mut after = String::new();
        loop {
            let part = self.read(limit, async |connection: &mut PgConnection| {
                let to: Option<String> =
                    sqlx::query_scalar(PART).bind(&after).bind(size).fetch_one(&mut *connection).await?;
                let Some(to) = to else { return Ok(None) };
                let rows = question().bind(after.clone()).bind(to.clone()).fetch_all(connection).await?;
                Ok(Some((to, rows)))
            });
            let Some((to, rows)) = part.await? else { return Ok(()) };
            take(rows)?;
            after = to;
        }
    }
}

fn as_missing(counts: BTreeMap<(String, bool), u64>) -> Vec<Missing> {
    counts.into_iter().map(|((kind, deleting), count)| Missing { kind, deleting, count }).collect()
}
