//! Steers the calls of one replica: which of them meets a fault, and before which its pass stands still.
//!
//! A crash is a call that never returns, after which no other call of the pass is begun: the driver, who is told, drops the
//! pass. A pause is a call that waits until the driver lets it go on.

use std::collections::BTreeMap;
use std::future::pending;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::{Semaphore, mpsc};

use crate::sequence::Fault;

/// What the driver has to know.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Signal {
    Crashed,
    Paused,
}

/// See the module's doc.
pub(crate) struct Control {
    plan: Mutex<Plan>,
    signals: mpsc::UnboundedSender<Signal>,
    go_on: Semaphore,
}

/// What becomes of the calls of one pass, counted from 1.
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

    /// Begins a pass.
    pub(crate) fn begin(&self, pass: usize, faults: BTreeMap<usize, Fault>, pause: Option<usize>) {
        *self.plan() = Plan { pass, faults, pause, ..Plan::default() };
    }

    /// Lets the paused call go on.
    pub(crate) fn go_on(&self) {
        self.go_on.add_permits(1);
    }

    /// How many faults of the pass came true.
    pub(crate) fn hits(&self) -> usize {
        self.plan().hits
    }

    /// Counts a call in. Returns the number of its pass and its fault when, and if, it may be made.
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

    /// Ends the process.
    pub(crate) async fn crash(&self) {
        self.plan().crashed = true;
        self.signal(Signal::Crashed);
        pending::<()>().await;
    }

    fn signal(&self, signal: Signal) {
        // Without a driver there is no pass, and nobody to tell.
        let _ = self.signals.send(signal);
    }

    fn plan(&self) -> MutexGuard<'_, Plan> {
        self.plan.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
