//! One scrape: a reading of the database that concurrent scrapes share, and what is kept between two.
//!
//! In: the store. Out: a [`Scrape`], always: a reading that fails is one without figures, which says so. Details are
//! renewed by [`Scraper::keep_details`] on their own time, so that no scrape waits for them; they are dropped when they
//! could not be renewed for three intervals, but for drift that decides what is read. No figure of a failed reading is ever served.

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
use crate::store::{self, Store, StoreError};

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
        let snapshot = self.reading("snapshot", self.store.snapshot(&self.edges, previous, self.limit)).await;
        let mut state = self.state();
        if let Some(snapshot) = &snapshot {
            state.take(self.kinds(), snapshot);
            if state.pass.take_if(|(_, pass)| pass.schema != snapshot.layout.label()).is_some() {
                self.other_layout.notify_one();
            }
            state.name(self.kinds(), snapshot.kinds());
            state.missing_is_on_record = snapshot.missing.is_some();
        }
        let DetailsConfig { interval, missing_interval, .. } = self.details;
        let missing = if state.missing_is_on_record {
            // Once the record has said it, a pass of before would be a step back in time.
            snapshot.as_ref().and_then(|snapshot| snapshot.missing.clone())
        } else {
            lately(&state.pass, missing_interval).map(|pass| pass.missing.clone())
        };
        Arc::new(Scrape {
            missing,
            drift: Drift {
                pending: drift(state.drift, interval),
                missing: drift(state.pass.as_ref().and_then(|(at, pass)| Some((*at, pass.drift?))), missing_interval),
            },
            layout: state.layout.clone(),
            transitions: state.transitions.clone(),
            details: lately(&state.details, interval).cloned(),
            lingering: lately(&state.lingering, interval).cloned(),
            attempts: state.attempts.clone(),
            shared: self.shared.load(Ordering::Relaxed),
            types: state.types.clone(),
            known_kinds: self.kinds().all().iter().map(|kind| kind.name.clone()).collect(),
            snapshot,
        })
    }

    /// Reads, notes how that went, and says what was found.
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

    /// Asks whether the record is right, who stuck resources wait on, and which deletions linger: in that order, as the record is
    /// used for the others or not. The first and the last cost as much as there is pending and in deletion, so each fails on its
    /// own.
    pub async fn renew_details(&self) {
        self.renew_drift().await;
        self.renew_waits().await;
        self.renew_lingering().await;
    }

    async fn renew_waits(&self) {
        let details = self.store.details(self.details.max_resources, self.limit);
        let Some(details) = self.reading("details", details).await else { return };
        let above_stuck = details.above_stuck();
        let store::Details { stuck, truncated } = details;
        let mut state = self.state();
        state.above_stuck = Some((Instant::now(), above_stuck));
        let found = stuck.iter().flat_map(|resource| {
            std::iter::once(resource.kind.as_str()).chain(resource.parents.iter().map(|parent| parent.kind.as_str()))
        });
        state.name(self.kinds(), found);
        let mut waits = count(&stuck, self.kinds(), &state.types);
        if truncated {
            waits.leave_zeros_out();
        }
        for kind in state.layout.iter().flat_map(|layout| layout.ownerless(self.kinds())) {
            waits.leave_children_out(&state.types.label(kind));
        }
        state.details = Some((Instant::now(), Details { waits, truncated }));
    }

    async fn renew_lingering(&self) {
        let above_stuck = lately(&self.state().above_stuck, self.details.interval).cloned().unwrap_or_default();
        let lingering = self.store.lingering(&above_stuck, self.limit);
        let Some(lingering) = self.reading("lingering", lingering).await else { return };
        let mut state = self.state();
        state.name(self.kinds(), lingering.iter().map(|lingering| lingering.kind.as_str()));
        state.lingering = Some((Instant::now(), lingering));
    }

    async fn renew_drift(&self) {
        {
            let mut state = self.state();
            // Where there is no record, there is nothing to compare.
            if state.layout.as_ref().is_some_and(|layout| !layout.has_record()) {
                state.forget("drift");
                state.take_drift(None);
                return;
            }
            if state.drift_due.is_some_and(|(due, _)| Instant::now() < due) {
                return;
            }
        }
        let drift = self.reading("drift", self.store.drift(self.limit)).await;
        let mut state = self.state();
        match drift {
            Some(drift) => state.take_drift(drift),
            None => state.put_off_drift(self.details.interval, self.details.missing_interval),
        }
    }

    /// Passes over all resources for missing conditions: whether that went well.
    pub async fn renew_pass(&self) -> bool {
        if self.kinds().with_adapters().next().is_none() {
            return true;
        }
        let Some(pass) = self.reading("missing", self.store.pass(self.limit)).await else { return false };
        self.state().take_pass(pass);
        true
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

/// What was found within the last intervals.
fn lately<T>(found: &Option<(Instant, T)>, interval: Duration) -> Option<&T> {
    found.as_ref().filter(|(at, _)| at.elapsed() < interval * STALE_INTERVALS).map(|(_, found)| found)
}

/// How wrong the record is, if that was found lately. What decides that it is not used is told for as long as it does.
fn drift(found: Option<(Instant, u64)>, interval: Duration) -> Option<u64> {
    let decides = found.map(|(_, drift)| drift).filter(|drift| *drift > 0);
    decides.or_else(|| lately(&found, interval).copied())
}

fn every(period: Duration) -> Interval {
    let mut interval = tokio::time::interval(period);
    interval.set_missed_tick_behavior(MissedTickBehavior::Delay);
    interval
}
