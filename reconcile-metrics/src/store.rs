//! Everything that is asked of the database.
//!
//! In: the configured kinds. Out: what one snapshot of the database says, as plain values; nothing is written. What
//! can fail is in [`StoreError`]: the database is out of reach or too slow, or holds no schema that is known.
//!
//! Each answer comes from one transaction: read only, repeatable read, with a limit on the time of each statement. No
//! more connections are opened than configured, whoever asks. What is asked is decided elsewhere; whether our record may
//! answer it, here.

use std::sync::atomic::AtomicBool;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use sqlx::postgres::PgArguments;
use sqlx::query::Query;
use sqlx::{PgConnection, Postgres};

use crate::config::{DatabaseConfig, Kinds};

mod connections;
mod deletions;
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
pub use deletions::{HeldBy, Lingering};
pub use layout::{Beside, Layout};
pub(crate) use layout::{missing_triggers, silent_triggers};
pub use missing::{Missing, Pass};
pub use resource::{Parent, Report, Resource};
pub use snapshot::{Snapshot, Transition, Transitions, query};
pub use stuck::{Details, Found, Selection, Trouble};
pub use tables::{DocumentTable, Tables, Unread};

/// The database.
#[derive(Debug)]
pub struct Store {
    connections: Connections,
    kinds: Kinds,
    doubts: Mutex<Doubts>,
    /// Whether the API's newer schema was seen to be in use, beside its older one.
    newer_was_used: AtomicBool,
}

/// Why our record, where there is one, is not to be used, but the conditions themselves.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Doubt {
    /// It is to be used: the two were found to agree, or there was no time to compare them and nobody has found it wrong.
    None,
    /// They were not compared yet.
    Uncompared,
    /// They were found to disagree, or the record was not kept since.
    Wrong,
}

/// Doubts about each of the record's states.
#[derive(Debug, Clone, Copy)]
struct Doubts {
    pending: Doubt,
    missing: Doubt,
    /// How often the record was seen not to be kept. A comparison that lasts over such a moment says nothing.
    unkept: u64,
    /// Whether conditions were read for want of trust.
    met: bool,
}

impl Doubts {
    fn both(&mut self, doubt: Doubt) {
        (self.pending, self.missing) = (doubt, doubt);
    }
}

impl Store {
    /// A store that has not connected yet.
    #[must_use]
    pub fn new(config: &DatabaseConfig, kinds: &Kinds) -> Self {
        let doubts = Doubts { pending: Doubt::Uncompared, missing: Doubt::Uncompared, unkept: 0, met: false };
        Self {
            connections: Connections::new(config.clone()),
            kinds: kinds.clone(),
            doubts: Mutex::new(doubts),
            newer_was_used: AtomicBool::new(false),
        }
    }

    /// Uses our record from now on, as if a comparison had found it to be right: whether a reading has done without it.
    pub fn trust_record(&self) -> bool {
        let mut doubts = self.doubts();
        doubts.both(Doubt::None);
        doubts.met
    }

    fn doubts(&self) -> MutexGuard<'_, Doubts> {
        self.doubts.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The kinds that it was made for.
    #[must_use]
    pub fn kinds(&self) -> &Kinds {
        &self.kinds
    }

    /// The schema, as it is to be read.
    async fn layout(&self, connection: &mut PgConnection) -> Result<Layout, StoreError> {
        let layout = self.detected(connection).await?;
        let mut doubts = self.doubts();
        if layout != Layout::Tracked || doubts.pending == Doubt::None {
            return Ok(layout);
        }
        doubts.met = true;
        Ok(Layout::Rows { beside: Beside::DoubtedRecord })
    }

    /// The schema that the database has, and the doubts that it raises.
    async fn detected(&self, connection: &mut PgConnection) -> Result<Layout, StoreError> {
        let layout = layout::detect(connection, &self.kinds, &self.newer_was_used).await?;
        if (layout == Layout::Rows { beside: Beside::UnkeptRecord }) {
            // When it is kept again it still lacks what went past it meanwhile.
            let mut doubts = self.doubts();
            doubts.both(Doubt::Wrong);
            doubts.unkept += 1;
        } else if !layout.has_record() {
            // One that comes later is another one.
            self.doubts().both(Doubt::Uncompared);
        }
        Ok(layout)
    }

    /// Whether our record says what lacks the condition. One that is wrong about what is pending may have that for missing.
    fn has_missing_on_record(&self, layout: &Layout) -> bool {
        *layout == Layout::Tracked && self.doubts().missing == Doubt::None
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

/// What a comparison of our record says of it.
fn verdict(drift: u64) -> Doubt {
    if drift == 0 { Doubt::None } else { Doubt::Wrong }
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
