//! Guards that decrement a gauge when they are dropped.

use std::time::Instant;

use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::Histogram;

use super::WriteResult;

/// Counts a running pass until it is dropped.
#[derive(Debug)]
pub struct InFlight(Gauge);

impl InFlight {
    pub(super) fn new(gauge: Gauge) -> Self {
        gauge.inc();
        Self(gauge)
    }
}

impl Drop for InFlight {
    fn drop(&mut self) {
        self.0.dec();
    }
}

/// Counts a running deletion until it is finished or dropped.
#[derive(Debug)]
pub struct DeletionInProgress {
    _running: InFlight,
    duration: Histogram,
    /// Indexed by the order of [`WriteResult::ALL`].
    results: [Counter; WriteResult::ALL.len()],
    since: Instant,
}

impl DeletionInProgress {
    pub(super) fn new(running: Gauge, duration: Histogram, results: [Counter; WriteResult::ALL.len()]) -> Self {
        Self { _running: InFlight::new(running), duration, results, since: Instant::now() }
    }

    /// Counts and times the deletion. Deleting an object that is gone already counts as a success.
    pub fn finish(self, result: WriteResult) {
        self.duration.observe(self.since.elapsed().as_secs_f64());
        for (known, counter) in WriteResult::ALL.iter().zip(&self.results) {
            if *known == result {
                counter.inc();
            }
        }
    }
}
