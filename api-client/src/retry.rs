//! Decides when a call is tried again, and after which delay.
//!
//! In: a policy, a deadline, and a function that makes one attempt. Out: the last attempt's outcome, and the
//! number of attempts. Every method is retried, POST included, because the API's writes are idempotent. The
//! delays run on Tokio's clock, and the random numbers are an argument, so that tests control both.

use std::future::Future;
use std::time::Duration;

use http::StatusCode;
use jiff::Timestamp;
use jiff::fmt::rfc2822::DateTimeParser;
use tokio::time::{Instant, sleep};

/// How the delay between attempts grows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum DelayGrowth {
    /// The delay doubles with each attempt: `base`, `2·base`, `4·base`, …
    #[default]
    Exponential,
    /// The delay grows by `base` with each attempt: `base`, `2·base`, `3·base`, …
    Linear,
    /// The delay stays the same: `base`, `base`, …
    Constant,
}

/// Each delay varies randomly by this fraction, so that clients that failed together do not retry together.
const JITTER: f64 = 0.1;

/// The number of attempts, and the delays between them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RetryPolicy {
    /// The number of attempts, the first included; zero counts as one.
    pub attempts: u32,
    /// How the delay grows with each attempt.
    pub backoff: DelayGrowth,
    /// The delay between the first and the second attempt of a call to the HyperFleet API.
    pub base_delay: Duration,
    /// The upper limit of a delay. The server may request a longer one, up to the call's deadline; this limit
    /// bounds it in a call without a deadline.
    pub max_delay: Duration,
}

impl Default for RetryPolicy {
    fn default() -> Self {
        Self {
            attempts: 3,
            backoff: DelayGrowth::Exponential,
            base_delay: Duration::from_secs(1),
            max_delay: Duration::from_secs(30),
        }
    }
}

impl RetryPolicy {
    /// Computes the delay after the n-th failed attempt, with a `jitter` from -1 to 1.
    #[must_use]
    pub fn delay(&self, failed: u32, jitter: f64) -> Duration {
        let failed = failed.max(1);
        let factor = match self.backoff {
            DelayGrowth::Exponential => 2_u32.saturating_pow(failed - 1),
            DelayGrowth::Linear => failed,
            DelayGrowth::Constant => 1,
        };
        let grown = self.base_delay.saturating_mul(factor).min(self.max_delay.saturating_mul(2));
        grown.mul_f64(1.0 + JITTER * jitter.clamp(-1.0, 1.0)).min(self.max_delay)
    }
}

/// Whether and when to make another attempt.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Next {
    /// No other attempt: it would end the same way.
    Final,
    /// Another attempt without a delay, once per call: the token file has a new token since the server
    /// refused the old one.
    AtOnce,
    /// Another attempt after the policy's delay, or after the server's if that is longer.
    Later(Option<Duration>),
}

/// The outcome of one attempt.
pub(crate) trait Outcome {
    /// Whether another attempt may succeed, and when to make it.
    fn next(&self) -> Next;

    /// The reason for another attempt, for the log.
    fn reason(&self) -> String;
}

impl Next {
    /// Decides by a complete answer.
    pub(crate) fn after_answer(status: StatusCode, retry_after: Option<Duration>, stale_credential: bool) -> Self {
        match (stale_credential, is_retryable_status(status)) {
            (true, _) => Self::AtOnce,
            (false, true) => Self::Later(retry_after),
            (false, false) => Self::Final,
        }
    }

    /// Decides by an attempt without a complete answer.
    pub(crate) fn after_failure(is_retryable: bool) -> Self {
        if is_retryable { Self::Later(None) } else { Self::Final }
    }
}

/// Whether a request that got this status may succeed in another attempt.
#[must_use]
pub fn is_retryable_status(status: StatusCode) -> bool {
    status.is_server_error() || matches!(status, StatusCode::REQUEST_TIMEOUT | StatusCode::TOO_MANY_REQUESTS)
}

/// Repeats attempts until one is final, the policy allows no more, or the next one would begin after the
/// deadline. Returns the last outcome and the number of attempts.
pub(crate) async fn run<T, F, Fut>(
    policy: RetryPolicy,
    deadline: Option<Instant>,
    mut jitter: impl FnMut() -> f64,
    mut attempt: F,
) -> (T, u32)
where
    T: Outcome,
    F: FnMut(u32) -> Fut,
    Fut: Future<Output = T>,
{
    let mut allowed = policy.attempts.max(1);
    let mut renewed = false;
    let mut made = 0;
    loop {
        made += 1;
        let outcome = attempt(made).await;
        let server_delay = match outcome.next() {
            Next::AtOnce if !renewed => {
                renewed = true;
                allowed += 1;
                continue;
            }
            Next::AtOnce | Next::Final => return (outcome, made),
            Next::Later(server_delay) => server_delay.unwrap_or_default(),
        };
        let left = deadline.map(|deadline| deadline.saturating_duration_since(Instant::now()));
        let server_delay = if left.is_some() { server_delay } else { server_delay.min(policy.max_delay) };
        let delay = policy.delay(made, jitter()).max(server_delay);
        if made >= allowed || left.is_some_and(|left| delay >= left) {
            return (outcome, made);
        }
        tracing::warn!(
            attempt = made,
            delay_ms = delay.as_millis() as u64,
            error = outcome.reason(),
            "API call will be tried again"
        );
        sleep(delay).await;
    }
}

/// Parses `Retry-After`: seconds, or an HTTP date, from which `now` is subtracted.
pub(crate) fn retry_after(value: &str, now: Timestamp) -> Option<Duration> {
    let value = value.trim();
    if !value.is_empty() && value.bytes().all(|byte| byte.is_ascii_digit()) {
        return Some(Duration::from_secs(value.parse().unwrap_or(u64::MAX)));
    }
    let date = DateTimeParser::new().parse_timestamp(value).ok()?;
    Some(Duration::try_from(date.duration_since(now)).unwrap_or_default())
}

#[cfg(test)]
mod tests {
    #![expect(clippy::expect_used, reason = "tests")]

    use std::cell::RefCell;

    use proptest::prelude::*;

    use super::*;

    const POLICY: RetryPolicy = RetryPolicy {
        attempts: 4,
        backoff: DelayGrowth::Exponential,
        base_delay: Duration::from_secs(1),
        max_delay: Duration::from_secs(5),
    };

    #[test]
    fn delay_grows_by_the_policy_up_to_its_limit() {
        let cases = [
            ("exponential", DelayGrowth::Exponential, [1, 2, 4, 5, 5]),
            ("linear", DelayGrowth::Linear, [1, 2, 3, 4, 5]),
            ("constant", DelayGrowth::Constant, [1, 1, 1, 1, 1]),
        ];
        for (name, backoff, seconds) in cases {
            let policy = RetryPolicy { backoff, ..POLICY };
            let delays = [1, 2, 3, 4, 5].map(|failed| policy.delay(failed, 0.0).as_secs());
            assert_eq!(delays, seconds, "{name}");
        }
        let edges = [-1.0, 1.0].map(|jitter| POLICY.delay(1, jitter).as_millis());
        assert_eq!(edges, [900, 1100], "a tenth either way");
        assert_eq!(POLICY.delay(4, -1.0), POLICY.max_delay, "the cap comes after the jitter");
    }

    proptest! {
        #[test]
        fn delay_never_exceeds_its_limit(failed in any::<u32>(), jitter in any::<f64>(), base in 0_u64..1 << 40) {
            let policy = RetryPolicy { base_delay: Duration::from_millis(base), ..POLICY };
            prop_assert!(policy.delay(failed, jitter) <= policy.max_delay);
        }
    }

    /// The scripted outcome of an attempt.
    #[derive(Debug, Clone, PartialEq)]
    enum Scripted {
        Answered { status: u16, retry_after: Option<Duration>, stale_credential: bool },
        Failed { retryable: bool },
    }

    impl Outcome for Scripted {
        fn next(&self) -> Next {
            match *self {
                Self::Answered { status, retry_after, stale_credential } => {
                    let status = StatusCode::from_u16(status).expect("a status");
                    Next::after_answer(status, retry_after, stale_credential)
                }
                Self::Failed { retryable } => Next::after_failure(retryable),
            }
        }

        fn reason(&self) -> String {
            String::new()
        }
    }

    fn answered(status: u16) -> Scripted {
        Scripted::Answered { status, retry_after: None, stale_credential: false }
    }

    fn busy(seconds: u64) -> Scripted {
        let retry_after = Some(Duration::from_secs(seconds));
        Scripted::Answered { status: 429, retry_after, stale_credential: false }
    }

    fn stale() -> Scripted {
        Scripted::Answered { status: 401, retry_after: None, stale_credential: true }
    }

    fn failed(retryable: bool) -> Scripted {
        Scripted::Failed { retryable }
    }

    /// Runs a script of outcomes; returns the seconds at which attempts began, and the last outcome.
    async fn play(script: Vec<Scripted>, attempts: u32, deadline: Option<u64>) -> (Vec<u64>, Scripted) {
        let start = Instant::now();
        let times = RefCell::new(Vec::new());
        let deadline = deadline.map(|seconds| start + Duration::from_secs(seconds));
        let (last, made) = run(
            RetryPolicy { attempts, ..POLICY },
            deadline,
            || 0.0,
            |number| {
                times.borrow_mut().push(start.elapsed().as_secs());
                let outcome = script[number as usize - 1].clone();
                async move { outcome }
            },
        )
        .await;
        let times = times.into_inner();
        assert_eq!(made as usize, times.len());
        (times, last)
    }

    #[tokio::test(start_paused = true)]
    async fn attempts_are_repeated_only_while_they_may_succeed() {
        let ok = || answered(200);
        let cases = [
            ("success", vec![ok()], 3, None, vec![0], ok()),
            ("a refusal is final", vec![answered(409)], 3, None, vec![0], answered(409)),
            ("a missing resource is final", vec![answered(404)], 3, None, vec![0], answered(404)),
            ("a request that cannot be made is final", vec![failed(false)], 3, None, vec![0], failed(false)),
            ("a broken connection", vec![failed(true), ok()], 3, None, vec![0, 1], ok()),
            ("a failing server", vec![answered(500), answered(503), ok()], 3, None, vec![0, 1, 3], ok()),
            (
                "a time-out and too many requests",
                vec![answered(408), answered(429), ok()],
                3,
                None,
                vec![0, 1, 3],
                ok(),
            ),
            ("the policy is used up", vec![answered(500); 4], 3, None, vec![0, 1, 3], answered(500)),
            ("one attempt only", vec![answered(500); 4], 1, None, vec![0], answered(500)),
            ("none counts as one", vec![answered(500); 4], 0, None, vec![0], answered(500)),
            ("the server asks for a longer wait", vec![busy(4), ok()], 3, None, vec![0, 4], ok()),
            ("the server asks for a shorter wait", vec![busy(0), ok()], 3, None, vec![0, 1], ok()),
            ("the server asks for more than the cap", vec![busy(3600), ok()], 3, None, vec![0, 5], ok()),
            ("more than the cap, before the deadline", vec![busy(60), ok()], 3, Some(61), vec![0, 60], ok()),
            ("more than a clock holds", vec![busy(u64::MAX), ok()], 3, Some(61), vec![0], busy(u64::MAX)),
            ("the deadline comes before the wait ends", vec![answered(500); 4], 4, Some(3), vec![0, 1], answered(500)),
            ("the server's wait is beyond the deadline", vec![busy(5), ok()], 3, Some(4), vec![0], busy(5)),
            ("a renewed token is tried at once", vec![stale(), ok()], 1, None, vec![0, 0], ok()),
            ("but only once", vec![stale(), stale(), ok()], 3, None, vec![0, 0], stale()),
        ];
        for (name, script, attempts, deadline, times, last) in cases {
            assert_eq!(play(script, attempts, deadline).await, (times, last), "{name}");
        }
    }

    #[test]
    fn retry_after_is_parsed_as_seconds_or_date() {
        let now: Timestamp = "2026-03-01T12:00:00Z".parse().expect("a time");
        let cases = [
            ("seconds", "120", Some(120)),
            ("no wait", "0", Some(0)),
            ("a date to come", "Sun, 01 Mar 2026 12:01:30 GMT", Some(90)),
            ("a date that has passed", "Sun, 01 Mar 2026 11:00:00 GMT", Some(0)),
            ("more digits than a number holds", "99999999999999999999999", Some(u64::MAX)),
            ("negative", "-1", None),
            ("words", "soon", None),
            ("nothing", "", None),
        ];
        for (name, value, seconds) in cases {
            assert_eq!(retry_after(value, now), seconds.map(Duration::from_secs), "{name}");
        }
    }
}
