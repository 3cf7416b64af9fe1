//! Computes quantiles of the durations that the benchmark measured.

use std::fmt;
use std::time::Duration;

/// The durations of repetitions of one operation.
#[derive(Debug, Clone, Default)]
pub(crate) struct Timing(Vec<Duration>);

impl Timing {
    pub(crate) fn add(&mut self, took: Duration) {
        self.0.push(took);
    }

    /// Returns a quantile in milliseconds.
    pub(crate) fn quantile(&self, part: f64) -> f64 {
        let mut sorted = self.0.clone();
        sorted.sort_unstable();
        let place = ((sorted.len() as f64 * part).ceil() as usize).clamp(1, sorted.len()) - 1;
        sorted[place].as_secs_f64() * 1e3
    }

    pub(crate) fn p99(&self) -> f64 {
        self.quantile(0.99)
    }
}

impl fmt::Display for Timing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:.2} ms | {:.2} ms | {:.2} ms", self.quantile(0.5), self.p99(), self.quantile(1.0))
    }
}
