#![expect(clippy::unwrap_used, reason = "tests")]

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::sync::Mutex;

use lifecycle_core::sweep::{Approval, Candidate, Doubt};
use lifecycle_kube::{Discovery, Fence, ServedKind};
use lifecycle_objects::destination::Destination;
use lifecycle_objects::object_ref::ObjectRef;
use lifecycle_objects::write::{Deletion, WriteError};
use lifecycle_service::logging::{Identity, LogSettings, subscriber_into};
use lifecycle_service::version::THIS;
use serde_json::{Value, json};
use tracing::level_filters::LevelFilter;
use tracing_subscriber::util::SubscriberInitExt as _;

use super::*;
use crate::config::{CONFIGURATION, Environment, Flags};
use crate::objects::Choice;
use crate::world::World;

const TERM: u32 = 41;

/// The notes of a Lease in memory.
#[derive(Default)]
struct Memory {
    approval: RefCell<Option<Approval>>,
    doubts: RefCell<Vec<Doubt>>,
    held: RefCell<Option<String>>,
}

impl Notes for Memory {
    async fn approval(&self) -> Option<Approval> {
        self.approval.borrow().clone()
    }

    async fn keep(&self, doubts: &[Doubt], held: Option<&str>) {
        self.doubts.replace(doubts.to_vec());
        self.held.replace(held.map(str::to_owned));
    }
}

/// A sweeper of a world with one living resource and one orphan.
fn sweeper(settings: &str) -> Sweeper<World, World> {
    let (objects, api) = (World::default(), World::default());
    api.set_resources([("r0".to_owned(), lifecycle_objects::id::Generation(1))].into());
    let labels = json!({ "hyperfleet.io/adapter": "a", "hyperfleet.io/resource-id": "r1" });
    let metadata = json!({ "name": "settings", "namespace": "team", "labels": labels });
    objects.add(json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata }));
    let text = format!(
        "adapters: [a]\nresource_id_pattern: 'r[0-9]'\napi: {{base_url: 'http://api'}}\ngrace: 1ns\n{settings}"
    );
    let config = CONFIGURATION.parse("test", &text, &Environment::new(), &Flags::new()).unwrap().0;
    let metrics = Arc::new(Metrics::new(&THIS, config.policy.grace, config.dry_run));
    let (audit, refused) = (Audit::to_nowhere(), Refused::default());
    let page = PlanPage::new(&config.plan_access, Timestamp::UNIX_EPOCH);
    Sweeper { objects, api, audit, refused, metrics, page, clock: Clock::start(), config }
}

/// The lines that this thread logs while the guards live.
struct Log {
    lines: Arc<Mutex<Vec<Value>>>,
    _guards: (tracing::Dispatch, tracing::subscriber::DefaultGuard),
}

impl Log {
    fn start() -> Self {
        let lines = Arc::new(Mutex::new(Vec::new()));
        let sink = {
            let lines = Arc::clone(&lines);
            move |line: &[u8]| lines.lock().unwrap().push(serde_json::from_slice::<Value>(line).unwrap())
        };
        let settings = LogSettings { level: LevelFilter::DEBUG, ..LogSettings::default() };
        // With one subscriber only, `tracing` asks the one of the thread that first logs a line, which may be another
        // test's: it then drops the line in every thread. With two it asks both.
        let second = tracing::Dispatch::new(tracing_subscriber::registry());
        let guard = subscriber_into(settings, &Identity::of("sweeper"), Box::new(sink)).set_default();
        Self { lines, _guards: (second, guard) }
    }

    /// Ends the log, and returns its lines.
    fn end(self) -> Vec<Value> {
        std::mem::take(&mut self.lines.lock().unwrap())
    }
}

#[tokio::test]
async fn each_log_line_of_a_pass_has_the_term() {
    let log = Log::start();
    let (no_limits, limits) = ("limits: {percent: 100}", "limits: {percent: 0}");
    for settings in [no_limits, limits].map(|limits| format!("dry_run: false\n{limits}\n")) {
        let (sweeper, claim) = (sweeper(&settings), Claim::of(TERM));
        let mut strikes = Strikes::default();
        for _ in 0..2 {
            sweeper.pass(&mut strikes, &claim, &Memory::default()).await;
        }
        claim.over().cancel();
        sweeper.pass(&mut strikes, &claim, &Memory::default()).await;
    }
    let lines = log.end();
    assert!(lines.iter().all(|line| line["term"] == TERM), "{lines:?}");
    let begins =
        |line: &Value| line["message"].as_str().unwrap().split([':', ' ']).take(3).collect::<Vec<_>>().join(" ");
    let kinds: BTreeSet<_> = lines.iter().map(begins).collect();
    let expected =
        ["Pass ended", "Orphan", "the object was", "Nothing is deleted", "To delete these", "The term ended"];
    assert_eq!(kinds, expected.map(str::to_owned).into());
}

/// A cluster that never answers a read.
struct Silent(World);

impl Objects for Silent {
    async fn discover(&self) -> Result<Discovery, WriteError> {
        self.0.discover().await
    }

    async fn list(
        &self,
        kind: &ServedKind,
        choice: Choice<'_>,
        each: &mut dyn FnMut(Candidate),
    ) -> Result<(), WriteError> {
        self.0.list(kind, choice, each).await
    }

    async fn read(&self, _: &Destination, _: &ObjectRef) -> Result<Option<Value>, WriteError> {
        std::future::pending().await
    }

    async fn create(&self, at: &Destination, object: &Value) -> Result<Value, WriteError> {
        self.0.create(at, object).await
    }

    async fn delete(&self, at: &Destination, object: &ObjectRef, fence: Fence<'_>) -> Result<Deletion, WriteError> {
        self.0.delete(at, object, fence).await
    }
}

#[tokio::test(start_paused = true)]
async fn silent_call_is_given_up_before_another_replica_can_lead() {
    let settings = "dry_run: false\nlimits: {percent: 100}\nlease: {duration: 20s, renew_deadline: 13s}\n";
    let Sweeper { objects, api, config, audit, refused, metrics, page, clock } = sweeper(settings);
    let sweeper = Sweeper { objects: Silent(objects), api, config, audit, refused, metrics, page, clock };
    let (claim, mut strikes) = (Claim::of(TERM), Strikes::default());
    assert_eq!(sweeper.pass(&mut strikes, &claim, &Memory::default()).await.result, PassResult::Done);
    tokio::time::advance(Duration::from_secs(1)).await;
    let began = Instant::now();
    assert_eq!(sweeper.pass(&mut strikes, &claim, &Memory::default()).await.result, PassResult::Failed);
    assert_eq!(began.elapsed(), Duration::from_secs(7));
}

/// A sweeper of a world with one living resource and two orphans, each of its own resource, that needs an approval.
async fn held_sweeper() -> (Sweeper<World, World>, Claim, Strikes, Memory) {
    let sweeper = sweeper("dry_run: false\nlimits: {objects: 1, percent: 100}\n");
    let labels = json!({ "hyperfleet.io/adapter": "a", "hyperfleet.io/resource-id": "r2" });
    let metadata = json!({ "name": "second", "namespace": "team", "labels": labels });
    sweeper.objects.add(json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata }));
    let (claim, mut strikes, notes) = (Claim::of(TERM), Strikes::default(), Memory::default());
    sweeper.pass(&mut strikes, &claim, &notes).await;
    tokio::time::advance(Duration::from_secs(1)).await;
    let held = sweeper.pass(&mut strikes, &claim, &notes).await;
    assert_eq!((held.result, notes.doubts.borrow().len()), (PassResult::Held, 1), "the doubt is kept at once");
    let hash = held.survey.unwrap().plan.hash().to_owned();
    notes.approval.replace(Some(Approval { hash, expires: Timestamp::MAX }));
    (sweeper, claim, strikes, notes)
}

#[tokio::test(start_paused = true)]
async fn approved_pass_ends_the_kept_doubts() {
    let (sweeper, claim, mut strikes, notes) = held_sweeper().await;
    let log = Log::start();
    assert_eq!(sweeper.pass(&mut strikes, &claim, &notes).await.result, PassResult::Done);
    let lines = log.end();
    let overrides = "A person's approval of the plan overrides: 2 of 2 objects are orphans, and the limit is 1";
    assert!(lines.iter().any(|line| line["level"] == "info" && line["message"] == overrides), "{lines:?}");
    assert!(lines.iter().all(|line| line["level"] != "error"), "nothing went wrong: {lines:?}");
    assert_eq!((sweeper.objects.objects().len(), notes.doubts.borrow().len()), (2, 0), "two Events");
}

#[tokio::test(start_paused = true)]
async fn approved_pass_whose_term_ends_ends_no_doubt() {
    let (sweeper, claim, mut strikes, notes) = held_sweeper().await;
    let Sweeper { objects, api, mut config, audit, refused, metrics, page, clock } = sweeper;
    config.deletions_at_once = std::num::NonZeroUsize::MIN;
    let objects = Slow(objects, Duration::from_secs(3600), || {});
    let sweeper = Sweeper { objects, api, config, audit, refused, metrics, page, clock };
    assert_eq!(sweeper.pass(&mut strikes, &claim, &notes).await.result, PassResult::Failed);
    let left = sweeper.objects.0.objects().into_iter().filter(|object| object.kind.kind == "ConfigMap").count();
    assert_eq!((left, notes.doubts.borrow().len()), (1, 1));

    // The approval is taken back, and the next leader finds the doubt.
    notes.approval.take();
    let (next, mut strikes) = (Claim::of(TERM + 1), Strikes::default());
    strikes.restore_doubts(notes.doubts.borrow().clone());
    for _ in 0..2 {
        assert_eq!(sweeper.pass(&mut strikes, &next, &notes).await.result, PassResult::Held);
        tokio::time::advance(Duration::from_secs(1)).await;
    }
}

#[tokio::test(start_paused = true)]
async fn approved_pass_without_an_audit_record_ends_no_doubt() {
    let (sweeper, claim, mut strikes, notes) = held_sweeper().await;
    let full = Audit::to_file(std::path::Path::new("/dev/full"), false).unwrap();
    let sweeper = Sweeper { audit: full, ..sweeper };
    let passed = sweeper.pass(&mut strikes, &claim, &notes).await;
    assert_eq!(passed.result, PassResult::Failed);
    let said = said(&passed);
    assert!(said.contains("2 object(s) due: 2 kept (audit failed)"), "{said}");
    assert_eq!((sweeper.objects.objects().len(), notes.doubts.borrow().len()), (2, 1));
}

/// What `sweep` prints about a pass.
fn said(passed: &Passed) -> String {
    crate::report::text(passed.survey.as_ref().unwrap(), Some(&passed.outcomes))
}

/// A cluster in which so much time passes at each deletion, and something else happens.
struct Slow<F>(World, Duration, F);

impl<F: Fn()> Objects for Slow<F> {
    async fn discover(&self) -> Result<Discovery, WriteError> {
        self.0.discover().await
    }

    async fn list(
        &self,
        kind: &ServedKind,
        choice: Choice<'_>,
        each: &mut dyn FnMut(Candidate),
    ) -> Result<(), WriteError> {
        self.0.list(kind, choice, each).await
    }

    async fn read(&self, at: &Destination, object: &ObjectRef) -> Result<Option<Value>, WriteError> {
        self.0.read(at, object).await
    }

    async fn create(&self, at: &Destination, object: &Value) -> Result<Value, WriteError> {
        self.0.create(at, object).await
    }

    async fn delete(&self, at: &Destination, object: &ObjectRef, fence: Fence<'_>) -> Result<Deletion, WriteError> {
        let deletion = self.0.delete(at, object, fence).await;
        (self.2)();
        tokio::time::advance(self.1).await;
        deletion
    }
}

#[tokio::test(start_paused = true)]
async fn approval_that_is_taken_back_during_the_pass_stops_it_and_ends_no_doubt() {
    let (sweeper, claim, mut strikes, notes) = held_sweeper().await;
    let Sweeper { objects, api, mut config, audit, refused, metrics, page, clock } = sweeper;
    config.deletions_at_once = std::num::NonZeroUsize::MIN;
    let objects = Slow(objects, Duration::from_secs(1), || drop(notes.approval.take()));
    let sweeper = Sweeper { objects, api, config, audit, refused, metrics, page, clock };
    let passed = sweeper.pass(&mut strikes, &claim, &notes).await;
    assert_eq!(passed.result, PassResult::Done);
    let said = said(&passed);
    assert!(said.contains("2 object(s) due: 1 deleted, 1 kept (withdrawn)"), "{said}");
    assert!(said.contains("\nkept (withdrawn)  ConfigMap team/settings") && said.contains("the approval"), "{said}");
    let left: Vec<_> =
        sweeper.objects.0.objects().into_iter().filter(|object| object.kind.kind == "ConfigMap").collect();
    assert_eq!((left.len(), notes.doubts.borrow().len()), (1, 1), "{left:?}");
    assert_eq!(sweeper.pass(&mut strikes, &claim, &notes).await.result, PassResult::Held);
}
