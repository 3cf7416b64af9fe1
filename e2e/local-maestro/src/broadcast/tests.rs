use futures::{FutureExt as _, StreamExt as _};
use std::pin::Pin;

use tokio::time::advance;

use super::*;
use crate::status::HEARTBEAT_TYPE;

const PERIOD: Duration = Duration::from_secs(10);

struct World {
    outbox: mpsc::UnboundedSender<Outgoing>,
    subscribers: Subscribers,
    faults: Faults,
}

impl World {
    fn new() -> Self {
        let (subscribers, faults) = (Subscribers::default(), Faults::default());
        let (outbox, waiting) = mpsc::unbounded_channel();
        let (broadcaster, events) = mpsc::channel(1);
        tokio::spawn(pump(waiting, broadcaster, faults.clone()));
        tokio::spawn(broadcast(events, subscribers.clone()));
        Self { outbox, subscribers, faults }
    }

    fn subscribe(&self, source: &str) -> Pin<Box<dyn Stream<Item = Result<CloudEvent, Status>> + Send>> {
        Box::pin(self.subscribers.add(source.to_owned(), Connection::default(), self.faults.pace()).1)
    }

    fn send(&self, source: &str, id: &str) {
        let event = CloudEvent { id: id.to_owned(), ..heartbeat() };
        let _ = self.outbox.send(Outgoing { source: source.to_owned(), event });
    }
}

/// Lets all tasks run until they wait.
async fn settle() {
    for _ in 0..1000 {
        tokio::task::yield_now().await;
    }
}

/// The id of the event that a stream has ready.
fn ready(stream: &mut (impl Stream<Item = Result<CloudEvent, Status>> + Unpin)) -> Option<String> {
    stream.next().now_or_never()?.and_then(Result::ok).map(|event| event.id)
}

#[tokio::test(start_paused = true)]
async fn subscriber_who_does_not_read_holds_up_all_sources() {
    let world = World::new();
    let (mut slow, mut other) = (world.subscribe("a"), world.subscribe("b"));
    // Two more than its queue takes: one is with the broadcaster, and one in the channel before.
    for index in 0..=EVENTS {
        world.send("a", &index.to_string());
    }
    world.send("b", "late");
    settle().await;
    assert_eq!(ready(&mut other), None);
    assert_eq!(ready(&mut slow).as_deref(), Some("0"));
    settle().await;
    assert_eq!(ready(&mut other).as_deref(), Some("late"));
}

#[tokio::test(start_paused = true)]
async fn heartbeats_come_once_in_a_period_and_stop_on_demand() {
    let world = World::new();
    let mut stream = world.subscribe("a");
    tokio::spawn(beat(PERIOD, world.subscribers.clone(), world.faults.clone()));
    settle().await;
    let kind = stream.next().now_or_never().flatten().and_then(Result::ok).map(|event| event.r#type);
    assert_eq!(kind.as_deref(), Some(HEARTBEAT_TYPE));
    assert_eq!(ready(&mut stream), None);
    world.faults.stop_heartbeats(true);
    advance(PERIOD * 5).await;
    settle().await;
    assert_eq!(ready(&mut stream), None);
    world.faults.stop_heartbeats(false);
    advance(PERIOD).await;
    settle().await;
    assert_ne!(ready(&mut stream), None);
}

#[tokio::test(start_paused = true)]
async fn full_queue_drops_heartbeats_and_not_events() {
    let world = World::new();
    let mut stream = world.subscribe("a");
    for _ in 0..HEARTBEATS + 5 {
        world.subscribers.beat();
    }
    world.send("a", "event");
    settle().await;
    let mut ids = Vec::new();
    while let Some(id) = ready(&mut stream) {
        ids.push(id);
    }
    assert_eq!((ids.len(), ids.contains(&"event".to_owned())), (HEARTBEATS + 1, true));
}

#[tokio::test(start_paused = true)]
async fn held_stream_delivers_nothing_until_it_is_let_go() {
    let world = World::new();
    let mut stream = world.subscribe("a");
    // The stream already waits for an event when the test holds it.
    assert_eq!(ready(&mut stream), None);
    world.faults.hold_streams(true);
    world.send("a", "event");
    settle().await;
    assert_eq!(ready(&mut stream), None);
    world.faults.hold_streams(false);
    assert_eq!(ready(&mut stream).as_deref(), Some("event"));
}

#[tokio::test(start_paused = true)]
async fn slow_stream_waits_before_each_event() {
    let world = World::new();
    let mut stream = world.subscribe("a");
    world.faults.slow_streams(Some(PERIOD));
    world.send("a", "event");
    settle().await;
    let begun = tokio::time::Instant::now();
    assert_eq!(ready(&mut stream), None);
    let event = stream.next().await.and_then(Result::ok).map(|event| event.id);
    assert_eq!((event.as_deref(), begun.elapsed()), (Some("event"), PERIOD));
}
