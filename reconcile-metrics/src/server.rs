//! The HTTP servers: `/metrics` on one port, `/healthz`, `/readyz` and `/stuck` on another.
//!
//! In: requests, a [`Scraper`] and a [`Store`]. Out: metrics, probes and lists of stuck resources. Fails: if it cannot
//! listen at an address; the process then exits, because Kubernetes could not probe it.

use std::sync::Arc;

use axum::routing::get;
use lifecycle_service::http::{ListenError, Server};
use lifecycle_service::metrics::{self, Exposition, write};
use lifecycle_service::probes::Readiness;
use lifecycle_service::servers::{self, Page};
use lifecycle_service::version::THIS;
use tokio_util::sync::CancellationToken;

use crate::config::Config;
use crate::samples::page;
use crate::scrape::Scraper;
use crate::store::Store;

mod stuck;

const PROGRAM: &str = "reconcile-metrics";

/// The state that request handlers share.
#[derive(Clone)]
pub struct Shared {
    config: Arc<Config>,
    scraper: Arc<Scraper>,
    store: Arc<Store>,
    /// Lets one request of `/stuck` in at a time, because all of them share one database connection.
    readers: Arc<tokio::sync::Semaphore>,
}

impl Shared {
    /// Creates the state for request handlers.
    #[must_use]
    pub fn new(config: Arc<Config>, scraper: Arc<Scraper>, store: Arc<Store>) -> Self {
        Self { config, scraper, store, readers: Arc::new(tokio::sync::Semaphore::new(1)) }
    }

    /// Reads the database, and writes the metrics.
    async fn metrics(self, format: Exposition) -> String {
        let scrape = self.scraper.scrape().await;
        let mut registry = metrics::registry(PROGRAM, THIS.number);
        registry.register_collector(Box::new(page(&scrape, self.scraper.kinds(), THIS.commit)));
        write(&registry, format)
    }

    /// Answers `/readyz`: ready if a reading of the database succeeded lately.
    fn readiness(&self) -> Readiness {
        let age = self.scraper.last_answer();
        let answered = age.is_some_and(|age| age <= self.config.readiness_window());
        let problem = match age {
            _ if answered => None,
            None => Some("no reading of the database has succeeded yet".to_owned()),
            Some(age) => Some(format!("no reading of the database has succeeded for {} s", age.as_secs())),
        };
        Readiness { checks: [("database", answered)].into(), problem, note: None }
    }
}

/// Serves `/metrics`.
///
/// # Errors
/// Returns an error if it cannot listen at the address.
pub async fn serve_metrics(shared: Shared) -> Result<Server, ListenError> {
    let address = shared.config.metrics_listen;
    servers::serve_metrics(PROGRAM, address, move |format| shared.clone().metrics(format)).await
}

/// Serves the probes and `/stuck`; `/readyz` answers 503 once `stop` is cancelled.
///
/// # Errors
/// Returns an error if it cannot listen at the address.
pub async fn serve_health(shared: Shared, stop: CancellationToken) -> Result<Server, ListenError> {
    let address = shared.config.health_listen;
    let stuck = get(stuck::page).with_state(shared.clone());
    let stuck = Page { path: "/stuck", about: "stuck resources", methods: stuck };
    servers::serve_health(PROGRAM, address, stop, move || shared.readiness(), [stuck]).await
}
