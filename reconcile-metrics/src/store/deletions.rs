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
use crate::config::Kinds;

/// Of [`DELETIONS`], those that linger.
pub(super) const LINGERING: &str = "NOT missing";
/// Of these, those that hold up others, for want of the condition.
pub(super) const BLOCKING: &str = "missing AND owner_id IS NOT NULL";
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
    /// It has children left, and nothing below it is known to be stuck; or nobody knows of children.
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

/// Whether every child is known: not where a kind that has parents has no column of them, or is not read.
fn children_are_known(layout: &Layout, kinds: &Kinds) -> bool {
    layout.ownerless(kinds).next().is_none() && !layout.unread().iter().any(|unread| kinds.has_parent(&unread.kind))
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
            let are_known = children_are_known(&layout, self.kinds());
            let lingering = rows.iter().map(|row| {
                let held_by = HeldBy::of(row.try_get::<bool, _>(1)? || !are_known, row.try_get(2)?);
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
        let are_known = children_are_known(layout, self.kinds());
        let deletion = |row| {
            let has_children = PgRow::try_get(row, 9)?;
            let held_by = (has_children || are_known).then(|| HeldBy::of(has_children, false));
            Ok(Resource { held_by, ..from_row(row)? })
        };
        Ok(rows.iter().map(deletion).collect::<Result<_, sqlx::Error>>()?)
    }

    /// Tells which of them something stuck holds, of which the `most` oldest are looked into. It may take as long as the list of what is
    /// stuck, so it is a reading of its own: where it fails, that is not known.
    pub(super) async fn say_what_holds(&self, resources: &mut [Resource], most: u32, limit: Duration) {
        if !resources.iter().any(|resource| resource.held_by == Some(HeldBy::Child)) {
            return;
        }
        let stuck = self.read(limit, async |connection: &mut PgConnection| {
            let layout = self.layout(connection).await?;
            let selection = Selection { deleting: Some(true), limit: most, ..Selection::default() };
            let mut stuck = self.list(connection, &layout, &selection).await?;
            stuck.append(&mut self.deletions(connection, &layout, BLOCKING, &selection).await?);
            parents(connection, &layout, &mut stuck).await?;
            Ok(stuck)
        });
        let stuck = match stuck.await {
            Ok(stuck) => stuck,
            Err(error) => {
                let (reason, error) = (error.reason(), error.chain());
                return tracing::warn!(reason, error, "What holds lingering deletions cannot be read");
            }
        };
        let above_stuck = above(&stuck);
        for resource in resources.iter_mut().filter(|resource| resource.held_by == Some(HeldBy::Child)) {
            resource.held_by = Some(HeldBy::of(true, above_stuck.contains(resource.id.as_str())));
        }
    }
}

/// The ids of the resources whose deletion waits for one of these.
pub(super) fn above(stuck: &[Resource]) -> BTreeSet<&str> {
    stuck.iter().flat_map(|resource| &resource.parents).map(|parent| parent.id.as_str()).collect()
}
