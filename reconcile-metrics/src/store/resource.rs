//! A resource in trouble, and what surrounds it.
//!
//! In: rows of the lists in [`details`](super::details). Out: resources with their adapters' last reports and the deletions that
//! wait for them, from the snapshot of the caller's transaction.

use sqlx::postgres::PgRow;
use sqlx::{PgConnection, Row as _};

use super::StoreError;

const REPORTS: &str = include_str!("sql/reports.sql");
const TEXTS_OF_REPORTS: &str = include_str!("sql/texts_of_reports.sql");
const TEXTS_OF_CONDITIONS: &str = include_str!("sql/texts_of_conditions.sql");
const WAITING_ANCESTORS: &str = include_str!("sql/waiting_ancestors.sql");
/// The most characters that are read of a reason or a message, which may be megabytes.
const MAX_TEXT: i32 = 1000;

/// A resource in trouble.
#[derive(Debug, Clone, PartialEq, Default)]
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
    pub no_condition: bool,
    /// Since when, in seconds since the epoch: the condition's last transition, or of a stalled deletion its request.
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
    /// Of a stalled deletion, the ids of some of the children that are left.
    pub children: Option<Vec<String>>,
    /// The ids of ancestors that are being deleted as well.
    pub blocks: Vec<String>,
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

pub(super) fn from_row(row: &PgRow) -> Result<Resource, sqlx::Error> {
    Ok(Resource {
        id: row.try_get(0)?,
        kind: row.try_get(1)?,
        name: row.try_get(2)?,
        owner: row.try_get(3)?,
        deleting: row.try_get(4)?,
        no_condition: row.try_get(5)?,
        since: row.try_get(6)?,
        age: row.try_get(7)?,
        generation: row.try_get(8)?,
        children: row.try_get(9)?,
        ..Resource::default()
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
        let Some(resource) = index(&row)?.and_then(|index| resources.get_mut(index)) else { continue };
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
    Ok(())
}

/// Adds the texts of the condition and of the reports: of few, as texts take far more memory than all else.
pub(super) async fn texts(connection: &mut PgConnection, resources: &mut [&mut Resource]) -> Result<(), StoreError> {
    if resources.is_empty() {
        return Ok(());
    }
    let column = |of| column(resources.iter().map(|resource| &**resource), of);
    let (kinds, ids) = (column(|resource| &resource.kind), column(|resource| &resource.id));
    let question = sqlx::query(TEXTS_OF_CONDITIONS).bind(&ids).bind(MAX_TEXT);
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

/// Adds the ancestors whose deletion waits for each resource that is being deleted itself.
pub(super) async fn ancestors(connection: &mut PgConnection, resources: &mut [Resource]) -> Result<(), StoreError> {
    let is_waited_for = |resource: &Resource| resource.deleting && resource.owner.is_some();
    if !resources.iter().any(is_waited_for) {
        return Ok(());
    }
    let owners: Vec<Option<String>> = resources.iter().map(|one| one.owner.clone().filter(|_| one.deleting)).collect();
    for row in sqlx::query(WAITING_ANCESTORS).bind(owners).fetch_all(connection).await? {
        let Some(resource) = index(&row)?.and_then(|index| resources.get_mut(index)) else { continue };
        let id: String = row.try_get(1)?;
        // Owners may form a circle; nothing waits for itself.
        if id != resource.id {
            resource.blocks.push(id);
        }
    }
    Ok(())
}

fn column<'r>(resources: impl Iterator<Item = &'r Resource>, of: fn(&Resource) -> &str) -> Vec<String> {
    resources.map(of).map(str::to_owned).collect()
}

/// The place that a row of an answer belongs to; the database counts from 1.
fn index(row: &PgRow) -> Result<Option<usize>, sqlx::Error> {
    let place = usize::try_from(row.try_get::<i64, _>(0)?).unwrap_or_default();
    Ok(place.checked_sub(1))
}
