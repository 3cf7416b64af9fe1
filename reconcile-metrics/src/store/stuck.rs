//! The resources in trouble by name, with what adapters said about them.
//!
//! In: which ones are asked for. Out: the oldest of them, their adapters' last reports, and the ancestors whose deletion
//! waits for them, all from one snapshot. Also, for the figures by adapter and by child, those that are stuck, and what
//! else holds a deletion. Who a resource waits on is decided in [`crate::diagnosis`].

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use sqlx::postgres::PgArguments;
use sqlx::query::Query;
use sqlx::{AssertSqlSafe, PgConnection, Postgres};

use super::deletions::{BLOCKING, LINGERING, above};
use super::documents::{self, Pending, Wanted};
use super::layout::Layout;
use super::resource::{from_row, order, parents, reports, resource, texts};
use super::snapshot::query::DRIFT;
use super::snapshot::{allow_sequential_scans, now, unsigned};
use super::tables::{Tables, Unread};
use super::{Doubt, Resource, Store, StoreError, Thresholds, verdict};

const TRACKED_STUCK: &str = include_str!("sql/tracked_stuck.sql");
const TRACKED_STUCK_MISSING: &str = include_str!("sql/tracked_stuck_missing.sql");
const ROWS_STUCK: &str = include_str!("sql/rows_stuck.sql");
/// So many that are stuck are looked into at least for what they hold.
const LOOKED_INTO: u32 = 2000;

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

/// What is the matter with a resource. Each is counted by a gauge of its own, and listed apart from the others.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Trouble {
    /// Its condition Reconciled has been False for longer than the threshold.
    #[default]
    Pending,
    /// It is to have the condition and has none, for longer than the threshold. On a schema that is not ours this takes a
    /// pass over all resources.
    Missing,
    /// Its deletion was requested longer ago than the threshold, nothing of it is pending, and it is still there.
    Lingering,
}

/// What was found of a [`Selection`].
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Found {
    /// The resources, the oldest first.
    pub resources: Vec<Resource>,
    /// The kinds that were not looked into, as they cannot be read.
    pub unread: Vec<Unread>,
}

/// What figures by adapter and by child are counted from.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Details {
    /// The oldest that are pending past their threshold, the oldest deletions of these, and those that hold up deletions for
    /// want of the condition: no more of each than asked for.
    pub stuck: Vec<Resource>,
    /// Whether there are more.
    pub truncated: bool,
}

impl Details {
    /// The ids of the resources whose deletion waits for one of them.
    #[must_use]
    pub fn above_stuck(&self) -> Vec<String> {
        above(&self.stuck).into_iter().map(str::to_owned).collect()
    }
}

impl Store {
    /// Lists resources in trouble, the oldest first, with texts for those that `shown` chooses of them, by their places. `limit`
    /// is the time for all of it, or for each part of a pass.
    ///
    /// # Errors
    /// The database did not answer, has no schema that is known, or the kind that is asked for cannot be read.
    pub async fn stuck(
        &self,
        selection: &Selection,
        limit: Duration,
        shown: impl Fn(&[Resource]) -> BTreeSet<usize>,
    ) -> Result<Found, StoreError> {
        let complete = async |connection: &mut PgConnection, layout: &Layout, found: &mut Vec<Resource>| {
            reports(connection, found).await?;
            parents(connection, layout, found).await?;
            let shown = shown(found);
            let chosen = found.iter_mut().enumerate().filter(|(place, _)| shown.contains(place));
            texts(connection, layout, &mut chosen.map(|(_, resource)| resource).collect::<Vec<_>>()).await
        };
        let read = async |connection: &mut PgConnection| {
            let layout = self.layout(connection).await?;
            let is_asked_for =
                |kind: &str| selection.kind.as_ref().is_some_and(|asked| asked.eq_ignore_ascii_case(kind));
            if let Some(unread) = layout.unread().iter().find(|unread| is_asked_for(&unread.kind)) {
                return Err(StoreError::UnknownSchema(unread.to_string()));
            }
            if selection.trouble == Trouble::Missing
                && !matches!(layout, Layout::Documents(_))
                && !self.has_missing_on_record(&layout)
            {
                return Ok((layout, None));
            }
            let mut found = self.list(connection, &layout, selection).await?;
            complete(connection, &layout, &mut found).await?;
            Ok((layout, Some(found)))
        };
        let (layout, found) = self.read(limit, read).await?;
        let mut resources = match found {
            Some(found) => found,
            None => {
                let mut found = self.list_missing_in_parts(selection, limit).await?;
                self.read(limit, async |connection: &mut PgConnection| complete(connection, &layout, &mut found).await)
                    .await?;
                found
            }
        };
        self.say_what_holds(&mut resources, selection.limit.max(LOOKED_INTO), limit).await;
        Ok(Found { resources, unread: layout.unread().to_vec() })
    }

    /// What is behind the figures by adapter and by child; `most` limits each list. Changes that are stuck do not crowd out
    /// deletions that are.
    ///
    /// # Errors
    /// The database did not answer, or has no schema that is known.
    pub async fn details(&self, most: u32, limit: Duration) -> Result<Details, StoreError> {
        self.read(limit, async |connection: &mut PgConnection| {
            let layout = self.layout(connection).await?;
            let selection = Selection { limit: most.saturating_add(1), ..Selection::default() };
            let mut stuck = self.list(connection, &layout, &selection).await?;
            let mut blocking = self.deletions(connection, &layout, BLOCKING, &selection).await?;
            let truncated = stuck.len().max(blocking.len()) > most as usize;
            if stuck.len() > most as usize {
                stuck.truncate(most as usize);
                stuck.retain(|resource| !resource.deleting);
                let selection = Selection { deleting: Some(true), limit: most, ..Selection::default() };
                stuck.append(&mut self.list(connection, &layout, &selection).await?);
            }
            blocking.truncate(most as usize);
            reports(connection, &mut stuck).await?;
            stuck.append(&mut blocking);
            parents(connection, &layout, &mut stuck).await?;
            Ok(Details { stuck, truncated })
        })
        .await
    }

    /// On how many resources our record and the conditions disagree about what is pending; none where there is no record.
    ///
    /// # Errors
    /// As [`details`](Self::details).
    pub async fn drift(&self, limit: Duration) -> Result<Option<u64>, StoreError> {
        let begun = AtomicBool::new(false);
        let unkept = self.doubts().unkept;
        let compare = async |connection: &mut PgConnection| {
            if !self.detected(connection).await?.has_record() {
                return Ok(None);
            }
            begun.store(true, Ordering::Relaxed);
            Ok(Some(unsigned(&sqlx::query(DRIFT).fetch_one(connection).await?, 0)?))
        };
        let compared = self.read(limit, compare).await;
        let mut doubts = self.doubts();
        match compared {
            Ok(Some(drift)) if doubts.unkept == unkept => doubts.pending = verdict(drift),
            // There is too much to compare, as in an outage, and nobody has found it wrong: better that than no figures.
            Err(StoreError::Timeout(_)) if begun.into_inner() && doubts.pending == Doubt::Uncompared => {
                doubts.pending = Doubt::None;
            }
            Ok(_) | Err(_) => {}
        }
        compared
    }

    /// Lists them; what lacks the condition only where that is on record, or a table's.
    pub(super) async fn list(
        &self,
        connection: &mut PgConnection,
        layout: &Layout,
        selection: &Selection,
    ) -> Result<Vec<Resource>, StoreError> {
        let sql = match (selection.trouble, layout) {
            (Trouble::Lingering, _) => {
                return self.deletions(connection, layout, LINGERING, selection).await;
            }
            (Trouble::Pending, Layout::Tracked) => TRACKED_STUCK,
            (Trouble::Pending, Layout::Rows { .. }) => ROWS_STUCK,
            (Trouble::Missing, Layout::Tracked | Layout::Rows { .. }) => TRACKED_STUCK_MISSING,
            (Trouble::Pending, Layout::Documents(tables)) => {
                return self.list_documents(connection, tables, Wanted::Pending, selection).await;
            }
            (Trouble::Missing, Layout::Documents(tables)) => {
                return self.list_documents(connection, tables, Wanted::Missing, selection).await;
            }
        };
        let rows = self.ask(sql, selection).fetch_all(connection).await?;
        Ok(rows.iter().map(from_row).collect::<Result<_, _>>()?)
    }

    async fn list_documents(
        &self,
        connection: &mut PgConnection,
        tables: &Tables,
        wanted: Wanted,
        selection: &Selection,
    ) -> Result<Vec<Resource>, StoreError> {
        allow_sequential_scans(connection).await?;
        let now = now(connection).await?;
        let most = selection.limit as usize;
        let oldest = |found: &mut Vec<Resource>| {
            found.sort_by(order);
            found.truncate(most);
        };
        let mut found = Vec::new();
        documents::each(connection, &tables.read, wanted, |row| {
            if self.is_wanted(&row, now, selection) {
                found.push(resource(row, now));
                // However many there are, no more than these are held.
                if found.len() > most.saturating_mul(2) {
                    oldest(&mut found);
                }
            }
        })
        .await?;
        oldest(&mut found);
        Ok(found)
    }

    /// A statement with the parameters that all of them have.
    pub(super) fn ask<'q>(&self, sql: &'q str, selection: &Selection) -> Query<'q, Postgres, PgArguments> {
        let thresholds = Thresholds::of(self.kinds().all().iter());
        let with_adapters: Vec<_> = self.kinds().with_adapters().map(|kind| kind.name.clone()).collect();
        thresholds
            .put_to(sqlx::query(AssertSqlSafe(sql)))
            .bind(self.kinds().default_stuck_after().as_secs_f64())
            .bind(with_adapters)
            .bind(selection.kind.as_ref().map(|kind| kind.to_lowercase()))
            .bind(selection.deleting)
            .bind(i64::from(selection.limit))
    }

    fn is_wanted(&self, row: &Pending, now: f64, selection: &Selection) -> bool {
        let kind = self.kinds().get(&row.kind);
        let to_be_missed = !row.missing || kind.is_some_and(|kind| !kind.required_adapters.is_empty());
        to_be_missed
            && now - row.since > self.kinds().stuck_after(&row.kind, row.deleting).as_secs_f64()
            && selection.kind.as_ref().is_none_or(|kind| kind.eq_ignore_ascii_case(&row.kind))
            && selection.deleting.is_none_or(|deleting| deleting == row.deleting)
    }
}
