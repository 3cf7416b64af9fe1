//! The index that helps on a schema that is not ours.
//!
//! In: the schema that was detected. Out: statements that build the index without holding up writers, and what became of
//! them. It can fail because the role may not do it, or because a build that was broken off left an invalid index behind:
//! the error says how to remove it. On our schema there is nothing to build.

use std::sync::atomic::AtomicBool;

use sqlx::{AssertSqlSafe, PgConnection};

use crate::config::Kinds;
use crate::store::{Beside, Layout, StoreError, quoted_identifier};

/// An index that is offered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Index {
    /// Its name.
    pub name: String,
    /// The statement that builds it.
    pub statement: String,
}

/// What became of an index.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Built {
    /// It was built.
    Now,
    /// It was there already, and is left as it is.
    Before,
}

/// An index that was not built.
#[derive(Debug, thiserror::Error)]
pub enum IndexError {
    /// The schema is not known.
    #[error("failed to see which schema the database has")]
    Store(#[from] StoreError),
    /// The statement failed.
    #[error("failed to build `{0}`; if a build was broken off, `DROP INDEX CONCURRENTLY {0}` removes what it left")]
    Failed(String, #[source] sqlx::Error),
    /// It exists, and PostgreSQL does not use it.
    #[error(
        "`{0}` is there but invalid, as a build was broken off: run `DROP INDEX CONCURRENTLY {0}`, then this again"
    )]
    Invalid(String),
}

/// The indexes for the schema that the database has.
///
/// # Errors
/// The schema is not known.
pub async fn offered(connection: &mut PgConnection, kinds: &Kinds) -> Result<(Layout, Vec<Index>), IndexError> {
    let layout = crate::store::layout::detect(connection, kinds, &AtomicBool::new(true)).await?;
    let indexes = match &layout {
        Layout::Rows { beside: Beside::Nothing | Beside::OlderTables } => {
            let name = "idx_reconcile_metrics_pending".to_owned();
            let statement = format!(
                "CREATE INDEX CONCURRENTLY IF NOT EXISTS {name} ON resource_conditions (resource_id) \
                 INCLUDE (last_transition_time) WHERE type = 'Reconciled' AND status = 'False'"
            );
            vec![Index { name, statement }]
        }
        Layout::Documents(tables) => tables
            .read
            .iter()
            .map(|table| {
                let name = format!("idx_reconcile_metrics_pending_{}", table.name);
                let statement = format!(
                    "CREATE INDEX CONCURRENTLY IF NOT EXISTS {} ON {} ({}) \
                     WHERE {} @> '[{{\"type\": \"Reconciled\", \"status\": \"False\"}}]'",
                    quoted_identifier(&name),
                    quoted_identifier(&table.name),
                    quoted_identifier(&table.id),
                    table.conditions(""),
                );
                Index { name, statement }
            })
            .collect(),
        Layout::Tracked | Layout::Rows { beside: Beside::UnkeptRecord | Beside::DoubtedRecord } => Vec::new(),
    };
    Ok((layout, indexes))
}

/// Builds an index, unless it is there.
///
/// # Errors
/// See [`IndexError`].
pub async fn build(connection: &mut PgConnection, index: &Index) -> Result<Built, IndexError> {
    let failed = |error| IndexError::Failed(index.name.clone(), error);
    let before = is_valid(connection, index).await?;
    if before.is_none() {
        let statement = AssertSqlSafe(index.statement.as_str());
        sqlx::raw_sql(statement).execute(&mut *connection).await.map_err(failed)?;
    }
    match (before, is_valid(connection, index).await?) {
        (None, Some(true)) => Ok(Built::Now),
        (Some(true), Some(true)) => Ok(Built::Before),
        _ => Err(IndexError::Invalid(index.name.clone())),
    }
}

/// Whether PostgreSQL uses it, if it is there.
async fn is_valid(connection: &mut PgConnection, index: &Index) -> Result<Option<bool>, IndexError> {
    sqlx::query_scalar("SELECT indisvalid FROM pg_index WHERE indexrelid = to_regclass(quote_ident($1))")
        .bind(&index.name)
        .fetch_optional(connection)
        .await
        .map_err(|error| IndexError::Failed(index.name.clone(), error))
}
