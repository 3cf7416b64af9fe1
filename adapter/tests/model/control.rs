//! Controls the calls of one replica: injects faults, and pauses the pass before a chosen call.
//!
//! A crash is a call that never returns; the pass begins no further call, and the driver drops the pass after
//! [`Signal::Crashed`]. A pause is a call that waits until the driver calls [`Control::go_on`].

use std::collections::BTreeMap;
use std::future::pending;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::{Semaphore, mpsc};

use crate::sequence::Fault;

/// A message to the driver of the pass.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Signal {
    Crashed,
    Paused,
}

/// Controls the calls of one replica; see the module's documentation.
pub(crate) struct Control {
    plan: Mutex<Plan>,
    signals: mpsc::UnboundedSender<Signal>,
    go_on: Semaphore,
}

/// The faults and the pause of one pass; its calls are counted from 1.
#[derive(Default)]
struct Plan {
    pass: usize,
    calls: usize,
    faults: BTreeMap<usize, Fault>,
    pause: Option<usize>,
    crashed: bool,
    hits: usize,
}

impl Control {
    pub(crate) fn new() -> (Arc<Self>, mpsc::UnboundedReceiver<Signal>) {
        let (signals, receiver) = mpsc::unbounded_channel();
        (Arc::new(Self { plan: Mutex::default(), signals, go_on: Semaphore::new(0) }), receiver)
    }

    /// Begins a pass with these faults, by the number of the call.
    pub(crate) fn begin(&self, pass: usize, faults: BTreeMap<usize, Fault>, pause: Option<usize>) {
        *self.plan() = Plan { pass, faults, pause, ..Plan::default() };
    }

    /// Lets the pass continue that is paused before a call.
    pub(crate) fn go_on(&self) {
        self.go_on.add_permits(1);
    }

    /// The number of faults that were injected in this pass.
    pub(crate) fn hits(&self) -> usize {
        self.plan().hits
    }

    /// Counts a call, and waits while the pass is paused or crashed. Returns the number of the pass and the
    /// call's fault.
    pub(crate) async fn admit(&self) -> (usize, Option<Fault>) {
        let (pass, fault, pauses, crashed) = {
            let mut plan = self.plan();
            plan.calls += 1;
            let fault = plan.faults.get(&plan.calls).copied();
            (plan.pass, fault, plan.pause == Some(plan.calls), plan.crashed)
        };
        if crashed {
            pending::<()>().await;
        }
        if pauses {
            self.signal(Signal::Paused);
            if let Ok(permit) = self.go_on.acquire().await {
                permit.forget();
            }
        }
        if fault.is_some() {
            self.plan().hits += 1;
        }
        (pass, fault)
    }

    /// Crashes the pass, and never returns.
    pub(crate) async fn crash(&self) {
        self.plan().crashed = true;
        self.signal(Signal::Crashed);
        pending::<()>().await;
    }

    fn signal(&self, signal: Signal) {
        // A failed send means that the driver is gone, and with it the pass.
        let _ = self.signals.send(signal);
    }

    fn plan(&self) -> MutexGuard<'_, Plan> {
        self.plan.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
