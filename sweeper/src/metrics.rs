//! Every metric of the sweeper, registered once in one struct.
//!
//! In: the results of passes and requests. Out: the text that Prometheus scrapes. No method fails.
//!
//! Gauges describe the last pass of a leader; a replica that does not lead has none of them, so that `max` and `sum` over
//! replicas both say what the leader found.

use std::sync::atomic::AtomicU64;
use std::time::Duration;

use jiff::Timestamp;
use lifecycle_api_client::lookup::Unknown;
use lifecycle_core::sweep::{Hold, Verdict};
use lifecycle_objects::id::GroupVersionKind;
use lifecycle_service::metrics::{self, Exposition, Register, write};
use lifecycle_service::version::Version;
use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::registry::Registry;

use crate::act::Attempt;
use crate::owners::NO_GENERATION;
use crate::survey::Survey;

/// Upper bounds in seconds of the duration of a pass: from an empty cluster to one that a rate limit slows down.
const PASS_BUCKETS: [f64; 8] = [0.5, 1.0, 5.0, 10.0, 30.0, 60.0, 300.0, 1800.0];

/// The result of a pass, as the value of a metric label.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PassResult {
    /// Nothing was due, or all that was due was deleted.
    Done,
    /// Something spoke against deleting anything, whether an object was due or not.
    Held,
    /// The pass only reported, because `dry_run` is set.
    DryRun,
    /// The term ended during the pass, or a deletion failed.
    Failed,
}

impl PassResult {
    const ALL: [Self; 4] = [Self::Done, Self::Held, Self::DryRun, Self::Failed];

    /// The result as the value of a metric label.
    #[must_use]
    pub fn label(self) -> &'static str {
        match self {
            Self::Done => "done",
            Self::Held => "held",
            Self::DryRun => "dry_run",
            Self::Failed => "failed",
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct KindVerdict {
    kind: String,
    verdict: &'static str,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct KindOutcome {
    kind: String,
    outcome: &'static str,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct KindOnly {
    kind: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Reason {
    reason: &'static str,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct ResultLabel {
    result: &'static str,
}

type Seconds = Gauge<f64, AtomicU64>;

/// The metrics of one process.
#[derive(Debug)]
pub struct Metrics {
    registry: Registry,
    leader: Gauge,
    term: Gauge,
    lasting_term: Gauge,
    candidates: Family<KindVerdict, Gauge>,
    inventory: Family<KindOnly, Gauge>,
    held: Family<Reason, Gauge>,
    oldest_orphan: Seconds,
    last_pass: Seconds,
    passes: Family<ResultLabel, Counter>,
    pass_duration: Histogram,
    deletions: Family<KindOutcome, Counter>,
    unknown: Family<Reason, Counter>,
}

impl Metrics {
    /// Registers every metric.
    #[must_use]
    pub fn new(version: &Version, grace: Duration, dry_run: bool) -> Self {
        let mut registry = metrics::registry("sweeper", version.number);
        let mut r = Register(&mut registry);
        let up: Gauge = r.gauge("hyperfleet_sweeper_up", "1 while the sweeper runs");
        up.set(1);
        r.build_info("hyperfleet_sweeper_build_info", version.commit);
        let dry: Gauge = r.gauge("hyperfleet_sweeper_dry_run", "1 if the sweeper only reports what it would delete");
        dry.set(i64::from(dry_run));
        let grace_seconds: Seconds =
            r.gauge("hyperfleet_sweeper_grace_seconds", "How long an API resource must be gone before its objects go");
        grace_seconds.set(grace.as_secs_f64());
        let metrics = Self {
            leader: r.gauge("hyperfleet_sweeper_leader", "1 while this replica leads"),
            term: r.gauge(
                "hyperfleet_sweeper_term",
                "The number of the term that this replica leads; 0 if it does not lead",
            ),
            lasting_term: r.gauge(
                "hyperfleet_sweeper_lasting_term",
                "The number of the last term of this replica that outlasted the grace; 0 if none did",
            ),
            candidates: r.family(
                "hyperfleet_sweeper_candidates",
                "Labelled objects of the last pass, by kind and verdict: delete, or the reason for which they are kept",
            ),
            inventory: r.family(
                "hyperfleet_sweeper_inventory_objects",
                "Labelled objects of the last pass, of any adapter",
            ),
            held: r.family(
                "hyperfleet_sweeper_held",
                "1 for each reason against any deletion in the last pass, even if a person approved its plan; 0 for the others",
            ),
            oldest_orphan: r.gauge(
                "hyperfleet_sweeper_oldest_orphan_age_seconds",
                "How long the API resource of the oldest orphan has been gone, as far as the term of this replica saw: a new \
                 term begins at 0; 0 without orphans as well",
            ),
            last_pass: r.gauge(
                "hyperfleet_sweeper_last_pass_timestamp_seconds",
                "When the last pass of this replica ended, in seconds since the epoch; 0 before the first",
            ),
            passes: r.family("hyperfleet_sweeper_passes", "Passes, by their result"),
            pass_duration: r.histogram(
                "hyperfleet_sweeper_pass_duration_seconds",
                "Duration of passes, deletions included",
                &PASS_BUCKETS,
            ),
            deletions: r.family(
                "hyperfleet_sweeper_deletions",
                "Objects that a pass tried to delete, by kind and outcome",
            ),
            unknown: r.family(
                "hyperfleet_sweeper_unknown_answers",
                "Answers of the API that prove nothing about a resource, by reason",
            ),
            registry,
        };
        for result in PassResult::ALL {
            let _ = metrics.passes.get_or_create(&ResultLabel { result: result.label() });
        }
        for reason in Unknown::LABELS.into_iter().chain([NO_GENERATION]) {
            let _ = metrics.unknown.get_or_create(&Reason { reason });
        }
        metrics
    }

    /// Notes that this replica leads the term, or leads no longer.
    pub fn lead(&self, term: Option<u32>) {
        self.leader.set(i64::from(term.is_some()));
        self.term.set(term.map_or(0, i64::from));
        if term.is_none() {
            self.candidates.clear();
            self.inventory.clear();
            self.held.clear();
            self.oldest_orphan.set(0.0);
        }
    }

    /// Notes that the term has outlasted the grace, so that its passes can delete.
    pub fn outlasted_grace(&self, term: u32) {
        self.lasting_term.set(term.into());
    }

    /// Notes what a pass found.
    pub fn surveyed(&self, survey: &Survey, now: Timestamp) {
        self.candidates.clear();
        self.inventory.clear();
        for (kind, objects) in &survey.kinds {
            self.inventory.get_or_create(&KindOnly { kind: kind_label(kind) }).inc_by(signed(*objects));
        }
        let candidates = |kind: &GroupVersionKind, verdict: Verdict| {
            self.candidates.get_or_create_owned(&KindVerdict { kind: kind_label(kind), verdict: verdict.label() })
        };
        for ((kind, keep), objects) in &survey.kept {
            candidates(kind, Verdict::Keep(*keep)).inc_by(signed(*objects));
        }
        for (candidate, verdict) in &survey.orphans {
            candidates(&candidate.object.kind, *verdict).inc();
        }
        for reason in Hold::LABELS {
            let is_held = survey.plan.holds().iter().any(|hold| hold.label() == reason);
            self.held.get_or_create(&Reason { reason }).set(i64::from(is_held));
        }
        for (reason, answers) in &survey.unknown {
            self.unknown.get_or_create(&Reason { reason }).inc_by(*answers);
        }
        self.oldest_orphan.set(survey.oldest.map_or(0.0, |oldest| now.duration_since(oldest).as_secs_f64()));
    }

    /// Notes what became of one object that was due.
    pub fn attempted(&self, attempt: &Attempt<'_>) {
        let kind = kind_label(&attempt.object.object.kind);
        self.deletions.get_or_create(&KindOutcome { kind, outcome: attempt.outcome.label() }).inc();
    }

    /// Notes the end of a pass.
    pub fn passed(&self, result: PassResult, duration: Duration, now: Timestamp) {
        self.passes.get_or_create(&ResultLabel { result: result.label() }).inc();
        self.pass_duration.observe(duration.as_secs_f64());
        self.last_pass.set(now.as_duration().as_secs_f64());
    }

    /// Writes all metrics in a format.
    #[must_use]
    pub fn expose(&self, format: Exposition) -> String {
        write(&self.registry, format)
    }
}

/// The kind with its group, as patterns of kinds write it: `batch/Job`, `core/Secret`.
pub(crate) fn kind_label(kind: &GroupVersionKind) -> String {
    let group = if kind.group.is_empty() { "core" } else { &kind.group };
    format!("{group}/{}", kind.kind)
}

fn signed(count: u64) -> i64 {
    i64::try_from(count).unwrap_or(i64::MAX)
}
