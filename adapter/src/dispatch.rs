//! Runs events, one at a time per API resource.
//!
//! In: [`Incoming`] messages from every input. Out: calls of a [`Handler`], and a settlement for every message:
//!
//! | what happened | the message |
//! | --- | --- |
//! | the handler ended its pass, whatever the result | acknowledged |
//! | a newer event of the resource took its place while it waited | acknowledged |
//! | it is no usable event, or the handler says that it never will be | dead-lettered, never tried again |
//! | the handler panicked | acknowledged: it would panic again, and the Sentinel repeats what still matters |
//! | the process stops before its turn, or before it ended | requeued |
//! | the intake is paused before its turn | requeued |
//!
//! So no message can loop, and none is lost: everything else ends in one of these rows.
//!
//! It does not bound what waits: inputs bound what they hand in. Nor does it end a handler that overruns its
//! deadline: to end there, with a report, is the handler's part.

use std::any::Any;
use std::collections::HashMap;
use std::future::Future;
use std::num::NonZeroUsize;
use std::sync::Arc;
use std::time::Duration;

use lifecycle_core::event::{LifecycleEvent, MAX_EVENT_BYTES};
use lifecycle_errors::Chain;
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

/// Does one pass for one event.
pub trait Handler: Send + Sync + 'static {
    /// Ends at the latest at `deadline`. The future is dropped, at any await, when the grace of a shutdown is over.
    fn handle(&self, event: LifecycleEvent, deadline: Instant) -> impl Future<Output = Handled> + Send;
}

/// How a pass ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Handled {
    /// It ended, and reported whatever it had to report.
    Done,
    /// The event lacks what the task needs of it, so that no repetition can succeed.
    Malformed {
        /// What it lacks.
        reason: String,
    },
}

/// The limits of a dispatcher.
#[derive(Debug, Clone, Copy)]
pub struct DispatchOptions {
    /// The most passes at a time.
    pub parallelism: NonZeroUsize,
    /// The time that one pass has.
    pub event_deadline: Duration,
    /// The time that running passes have to end once a shutdown has begun.
    pub shutdown_grace: Duration,
}

/// What a shutdown did.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Drained {
    /// Passes that ended within the grace period.
    pub finished: usize,
    /// Events that went back before their turn.
    pub requeued: usize,
    /// Passes that were cancelled when the grace period was over; their events went back.
    pub cancelled: usize,
}

/// Takes events and runs them.
pub struct Dispatcher<H> {
    handler: Arc<H>,
    options: DispatchOptions,
    metrics: Arc<dyn InputMetrics>,
    intake: watch::Receiver<Intake>,
    queue: WorkQueue<Ticket>,
    passes: JoinSet<Handled>,
    running: HashMap<Id, Running>,
}

/// An event that waits or is about to run.
struct Ticket {
    event: LifecycleEvent,
    received_at: Instant,
    settlement: Settlement,
}

/// What must be known of a pass when it ends, however it ends.
struct Running {
    key: Key,
    event_id: String,
    settlement: Settlement,
    started_at: Instant,
}

impl<H: Handler> Dispatcher<H> {
    /// A dispatcher that runs nothing yet, and later what `intake` allows.
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

    /// Runs what arrives until `shutdown`, or until no input is left and everything has ended.
    ///
    /// When it returns, every message that it took is settled.
    pub async fn run(mut self, mut inbox: mpsc::Receiver<Incoming>, shutdown: CancellationToken) -> Drained {
        let mut open = true;
        while open || !self.passes.is_empty() {
            tokio::select! {
                // Shutting down starts nothing new; what ended makes room before more is taken in.
                biased;
                () = shutdown.cancelled() => return self.drain(inbox).await,
                Ok(()) = self.intake.changed() => { self.heed_intake(); }
                Some(ended) = self.passes.join_next_with_id() => { self.ended(ended); }
                incoming = inbox.recv(), if open => match incoming {
                    Some(incoming) => self.take(incoming),
                    None => open = false,
                }
            }
        }
        Drained::default()
    }

    /// Holds, gives back or starts what waits, as the intake is at this moment.
    fn heed_intake(&mut self) -> Intake {
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
        if self.heed_intake() == Intake::Paused {
            return settlement.settle(Disposition::Requeue);
        }
        self.metrics.consumed();
        let event = match message.parse(MAX_EVENT_BYTES) {
            Ok(event) => event,
            Err(error) => {
                let reason = Chain(&error).to_string();
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
                    tracing::debug!(event_id = event.event_id, "a newer event of the resource takes its place");
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
        // A task of its own: a panic in it ends the pass and nothing else. The pass is boxed because its future is large,
        // and a task's future is copied on its way into the runtime and at its end.
        let pass = self.passes.spawn(Box::pin(async move { handler.handle(event, deadline).await }));
        self.running.insert(pass.id(), Running { key, event_id, settlement, started_at });
    }

    /// Settles the event of a pass that ended, and starts what its end makes possible.
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
        // A pass that met an outage has held the intake before it ended.
        self.heed_intake();
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

/// How long ago the event says that it was made; nothing if it does not say, or not in RFC 3339.
fn lag(event: &LifecycleEvent, now: jiff::Timestamp) -> Option<Duration> {
    let made: jiff::Timestamp = event.time.as_deref()?.parse().ok()?;
    // The sender's clock may be ahead of ours.
    Some(Duration::try_from(now.duration_since(made)).unwrap_or_default())
}

fn panic_text(panic: &(dyn Any + Send)) -> &str {
    let text = panic.downcast_ref::<&str>().copied();
    text.or_else(|| panic.downcast_ref::<String>().map(String::as_str)).unwrap_or("a panic without text")
}

#[cfg(test)]
mod tests;
