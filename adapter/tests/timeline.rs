//! Hours of events in a moment: the debounce and the retention of `examples/26-job-with-history`, by a clock that is set.
//!
//! The pipeline, the task and the store are those of a dry run; this is the Sentinel, which sends an event whenever it is
//! due, and the Job controller, which completes each run a while after it was made. What is asserted is when versions
//! came and went, to the second.

#![expect(clippy::unwrap_used, clippy::panic, reason = "tests")]

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use hyperfleet_adapter::config::{Environment, Flags, Paths, load};
use hyperfleet_adapter::dry_run::canned_api::CannedApi;
use hyperfleet_adapter::dry_run::input;
use hyperfleet_adapter::pipeline::Pipeline;
use hyperfleet_adapter::serve::host;
use hyperfleet_adapter::trace::TraceContext;
use hyperfleet_adapter::transport::Transport;
use hyperfleet_adapter::transport::memory::{MemoryTransport, OperationVerb};
use jiff::{SignedDuration, Timestamp};
use lifecycle_core::destination::Destination;
use lifecycle_core::event::LifecycleEvent;
use lifecycle_core::id::{Generation, GroupVersionKind};
use lifecycle_core::outcome::Outcome;
use lifecycle_core::write::Target;
use lifecycle_service::version::Version;
use serde_json::{Value, json};
use tokio::time::Instant;

/// When every timeline begins.
const START: &str = "2026-09-14T08:00:00Z";

/// The retention of the example, which a test may replace.
const RETENTION: &str = "      historyLimit: 5\n      ttl: 48h\n";

const fn seconds(count: i64) -> SignedDuration {
    SignedDuration::from_secs(count)
}

const fn minutes(count: i64) -> SignedDuration {
    SignedDuration::from_mins(count)
}

const fn hours(count: i64) -> SignedDuration {
    SignedDuration::from_hours(count)
}

/// What happened to a version, and when.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Change {
    at: String,
    what: String,
}

/// A cluster's provisioning, from its first event on.
struct Timeline {
    pipeline: Pipeline<MemoryTransport, CannedApi>,
    event: LifecycleEvent,
    start: Timestamp,
    /// How long a run takes; none if none ever ends.
    run_time: Option<SignedDuration>,
    changes: Vec<Change>,
    decisions: BTreeMap<String, usize>,
}

impl Timeline {
    fn new(retention: &str, run_time: Option<SignedDuration>) -> Self {
        let example = Path::new(env!("CARGO_MANIFEST_DIR")).join("../examples/26-job-with-history");
        let task = std::fs::read_to_string(example.join("task-config.yaml")).unwrap();
        assert!(task.contains(RETENTION), "the example's retention is another one");
        let folder = tempfile::tempdir().unwrap();
        let task_file = folder.path().join("task-config.yaml");
        std::fs::write(&task_file, task.replace(RETENTION, retention)).unwrap();

        let paths = Paths { adapter: example.join("adapter-config.yaml"), task: task_file };
        let version = Version { number: "0.0.0", commit: "none", date: "unknown" };
        let (environment, flags) = (Environment::default(), Flags::default());
        let loaded = load(&paths, &environment, &flags, version.number).unwrap();
        let start: Timestamp = START.parse().unwrap();
        let answers = input::read_answers(&example.join("api-responses.json")).unwrap();
        let pipeline = Pipeline {
            host: host(&loaded, &environment),
            resource_id: loaded.adapter.stamp_resource_id,
            signer: None,
            task: Arc::new(loaded.task),
            transport: MemoryTransport::new(start),
            api: CannedApi::new(None, answers),
            keep_account: false,
        };
        let event = input::read_event(&example.join("event.json")).unwrap();
        Self { pipeline, event, start, run_time, changes: Vec::new(), decisions: BTreeMap::new() }
    }

    /// An event every `period`, from the beginning up to and including `end`.
    async fn events(mut self, period: SignedDuration, end: SignedDuration) -> Self {
        let mut at = seconds(0);
        while at <= end {
            self.event(at).await;
            at += period;
        }
        self
    }

    async fn event(&mut self, at: SignedDuration) {
        let now = self.start + at;
        self.pipeline.transport.set_now(now);
        self.complete_runs(now).await;
        let writes_before = self.writes();
        let deadline = Instant::now() + Duration::from_secs(60);
        let report = self.pipeline.run(&self.event, now, deadline, &TraceContext::default()).await;
        let [outcome] = report.outcomes.as_slice() else { panic!("{:?}", report.errors()) };
        assert_eq!(outcome.failure(), None, "{at:?}");
        self.note(at, outcome, self.writes() - writes_before);
    }

    fn note(&mut self, at: SignedDuration, outcome: &Outcome, writes: usize) {
        let decision = format!("{} {}", outcome.decision.kind(), outcome.decision.reason());
        let is_creation = outcome.decision.kind().starts_with("create");
        *self.decisions.entry(decision).or_default() += 1;
        let mut change = |what: String| self.changes.push(Change { at: clock(at), what });
        if is_creation {
            change("created".to_owned());
        }
        for pruned in &outcome.pruned {
            change(format!("pruned that of {}: {}", clock(age_of(&pruned.name, self.start)), pruned.because));
        }
        // Nothing is written but what is told.
        assert_eq!(writes, usize::from(is_creation) + outcome.pruned.len(), "{at:?}: {outcome:?}");
    }

    /// The Job controller.
    async fn complete_runs(&self, now: Timestamp) {
        let Some(run_time) = self.run_time else { return };
        for job in self.pipeline.transport.objects() {
            let text = |pointer: &str| job.pointer(pointer).and_then(Value::as_str).unwrap().to_owned();
            let created: Timestamp = text("/metadata/creationTimestamp").parse().unwrap();
            if job.get("status").is_some() || now < created + run_time {
                continue;
            }
            let target = Target {
                destination: Destination::ThisCluster,
                kind: GroupVersionKind::new("batch/v1", "Job"),
                namespace: Some(text("/metadata/namespace")),
                name: text("/metadata/name"),
                uid: text("/metadata/uid"),
                resource_version: text("/metadata/resourceVersion"),
            };
            let condition = json!({ "type": "Complete", "status": "True", "lastTransitionTime": now.to_string() });
            let status = json!({ "status": { "conditions": [condition] } });
            self.pipeline.transport.patch(&status, &target).await.unwrap();
        }
    }

    /// How many writes were the adapter's: the Job controller only patches.
    fn writes(&self) -> usize {
        let operations = self.pipeline.transport.operations();
        let is_write = |verb: OperationVerb| matches!(verb, OperationVerb::Apply | OperationVerb::Delete);
        operations.iter().filter(|operation| is_write(operation.verb)).count()
    }

    /// When what is left was made, oldest first.
    fn left(&self) -> Vec<String> {
        let objects = self.pipeline.transport.objects();
        let mut ages: Vec<SignedDuration> =
            objects.iter().map(|job| age_of(job["metadata"]["name"].as_str().unwrap(), self.start)).collect();
        ages.sort();
        ages.into_iter().map(clock).collect()
    }

    /// When versions were created.
    fn creations(&self) -> Vec<&str> {
        self.changes.iter().filter(|change| change.what == "created").map(|change| change.at.as_str()).collect()
    }

    /// What was pruned, and when.
    fn prunings(&self) -> Vec<String> {
        let told = |change: &Change| format!("{}: {}", change.at, change.what);
        self.changes.iter().filter(|change| change.what != "created").map(told).collect()
    }

    fn count(&self, decision: &str) -> usize {
        self.decisions.get(decision).copied().unwrap_or_default()
    }
}

/// When a run was made, as its name has it, after the beginning.
fn age_of(name: &str, start: Timestamp) -> SignedDuration {
    let stamp = name.strip_prefix("c-7f3a-job-").unwrap();
    let made = jiff::civil::DateTime::strptime("%Y%m%d-%H%M%S", stamp).unwrap();
    made.to_zoned(jiff::tz::TimeZone::UTC).unwrap().timestamp().duration_since(start)
}

/// `10:10` after the beginning, as minutes and seconds.
fn clock(after: SignedDuration) -> String {
    let mut text = String::new();
    write!(text, "{}:{:02}", after.as_mins(), after.as_secs() % 60).unwrap();
    text
}

#[tokio::test]
async fn a_burst_of_events_makes_a_version_each_ten_minutes_and_ten_seconds() {
    let retention = "      historyLimit: 3\n      ttl: 24h\n";
    let hour = Timeline::new(retention, Some(minutes(7))).events(seconds(10), hours(1)).await;
    // Not at 10:00: the comparison is strict, and a version is ten minutes old then, not older.
    assert_eq!(hour.creations(), ["0:00", "10:10", "20:20", "30:30", "40:40", "50:50"]);
    assert_eq!(
        hour.prunings(),
        ["40:40: pruned that of 0:00: beyond the newest 3", "50:50: pruned that of 10:10: beyond the newest 3"]
    );
    assert_eq!(hour.left(), ["20:20", "30:30", "40:40", "50:50"]);
    assert_eq!(hour.count("create Absent"), 1);
    assert_eq!(hour.count("create_version RecreateGateHolds"), 5);
    assert_eq!(hour.count("skip WhenFalse"), 361 - 6, "every other event leaves the resource alone");
}

#[tokio::test]
async fn events_that_are_due_just_then_make_a_version_each_twenty_minutes() {
    // The debounce is bounded by the cadence: an event at 10:00 comes too early, and the next is at 20:00.
    let hours = Timeline::new(RETENTION, Some(minutes(7))).events(minutes(10), hours(1)).await;
    assert_eq!(hours.creations(), ["0:00", "20:00", "40:00", "60:00"]);
}

#[tokio::test]
async fn a_run_that_takes_longer_than_the_debounce_is_followed_when_it_ends() {
    let hour = Timeline::new(RETENTION, Some(seconds(14 * 60 + 35))).events(seconds(10), hours(1)).await;
    assert_eq!(hour.creations(), ["0:00", "14:40", "29:20", "44:00", "58:40"]);
    // While `when` holds and the run goes on, there is nothing to do either: from 10:10 to 14:30 after each creation.
    assert_eq!(hour.count("skip SameGeneration"), 4 * 27);
    assert_eq!(hour.left().len(), 5);
}

#[tokio::test]
async fn the_limit_alone_keeps_the_newest_whatever_their_age() {
    let week = Timeline::new("      historyLimit: 2\n", Some(minutes(7))).events(hours(24), hours(7 * 24)).await;
    let days = |count: i64| clock(hours(24 * count));
    assert_eq!(week.creations(), (0..=7).map(days).collect::<Vec<_>>());
    let expected = (3..=7).map(|day| format!("{}: pruned that of {}: beyond the newest 2", days(day), days(day - 3)));
    assert_eq!(week.prunings(), expected.collect::<Vec<_>>());
    assert_eq!(week.left(), [days(5), days(6), days(7)]);
}

#[tokio::test]
async fn the_ttl_alone_prunes_on_events_that_create_nothing_and_spares_the_current_version() {
    let hour = Timeline::new("      ttl: 15m\n", Some(minutes(7))).events(seconds(10), minutes(36)).await;
    assert_eq!(hour.creations(), ["0:00", "10:10", "20:20", "30:30"]);
    // Strict, too: at 15:00 the first one is 15 minutes old, not older.
    assert_eq!(
        hour.prunings(),
        [
            "15:10: pruned that of 0:00: 15m10s old, beyond the ttl of 15m",
            "25:20: pruned that of 10:10: 15m10s old, beyond the ttl of 15m",
            "35:30: pruned that of 20:20: 15m10s old, beyond the ttl of 15m",
        ]
    );
    assert_eq!(hour.left(), ["30:30"]);

    // With a run that never ends there is only the current version, and it stays however old it is.
    let hour = Timeline::new("      ttl: 15m\n", None).events(seconds(10), hours(1)).await;
    assert_eq!((hour.left(), hour.prunings()), (vec!["0:00".to_owned()], Vec::new()));
}

#[tokio::test]
async fn both_limits_hold_at_the_drift_cadence_for_days() {
    let days = Timeline::new("      historyLimit: 60\n      ttl: 24h\n", Some(minutes(7)));
    let days = days.events(minutes(30), hours(72)).await;
    assert_eq!(days.creations().len(), 145, "one for each event, as each is half an hour later");
    // What is 24 hours old stays; of every half hour since then there is one, the current one included.
    assert_eq!(days.left().len(), 49);
    assert_eq!(days.left().first().map(String::as_str), Some("2880:00"));
    assert_eq!(days.prunings()[0], "1470:00: pruned that of 0:00: 24h30m old, beyond the ttl of 24h");
}

#[tokio::test]
async fn a_recreate_gate_that_never_holds_leaves_one_version_whatever_the_debounce_lets_through() {
    let hour = Timeline::new(RETENTION, None).events(seconds(10), hours(1)).await;
    assert_eq!(hour.creations(), ["0:00"]);
    assert_eq!(hour.left(), ["0:00"]);
    assert_eq!(hour.count("skip WhenFalse"), 60, "0:10 to 10:00");
    assert_eq!(hour.count("skip SameGeneration"), 300, "10:10 to 60:00");
}

#[tokio::test]
async fn a_new_generation_waits_for_the_debounce_but_not_for_the_run() {
    let mut hour = Timeline::new(RETENTION, None);
    hour.event(seconds(0)).await;
    hour.event.generation = Generation(2);
    hour.event.data["generation"] = json!(2);
    for tick in 1..=62 {
        hour.event(seconds(10 * tick)).await;
    }
    assert_eq!(hour.creations(), ["0:00", "10:10"]);
    assert_eq!(hour.count("create_version NewName"), 1);
    assert_eq!(hour.count("skip WhenFalse"), 61, "0:10 to 10:00, and the one after the new run");
    // Both are kept: the run of the former generation is history now, though it never ended.
    assert_eq!(hour.left(), ["0:00", "10:10"]);
}
