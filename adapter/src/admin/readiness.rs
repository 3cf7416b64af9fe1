//! Whether the process can do its work.
//!
//! In: what the parts of the process report about themselves. Out: the answer to a readiness probe. It checks
//! nothing itself.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use lifecycle_service::probes;

/// Shared by those who report and by the probe. Nothing is ready at first.
#[derive(Debug, Clone, Default)]
pub struct Readiness(Arc<Checks>);

#[derive(Debug, Default)]
struct Checks {
    broker: AtomicBool,
    config: AtomicBool,
    stopping: AtomicBool,
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

    /// The process shuts down, whatever else is true.
    pub fn shutting_down(&self) {
        self.0.stopping.store(true, Ordering::Release);
    }

    /// The answer to a probe.
    pub(super) fn report(&self) -> probes::Readiness {
        if self.0.stopping.load(Ordering::Acquire) {
            return probes::Readiness { problem: Some("server is shutting down".to_owned()), ..Default::default() };
        }
        let (broker, config) = (self.0.broker.load(Ordering::Acquire), self.0.config.load(Ordering::Acquire));
        probes::Readiness {
            checks: [("broker", broker), ("config", config)].into(),
            problem: (!(broker && config)).then(|| "not ready".to_owned()),
        }
    }
}
