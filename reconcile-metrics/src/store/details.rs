//! The resources behind the figures: those that are stuck, with what adapters said about them, and deletions that are stalled.
//!
//! In: which ones are asked for. Out: the oldest of them, all from one snapshot. Whom a resource waits on is decided in
//! [`crate::diagnosis`].

use std::collections::BTreeSet;
use std::time::Duration;

use sqlx::{AssertSqlSafe, PgConnection, Row as _};

use super::connections::Reader;
use super::resource::{ancestors, from_row, reports, texts};
use super::{Resource, Store, StoreError, unsigned};

const STUCK: &str = include_str!("sql/stuck.sql");
const STALLED: &str = include_str!("sql/stalled.sql");

/// Which resources are asked for.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Selection {
    /// What is the matter with them.
    pub trouble: Trouble,
    /// Only this kind, in any case.
    pub kind: Option<String>,
    /// Only those that are being deleted, or only the others.
    pub deleting: Option<bool>,
    /// The most resources, the oldest first.
    pub limit: u32,
}

/// What is the matter with a resource. No resource is both.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Trouble {
    /// Its condition Reconciled has been False for longer than the threshold.
    #[default]
    Stuck,
    /// Its deletion was requested longer ago than the threshold, it is still there, and Reconciled is not False.
    Stalled,
}

/// What figures by adapter, and figures of stalled deletions, are counted from.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Details {
    /// The oldest that are stuck, as many as asked for.
    pub stuck: Vec<Resource>,
    /// Whether more are stuck.
    pub truncated: bool,
    /// All deletions that are stalled, counted.
    pub stalled: Vec<Stalled>,
}

/// Stalled deletions of one kind.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stalled {
    /// The kind as written.
    pub kind: String,
    /// How many they are.
    pub count: u64,
}

impl Store {
    /// Lists resources in trouble, the oldest first, with texts for those that `shown` chooses of them, by their places.
    ///
    /// # Errors
    /// The database did not answer, or the role cannot read the tables.
    pub async fn list(
        &self,
        selection: &Selection,
        limit: Duration,
        shown: impl Fn(&[Resource]) -> BTreeSet<usize>,
    ) -> Result<Vec<Resource>, StoreError> {
        self.read(Reader::Beside, limit, async |connection: &mut PgConnection| {
            let mut found = self.select(connection, selection).await?;
            reports(connection, &mut found).await?;
            ancestors(connection, &mut found).await?;
            let shown = shown(&found);
            let chosen = found.iter_mut().enumerate().filter(|(place, _)| shown.contains(place));
            texts(connection, &mut chosen.map(|(_, resource)| resource).collect::<Vec<_>>()).await?;
            Ok(found)
        })
        .await
    }

    /// Reads what figures by adapter and of stalled deletions are counted from; `most` limits what is read of stuck resources.
    ///
    /// # Errors
    /// The database did not answer, or the role cannot read the tables.
    pub async fn details(&self, most: u32, limit: Duration) -> Result<Details, StoreError> {
        self.read(Reader::Beside, limit, async |connection: &mut PgConnection| {
            let selection = Selection { limit: most.saturating_add(1), ..Selection::default() };
            let mut stuck = self.select(connection, &selection).await?;
            let truncated = stuck.len() > most as usize;
            stuck.truncate(most as usize);
            reports(connection, &mut stuck).await?;
            let counts = format!("SELECT kind, count(*) FROM ({STALLED}) AS stalled GROUP BY kind");
            let question = self.with_thresholds(sqlx::query(AssertSqlSafe(counts)));
            let question = question.bind(None::<String>).bind(None::<bool>).bind(None::<i64>);
            let rows = question.fetch_all(connection).await?;
            let stalled = rows.iter().map(|row| Ok(Stalled { kind: row.try_get(0)?, count: unsigned(row, 1)? }));
            Ok(Details { stuck, truncated, stalled: stalled.collect::<Result<_, sqlx::Error>>()? })
        })
        .await
    }

    async fn select(&self, connection: &mut PgConnection, selection: &Selection) -> Result<Vec<Resource>, StoreError> {
        let sql = match selection.trouble {
            Trouble::Stuck => STUCK,
            Trouble::Stalled => STALLED,
        };
        let question = self
            .with_thresholds(sqlx::query(sql))
            .bind(selection.kind.as_ref().map(|kind| kind.to_lowercase()))
            .bind(selection.deleting)
            .bind(i64::from(selection.limit));
        let rows = question.fetch_all(connection).await?;
        Ok(rows.iter().map(from_row).collect::<Result<_, _>>()?)
    }
}
