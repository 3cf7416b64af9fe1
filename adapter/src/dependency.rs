//! Stops taking events while a dependency does not answer.
//!
//! In: from the clients, each call to a watched dependency and the status of its answer ([`Doubt`]); from the caller, a
//! probe for each dependency. Out: the [`Intake`], which dispatcher and inputs follow, readiness, a gauge, one log line
//! when the intake pauses and one when it opens again. Nothing here can fail. Nothing is retried either: an event whose
//! call got no answer ends as it would without this module.
//!
//! | intake | dispatcher | broker | entered |
//! | --- | --- | --- | --- |
//! | open | starts events | subscribed | once every dependency has answered its probe |
//! | held | starts nothing, keeps what waits | subscribed | at once, by the first call without an answer |
//! | paused | gives back what waits and what arrives | unsubscribed | at the start, and when the probe gets no answer either |
//!
//! A dependency is away if it gives no answer in time, or 502, 503 or 504, which gateways give in its place. Every other
//! answer comes from a dependency that is up, a refusal included. The hold bounds what an outage costs: no event starts
//! between the first call without an answer and the probe's verdict, so at most `parallelism` events meet the outage.

mod supervisor;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use tokio::sync::watch;

pub use crate::metrics::Dependency;
pub use supervisor::{Probe, Supervisor};

/// Whether events are taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Intake {
    /// Events are taken, and start.
    #[default]
    Open,
    /// A probe is under way: nothing starts.
    Held,
    /// A dependency is away: nothing is taken.
    Paused,
}

/// Whether a status stands for no answer of the dependency itself.
#[must_use]
pub fn is_away(status: u16) -> bool {
    matches!(status, 502..=504)
}

/// Where a client tells of its calls to one dependency. The default one is heard by nobody.
#[derive(Debug, Clone, Default)]
pub struct Doubt {
    raised: Arc<AtomicBool>,
    intake: watch::Sender<Intake>,
}

impl Doubt {
    /// A call begins.
    #[must_use]
    pub fn call(&self) -> Call {
        Call(Some(self.clone()))
    }

    /// Holds the intake before the call returns to its event, so that no place becomes free for another event first.
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

/// A call under way. Dropped before its answer, whoever ran out of time, it raises a doubt.
#[derive(Debug)]
pub struct Call(Option<Doubt>);

impl Call {
    /// The whole answer came.
    pub fn answered(mut self, status: u16) {
        if !is_away(status) {
            self.0 = None;
        }
    }
}

impl Drop for Call {
    fn drop(&mut self) {
        if let Some(doubt) = &self.0 {
            doubt.raise();
        }
    }
}

#[cfg(test)]
mod tests;
