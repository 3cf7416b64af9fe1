//! Everything that is asked of the database.
//!
//! In: the configured kinds. Out: what one snapshot of the database says, as plain values; nothing is written. What
//! can fail is in [`StoreError`]: the database is out of reach or too slow, or holds no schema that is known.
//!
//! Each answer comes from one transaction: read only, repeatable read, with a limit on the time of each statement. No
//! more connections are opened than configured, whoever asks. Decisions about what is read are made elsewhere.

use std::time::Duration;

use sqlx::PgConnection;

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
pub use missing::{Finding, Missing, Pass};
pub use resource::{Parent, Report, Resource};
pub use snapshot::{Snapshot, Transition, Transitions, query};
pub use stuck::{Details, Found, Lingering, Selection, Trouble};
pub use tables::{DocumentTable, Tables, Unread};

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
}
