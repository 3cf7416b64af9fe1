//! Which of the known schemas a database has.
//!
//! In: what the catalogue says about tables and columns. Out: a [`Layout`]. The newest that is complete wins: the API's
//! change from one table per kind to generic ones left the old tables behind.

use sqlx::{PgConnection, Row as _};

use super::connections::StoreError;
use crate::config::{Kinds, known_table};

/// A schema.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Layout {
    /// Ours: unsettled resources and transitions are recorded by triggers.
    Tracked,
    /// The API's: conditions are rows.
    Rows {
        /// Whether tables of the older schema are there, too.
        leftovers: bool,
    },
    /// The API's before v0.3.1: a table for each kind, with conditions in a JSONB column.
    Documents(Vec<DocumentTable>),
}

/// A table of the older schema, by the names that it really has.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DocumentTable {
    /// The kind that it holds.
    pub kind: String,
    /// Its name.
    pub name: String,
    /// The JSONB column of conditions.
    pub conditions: String,
    /// The column that is null until the resource is deleted.
    pub deleted: String,
    /// The column of the time of creation.
    pub created: String,
    /// The column of the parent's id.
    pub owner: Option<String>,
}

impl Layout {
    /// Every value of [`label`](Self::label).
    pub const LABELS: [&'static str; 3] = ["documents", "rows", "tracked"];

    /// The value of the label `schema`.
    #[must_use]
    pub fn label(&self) -> &'static str {
        match self {
            Self::Tracked => "tracked",
            Self::Rows { .. } => "rows",
            Self::Documents(_) => "documents",
        }
    }

    /// What it is, for people.
    #[must_use]
    pub fn describe(&self) -> &'static str {
        match self {
            Self::Tracked => "our schema: transitions are counted exactly",
            Self::Rows { leftovers: false } => "the API's schema: transitions are counted between scrapes",
            Self::Rows { leftovers: true } => {
                "the API's schema, beside tables of its older one, which are not read: resources that were not migrated \
                 are in nobody's figures"
            }
            Self::Documents(_) => "the API's older schema: each scrape reads the pending rows one by one",
        }
    }
}

/// Detects the schema.
///
/// # Errors
/// The database does not answer, or has none of them.
pub(crate) async fn detect(connection: &mut PgConnection, kinds: &Kinds) -> Result<Layout, StoreError> {
    let row = sqlx::query(
        "SELECT to_regclass('unsettled_resources') IS NOT NULL AND to_regclass('reconciliation_transitions') IS NOT NULL,
                to_regclass('resources') IS NOT NULL AND to_regclass('resource_conditions') IS NOT NULL",
    )
    .fetch_one(&mut *connection)
    .await?;
    let (tracked, rows): (bool, bool) = (row.try_get(0)?, row.try_get(1)?);
    if tracked && rows {
        return Ok(Layout::Tracked);
    }
    let documents = documents(connection, kinds).await?;
    match (rows, documents.is_empty()) {
        (true, nothing_else) => Ok(Layout::Rows { leftovers: !nothing_else }),
        (false, false) => Ok(Layout::Documents(documents)),
        (false, true) => Err(StoreError::UnknownSchema(
            "there are no tables `resources` and `resource_conditions`, and no table of a kind has a JSONB column of \
             conditions; is `database.name` or `database.schema` wrong, or `reconcile-metrics migrate` to be run?"
                .to_owned(),
        )),
    }
}

/// The tables of the older schema: those of the configured kinds, or the two that are known.
async fn documents(connection: &mut PgConnection, kinds: &Kinds) -> Result<Vec<DocumentTable>, StoreError> {
    let configured: Vec<_> =
        kinds.all().iter().filter_map(|kind| Some((kind.name.clone(), kind.table.clone()?))).collect();
    let candidates = if configured.is_empty() {
        ["Cluster", "NodePool"].iter().filter_map(|kind| Some(((*kind).to_owned(), known_table(kind)?))).collect()
    } else {
        configured
    };
    let mut found = Vec::new();
    for (kind, table) in candidates {
        let columns: Vec<String> = sqlx::query_scalar(
            "SELECT attname::text FROM pg_attribute
             WHERE attrelid = to_regclass(quote_ident($1)) AND attnum > 0 AND NOT attisdropped",
        )
        .bind(&table.name)
        .fetch_all(&mut *connection)
        .await?;
        let first =
            |names: [&'static str; 2]| names.into_iter().find(|name| columns.iter().any(|column| column == name));
        let (Some(deleted), Some(created), true) = (
            first(["deleted_time", "deleted_at"]),
            first(["created_time", "created_at"]),
            columns.contains(&table.conditions),
        ) else {
            continue;
        };
        found.push(DocumentTable {
            kind,
            name: table.name,
            conditions: table.conditions,
            deleted: deleted.to_owned(),
            created: created.to_owned(),
            owner: table.owner.filter(|owner| columns.contains(owner)),
        });
    }
    Ok(found)
}
