//! Reads what belongs to listed resources: the last reports of adapters, texts, and ancestors that wait for them.
//!
//! In: resources from [`details`](super::details), and the caller's transaction. Out: the same resources, with more fields
//! set. Fails: with a [`StoreError`].

use jiff::Timestamp;
use serde::Serialize;
use sqlx::postgres::PgRow;
use sqlx::{PgConnection, Row as _};

use super::StoreError;

const REPORTS: &str = include_str!("sql/reports.sql");
const TEXTS_OF_REPORTS: &str = include_str!("sql/texts_of_reports.sql");
const TEXTS_OF_CONDITIONS: &str = include_str!("sql/texts_of_conditions.sql");
const WAITING_ANCESTORS: &str = include_str!("sql/waiting_ancestors.sql");
/// The most characters to read of a reason or message. An adapter may write megabytes, for thousands of resources.
const MAX_TEXT: i32 = 1000;

/// A stuck resource, or one whose deletion is stalled, with the fields that `stuck` and `/stuck` print as JSON.
#[derive(Debug, Clone, PartialEq, Default, Serialize)]
pub struct Resource {
    /// The resource's id in the API.
    pub id: String,
    /// The resource's kind, as the API writes it.
    pub kind: String,
    /// The resource's name in the API.
    pub name: String,
    /// The id of the resource's parent, such as the cluster of a node pool.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub owner_id: Option<String>,
    /// Whether it is being deleted.
    pub deleting: bool,
    /// Whether it has no condition Reconciled.
    pub no_condition: bool,
    /// When the condition became False, or when a stalled deletion was requested.
    pub since: Timestamp,
    /// The whole seconds since then.
    pub age_seconds: u64,
    /// The resource's current generation, which the reports of its adapters must be about.
    pub generation: i64,
    /// The reason of its condition Reconciled, cut; `None` if texts were not read.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// The message of its condition Reconciled, cut; `None` if texts were not read.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
    /// The last report of each adapter, ordered by the adapter's name.
    #[serde(skip)]
    pub reports: Vec<Report>,
    /// For a stalled deletion, the ids of up to four children that still exist.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub children: Option<Vec<String>>,
    /// The ids of ancestors that are being deleted, and so wait for this resource.
    pub blocks: Vec<String>,
}

/// The last report of an adapter about a resource.
#[derive(Debug, Clone, PartialEq)]
pub struct Report {
    /// The name of the adapter that reported.
    pub adapter: String,
    /// The generation that the report is about.
    pub observed_generation: i64,
    /// The time of the report.
    pub at: Timestamp,
    /// Whether the report contains `Available=True`.
    pub available: bool,
    /// Whether it contains `Finalized=True`, and an `Available` that is True or False: the API ignores other reports.
    pub finalized: bool,
    /// The reason of its condition `Available` or `Finalized`, cut; `None` if texts were not read.
    pub reason: Option<String>,
    /// The message of that condition, cut; `None` if texts were not read.
    pub message: Option<String>,
}

pub(super) fn from_row(row: &PgRow) -> Result<Resource, sqlx::Error> {
    Ok(Resource {
        id: row.try_get("id")?,
        kind: row.try_get("kind")?,
        name: row.try_get("name")?,
        owner_id: row.try_get("owner_id")?,
        deleting: row.try_get("deleting")?,
        no_condition: row.try_get("no_condition")?,
        since: timestamp(row.try_get("since")?),
        age_seconds: row.try_get::<f64, _>("age")?.max(0.0) as u64,
        generation: row.try_get("generation")?,
        children: row.try_get("children")?,
        ..Resource::default()
    })
}

/// Adds the reports of adapters, without their texts.
pub(super) async fn reports(connection: &mut PgConnection, resources: &mut [Resource]) -> Result<(), StoreError> {
    if resources.is_empty() {
        return Ok(());
    }
    let query = sqlx::query(REPORTS).bind(column(resources.iter(), |resource| &resource.kind));
    let query = query.bind(column(resources.iter(), |resource| &resource.id));
    for row in query.fetch_all(connection).await? {
        let Some(resource) = index(&row)?.and_then(|index| resources.get_mut(index)) else { continue };
        resource.reports.push(Report {
            adapter: row.try_get("adapter")?,
            observed_generation: row.try_get("observed_generation")?,
            at: timestamp(row.try_get("last_report")?),
            available: row.try_get("available")?,
            finalized: row.try_get("finalized")?,
            reason: None,
            message: None,
        });
    }
    Ok(())
}

/// Adds reasons and messages of conditions and reports. Callers pass only the resources that they print, because texts
/// take most of the memory.
pub(super) async fn texts(connection: &mut PgConnection, resources: &mut [&mut Resource]) -> Result<(), StoreError> {
    if resources.is_empty() {
        return Ok(());
    }
    let column = |of| column(resources.iter().map(|resource| &**resource), of);
    let (kinds, ids) = (column(|resource| &resource.kind), column(|resource| &resource.id));
    let query = sqlx::query(TEXTS_OF_CONDITIONS).bind(&ids).bind(MAX_TEXT);
    for row in query.fetch_all(&mut *connection).await? {
        let Some(resource) = index(&row)?.and_then(|index| resources.get_mut(index)) else { continue };
        (resource.reason, resource.message) = (row.try_get("reason")?, row.try_get("message")?);
    }
    let query = sqlx::query(TEXTS_OF_REPORTS)
        .bind(kinds)
        .bind(ids)
        .bind(resources.iter().map(|resource| resource.deleting).collect::<Vec<_>>())
        .bind(MAX_TEXT);
    for row in query.fetch_all(connection).await? {
        let Some(resource) = index(&row)?.and_then(|index| resources.get_mut(index)) else { continue };
        let adapter: &str = row.try_get("adapter")?;
        if let Some(report) = resource.reports.iter_mut().find(|report| report.adapter == adapter) {
            (report.reason, report.message) = (row.try_get("reason")?, row.try_get("message")?);
        }
    }
    Ok(())
}

/// Adds to each resource that is being deleted the ancestors that are being deleted too: the API deletes a parent after
/// its children.
pub(super) async fn ancestors(connection: &mut PgConnection, resources: &mut [Resource]) -> Result<(), StoreError> {
    let is_waited_for = |resource: &Resource| resource.deleting && resource.owner_id.is_some();
    if !resources.iter().any(is_waited_for) {
        return Ok(());
    }
    let owners: Vec<Option<String>> =
        resources.iter().map(|one| one.owner_id.clone().filter(|_| one.deleting)).collect();
    for row in sqlx::query(WAITING_ANCESTORS).bind(owners).fetch_all(connection).await? {
        let Some(resource) = index(&row)?.and_then(|index| resources.get_mut(index)) else { continue };
        let id: String = row.try_get("id")?;
        // Owners may form a cycle, and a resource does not wait for itself.
        if id != resource.id {
            resource.blocks.push(id);
        }
    }
    Ok(())
}

fn timestamp(seconds: f64) -> Timestamp {
    // The SQL statements limit times to between the epoch and now, so the conversion cannot fail.
    Timestamp::from_microsecond((seconds * 1e6) as i64).unwrap_or(Timestamp::UNIX_EPOCH)
}

fn column<'r>(resources: impl Iterator<Item = &'r Resource>, of: fn(&Resource) -> &str) -> Vec<String> {
    resources.map(of).map(str::to_owned).collect()
}

/// Returns the index of the resource that a row belongs to: `place` is its position in the bound array, from 1.
fn index(row: &PgRow) -> Result<Option<usize>, sqlx::Error> {
    let place = usize::try_from(row.try_get::<i64, _>("place")?).unwrap_or_default();
    Ok(place.checked_sub(1))
}
