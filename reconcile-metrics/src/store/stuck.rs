//! The stuck resources by name, with what adapters said about them.
//!
//! In: which ones are asked for. Out: the oldest of them, their adapters' last reports, and the ancestors whose deletion
//! waits for them, all from one snapshot. Who a resource waits on is decided in [`crate::diagnosis`].

use std::collections::BTreeMap;
use std::time::Duration;

use sqlx::postgres::PgRow;
use sqlx::{AssertSqlSafe, PgConnection, Row as _};

use super::documents::{self, Pending, Wanted};
use super::layout::{Layout, detect};
use super::snapshot::{allow_sequential_scans, now};
use super::{Store, StoreError, Thresholds};

const TRACKED_STUCK: &str = include_str!("sql/tracked_stuck.sql");
const ROWS_STUCK: &str = include_str!("sql/rows_stuck.sql");
const REPORTS: &str = include_str!("sql/reports.sql");
const WAITING_PARENTS: &str = include_str!("sql/waiting_parents.sql");

/// Which stuck resources are asked for.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Selection {
    /// Only this kind, in any case.
    pub kind: Option<String>,
    /// Only those that are being deleted, or only the others.
    pub deleting: Option<bool>,
    /// The most resources, the oldest first.
    pub limit: u32,
    /// Whether resources without the condition are looked for where that takes a pass over all resources.
    pub missing: bool,
}

/// A stuck resource.
#[derive(Debug, Clone, PartialEq)]
pub struct Resource {
    /// Its id.
    pub id: String,
    /// Its kind as written.
    pub kind: String,
    /// Its name.
    pub name: String,
    /// Its parent's id.
    pub owner: Option<String>,
    /// Whether it is being deleted.
    pub deleting: bool,
    /// Whether it has no condition Reconciled at all.
    pub missing: bool,
    /// Since when, in seconds since the epoch.
    pub since: f64,
    /// For how long, in seconds.
    pub age: f64,
    /// The generation that is wanted.
    pub generation: i64,
    /// The condition's reason.
    pub reason: Option<String>,
    /// The condition's message.
    pub message: Option<String>,
    /// What adapters last said, by the adapter's name.
    pub reports: Vec<Report>,
    /// Ancestors that are being deleted as well.
    pub parents: Vec<Parent>,
}

/// What an adapter last said about a resource.
#[derive(Debug, Clone, PartialEq)]
pub struct Report {
    /// The adapter.
    pub adapter: String,
    /// The generation that it spoke of.
    pub observed_generation: i64,
    /// When, in seconds since the epoch.
    pub at: f64,
    /// Whether it said `Available=True`.
    pub available: bool,
    /// Whether it said `Finalized=True`.
    pub finalized: bool,
    /// The reason of its condition.
    pub reason: Option<String>,
    /// The message of its condition.
    pub message: Option<String>,
}

/// A parent that is being deleted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Parent {
    /// Its id.
    pub id: String,
    /// Its kind as written.
    pub kind: String,
    /// Its name.
    pub name: String,
}

impl Store {
    /// Lists stuck resources, the oldest first.
    ///
    /// # Errors
    /// The database did not answer, or has no schema that is known.
    pub async fn stuck(&self, selection: &Selection, limit: Duration) -> Result<Vec<Resource>, StoreError> {
        self.read(limit, async |connection: &mut PgConnection| {
            let layout = detect(connection, self.kinds()).await?;
            let mut found = match &layout {
                Layout::Tracked => self.by_query(connection, TRACKED_STUCK, selection, None).await?,
                Layout::Rows { .. } => {
                    if selection.missing {
                        allow_sequential_scans(connection).await?;
                    }
                    self.by_query(connection, ROWS_STUCK, selection, Some(selection.missing)).await?
                }
                Layout::Documents(tables) => {
                    allow_sequential_scans(connection).await?;
                    let now = now(connection).await?;
                    let mut found = Vec::new();
                    let wanted: &[Wanted] =
                        if selection.missing { &[Wanted::Pending, Wanted::Missing] } else { &[Wanted::Pending] };
                    for &wanted in wanted {
                        documents::each(connection, tables, wanted, |row| {
                            if self.is_wanted(&row, now, selection) {
                                found.push(resource(row, now));
                            }
                        })
                        .await?;
                    }
                    found.sort_by(|one, other| one.since.total_cmp(&other.since).then_with(|| one.id.cmp(&other.id)));
                    found.truncate(selection.limit as usize);
                    found
                }
            };
            reports(connection, &mut found).await?;
            parents(connection, &layout, &mut found).await?;
            Ok(found)
        })
        .await
    }

    async fn by_query(
        &self,
        connection: &mut PgConnection,
        sql: &'static str,
        selection: &Selection,
        missing: Option<bool>,
    ) -> Result<Vec<Resource>, StoreError> {
        let thresholds = Thresholds::of(self.kinds().all().iter());
        let with_adapters: Vec<_> = self.kinds().with_adapters().map(|kind| kind.name.clone()).collect();
        let mut query = sqlx::query(sql)
            .bind(thresholds.kinds)
            .bind(thresholds.live)
            .bind(thresholds.deletion)
            .bind(self.kinds().default_stuck_after().as_secs_f64())
            .bind(with_adapters)
            .bind(selection.kind.as_ref().map(|kind| kind.to_lowercase()))
            .bind(selection.deleting)
            .bind(i64::from(selection.limit));
        if let Some(missing) = missing {
            query = query.bind(missing);
        }
        let rows = query.fetch_all(connection).await?;
        Ok(rows.iter().map(from_row).collect::<Result<_, _>>()?)
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

fn resource(row: Pending, now: f64) -> Resource {
    Resource {
        id: row.id,
        kind: row.kind,
        name: row.name,
        owner: row.owner,
        deleting: row.deleting,
        missing: row.missing,
        since: row.since,
        age: now - row.since,
        generation: row.generation,
        reason: row.reason,
        message: row.message,
        reports: Vec::new(),
        parents: Vec::new(),
    }
}

fn from_row(row: &PgRow) -> Result<Resource, sqlx::Error> {
    Ok(Resource {
        id: row.try_get(0)?,
        kind: row.try_get(1)?,
        name: row.try_get(2)?,
        owner: row.try_get(3)?,
        deleting: row.try_get(4)?,
        missing: row.try_get(5)?,
        since: row.try_get(6)?,
        age: row.try_get(7)?,
        generation: row.try_get(8)?,
        reason: row.try_get(9)?,
        message: row.try_get(10)?,
        reports: Vec::new(),
        parents: Vec::new(),
    })
}

async fn reports(connection: &mut PgConnection, resources: &mut [Resource]) -> Result<(), StoreError> {
    if resources.is_empty() {
        return Ok(());
    }
    let column = |of: fn(&Resource) -> &str| resources.iter().map(of).map(str::to_owned).collect::<Vec<_>>();
    let rows = sqlx::query(REPORTS)
        .bind(column(|resource| &resource.kind))
        .bind(column(|resource| &resource.id))
        .bind(resources.iter().map(|resource| resource.deleting).collect::<Vec<_>>())
        .fetch_all(connection)
        .await?;
    for row in rows {
        let Some(resource) = place(&row, resources)? else { continue };
        resource.reports.push(Report {
            adapter: row.try_get(1)?,
            observed_generation: row.try_get(2)?,
            at: row.try_get(3)?,
            available: row.try_get(4)?,
            finalized: row.try_get(5)?,
            reason: row.try_get(6)?,
            message: row.try_get(7)?,
        });
    }
    Ok(())
}

async fn parents(connection: &mut PgConnection, layout: &Layout, resources: &mut [Resource]) -> Result<(), StoreError> {
    let owners: BTreeMap<usize, String> = resources
        .iter()
        .enumerate()
        .filter(|(_, resource)| resource.deleting)
        .filter_map(|(index, resource)| Some((index, resource.owner.clone()?)))
        .collect();
    if owners.is_empty() {
        return Ok(());
    }
    let sql = match layout {
        Layout::Tracked | Layout::Rows { .. } => WAITING_PARENTS.to_owned(),
        Layout::Documents(tables) => WAITING_PARENTS.replacen(
            "WITH RECURSIVE",
            &format!("WITH RECURSIVE resources AS ({}),", documents::as_resources(tables)),
            1,
        ),
    };
    let places: Vec<usize> = owners.keys().copied().collect();
    let owners: Vec<String> = owners.into_values().collect();
    for row in sqlx::query(AssertSqlSafe(sql)).bind(owners).fetch_all(connection).await? {
        let index = usize::try_from(row.try_get::<i64, _>(0)?).unwrap_or_default();
        let resource = index.checked_sub(1).and_then(|index| resources.get_mut(*places.get(index)?));
        if let Some(resource) = resource {
            let parent = Parent { id: row.try_get(1)?, kind: row.try_get(2)?, name: row.try_get(3)? };
            resource.parents.push(parent);
        }
    }
    Ok(())
}

/// The resource that a row of an answer belongs to; places count from 1.
fn place<'r>(row: &PgRow, resources: &'r mut [Resource]) -> Result<Option<&'r mut Resource>, sqlx::Error> {
    let place = usize::try_from(row.try_get::<i64, _>(0)?).unwrap_or_default();
    Ok(place.checked_sub(1).and_then(|index| resources.get_mut(index)))
}
