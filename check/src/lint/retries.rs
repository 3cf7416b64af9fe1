//! Warns of calls whose attempts and delays do not fit into an event's deadline.
//!
//! In: a task, and the deployment file's settings of calls. Out: a warning for each call that sets attempts or
//! times of its own, and one for the first call that has all from the deployment file. Fails: nothing.

use std::time::Duration;

use lifecycle_config::diagnostics::Diagnostics;
use lifecycle_config::document::{Document, Path};

use super::{ACTIONS, Linter, entry};
use lifecycle_core::api_call::{ApiCall, RetryBackoff};
use lifecycle_core::task::{ParamSource, Task};

/// How the deployment file limits a call, and the deadline of the event that makes it.
#[derive(Debug, Clone, Copy)]
pub struct CallLimits {
    /// The time limit of one attempt.
    pub timeout: Duration,
    /// The largest number of attempts.
    pub attempts: u32,
    /// How the delay between attempts grows.
    pub backoff: RetryBackoff,
    /// The delay before the second attempt.
    pub base_delay: Duration,
    /// The upper bound of the delay between attempts.
    pub max_delay: Duration,
    /// The deadline of one event.
    pub deadline: Duration,
}

/// Warns of each call of a task that may take longer than an event's deadline.
#[must_use]
pub fn lint(task: &Task, document: &Document, limits: &CallLimits) -> Diagnostics {
    let mut linter = Linter { task, document, diagnostics: Diagnostics::default() };
    let mut is_default_judged = false;
    for (path, call) in calls(task) {
        let has_own = call.timeout.is_some() || call.retry_attempts.is_some() || call.retry_backoff.is_some();
        if !has_own && std::mem::replace(&mut is_default_judged, true) {
            continue;
        }
        let timeout = call.timeout.unwrap_or(limits.timeout);
        let attempts = call.retry_attempts.unwrap_or(limits.attempts);
        let needed = needed(timeout, attempts, call.retry_backoff.unwrap_or(limits.backoff), limits);
        if needed > limits.deadline {
            let (timeout, deadline) = (seconds(timeout), seconds(limits.deadline));
            let of_file = if has_own { "" } else { ", as the deployment file says," };
            let message = format!(
                "{attempts} attempt(s) of {timeout}{of_file} with the delays between them take longer than the event's \
                 deadline of {deadline}: the last ones are never made"
            );
            let help = "lower `timeout` or `retry_attempts`, or raise `event_deadline` in the deployment file";
            linter.warn(&path, message, help.to_owned());
        }
    }
    linter.diagnostics
}

/// How long a call takes if each attempt ends by its time limit; more than the deadline is not counted further.
fn needed(timeout: Duration, attempts: u32, backoff: RetryBackoff, limits: &CallLimits) -> Duration {
    let mut total = timeout;
    for failed in 1..attempts {
        if total > limits.deadline {
            break;
        }
        let factor = match backoff {
            RetryBackoff::Exponential => 2_u32.saturating_pow(failed - 1),
            RetryBackoff::Linear => failed,
            RetryBackoff::Constant => 1,
        };
        let delay = limits.base_delay.saturating_mul(factor).min(limits.max_delay);
        // Without time and delay, an attempt still takes a moment: the loop has to end.
        total = total.saturating_add(delay).saturating_add(timeout).saturating_add(Duration::from_millis(1));
    }
    total
}

fn seconds(duration: Duration) -> String {
    format!("{}s", duration.as_secs_f64())
}

fn calls(task: &Task) -> Vec<(Path, &ApiCall)> {
    let params = task.params.iter().enumerate().filter_map(|(index, param)| match &param.source {
        ParamSource::ApiCall(call) => Some((entry(&["params"], index).key("source").key("api_call"), call)),
        ParamSource::Environment(_)
        | ParamSource::Event(_)
        | ParamSource::Config(_)
        | ParamSource::Path(_)
        | ParamSource::Expression(_)
        | ParamSource::File { .. } => None,
    });
    let preconditions = task.preconditions.iter().enumerate();
    let preconditions = preconditions.filter_map(|(index, precondition)| {
        Some((entry(&["preconditions"], index).key("api_call"), precondition.api_call.as_ref()?))
    });
    let actions = task.actions.iter().enumerate();
    let actions =
        actions.filter_map(|(index, action)| Some((entry(&ACTIONS, index).key("api_call"), action.api_call.as_ref()?)));
    params.chain(preconditions).chain(actions).collect()
}
