//! The HTTP servers for probes and metrics.
//!
//! In: an address, and the state to show. Out: `/healthz`, `/readyz` and `/config` on one port, `/metrics` on
//! another. Fails if an address cannot be bound, because a process that nobody can probe must not run. The
//! servers are read-only and do not authenticate, so neither port belongs outside the cluster.

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

/// Serves the probes and, if `config` is given, the redacted configuration as YAML.
///
/// # Errors
/// The address cannot be bound.
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
/// The address cannot be bound.
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
