//! Waits for a condition instead of for a fixed time.

use std::time::Duration;

use anyhow::bail;
use tokio::time::{Instant, MissedTickBehavior, interval, timeout_at};

/// How long a test waits for an effect that a healthy server has within a second or two.
///
/// Long, because a loaded machine is slow, and only a failing test waits this long.
pub const PATIENCE: Duration = Duration::from_secs(60);

const PERIOD: Duration = Duration::from_millis(50);

/// Calls `probe` repeatedly until it returns `Ok`, at most until `limit`.
///
/// The probe's error describes what it found instead; the error of a time-out contains the last one. `what`
/// completes the sentence "timed out waiting for …".
pub async fn await_condition<T>(
    what: &str,
    limit: Duration,
    mut probe: impl AsyncFnMut() -> anyhow::Result<T>,
) -> anyhow::Result<T> {
    let deadline = Instant::now() + limit;
    let mut ticks = interval(PERIOD);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let mut last = None;
    loop {
        ticks.tick().await;
        match timeout_at(deadline, probe()).await {
            Ok(Ok(value)) => return Ok(value),
            Ok(Err(error)) => last = Some(format!("{error:#}")),
            Err(_) => {
                let before = last.map(|last| format!("; before it: {last}")).unwrap_or_default();
                last = Some(format!("the last probe did not end in time{before}"));
            }
        }
        if Instant::now() >= deadline {
            let seen = last.unwrap_or_default();
            bail!("timed out waiting for {what} after {} s; last seen: {seen}", limit.as_secs_f32());
        }
    }
}

#[cfg(test)]
mod tests {
    use std::future::pending;

    use anyhow::{anyhow, ensure};

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn await_condition_returns_the_first_success() -> anyhow::Result<()> {
        let mut looks = 0;
        let seen = await_condition("the third look", PATIENCE, async || {
            looks += 1;
            ensure!(looks >= 3, "look {looks}");
            Ok(looks)
        })
        .await?;
        assert_eq!(seen, 3);
        Ok(())
    }

    #[tokio::test(start_paused = true)]
    async fn timeout_names_the_condition_and_the_last_error() {
        let limit = Duration::from_secs(2);
        let error = await_condition::<()>("the pod to run", limit, async || Err(anyhow!("phase is Pending"))).await;
        let error = error.map_or_else(|error| error.to_string(), |()| "no error".to_owned());
        assert_eq!(error, "timed out waiting for the pod to run after 2 s; last seen: phase is Pending");
    }

    #[tokio::test(start_paused = true)]
    async fn hanging_probe_is_cancelled_at_the_limit() {
        let started = Instant::now();
        let mut looks = 0;
        let result = await_condition::<()>("an answer", Duration::from_secs(5), async || {
            looks += 1;
            if looks > 1 { pending().await } else { Err(anyhow!("refused")) }
        });
        let error = result.await.map_or_else(|error| error.to_string(), |()| "no error".to_owned());
        assert!(error.ends_with("last seen: the last probe did not end in time; before it: refused"), "{error}");
        assert_eq!(started.elapsed(), Duration::from_secs(5));
    }
}
