//! A limit on requests per second, with a burst.
//!
//! In: a rate and a burst. Out: a wait of the length that keeps them. Nothing can fail.

use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use tokio::time::Instant;

/// Lets `burst` requests pass at once, and then one every `1 / per_second`, in the order in which they ask.
#[derive(Debug)]
pub(crate) struct RateLimit {
    interval: Duration,
    /// How far the schedule may lie behind the clock: what an idle time earns.
    credit: Duration,
    next: Mutex<Option<Instant>>,
}

impl RateLimit {
    /// Returns none for a rate that is not a positive number, or is beyond measure: no limit.
    pub(crate) fn new(per_second: f64, burst: u32) -> Option<Self> {
        let interval = Duration::try_from_secs_f64(per_second.recip()).ok().filter(|interval| !interval.is_zero())?;
        let credit = interval.saturating_mul(burst.saturating_sub(1));
        Some(Self { interval, credit, next: Mutex::new(None) })
    }

    /// Waits for its turn. A turn that is given up while it waits is lost, not passed on.
    pub(crate) async fn turn(&self) {
        let at = self.reserve(Instant::now());
        tokio::time::sleep_until(at).await;
    }

    fn reserve(&self, now: Instant) -> Instant {
        let mut next = self.next.lock().unwrap_or_else(PoisonError::into_inner);
        let earliest = now.checked_sub(self.credit).unwrap_or(now);
        let at = next.map_or(earliest, |planned| planned.max(earliest));
        *next = Some(at + self.interval);
        at.max(now)
    }
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "tests")]

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_burst_passes_and_the_rest_is_spread() {
        let limit = RateLimit::new(10.0, 3).unwrap();
        let start = Instant::now();
        let mut waited = Vec::new();
        for _ in 0..6 {
            limit.turn().await;
            waited.push(start.elapsed().as_millis());
        }
        assert_eq!(waited, [0, 0, 0, 100, 200, 300]);

        tokio::time::advance(Duration::from_secs(60)).await;
        let start = Instant::now();
        for _ in 0..4 {
            limit.turn().await;
        }
        assert_eq!(start.elapsed().as_millis(), 100, "idle time earns one burst, not more");
    }

    #[test]
    fn no_rate_is_no_limit() {
        for rate in [0.0, -1.0, f64::NAN, f64::INFINITY] {
            assert!(RateLimit::new(rate, 5).is_none(), "{rate}");
        }
    }
}
