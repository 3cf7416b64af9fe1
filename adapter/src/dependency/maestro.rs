//! Maestro as a dependency of the adapter.
//!
//! In: a client of Maestro, and each of its requests. Out: a probe; what metrics and the supervisor learn of each request.

use std::sync::Arc;

use lifecycle_maestro::{CallObserver, CallRecord, Maestro};

use super::{Probe, Suspicion};
use crate::metrics::{Api, Metrics};

/// The kind that requests to Maestro are about, as metrics name it.
const KIND: &str = "ManifestWork";

/// Returns a probe that succeeds if both of Maestro's servers answer.
#[must_use]
pub fn probe(maestro: Maestro) -> Probe {
    Box::new(move || {
        let maestro = maestro.clone();
        Box::pin(async move { maestro.probe().await.map_err(|refusal| refusal.message) })
    })
}

/// Returns an observer that counts every request, and raises a suspicion for each that Maestro itself did not answer.
#[must_use]
pub fn observer(metrics: Arc<Metrics>, suspicion: Suspicion) -> CallObserver {
    Arc::new(move || {
        let (metrics, doubtful) = (Arc::clone(&metrics), suspicion.call());
        Box::new(move |call: CallRecord| {
            metrics.api_request(Api::Maestro, call.verb, KIND, call.status, call.duration);
            if let Some(status) = call.status {
                doubtful.answered(status);
            }
        })
    })
}
