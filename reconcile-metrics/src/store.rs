//! Everything that is asked of the database.
//!
//! In: the configured kinds. Out: what one snapshot of the API's tables says, as plain values; nothing is written. What can
//! fail is in [`StoreError`]: the database is out of reach or too slow, or the role cannot read the tables.
//!
//! Each answer comes from one transaction: read only, repeatable read, with a limit on the time of each statement. Whether the
//! tables are there is not asked beforehand: when PostgreSQL refuses a statement, `schema` says why.

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
pub use coverage::{Coverage, Silent, Unconditioned};
pub use details::{Details, Selection, Stalled, Trouble};
pub use resource::{Report, Resource};
pub use snapshot::{PENDING, Snapshot};

/// The database.
#[derive(Debug)]
pub struct Store {
    connections: Connections,
    kinds: Kinds,
}

impl Store {
    /// A store that has not connected yet.
    #[must_use]
    pub fn new(config: &DatabaseConfig, kinds: &Kinds) -> Self {
        Self { connections: Connections::new(config.clone()), kinds: kinds.clone() }
    }

    /// The kinds that it was made for.
    #[must_use]
    pub fn kinds(&self) -> &Kinds {
        &self.kinds
    }

    /// Reads in one transaction, which ends after `limit` at the latest.
    async fn read<T>(
        &self,
        reader: Reader,
        limit: Duration,
        read: impl AsyncFnOnce(&mut PgConnection) -> Result<T, StoreError>,
    ) -> Result<T, StoreError> {
        match self.connections.read(reader, limit, read).await {
            Err(StoreError::Query(error)) if schema::may_explain(&error) => {
                // The refusal has ended its transaction, so the explanation takes another one.
                let explained = self.connections.read(reader, limit, schema::explain).await;
                Err(explained.ok().flatten().unwrap_or(StoreError::Query(error)))
            }
            answer => answer,
        }
    }

    /// Binds the first four parameters of every statement that compares with thresholds: kinds, their thresholds in seconds
    /// (live, being deleted), and the threshold of all other kinds.
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

/// A count, which is never negative.
fn unsigned(row: &sqlx::postgres::PgRow, column: usize) -> Result<u64, sqlx::Error> {
    use sqlx::Row as _;
    Ok(u64::try_from(row.try_get::<i64, _>(column)?).unwrap_or_default())
}
