//! Executes many commands, and makes many inspections, at the same time.
//!
//! In: what a bundle asks for at once, and the event's deadline. Out: the answers, in the same order. Nothing waits for
//! anything else: the bundle has put what belongs one after the other into different batches.

use futures::{StreamExt as _, stream};
use lifecycle_bundle::guard::Members;
use lifecycle_objects::identity::Identity;
use lifecycle_objects::inspection::Inspection;
use lifecycle_objects::write::{Command, Executed, WriteError};
use tokio::time::Instant;

use super::{CONCURRENT_WRITES, deadline_exceeded, execute};
use crate::Transport;

/// How many inspections run at the same time. Each sends up to 16 lists at once, so that more would crowd out other events
/// in the API server's fair queuing.
const CONCURRENT_INSPECTIONS: usize = 4;

/// Executes each command once as [`execute`], and returns the results in the order of the commands, by `deadline` at the
/// latest.
pub async fn execute_all<T: Transport>(transport: &T, commands: Vec<Command>, deadline: Instant) -> Vec<Executed> {
    stream::iter(commands)
        .map(|command| execute(transport, command, deadline))
        .buffered(CONCURRENT_WRITES)
        .collect()
        .await
}

/// Makes each inspection, and returns what each found in their order, by `deadline` at the latest. An inspection that did not
/// end in time is an error.
pub async fn inspect_all<T: Transport>(
    transport: &T,
    inspections: &[Inspection],
    members: &Members,
    deadline: Instant,
) -> Vec<Result<Option<Identity>, WriteError>> {
    // Collected, because the compiler cannot prove that a future with the closure in it is `Send`. None starts yet.
    let all: Vec<_> = inspections.iter().map(|inspection| inspect(transport, inspection, members, deadline)).collect();
    stream::iter(all).buffered(CONCURRENT_INSPECTIONS).collect().await
}

async fn inspect<T: Transport>(
    transport: &T,
    inspection: &Inspection,
    members: &Members,
    deadline: Instant,
) -> Result<Option<Identity>, WriteError> {
    // `timeout_at` would still begin the inspection after the deadline.
    if Instant::now() < deadline
        && let Ok(found) = tokio::time::timeout_at(deadline, transport.inspect(inspection, members)).await
    {
        return found;
    }
    Err(deadline_exceeded(inspection.to_string()))
}
