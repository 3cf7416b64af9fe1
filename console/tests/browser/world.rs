//! A console, its sources, and a browser in front of it.
//!
//! The sources answer as the API, the exporter, an adapter and the sweeper do, with a text of the test's choice wherever somebody else
//! chooses it. A test can stop each of them, and start it again at the same address.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context as _, Result};
use axum::Router;
use axum::http::header::CONTENT_TYPE;
use axum::response::IntoResponse as _;
use axum::routing::get;
use hyperfleet_console::config::CONFIGURATION;
use hyperfleet_console::server;
use hyperfleet_console::source::Sources;
use jiff::Timestamp;
use lifecycle_config::settings::{Environment, Flags};
use lifecycle_e2e::browser::{Browser, Tab};
use lifecycle_e2e::{PATIENCE, free_port};
use lifecycle_service::http::{Limits, Listener, Server};
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

pub(crate) const ID: &str = "01a219eb-957a-7319-9ecb-fd65426d7ca0";
/// The pages of the console, with the page of the resource [`ID`].
pub(crate) const PAGES: [&str; 5] =
    ["/", "/resources/01a219eb-957a-7319-9ecb-fd65426d7ca0", "/adapters", "/adapters/jobs", "/sweeper"];

/// A server that a test may stop.
pub(crate) struct Source {
    address: SocketAddr,
    router: Router,
    server: Option<Server>,
}

impl Source {
    async fn start(router: Router) -> Result<Self> {
        let address = SocketAddr::from(([127, 0, 0, 1], free_port()?));
        let mut source = Self { address, router, server: None };
        source.come_back().await?;
        Ok(source)
    }

    pub(crate) async fn go_away(&mut self) {
        if let Some(server) = self.server.take() {
            server.stop(Duration::from_secs(1)).await;
        }
    }

    pub(crate) async fn come_back(&mut self) -> Result<()> {
        let listener = Listener::bind(self.address, "tests").await?;
        self.server = Some(listener.serve(self.router.clone(), Limits::default()));
        Ok(())
    }
}

/// A running console.
pub(crate) struct Console {
    text: String,
    pub(crate) url: String,
    server: Server,
    stop: CancellationToken,
}

impl Console {
    /// Starts a console with these lines of configuration; its pages are brought up to date each second.
    pub(crate) async fn start(lines: &str) -> Result<Self> {
        let address = format!("127.0.0.1:{}", free_port()?);
        Self::serve(format!("listen: '{address}'\nrefresh: 1s\n{lines}"), format!("http://{address}")).await
    }

    async fn serve(text: String, url: String) -> Result<Self> {
        lifecycle_e2e::init();
        let loaded = CONFIGURATION.parse("console.yaml", &text, &Environment::new(), &Flags::new());
        let (config, _) = loaded.map_err(|diagnostics| anyhow::anyhow!("{diagnostics}"))?;
        let (sources, stop) = (Arc::new(Sources::new(&config)?), CancellationToken::new());
        let server = server::serve(Arc::new(config), sources, stop.clone()).await?;
        Ok(Self { text, url, server, stop })
    }

    /// Stops it, and returns what starts it again at the same address.
    pub(crate) async fn stop(self) -> impl Future<Output = Result<Self>> {
        self.stop.cancel();
        self.server.stop(Duration::from_secs(1)).await;
        Self::serve(self.text, self.url)
    }
}

/// A console with scripted sources.
pub(crate) struct World {
    pub(crate) console: Console,
    pub(crate) api: Source,
    pub(crate) peers: Source,
    pub(crate) browser: Browser,
}

impl World {
    /// Starts a console whose sources have `text` in each place of somebody else's text.
    pub(crate) async fn start(text: &str) -> Result<Self> {
        let (api, peers) = (Source::start(api(text)).await?, Source::start(peers(text)).await?);
        let peer = format!("{{url: 'http://{}'}}", peers.address);
        let lines = format!(
            "api: {{base_url: 'http://{}', kinds: [Cluster]}}\nexporter: {peer}\nsweeper: {peer}\n\
             adapters: [{{name: jobs, url: 'http://{}'}}]\n",
            api.address, peers.address
        );
        Ok(Self { console: Console::start(&lines).await?, api, peers, browser: Browser::start().await? })
    }

    /// Opens a page, and waits until the console has brought it up to date once.
    pub(crate) async fn open(&self, path: &str) -> Result<Tab> {
        let tab = self.browser.open(&format!("{}{path}", self.console.url)).await?;
        tab.await_that("document.getElementById('live').textContent === 'Live'", PATIENCE)
            .await
            .context(path.to_owned())?;
        Ok(tab)
    }
}

/// A time that pages show as another number of seconds each time.
fn now() -> String {
    Timestamp::now().to_string()
}

fn cluster(text: &str) -> Value {
    json!({
        "id": ID, "kind": "Cluster", "name": text, "generation": 1, "created_time": "2026-01-01T00:00:00Z",
        "updated_time": now(), "updated_by": text, "labels": {"note": text, "region": "north"},
        "status": {"conditions": [
            {"type": "Reconciled", "status": "False", "reason": text, "message": text, "last_transition_time": "2026-01-01T00:00:00Z"},
            {"type": "JobsSuccessful", "status": "False"},
        ]},
    })
}

/// The API: one cluster.
fn api(text: &str) -> Router {
    let json = |body: Value| {
        let body = body.to_string();
        get(async move || ([(CONTENT_TYPE, "application/json")], body).into_response())
    };
    let report = json!({
        "adapter": "jobs", "observed_generation": 1, "last_report_time": "2026-01-01T00:01:00Z",
        "conditions": [{"type": "Available", "status": "False", "reason": text, "message": text}],
    });
    Router::new()
        .route(
            "/api/hyperfleet/v1/resources",
            json(json!({"items": [cluster(text)], "page": 1, "size": 1, "total": 1})),
        )
        .route("/api/hyperfleet/v1/resources/{id}", json(cluster(text)))
        .route("/api/hyperfleet/v1/resources/{id}/statuses", json(json!({"items": [report], "total": 1})))
}

/// The exporter, the adapter `jobs` and the sweeper.
fn peers(text: &str) -> Router {
    let of = |body: Value| get(async move || body.to_string());
    let stuck = json!({
        "items": [{"id": ID, "kind": "Cluster", "name": text, "age_seconds": 700, "waits_on": [{"adapter": "jobs", "cause": "not_available"}]}],
        "total": 1, "truncated": false,
    });
    let gate =
        json!({"gate": "delete", "answer": "false", "expression": text, "readings": [{"path": "a", "value": text}]});
    let member = json!({"object": text, "step": "wave 0", "decision": text, "effect": "failed", "readiness": "Failed", "why": text});
    let passes = json!({
        "adapter": "jobs", "version": "1.0.0", "replica": "jobs-0", "started": now(),
        "intake": {"takes_events": true, "in_flight": 1, "waiting": 0}, "totals": {"success": 3, "failed": 1, "failures": {(text): 1}},
        "passes": [{
            "time": "2026-01-01T00:01:00Z", "duration_seconds": 0.012, "trace_id": "0af7651916cd43dd8448eb211c80319c", "status": "failed",
            "event": {"kind": "Cluster", "resourceId": ID, "generation": 1}, "errors": {"resources": text}, "warnings": [text],
            "resources": [{"name": "job", "kind": "Job", "namespace": "n", "resourceName": text, "result": "created"}],
            "decisions": [{
                "resource": "job", "decision": "skip", "reason": "SameGeneration", "because": text, "row": "17", "condition": text,
                "otherwise": text, "gates": [gate], "objects": [member],
            }],
        }],
    });
    let orphan =
        json!({"kind": "Job", "namespace": "n", "name": text, "adapter": text, "resource_id": ID, "verdict": "delete"});
    let plan = json!({
        "version": "1.0.0", "replica": "sweeper-0", "leads": true, "dry_run": true, "interval_seconds": 600, "grace_seconds": 1800,
        "pass": {"time": now(), "plan": "abc", "holds": [text], "objects": [orphan]},
        "approve": "sweeper approve abc", "history": [{"kind": "Job", "name": text, "resource_id": text, "result": "deleted"}],
    });
    // Three boxes beside each other are wider than a telephone.
    let entry =
        |name: &str, kind: &str| json!({"name": name, "kind": kind, "is_created": "after `place`", "is_deleted": text});
    let task = json!({
        "resources": [entry("place", "Namespace"), entry("job", text), entry("record", "ConfigMap"), entry("last", "Job")],
        "arrows": [{"from": "place", "to": "last", "on": "creation"}, {"from": "record", "to": "place", "on": "deletion"}],
    });
    Router::new()
        .route("/stuck", of(stuck))
        .route("/passes", of(passes))
        .route("/plan", of(plan))
        .route("/task", of(task))
}
