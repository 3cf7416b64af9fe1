//! Collects the conditions of readiness, and answers the readiness probe.
//!
//! In: reports from the parts of the process. Out: ready or not, with the reason. This module checks nothing
//! itself.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use lifecycle_service::probes;

/// The conditions, shared by the reporters and the probe. At first the process is not ready.
#[derive(Debug, Clone, Default)]
pub struct Readiness(Arc<Checks>);

#[derive(Debug, Default)]
struct Checks {
    broker: AtomicBool,
    config: AtomicBool,
    /// The dependency that is unavailable, and the reason; `None` if every dependency answers.
    unavailable: Mutex<Option<String>>,
    /// Why the answers at `base_url` do not look like the HyperFleet API's; `None` if they do.
    stranger: Mutex<Option<String>>,
}

impl Readiness {
    /// Reports that the configuration is loaded and compiled.
    pub fn config_loaded(&self) {
        self.0.config.store(true, Ordering::Release);
    }

    /// Reports whether the broker subscription is active.
    pub fn set_broker(&self, connected: bool) {
        self.0.broker.store(connected, Ordering::Release);
    }

    /// Reports that a dependency is unavailable for this reason; `None` if every dependency answers.
    pub fn set_unavailable(&self, reason: Option<&str>) {
        *self.0.unavailable.lock().unwrap_or_else(PoisonError::into_inner) = reason.map(str::to_owned);
    }

    /// Reports that something else than the HyperFleet API answers in its place; `None` if the API does.
    pub fn set_stranger(&self, reason: Option<&str>) {
        *self.0.stranger.lock().unwrap_or_else(PoisonError::into_inner) = reason.map(str::to_owned);
    }

    /// What answers in place of the HyperFleet API.
    pub(crate) fn stranger(&self) -> Option<String> {
        self.0.stranger.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Whether the adapter takes events: it is subscribed, and every dependency answers.
    pub(crate) fn takes_events(&self) -> bool {
        self.0.broker.load(Ordering::Acquire) && self.unavailable().is_none()
    }

    /// The dependency that is unavailable, and the reason.
    pub(crate) fn unavailable(&self) -> Option<String> {
        self.0.unavailable.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// The response to a readiness probe.
    pub(crate) fn report(&self) -> probes::Readiness {
        let (broker, config) = (self.0.broker.load(Ordering::Acquire), self.0.config.load(Ordering::Acquire));
        let unavailable = self.unavailable();
        probes::Readiness {
            checks: [("broker", broker), ("config", config)].into(),
            problem: unavailable
                .map(|reason| format!("waiting for {reason}"))
                .or_else(|| self.stranger())
                .or_else(|| (!(broker && config)).then(|| "not ready".to_owned())),
            note: None,
        }
    }
}
