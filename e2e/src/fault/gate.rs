//! A door at which requests wait for the test.

use tokio::sync::watch;

/// Holds requests back until the test lets them go on.
#[derive(Debug, Clone)]
pub struct Gate {
    arrived: watch::Sender<usize>,
    open: watch::Sender<bool>,
}

impl Gate {
    pub(super) fn closed() -> Self {
        Self { arrived: watch::Sender::new(0), open: watch::Sender::new(false) }
    }

    /// Waits until a request stands at the gate.
    pub async fn reached(&self) {
        self.reached_by(1).await;
    }

    /// Waits until so many requests have come to the gate, whether or not it let them pass since.
    pub async fn reached_by(&self, requests: usize) {
        // The sender lives in `self`, so the channel cannot be closed.
        let _ = self.arrived.subscribe().wait_for(|arrived| *arrived >= requests).await;
    }

    /// Lets all waiting requests go on, and later ones pass.
    pub fn release(&self) {
        self.open.send_replace(true);
    }

    /// Waits, as a request, to be let through.
    pub(super) async fn pass(&self) {
        self.arrived.send_modify(|arrived| *arrived += 1);
        let _ = self.open.subscribe().wait_for(|open| *open).await;
    }
}
