//! Stops taking events while a dependency does not answer.
//!
//! In: from the clients, the start and the status of each call to a dependency ([`Suspicion`]); from the
//! caller, a probe for each dependency. Out: the state of the [`Intake`], which dispatcher and inputs follow;
//! readiness; a gauge; one log line when the intake pauses and one when it opens again. Nothing here fails or
//! retries: an event whose call got no response ends as it would without this module.
//!
//! | intake | dispatcher | broker | entered |
//! | --- | --- | --- | --- |
//! | open | starts events | subscribed | when every dependency has answered its probe |
//! | held | starts no event, keeps the waiting ones | subscribed | at the first call without a response |
//! | paused | requeues waiting and arriving events | unsubscribed | at the start, and when a probe gets no response |
//!
//! A dependency is unavailable if it does not respond in time, or if a gateway responds in its place with 502, 503 or
//! 504. Every other response, also an error, proves that the dependency is up. The held state limits the cost
//! of an outage: no event starts between the first call without a response and the result of the probe, so that
//! at most `parallelism` events meet the outage.

pub mod kubernetes;
pub mod maestro;
mod supervisor;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use tokio::sync::watch;

pub use crate::metrics::Dependency;
pub use supervisor::{Probe, Supervisor};

/// Whether the adapter takes and starts events.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Intake {
    /// The adapter takes and starts events.
    #[default]
    Open,
    /// A probe is running: the adapter takes events, but starts none.
    Held,
    /// A dependency is unavailable: the adapter takes no events.
    Paused,
}

/// Whether a status comes from a gateway in place of the dependency.
#[must_use]
pub fn is_gateway_error(status: u16) -> bool {
    matches!(status, 502..=504)
}

/// A client's suspicion that its dependency is unavailable. The client reports its calls to it; the default value
/// ignores them.
#[derive(Debug, Clone, Default)]
pub struct Suspicion {
    raised: Arc<AtomicBool>,
    intake: watch::Sender<Intake>,
}

impl Suspicion {
    /// Reports the start of a call.
    #[must_use]
    pub fn call(&self) -> Call {
        Call(Some(self.clone()))
    }

    /// Holds the intake before the call returns to its pass, so that no other event can start in the place of
    /// that pass.
    fn raise(&self) {
        self.raised.store(true, Ordering::SeqCst);
        self.intake.send_if_modified(|intake| {
            let was_open = *intake == Intake::Open;
            if was_open {
                *intake = Intake::Held;
            }
            was_open
        });
    }

    pub(crate) fn is_raised(&self) -> bool {
        self.raised.load(Ordering::SeqCst)
    }

    fn lower(&self) {
        self.raised.store(false, Ordering::SeqCst);
    }
}

/// A running call. Dropping it before the response, as a timeout does, raises the suspicion.
#[derive(Debug)]
pub struct Call(Option<Suspicion>);

impl Call {
    /// Reports that the complete response came.
    pub fn answered(mut self, status: u16) {
        if !is_gateway_error(status) {
            self.0 = None;
        }
    }
}

impl Drop for Call {
    fn drop(&mut self) {
        if let Some(suspicion) = &self.0 {
            suspicion.raise();
        }
    }
}

#[cfg(test)]
mod tests;
