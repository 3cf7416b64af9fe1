//! What is kept between two scrapes, and what of it is logged when it changes.

use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};

use jiff::Timestamp;

use super::{Attempt, Details};
use crate::config::Kinds;
use crate::figures::Types;
use crate::store::{Beside, Layout, Lingering, Pass, Snapshot, StoreError, Transitions};

/// The most spellings of kinds that are warned of.
const MAX_SPELLINGS: usize = 20;

#[derive(Debug, Default)]
pub(super) struct State {
    pub(super) layout: Option<Layout>,
    pub(super) types: Types,
    /// Kinds that were found, and are configured in another spelling, as far as it was logged.
    spelled_otherwise: BTreeSet<String>,
    /// When the last good snapshot was taken, by the database's clock.
    pub(super) previous: Option<f64>,
    pub(super) transitions: BTreeMap<(String, bool), u64>,
    pub(super) details: Option<(Instant, Details)>,
    /// The resources whose deletion waits for one that is stuck, by id.
    pub(super) above_stuck: Option<(Instant, Vec<String>)>,
    pub(super) lingering: Option<(Instant, Vec<Lingering>)>,
    pub(super) drift: Option<(Instant, u64)>,
    /// After a comparison for which there was no time: when the next one is due, and how long that was put off.
    pub(super) drift_due: Option<(Instant, Duration)>,
    pub(super) pass: Option<(Instant, Pass)>,
    /// Missing conditions were on record in the last good snapshot.
    pub(super) missing_is_on_record: bool,
    pub(super) attempts: BTreeMap<&'static str, Attempt>,
    /// Why readings fail, as it was logged last.
    failing: BTreeMap<&'static str, &'static str>,
    pub(super) last_answer: Option<Instant>,
}

impl State {
    pub(super) fn new(types: Types) -> Self {
        Self { types, ..Self::default() }
    }

    /// How a reading went.
    pub(super) fn note(&mut self, collector: &'static str, started: (Instant, Timestamp), error: Option<&StoreError>) {
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

    /// There is no reason for a reading any more, so it neither fails nor succeeds. What has failed stays counted: a counter
    /// never falls.
    pub(super) fn forget(&mut self, collector: &'static str) {
        if let Some(attempt) = self.attempts.get_mut(collector) {
            attempt.success = None;
        }
        self.failing.remove(collector);
    }

    /// Keeps on how many resources the record is wrong about what is pending, and warns when it becomes so.
    pub(super) fn take_drift(&mut self, drift: Option<u64>) {
        warn_of_drift("pending", self.drift.map(|(_, drift)| drift), drift);
        self.drift_due = None;
        self.drift = drift.map(|drift| (Instant::now(), drift));
    }

    /// After a comparison that failed. It may be the dearest reading of all, in an outage: where there was no time for it, it is put
    /// off, for longer each time.
    pub(super) fn put_off_drift(&mut self, interval: Duration, longest: Duration) {
        self.drift_due = (self.failing.get("drift") == Some(&"timeout")).then(|| {
            let pause = self.drift_due.map_or(interval, |(_, pause)| pause * 2).min(longest);
            // A little less, so that the turn of the details that falls on its end is not missed.
            (Instant::now() + pause.mul_f64(0.9), pause)
        });
    }

    /// Keeps what a pass has found, and warns likewise.
    pub(super) fn take_pass(&mut self, pass: Pass) {
        warn_of_drift("missing", self.pass.as_ref().and_then(|(_, pass)| pass.drift), pass.drift);
        self.pass = Some((Instant::now(), pass));
    }

    /// Names kinds that were found, and warns of those that somebody meant to configure.
    pub(super) fn name<'k>(&mut self, kinds: &Kinds, found: impl IntoIterator<Item = &'k str> + Clone) {
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

    /// Takes what a good snapshot says.
    pub(super) fn take(&mut self, kinds: &Kinds, snapshot: &Snapshot) {
        if self.layout.as_ref() != Some(&snapshot.layout) {
            let (schema, text) = (snapshot.layout.label(), snapshot.layout.describe());
            match snapshot.layout {
                Layout::Rows { beside: Beside::OlderTables | Beside::UnkeptRecord } => {
                    tracing::warn!(schema, "Reading {text}");
                }
                Layout::Tracked
                | Layout::Rows { beside: Beside::Nothing | Beside::DoubtedRecord }
                | Layout::Documents(_) => {
                    tracing::info!(schema, "Reading {text}");
                }
            }
            for (kind, table) in snapshot.layout.tables() {
                tracing::info!(kind, table, "Reading a table");
            }
            for kind in snapshot.layout.ownerless(kinds) {
                tracing::warn!(
                    kind,
                    "The table of a kind with a parent_kind has no column of the owner, so nobody knows whose deletion its resources hold up; \
                     set `table.owner`"
                );
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
    }
}

fn warn_of_drift(state: &'static str, was: Option<u64>, is: Option<u64>) {
    if let Some(resources) = is.filter(|&is| is > 0 && was.is_none_or(|was| was == 0)) {
        tracing::warn!(
            state,
            resources,
            "Our record disagrees with the conditions, which are read instead; `reconcile-metrics migrate --repair` is the cure"
        );
    }
}
