//! Reads and writes the API's tables.
//!
//! In: a connection, inside a transaction where it matters. Out: resources and reports. Fails: with sqlx's errors.
//!
//! Rows travel as JSON, which PostgreSQL makes and takes apart: so a resource with its labels, references and conditions
//! is one value, and times keep their microseconds.

use std::collections::BTreeMap;

use serde::Deserialize;
use sqlx::types::Json;
use sqlx::{PgConnection, Postgres, QueryBuilder};
use uuid::Uuid;

use crate::list::Page;
use crate::model::{Condition, Reference, Report, Resource};

/// Selects resources as documents of [`Resource`]; a condition over the alias `r` follows.
pub const SELECT: &str = "
SELECT to_jsonb(r) || jsonb_build_object(
    'labels', (SELECT coalesce(jsonb_object_agg(l.key, l.value), '{}') FROM resource_labels l WHERE l.resource_id = r.id),
    'conditions', (SELECT coalesce(jsonb_agg(to_jsonb(c)), '[]') FROM resource_conditions c WHERE c.resource_id = r.id),
    'references', (
        SELECT coalesce(
            jsonb_agg(jsonb_build_object('ref_type', f.ref_type, 'id', t.id, 'kind', t.kind, 'href', t.href) ORDER BY f.ref_type, t.id),
            '[]'
        )
        FROM resource_references f JOIN resources t ON t.id = f.target_id WHERE f.source_id = r.id
    )
) FROM resources r";

/// How long a row that is read stays as it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Lock {
    /// Others may change the row at once.
    None,
    /// Nobody deletes the row before the end of the transaction.
    Share,
    /// Nobody changes the row before the end of the transaction.
    Update,
}

/// A child of a resource.
#[derive(Debug, Clone, Deserialize)]
pub struct Child {
    /// The child's id.
    pub id: String,
    /// The child's kind.
    pub kind: String,
    /// Whether its deletion was requested.
    pub is_deleted: bool,
}

/// Reads a resource.
pub async fn find(connection: &mut PgConnection, id: &str, lock: Lock) -> sqlx::Result<Option<Resource>> {
    let locking = match lock {
        Lock::None => None,
        Lock::Share => Some("SELECT FROM resources WHERE id = $1 FOR SHARE"),
        Lock::Update => Some("SELECT FROM resources WHERE id = $1 FOR UPDATE"),
    };
    // Lock first: a statement sees the row as it was before the statement waited for the lock.
    if let Some(locking) = locking {
        sqlx::query(locking).bind(id).execute(&mut *connection).await?;
    }
    let mut query = QueryBuilder::<Postgres>::new(SELECT);
    query.push(" WHERE r.id = ").push_bind(id);
    let found: Option<(Json<Resource>,)> = query.build_query_as().fetch_optional(connection).await?;
    Ok(found.map(|(Json(resource),)| resource))
}

/// Stores a new resource with its labels, references and conditions.
pub async fn insert(connection: &mut PgConnection, resource: &Resource) -> sqlx::Result<()> {
    sqlx::query(
        "INSERT INTO resources SELECT * FROM jsonb_populate_record(NULL::resources, '{\"tenancy\": {}}'::jsonb || $1)",
    )
    .bind(Json(resource))
    .execute(&mut *connection)
    .await?;
    put_labels(connection, &resource.id, &resource.labels).await?;
    put_references(connection, &resource.id, &resource.references).await?;
    put_conditions(connection, &resource.id, &resource.conditions).await
}

/// Stores a resource's row, but not its labels, references and conditions.
pub async fn update(connection: &mut PgConnection, resource: &Resource) -> sqlx::Result<()> {
    sqlx::query(
        "UPDATE resources r SET spec = n.spec, generation = n.generation, updated_time = n.updated_time,
            updated_by = n.updated_by, deleted_time = n.deleted_time, deleted_by = n.deleted_by, href = n.href,
            owner_id = n.owner_id, owner_kind = n.owner_kind, owner_href = n.owner_href
         FROM jsonb_populate_record(NULL::resources, $1) n WHERE r.id = n.id",
    )
    .bind(Json(resource))
    .execute(connection)
    .await?;
    Ok(())
}

/// Replaces a resource's labels.
pub async fn put_labels(
    connection: &mut PgConnection,
    id: &str,
    labels: &BTreeMap<String, String>,
) -> sqlx::Result<()> {
    sqlx::query("DELETE FROM resource_labels WHERE resource_id = $1").bind(id).execute(&mut *connection).await?;
    sqlx::query("INSERT INTO resource_labels SELECT $1, key, value FROM jsonb_each_text($2)")
        .bind(id)
        .bind(Json(labels))
        .execute(connection)
        .await?;
    Ok(())
}

/// Replaces what a resource refers to.
pub async fn put_references(connection: &mut PgConnection, id: &str, references: &[Reference]) -> sqlx::Result<()> {
    sqlx::query("DELETE FROM resource_references WHERE source_id = $1").bind(id).execute(&mut *connection).await?;
    sqlx::query(
        "INSERT INTO resource_references (source_id, ref_type, target_id, target_kind)
         SELECT $1, ref_type, id, kind FROM jsonb_to_recordset($2) AS f (ref_type text, id text, kind text)",
    )
    .bind(id)
    .bind(Json(references))
    .execute(connection)
    .await?;
    Ok(())
}

/// Replaces a resource's conditions.
pub async fn put_conditions(connection: &mut PgConnection, id: &str, conditions: &[Condition]) -> sqlx::Result<()> {
    sqlx::query("DELETE FROM resource_conditions WHERE resource_id = $1").bind(id).execute(&mut *connection).await?;
    sqlx::query(
        "INSERT INTO resource_conditions
         SELECT (jsonb_populate_record(NULL::resource_conditions, c || jsonb_build_object('resource_id', $1::text))).*
         FROM jsonb_array_elements($2) c",
    )
    .bind(id)
    .bind(Json(conditions))
    .execute(connection)
    .await?;
    Ok(())
}

/// Reads the children of a resource, the oldest first.
pub async fn children(connection: &mut PgConnection, id: &str) -> sqlx::Result<Vec<Child>> {
    let found: Vec<(Json<Child>,)> = sqlx::query_as(
        "SELECT jsonb_build_object('id', id, 'kind', kind, 'is_deleted', deleted_time IS NOT NULL)
         FROM resources WHERE owner_id = $1 ORDER BY created_time, id",
    )
    .bind(id)
    .fetch_all(connection)
    .await?;
    Ok(found.into_iter().map(|(Json(child),)| child).collect())
}

/// Reads the live resources that refer to this one.
pub async fn referrers(connection: &mut PgConnection, id: &str) -> sqlx::Result<Vec<Resource>> {
    let mut query = QueryBuilder::<Postgres>::new(SELECT);
    query.push(
        " WHERE r.deleted_time IS NULL AND r.id IN (SELECT source_id FROM resource_references WHERE target_id = ",
    );
    query.push_bind(id).push(") ORDER BY r.id");
    let found: Vec<(Json<Resource>,)> = query.build_query_as().fetch_all(connection).await?;
    Ok(found.into_iter().map(|(Json(resource),)| resource).collect())
}

/// Reads the reports on a resource, in the order of the adapters' names.
pub async fn reports(connection: &mut PgConnection, kind: &str, id: &str) -> sqlx::Result<Vec<Report>> {
    let found: Vec<(Json<Report>,)> = sqlx::query_as(
        "SELECT to_jsonb(s) FROM adapter_statuses s WHERE resource_type = $1 AND resource_id = $2 ORDER BY adapter",
    )
    .bind(kind)
    .bind(id)
    .fetch_all(connection)
    .await?;
    Ok(found.into_iter().map(|(Json(report),)| report).collect())
}

/// Reads a page of the reports on a resource, in the order of the adapters' names, and counts all of them.
pub async fn page_of_reports(
    connection: &mut PgConnection,
    kind: &str,
    id: &str,
    page: Page,
) -> sqlx::Result<(Vec<Report>, i64)> {
    let from = " FROM adapter_statuses s WHERE resource_type = ";
    let of = |select: &str| {
        let mut query = QueryBuilder::<Postgres>::new(select);
        query.push(from).push_bind(kind.to_owned()).push(" AND resource_id = ").push_bind(id.to_owned());
        query
    };
    let total = of("SELECT count(*)").build_query_scalar().fetch_one(&mut *connection).await?;
    let mut reading = of("SELECT to_jsonb(s)");
    page.push(reading.push(" ORDER BY adapter"));
    let found: Vec<(Json<Report>,)> = reading.build_query_as().fetch_all(connection).await?;
    Ok((found.into_iter().map(|(Json(report),)| report).collect(), total))
}

/// Stores a report in the place of the adapter's former one.
pub async fn put_report(connection: &mut PgConnection, resource: &Resource, report: &Report) -> sqlx::Result<()> {
    sqlx::query(
        "INSERT INTO adapter_statuses
         SELECT * FROM jsonb_populate_record(NULL::adapter_statuses, $1 || jsonb_build_object(
             'id', $2::text, 'resource_type', $3::text, 'resource_id', $4::text, 'updated_time', now()))
         ON CONFLICT (resource_type, resource_id, adapter) DO UPDATE SET
             updated_time = excluded.updated_time, observed_generation = excluded.observed_generation,
             last_report_time = excluded.last_report_time, conditions = excluded.conditions,
             data = excluded.data, metadata = excluded.metadata",
    )
    .bind(Json(report))
    .bind(Uuid::now_v7().to_string())
    .bind(&resource.kind)
    .bind(&resource.id)
    .execute(connection)
    .await?;
    Ok(())
}

/// Removes a resource, its reports, and the references to it.
pub async fn remove(connection: &mut PgConnection, resource: &Resource) -> sqlx::Result<()> {
    for statement in [
        "DELETE FROM adapter_statuses WHERE resource_type = $2 AND resource_id = $1",
        "DELETE FROM resource_references WHERE target_id = $1 AND $2 <> ''",
        "DELETE FROM resources WHERE id = $1 AND kind = $2",
    ] {
        sqlx::query(statement).bind(&resource.id).bind(&resource.kind).execute(&mut *connection).await?;
    }
    Ok(())
}
