//! The trait through which the dispatcher reports what it does with events.

use std::time::Duration;

/// Counts and times events. Each method returns at once.
pub trait InputMetrics: Send + Sync + 'static {
    /// A message arrived; each redelivery counts again.
    fn consumed(&self);
    /// A message was dead-lettered, because `by` refused it.
    fn invalid(&self, by: Invalid);
    /// An event was acknowledged without a pass, because a newer event of its resource replaced it.
    fn coalesced(&self);
    /// A pass panicked in the handler; the dispatcher goes on.
    fn panicked(&self);
    /// An event with a `time` arrived; `lag` is the time since then.
    fn lag(&self, lag: Duration);
    /// A pass starts; its event `waited` this long in the work queue.
    fn started(&self, waited: Duration);
    /// The number of running passes or of waiting events changed.
    fn in_flight(&self, running: usize, waiting: usize);
    /// A pass ended, for whatever reason, after `elapsed`.
    fn handled(&self, elapsed: Duration);
}

/// The stage that refused an event.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Invalid {
    /// The parser: the message is not a CloudEvent, or its data is not readable.
    Event,
    /// The handler: the event lacks a value that the task needs.
    Task,
}

/// An implementation that ignores every call.
#[derive(Debug, Clone, Copy, Default)]
pub struct NoMetrics;

impl InputMetrics for NoMetrics {
    fn consumed(&self) {}
    fn invalid(&self, _: Invalid) {}
    fn coalesced(&self) {}
    fn panicked(&self) {}
    fn lag(&self, _: Duration) {}
    fn started(&self, _: Duration) {}
    fn in_flight(&self, _: usize, _: usize) {}
    fn handled(&self, _: Duration) {}
}
