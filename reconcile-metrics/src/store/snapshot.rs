//! What a scrape asks, in one statement.
//!
//! In: the edges between ages. Out: what is pending, and how old a standby is. The statement needs two indexes and no table: see
//! [`crate::prepare`].

use std::time::Duration;

use sqlx::postgres::PgRow;
use sqlx::{PgConnection, Row as _};

use super::connections::Reader;
use super::{Store, StoreError, unsigned};
use crate::figures::{Edges, Group};

/// The statement, for tests that read its plan and for the benchmark.
pub const PENDING: &str = include_str!("sql/pending.sql");

/// One reading of the database.
#[derive(Debug, Clone, PartialEq)]
pub struct Snapshot {
    /// How long ago the newest transaction was committed that a standby has replayed, in seconds; 0 on a primary. None where a
    /// standby cannot say.
    pub standby_age: Option<f64>,
    /// What is pending.
    pub groups: Vec<Group>,
}

impl Snapshot {
    /// The kinds in it, as written.
    pub fn kinds(&self) -> impl Iterator<Item = &str> + Clone {
        self.groups.iter().map(|group| group.kind.as_str())
    }
}

impl Store {
    /// Takes a snapshot.
    ///
    /// # Errors
    /// The database did not answer, or the role cannot read the tables.
    pub async fn snapshot(&self, edges: &Edges, limit: Duration) -> Result<Snapshot, StoreError> {
        self.read(Reader::Scrape, limit, async |connection: &mut PgConnection| {
            let rows = sqlx::query(PENDING).bind(edges.as_slice()).fetch_all(connection).await?;
            let standby_age: Option<f64> = rows.first().map(|row| row.try_get(0)).transpose()?.flatten();
            let groups = rows.iter().filter_map(|row| group(row).transpose()).collect::<Result<_, _>>()?;
            // The standby may replay transactions while the statement runs that are newer than its beginning.
            Ok(Snapshot { standby_age: standby_age.map(|age| age.max(0.0)), groups })
        })
        .await
    }
}

/// A row; the only one has no kind where nothing is pending.
fn group(row: &PgRow) -> Result<Option<Group>, sqlx::Error> {
    let Some(kind) = row.try_get(1)? else { return Ok(None) };
    Ok(Some(Group {
        kind,
        deleting: row.try_get(2)?,
        band: usize::try_from(row.try_get::<i32, _>(3)?).unwrap_or_default(),
        count: unsigned(row, 4)?,
        oldest: row.try_get(5)?,
        age_sum: row.try_get(6)?,
        undated: unsigned(row, 7)?,
        future: unsigned(row, 8)?,
    }))
}
