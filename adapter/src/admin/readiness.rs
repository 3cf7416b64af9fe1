//! Whether the process can do its work.
//!
//! In: what the parts of the process report about themselves. Out: the answer to a readiness probe. It checks
//! nothing itself.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use axum::http::StatusCode;

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

    /// Whether everything is ready.
    #[must_use]
    pub fn is_ready(&self) -> bool {
        self.report().0 == StatusCode::OK
    }

    /// The answer to a probe.
    pub(super) fn report(&self) -> (StatusCode, String) {
        if self.0.stopping.load(Ordering::Acquire) {
            let body = r#"{"status":"error","message":"server is shutting down"}"#;
            return (StatusCode::SERVICE_UNAVAILABLE, body.to_owned());
        }
        let broker = self.0.broker.load(Ordering::Acquire);
        let config = self.0.config.load(Ordering::Acquire);
        let word = |ok| if ok { "ok" } else { "error" };
        let checks = format!(r#""checks":{{"broker":"{}","config":"{}"}}"#, word(broker), word(config));
        if broker && config {
            (StatusCode::OK, format!(r#"{{{checks},"status":"ok"}}"#))
        } else {
            let body = format!(r#"{{{checks},"status":"error","message":"not ready"}}"#);
            (StatusCode::SERVICE_UNAVAILABLE, body)
        }
    }
}
