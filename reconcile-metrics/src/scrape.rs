//! One scrape: a reading of the database that concurrent scrapes share, and what is kept between two.
//!
//! In: the store. Out: a [`Scrape`], always: a reading that fails is one without figures, which says so. Details are
//! renewed by [`Scraper::keep_details`] on their own time, so that no scrape waits for them; they are dropped when they
//! could not be renewed for three intervals. No figure of a failed reading is ever served.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use futures::FutureExt as _;
use futures::future::{BoxFuture, Shared};
use jiff::Timestamp;
use tokio::time::{Interval, MissedTickBehavior};
use tokio_util::sync::CancellationToken;

use crate::config::{Config, DetailsConfig, Kinds};
use crate::diagnosis::{Waits, count};
use crate::figures::{Edges, Types};
use crate::store::{self, Beside, Layout, Lingering, Missing, Snapshot, Store, StoreError, Transitions};

/// After so many intervals without a good reading, details are no more served.
const STALE_INTERVALS: u32 = 3;

/// The most spellings of kinds that are warned of.
const MAX_SPELLINGS: usize = 20;

/// What one scrape found out.
#[derive(Debug, Clone, Default)]
pub struct Scrape {
    /// The reading of this scrape, if it was good.
    pub snapshot: Option<Snapshot>,
    /// The schema that was read last.
    pub layout: Option<Layout>,
    /// Transitions to False, by kind as written and whether it was a deletion.
    pub transitions: BTreeMap<(String, bool), u64>,
    /// Missing conditions, if they are known.
    pub missing: Option<Vec<Missing>>,
    /// Details, if they are recent.
    pub details: Option<Details>,
    /// Deletions that go on although nothing is pending, if that is known lately.
    pub lingering: Option<Vec<Lingering>>,
    /// On how many resources our record and the conditions disagree, if that is known lately and there is a record.
    pub drift: Option<u64>,
    /// How each kind of reading went last.
    pub attempts: BTreeMap<&'static str, Attempt>,
    /// Scrapes that another one's reading has answered.
    pub shared: u64,
    /// The configured kinds as written.
    pub known_kinds: Vec<String>,
    /// What kinds are called in labels.
    pub types: Types,
}

/// What takes more than a scrape has time for.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Details {
    /// Who is waited on.
    pub waits: Waits,
    /// Whether there were more stuck resources than were looked into.
    pub truncated: bool,
}

/// How readings of one kind went.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Attempt {
    /// Whether the last one was good; none yet if there was none.
    pub success: Option<bool>,
    /// How long it took, in seconds.
    pub seconds: f64,
    /// When the last good one began, in seconds since the epoch; 0 for none.
    pub last_success: f64,
    /// How many failed, by reason.
    pub errors: BTreeMap<&'static str, u64>,
}

#[derive(Debug, Default)]
struct State {
    layout: Option<Layout>,
    types: Types,
    /// Kinds that were found, and are configured in another spelling, as far as it was logged.
    spelled_otherwise: BTreeSet<String>,
    /// When the last good snapshot was taken, by the database's clock.
    previous: Option<f64>,
    transitions: BTreeMap<(String, bool), u64>,
    details: Option<(Instant, Details)>,
    lingering: Option<(Instant, Vec<Lingering>)>,
    drift: Option<(Instant, Option<u64>)>,
    missing: Option<(Instant, Vec<Missing>)>,
    attempts: BTreeMap<&'static str, Attempt>,
    /// Why readings fail, as it was logged last.
    failing: BTreeMap<&'static str, &'static str>,
    last_answer: Option<Instant>,
}

type Flight = Shared<BoxFuture<'static, Arc<Scrape>>>;

/// Takes scrapes.
pub struct Scraper {
    store: Arc<Store>,
    edges: Edges,
    limit: Duration,
    details: DetailsConfig,
    state: Mutex<State>,
    flight: Mutex<Option<Flight>>,
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
            state: Mutex::new(State { types: Types::new(&config.kinds, []), ..State::default() }),
            flight: Mutex::default(),
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
            state.take(snapshot, started);
            state.name(self.kinds(), snapshot.kinds());
        }
        // On our schema one reading answers both.
        if state.layout == Some(Layout::Tracked) {
            let attempt = state.attempts.get("snapshot").cloned().unwrap_or_default();
            state.attempts.insert("missing", attempt);
        }
        Arc::new(Scrape {
            snapshot: result.ok(),
            layout: state.layout.clone(),
            transitions: state.transitions.clone(),
            missing: state.missing.as_ref().filter(|(at, _)| self.is_recent(*at, &state)).map(|(_, m)| m.clone()),
            details: self.lately(&state.details),
            lingering: self.lately(&state.lingering),
            drift: self.lately(&state.drift).flatten(),
            attempts: state.attempts.clone(),
            shared: self.shared.load(Ordering::Relaxed),
            types: state.types.clone(),
            known_kinds: self.kinds().all().iter().map(|kind| kind.name.clone()).collect(),
        })
    }

    /// On our schema the count is as old as the snapshot, elsewhere as its own interval allows.
    fn is_recent(&self, at: Instant, state: &State) -> bool {
        match state.layout {
            Some(Layout::Tracked) => state.attempts.get("snapshot").is_some_and(|last| last.success == Some(true)),
            _ => at.elapsed() < self.details.missing_interval * STALE_INTERVALS,
        }
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
        let missing = async {
            loop {
                self.renew_missing().await;
                // A pass is dear; but until the first one nobody knows anything.
                let known = self.state().missing.is_some() || self.kinds().with_adapters().next().is_none();
                let DetailsConfig { interval, missing_interval, .. } = self.details;
                tokio::time::sleep(if known { missing_interval } else { interval.min(missing_interval) }).await;
            }
        };
        tokio::select! {
            () = stop.cancelled() => {}
            () = details => {}
            () = missing => {}
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
        if self.state().layout.as_ref().is_some_and(|layout| !layout.has_record()) {
            return;
        }
        let started = (Instant::now(), Timestamp::now());
        let result = self.store.drift(self.limit).await;
        let mut state = self.state();
        state.note("drift", started, result.as_ref().err());
        if let Ok(drift) = result {
            state.drift = Some((started.0, drift));
        }
    }

    /// Counts missing conditions where a snapshot does not have them.
    pub async fn renew_missing(&self) {
        let known = self.state().layout.clone();
        if known == Some(Layout::Tracked) || self.kinds().with_adapters().next().is_none() {
            return;
        }
        let started = (Instant::now(), Timestamp::now());
        let result = self.store.missing(self.limit).await;
        let mut state = self.state();
        state.note("missing", started, result.as_ref().err());
        if let Ok(missing) = result {
            state.missing = Some((started.0, missing));
        }
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

impl State {
    fn note(&mut self, collector: &'static str, started: (Instant, Timestamp), error: Option<&StoreError>) {
        let attempt = self.attempts.entry(collector).or_default();
        attempt.seconds = started.0.elapsed().as_secs_f64();
        attempt.success = Some(error.is_none());
        match error {
            None => {
                attempt.last_success = started.1.as_duration().as_secs_f64();
                self.last_answer = Some(Instant::now());
                if self.failing.remove(collector).is_some() {
                    tracing::info!(collector, "The database answers again");
                }
            }
            Some(error) => {
                *attempt.errors.entry(error.reason()).or_default() += 1;
                // When it begins, and when it becomes another: the metrics say that it goes on.
                let reason = error.reason();
                if self.failing.insert(collector, reason) != Some(reason) {
                    tracing::warn!(collector, reason, error = error.chain(), "The database cannot be read");
                }
            }
        }
    }

    /// Names kinds that were found, and warns of those that somebody meant to configure.
    fn name<'k>(&mut self, kinds: &Kinds, found: impl IntoIterator<Item = &'k str> + Clone) {
        self.types.name(found.clone());
        for kind in found {
            let Some(configured) = kinds.spelled_otherwise(kind) else { continue };
            // Once for each, and not for ever where somebody makes spellings up.
            if self.spelled_otherwise.len() < MAX_SPELLINGS && self.spelled_otherwise.insert(kind.to_owned()) {
                let configured = configured.name.as_str();
                tracing::warn!(
                    kind,
                    configured,
                    "A kind is spelled otherwise in the configuration, which does not apply to it"
                );
            }
        }
    }

    fn take(&mut self, snapshot: &Snapshot, started: (Instant, Timestamp)) {
        if self.layout.as_ref() != Some(&snapshot.layout) {
            let (schema, text) = (snapshot.layout.label(), snapshot.layout.describe());
            match snapshot.layout {
                Layout::Rows { beside: Beside::OlderTables | Beside::UnkeptRecord } => {
                    tracing::warn!(schema, "Reading {text}");
                }
                Layout::Tracked | Layout::Rows { beside: Beside::Nothing } | Layout::Documents(_) => {
                    tracing::info!(schema, "Reading {text}");
                }
            }
            for (kind, table) in snapshot.layout.tables() {
                tracing::info!(kind, table, "Reading a table");
            }
            for unread in snapshot.layout.unread() {
                tracing::warn!(kind = unread.kind, problem = unread.problem, "A kind is not read");
            }
            self.layout = Some(snapshot.layout.clone());
        }
        match &snapshot.transitions {
            Transitions::Total(totals) => {
                self.transitions =
                    totals.iter().map(|total| ((total.kind.clone(), total.is_delete), total.count)).collect();
            }
            Transitions::Fresh(fresh) => {
                for fresh in fresh {
                    *self.transitions.entry((fresh.kind.clone(), fresh.is_delete)).or_default() += fresh.count;
                }
            }
        }
        self.previous = Some(snapshot.taken);
        if let Some(missing) = &snapshot.missing {
            self.missing = Some((started.0, missing.clone()));
        }
    }
}
