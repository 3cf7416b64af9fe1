//! What a scrape asks.
//!
//! In: the edges between ages. Out: what is pending, all of it from one snapshot of the database.

use std::collections::BTreeMap;
use std::time::Duration;

use sqlx::postgres::PgRow;
use sqlx::{PgConnection, Row as _};

use super::documents::{self, Wanted};
use super::layout::Layout;
use super::tables::DocumentTable;
use super::{Missing, Store, StoreError};
use crate::figures::{Edges, Group};

/// The statements, for tests that read their plans.
pub mod query {
    /// What is pending on our schema.
    pub const TRACKED_PENDING: &str = include_str!("sql/tracked_pending.sql");
    /// Transitions on our schema.
    pub const TRACKED_TRANSITIONS: &str = include_str!("sql/tracked_transitions.sql");
    /// Missing conditions that our schema has on record.
    pub const TRACKED_MISSING: &str = include_str!("sql/tracked_missing.sql");
    /// On how many resources our record and the conditions disagree about what is pending.
    pub const DRIFT: &str = include_str!("sql/drift.sql");
    /// Deletions that go on although nothing is pending.
    pub const DELETIONS: &str = include_str!("sql/deletions.sql");
    /// What is pending on the API's schema.
    pub const ROWS_PENDING: &str = include_str!("sql/rows_pending.sql");

    /// Missing conditions in a part of the API's schema.
    pub const MISSING_IN_PART: &str = include_str!("sql/missing_in_part.sql");
    /// The same on our schema, and on how many resources of the part our record is wrong about that.
    pub const COMPARED_IN_PART: &str = include_str!("sql/compared_in_part.sql");
}

/// Resources of a time that lies further ahead than clocks differ are odd.
const FUTURE: f64 = 300.0;

/// One reading of the database.
#[derive(Debug, Clone, PartialEq)]
pub struct Snapshot {
    /// The schema that was read.
    pub layout: Layout,
    /// The database's time, in seconds since the epoch.
    pub taken: f64,
    /// How long ago the newest transaction was committed that a standby has replayed, in seconds; 0 on a primary. None where a
    /// standby cannot say.
    pub standby_age: Option<f64>,
    /// What is pending.
    pub groups: Vec<Group>,
    /// Transitions to False.
    pub transitions: Transitions,
    /// Missing conditions, where our record says them.
    pub missing: Option<Vec<Missing>>,
}

impl Snapshot {
    /// The kinds in it, as written.
    pub fn kinds(&self) -> impl Iterator<Item = &str> + Clone {
        let (Transitions::Total(transitions) | Transitions::Fresh(transitions)) = &self.transitions;
        let counted = transitions.iter().map(|transition| transition.kind.as_str());
        self.groups.iter().map(|group| group.kind.as_str()).chain(counted)
    }
}

/// Transitions of Reconciled to False.
#[derive(Debug, Clone, PartialEq)]
pub enum Transitions {
    /// Ever, as recorded; a lower bound where the record is not kept.
    Total(Vec<Transition>),
    /// Since the previous snapshot, of those that are still pending: a lower bound.
    Fresh(Vec<Transition>),
}

/// Transitions of one kind.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Transition {
    /// The kind as written.
    pub kind: String,
    /// Whether it was being deleted when that happened.
    pub is_delete: bool,
    /// How often.
    pub count: u64,
}

impl Store {
    /// Takes a snapshot; `previous` is when the one before was taken.
    ///
    /// # Errors
    /// The database did not answer, or has no schema that is known.
    pub async fn snapshot(
        &self,
        edges: &Edges,
        previous: Option<f64>,
        limit: Duration,
    ) -> Result<Snapshot, StoreError> {
        self.read_for_scrape(limit, async |connection: &mut PgConnection| {
            let layout = self.layout(connection).await?;
            let mut snapshot = match &layout {
                Layout::Tracked => tracked(connection, edges).await?,
                Layout::Rows { .. } => rows(connection, layout, edges, previous).await?,
                Layout::Documents(tables) => {
                    let tables = tables.read.clone();
                    from_documents(connection, layout, &tables, edges, previous).await?
                }
            };
            if self.has_missing_on_record(&snapshot.layout) {
                snapshot.missing = Some(self.missing_on_record(connection).await?);
            }
            Ok(snapshot)
        })
        .await
    }
}

pub(super) async fn allow_sequential_scans(connection: &mut PgConnection) -> Result<(), StoreError> {
    sqlx::raw_sql("SET LOCAL enable_seqscan = on").execute(connection).await?;
    Ok(())
}

pub(super) async fn now(connection: &mut PgConnection) -> Result<f64, StoreError> {
    Ok(sqlx::query_scalar("SELECT date_part('epoch', now())").fetch_one(connection).await?)
}

/// The time of a snapshot, and how old a standby is.
async fn clock(connection: &mut PgConnection) -> Result<(f64, Option<f64>), StoreError> {
    let sql = "SELECT date_part('epoch', now()),
                   CASE WHEN pg_is_in_recovery() THEN date_part('epoch', now() - pg_last_xact_replay_timestamp()) ELSE 0 END";
    let (now, age): (f64, Option<f64>) = sqlx::query_as(sql).fetch_one(connection).await?;
    // What is replayed while this is read may be newer than its beginning.
    Ok((now, age.map(|age| age.max(0.0))))
}

async fn tracked(connection: &mut PgConnection, edges: &Edges) -> Result<Snapshot, StoreError> {
    let (groups, _) = pending(connection, query::TRACKED_PENDING, edges, None).await?;
    let transitions = Transitions::Total(recorded(connection).await?);
    let (taken, standby_age) = clock(connection).await?;
    Ok(Snapshot { layout: Layout::Tracked, taken, standby_age, groups, transitions, missing: None })
}

async fn rows(
    connection: &mut PgConnection,
    layout: Layout,
    edges: &Edges,
    previous: Option<f64>,
) -> Result<Snapshot, StoreError> {
    let (groups, fresh) = pending(connection, query::ROWS_PENDING, edges, previous).await?;
    let transitions = if layout.has_record() {
        // What it has missed it does not make up for later: a count beside it would fall to it after a repair, which reads
        // as a new beginning.
        Transitions::Total(recorded(connection).await?)
    } else {
        Transitions::Fresh(fresh)
    };
    let (taken, standby_age) = clock(connection).await?;
    Ok(Snapshot { layout, taken, standby_age, groups, transitions, missing: None })
}

async fn recorded(connection: &mut PgConnection) -> Result<Vec<Transition>, StoreError> {
    let rows = sqlx::query(query::TRACKED_TRANSITIONS).fetch_all(connection).await?;
    let transitions = rows
        .iter()
        .map(|row| Ok(Transition { kind: row.try_get(0)?, is_delete: row.try_get(1)?, count: unsigned(row, 2)? }));
    Ok(transitions.collect::<Result<_, sqlx::Error>>()?)
}

async fn pending(
    connection: &mut PgConnection,
    sql: &'static str,
    edges: &Edges,
    previous: Option<f64>,
) -> Result<(Vec<Group>, Vec<Transition>), StoreError> {
    let rows = sqlx::query(sql).bind(edges.as_slice()).bind(previous).fetch_all(connection).await?;
    let mut fresh: BTreeMap<(String, bool), u64> = BTreeMap::new();
    let mut groups = Vec::with_capacity(rows.len());
    for row in &rows {
        let group = group(row)?;
        let count = unsigned(row, 8)?;
        if count > 0 {
            *fresh.entry((group.kind.clone(), group.deleting)).or_default() += count;
        }
        groups.push(group);
    }
    let fresh = fresh.into_iter().map(|((kind, is_delete), count)| Transition { kind, is_delete, count });
    Ok((groups, fresh.collect()))
}

fn group(row: &PgRow) -> Result<Group, sqlx::Error> {
    Ok(Group {
        kind: row.try_get(0)?,
        deleting: row.try_get(1)?,
        band: usize::try_from(row.try_get::<i32, _>(2)?).unwrap_or_default(),
        count: unsigned(row, 3)?,
        oldest: row.try_get(4)?,
        age_sum: row.try_get(5)?,
        undated: unsigned(row, 6)?,
        future: unsigned(row, 7)?,
    })
}

pub(super) fn unsigned(row: &PgRow, column: usize) -> Result<u64, sqlx::Error> {
    Ok(u64::try_from(row.try_get::<i64, _>(column)?).unwrap_or_default())
}

async fn from_documents(
    connection: &mut PgConnection,
    layout: Layout,
    tables: &[DocumentTable],
    edges: &Edges,
    previous: Option<f64>,
) -> Result<Snapshot, StoreError> {
    allow_sequential_scans(connection).await?;
    let (taken, standby_age) = clock(connection).await?;
    let mut groups: BTreeMap<(String, bool, usize), Group> = BTreeMap::new();
    let mut fresh: BTreeMap<(String, bool), u64> = BTreeMap::new();
    documents::each(connection, tables, Wanted::Pending, |row| {
        let age = (taken - row.since).clamp(0.0, taken);
        let band = edges.band(age);
        // One that is dated ahead is fresh in the reading that reaches its time, and in no other.
        if !row.undated && row.since <= taken && previous.is_some_and(|previous| row.since > previous) {
            *fresh.entry((row.kind.clone(), row.deleting)).or_default() += 1;
        }
        let key = (row.kind, row.deleting, band);
        let (kind, deleting) = (key.0.clone(), key.1);
        let group = groups.entry(key).or_insert_with(|| Group { kind, deleting, band, ..Group::default() });
        group.count += 1;
        group.oldest = group.oldest.max(age);
        group.age_sum += age;
        group.undated += u64::from(row.undated);
        group.future += u64::from(row.since > taken + FUTURE);
    })
    .await?;
    let fresh = fresh.into_iter().map(|((kind, is_delete), count)| Transition { kind, is_delete, count });
    Ok(Snapshot {
        layout,
        taken,
        standby_age,
        groups: groups.into_values().collect(),
        transitions: Transitions::Fresh(fresh.collect()),
        missing: None,
    })
}
