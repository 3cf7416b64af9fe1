//! The servers that Prometheus, probes and people talk to.
//!
//! In: an address, and who answers. Out: `/metrics` on one port; `/healthz`, `/readyz` and `/stuck` on another. An
//! address that cannot be listened on is a start-up error: a process that nobody can probe must not run.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use axum::Router;
use axum::extract::State;
use axum::http::header::{ACCEPT, CONTENT_TYPE};
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use serde_json::json;
use tokio::net::TcpListener;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use crate::config::Config;
use crate::exposition::{Exposition, write};
use crate::samples::families;
use crate::scrape::Scraper;
use crate::store::Store;
use crate::version::THIS;

mod stuck;

/// An address that could not be listened on.
#[derive(Debug, thiserror::Error)]
#[error("failed to listen on `{address}` for {purpose}")]
pub struct ListenError {
    purpose: &'static str,
    address: SocketAddr,
    source: io::Error,
}

/// A server that is running.
#[derive(Debug)]
pub struct Server {
    address: SocketAddr,
    stop: CancellationToken,
    task: JoinHandle<()>,
}

impl Server {
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

/// What the handlers share.
#[derive(Clone)]
pub struct Shared {
    config: Arc<Config>,
    scraper: Arc<Scraper>,
    store: Arc<Store>,
    stopping: Arc<AtomicBool>,
    /// One reader of `/stuck` at a time: the others' scrape must find a connection.
    readers: Arc<tokio::sync::Semaphore>,
}

impl Shared {
    /// What handlers answer from.
    #[must_use]
    pub fn new(config: Arc<Config>, scraper: Arc<Scraper>, store: Arc<Store>) -> Self {
        let readers = Arc::new(tokio::sync::Semaphore::new(1));
        Self { config, scraper, store, stopping: Arc::default(), readers }
    }

    /// From now on the process is not ready.
    pub fn shut_down(&self) {
        self.stopping.store(true, Ordering::Relaxed);
    }
}

/// Serves `/metrics`.
///
/// # Errors
/// The address cannot be listened on.
pub async fn serve_metrics(shared: Shared) -> Result<Server, ListenError> {
    let address = shared.config.metrics_listen;
    serve("metrics", address, Router::new().route("/metrics", get(metrics)).with_state(shared)).await
}

/// Serves the probes and `/stuck`.
///
/// # Errors
/// The address cannot be listened on.
pub async fn serve_health(shared: Shared) -> Result<Server, ListenError> {
    let address = shared.config.health_listen;
    let router = Router::new()
        .route("/healthz", get(async || json_body(StatusCode::OK, &json!({"status": "ok"}))))
        .route("/readyz", get(ready))
        .route("/stuck", get(stuck::page))
        .with_state(shared);
    serve("health", address, router).await
}

async fn serve(purpose: &'static str, address: SocketAddr, router: Router) -> Result<Server, ListenError> {
    let failed = |source| ListenError { purpose, address, source };
    let listener = TcpListener::bind(address).await.map_err(failed)?;
    let bound = listener.local_addr().map_err(failed)?;
    let stop = CancellationToken::new();
    let stopped = stop.clone().cancelled_owned();
    let task = tokio::spawn(async move {
        if let Err(error) = axum::serve(listener, router).with_graceful_shutdown(stopped).await {
            tracing::error!(error = error.to_string(), purpose, "Server ended");
        }
    });
    tracing::info!(address = %bound, purpose, "Listening");
    Ok(Server { address: bound, stop, task })
}

async fn metrics(State(shared): State<Shared>, headers: HeaderMap) -> Response {
    let format = Exposition::negotiate(headers.get(ACCEPT).and_then(|accept| accept.to_str().ok()));
    let scrape = shared.scraper.scrape().await;
    let exposure = &shared.config.exposure;
    let mut families = families(&scrape, shared.scraper.kinds(), exposure, THIS.commit);
    families.extend(crate::process::families());
    let constant = [("component", exposure.component.clone()), ("version", THIS.number.to_owned())];
    ([(CONTENT_TYPE, format.content_type())], write(families, &constant, format)).into_response()
}

/// Ready once the database answered, and for as long as it did so lately.
async fn ready(State(shared): State<Shared>) -> Response {
    let stopping = shared.stopping.load(Ordering::Relaxed);
    let age = shared.scraper.last_answer();
    let answered = age.is_some_and(|age| age <= shared.config.database_answered_within);
    let database = if answered { "ok" } else { "error" };
    let checks = json!({"database": database});
    if answered && !stopping {
        return json_body(StatusCode::OK, &json!({"status": "ok", "checks": checks}));
    }
    let message = match (stopping, age) {
        (true, _) => "shutting down".to_owned(),
        (false, None) => "the database has not answered yet".to_owned(),
        (false, Some(age)) => format!("the database has not answered for {} s", age.as_secs()),
    };
    json_body(StatusCode::SERVICE_UNAVAILABLE, &json!({"status": "error", "checks": checks, "message": message}))
}

fn json_body(status: StatusCode, body: &serde_json::Value) -> Response {
    (status, [(CONTENT_TYPE, "application/json")], body.to_string()).into_response()
}
