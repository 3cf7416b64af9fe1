//! A console, and sources that answer as the API, the exporter, an adapter and the sweeper do.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use axum::Router;
use axum::http::StatusCode;
use axum::http::header::CONTENT_TYPE;
use axum::response::IntoResponse as _;
use axum::routing::get;
use hyperfleet_console::config::{CONFIGURATION, Config};
use hyperfleet_console::server;
use hyperfleet_console::source::Sources;
use lifecycle_config::settings::{Environment, Flags};
use lifecycle_service::http::{Limits, Listener, Server};
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

pub(crate) const ID: &str = "01a219eb-957a-7319-9ecb-fd65426d7ca0";
/// What nobody's text may become: markup, a script, or the end of an attribute.
pub(crate) const HOSTILE: &str = "<script>alert(1)</script>\"'><img src=x onerror=alert(2)>";

/// A console, with its sources.
pub(crate) struct World {
    pub(crate) console: Server,
    pub(crate) _sources: Vec<Server>,
    pub(crate) questions: Arc<AtomicUsize>,
    pub(crate) client: reqwest::Client,
}

pub(crate) async fn serve(router: Router) -> Server {
    let listener = Listener::bind(SocketAddr::from(([127, 0, 0, 1], 0)), "tests").await.unwrap();
    listener.serve(router, Limits::default())
}

pub(crate) fn cluster(name: &str) -> Value {
    json!({
        "id": ID, "kind": "Cluster", "name": name, "generation": 1, "created_time": "2026-01-01T00:00:00Z",
        "updated_time": "2026-01-01T00:00:00Z", "labels": {"note": HOSTILE},
        "status": {"conditions": [
            {"type": "Reconciled", "status": "False", "reason": HOSTILE, "message": HOSTILE, "last_transition_time": "2026-01-01T00:00:00Z"},
            {"type": "JobsSuccessful", "status": "False"},
        ]},
    })
}

pub(crate) fn report() -> Value {
    json!({
        "adapter": "jobs", "observed_generation": 1, "last_report_time": "2026-01-01T00:01:00Z",
        "conditions": [{"type": "Available", "status": "False", "reason": "JobFailed", "message": HOSTILE}],
    })
}

pub(crate) fn passes() -> Value {
    json!({
        "adapter": "jobs", "version": "1.0.0", "replica": "jobs-0", "started": "2026-01-01T00:00:00Z", "totals": {"success": 3},
        "passes": [{
            "time": "2026-01-01T00:01:00Z", "duration_seconds": 0.012, "trace_id": "0af7651916cd43dd8448eb211c80319c", "status": "success",
            "event": {"kind": "Cluster", "resourceId": ID, "generation": 1},
            "resources": [{"name": "job", "kind": "Job", "namespace": "n", "resourceName": HOSTILE, "result": "skipped"}],
            "decisions": [{
                "resource": "job", "decision": "skip", "reason": "SameGeneration", "because": HOSTILE, "row": "17", "condition": "live",
                "otherwise": "the event has to be about another generation",
                "gates": [{"gate": "delete", "answer": "false", "expression": "a < b", "readings": [{"path": "a", "value": HOSTILE}]}],
            }],
        }],
    })
}

/// The API: one cluster among 100,000.
pub(crate) fn api(questions: Arc<AtomicUsize>) -> Router {
    let json = |body: Value| ([(CONTENT_TYPE, "application/json")], body.to_string()).into_response();
    let list = move || {
        questions.fetch_add(1, Ordering::Relaxed);
        json(json!({"items": [cluster(HOSTILE)], "page": 1, "size": 1, "total": 100_000}))
    };
    let one = move |axum::extract::Path(id): axum::extract::Path<String>| {
        if id == ID {
            return json(cluster(HOSTILE));
        }
        let body = json!({
            "type": "https://api.hyperfleet.io/errors/not-found", "title": "Resource Not Found", "status": 404, "detail": "none",
            "instance": format!("/api/hyperfleet/v1/resources/{id}"), "code": "HYPERFLEET-NTF-001", "timestamp": "2026-01-01T00:00:00Z",
            "trace_id": "x",
        });
        (StatusCode::NOT_FOUND, [(CONTENT_TYPE, "application/problem+json")], body.to_string()).into_response()
    };
    Router::new()
        .route("/api/hyperfleet/v1/resources", get(async move || list()))
        .route("/api/hyperfleet/v1/resources/{id}", get(async move |path| one(path)))
        .route(
            "/api/hyperfleet/v1/resources/{id}/statuses",
            get(async move || json(json!({"items": [report()], "total": 1}))),
        )
}

pub(crate) fn peer() -> Router {
    let of = |body: Value| get(async move || body.to_string());
    let stuck = json!({
        "items": [{"id": ID, "kind": "Cluster", "name": HOSTILE, "age_seconds": 700, "waits_on": [{"adapter": "jobs", "cause": "not_available"}]}],
        "total": 1, "truncated": false,
    });
    let plan = json!({
        "version": "1.0.0", "replica": "sweeper-0", "leads": true, "dry_run": true, "interval_seconds": 600, "grace_seconds": 1800,
        "pass": {"plan": "abc", "holds": [HOSTILE], "objects": [{"kind": "Job", "name": HOSTILE, "resource_id": ID, "verdict": "delete"}]},
        "approve": "sweeper approve abc", "history": [{"kind": "Job", "name": HOSTILE, "result": "deleted"}],
    });
    let task = json!({"resources": [{"name": "job", "kind": HOSTILE}], "arrows": []});
    Router::new()
        .route("/stuck", of(stuck))
        .route("/passes", of(passes()))
        .route("/plan", of(plan))
        .route("/task", of(task))
}

/// Answers as large as the sources make them: many passes, entries, objects and orphans, with long texts full of markup.
pub(crate) fn large() -> Router {
    let long = HOSTILE.repeat(40);
    let repeat = |value: Value, count: usize| Value::from(vec![value; count]);
    let member = json!({"object": long, "step": "wave 0", "decision": HOSTILE, "effect": "failed", "readiness": "Failed", "why": long});
    let gate = json!({"gate": long, "answer": "false", "expression": long, "readings": repeat(json!({"path": long, "value": long}), 50)});
    let decision = json!({
        "resource": "job", "decision": "skip", "reason": "SameGeneration", "because": long, "row": "17", "condition": "live",
        "gates": repeat(gate, 3), "warnings": repeat(json!(long), 3),
    });
    let mut decisions = vec![decision; 8];
    decisions[0]["objects"] = repeat(member, 1000);
    let pass = json!({
        "time": "2026-01-01T00:01:00Z", "status": "failed", "event": {"kind": "Cluster", "resourceId": ID, "generation": 1},
        "resources": repeat(json!({"name": "job", "kind": "Job", "resourceName": long, "result": "failed", "error": long}), 40),
        "decisions": decisions, "errors": {"resources": long, "post_actions": long}, "warnings": repeat(json!(long), 20),
    });
    let passes = json!({"adapter": "jobs", "passes": repeat(pass, 1)});
    let short = json!({"time": "2026-01-01T00:01:00Z", "status": "failed", "event": {"resourceId": ID}, "errors": {"resources": long}});
    let orphan =
        json!({"kind": "Job", "namespace": "n", "name": long, "adapter": long, "resource_id": ID, "verdict": "delete"});
    let plan = json!({
        "leads": true, "pass": {"holds": repeat(json!(long), 200), "objects": repeat(orphan.clone(), 500)}, "history": repeat(orphan, 500),
    });
    let stuck = json!({
        "items": repeat(json!({"id": ID, "kind": "Cluster", "name": long, "waits_on": [{"adapter": long, "cause": "x"}]}), 500), "total": 500,
    });
    let of = |body: Value| get(async move || body.to_string());
    let resource =
        |number: usize| json!({"name": format!("r{number}"), "kind": long, "is_created": long, "is_deleted": long});
    let arrow = |number: usize| json!({"from": format!("r{number}"), "to": "r0", "on": "creation", "label": long});
    let task = json!({"resources": (0..40).map(resource).collect::<Vec<_>>(), "arrows": (0..40).cycle().take(400).map(arrow).collect::<Vec<_>>()});
    let many = json!({"adapter": "jobs", "passes": repeat(short, 50)});
    let choose = move |query: Option<String>| match query.is_some_and(|query| query.contains("resource_id")) {
        true => passes.to_string(),
        false => many.to_string(),
    };
    Router::new()
        .route("/stuck", of(stuck))
        .route("/plan", of(plan))
        .route("/task", of(task))
        .route("/passes", get(async move |axum::extract::RawQuery(query): axum::extract::RawQuery| choose(query)))
}

impl World {
    /// Starts a console; `more` are lines of its configuration. The sources named `{peer}` answer.
    pub(crate) async fn start(more: &str) -> Self {
        Self::beside(peer(), more).await
    }

    pub(crate) async fn beside(peer: Router, more: &str) -> Self {
        let questions = Arc::<AtomicUsize>::default();
        Self { questions: questions.clone(), ..Self::of(api(questions), peer, more).await }
    }

    pub(crate) async fn of(api: Router, peer: Router, more: &str) -> Self {
        Self::with(api, peer, more, "").await
    }

    /// Starts a console that waits for so long for an answer.
    pub(crate) async fn of_patience(timeout: &str, peer: Router, more: &str) -> Self {
        Self::with(api(Arc::default()), peer, more, &format!(", timeout: {timeout}")).await
    }

    async fn with(api: Router, peer: Router, more: &str, of_api: &str) -> Self {
        let (api, peer) = (serve(api).await, serve(peer).await);
        let more = more.replace("{peer}", &format!("http://{}", peer.address()));
        let text = format!(
            "listen: '127.0.0.1:0'\napi: {{base_url: 'http://{}', kinds: [Cluster]{of_api}}}\n{more}",
            api.address()
        );
        let (config, _) = CONFIGURATION
            .parse("console.yaml", &text, &Environment::new(), &Flags::new())
            .unwrap_or_else(|it| panic!("{it}"));
        let console = console(config).await;
        Self { console, _sources: vec![api, peer], questions: Arc::default(), client: reqwest::Client::new() }
    }

    pub(crate) async fn all() -> Self {
        Self::start(ALL).await
    }

    pub(crate) async fn get(&self, path: &str) -> (u16, String) {
        let response = self.client.get(format!("http://{}{path}", self.console.address())).send().await.unwrap();
        (response.status().as_u16(), response.text().await.unwrap())
    }

    pub(crate) async fn page(&self, path: &str) -> String {
        let (status, text) = self.get(path).await;
        assert_eq!(status, 200, "{path}: {text}");
        text
    }
}

pub(crate) async fn console(config: Config) -> Server {
    let _ = rustls::crypto::ring::default_provider().install_default();
    let sources = Arc::new(Sources::new(&config).unwrap());
    server::serve(Arc::new(config), sources, CancellationToken::new()).await.unwrap()
}

/// The keys with which every source answers.
pub(crate) const ALL: &str = "exporter: {url: '{peer}'}\nadapters: [{name: jobs, url: '{peer}'}]\nsweeper: {url: '{peer}'}\n\
                   links: {trace: 'https://traces/{trace_id}'}\n";
