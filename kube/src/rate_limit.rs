//! Limits the rate of requests, with a burst (token bucket).
//!
//! In: requests per second and a burst. Out: a wait before each request. Fails: never.

use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use tokio::time::Instant;

/// Lets `burst` requests pass at once, and then one every `1 / per_second` seconds, in the order of their arrival.
#[derive(Debug)]
pub struct RateLimit {
    interval: Duration,
    /// How far the time of the next permit may lie in the past. Bounds the burst after an idle time.
    credit: Duration,
    next: Mutex<Option<Instant>>,
}

impl RateLimit {
    /// Returns `None`, which is no limit, if the rate is not a positive, finite number.
    #[must_use]
    pub fn new(per_second: f64, burst: u32) -> Option<Self> {
        let interval = Duration::try_from_secs_f64(per_second.recip()).ok().filter(|interval| !interval.is_zero())?;
        let credit = interval.saturating_mul(burst.saturating_sub(1));
        Some(Self { interval, credit, next: Mutex::new(None) })
    }

    /// Waits for a permit. If the caller is cancelled while it waits, the permit is lost.
    pub async fn acquire(&self) {
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
    async fn burst_passes_at_once_and_the_rest_at_the_rate() {
        let limit = RateLimit::new(10.0, 3).unwrap();
        let start = Instant::now();
        let mut waited = Vec::new();
        for _ in 0..6 {
            limit.acquire().await;
            waited.push(start.elapsed().as_millis());
        }
        assert_eq!(waited, [0, 0, 0, 100, 200, 300]);

        tokio::time::advance(Duration::from_secs(60)).await;
        let start = Instant::now();
        for _ in 0..4 {
            limit.acquire().await;
        }
        assert_eq!(start.elapsed().as_millis(), 100, "an idle time allows one burst, not more");
    }

    #[test]
    fn rate_that_is_not_positive_and_finite_is_no_limit() {
        for rate in [0.0, -1.0, f64::NAN, f64::INFINITY] {
            assert!(RateLimit::new(rate, 5).is_none(), "{rate}");
        }
    }
}
