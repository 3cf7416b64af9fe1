//! The delays between attempts to reconnect.
//!
//! The random number is an argument, so that tests can check the schedule.

use std::time::Duration;

const FIRST: Duration = Duration::from_millis(500);
const GROWTH: f64 = 1.5;
const CAP: Duration = Duration::from_secs(60);
/// Each delay varies by up to this share, so that replicas that lost the same broker do not all return at the
/// same moment.
const JITTER: f64 = 0.5;

/// A schedule of growing delays, without an end.
#[derive(Debug)]
pub(crate) struct Backoff {
    next: Duration,
    cap: Duration,
}

impl Backoff {
    pub(crate) fn new() -> Self {
        Self::up_to(CAP)
    }

    /// A schedule whose delays grow to about `cap`.
    pub(crate) fn up_to(cap: Duration) -> Self {
        Self { next: FIRST, cap }
    }

    /// Returns the next delay. `random` is uniform in `0.0..1.0`.
    pub(crate) fn delay(&mut self, random: f64) -> Duration {
        let delay = self.next;
        self.next = delay.mul_f64(GROWTH).min(self.cap);
        delay.mul_f64(1.0 - JITTER + 2.0 * JITTER * random)
    }

    /// Starts over if the connection `lasted` long enough: a broker that accepts and drops connections at once
    /// must still see growing delays.
    pub(crate) fn connected_for(&mut self, lasted: Duration) {
        if lasted > self.next {
            self.next = FIRST;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn delays(random: f64, count: usize) -> Vec<f64> {
        let mut backoff = Backoff::new();
        (0..count).map(|_| backoff.delay(random).as_secs_f64()).collect()
    }

    #[test]
    fn backoff_grows_by_half_up_to_the_cap() {
        assert_eq!(delays(0.5, 4), [0.5, 0.75, 1.125, 1.6875]);
        assert_eq!(delays(0.5, 40).last(), Some(&60.0));
    }

    #[test]
    fn backoff_jitter_is_half_of_the_delay_either_way() {
        assert_eq!(delays(0.0, 2), [0.25, 0.375]);
        assert_eq!(delays(1.0, 2), [0.75, 1.125]);
    }

    #[test]
    fn only_a_lasting_connection_resets_the_backoff() {
        let mut backoff = Backoff::new();
        backoff.delay(0.5);
        backoff.delay(0.5);
        backoff.connected_for(Duration::from_secs(1));
        assert_eq!(backoff.delay(0.5), Duration::from_secs_f64(1.125), "a flicker changes nothing");
        backoff.connected_for(Duration::from_secs(2));
        assert_eq!(backoff.delay(0.5), FIRST, "a lasting one does");
    }
}
