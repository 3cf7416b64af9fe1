//! Resources that lack the condition Reconciled.
//!
//! In: the kinds that are to have it. Out: how many lack it, or which, and on how many our record is wrong about that, where
//! there is one. It takes a pass over all resources to know, and on our schema whether scrapes may use the record. On tables
//! of rows the pass goes by the key in parts, each a transaction of its own: however many resources there are, no statement
//! lasts long, and no other reader waits long for its connection. A pass that fails in one part gives no answer.

use std::collections::BTreeMap;
use std::time::Duration;

use sqlx::postgres::{PgArguments, PgRow};
use sqlx::query::Query;
use sqlx::{PgConnection, Postgres, Row as _};

use super::documents::{self, Wanted};
use super::layout::Layout;
use super::resource::{from_row, order};
use super::snapshot::{allow_sequential_scans, now, query, unsigned};
use super::tables::Tables;
use super::{Doubt, Resource, Selection, Store, StoreError, Thresholds, verdict};

/// The last id of the part that begins after an id.
const PART: &str = "SELECT max(id) FROM (SELECT id FROM resources WHERE id > $1 ORDER BY id LIMIT $2) AS part";
/// The same of resources and record together, which may have what is gone.
const PART_WITH_RECORD: &str = "
    SELECT max(id)
    FROM (
        (SELECT id FROM resources WHERE id > $1 ORDER BY id LIMIT $2)
        UNION ALL
        (SELECT resource_id FROM unsettled_resources WHERE resource_id > $1 ORDER BY resource_id LIMIT $2)
        ORDER BY id
        LIMIT $2
    ) AS part";
/// So many are one part: about 0.04 to 0.07 s where everything is cached, and well below a second where nothing is.
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
    /// What lacks the condition.
    pub missing: Vec<Missing>,
    /// On how many resources our record is wrong about that; none where there is no record.
    pub drift: Option<u64>,
}

impl Store {
    /// Passes over all resources for missing conditions. `limit` is the time for each part.
    ///
    /// # Errors
    /// As [`snapshot`](Self::snapshot).
    pub async fn pass(&self, limit: Duration) -> Result<Pass, StoreError> {
        let layout = self.read(limit, async |connection: &mut PgConnection| self.detected(connection).await).await?;
        let unkept = self.doubts().unkept;
        let (missing, drift) = match &layout {
            Layout::Documents(tables) => (self.missing_in_documents(tables, limit).await?, None),
            layout if layout.has_record() => {
                let (missing, drift) = self.compared_in_parts(PART_SIZE, limit).await?;
                (missing, Some(drift))
            }
            Layout::Tracked | Layout::Rows { .. } => (self.missing_in_parts(PART_SIZE, limit).await?, None),
        };
        let mut doubts = self.doubts();
        if layout == Layout::Tracked && doubts.unkept == unkept {
            doubts.missing = drift.map_or(Doubt::Uncompared, verdict);
        }
        Ok(Pass { schema: layout.label(), missing, drift })
    }

    /// What our schema has on record.
    pub(super) async fn missing_on_record(&self, connection: &mut PgConnection) -> Result<Vec<Missing>, StoreError> {
        let thresholds = Thresholds::of(self.kinds().with_adapters());
        if thresholds.kinds.is_empty() {
            return Ok(Vec::new());
        }
        let mut missing = Counts::default();
        let rows = thresholds.put_to(sqlx::query(query::TRACKED_MISSING)).fetch_all(connection).await?;
        rows.iter().try_for_each(|row| missing.add(row))?;
        Ok(missing.into())
    }

    async fn missing_in_documents(&self, tables: &Tables, limit: Duration) -> Result<Vec<Missing>, StoreError> {
        self.read(limit, async |connection: &mut PgConnection| {
            allow_sequential_scans(connection).await?;
            let now = now(connection).await?;
            let mut missing = Counts::default();
            let is_to_have_it =
                |kind: &str| self.kinds().with_adapters().any(|with_adapters| with_adapters.name == kind);
            let tables: Vec<_> = tables.read.iter().filter(|table| is_to_have_it(&table.kind)).cloned().collect();
            documents::each(connection, &tables, Wanted::Missing, |row| {
                let threshold = self.kinds().stuck_after(&row.kind, row.deleting).as_secs_f64();
                if now - row.since > threshold {
                    *missing.0.entry((row.kind, row.deleting)).or_default() += 1;
                }
            })
            .await?;
            Ok(missing.into())
        })
        .await
    }

    /// Counts missing conditions on the API's schema, in parts of `size` resources.
    ///
    /// # Errors
    /// As [`snapshot`](Self::snapshot).
    pub async fn missing_in_parts(&self, size: i64, limit: Duration) -> Result<Vec<Missing>, StoreError> {
        let sql = format!("SELECT kind, deleting, count(*) FROM ({}) AS m GROUP BY 1, 2", query::MISSING_IN_PART);
        let mut missing = Counts::default();
        let question = || self.ask(&sql, &Selection::default());
        self.each_part(PART, question, size, limit, |rows| rows.iter().try_for_each(|row| missing.add(row))).await?;
        Ok(missing.into())
    }

    /// The same on our schema, and on how many resources the record is wrong about that.
    ///
    /// # Errors
    /// As [`snapshot`](Self::snapshot).
    pub async fn compared_in_parts(&self, size: i64, limit: Duration) -> Result<(Vec<Missing>, u64), StoreError> {
        let thresholds = Thresholds::of(self.kinds().with_adapters());
        let question = || thresholds.clone().put_to(sqlx::query(query::COMPARED_IN_PART));
        let (mut missing, mut drift) = (Counts::default(), 0);
        self.each_part(PART_WITH_RECORD, question, size, limit, |rows| {
            rows.iter().try_for_each(|row| {
                drift += unsigned(row, 3)?;
                missing.add(row)
            })
        })
        .await?;
        Ok((missing.into(), drift))
    }

    /// The oldest that lack the condition on the API's schema.
    pub(super) async fn list_missing_in_parts(
        &self,
        selection: &Selection,
        limit: Duration,
    ) -> Result<Vec<Resource>, StoreError> {
        let mut found: Vec<Resource> = Vec::new();
        if self.kinds().with_adapters().next().is_none() {
            return Ok(found);
        }
        let sql = format!("SELECT * FROM ({}) AS m ORDER BY since, id LIMIT $8", query::MISSING_IN_PART);
        self.each_part(
            PART,
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
    /// and the part's last, which `part` finds.
    async fn each_part<'q>(
        &self,
        part: &'static str,
        question: impl Fn() -> Query<'q, Postgres, PgArguments>,
        size: i64,
        limit: Duration,
        mut take: impl FnMut(Vec<PgRow>) -> Result<(), sqlx::Error>,
    ) -> Result<(), StoreError> {
        let mut after = String::new();
        loop {
            let next = self.read(limit, async |connection: &mut PgConnection| {
                let to: Option<String> =
                    sqlx::query_scalar(part).bind(&after).bind(size).fetch_one(&mut *connection).await?;
                let Some(to) = to else { return Ok(None) };
                let rows = question().bind(after.clone()).bind(to.clone()).fetch_all(connection).await?;
                Ok(Some((to, rows)))
            });
            let Some((to, rows)) = next.await? else { return Ok(()) };
            take(rows)?;
            after = to;
        }
    }
}

/// How many of each kind and flow.
#[derive(Default)]
struct Counts(BTreeMap<(String, bool), u64>);

impl Counts {
    /// Adds a row of kind, flow and count.
    fn add(&mut self, row: &PgRow) -> Result<(), sqlx::Error> {
        let count = unsigned(row, 2)?;
        if count > 0 {
            *self.0.entry((row.try_get(0)?, row.try_get(1)?)).or_default() += count;
        }
        Ok(())
    }
}

impl From<Counts> for Vec<Missing> {
    fn from(Counts(counts): Counts) -> Self {
        counts.into_iter().map(|((kind, deleting), count)| Missing { kind, deleting, count }).collect()
    }
}
