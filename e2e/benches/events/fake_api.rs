//! A minimal fake of the HyperFleet API, so that it takes little CPU time away from the adapter.
//!
//! Every cluster exists, with the same document of 1.3 kB except for its id. Every report is accepted;
//! reports with a condition that is not `True` are counted. The duration of a pass is measured from the read
//! of its cluster to its report.

use std::collections::HashMap;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use anyhow::Context as _;
use axum::Router;
use axum::body::Bytes;
use axum::extract::{Path, State};
use axum::http::StatusCode;
use axum::http::header::CONTENT_TYPE;
use axum::response::IntoResponse;
use axum::routing::{get, put};
use axum::serve::ListenerExt as _;
use tokio::net::TcpListener;
use tokio::sync::watch;
use tokio::time::timeout;
use tokio_util::task::AbortOnDropHandle;

/// A running fake API; dropping it stops the server.
pub(crate) struct FakeApi {
    address: SocketAddr,
    counts: Arc<Counts>,
    _serving: AbortOnDropHandle<()>,
}

#[derive(Default)]
struct Counts {
    reads: AtomicU64,
    reports: watch::Sender<u64>,
    not_true: AtomicU64,
    passes: Mutex<Passes>,
}

/// The begin of each pass that has not ended, by the cluster's id, and the durations of ended passes.
#[derive(Default)]
struct Passes {
    begun: HashMap<String, Instant>,
    took: Vec<Duration>,
}

impl Counts {
    fn passes(&self) -> std::sync::MutexGuard<'_, Passes> {
        self.passes.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl FakeApi {
    pub(crate) async fn start() -> anyhow::Result<Self> {
        let counts = Arc::new(Counts::default());
        let router = Router::new()
            .route("/api/hyperfleet/v1/clusters/{id}", get(cluster))
            .route("/api/hyperfleet/v1/clusters/{id}/statuses", put(report))
            .with_state(Arc::clone(&counts));
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.context("failed to listen")?;
        let address = listener.local_addr().context("failed to listen")?;
        let listener = listener.tap_io(|stream| drop(stream.set_nodelay(true)));
        let serving = tokio::spawn(async move { drop(axum::serve(listener, router).await) });
        Ok(Self { address, counts, _serving: AbortOnDropHandle::new(serving) })
    }

    pub(crate) fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// The number of reads of a cluster so far.
    pub(crate) fn reads(&self) -> u64 {
        self.counts.reads.load(Ordering::Relaxed)
    }

    /// The number of reports so far.
    pub(crate) fn reports(&self) -> u64 {
        *self.counts.reports.borrow()
    }

    /// The number of reports with a condition that is not `True`.
    pub(crate) fn not_true(&self) -> u64 {
        self.counts.not_true.load(Ordering::Relaxed)
    }

    /// The durations of the passes that have ended since the last call.
    pub(crate) fn take_passes(&self) -> Vec<Duration> {
        std::mem::take(&mut self.counts.passes().took)
    }

    /// Waits for a total number of reports; fails if no report arrives for longer than `patience`.
    pub(crate) async fn await_reports(&self, wanted: u64, patience: Duration) -> anyhow::Result<()> {
        let mut reports = self.counts.reports.subscribe();
        loop {
            let seen = *reports.borrow_and_update();
            if seen >= wanted {
                return Ok(());
            }
            timeout(patience, reports.changed())
                .await
                .with_context(|| format!("no report since the {seen}th of {wanted}"))??;
        }
    }
}

async fn cluster(State(counts): State<Arc<Counts>>, Path(id): Path<String>) -> impl IntoResponse {
    counts.reads.fetch_add(1, Ordering::Relaxed);
    counts.passes().begun.insert(id.clone(), Instant::now());
    let document = format!(
        r#"{{"id":"{id}","kind":"Cluster","name":"{id}","href":"/api/hyperfleet/v1/clusters/{id}","generation":1,"spec":{{"release":"4.20.1","region":"eu-west-1","nodes":6}},"labels":{{"team":"storage"}},"created_time":"2026-01-01T12:00:00Z","updated_time":"2026-01-01T12:00:00Z","created_by":"someone@example.com","updated_by":"someone@example.com","status":{{"conditions":[{CONDITIONS}]}}}}"#
    );
    ([(CONTENT_TYPE, "application/json")], document)
}

/// The conditions of a cluster without reports.
const CONDITIONS: &str = r#"{"type":"Reconciled","status":"False","reason":"MissingReports","message":"1 of 2 required adapters have not reported on this generation","observed_generation":1,"created_time":"2026-01-01T12:00:00Z","last_updated_time":"2026-01-01T12:00:00Z","last_transition_time":"2026-01-01T12:00:00Z"},{"type":"LastKnownReconciled","status":"False","reason":"MissingReports","message":"1 of 2 required adapters have not reported on this generation","observed_generation":1,"created_time":"2026-01-01T12:00:00Z","last_updated_time":"2026-01-01T12:00:00Z","last_transition_time":"2026-01-01T12:00:00Z"}"#;

async fn report(State(counts): State<Arc<Counts>>, Path(id): Path<String>, body: Bytes) -> impl IntoResponse {
    if String::from_utf8_lossy(&body).contains(r#""status":"False""#) {
        counts.not_true.fetch_add(1, Ordering::Relaxed);
    }
    let ended = Instant::now();
    let mut passes = counts.passes();
    if let Some(begun) = passes.begun.remove(&id) {
        passes.took.push(ended - begun);
    }
    drop(passes);
    counts.reports.send_modify(|count| *count += 1);
    // The API answers with the report that it stored.
    (StatusCode::CREATED, [(CONTENT_TYPE, "application/json")], body)
}
