//! What an observer is told about the events.

use std::time::Duration;

/// Observes what becomes of events. Each method returns at once.
pub trait InputMetrics: Send + Sync + 'static {
    /// A message arrived; redeliveries count again.
    fn consumed(&self);
    /// A message was dead-lettered.
    fn invalid(&self, by: Invalid);
    /// An event was acknowledged unprocessed, as a newer one of its resource takes its place.
    fn coalesced(&self);
    /// A handler panicked.
    fn panicked(&self);
    /// An event arrived this long after it was made, as far as it says when.
    fn lag(&self, lag: Duration);
    /// An event is about to run, so long after it arrived here.
    fn started(&self, waited: Duration);
    /// So many events run and so many wait from now on.
    fn in_flight(&self, running: usize, waiting: usize);
    /// A handler ran for this long, however it ended.
    fn handled(&self, elapsed: Duration);
}

/// What found an event to be of no use.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Invalid {
    /// It is no CloudEvent, or its data cannot be read.
    Event,
    /// It lacks what the task needs.
    Task,
}

/// Observes nothing.
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
