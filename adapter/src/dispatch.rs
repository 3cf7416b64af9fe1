//! Runs the passes of events: one at a time for each API resource, in parallel for different ones.
//!
//! In: [`Incoming`] messages from every input. Out: calls of a [`Handler`], and a settlement for every message:
//!
//! | what happened | the message |
//! | --- | --- |
//! | the pass ended, whatever its result | acknowledged |
//! | a newer event of the resource replaced it in the work queue | acknowledged |
//! | it is not a valid event, or the handler reports it as malformed | dead-lettered |
//! | the handler panicked | acknowledged: a redelivery would panic again, and the Sentinel sends a new event |
//! | the process stopped before the pass started or ended | requeued |
//! | the intake was paused before the pass started | requeued |
//!
//! Every message ends in one of these rows, so that no message loops and none is lost.
//!
//! The dispatcher does not limit how many events wait: each input limits its own unsettled events.

use std::any::Any;
use std::collections::HashMap;
use std::future::Future;
use std::num::NonZeroUsize;
use std::sync::Arc;
use std::time::Duration;

use lifecycle_core::event::{LifecycleEvent, MAX_EVENT_BYTES};
use tokio::sync::{mpsc, watch};
use tokio::task::{Id, JoinError, JoinSet};
use tokio::time::{Instant, timeout};
use tokio_util::sync::CancellationToken;

pub use self::metrics::{InputMetrics, Invalid, NoMetrics};
use self::work_queue::{Key, Offered, WorkQueue};
use crate::consumer::{Disposition, Incoming, Settlement};
use crate::dependency::Intake;

mod metrics;
pub mod work_queue;

/// Runs one reconcile pass for one event.
pub trait Handler: Send + Sync + 'static {
    /// Runs the pass, which ends at `deadline` at the latest. At shutdown the dispatcher drops the future when
    /// the grace period is over.
    fn handle(&self, event: LifecycleEvent, deadline: Instant) -> impl Future<Output = Handled> + Send;
}

/// The end of a pass, by which the dispatcher settles the event's message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Handled {
    /// The pass ended and sent its report, if it had any.
    Done,
    /// The event lacks a value that the task needs, so that no redelivery can succeed.
    Malformed {
        /// A description of the value that the event lacks.
        reason: String,
    },
}

/// The limits of the dispatcher: how many passes run at once, how long one may take, and how long a shutdown
/// waits.
#[derive(Debug, Clone, Copy)]
pub struct DispatchOptions {
    /// The largest number of passes at a time.
    pub parallelism: NonZeroUsize,
    /// The time limit of one pass.
    pub event_deadline: Duration,
    /// The time that running passes get to finish at shutdown.
    pub shutdown_grace: Duration,
}

/// How many events a shutdown finished, requeued and cancelled.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Drained {
    /// Passes that ended within the grace period.
    pub finished: usize,
    /// Events that were requeued before their pass started.
    pub requeued: usize,
    /// Passes that were cancelled at the end of the grace period; their events were requeued.
    pub cancelled: usize,
}

/// Receives events, and runs their passes.
pub struct Dispatcher<H> {
    handler: Arc<H>,
    options: DispatchOptions,
    metrics: Arc<dyn InputMetrics>,
    intake: watch::Receiver<Intake>,
    queue: WorkQueue<Ticket>,
    passes: JoinSet<Handled>,
    running: HashMap<Id, Running>,
}

/// An event in the work queue, with its settlement.
struct Ticket {
    event: LifecycleEvent,
    received_at: Instant,
    settlement: Settlement,
}

/// A running pass as the dispatcher remembers it, to settle its message also if the pass panics or is
/// cancelled.
struct Running {
    key: Key,
    event_id: String,
    settlement: Settlement,
    started_at: Instant,
}

impl<H: Handler> Dispatcher<H> {
    /// A dispatcher without events. It starts passes only while `intake` is open.
    #[must_use]
    pub fn new(
        handler: Arc<H>,
        options: DispatchOptions,
        metrics: Arc<dyn InputMetrics>,
        intake: watch::Receiver<Intake>,
    ) -> Self {
        Self {
            handler,
            options,
            metrics,
            intake,
            queue: WorkQueue::new(options.parallelism),
            passes: JoinSet::new(),
            running: HashMap::new(),
        }
    }

    /// Runs passes until `shutdown`, or until every input has ended and the last pass is over.
    ///
    /// On return, every message that the dispatcher received is settled.
    pub async fn run(mut self, mut inbox: mpsc::Receiver<Incoming>, shutdown: CancellationToken) -> Drained {
        let mut open = true;
        while open || !self.passes.is_empty() {
            tokio::select! {
                // The order matters: a shutdown starts no new pass, and the end of a pass frees its place
                // before another event arrives.
                biased;
                () = shutdown.cancelled() => return self.drain(inbox).await,
                Ok(()) = self.intake.changed() => { self.apply_intake(); }
                Some(ended) = self.passes.join_next_with_id() => { self.ended(ended); }
                incoming = inbox.recv(), if open => match incoming {
                    Some(incoming) => self.take(incoming),
                    None => open = false,
                }
            }
        }
        Drained::default()
    }

    /// Applies the current state of the intake: holds, requeues, or starts the waiting events.
    fn apply_intake(&mut self) -> Intake {
        let intake = *self.intake.borrow_and_update();
        self.queue.hold(intake != Intake::Open);
        match intake {
            Intake::Held => {}
            Intake::Paused => {
                for ticket in self.queue.drain() {
                    ticket.settlement.settle(Disposition::Requeue);
                }
                self.metrics.in_flight(self.queue.running(), 0);
            }
            Intake::Open => {
                while let Some((key, ticket)) = self.queue.start_next() {
                    self.start(key, ticket);
                }
            }
        }
        intake
    }

    fn take(&mut self, incoming: Incoming) {
        let Incoming { message, received_at, settlement } = incoming;
        if self.apply_intake() == Intake::Paused {
            return settlement.settle(Disposition::Requeue);
        }
        self.metrics.consumed();
        let event = match message.parse(MAX_EVENT_BYTES) {
            Ok(event) => event,
            Err(reason) => {
                tracing::warn!(reason, "event refused, not to be tried again");
                self.metrics.invalid(Invalid::Event);
                return settlement.settle(Disposition::DeadLetter { reason });
            }
        };
        if let Some(lag) = lag(&event, jiff::Timestamp::now()) {
            self.metrics.lag(lag);
        }
        tracing::info!(
            event_id = event.event_id,
            event_type = event.event_type,
            resource_type = event.kind,
            resource_id = event.resource_id,
            generation = event.generation.0,
            "Event received: id={} type={} source={}",
            event.event_id,
            event.event_type,
            event.source,
        );
        let (key, generation) = (Key::of(&event), event.generation);
        match self.queue.offer(key.clone(), generation, Ticket { event, received_at, settlement }) {
            Offered::Start(ticket) => self.start(key, ticket),
            Offered::Waits { replaced } => {
                for Ticket { event, settlement, .. } in replaced {
                    tracing::debug!(event_id = event.event_id, "a newer event of the resource replaces this one");
                    self.metrics.coalesced();
                    settlement.settle(Disposition::Ack);
                }
            }
        }
        self.metrics.in_flight(self.queue.running(), self.queue.waiting());
    }

    fn start(&mut self, key: Key, Ticket { event, received_at, settlement }: Ticket) {
        let started_at = Instant::now();
        self.metrics.started(started_at - received_at);
        let event_id = event.event_id.clone();
        let handler = Arc::clone(&self.handler);
        let deadline = started_at + self.options.event_deadline;
        // Spawn a task for each pass, so that a panic ends only its own pass. Box the pass, because Tokio moves a
        // task's future twice, and this one is large.
        let pass = self.passes.spawn(Box::pin(async move { handler.handle(event, deadline).await }));
        self.running.insert(pass.id(), Running { key, event_id, settlement, started_at });
    }

    /// Settles the event of a pass that ended, and starts the next waiting event.
    fn ended(&mut self, ended: Result<(Id, Handled), JoinError>) -> Option<Disposition> {
        let (id, result) = match ended {
            Ok((id, handled)) => (id, Ok(handled)),
            Err(error) => (error.id(), Err(error)),
        };
        let Running { key, event_id, settlement, started_at } = self.running.remove(&id)?;
        let disposition = match result {
            Ok(Handled::Done) => Disposition::Ack,
            Ok(Handled::Malformed { reason }) => {
                tracing::warn!(event_id, reason, "event refused by the task, not to be tried again");
                self.metrics.invalid(Invalid::Task);
                Disposition::DeadLetter { reason }
            }
            Err(error) => match error.try_into_panic() {
                Ok(panic) => {
                    tracing::error!(event_id, panic = panic_text(&*panic), "event handler panicked (acked)");
                    self.metrics.panicked();
                    Disposition::Ack
                }
                Err(_cancelled) => Disposition::Requeue,
            },
        };
        self.metrics.handled(started_at.elapsed());
        settlement.settle(disposition.clone());
        // Read the intake before the next event starts: the pass that ended may have met an outage, and so have
        // changed the intake to held.
        self.apply_intake();
        if let Some((key, ticket)) = self.queue.finished(&key) {
            self.start(key, ticket);
        }
        self.metrics.in_flight(self.queue.running(), self.queue.waiting());
        Some(disposition)
    }

    async fn drain(mut self, mut inbox: mpsc::Receiver<Incoming>) -> Drained {
        let mut drained = Drained::default();
        let waiting = self.queue.drain().into_iter().map(|ticket| ticket.settlement);
        for settlement in waiting {
            settlement.settle(Disposition::Requeue);
            drained.requeued += 1;
        }
        inbox.close();
        while let Some(incoming) = inbox.recv().await {
            incoming.settlement.settle(Disposition::Requeue);
            drained.requeued += 1;
        }
        self.metrics.in_flight(self.queue.running(), 0);
        let running = self.passes.len();
        tracing::info!(running, requeued = drained.requeued, "shutting down, letting running events finish");
        let _ = timeout(self.options.shutdown_grace, self.finish(&mut drained)).await;
        if !self.passes.is_empty() {
            tracing::warn!(running = self.passes.len(), "grace period is over, cancelling running events");
            self.passes.abort_all();
            self.finish(&mut drained).await;
        }
        drained
    }

    async fn finish(&mut self, drained: &mut Drained) {
        while let Some(ended) = self.passes.join_next_with_id().await {
            match self.ended(ended) {
                Some(Disposition::Requeue) => drained.cancelled += 1,
                Some(Disposition::Ack | Disposition::DeadLetter { .. }) | None => drained.finished += 1,
            }
        }
    }
}

/// The time since the event's `time`; `None` if the event has no time in RFC 3339.
fn lag(event: &LifecycleEvent, now: jiff::Timestamp) -> Option<Duration> {
    let made: jiff::Timestamp = event.time.as_deref()?.parse().ok()?;
    // The duration is negative if the sender's clock is ahead; report zero.
    Some(Duration::try_from(now.duration_since(made)).unwrap_or_default())
}

fn panic_text(panic: &(dyn Any + Send)) -> &str {
    let text = panic.downcast_ref::<&str>().copied();
    text.or_else(|| panic.downcast_ref::<String>().map(String::as_str)).unwrap_or("a panic without text")
}

#[cfg(test)]
mod tests;
