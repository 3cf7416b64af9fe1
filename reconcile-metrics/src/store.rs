//! Everything that is asked of the database.
//!
//! In: the configured kinds. Out: what one snapshot of the database says, as plain values; nothing is written. What
//! can fail is in [`StoreError`]: the database is out of reach or too slow, or holds no schema that is known.
//!
//! Each answer comes from one transaction: read only, repeatable read, with a limit on the time of each statement. No
//! more connections are opened than configured, whoever asks. Decisions about what is read are made elsewhere.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use sqlx::postgres::PgArguments;
use sqlx::query::Query;
use sqlx::{PgConnection, Postgres};

use crate::config::{DatabaseConfig, Kinds};

mod connections;
mod documents;
pub mod layout;
mod missing;
mod resource;
mod snapshot;
mod stuck;
mod tables;

pub(crate) use connections::quoted as quoted_identifier;
use connections::{Connections, Reader};
pub use connections::{StoreError, connect};
pub use layout::{Beside, Layout};
pub(crate) use layout::{missing_triggers, silent_triggers};
pub use missing::{Missing, Pass};
pub use resource::{Parent, Report, Resource};
pub use snapshot::{Snapshot, Transition, Transitions, query};
pub use stuck::{Details, Found, Lingering, Selection, Trouble};
pub use tables::{DocumentTable, Tables, Unread};

/// The database.
#[derive(Debug)]
pub struct Store {
    connections: Connections,
    kinds: Kinds,
    doubts: Doubts,
}

/// Whether our record, where there is one, was found to disagree with the conditions: then these are read instead, until a
/// comparison finds that the two agree.
#[derive(Debug, Default)]
struct Doubts {
    /// About what is pending.
    pending: AtomicBool,
    /// About what lacks the condition.
    missing: AtomicBool,
}

impl Store {
    /// A store that has not connected yet.
    #[must_use]
    pub fn new(config: &DatabaseConfig, kinds: &Kinds) -> Self {
        Self { connections: Connections::new(config.clone()), kinds: kinds.clone(), doubts: Doubts::default() }
    }

    /// The same, but one that reads the conditions from the start, as nobody has compared our record with them.
    #[must_use]
    pub fn doubting(self) -> Self {
        self.doubts.pending.store(true, Ordering::Relaxed);
        self
    }

    /// The kinds that it was made for.
    #[must_use]
    pub fn kinds(&self) -> &Kinds {
        &self.kinds
    }

    /// The schema, as it is to be read.
    async fn layout(&self, connection: &mut PgConnection) -> Result<Layout, StoreError> {
        let is_doubted = [&self.doubts.pending, &self.doubts.missing].iter().any(|doubt| doubt.load(Ordering::Relaxed));
        Ok(match layout::detect(connection, &self.kinds).await? {
            Layout::Tracked if is_doubted => Layout::Rows { beside: Beside::DoubtedRecord },
            layout => layout,
        })
    }

    /// Reads in one transaction, which ends after `limit` at the latest.
    async fn read<T>(
        &self,
        limit: Duration,
        read: impl AsyncFnOnce(&mut PgConnection) -> Result<T, StoreError>,
    ) -> Result<T, StoreError> {
        self.connections.read(Reader::Beside, limit, read).await
    }

    /// The same for a scrape, which waits for no other reader.
    async fn read_for_scrape<T>(
        &self,
        limit: Duration,
        read: impl AsyncFnOnce(&mut PgConnection) -> Result<T, StoreError>,
    ) -> Result<T, StoreError> {
        self.connections.read(Reader::Scrape, limit, read).await
    }
}

/// Kinds and thresholds as the queries want them.
#[derive(Debug, Clone, Default)]
struct Thresholds {
    kinds: Vec<String>,
    live: Vec<f64>,
    deletion: Vec<f64>,
}

impl Thresholds {
    fn of<'k>(kinds: impl Iterator<Item = &'k crate::config::Kind>) -> Self {
        let mut thresholds = Self::default();
        for kind in kinds {
            thresholds.kinds.push(kind.name.clone());
            thresholds.live.push(kind.stuck_after.as_secs_f64());
            thresholds.deletion.push(kind.stuck_after_deleting.as_secs_f64());
        }
        thresholds
    }

    /// As the first three parameters of a statement.
    fn put_to<'q>(self, query: Query<'q, Postgres, PgArguments>) -> Query<'q, Postgres, PgArguments> {
        query.bind(self.kinds).bind(self.live).bind(self.deletion)
    }
}
