//! Asks again and again until something works, has failed, or was asked often enough.
//!
//! In: a probe, the time between two probes, and how many there are at most. Out: what the last probe found. Fails: when the probes are
//! used up, when one finds a failure that stays, and on a signal. The first probe comes at once, and nothing waits after the last.

use std::future::Future;
use std::time::Duration;

use tokio_util::sync::CancellationToken;

/// What a probe found.
#[derive(Debug)]
pub enum Probe<R, E> {
    /// It works.
    Ready(R),
    /// Not yet, or the probe itself failed in a way that passes.
    Pending,
    /// It has failed, and will not work by itself.
    Failed(E),
}

/// Why a poll ended without success.
#[derive(Debug, PartialEq, Eq)]
pub enum Unready<E> {
    /// A probe found a failure that stays.
    Failed(E),
    /// The probes are used up.
    Exhausted,
    /// A signal came.
    Interrupted,
}

/// Probes until the end.
///
/// # Errors
/// [`Unready`].
pub async fn poll<R, E, F: Future<Output = Probe<R, E>>>(
    every: Duration,
    probes: u32,
    stop: &CancellationToken,
    mut probe: impl FnMut() -> F,
) -> Result<R, Unready<E>> {
    for turn in 0..probes {
        if turn > 0 {
            tokio::select! {
                biased;
                () = stop.cancelled() => return Err(Unready::Interrupted),
                () = tokio::time::sleep(every) => {}
            }
        }
        match probe().await {
            Probe::Ready(found) => return Ok(found),
            Probe::Failed(error) => return Err(Unready::Failed(error)),
            Probe::Pending => {}
        }
    }
    Err(Unready::Exhausted)
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "tests")]
mod tests {
    use std::future::ready;

    use super::*;

    const EVERY: Duration = Duration::from_secs(2);

    /// Probes a thing that works at the probe of this number; says how long that took, and how it ended.
    async fn poll_until(works_at: u32, fails_at: u32) -> (u32, Duration, Result<&'static str, Unready<&'static str>>) {
        let (mut asked, began) = (0, tokio::time::Instant::now());
        let end = poll(EVERY, 30, &CancellationToken::new(), || {
            asked += 1;
            ready(match asked {
                turn if turn == works_at => Probe::Ready("ready"),
                turn if turn == fails_at => Probe::Failed("failed"),
                _ => Probe::Pending,
            })
        })
        .await;
        (asked, began.elapsed(), end)
    }

    #[tokio::test(start_paused = true)]
    async fn probes_are_as_many_and_as_far_apart_as_asked() {
        for (name, works_at, fails_at, expected) in [
            ("at once", 1, 0, (1, 0, Ok("ready"))),
            ("at the last probe", 30, 0, (30, 58, Ok("ready"))),
            ("never: nothing waits after the last", 31, 0, (30, 58, Err(Unready::Exhausted))),
            ("failed for good", 0, 3, (3, 4, Err(Unready::Failed("failed")))),
        ] {
            let (asked, took, end) = poll_until(works_at, fails_at).await;
            assert_eq!((asked, took.as_secs(), end), expected, "{name}");
        }
    }

    #[tokio::test(start_paused = true)]
    async fn signal_ends_the_wait() {
        let stop = CancellationToken::new();
        let end = poll(Duration::from_secs(3600), 30, &stop, || {
            stop.cancel();
            ready(Probe::<(), ()>::Pending)
        });
        let end = tokio::time::timeout(Duration::from_secs(1), end).await.unwrap();
        assert_eq!(end, Err(Unready::Interrupted));
    }
}
