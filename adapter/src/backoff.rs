//! How long to wait before the next attempt to reach something that is away.
//!
//! The randomness is an argument, so that the schedule can be tested.

use std::time::Duration;

const FIRST: Duration = Duration::from_millis(500);
const GROWTH: f64 = 1.5;
const CAP: Duration = Duration::from_secs(60);
/// Each delay is off by up to this part of itself, so that replicas that lost one broker do not return as one.
const JITTER: f64 = 0.5;

/// A schedule of growing delays without an end.
#[derive(Debug)]
pub(crate) struct Backoff {
    next: Duration,
    cap: Duration,
}

impl Backoff {
    pub(crate) fn new() -> Self {
        Self::up_to(CAP)
    }

    /// With delays around `cap` in the end.
    pub(crate) fn up_to(cap: Duration) -> Self {
        Self { next: FIRST, cap }
    }

    /// The next delay. `random` is uniform in `0.0..1.0`.
    pub(crate) fn delay(&mut self, random: f64) -> Duration {
        let delay = self.next;
        self.next = delay.mul_f64(GROWTH).min(self.cap);
        delay.mul_f64(1.0 - JITTER + 2.0 * JITTER * random)
    }

    /// Starts over if what was connected for `lasted` was more than a flicker: a broker that accepts and
    /// at once refuses must not be asked twice a second for ever.
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
    fn grows_by_half_and_stays_at_the_cap() {
        assert_eq!(delays(0.5, 4), [0.5, 0.75, 1.125, 1.6875]);
        assert_eq!(delays(0.5, 40).last(), Some(&60.0));
    }

    #[test]
    fn jitter_reaches_half_of_the_delay_either_way() {
        assert_eq!(delays(0.0, 2), [0.25, 0.375]);
        assert_eq!(delays(1.0, 2), [0.75, 1.125]);
    }

    #[test]
    fn only_a_lasting_connection_starts_over() {
        let mut backoff = Backoff::new();
        backoff.delay(0.5);
        backoff.delay(0.5);
        backoff.connected_for(Duration::from_secs(1));
        assert_eq!(backoff.delay(0.5), Duration::from_secs_f64(1.125), "a flicker changes nothing");
        backoff.connected_for(Duration::from_secs(2));
        assert_eq!(backoff.delay(0.5), FIRST, "a lasting one does");
    }
}
