//! Reads the figures of a scrape, with one statement.
//!
//! In: the bounds of the intervals of age. Out: the number of pending resources by kind, deletion and interval, and the age
//! of a standby. Fails: with a [`StoreError`]. With the indexes of [`crate::prepare`] the statement reads no table.

use std::time::Duration;

use sqlx::postgres::PgRow;
use sqlx::{PgConnection, Row as _};

use super::connections::Reader;
use super::{Store, StoreError, unsigned};
use crate::figures::{Bounds, Group};

/// The statement; public for tests that check its plan, and for the benchmark.
pub const PENDING: &str = include_str!("sql/pending.sql");

/// The result of one statement.
#[derive(Debug, Clone, PartialEq)]
pub struct Snapshot {
    /// On a standby, the seconds since the commit of the newest transaction that it has replayed, or `None` if it has
    /// replayed none; 0 on a primary.
    pub standby_age: Option<f64>,
    /// The resources that are not yet reconciled, counted by kind and age.
    pub groups: Vec<Group>,
}

impl Snapshot {
    /// Returns the kinds of pending resources, as the API writes them.
    pub fn kinds(&self) -> impl Iterator<Item = &str> + Clone {
        self.groups.iter().map(|group| group.kind.as_str())
    }
}

impl Store {
    /// Runs the statement.
    ///
    /// # Errors
    /// See [`StoreError`].
    pub async fn snapshot(&self, bounds: &Bounds, limit: Duration) -> Result<Snapshot, StoreError> {
        self.read(Reader::Scrape, limit, async |connection: &mut PgConnection| {
            let rows = sqlx::query(PENDING).bind(bounds.as_slice()).fetch_all(connection).await?;
            let standby_age: Option<f64> = rows.first().map(|row| row.try_get("standby_age")).transpose()?.flatten();
            let groups = rows.iter().filter_map(|row| group(row).transpose()).collect::<Result<_, _>>()?;
            // The standby may replay a transaction that is newer than the beginning of the statement, which gives a negative
            // age.
            Ok(Snapshot { standby_age: standby_age.map(|age| age.max(0.0)), groups })
        })
        .await
    }
}

/// Converts a row. If nothing is pending, the only row has no kind, and there is no group.
fn group(row: &PgRow) -> Result<Option<Group>, sqlx::Error> {
    let Some(kind) = row.try_get("kind")? else { return Ok(None) };
    Ok(Some(Group {
        kind,
        deleting: row.try_get("deleting")?,
        bucket: usize::try_from(row.try_get::<i32, _>("bucket")?).unwrap_or_default(),
        count: unsigned(row, "resources")?,
        oldest: row.try_get("oldest")?,
        age_sum: row.try_get("age_sum")?,
        undated: unsigned(row, "undated")?,
        future: unsigned(row, "future")?,
    }))
}
