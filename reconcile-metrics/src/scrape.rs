//! One scrape: a reading of the database that concurrent scrapes share, and what is kept between two.
//!
//! In: the store. Out: a [`Scrape`], always: a reading that fails is one without figures, which says so. Details are
//! renewed by [`Scraper::keep_details`] on their own time, so that no scrape waits for them; they are dropped when they
//! could not be renewed for three intervals. No figure of a failed reading is ever served.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use futures::FutureExt as _;
use futures::future::{BoxFuture, Shared};
use jiff::Timestamp;
use tokio::sync::Notify;
use tokio::time::{Interval, MissedTickBehavior};
use tokio_util::sync::CancellationToken;

use crate::config::{Config, DetailsConfig, Kinds};
use crate::diagnosis::count;
use crate::figures::{Edges, Types};
use crate::store::{self, Finding, Layout, Store};

mod outcome;
mod state;

pub use outcome::{Attempt, Details, Drift, Scrape};
use state::State;

/// After so many intervals without a good reading, details are no more served.
const STALE_INTERVALS: u32 = 3;

type Flight = Shared<BoxFuture<'static, Arc<Scrape>>>;

/// Takes scrapes.
pub struct Scraper {
    store: Arc<Store>,
    edges: Edges,
    limit: Duration,
    details: DetailsConfig,
    state: Mutex<State>,
    flight: Mutex<Option<Flight>>,
    /// A snapshot found another schema than the last pass was over.
    other_layout: Notify,
    shared: AtomicU64,
}

impl Scraper {
    /// A scraper that has not asked anything yet.
    #[must_use]
    pub fn new(store: Arc<Store>, config: &Config) -> Arc<Self> {
        Arc::new(Self {
            edges: Edges::new(&config.exposure.age_buckets, &config.kinds),
            store,
            limit: config.scrape_timeout,
            details: config.details,
            state: Mutex::new(State::new(Types::new(&config.kinds, []))),
            flight: Mutex::default(),
            other_layout: Notify::new(),
            shared: AtomicU64::new(0),
        })
    }

    /// Scrapes, or waits for the scrape that is under way.
    pub async fn scrape(self: &Arc<Self>) -> Arc<Scrape> {
        let flight = {
            let mut flight = self.flight.lock().unwrap_or_else(PoisonError::into_inner);
            match flight.as_ref().filter(|flight| flight.peek().is_none()) {
                Some(under_way) => {
                    self.shared.fetch_add(1, Ordering::Relaxed);
                    under_way.clone()
                }
                None => {
                    // A task of its own: a scraper that hangs up takes the answer from nobody else.
                    let task = tokio::spawn(self.clone().read());
                    let next = task.map(|read| read.unwrap_or_default()).boxed().shared();
                    flight.insert(next).clone()
                }
            }
        };
        flight.await
    }

    async fn read(self: Arc<Self>) -> Arc<Scrape> {
        let previous = self.state().previous;
        let started = (Instant::now(), Timestamp::now());
        let result = self.store.snapshot(&self.edges, previous, self.limit).await;
        let mut state = self.state();
        state.note("snapshot", started, result.as_ref().err());
        if let Ok(snapshot) = &result {
            state.take(snapshot);
            if state.pass.take_if(|(_, pass)| pass.schema != snapshot.layout.label()).is_some() {
                self.other_layout.notify_one();
            }
            state.name(self.kinds(), snapshot.kinds());
        }
        Arc::new(Scrape {
            missing: match (&state.layout, self.lately_missing(&state)) {
                (Some(Layout::Tracked), _) => result.as_ref().ok().map(|snapshot| snapshot.missing.clone()),
                (_, Some(Finding::Missing(missing))) => Some(missing.clone()),
                (_, None | Some(Finding::Drift(_))) => None,
            },
            drift: Drift {
                pending: self.lately(&state.drift).flatten(),
                missing: match self.lately_missing(&state) {
                    Some(Finding::Drift(drift)) => Some(*drift),
                    None | Some(Finding::Missing(_)) => None,
                },
            },
            snapshot: result.ok(),
            layout: state.layout.clone(),
            transitions: state.transitions.clone(),
            details: self.lately(&state.details),
            lingering: self.lately(&state.lingering),
            attempts: state.attempts.clone(),
            shared: self.shared.load(Ordering::Relaxed),
            types: state.types.clone(),
            known_kinds: self.kinds().all().iter().map(|kind| kind.name.clone()).collect(),
        })
    }

    /// What the last pass found, if it is recent.
    fn lately_missing<'s>(&self, state: &'s State) -> Option<&'s Finding> {
        let limit = self.details.missing_interval * STALE_INTERVALS;
        state.pass.as_ref().filter(|(at, _)| at.elapsed() < limit).map(|(_, pass)| &pass.finding)
    }

    /// What was found within the last intervals of the details.
    fn lately<T: Clone>(&self, found: &Option<(Instant, T)>) -> Option<T> {
        let recent = found.as_ref().filter(|(at, _)| at.elapsed() < self.details.interval * STALE_INTERVALS);
        recent.map(|(_, found)| found.clone())
    }

    /// Renews details until told to stop.
    pub async fn keep_details(self: Arc<Self>, stop: CancellationToken) {
        // Apart, as a pass over all resources may take longer than an interval of the details.
        let details = async {
            let mut interval = every(self.details.interval);
            loop {
                interval.tick().await;
                self.renew_details().await;
            }
        };
        let passes = async {
            let DetailsConfig { interval, missing_interval, .. } = self.details;
            let mut retry = interval;
            loop {
                // A pass is dear; but while it fails, nobody knows anything.
                let good = self.renew_pass().await;
                let pause = if good { missing_interval } else { retry.min(missing_interval) };
                retry = if good { interval } else { pause * 2 };
                tokio::select! {
                    () = tokio::time::sleep(pause) => {}
                    () = self.other_layout.notified() => {}
                }
            }
        };
        tokio::select! {
            () = stop.cancelled() => {}
            () = details => {}
            () = passes => {}
        }
    }

    /// Asks who stuck resources wait on, which deletions linger, and whether the record is right. The last two cost as
    /// much as there is in deletion and pending, so each fails on its own.
    pub async fn renew_details(&self) {
        self.renew_waits().await;
        self.renew_lingering().await;
        self.renew_drift().await;
    }

    async fn renew_waits(&self) {
        let started = (Instant::now(), Timestamp::now());
        let result = self.store.details(self.details.max_resources, self.limit).await;
        let mut state = self.state();
        state.note("details", started, result.as_ref().err());
        if let Ok(store::Details { stuck, truncated }) = result {
            let found = stuck.iter().flat_map(|resource| {
                std::iter::once(resource.kind.as_str())
                    .chain(resource.parents.iter().map(|parent| parent.kind.as_str()))
            });
            state.name(self.kinds(), found);
            let waits = count(&stuck, self.kinds(), &state.types);
            state.details = Some((started.0, Details { waits, truncated }));
        }
    }

    async fn renew_lingering(&self) {
        let started = (Instant::now(), Timestamp::now());
        let result = self.store.lingering(self.limit).await;
        let mut state = self.state();
        state.note("lingering", started, result.as_ref().err());
        if let Ok(lingering) = result {
            state.name(self.kinds(), lingering.iter().map(|lingering| lingering.kind.as_str()));
            state.lingering = Some((started.0, lingering));
        }
    }

    async fn renew_drift(&self) {
        // Where there is no record, there is nothing to compare.
        {
            let mut state = self.state();
            if state.layout.as_ref().is_some_and(|layout| !layout.has_record()) {
                state.forget("drift");
                return;
            }
        }
        let started = (Instant::now(), Timestamp::now());
        let result = self.store.drift(self.limit).await;
        let mut state = self.state();
        state.note("drift", started, result.as_ref().err());
        if let Ok(drift) = result {
            state.drift = Some((started.0, drift));
        }
    }

    /// Passes over all resources for missing conditions: whether that went well.
    pub async fn renew_pass(&self) -> bool {
        if self.kinds().with_adapters().next().is_none() {
            return true;
        }
        let started = (Instant::now(), Timestamp::now());
        let result = self.store.pass(self.limit).await;
        let mut state = self.state();
        state.note("missing", started, result.as_ref().err());
        let is_good = result.is_ok();
        if let Ok(pass) = result {
            // It may take longer than its interval.
            state.pass = Some((Instant::now(), pass));
        }
        is_good
    }

    /// How long ago the database answered, if it ever did.
    #[must_use]
    pub fn last_answer(&self) -> Option<Duration> {
        self.state().last_answer.map(|at| at.elapsed())
    }

    /// The kinds that are read.
    #[must_use]
    pub fn kinds(&self) -> &Kinds {
        self.store.kinds()
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn every(period: Duration) -> Interval {
    let mut interval = tokio::time::interval(period);
    interval.set_missed_tick_behavior(MissedTickBehavior::Delay);
    interval
}
