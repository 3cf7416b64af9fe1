//! The Kubernetes API as a dependency of the adapter.
//!
//! In: a cluster's client, and each of its requests. Out: a probe; what metrics and the supervisor learn of each request.

use std::sync::Arc;

use lifecycle_kube::{CallObserver, CallRecord, Cluster};

use super::{Probe, Suspicion, is_gateway_error};
use crate::metrics::{Api, Metrics};

/// Field managers of the Go adapter, whose fields the first update migrates. The Go client uses the name of the
/// binary, which is `adapter` in the image and `hyperfleet-adapter` in a local build.
pub const FORMER_MANAGERS: [&str; 2] = ["adapter", "hyperfleet-adapter"];

/// Returns a probe that succeeds if the API server sends any response of its own.
#[must_use]
pub fn probe(cluster: Cluster) -> Probe {
    Box::new(move || {
        let cluster = cluster.clone();
        Box::pin(async move { verdict(cluster.probe().await) })
    })
}

fn verdict(answer: Result<u16, String>) -> Result<(), String> {
    match answer? {
        status if is_gateway_error(status) => Err(format!("HTTP status {status}")),
        _ => Ok(()),
    }
}

/// The label of the warnings that the API server sends with its answers.
pub const SERVER_WARNING: &str = "api_server";

/// Returns an observer that counts every request and each new warning of the API server, and raises a suspicion
/// for each request that the API server itself did not answer.
#[must_use]
pub fn observer(metrics: Arc<Metrics>, suspicion: Suspicion) -> CallObserver {
    Arc::new(move || {
        let (metrics, doubtful) = (Arc::clone(&metrics), suspicion.call());
        Box::new(move |call: &CallRecord<'_>| {
            for _ in 0..call.warnings {
                metrics.warning(SERVER_WARNING);
            }
            metrics.api_request(Api::Kubernetes, call.verb.label(), call.kind, call.status, call.duration);
            if let Some(status) = call.status.filter(|_| call.is_answered) {
                doubtful.answered(status);
            }
        })
    })
}

#[cfg(test)]
mod tests;
