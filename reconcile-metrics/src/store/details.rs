//! Reads stuck resources with the reports of their adapters, and stalled deletions.
//!
//! In: a selection. Out: the oldest matching resources, all from one snapshot of the database. Fails: with a
//! [`StoreError`]. [`crate::diagnosis`] then finds the adapters that a resource waits on.

use std::collections::BTreeSet;
use std::time::Duration;

use sqlx::{AssertSqlSafe, PgConnection, Row as _};

use super::connections::Reader;
use super::resource::{ancestors, from_row, reports, texts};
use super::{Resource, Store, StoreError, unsigned};

const STUCK: &str = include_str!("sql/stuck.sql");
const STALLED: &str = include_str!("sql/stalled.sql");

/// A filter for the list of stuck resources: what `stuck` and `/stuck` ask for.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Selection {
    /// Stuck resources or stalled deletions.
    pub trouble: Trouble,
    /// Reads only resources of this kind, in any case.
    pub kind: Option<String>,
    /// Reads only resources that are being deleted if true, and only the others if false.
    pub deleting: Option<bool>,
    /// The most resources to read, the oldest first.
    pub limit: u32,
}

/// Why a resource is listed. A resource is never both.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Trouble {
    /// The resource's condition Reconciled has been False for longer than the threshold.
    #[default]
    Stuck,
    /// The resource's deletion was requested longer ago than the threshold, and its condition Reconciled is
    /// not False.
    Stalled,
}

/// The rows from which the background reading computes its figures.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Details {
    /// The oldest stuck resources, up to the limit.
    pub stuck: Vec<Resource>,
    /// Whether more resources are stuck.
    pub truncated: bool,
    /// The number of all stalled deletions, by kind.
    pub stalled: Vec<Stalled>,
}

/// The number of stalled deletions of one kind.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stalled {
    /// The kind, as the API writes it.
    pub kind: String,
    /// The number of stalled deletions of this kind.
    pub count: u64,
}

impl Store {
    /// Reads the selected resources, the oldest first. `shown` returns the indexes of those whose reasons and messages are to
    /// be read too.
    ///
    /// # Errors
    /// See [`StoreError`].
    pub async fn list(
        &self,
        selection: &Selection,
        limit: Duration,
        shown: impl Fn(&[Resource]) -> BTreeSet<usize>,
    ) -> Result<Vec<Resource>, StoreError> {
        self.read(Reader::Background, limit, async |connection: &mut PgConnection| {
            let mut found = self.select(connection, selection).await?;
            reports(connection, &mut found).await?;
            ancestors(connection, &mut found).await?;
            let shown = shown(&found);
            let chosen = found.iter_mut().enumerate().filter(|(index, _)| shown.contains(index));
            texts(connection, &mut chosen.map(|(_, resource)| resource).collect::<Vec<_>>()).await?;
            Ok(found)
        })
        .await
    }

    /// Reads up to `most` stuck resources with their reports, and counts all stalled deletions, within the time `limit`.
    ///
    /// # Errors
    /// See [`StoreError`].
    pub async fn details(&self, most: u32, limit: Duration) -> Result<Details, StoreError> {
        self.read(Reader::Background, limit, async |connection: &mut PgConnection| {
            let selection = Selection { limit: most.saturating_add(1), ..Selection::default() };
            let mut stuck = self.select(connection, &selection).await?;
            let truncated = stuck.len() > most as usize;
            stuck.truncate(most as usize);
            reports(connection, &mut stuck).await?;
            let counts = format!("SELECT kind, count(*) AS resources FROM ({STALLED}) AS stalled GROUP BY kind");
            let query = self.with_thresholds(sqlx::query(AssertSqlSafe(counts)));
            let query = query.bind(None::<String>).bind(None::<bool>).bind(None::<i64>);
            let rows = query.fetch_all(connection).await?;
            let stalled =
                rows.iter().map(|row| Ok(Stalled { kind: row.try_get("kind")?, count: unsigned(row, "resources")? }));
            Ok(Details { stuck, truncated, stalled: stalled.collect::<Result<_, sqlx::Error>>()? })
        })
        .await
    }

    async fn select(&self, connection: &mut PgConnection, selection: &Selection) -> Result<Vec<Resource>, StoreError> {
        let sql = match selection.trouble {
            Trouble::Stuck => STUCK,
            Trouble::Stalled => STALLED,
        };
        let query = self
            .with_thresholds(sqlx::query(sql))
            .bind(selection.kind.as_ref().map(|kind| kind.to_lowercase()))
            .bind(selection.deleting)
            .bind(i64::from(selection.limit));
        let rows = query.fetch_all(connection).await?;
        Ok(rows.iter().map(from_row).collect::<Result<_, _>>()?)
    }
}
