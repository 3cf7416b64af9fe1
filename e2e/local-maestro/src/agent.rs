//! An agent that applies the bundles of a consumer to a real API server.
//!
//! In: what the server tells the agent of a consumer. Out: objects, reports, and confirmed deletions. Fails: never; a
//! failure to apply is a report, and is tried again in the next pass.
//!
//! The agent works with the spec that it last received. A row that is being deleted brings no spec any more, so an
//! update right before a deletion may never reach the agent: not its manifests, and not its `deleteOption`.

mod cluster;
mod pass;

use std::sync::Arc;
use std::time::Duration;

use kube::Client;
use tokio::sync::watch;
use tokio_util::task::AbortOnDropHandle;

use crate::server::LocalMaestro;
use pass::Worker;

/// A running agent. Dropping it stops it as a crash does; what it has applied is remembered for the next one.
#[derive(Debug)]
pub struct KubeAgent {
    held: watch::Sender<bool>,
    _task: AbortOnDropHandle<()>,
}

impl KubeAgent {
    /// Starts the agent of a consumer. It hears of new bundles at once, and looks at its objects once in a period.
    #[must_use]
    pub fn start(maestro: &LocalMaestro, consumer: &str, client: Client, period: Duration) -> Self {
        let (held, mut is_held) = watch::channel(false);
        let mut worker = Worker::new(Arc::clone(&maestro.shared), consumer.to_owned(), client);
        let mut wake = maestro.shared.wake.subscribe();
        maestro.agent_online(consumer);
        let task = tokio::spawn(async move {
            loop {
                if !*is_held.borrow() {
                    worker.pass().await;
                }
                tokio::select! {
                    // The server and the handle outlive neither each other nor the task by much.
                    changed = wake.changed() => if changed.is_err() { return },
                    changed = is_held.changed() => if changed.is_err() { return },
                    () = tokio::time::sleep(period) => {}
                }
            }
        });
        Self { held, _task: AbortOnDropHandle::new(task) }
    }

    /// Makes the agent do nothing, while what it has to hear of waits for it; and lets it go on.
    pub fn hold(&self, is_held: bool) {
        self.held.send_replace(is_held);
    }
}
