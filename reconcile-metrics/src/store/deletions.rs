//! Deletions of which nothing is pending, and that go on all the same.
//!
//! In: the resources in deletion. Out: those that linger, and what holds each: nothing, children, or something stuck below.
//! Also those that lack the condition and hold up others. It can fail as every reading can.

use std::collections::BTreeSet;
use std::time::Duration;

use serde::Serialize;
use sqlx::postgres::PgRow;
use sqlx::{PgConnection, Row as _};

use super::layout::Layout;
use super::resource::{from_row, parents, put_to};
use super::snapshot::query::DELETIONS;
use super::snapshot::{allow_sequential_scans, unsigned};
use super::stuck::Selection;
use super::{Resource, Store, StoreError};

/// Of [`DELETIONS`], those that linger.
pub(super) const LINGERING: &str = "NOT missing";
/// Of these, those that hold up others, for want of the condition.
pub(super) const BLOCKING: &str = "missing AND owner_id IS NOT NULL";
/// So many that are stuck are looked into for what they hold, where somebody asks by name.
const MAX_STUCK: u32 = 2000;

/// Deletions of one kind that linger.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Lingering {
    /// The kind as written.
    pub kind: String,
    /// What holds them.
    pub held_by: HeldBy,
    /// How many they are.
    pub count: u64,
}

/// What holds a deletion of which nothing is pending.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum HeldBy {
    /// It has no children left.
    Nothing,
    /// It has children left, and nothing below it is known to be stuck.
    Child,
    /// Something below it is stuck.
    StuckChild,
}

impl HeldBy {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Nothing, Self::Child, Self::StuckChild];

    /// The value of the label `held_by`.
    #[must_use]
    pub fn label(self) -> &'static str {
        match self {
            Self::Nothing => "nothing",
            Self::Child => "child",
            Self::StuckChild => "stuck_child",
        }
    }

    fn of(has_children: bool, is_above_stuck: bool) -> Self {
        match (has_children, is_above_stuck) {
            (false, _) => Self::Nothing,
            (true, false) => Self::Child,
            (true, true) => Self::StuckChild,
        }
    }
}

impl Store {
    /// Counts deletions that linger, all of them; `above_stuck` are the ids of resources that something stuck is known to hold.
    ///
    /// # Errors
    /// The database did not answer, or has no schema that is known.
    pub async fn lingering(&self, above_stuck: &[String], limit: Duration) -> Result<Vec<Lingering>, StoreError> {
        self.read(limit, async |connection: &mut PgConnection| {
            let layout = self.layout(connection).await?;
            if matches!(layout, Layout::Documents(_)) {
                allow_sequential_scans(connection).await?;
            }
            let sql = format!(
                "SELECT kind, has_children, id IN (SELECT unnest($9::text[])) AS is_above_stuck, count(*)
                 FROM ({DELETIONS}) AS d WHERE {LINGERING} GROUP BY 1, 2, 3"
            );
            let sql = put_to(&layout, sql);
            let question = self.ask(&sql, &Selection::default()).bind(above_stuck);
            let rows = question.fetch_all(connection).await?;
            let lingering = rows.iter().map(|row| {
                let held_by = HeldBy::of(row.try_get(1)?, row.try_get(2)?);
                Ok(Lingering { kind: row.try_get(0)?, held_by, count: unsigned(row, 3)? })
            });
            Ok(lingering.collect::<Result<_, sqlx::Error>>()?)
        })
        .await
    }

    /// Some of [`DELETIONS`], the oldest first. Of those with children it is not known yet whether something stuck holds them.
    pub(super) async fn deletions(
        &self,
        connection: &mut PgConnection,
        layout: &Layout,
        which: &'static str,
        selection: &Selection,
    ) -> Result<Vec<Resource>, StoreError> {
        if matches!(layout, Layout::Documents(_)) {
            allow_sequential_scans(connection).await?;
        }
        let sql = format!("SELECT * FROM ({DELETIONS}) AS d WHERE {which} ORDER BY since, id LIMIT $8");
        let sql = put_to(layout, sql);
        let rows = self.ask(&sql, selection).fetch_all(connection).await?;
        let deletion = |row| {
            let held_by = HeldBy::of(PgRow::try_get(row, 9)?, false);
            Ok(Resource { held_by: Some(held_by), ..from_row(row)? })
        };
        Ok(rows.iter().map(deletion).collect::<Result<_, sqlx::Error>>()?)
    }

    /// Tells which of them something stuck holds.
    pub(super) async fn say_what_holds(
        &self,
        connection: &mut PgConnection,
        layout: &Layout,
        resources: &mut [Resource],
    ) -> Result<(), StoreError> {
        if !resources.iter().any(|resource| resource.held_by == Some(HeldBy::Child)) {
            return Ok(());
        }
        let selection = Selection { deleting: Some(true), limit: MAX_STUCK, ..Selection::default() };
        let mut stuck = self.list(connection, layout, &selection).await?;
        stuck.append(&mut self.deletions(connection, layout, BLOCKING, &selection).await?);
        parents(connection, layout, &mut stuck).await?;
        let above_stuck = above(&stuck);
        for resource in resources {
            resource.held_by = resource
                .held_by
                .map(|by| HeldBy::of(by != HeldBy::Nothing, above_stuck.contains(resource.id.as_str())));
        }
        Ok(())
    }
}

/// The ids of the resources whose deletion waits for one of these.
pub(super) fn above(stuck: &[Resource]) -> BTreeSet<&str> {
    stuck.iter().flat_map(|resource| &resource.parents).map(|parent| parent.id.as_str()).collect()
}
