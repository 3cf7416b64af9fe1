//! Counts the dispatcher's messages in the adapter's metrics.

use std::sync::Arc;
use std::time::Duration;

use crate::dispatch::{InputMetrics, Invalid};
use crate::metrics::{BrokerError, InvalidEvent, Metrics};

/// Counts the messages of one topic.
#[derive(Debug)]
pub struct CountedInput {
    metrics: Arc<Metrics>,
    topic: String,
}

impl CountedInput {
    /// Counts messages of `topic` in `metrics`.
    #[must_use]
    pub fn new(metrics: Arc<Metrics>, topic: String) -> Self {
        Self { metrics, topic }
    }
}

impl InputMetrics for CountedInput {
    fn consumed(&self) {
        self.metrics.message_consumed(&self.topic);
    }

    fn invalid(&self, by: Invalid) {
        match by {
            Invalid::Event => {
                self.metrics.event_invalid(InvalidEvent::Unreadable);
                self.metrics.broker_error(&self.topic, BrokerError::Conversion);
            }
            Invalid::Task => {
                self.metrics.event_invalid(InvalidEvent::Params);
                self.metrics.broker_error(&self.topic, BrokerError::Handler);
            }
        }
    }

    fn coalesced(&self) {
        self.metrics.event_coalesced();
    }

    fn panicked(&self) {
        self.metrics.broker_error(&self.topic, BrokerError::Handler);
    }

    fn lag(&self, lag: Duration) {
        self.metrics.event_lag(lag);
    }

    fn started(&self, _waited: Duration) {}

    fn in_flight(&self, _running: usize, waiting: usize) {
        self.metrics.events_waiting(waiting);
    }

    fn handled(&self, elapsed: Duration) {
        self.metrics.message_handled(&self.topic, elapsed);
    }
}
