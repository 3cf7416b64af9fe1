//! Whether the process can do its work.
//!
//! In: what the parts of the process report about themselves. Out: the answer to a readiness probe. It checks
//! nothing itself.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use lifecycle_service::probes;

/// Shared by those who report and by the probe. Nothing is ready at first.
#[derive(Debug, Clone, Default)]
pub struct Readiness(Arc<Checks>);

#[derive(Debug, Default)]
struct Checks {
    broker: AtomicBool,
    config: AtomicBool,
    stopping: AtomicBool,
    /// Which dependency is away, and why.
    away: Mutex<Option<String>>,
}

impl Readiness {
    /// The configuration is loaded and compiled.
    pub fn config_loaded(&self) {
        self.0.config.store(true, Ordering::Release);
    }

    /// The subscription is active, or was lost.
    pub fn set_broker(&self, connected: bool) {
        self.0.broker.store(connected, Ordering::Release);
    }

    /// A dependency is away, for this reason, or none is any more.
    pub fn set_away(&self, reason: Option<&str>) {
        *self.0.away.lock().unwrap_or_else(PoisonError::into_inner) = reason.map(str::to_owned);
    }

    /// The process shuts down, whatever else is true.
    pub fn shutting_down(&self) {
        self.0.stopping.store(true, Ordering::Release);
    }

    /// The answer to a probe.
    pub(crate) fn report(&self) -> probes::Readiness {
        if self.0.stopping.load(Ordering::Acquire) {
            return probes::Readiness { problem: Some("server is shutting down".to_owned()), ..Default::default() };
        }
        let (broker, config) = (self.0.broker.load(Ordering::Acquire), self.0.config.load(Ordering::Acquire));
        let away = self.0.away.lock().unwrap_or_else(PoisonError::into_inner).clone();
        probes::Readiness {
            checks: [("broker", broker), ("config", config)].into(),
            problem: away
                .map(|reason| format!("waiting for {reason}"))
                .or_else(|| (!(broker && config)).then(|| "not ready".to_owned())),
        }
    }
}
