//! The HTTP servers for probes and metrics.
//!
//! In: an address, and the state to show. Out: `/healthz`, `/readyz` and further pages on one port, `/metrics` on
//! another. Fails if an address cannot be bound.

use std::future::ready;
use std::net::SocketAddr;
use std::sync::Arc;

use axum::http::header::CONTENT_TYPE;
use axum::routing::any;
use lifecycle_service::http::{ListenError, Server};
use lifecycle_service::servers::{self, Page};
use tokio_util::sync::CancellationToken;

use crate::metrics::SharedMetrics;
use crate::readiness::Readiness;

pub mod passes;

const PROGRAM: &str = "hyperfleet-adapter";

/// The page of the redacted configuration.
#[must_use]
pub fn config_page(yaml: Arc<str>) -> Page {
    Page {
        path: "/config",
        about: "the merged configuration, with secrets redacted",
        methods: any(move || ready(([(CONTENT_TYPE, "application/yaml")], yaml.to_string()))),
    }
}

/// Serves the probes and `pages`.
///
/// # Errors
/// The address cannot be bound.
pub async fn serve_health(
    address: SocketAddr,
    stop: CancellationToken,
    readiness: Readiness,
    pages: impl IntoIterator<Item = Page>,
) -> Result<Server, ListenError> {
    servers::serve_health(PROGRAM, address, stop, move || readiness.report(), pages).await
}

/// Serves the metrics.
///
/// # Errors
/// The address cannot be bound.
pub async fn serve_metrics(address: SocketAddr, metrics: SharedMetrics) -> Result<Server, ListenError> {
    servers::serve_metrics(PROGRAM, address, move |format| ready(metrics.expose(format))).await
}

#[cfg(test)]
mod tests;
