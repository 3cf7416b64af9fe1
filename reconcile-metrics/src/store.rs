//! Reads the API's tables.
//!
//! In: the configured kinds. Out: rows as plain values. Fails: with a [`StoreError`], if the database cannot be reached, is
//! too slow, or refuses a statement.
//!
//! Each reading is one transaction, read only and repeatable read, with a time limit for each statement. To save a round
//! trip, it does not check beforehand that the tables exist; if PostgreSQL refuses a statement, `schema` finds out why.

use std::time::Duration;

use sqlx::postgres::PgArguments;
use sqlx::query::Query;
use sqlx::{PgConnection, Postgres};

use crate::config::{DatabaseConfig, Kinds};

mod connections;
mod coverage;
mod details;
mod resource;
mod schema;
mod snapshot;

use connections::{Connections, Reader};
pub use connections::{StoreError, connect};
pub use coverage::{Coverage, Silent, WithoutCondition};
pub use details::{Details, Selection, Stalled, Trouble};
pub use resource::{Report, Resource};
pub use snapshot::{PENDING, Snapshot};

/// The database of the HyperFleet API, which the exporter only reads.
#[derive(Debug)]
pub struct Store {
    connections: Connections,
    kinds: Kinds,
}

impl Store {
    /// Creates a store, without connecting.
    #[must_use]
    pub fn new(config: &DatabaseConfig, kinds: &Kinds) -> Self {
        Self { connections: Connections::new(config.clone()), kinds: kinds.clone() }
    }

    /// Returns the kinds of the configuration, by which the store reads resources.
    #[must_use]
    pub fn kinds(&self) -> &Kinds {
        &self.kinds
    }

    /// Runs `read` in one transaction, and fails once the time `limit` is over.
    async fn read<T>(
        &self,
        reader: Reader,
        limit: Duration,
        read: impl AsyncFnOnce(&mut PgConnection) -> Result<T, StoreError>,
    ) -> Result<T, StoreError> {
        match self.connections.read(reader, limit, read).await {
            Err(StoreError::Query(error)) if schema::may_explain(&error) => {
                // PostgreSQL has aborted the transaction, so look into the catalogue in another one.
                let explained = self.connections.read(reader, limit, schema::explain).await;
                Err(explained.ok().flatten().unwrap_or(StoreError::Query(error)))
            }
            answer => answer,
        }
    }

    /// Binds the first four parameters of `stuck.sql` and `stalled.sql`: the configured kinds, their thresholds in seconds,
    /// those for deletions, and the threshold of all other kinds.
    fn with_thresholds<'q>(&self, query: Query<'q, Postgres, PgArguments>) -> Query<'q, Postgres, PgArguments> {
        let column = |of: fn(&crate::config::Kind) -> Duration| -> Vec<f64> {
            self.kinds.all().iter().map(|kind| of(kind).as_secs_f64()).collect()
        };
        query
            .bind(self.kinds.all().iter().map(|kind| kind.name.clone()).collect::<Vec<_>>())
            .bind(column(|kind| kind.stuck_after))
            .bind(column(|kind| kind.stuck_after_deleting))
            .bind(self.kinds.default_stuck_after().as_secs_f64())
    }
}

/// Reads a count, which PostgreSQL returns as a signed integer.
fn unsigned(row: &sqlx::postgres::PgRow, column: &str) -> Result<u64, sqlx::Error> {
    use sqlx::Row as _;
    Ok(u64::try_from(row.try_get::<i64, _>(column)?).unwrap_or_default())
}
