//! The way of status events to the subscribers of their source.
//!
//! ```text
//!  reports ─▶ outbox ─▶ faults ─▶ broadcaster ─▶ queue of 100 of each subscriber ─▶ stream
//!  resync ─────────────────────────▲              heartbeats, queue of 10 ───────────▲
//! ```
//!
//! The broadcaster waits for a full queue, so one slow subscriber holds up all others, of every source.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use futures::Stream;
use futures::stream::unfold;
use lifecycle_proto::CloudEvent;
use tokio::sync::{mpsc, watch};
use tokio_util::sync::CancellationToken;
use tonic::Status;
use uuid::Uuid;

use crate::connection::Connection;
use crate::faults::Faults;
use crate::status::{Outgoing, heartbeat};

/// The events that wait for one subscriber.
const EVENTS: usize = 100;
/// The heartbeats that wait for one subscriber; more are dropped.
const HEARTBEATS: usize = 10;

/// All subscribers of the server.
#[derive(Debug, Clone, Default)]
pub(crate) struct Subscribers {
    all: Arc<Mutex<BTreeMap<Uuid, Subscriber>>>,
}

#[derive(Debug, Clone)]
struct Subscriber {
    source: String,
    events: mpsc::Sender<CloudEvent>,
    heartbeats: mpsc::Sender<CloudEvent>,
    connection: Connection,
    end: CancellationToken,
}

/// Takes the subscriber out when its stream ends, however it ends.
struct Subscription {
    id: Uuid,
    subscribers: Subscribers,
}

impl Drop for Subscription {
    fn drop(&mut self) {
        self.subscribers.with(|all| all.remove(&self.id));
    }
}

/// What a subscriber reads.
struct Queues {
    events: mpsc::Receiver<CloudEvent>,
    heartbeats: mpsc::Receiver<CloudEvent>,
    end: CancellationToken,
    pace: watch::Receiver<Pace>,
    has_ended: bool,
    _subscription: Subscription,
}

/// How fast streams are.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Pace {
    pub(crate) is_held: bool,
    pub(crate) delay: Option<Duration>,
}

impl Subscribers {
    fn with<T>(&self, act: impl FnOnce(&mut BTreeMap<Uuid, Subscriber>) -> T) -> T {
        act(&mut self.all.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Adds a subscriber; events from before are not for it.
    pub(crate) fn add(
        &self,
        source: String,
        connection: Connection,
        pace: watch::Receiver<Pace>,
    ) -> (Uuid, impl Stream<Item = Result<CloudEvent, Status>> + Send + 'static + use<>) {
        let (events, waiting) = mpsc::channel(EVENTS);
        let (heartbeats, beats) = mpsc::channel(HEARTBEATS);
        let (id, end) = (Uuid::new_v4(), CancellationToken::new());
        let subscriber = Subscriber { source, events, heartbeats, connection, end: end.clone() };
        self.with(|all| all.insert(id, subscriber));
        let subscription = Subscription { id, subscribers: self.clone() };
        let queues =
            Queues { events: waiting, heartbeats: beats, end, pace, has_ended: false, _subscription: subscription };
        (id, unfold(queues, next))
    }

    /// The number of subscribers of a source.
    pub(crate) fn count(&self, source: &str) -> usize {
        self.with(|all| all.values().filter(|subscriber| subscriber.source == source).count())
    }

    /// Breaks the connections of all subscribers, as a server does that dies.
    pub(crate) fn cut(&self) {
        self.with(|all| all.values().for_each(|subscriber| subscriber.connection.cut()));
    }

    /// Ends all streams with the code `Unavailable`.
    pub(crate) fn end(&self) {
        self.with(|all| all.values().for_each(|subscriber| subscriber.end.cancel()));
    }

    fn beat(&self) {
        self.with(|all| {
            for subscriber in all.values() {
                // A full queue drops the heartbeat.
                let _ = subscriber.heartbeats.try_send(heartbeat());
            }
        });
    }

    async fn send(&self, outgoing: Outgoing) {
        let receivers: Vec<_> = self.with(|all| {
            let of_source = all.values().filter(|subscriber| subscriber.source == outgoing.source);
            of_source.map(|subscriber| subscriber.events.clone()).collect()
        });
        for receiver in receivers {
            // A closed queue is that of a subscriber who has just left.
            let _ = receiver.send(outgoing.event.clone()).await;
        }
    }
}

async fn next(mut queues: Queues) -> Option<(Result<CloudEvent, Status>, Queues)> {
    if queues.has_ended {
        return None;
    }
    let end = queues.end.clone();
    // A held or slow stream still ends at once.
    let event = tokio::select! {
        () = end.cancelled() => None,
        event = queues.take() => Some(event?),
    };
    match event {
        Some(event) => Some((Ok(event), queues)),
        None => {
            queues.has_ended = true;
            Some((Err(Status::unavailable("the server is shutting down")), queues))
        }
    }
}

impl Queues {
    /// The next event or heartbeat, at the pace that the test demands; `None` when the server is gone.
    async fn take(&mut self) -> Option<CloudEvent> {
        loop {
            let pace = *self.pace.wait_for(|pace| !pace.is_held).await.ok()?;
            if let Some(delay) = pace.delay {
                // Before an event is taken: what a cancelled wait had taken would be lost.
                tokio::time::sleep(delay).await;
            }
            tokio::select! {
                // First, so that nothing is delivered after a test has demanded another pace.
                biased;
                changed = self.pace.changed() => changed.ok()?,
                event = self.events.recv() => return event,
                beat = self.heartbeats.recv() => return beat,
            }
        }
    }
}

/// Passes the events of the outbox to the broadcaster, through the faults that concern them.
pub(crate) async fn pump(
    mut outbox: mpsc::UnboundedReceiver<Outgoing>,
    broadcaster: mpsc::Sender<Outgoing>,
    faults: Faults,
) {
    let mut held = Vec::new();
    while let Some(outgoing) = outbox.recv().await {
        let copies = 1 + usize::from(faults.takes_duplicate());
        held.extend(std::iter::repeat_n(outgoing, copies));
        if faults.holds_for_reversal() {
            continue;
        }
        let mut ready = std::mem::take(&mut held);
        if ready.len() > copies {
            ready.reverse();
        }
        for outgoing in ready {
            if broadcaster.send(outgoing).await.is_err() {
                return;
            }
        }
    }
}

/// Passes each event to every subscriber of its source, one after the other.
pub(crate) async fn broadcast(mut events: mpsc::Receiver<Outgoing>, subscribers: Subscribers) {
    while let Some(outgoing) = events.recv().await {
        subscribers.send(outgoing).await;
    }
}

/// Sends heartbeats to all subscribers.
pub(crate) async fn beat(period: Duration, subscribers: Subscribers, faults: Faults) {
    let mut ticks = tokio::time::interval(period);
    loop {
        ticks.tick().await;
        if faults.has_heartbeats() {
            subscribers.beat();
        }
    }
}

#[cfg(test)]
mod tests;
