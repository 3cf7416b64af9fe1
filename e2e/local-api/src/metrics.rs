//! What `/metrics` shows: requests, and how many reconciliations began.
//!
//! Names and labels are the real API's. `reconciliation_started_total` counts deletions of resources that were not
//! reconciled as well, and its `resource_type` is in lower case, as that of the exporter's gauges.

use std::time::Duration;

use lifecycle_service::metrics::{self, Exposition, Histograms, Register, write};
use lifecycle_service::version::THIS;
use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::registry::Registry;

use crate::aggregation::RECONCILED;
use crate::model::{Condition, Resource};

/// The bounds of request durations in seconds: the default ones of Prometheus' clients.
const SECONDS: [f64; 11] = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0];

/// A request, as the API counts it.
#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct RequestLabels {
    method: String,
    path: String,
    code: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Started {
    resource_type: String,
    is_delete: String,
}

/// The API's metrics.
#[derive(Debug)]
pub struct Metrics {
    registry: Registry,
    requests: Family<RequestLabels, Counter>,
    durations: Histograms<RequestLabels>,
    started: Family<Started, Counter>,
}

impl Default for Metrics {
    fn default() -> Self {
        let mut registry = metrics::registry("api", THIS.number);
        let mut r = Register(&mut registry);
        let requests = r.family("hyperfleet_api_requests", "Requests");
        let durations =
            r.histograms("hyperfleet_api_request_duration_seconds", "Duration of requests", || Histogram::new(SECONDS));
        let started = r.family(
            "hyperfleet_api_reconciliation_started",
            "Resources that became unreconciled by their creation, a change or their deletion",
        );
        Self { registry, requests, durations, started }
    }
}

impl Metrics {
    /// Counts one request; `path` has `-` in the place of ids.
    pub fn request(&self, method: &str, path: &str, code: u16, duration: Duration) {
        let labels = RequestLabels { method: method.to_owned(), path: path.to_owned(), code: code.to_string() };
        self.durations.get_or_create(&labels).observe(duration.as_secs_f64());
        self.requests.get_or_create(&labels).inc();
    }

    /// Counts a resource that becomes unreconciled, or is deleted, by these conditions. `resource` has the former ones.
    pub fn reconciliation(&self, resource: &Resource, conditions: &[Condition]) {
        let status = |conditions: &[Condition]| {
            conditions.iter().find(|condition| condition.kind == RECONCILED).map(|condition| condition.status.clone())
        };
        let (before, after) = (status(&resource.conditions), status(conditions));
        // The deletion is the only change that raises the generation of a deleted resource.
        let seen = resource.condition(RECONCILED).map_or(0, |condition| condition.observed_generation);
        let begins_deletion = resource.is_deleted() && seen < resource.generation;
        if after.as_deref() == Some("False") && (before.as_deref() != Some("False") || begins_deletion) {
            let labels =
                Started { resource_type: resource.kind.to_lowercase(), is_delete: resource.is_deleted().to_string() };
            self.started.get_or_create(&labels).inc();
        }
    }

    /// Writes the metrics in Prometheus' format.
    #[must_use]
    pub fn expose(&self, format: Exposition) -> String {
        write(&self.registry, format)
    }
}
