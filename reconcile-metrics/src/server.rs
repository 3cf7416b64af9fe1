//! The HTTP servers: `/metrics` on one port, `/healthz`, `/readyz` and `/stuck` on another.
//!
//! In: requests, a [`Scraper`] and a [`Store`]. Out: metrics, probes and lists of stuck resources. Fails: if it cannot
//! listen at an address; the process then exits, because Kubernetes could not probe it.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use axum::Router;
use axum::extract::State;
use axum::http::StatusCode;
use axum::http::header::CONTENT_TYPE;
use axum::response::{Html, IntoResponse, Response};
use axum::routing::{any, get};
use lifecycle_service::http::{Limits, ListenError, Listener, Server};
use lifecycle_service::metrics::{Exposition, ProcessCollector, write};
use lifecycle_service::probes::{self, Readiness};
use lifecycle_service::version::THIS;
use maud::{DOCTYPE, html};

use crate::config::Config;
use crate::exposition::registry;
use crate::samples::families;
use crate::scrape::Scraper;
use crate::store::Store;

mod stuck;

/// The state that request handlers share.
#[derive(Clone)]
pub struct Shared {
    config: Arc<Config>,
    scraper: Arc<Scraper>,
    store: Arc<Store>,
    stopping: Arc<AtomicBool>,
    /// Lets one request of `/stuck` in at a time, because all of them share one database connection.
    readers: Arc<tokio::sync::Semaphore>,
}

impl Shared {
    /// Creates the state for request handlers of an exporter that is not shutting down.
    #[must_use]
    pub fn new(config: Arc<Config>, scraper: Arc<Scraper>, store: Arc<Store>) -> Self {
        let readers = Arc::new(tokio::sync::Semaphore::new(1));
        Self { config, scraper, store, stopping: Arc::default(), readers }
    }

    /// Makes `/readyz` answer 503 from now on.
    pub fn shut_down(&self) {
        self.stopping.store(true, Ordering::Relaxed);
    }
}

/// Serves `/metrics`.
///
/// # Errors
/// Returns an error if it cannot listen at the address.
pub async fn serve_metrics(shared: Shared) -> Result<Server, ListenError> {
    let address = shared.config.metrics_listen;
    let router = Router::new()
        .route("/", get(async || links(&[("/metrics", "metrics for Prometheus")])))
        .route("/metrics", get(metrics))
        .with_state(shared);
    Ok(Listener::bind(address, "metrics").await?.serve(router, Limits::default()))
}

/// Serves the probes and `/stuck`.
///
/// # Errors
/// Returns an error if it cannot listen at the address.
pub async fn serve_health(shared: Shared) -> Result<Server, ListenError> {
    let address = shared.config.health_listen;
    let router = Router::new()
        .route("/", get(async || links(&HEALTH_LINKS)))
        .route("/healthz", any(probes::alive))
        .route("/readyz", any(ready))
        .route("/stuck", get(stuck::page))
        .with_state(shared);
    Ok(Listener::bind(address, "health").await?.serve(router, Limits::default()))
}

const HEALTH_LINKS: [(&str, &str); 3] = [
    ("/healthz", "whether the process runs"),
    ("/readyz", "whether the database answers"),
    ("/stuck", "stuck resources"),
];

/// Renders the page `/`: links to the other paths of the port.
fn links(paths: &[(&str, &str)]) -> Html<String> {
    let page = html! {
        (DOCTYPE)
        title { "reconcile-metrics" }
        h1 { "reconcile-metrics " (THIS.number) }
        ul { @for (path, what) in paths { li { a href=(path) { (path) } ": " (what) } } }
    };
    Html(page.into_string())
}

async fn metrics(State(shared): State<Shared>, format: Exposition) -> impl IntoResponse {
    let scrape = shared.scraper.scrape().await;
    let families = families(&scrape, shared.scraper.kinds(), THIS.commit);
    let constant = [("component", "reconcile-metrics".to_owned()), ("version", THIS.number.to_owned())];
    let mut registry = registry(families, &constant);
    registry.register_collector(Box::new(ProcessCollector));
    ([(CONTENT_TYPE, format.content_type())], write(&registry, format))
}

/// Answers `/readyz`: ready if a reading of the database succeeded lately.
async fn ready(State(shared): State<Shared>) -> Readiness {
    let stopping = shared.stopping.load(Ordering::Relaxed);
    let age = shared.scraper.last_answer();
    let answered = age.is_some_and(|age| age <= shared.config.readiness_window());
    let problem = match (stopping, age) {
        (true, _) => Some("shutting down".to_owned()),
        (false, _) if answered => None,
        (false, None) => Some("no reading of the database has succeeded yet".to_owned()),
        (false, Some(age)) => Some(format!("no reading of the database has succeeded for {} s", age.as_secs())),
    };
    Readiness { checks: [("database", answered)].into(), problem }
}

fn json_body(status: StatusCode, body: &serde_json::Value) -> Response {
    (status, [(CONTENT_TYPE, "application/json")], body.to_string()).into_response()
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "tests")]

    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

    use super::*;
    use crate::config::{Environment, Flags, parse};

    #[tokio::test(start_paused = true)]
    async fn both_servers_disconnect_a_client_that_sends_no_full_request() {
        let text = "health: {listen: '127.0.0.1:0'}\nmetrics: {listen: '127.0.0.1:0'}\n";
        let config = Arc::new(parse("exporter.yaml", text, &Environment::new(), &Flags::new()).unwrap().0);
        let store = Arc::new(Store::new(&config.database, &config.kinds));
        let shared = Shared::new(config.clone(), Scraper::new(store.clone(), &config), store);
        for server in [serve_health(shared.clone()).await.unwrap(), serve_metrics(shared).await.unwrap()] {
            let mut client = tokio::net::TcpStream::connect(server.address()).await.unwrap();
            client.write_all(b"GET /metrics HTTP/1.1\r\nhost: ").await.unwrap();
            assert_eq!(client.read(&mut [0]).await.unwrap(), 0);
        }
    }
}
