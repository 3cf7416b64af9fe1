//! The servers that operators and Prometheus talk to.
//!
//! In: an address, and what is to be shown. Out: `/healthz`, `/readyz` and `/config` on one port, `/metrics` on
//! another. An address that cannot be listened on is a start-up error: a process that nobody can probe must not run.
//! There is no authentication: neither port belongs outside the cluster, and nothing here writes.

use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::extract::State;
use axum::http::header::{ACCEPT, CONTENT_TYPE};
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use axum::routing::any;
use tokio::net::TcpListener;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use crate::metrics::{Exposition, SharedMetrics};

mod readiness;

pub use readiness::Readiness;

/// An address that could not be listened on.
#[derive(Debug, thiserror::Error)]
#[error("failed to listen on `{address}` for {purpose}")]
pub struct ListenError {
    purpose: &'static str,
    address: String,
    source: io::Error,
}

/// A server that is running.
#[derive(Debug)]
pub struct AdminServer {
    address: SocketAddr,
    stop: CancellationToken,
    task: JoinHandle<()>,
}

impl AdminServer {
    /// The address that it really listens on.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Takes no more requests and lets running ones end, for at most `cap`.
    pub async fn stop(mut self, cap: Duration) {
        self.stop.cancel();
        if tokio::time::timeout(cap, &mut self.task).await.is_err() {
            self.task.abort();
        }
    }
}

/// Serves the probes, and the configuration if it is to be shown (redacted, as YAML).
///
/// # Errors
/// The address cannot be listened on.
pub async fn serve_health(
    address: &str,
    readiness: Readiness,
    config: Option<Arc<str>>,
) -> Result<AdminServer, ListenError> {
    let router = Router::new()
        .route("/healthz", any(async || json(StatusCode::OK, r#"{"status":"ok"}"#.to_owned())))
        .route("/readyz", any(async |State(readiness): State<Readiness>| ready(&readiness)))
        .with_state(readiness)
        .route("/config", any(async |State(config): State<Option<Arc<str>>>| configuration(config)))
        .with_state(config);
    serve("health", address, router).await
}

/// Serves the metrics.
///
/// # Errors
/// The address cannot be listened on.
pub async fn serve_metrics(address: &str, metrics: SharedMetrics) -> Result<AdminServer, ListenError> {
    let router = Router::new().route("/metrics", any(expose)).with_state(metrics);
    serve("metrics", address, router).await
}

async fn serve(purpose: &'static str, address: &str, router: Router) -> Result<AdminServer, ListenError> {
    let failed = |source| ListenError { purpose, address: address.to_owned(), source };
    let listener = listen(address).await.map_err(failed)?;
    let bound = listener.local_addr().map_err(failed)?;
    let stop = CancellationToken::new();
    let stopped = stop.clone().cancelled_owned();
    let task = tokio::spawn(async move {
        if let Err(error) = axum::serve(listener, router).with_graceful_shutdown(stopped).await {
            tracing::error!(error = &error as &dyn std::error::Error, purpose, "Admin server ended");
        }
    });
    tracing::info!(address = %bound, purpose, "Listening");
    Ok(AdminServer { address: bound, stop, task })
}

/// Binds `host:port`; without a host all interfaces, of both IP versions where the system has both.
async fn listen(address: &str) -> io::Result<TcpListener> {
    let Some(port) = address.trim().strip_prefix(':') else { return TcpListener::bind(address.trim()).await };
    let port = port.parse::<u16>().map_err(|error| io::Error::new(io::ErrorKind::InvalidInput, error))?;
    let all = |ip: IpAddr| TcpListener::bind((ip, port));
    match all(Ipv6Addr::UNSPECIFIED.into()).await {
        Err(error) if error.kind() != io::ErrorKind::AddrInUse => all(Ipv4Addr::UNSPECIFIED.into()).await,
        bound => bound,
    }
}

fn ready(readiness: &Readiness) -> Response {
    let (status, body) = readiness.report();
    json(status, body)
}

fn json(status: StatusCode, body: String) -> Response {
    (status, [(CONTENT_TYPE, "application/json")], body).into_response()
}

fn configuration(config: Option<Arc<str>>) -> Response {
    match config {
        Some(yaml) => ([(CONTENT_TYPE, "application/yaml")], yaml.to_string()).into_response(),
        None => StatusCode::NOT_FOUND.into_response(),
    }
}

async fn expose(State(metrics): State<SharedMetrics>, headers: HeaderMap) -> Response {
    let format = Exposition::negotiate(headers.get(ACCEPT).and_then(|accept| accept.to_str().ok()));
    ([(CONTENT_TYPE, format.content_type())], metrics.expose(format)).into_response()
}

#[cfg(test)]
mod tests;
