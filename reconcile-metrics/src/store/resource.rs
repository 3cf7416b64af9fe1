//! A resource in trouble, and what surrounds it.
//!
//! In: rows of the lists in [`stuck`](super::stuck). Out: resources with their adapters' last reports and the ancestors
//! whose deletion waits for them, from the snapshot of the caller's transaction.

use std::cmp::Ordering;
use std::collections::BTreeMap;

use sqlx::postgres::PgRow;
use sqlx::{AssertSqlSafe, PgConnection, Row as _};

use super::StoreError;
use super::deletions::HeldBy;
use super::documents::{self, Pending};
use super::layout::Layout;

const REPORTS: &str = include_str!("sql/reports.sql");
const TEXTS_OF_REPORTS: &str = include_str!("sql/texts_of_reports.sql");
const TEXTS_OF_CONDITIONS: &str = include_str!("sql/texts_of_conditions.sql");
/// So many characters of a reason or a message are read. They may be megabytes.
const MAX_TEXT: i32 = 1000;
const WAITING_PARENTS: &str = include_str!("sql/waiting_parents.sql");

/// A resource in trouble.
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
    /// Since when, in seconds since the epoch; the request of the deletion, of one that lingers.
    pub since: f64,
    /// For how long, in seconds.
    pub age: f64,
    /// The generation that is wanted.
    pub generation: i64,
    /// The beginning of the condition's reason, if texts were read.
    pub reason: Option<String>,
    /// The beginning of the condition's message, if texts were read.
    pub message: Option<String>,
    /// What adapters last said, by the adapter's name.
    pub reports: Vec<Report>,
    /// What holds its deletion; known of those of which nothing is pending.
    pub held_by: Option<HeldBy>,
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
    /// Whether it said `Finalized=True`, and `Available` either True or False: the API leaves other reports out.
    pub finalized: bool,
    /// The beginning of the reason of its condition, if texts were read.
    pub reason: Option<String>,
    /// The beginning of the message of its condition, if texts were read.
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

/// The oldest first.
pub(super) fn order(one: &Resource, other: &Resource) -> Ordering {
    one.since.total_cmp(&other.since).then_with(|| one.id.cmp(&other.id))
}

/// A question about `resources`, as it is put to the schema that the database has.
pub(super) fn put_to(layout: &Layout, sql: String) -> String {
    match layout {
        Layout::Tracked | Layout::Rows { .. } => sql,
        Layout::Documents(tables) => documents::over(&tables.read, &sql),
    }
}

pub(super) fn resource(row: Pending, now: f64) -> Resource {
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
        reason: None,
        message: None,
        reports: Vec::new(),
        held_by: None,
        parents: Vec::new(),
    }
}

pub(super) fn from_row(row: &PgRow) -> Result<Resource, sqlx::Error> {
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
        reason: None,
        message: None,
        reports: Vec::new(),
        held_by: None,
        parents: Vec::new(),
    })
}

/// Adds what adapters said, but for the texts.
pub(super) async fn reports(connection: &mut PgConnection, resources: &mut [Resource]) -> Result<(), StoreError> {
    if resources.is_empty() {
        return Ok(());
    }
    let question = sqlx::query(REPORTS).bind(column(resources.iter(), |resource| &resource.kind));
    let question = question.bind(column(resources.iter(), |resource| &resource.id));
    for row in question.fetch_all(connection).await? {
        let Some(resource) = place(&row, resources)? else { continue };
        resource.reports.push(Report {
            adapter: row.try_get(1)?,
            observed_generation: row.try_get(2)?,
            at: row.try_get(3)?,
            available: row.try_get(4)?,
            finalized: row.try_get(5)?,
            reason: None,
            message: None,
        });
    }
    // Generations begin at 1: 0 is one that the table does not have. Nobody reports on one that is not there yet.
    for resource in resources.iter_mut().filter(|resource| resource.generation == 0) {
        resource.generation = resource.reports.iter().map(|report| report.observed_generation).max().unwrap_or(0);
    }
    Ok(())
}

/// Adds the texts of the condition and of the reports: of few, as they take far more memory than all else.
pub(super) async fn texts(
    connection: &mut PgConnection,
    layout: &Layout,
    resources: &mut [&mut Resource],
) -> Result<(), StoreError> {
    if resources.is_empty() {
        return Ok(());
    }
    let column = |of| column(resources.iter().map(|resource| &**resource), of);
    let (kinds, ids) = (column(|resource| &resource.kind), column(|resource| &resource.id));
    let sql = match layout {
        Layout::Tracked | Layout::Rows { .. } => TEXTS_OF_CONDITIONS.to_owned(),
        Layout::Documents(tables) => documents::texts(&tables.read),
    };
    let question = sqlx::query(AssertSqlSafe(sql)).bind(&kinds).bind(&ids).bind(MAX_TEXT);
    for row in question.fetch_all(&mut *connection).await? {
        let Some(resource) = index(&row)?.and_then(|index| resources.get_mut(index)) else { continue };
        (resource.reason, resource.message) = (row.try_get(1)?, row.try_get(2)?);
    }
    let question = sqlx::query(TEXTS_OF_REPORTS)
        .bind(kinds)
        .bind(ids)
        .bind(resources.iter().map(|resource| resource.deleting).collect::<Vec<_>>())
        .bind(MAX_TEXT);
    for row in question.fetch_all(connection).await? {
        let Some(resource) = index(&row)?.and_then(|index| resources.get_mut(index)) else { continue };
        let adapter: &str = row.try_get(1)?;
        if let Some(report) = resource.reports.iter_mut().find(|report| report.adapter == adapter) {
            (report.reason, report.message) = (row.try_get(2)?, row.try_get(3)?);
        }
    }
    Ok(())
}

fn column<'r>(resources: impl Iterator<Item = &'r Resource>, of: fn(&Resource) -> &str) -> Vec<String> {
    resources.map(of).map(str::to_owned).collect()
}

pub(super) async fn parents(
    connection: &mut PgConnection,
    layout: &Layout,
    resources: &mut [Resource],
) -> Result<(), StoreError> {
    let owners: BTreeMap<usize, String> = resources
        .iter()
        .enumerate()
        .filter(|(_, resource)| resource.deleting)
        .filter_map(|(index, resource)| Some((index, resource.owner.clone()?)))
        .collect();
    if owners.is_empty() {
        return Ok(());
    }
    let sql = put_to(layout, WAITING_PARENTS.to_owned());
    let places: Vec<usize> = owners.keys().copied().collect();
    let owners: Vec<String> = owners.into_values().collect();
    for row in sqlx::query(AssertSqlSafe(sql)).bind(owners).fetch_all(connection).await? {
        let resource = index(&row)?.and_then(|index| resources.get_mut(*places.get(index)?));
        if let Some(resource) = resource {
            let id: String = row.try_get(1)?;
            // Owners in a circle: nothing waits for itself.
            if id == resource.id {
                continue;
            }
            let parent = Parent { id, kind: row.try_get(2)?, name: row.try_get(3)? };
            resource.parents.push(parent);
        }
    }
    Ok(())
}

/// The resource that a row of an answer belongs to.
fn place<'r>(row: &PgRow, resources: &'r mut [Resource]) -> Result<Option<&'r mut Resource>, sqlx::Error> {
    Ok(index(row)?.and_then(|index| resources.get_mut(index)))
}

/// The place that a row of an answer belongs to; the database counts from 1.
fn index(row: &PgRow) -> Result<Option<usize>, sqlx::Error> {
    let place = usize::try_from(row.try_get::<i64, _>(0)?).unwrap_or_default();
    Ok(place.checked_sub(1))
}
