//! Prometheus' two text formats, and the metrics of the process.
//!
//! In: a registry with the program's metrics, and a scraper's `Accept` header. Out: text. Fails: never.

use std::borrow::Cow;

use prometheus_client::registry::Registry;

mod exposition;
mod process;
mod register;

pub use exposition::{Exposition, write};
pub use register::{Histograms, Register};

/// Creates a registry with the metrics of the process, whose series all have the labels `component` and
/// `version`, as the metrics standard demands.
#[must_use]
pub fn registry(component: &str, version: &str) -> Registry {
    let labels = [("component", component), ("version", version)];
    let labels = labels.map(|(name, value)| (Cow::Borrowed(name), Cow::Owned(value.to_owned())));
    let mut registry = Registry::with_labels(labels.into_iter());
    registry.register_collector(Box::new(process::ProcessCollector));
    registry
}
