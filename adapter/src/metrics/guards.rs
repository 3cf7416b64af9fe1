//! Gauges that come back down by themselves.

use std::time::Instant;

use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::Histogram;

use super::WriteResult;

/// A pass that is running, until it is dropped.
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

/// A deletion that is running, until it is finished or given up by dropping.
#[derive(Debug)]
pub struct DeletionInProgress {
    _running: InFlight,
    duration: Histogram,
    /// By the order of [`WriteResult::ALL`].
    results: [Counter; WriteResult::ALL.len()],
    since: Instant,
}

impl DeletionInProgress {
    pub(super) fn new(running: Gauge, duration: Histogram, results: [Counter; WriteResult::ALL.len()]) -> Self {
        Self { _running: InFlight::new(running), duration, results, since: Instant::now() }
    }

    /// Counts and times the deletion. An object that was already gone is a success.
    pub fn finish(self, result: WriteResult) {
        self.duration.observe(self.since.elapsed().as_secs_f64());
        for (known, counter) in WriteResult::ALL.iter().zip(&self.results) {
            if *known == result {
                counter.inc();
            }
        }
    }
}
