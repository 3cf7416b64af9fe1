//! The older schema: one table for each kind, conditions in JSONB.
//!
//! In: the tables. Out: what is pending, row by row, because a time in a JSON text may be none, and a cast in SQL would
//! fail over one such row. Also the same rows in the shape of the newer schema, for questions that both can answer. The
//! names of tables and columns are those that [`tables`](super::tables) found, and are quoted.

use futures::TryStreamExt as _;
use jiff::Timestamp;
use sqlx::postgres::PgRow;
use sqlx::{AssertSqlSafe, PgConnection, Row as _};

use super::connections::{StoreError, quoted};
use super::tables::{DocumentTable, literal};

/// What every pending resource's conditions contain; an index on it is what `index` offers.
pub(super) const PENDING: &str = r#"'[{"type": "Reconciled", "status": "False"}]'"#;

/// One pending resource.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Pending {
    pub(super) id: String,
    pub(super) kind: String,
    pub(super) name: String,
    pub(super) owner: Option<String>,
    pub(super) deleting: bool,
    /// The last transition, or the creation, in seconds since the epoch.
    pub(super) since: f64,
    /// Whether it had no time of transition.
    pub(super) undated: bool,
    pub(super) generation: i64,
    /// Whether it has no condition at all, rather than one that is False.
    pub(super) missing: bool,
}

/// Which rows are asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Wanted {
    /// Reconciled is False.
    Pending,
    /// There is no Reconciled that is True or False.
    Missing,
}

/// Gives each row that is wanted to `each`, as it comes.
pub(super) async fn each(
    connection: &mut PgConnection,
    tables: &[DocumentTable],
    wanted: Wanted,
    mut each: impl FnMut(Pending),
) -> Result<(), StoreError> {
    let selects: Vec<_> = tables.iter().map(|table| select(table, wanted)).collect();
    if selects.is_empty() {
        return Ok(());
    }
    let sql = selects.join("\nUNION ALL\n");
    let mut rows = sqlx::query(AssertSqlSafe(sql)).fetch(connection);
    while let Some(row) = rows.try_next().await? {
        each(read(&row, wanted)?);
    }
    Ok(())
}

fn select(table: &DocumentTable, wanted: Wanted) -> String {
    let conditions = table.conditions("t.");
    let condition = match wanted {
        Wanted::Pending => format!("{conditions} @> {PENDING}"),
        Wanted::Missing => format!(
            r#"NOT coalesce({conditions} @> {PENDING} OR {conditions} @> '[{{"type": "Reconciled", "status": "True"}}]', false)"#
        ),
    };
    format!(
        "SELECT t.{id}::text, {kind} AS kind, {name}, {owner} AS owner, t.{deleted} IS NOT NULL,
                r ->> 'last_transition_time', date_part('epoch', greatest({created}, 'epoch')),
                {generation}
         FROM {table} t {reconciled}
         WHERE {condition}",
        id = quoted(&table.id),
        kind = literal(&table.kind),
        name = name(table),
        owner = owner(table),
        deleted = quoted(&table.deleted.name),
        created = table.created.instant("t."),
        generation = generation(table),
        table = quoted(&table.name),
        reconciled = reconciled(table),
    )
}

fn name(table: &DocumentTable) -> String {
    let id = format!("t.{}::text", quoted(&table.id));
    let name = table.resource_name.as_ref().map(|name| format!("coalesce(t.{}::text, {id})", quoted(name)));
    name.unwrap_or(id)
}

fn owner(table: &DocumentTable) -> String {
    table.owner.as_deref().map_or("NULL::text".to_owned(), |owner| format!("t.{}::text", quoted(owner)))
}

fn generation(table: &DocumentTable) -> String {
    let generation = |column| format!("coalesce(t.{}::bigint, 0)", quoted(column));
    table.generation.as_deref().map_or("0::bigint".to_owned(), generation)
}

/// Joins the condition Reconciled of each row as `r`.
fn reconciled(table: &DocumentTable) -> String {
    let conditions = table.conditions("t.");
    format!(
        "LEFT JOIN LATERAL (
             SELECT e AS r
             FROM jsonb_array_elements(CASE jsonb_typeof({conditions}) WHEN 'array' THEN {conditions} ELSE '[]' END) AS e
             WHERE e ->> 'type' = 'Reconciled' LIMIT 1
         ) AS c ON true"
    )
}

/// What `texts_of_conditions.sql` asks of the newer schema. Each table by its own key: ids are not unique across tables.
pub(super) fn texts(tables: &[DocumentTable]) -> String {
    let selects = tables.iter().map(|table| {
        format!(
            "SELECT n.place, left(r ->> 'reason', $3) AS reason, left(r ->> 'message', $3) AS message
             FROM unnest($1::text[], $2::text[]) WITH ORDINALITY AS n(kind, id, place)
             JOIN {} t ON n.kind = {} AND t.{}::text = n.id {}",
            quoted(&table.name),
            literal(&table.kind),
            quoted(&table.id),
            reconciled(table)
        )
    });
    selects.collect::<Vec<_>>().join("\nUNION ALL\n")
}

/// A question about the newer schema's `resources` and `resource_conditions`, put to the older one's tables.
pub(super) fn over(tables: &[DocumentTable], question: &str) -> String {
    let union =
        |select: fn(&DocumentTable) -> String| tables.iter().map(select).collect::<Vec<_>>().join(" UNION ALL ");
    let resources = union(|table| {
        format!(
            "SELECT t.{}::text AS id, {} AS kind, {} AS name, {} AS owner_id, {} AS generation, {} AS deleted_time FROM {} t",
            quoted(&table.id),
            literal(&table.kind),
            name(table),
            owner(table),
            generation(table),
            table.deleted.instant("t."),
            quoted(&table.name)
        )
    });
    let conditions = union(|table| {
        format!(
            "SELECT t.{}::text AS resource_id, r ->> 'type' AS type, r ->> 'status' AS status, r ->> 'reason' AS reason,
                    r ->> 'message' AS message
             FROM {} t {}",
            quoted(&table.id),
            quoted(&table.name),
            reconciled(table)
        )
    });
    format!(
        "WITH resources AS NOT MATERIALIZED ({resources}), resource_conditions AS NOT MATERIALIZED ({conditions})
         SELECT * FROM ({question}) AS answer"
    )
}

fn read(row: &PgRow, wanted: Wanted) -> Result<Pending, sqlx::Error> {
    let transition: Option<String> = row.try_get(5)?;
    let transition = transition.and_then(|text| text.trim().parse::<Timestamp>().ok());
    let created: Option<f64> = row.try_get(6)?;
    Ok(Pending {
        id: row.try_get(0)?,
        kind: row.try_get(1)?,
        name: row.try_get(2)?,
        owner: row.try_get(3)?,
        deleting: row.try_get(4)?,
        since: transition.map_or(created.unwrap_or_default(), |time| time.as_duration().as_secs_f64()),
        undated: transition.is_none() && wanted == Wanted::Pending,
        generation: row.try_get(7)?,
        missing: wanted == Wanted::Missing,
    })
}
