//! The servers that operators and Prometheus talk to.
//!
//! In: an address, and what is to be shown. Out: `/healthz`, `/readyz` and `/config` on one port, `/metrics` on
//! another. An address that cannot be listened on is a start-up error: a process that nobody can probe must not run.
//! There is no authentication: neither port belongs outside the cluster, and nothing here writes.

use std::net::SocketAddr;
use std::sync::Arc;

use axum::Router;
use axum::extract::State;
use axum::http::StatusCode;
use axum::http::header::CONTENT_TYPE;
use axum::response::{IntoResponse, Response};
use axum::routing::any;
use lifecycle_service::http::{Limits, ListenError, Listener, Server};
use lifecycle_service::metrics::Exposition;
use lifecycle_service::probes;

use crate::metrics::SharedMetrics;

mod readiness;

pub use readiness::Readiness;

/// Serves the probes, and the configuration if it is to be shown (redacted, as YAML).
///
/// # Errors
/// The address cannot be listened on.
pub async fn serve_health(
    address: SocketAddr,
    readiness: Readiness,
    config: Option<Arc<str>>,
) -> Result<Server, ListenError> {
    let router = Router::new()
        .route("/healthz", any(probes::alive))
        .route("/readyz", any(async |State(readiness): State<Readiness>| readiness.report()))
        .with_state(readiness)
        .route("/config", any(async |State(config): State<Option<Arc<str>>>| configuration(config)))
        .with_state(config);
    Ok(Listener::bind(address, "health").await?.serve(router, Limits::default()))
}

/// Serves the metrics.
///
/// # Errors
/// The address cannot be listened on.
pub async fn serve_metrics(address: SocketAddr, metrics: SharedMetrics) -> Result<Server, ListenError> {
    let router = Router::new().route("/metrics", any(expose)).with_state(metrics);
    Ok(Listener::bind(address, "metrics").await?.serve(router, Limits::default()))
}

fn configuration(config: Option<Arc<str>>) -> Response {
    match config {
        Some(yaml) => ([(CONTENT_TYPE, "application/yaml")], yaml.to_string()).into_response(),
        None => StatusCode::NOT_FOUND.into_response(),
    }
}

async fn expose(State(metrics): State<SharedMetrics>, format: Exposition) -> impl IntoResponse {
    ([(CONTENT_TYPE, format.content_type())], metrics.expose(format))
}

#[cfg(test)]
mod tests;
