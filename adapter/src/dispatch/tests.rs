#![expect(clippy::unwrap_used, reason = "tests")]

use std::collections::BTreeMap;
use std::sync::Mutex;

use bytes::Bytes;
use serde_json::json;
use tokio::sync::{Notify, oneshot};
use tokio::task::JoinHandle;

use super::*;
use crate::consumer::{Message, Settled};

const DEADLINE: Duration = Duration::from_secs(60);
const GRACE: Duration = Duration::from_secs(25);

/// A fake handler: each pass ends when the test says so.
#[derive(Default)]
struct Script {
    /// The event id and deadline of each started pass, in order.
    started: Mutex<Vec<(String, Instant)>>,
    gates: Mutex<BTreeMap<String, oneshot::Receiver<Step>>>,
    changed: Notify,
}

/// The next step of the fake handler's pass, which the test chooses when it opens the gate.
enum Step {
    End(Handled),
    Panic,
}

impl Handler for Script {
    async fn handle(&self, event: LifecycleEvent, deadline: Instant) -> Handled {
        let gate = self.gates.lock().unwrap().remove(&event.event_id).unwrap();
        self.started.lock().unwrap().push((event.event_id.clone(), deadline));
        self.changed.notify_waiters();
        match gate.await {
            Ok(Step::End(handled)) => handled,
            Ok(Step::Panic) => panic!("broken by the test"),
            Err(_) => std::future::pending().await,
        }
    }
}

impl Script {
    fn started(&self) -> Vec<String> {
        self.started.lock().unwrap().iter().map(|(id, _)| id.clone()).collect()
    }

    /// Waits until `count` passes were started. The clock is paused, so that a wait without progress times out
    /// at once.
    async fn until_started(&self, count: usize) {
        timeout(Duration::from_secs(3600), async {
            loop {
                let changed = self.changed.notified();
                if self.started.lock().unwrap().len() >= count {
                    return;
                }
                changed.await;
            }
        })
        .await
        .unwrap();
    }
}

#[derive(Default)]
struct Counts(Mutex<BTreeMap<&'static str, usize>>);

impl Counts {
    fn count(&self, name: &'static str) {
        *self.0.lock().unwrap().entry(name).or_default() += 1;
    }

    fn get(&self, name: &str) -> usize {
        self.0.lock().unwrap().get(name).copied().unwrap_or_default()
    }
}

impl InputMetrics for Counts {
    fn consumed(&self) {
        self.count("consumed");
    }
    fn invalid(&self, by: Invalid) {
        self.count(match by {
            Invalid::Event => "invalid event",
            Invalid::Task => "invalid for the task",
        });
    }
    fn coalesced(&self) {
        self.count("coalesced");
    }
    fn panicked(&self) {
        self.count("panicked");
    }
    fn lag(&self, _: Duration) {
        self.count("lag");
    }
    fn started(&self, _: Duration) {
        self.count("started");
    }
    fn in_flight(&self, running: usize, waiting: usize) {
        let mut counts = self.0.lock().unwrap();
        counts.insert("running", running);
        counts.insert("waiting", waiting);
    }
    fn handled(&self, _: Duration) {
        self.count("handled");
    }
}

/// A running dispatcher, with the channels that a test uses to drive it.
struct Fixture {
    script: Arc<Script>,
    counts: Arc<Counts>,
    inbox: mpsc::Sender<Incoming>,
    shutdown: CancellationToken,
    intake: watch::Sender<Intake>,
    dispatcher: JoinHandle<Drained>,
}

/// A sent event: the sender that opens its pass's gate, and the future of its disposition.
struct Sent {
    gate: oneshot::Sender<Step>,
    settled: Settled,
}

impl Sent {
    async fn end(self) -> Disposition {
        let _ = self.gate.send(Step::End(Handled::Done));
        self.settled.await
    }
}

fn fixture(parallelism: usize) -> Fixture {
    let (script, counts) = (Arc::new(Script::default()), Arc::new(Counts::default()));
    let (inbox, receiver) = mpsc::channel(16);
    let (shutdown, intake) = (CancellationToken::new(), watch::Sender::default());
    let parallelism = NonZeroUsize::new(parallelism).unwrap();
    let options = DispatchOptions { parallelism, event_deadline: DEADLINE, shutdown_grace: GRACE };
    let metrics: Arc<dyn InputMetrics> = Arc::<Counts>::clone(&counts);
    let dispatcher = Dispatcher::new(Arc::clone(&script), options, metrics, intake.subscribe());
    let dispatcher = tokio::spawn(dispatcher.run(receiver, shutdown.clone()));
    Fixture { script, counts, inbox, shutdown, intake, dispatcher }
}

impl Fixture {
    async fn send(&self, event_id: &str, resource: &str, generation: i64) -> Sent {
        let (gate, opened) = oneshot::channel();
        self.script.gates.lock().unwrap().insert(event_id.to_owned(), opened);
        let settled = self
            .send_raw(&json!({
                "specversion": "1.0", "id": event_id, "source": "test", "type": "test", "time": "2026-01-01T00:00:00Z",
                "data": {"id": resource, "kind": "Cluster", "generation": generation},
            }))
            .await;
        Sent { gate, settled }
    }

    async fn send_raw(&self, event: &serde_json::Value) -> Settled {
        let (incoming, settled) = Incoming::new(Message::Structured(Bytes::from(event.to_string())));
        self.inbox.send(incoming).await.unwrap();
        settled
    }

    async fn shut_down(self) -> Drained {
        self.shutdown.cancel();
        self.dispatcher.await.unwrap()
    }
}

#[tokio::test(start_paused = true)]
async fn pass_gets_its_deadline_and_its_message_is_acknowledged() {
    let fixture = fixture(1);
    let sent_at = Instant::now();
    let event = fixture.send("e1", "a", 1).await;
    fixture.script.until_started(1).await;
    assert_eq!(fixture.script.started.lock().unwrap()[0], ("e1".to_owned(), sent_at + DEADLINE));
    assert_eq!(event.end().await, Disposition::Ack);
    for name in ["consumed", "started", "handled", "lag"] {
        assert_eq!(fixture.counts.get(name), 1, "{name}");
    }
    assert_eq!(fixture.counts.get("running"), 0);
}

#[tokio::test(start_paused = true)]
async fn events_of_one_resource_run_in_order_and_of_others_in_parallel() {
    let fixture = fixture(4);
    let first = fixture.send("a1", "a", 2).await;
    let second = fixture.send("a2", "a", 1).await;
    let other = fixture.send("b1", "b", 1).await;
    fixture.script.until_started(2).await;
    assert_eq!(fixture.script.started(), ["a1", "b1"]);
    assert_eq!(first.end().await, Disposition::Ack);
    fixture.script.until_started(3).await;
    assert_eq!(fixture.script.started(), ["a1", "b1", "a2"]);
    assert_eq!(second.end().await, Disposition::Ack);
    assert_eq!(other.end().await, Disposition::Ack);
}

#[tokio::test(start_paused = true)]
async fn newer_event_replaces_the_waiting_event_of_its_resource() {
    let fixture = fixture(4);
    let first = fixture.send("a1", "a", 1).await;
    let second = fixture.send("a2", "a", 2).await;
    let third = fixture.send("a3", "a", 2).await;
    assert_eq!(second.settled.await, Disposition::Ack);
    assert_eq!(fixture.counts.get("coalesced"), 1);
    assert_eq!((fixture.counts.get("running"), fixture.counts.get("waiting")), (1, 1));
    first.end().await;
    assert_eq!(third.end().await, Disposition::Ack);
    assert_eq!(fixture.script.started(), ["a1", "a3"]);
}

#[tokio::test(start_paused = true)]
async fn invalid_event_is_dead_lettered_with_its_reason() {
    let fixture = fixture(1);
    let event = json!({"specversion": "1.0", "id": "e", "source": "s", "type": "t", "data": {"generation": "1"}});
    let settled = fixture.send_raw(&event).await.await;
    let Disposition::DeadLetter { reason } = settled else { panic!("{settled:?}") };
    assert!(reason.starts_with("failed to parse event data: `data.generation` is a string"), "{reason}");
    assert_eq!(fixture.counts.get("invalid event"), 1);
    assert_eq!(fixture.script.started(), Vec::<String>::new());
}

#[tokio::test(start_paused = true)]
async fn valid_event_above_256_kibibytes_is_dead_lettered() {
    let fixture = fixture(1);
    let event = json!({"specversion": "1.0", "id": "e", "source": "s", "type": "t", "padding": "x".repeat(1 << 18),
        "data": {"id": "a", "kind": "Cluster", "generation": 1}});
    let settled = fixture.send_raw(&event).await.await;
    let Disposition::DeadLetter { reason } = settled else { panic!("{settled:?}") };
    assert!(reason.contains("262144"), "{reason}");
    assert_eq!(fixture.script.started(), Vec::<String>::new());
}

#[tokio::test(start_paused = true)]
async fn held_intake_starts_no_pass_and_keeps_every_event() {
    let fixture = fixture(1);
    let running = fixture.send("a1", "a", 1).await;
    let waiting = fixture.send("b1", "b", 1).await;
    fixture.script.until_started(1).await;
    fixture.intake.send_replace(Intake::Held);
    // The held intake keeps the work queue from using the place that became free.
    assert_eq!(running.end().await, Disposition::Ack);
    let arriving = fixture.send("c1", "c", 1).await;
    tokio::time::advance(GRACE).await;
    assert_eq!(fixture.script.started(), ["a1"]);
    fixture.intake.send_replace(Intake::Open);
    assert_eq!(waiting.end().await, Disposition::Ack);
    assert_eq!(arriving.end().await, Disposition::Ack);
    assert_eq!(fixture.script.started(), ["a1", "b1", "c1"]);
}

#[tokio::test(start_paused = true)]
async fn paused_intake_requeues_waiting_and_arriving_events() {
    let fixture = fixture(1);
    let running = fixture.send("a1", "a", 1).await;
    let waiting = fixture.send("a2", "a", 2).await;
    let other = fixture.send("b1", "b", 1).await;
    fixture.script.until_started(1).await;
    fixture.intake.send_replace(Intake::Paused);
    assert_eq!(waiting.settled.await, Disposition::Requeue);
    assert_eq!(other.settled.await, Disposition::Requeue);
    assert_eq!(fixture.send("c1", "c", 1).await.settled.await, Disposition::Requeue);
    // A pause does not cancel running passes: two grace periods later the pass still runs.
    tokio::time::advance(GRACE * 2).await;
    assert_eq!(running.end().await, Disposition::Ack);
    fixture.intake.send_replace(Intake::Open);
    assert_eq!(fixture.send("b2", "b", 1).await.end().await, Disposition::Ack);
    assert_eq!(fixture.script.started(), ["a1", "b2"]);
}

#[tokio::test(start_paused = true)]
async fn malformed_event_is_dead_lettered() {
    let fixture = fixture(1);
    let event = fixture.send("e1", "a", 1).await;
    let reason = "required param `region` is missing".to_owned();
    let _ = event.gate.send(Step::End(Handled::Malformed { reason: reason.clone() }));
    assert_eq!(event.settled.await, Disposition::DeadLetter { reason });
    assert_eq!(fixture.counts.get("invalid for the task"), 1);
}

#[tokio::test(start_paused = true)]
async fn panic_ends_only_its_own_pass() {
    let fixture = fixture(1);
    let broken = fixture.send("a1", "a", 1).await;
    let next = fixture.send("a2", "a", 2).await;
    let _ = broken.gate.send(Step::Panic);
    assert_eq!(broken.settled.await, Disposition::Ack);
    assert_eq!(fixture.counts.get("panicked"), 1);
    assert_eq!(next.end().await, Disposition::Ack);
}

#[tokio::test(start_paused = true)]
async fn shutdown_requeues_waiting_events_and_awaits_running_passes() {
    let fixture = fixture(1);
    let running = fixture.send("a1", "a", 1).await;
    let waiting = fixture.send("a2", "a", 2).await;
    let other = fixture.send("b1", "b", 1).await;
    fixture.script.until_started(1).await;
    fixture.shutdown.cancel();
    assert_eq!(waiting.settled.await, Disposition::Requeue);
    assert_eq!(other.settled.await, Disposition::Requeue);
    tokio::time::advance(GRACE / 2).await;
    assert_eq!(running.end().await, Disposition::Ack);
    let drained = fixture.dispatcher.await.unwrap();
    assert_eq!(drained, Drained { finished: 1, requeued: 2, cancelled: 0 });
    assert_eq!(fixture.script.started(), ["a1"], "nothing starts during a shutdown");
}

#[tokio::test(start_paused = true)]
async fn pass_running_past_the_grace_period_is_requeued() {
    let fixture = fixture(1);
    let running = fixture.send("a1", "a", 1).await;
    fixture.script.until_started(1).await;
    let begun = Instant::now();
    assert_eq!(fixture.shut_down().await, Drained { finished: 0, requeued: 0, cancelled: 1 });
    assert_eq!(running.settled.await, Disposition::Requeue);
    assert_eq!(begun.elapsed(), GRACE);
}

#[tokio::test(start_paused = true)]
async fn event_sent_during_shutdown_is_requeued() {
    let fixture = fixture(1);
    let running = fixture.send("a1", "a", 1).await;
    fixture.script.until_started(1).await;
    fixture.shutdown.cancel();
    let (incoming, settled) = Incoming::new(Message::Structured(Bytes::new()));
    drop(fixture.inbox.send(incoming).await);
    assert_eq!(settled.await, Disposition::Requeue);
    running.end().await;
    fixture.dispatcher.await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn dispatcher_returns_when_inputs_are_gone_and_passes_ended() {
    let fixture = fixture(1);
    let first = fixture.send("a1", "a", 1).await;
    let second = fixture.send("b1", "b", 1).await;
    drop(fixture.inbox);
    assert_eq!(first.end().await, Disposition::Ack);
    assert_eq!(second.end().await, Disposition::Ack);
    assert_eq!(fixture.dispatcher.await.unwrap(), Drained::default());
}

#[test]
fn lag_is_the_time_since_the_event_was_made() {
    let now: jiff::Timestamp = "2026-01-01T00:00:10Z".parse().unwrap();
    let cases = [
        ("made ten seconds ago", Some("2026-01-01T00:00:00Z"), Some(10)),
        ("made in another time zone", Some("2026-01-01T02:00:05+02:00"), Some(5)),
        ("made in the future", Some("2026-01-01T00:00:20Z"), Some(0)),
        ("not saying when", None, None),
        ("saying it in no known way", Some("yesterday"), None),
    ];
    for (name, time, seconds) in cases {
        let event = json!({"specversion": "1.0", "id": "e", "source": "s", "type": "t", "time": time});
        let event = LifecycleEvent::from_structured(event.to_string().as_bytes(), MAX_EVENT_BYTES).unwrap();
        assert_eq!(lag(&event, now), seconds.map(Duration::from_secs), "{name}");
    }
}
