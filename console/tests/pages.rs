//! Reads the pages over HTTP, with sources that answer as the API, the exporter, an adapter and the sweeper do, or that do not answer.

#![expect(clippy::unwrap_used, reason = "tests")]

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use axum::Router;
use axum::http::StatusCode;
use axum::http::header::CONTENT_TYPE;
use axum::response::IntoResponse as _;
use axum::routing::get;
use hyperfleet_console::config::{self, Config};
use hyperfleet_console::server;
use hyperfleet_console::source::Sources;
use lifecycle_config::settings::{Environment, Flags};
use lifecycle_service::http::{Limits, Listener, Server};
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

const ID: &str = "01a219eb-957a-7319-9ecb-fd65426d7ca0";
/// What nobody's text may become: markup, a script, or the end of an attribute.
const HOSTILE: &str = "<script>alert(1)</script>\"'><img src=x onerror=alert(2)>";

/// A console, with its sources.
struct World {
    console: Server,
    _sources: Vec<Server>,
    questions: Arc<AtomicUsize>,
    client: reqwest::Client,
}

async fn serve(router: Router) -> Server {
    let listener = Listener::bind(SocketAddr::from(([127, 0, 0, 1], 0)), "tests").await.unwrap();
    listener.serve(router, Limits::default())
}

fn cluster(name: &str) -> Value {
    json!({
        "id": ID, "kind": "Cluster", "name": name, "generation": 1, "created_time": "2026-01-01T00:00:00Z",
        "updated_time": "2026-01-01T00:00:00Z", "labels": {"note": HOSTILE},
        "status": {"conditions": [
            {"type": "Reconciled", "status": "False", "reason": HOSTILE, "message": HOSTILE, "last_transition_time": "2026-01-01T00:00:00Z"},
            {"type": "JobsSuccessful", "status": "False"},
        ]},
    })
}

fn report() -> Value {
    json!({
        "adapter": "jobs", "observed_generation": 1, "last_report_time": "2026-01-01T00:01:00Z",
        "conditions": [{"type": "Available", "status": "False", "reason": "JobFailed", "message": HOSTILE}],
    })
}

fn passes() -> Value {
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
fn api(questions: Arc<AtomicUsize>) -> Router {
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

fn peer() -> Router {
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
fn large() -> Router {
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
    let many = json!({"adapter": "jobs", "passes": repeat(short, 50)});
    let choose = move |query: Option<String>| match query.is_some_and(|query| query.contains("resource_id")) {
        true => passes.to_string(),
        false => many.to_string(),
    };
    Router::new()
        .route("/stuck", of(stuck))
        .route("/plan", of(plan))
        .route("/task", of(json!({})))
        .route("/passes", get(async move |axum::extract::RawQuery(query): axum::extract::RawQuery| choose(query)))
}

impl World {
    /// Starts a console; `more` are lines of its configuration. The sources named `{peer}` answer.
    async fn start(more: &str) -> Self {
        Self::beside(peer(), more).await
    }

    async fn beside(peer: Router, more: &str) -> Self {
        let questions = Arc::<AtomicUsize>::default();
        let (api, peer) = (serve(api(questions.clone())).await, serve(peer).await);
        let more = more.replace("{peer}", &format!("http://{}", peer.address()));
        let text =
            format!("listen: '127.0.0.1:0'\napi: {{base_url: 'http://{}', kinds: [Cluster]}}\n{more}", api.address());
        let (config, _) = config::parse("console.yaml", &text, &Environment::new(), &Flags::new())
            .unwrap_or_else(|it| panic!("{it}"));
        let console = console(config).await;
        Self { console, _sources: vec![api, peer], questions, client: reqwest::Client::new() }
    }

    async fn all() -> Self {
        Self::start(ALL).await
    }

    async fn get(&self, path: &str) -> (u16, String) {
        let response = self.client.get(format!("http://{}{path}", self.console.address())).send().await.unwrap();
        (response.status().as_u16(), response.text().await.unwrap())
    }

    async fn page(&self, path: &str) -> String {
        let (status, text) = self.get(path).await;
        assert_eq!(status, 200, "{path}: {text}");
        text
    }
}

async fn console(config: Config) -> Server {
    let _ = rustls::crypto::ring::default_provider().install_default();
    let sources = Arc::new(Sources::new(&config).unwrap());
    server::serve(Arc::new(config), sources, CancellationToken::new()).await.unwrap()
}

/// The keys with which every source answers.
const ALL: &str = "exporter: {url: '{peer}'}\nadapters: [{name: jobs, url: '{peer}'}]\nsweeper: {url: '{peer}'}\n\
                   links: {trace: 'https://traces/{trace_id}'}\n";

const PAGES: [&str; 5] =
    ["/", "/resources/01a219eb-957a-7319-9ecb-fd65426d7ca0", "/adapters", "/adapters/jobs", "/sweeper"];

#[tokio::test]
async fn text_of_others_stays_text_on_every_page() {
    let world = World::all().await;
    for path in PAGES {
        let page = world.page(path).await;
        assert!(page.contains("&lt;script&gt;") || path == "/adapters", "{path} does not show the text: {page}");
        assert!(!page.contains("<script>alert") && !page.contains("<img"), "{path}: {page}");
        assert!(page.len() < 100_000, "{path} has {} bytes", page.len());
    }
}

#[tokio::test]
async fn page_stays_small_however_much_the_sources_answer() {
    let world = World::beside(large(), ALL).await;
    for path in PAGES {
        let page = world.page(path).await;
        assert!(page.len() < 100_000, "{path} has {} bytes", page.len());
        assert!(!page.contains("class=\"away\""), "{path} shows a source as away");
    }
}

#[tokio::test]
async fn answers_forbid_what_is_not_the_consoles_own() {
    let world = World::all().await;
    for path in PAGES.into_iter().chain(["/assets/style.css", "/assets/live.js", "/nowhere"]) {
        let response = world.client.get(format!("http://{}{path}", world.console.address())).send().await.unwrap();
        let policy = response.headers()["content-security-policy"].to_str().unwrap().to_owned();
        assert!(policy.starts_with("default-src 'none'") && !policy.contains("unsafe"), "{path}: {policy}");
        assert_eq!(response.headers()["cache-control"], "no-store", "{path}");
        let text = response.text().await.unwrap();
        for inline in [" style=", "<style", " onclick", "javascript:"] {
            assert!(!text.contains(inline) || path.starts_with("/assets"), "{path} has {inline}");
        }
    }
}

#[tokio::test]
async fn page_of_a_stuck_resource_says_what_whose_and_what_helps() {
    let world = World::all().await;
    let page = world.page(PAGES[1]).await;
    for part in [
        "Needs somebody",
        "it waits on adapter jobs",
        "JobFailed",
        "Whose part: ",
        "What would change it",
        "For another decision, the event has to be about another generation",
        "Row 17 of the decision table",
        "https://traces/0af7651916cd43dd8448eb211c80319c",
    ] {
        assert!(page.contains(part), "no `{part}` in {page}");
    }
}

#[tokio::test]
async fn resource_that_the_api_does_not_have_is_not_found() {
    let world = World::all().await;
    let (status, page) = world.get("/resources/none").await;
    assert_eq!(status, 404);
    assert!(page.contains("The API has no resource with the id none"), "{page}");
    assert_eq!(world.get("/nowhere").await.0, 404);
    assert_eq!(world.get("/?name=a%27").await.0, 400);
}

#[tokio::test]
async fn source_that_does_not_answer_is_shown_as_away() {
    // Nothing listens on the port of a server that has stopped.
    let gone = serve(Router::new()).await;
    let address = gone.address();
    gone.stop(Duration::from_secs(1)).await;
    let away = format!("{{url: 'http://{address}'}}");
    let world = World::start(&format!(
        "exporter: {away}\nadapters: [{{name: jobs, url: 'http://{address}'}}]\nsweeper: {away}\n"
    ))
    .await;
    for (path, source) in PAGES.into_iter().zip(["exporter", "adapter jobs", "adapter jobs", "adapter jobs", "sweeper"])
    {
        let page = world.page(path).await;
        assert!(page.contains(&format!("<strong>{source} is away. </strong>")), "{path}: {page}");
        assert!(!page.contains("Nothing is stuck") && !page.contains("No object is orphaned"), "{path}: {page}");
    }
}

#[tokio::test]
async fn api_that_does_not_answer_is_shown_as_away() {
    let gone = serve(Router::new()).await;
    let text = format!("listen: '127.0.0.1:0'\napi: {{base_url: 'http://{}', kinds: [Cluster]}}", gone.address());
    gone.stop(Duration::from_secs(1)).await;
    let (config, _) = config::parse("console.yaml", &text, &Environment::new(), &Flags::new()).unwrap();
    let console = console(config).await;
    for path in ["/", PAGES[1]] {
        let page = reqwest::get(format!("http://{}{path}", console.address())).await.unwrap().text().await.unwrap();
        assert!(page.contains("API is away"), "{path}: {page}");
    }
}

#[tokio::test]
async fn pages_need_the_token_if_one_is_configured() {
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(file.path(), "s3cret\n").unwrap();
    let world = World::start(&format!("access: {{token_file: '{}'}}", file.path().display())).await;
    for path in PAGES.into_iter().chain(["/live?of=%2F", "/assets/live.js"]) {
        let (status, text) = world.get(path).await;
        assert_eq!(status, 401, "{path}: {text}");
        assert!(!text.contains("Fleet"), "{path}: {text}");
    }
    let url = format!("http://{}/", world.console.address());
    let allowed = world.client.get(url).basic_auth("anybody", Some("s3cret")).send().await.unwrap();
    assert_eq!(allowed.status(), 200);
}

#[tokio::test]
async fn readers_who_ask_at_once_share_the_questions() {
    let world = World::all().await;
    let pages = futures::future::join_all((0..50).map(|_| world.page("/"))).await;
    assert_eq!(pages.len(), 50);
    // Four counts and a list, in each second that the pages took.
    let asked = world.questions.load(Ordering::Relaxed);
    assert!(asked <= 25, "{asked} questions");
}

#[tokio::test]
async fn stream_sends_the_content_of_its_page() {
    let world = World::all().await;
    let url = format!("http://{}/live?of=%2Fsweeper", world.console.address());
    let mut response = world.client.get(url).send().await.unwrap();
    assert_eq!(response.headers()["content-type"], "text/event-stream");
    let mut text = String::new();
    while !text.contains("\n\n") {
        text.push_str(&String::from_utf8_lossy(&response.chunk().await.unwrap().unwrap()));
    }
    assert!(text.starts_with("event: content\ndata: <h1>Sweeper</h1>"), "{text}");
    assert_eq!(world.get("/live?of=%2Fnowhere").await.0, 404);
}
