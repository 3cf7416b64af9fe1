//! A gate at which chosen requests wait until the test releases them.

use tokio::sync::watch;

/// Holds requests back until [`release`](Self::release).
#[derive(Debug, Clone)]
pub struct Gate {
    arrived: watch::Sender<usize>,
    open: watch::Sender<bool>,
}

impl Gate {
    pub(super) fn closed() -> Self {
        Self { arrived: watch::Sender::new(0), open: watch::Sender::new(false) }
    }

    /// Waits until a request has arrived at the gate.
    pub async fn reached(&self) {
        self.reached_by(1).await;
    }

    /// Waits until this many requests have arrived at the gate, including those that it has let pass.
    pub async fn reached_by(&self, requests: usize) {
        // Cannot fail: `self` owns the sender, so the channel stays open.
        let _ = self.arrived.subscribe().wait_for(|arrived| *arrived >= requests).await;
    }

    /// Lets all waiting and later requests pass.
    pub fn release(&self) {
        self.open.send_replace(true);
    }

    /// Waits, on behalf of a request, until the gate is released.
    pub(super) async fn pass(&self) {
        self.arrived.send_modify(|arrived| *arrived += 1);
        let _ = self.open.subscribe().wait_for(|open| *open).await;
    }
}
