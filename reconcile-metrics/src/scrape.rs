//! Reads the database for scrapes, and reads details in the background.
//!
//! In: the store. Out: a [`Scrape`]. Cannot fail: if the reading fails, the scrape has no figures and records the failure.
//! Concurrent scrapes share one reading. [`Scraper::keep_details`] reads details every `details.interval`, so no scrape
//! waits for them; scrapes drop details that are older than three intervals.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use futures::FutureExt as _;
use futures::future::{BoxFuture, Shared};
use jiff::Timestamp;
use tokio::time::MissedTickBehavior;

use crate::config::{AGE_BUCKETS, Config, DetailsConfig, Kinds};
use crate::diagnosis::count;
use crate::figures::{Bounds, Types};
use crate::store::{self, Store, StoreError};

mod outcome;
mod state;

pub use outcome::{Attempt, Details, Scrape};
use state::State;

/// The age, in intervals, at which details are dropped.
const STALE_INTERVALS: u32 = 3;

type Flight = Shared<BoxFuture<'static, Arc<Scrape>>>;

/// Takes scrapes, and keeps what has to survive between them.
pub struct Scraper {
    store: Arc<Store>,
    bounds: Bounds,
    limit: Duration,
    details: DetailsConfig,
    state: Mutex<State>,
    flight: Mutex<Option<Flight>>,
}

impl Scraper {
    /// Creates a scraper, without reading the database.
    #[must_use]
    pub fn new(store: Arc<Store>, config: &Config) -> Arc<Self> {
        Arc::new(Self {
            bounds: Bounds::new(&AGE_BUCKETS, &config.kinds),
            store,
            limit: config.scrape_timeout,
            details: config.details,
            state: Mutex::new(State::new(Types::new(&config.kinds, []))),
            flight: Mutex::default(),
        })
    }

    /// Reads the database, or waits for the reading that another scrape has begun.
    pub async fn scrape(self: &Arc<Self>) -> Arc<Scrape> {
        let flight = {
            let mut flight = self.flight.lock().unwrap_or_else(PoisonError::into_inner);
            match flight.as_ref().filter(|flight| flight.peek().is_none()) {
                Some(under_way) => under_way.clone(),
                None => {
                    // The reading is a task of its own, so that it continues for others if this client disconnects.
                    let task = tokio::spawn(self.clone().read());
                    let next = task.map(|read| read.unwrap_or_default()).boxed().shared();
                    flight.insert(next).clone()
                }
            }
        };
        flight.await
    }

    async fn read(self: Arc<Self>) -> Arc<Scrape> {
        let snapshot = self.reading("snapshot", self.store.snapshot(&self.bounds, self.limit)).await;
        let mut state = self.state();
        if let Some(snapshot) = &snapshot {
            state.name(self.kinds(), snapshot.kinds());
        }
        let is_recent = |at: &Instant| at.elapsed() < self.details.interval * STALE_INTERVALS;
        Arc::new(Scrape {
            details: state.details.as_ref().filter(|(at, _)| is_recent(at)).map(|(_, details)| details.clone()),
            attempts: state.attempts.clone(),
            types: state.types.clone(),
            snapshot,
        })
    }

    /// Runs a reading and records its duration and success.
    async fn reading<T>(
        &self,
        collector: &'static str,
        read: impl Future<Output = Result<T, StoreError>>,
    ) -> Option<T> {
        let started = (Instant::now(), Timestamp::now());
        let result = read.await;
        self.state().note(collector, started, result.as_ref().err());
        result.ok()
    }

    /// Reads details every interval, without end.
    pub async fn keep_details(self: Arc<Self>) {
        let mut interval = tokio::time::interval(self.details.interval);
        interval.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            interval.tick().await;
            self.renew_details().await;
        }
    }

    /// Reads which adapters stuck resources wait on, and which deletions are stalled.
    pub async fn renew_details(&self) {
        let details = self.store.details(self.details.max_resources, self.limit);
        let Some(details) = self.reading("details", details).await else { return };
        let store::Details { stuck, truncated, stalled } = details;
        let mut state = self.state();
        let kinds = stuck.iter().map(|stuck| stuck.kind.as_str());
        state.name(self.kinds(), kinds.chain(stalled.iter().map(|stalled| stalled.kind.as_str())));
        let mut waits = count(&stuck, self.kinds(), &state.types);
        if truncated {
            // Resources that were not read may wait on the other adapters, so their counts are unknown and not zero.
            waits.retain(|_, count| *count > 0);
        }
        state.details = Some((Instant::now(), Details { waits, truncated, stalled }));
    }

    /// Returns the time since the last successful reading, if there was one.
    #[must_use]
    pub fn last_answer(&self) -> Option<Duration> {
        self.state().last_answer.map(|at| at.elapsed())
    }

    /// Returns the kinds of the configuration, with their thresholds.
    #[must_use]
    pub fn kinds(&self) -> &Kinds {
        self.store.kinds()
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
