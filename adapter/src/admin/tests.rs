#![expect(clippy::unwrap_used, reason = "tests")]

use std::net::{IpAddr, Ipv4Addr};
use std::time::Duration;

use axum::http::header::ACCEPT;
use lifecycle_service::access::Access;
use lifecycle_service::logging::Identity;

use super::*;
use crate::metrics::{MetricIdentity, Metrics};
use crate::passes::Passes;

/// Lets the system choose a free port.
const ANY: SocketAddr = SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), 0);

struct Page {
    status: u16,
    kind: String,
    body: String,
}

async fn get(server: &Server, path: &str, accept: &str) -> Page {
    let client = reqwest::Client::builder()
        .tls_backend_preconfigured(lifecycle_api_client::tls::with_roots(rustls::RootCertStore::empty()).unwrap())
        .no_proxy()
        .build()
        .unwrap();
    let url = format!("http://127.0.0.1:{}{path}", server.address().port());
    let response = client.get(url).header(ACCEPT, accept).send().await.unwrap();
    let kind = response.headers().get(CONTENT_TYPE).map(|kind| kind.to_str().unwrap().to_owned());
    Page { status: response.status().as_u16(), kind: kind.unwrap_or_default(), body: response.text().await.unwrap() }
}

#[tokio::test]
async fn readiness_needs_configuration_broker_and_dependencies() {
    let readiness = Readiness::default();
    let server = serve_health(ANY, CancellationToken::new(), readiness.clone(), None).await.unwrap();
    let not_ready = |broker, config| {
        format!(r#"{{"checks":{{"broker":"{broker}","config":"{config}"}},"status":"error","message":"not ready"}}"#)
    };
    let ready = r#"{"checks":{"broker":"ok","config":"ok"},"status":"ok"}"#.to_owned();
    let away = r#"{"checks":{"broker":"ok","config":"ok"},"status":"error","message":"waiting for the API: refused"}"#;
    type Step = (&'static str, fn(&Readiness), u16, String);
    let steps: [Step; 7] = [
        ("at first", |_| {}, 503, not_ready("error", "error")),
        ("configuration loaded", Readiness::config_loaded, 503, not_ready("error", "ok")),
        ("broker connected", |it| it.set_broker(true), 200, ready.clone()),
        ("broker lost", |it| it.set_broker(false), 503, not_ready("error", "ok")),
        ("broker back", |it| it.set_broker(true), 200, ready.clone()),
        ("dependency away", |it| it.set_unavailable(Some("the API: refused")), 503, away.to_owned()),
        ("dependency back", |it| it.set_unavailable(None), 200, ready),
    ];
    for (name, step, status, body) in steps {
        step(&readiness);
        let page = get(&server, "/readyz", "*/*").await;
        assert_eq!((page.status, page.body), (status, body), "{name}");
        assert_eq!(page.kind, "application/json", "{name}");
        let alive = get(&server, "/healthz", "*/*").await;
        assert_eq!((alive.status, alive.body.as_str()), (200, r#"{"status":"ok"}"#), "{name}");
    }
    server.stop(Duration::from_secs(5)).await;
}

#[tokio::test]
async fn configuration_is_served_only_if_enabled() {
    let hidden = serve_health(ANY, CancellationToken::new(), Readiness::default(), None).await.unwrap();
    assert_eq!(get(&hidden, "/config", "*/*").await.status, 404);
    let shown = serve_health(ANY, CancellationToken::new(), Readiness::default(), Some(config_page("a: 1\n".into())))
        .await
        .unwrap();
    let page = get(&shown, "/config", "*/*").await;
    assert_eq!((page.status, page.kind.as_str(), page.body.as_str()), (200, "application/yaml", "a: 1\n"));
    assert_eq!(get(&shown, "/else", "*/*").await.status, 404);
}

#[tokio::test]
async fn metrics_are_served_in_the_requested_format() {
    let identity = MetricIdentity { adapter: "a".to_owned(), version: "1".to_owned(), commit: "c".to_owned() };
    let server = serve_metrics(ANY, Arc::new(Metrics::new(&identity))).await.unwrap();
    let classic = get(&server, "/metrics", "*/*").await;
    assert_eq!((classic.status, classic.kind.as_str()), (200, "text/plain; version=0.0.4; charset=utf-8"));
    assert!(classic.body.contains("# TYPE hyperfleet_adapter_events_processed_total counter\n"), "{}", classic.body);
    let open = get(&server, "/metrics", "application/openmetrics-text; version=1.0.0").await;
    assert_eq!(open.kind, "application/openmetrics-text; version=1.0.0; charset=utf-8");
    assert!(open.body.ends_with("# EOF\n"), "{}", open.body);
}

/// Serves the pages of passes and of a task.
async fn pages(access: Access) -> Server {
    let identity = MetricIdentity { adapter: "a".to_owned(), version: "1".to_owned(), commit: "c".to_owned() };
    let source = passes::Source {
        identity: Identity { component: "a".to_owned(), version: "1".to_owned(), hostname: "pod-0".to_owned() },
        access,
        started: jiff::Timestamp::UNIX_EPOCH,
        passes: Arc::new(Passes::new(10, 1 << 16)),
        task: "{}".into(),
        readiness: Readiness::default(),
        metrics: Arc::new(Metrics::new(&identity)),
        stop: CancellationToken::new(),
    };
    serve_health(ANY, CancellationToken::new(), Readiness::default(), passes::pages(source)).await.unwrap()
}

#[tokio::test]
async fn passes_and_task_need_access_and_valid_parameters() {
    let token = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(&token, "s3cret").unwrap();
    let cases = [
        ("off", Access::Off, "/passes", 403, "set passes.token_file, or passes.anonymous to open it to all"),
        ("off", Access::Off, "/task", 403, "/task is off"),
        ("no token", Access::Token(token.path().to_owned()), "/passes", 401, "send the token"),
        ("no token", Access::Token(token.path().to_owned()), "/task", 401, "send the token"),
        ("open", Access::Anonymous, "/task", 200, "{}"),
        ("open", Access::Anonymous, "/passes", 200, r#""replica":"pod-0""#),
        ("filters", Access::Anonymous, "/passes?resource_id=c-1&limit=500", 200, r#""passes":[]}"#),
        ("empty filters", Access::Anonymous, "/passes?resource_id=&limit=", 200, r#""passes":[]}"#),
        ("no pass", Access::Anonymous, "/passes?limit=0", 400, "limit is from 1 to 500"),
        ("too many", Access::Anonymous, "/passes?limit=501", 400, "limit is from 1 to 500"),
        ("no number", Access::Anonymous, "/passes?limit=x", 400, "limit is from 1 to 500"),
        ("an unknown filter", Access::Anonymous, "/passes?cluster=c-1", 400, "unknown field `cluster`"),
    ];
    for (name, access, path, status, part) in cases {
        let server = pages(access).await;
        let page = get(&server, path, "*/*").await;
        assert_eq!((page.status, page.kind.as_str()), (status, "application/json"), "{name}: {path}: {}", page.body);
        assert!(page.body.contains(part), "{name}: {path}: {}", page.body);
        serde_json::from_str::<serde_json::Value>(&page.body).unwrap();
    }
}
