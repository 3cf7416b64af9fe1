//! Plays hours of events with a simulated clock, to test the debounce and the retention of
//! `examples/26-job-with-history`.
//!
//! The pipeline, the task and the store are those of a dry run. The test sends events at regular intervals,
//! as the Sentinel does, and completes each run after some time, as the Job controller does. It checks to the
//! second when versions are created and pruned.

#![expect(clippy::unwrap_used, clippy::panic, reason = "tests")]

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use hyperfleet_adapter::config::{Environment, Flags, Paths, load};
use hyperfleet_adapter::dry_run::canned_api::{CannedApi, Unmatched};
use hyperfleet_adapter::dry_run::input;
use hyperfleet_adapter::pipeline::Pipeline;
use hyperfleet_adapter::serve::host;
use hyperfleet_adapter::trace::TraceContext;
use jiff::{SignedDuration, Timestamp};
use lifecycle_core::event::LifecycleEvent;
use lifecycle_core::outcome::Outcome;
use lifecycle_objects::destination::Destination;
use lifecycle_objects::id::{Generation, GroupVersionKind};
use lifecycle_objects::write::Target;
use lifecycle_service::version::Version;
use lifecycle_transport::Transport;
use lifecycle_transport::memory::{MemoryTransport, OperationVerb};
use serde_json::{Value, json};
use tokio::time::Instant;

/// The time of the first event.
const START: &str = "2026-09-14T08:00:00Z";

/// The retention in the example's task file, which a test may replace.
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

/// The creation or pruning of a version.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Change {
    at: String,
    what: String,
}

/// The events and versions of one cluster.
struct Timeline {
    pipeline: Pipeline<MemoryTransport, CannedApi>,
    event: LifecycleEvent,
    start: Timestamp,
    /// The duration of a run; `None` if no run ever ends.
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
            api: CannedApi::new(None, answers, Unmatched::AsTheApi),
            keep_account: false,
            keep_readings: false,
        };
        let event = input::read_event(&example.join("event.json")).unwrap();
        Self { pipeline, event, start, run_time, changes: Vec::new(), decisions: BTreeMap::new() }
    }

    /// Handles an event every `period`, from the start to `end` inclusively.
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
        let decision = format!("{} {}", outcome.decision.kind().as_str(), outcome.decision.reason());
        let is_creation = outcome.decision.kind().as_str().starts_with("create");
        *self.decisions.entry(decision).or_default() += 1;
        let mut change = |what: String| self.changes.push(Change { at: clock(at), what });
        if is_creation {
            change("created".to_owned());
        }
        for pruned in &outcome.pruned {
            change(format!("pruned that of {}: {}", clock(age_of(&pruned.name, self.start)), pruned.because));
        }
        // The outcome must list every write.
        assert_eq!(writes, usize::from(is_creation) + outcome.pruned.len(), "{at:?}: {outcome:?}");
    }

    /// Completes runs in place of the Job controller.
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

    /// The number of the adapter's writes. The simulated Job controller only patches, so patches are not counted.
    fn writes(&self) -> usize {
        let operations = self.pipeline.transport.operations();
        let is_write = |verb: OperationVerb| matches!(verb, OperationVerb::Apply | OperationVerb::Delete);
        operations.iter().filter(|operation| is_write(operation.verb)).count()
    }

    /// The creation times of the remaining versions, oldest first.
    fn left(&self) -> Vec<String> {
        let objects = self.pipeline.transport.objects();
        let mut ages: Vec<SignedDuration> =
            objects.iter().map(|job| age_of(job["metadata"]["name"].as_str().unwrap(), self.start)).collect();
        ages.sort();
        ages.into_iter().map(clock).collect()
    }

    /// The times at which versions were created.
    fn creations(&self) -> Vec<&str> {
        self.changes.iter().filter(|change| change.what == "created").map(|change| change.at.as_str()).collect()
    }

    /// The prunings with their times.
    fn prunings(&self) -> Vec<String> {
        let told = |change: &Change| format!("{}: {}", change.at, change.what);
        self.changes.iter().filter(|change| change.what != "created").map(told).collect()
    }

    fn count(&self, decision: &str) -> usize {
        self.decisions.get(decision).copied().unwrap_or_default()
    }
}

/// The time from `start` to a run's creation, which the run's name contains.
fn age_of(name: &str, start: Timestamp) -> SignedDuration {
    let stamp = name.strip_prefix("c-7f3a-job-").unwrap();
    let made = jiff::civil::DateTime::strptime("%Y%m%d-%H%M%S", stamp).unwrap();
    made.to_zoned(jiff::tz::TimeZone::UTC).unwrap().timestamp().duration_since(start)
}

/// Prints a time since the start as minutes and seconds: `10:10`.
fn clock(after: SignedDuration) -> String {
    let mut text = String::new();
    write!(text, "{}:{:02}", after.as_mins(), after.as_secs() % 60).unwrap();
    text
}

#[tokio::test]
async fn events_every_ten_seconds_create_a_version_every_ten_minutes() {
    let retention = "      historyLimit: 3\n      ttl: 24h\n";
    let hour = Timeline::new(retention, Some(minutes(7))).events(seconds(10), hours(1)).await;
    // The next version is created at 10:10, because at 10:00 the age is equal to ten minutes, not above.
    assert_eq!(hour.creations(), ["0:00", "10:10", "20:20", "30:30", "40:40", "50:50"]);
    assert_eq!(
        hour.prunings(),
        ["40:40: pruned that of 0:00: beyond the newest 3", "50:50: pruned that of 10:10: beyond the newest 3"]
    );
    assert_eq!(hour.left(), ["20:20", "30:30", "40:40", "50:50"]);
    assert_eq!(hour.count("create Absent"), 1);
    assert_eq!(hour.count("create_version RecreateGateHolds"), 5);
    assert_eq!(hour.count("wait NotYet"), 361 - 6, "every other event waits");
}

#[tokio::test]
async fn events_every_ten_minutes_create_a_version_every_twenty() {
    // An event at 10:00 is too early for the debounce, and the next one is at 20:00.
    let hours = Timeline::new(RETENTION, Some(minutes(7))).events(minutes(10), hours(1)).await;
    assert_eq!(hours.creations(), ["0:00", "20:00", "40:00", "60:00"]);
}

#[tokio::test]
async fn run_longer_than_the_debounce_is_followed_when_it_ends() {
    let hour = Timeline::new(RETENTION, Some(seconds(14 * 60 + 35))).events(seconds(10), hours(1)).await;
    assert_eq!(hour.creations(), ["0:00", "14:40", "29:20", "44:00", "58:40"]);
    // From 10:10 to 14:30 after each creation, `when` holds and the run has not ended: the adapter waits.
    assert_eq!(hour.count("skip SameGeneration"), 4 * 27);
    assert_eq!(hour.left().len(), 5);
}

#[tokio::test]
async fn history_limit_alone_keeps_the_newest_versions() {
    let week = Timeline::new("      historyLimit: 2\n", Some(minutes(7))).events(hours(24), hours(7 * 24)).await;
    let days = |count: i64| clock(hours(24 * count));
    assert_eq!(week.creations(), (0..=7).map(days).collect::<Vec<_>>());
    let expected = (3..=7).map(|day| format!("{}: pruned that of {}: beyond the newest 2", days(day), days(day - 3)));
    assert_eq!(week.prunings(), expected.collect::<Vec<_>>());
    assert_eq!(week.left(), [days(5), days(6), days(7)]);
}

#[tokio::test]
async fn ttl_alone_prunes_without_a_creation_and_keeps_the_current_version() {
    let hour = Timeline::new("      ttl: 15m\n", Some(minutes(7))).events(seconds(10), minutes(36)).await;
    assert_eq!(hour.creations(), ["0:00", "10:10", "20:20", "30:30"]);
    // The first version is pruned at 15:10, because at 15:00 its age is equal to 15 minutes, not above.
    assert_eq!(
        hour.prunings(),
        [
            "15:10: pruned that of 0:00: 15m10s old, beyond the ttl of 15m",
            "25:20: pruned that of 10:10: 15m10s old, beyond the ttl of 15m",
            "35:30: pruned that of 20:20: 15m10s old, beyond the ttl of 15m",
        ]
    );
    assert_eq!(hour.left(), ["30:30"]);

    // With a run that never ends, the current version is the only one, and is kept at any age.
    let hour = Timeline::new("      ttl: 15m\n", None).events(seconds(10), hours(1)).await;
    assert_eq!((hour.left(), hour.prunings()), (vec!["0:00".to_owned()], Vec::new()));
}

#[tokio::test]
async fn history_limit_and_ttl_hold_for_three_days_of_half_hourly_events() {
    let days = Timeline::new("      historyLimit: 60\n      ttl: 24h\n", Some(minutes(7)));
    let days = days.events(minutes(30), hours(72)).await;
    assert_eq!(days.creations().len(), 145, "each event creates a version, half an hour after the one before");
    // Versions up to an age of exactly 24 hours are kept: one for each half hour, and the current one.
    assert_eq!(days.left().len(), 49);
    assert_eq!(days.left().first().map(String::as_str), Some("2880:00"));
    assert_eq!(days.prunings()[0], "1470:00: pruned that of 0:00: 24h30m old, beyond the ttl of 24h");
}

#[tokio::test]
async fn closed_recreate_gate_leaves_one_version() {
    let hour = Timeline::new(RETENTION, None).events(seconds(10), hours(1)).await;
    assert_eq!(hour.creations(), ["0:00"]);
    assert_eq!(hour.left(), ["0:00"]);
    assert_eq!(hour.count("wait NotYet"), 60, "0:10 to 10:00");
    assert_eq!(hour.count("skip SameGeneration"), 300, "10:10 to 60:00");
}

#[tokio::test]
async fn new_generation_waits_for_the_debounce_but_not_for_the_run() {
    let mut hour = Timeline::new(RETENTION, None);
    hour.event(seconds(0)).await;
    hour.event.generation = Generation(2);
    hour.event.data["generation"] = json!(2);
    for tick in 1..=62 {
        hour.event(seconds(10 * tick)).await;
    }
    assert_eq!(hour.creations(), ["0:00", "10:10"]);
    assert_eq!(hour.count("create_version NewName"), 1);
    assert_eq!(hour.count("wait NotYet"), 61, "0:10 to 10:00, and the event after the new run");
    // Retention keeps the run of the former generation, although it never ended.
    assert_eq!(hour.left(), ["0:00", "10:10"]);
}
