#![expect(clippy::unwrap_used, reason = "tests")]

use super::*;
use crate::metrics::{MetricIdentity, Metrics};

struct Page {
    status: u16,
    kind: String,
    body: String,
}

async fn get(server: &AdminServer, path: &str, accept: &str) -> Page {
    let client = reqwest::Client::builder()
        .tls_backend_preconfigured(crate::tls::with_roots(rustls::RootCertStore::empty()).unwrap())
        .no_proxy()
        .build()
        .unwrap();
    let url = format!("http://127.0.0.1:{}{path}", server.address().port());
    let response = client.get(url).header(ACCEPT, accept).send().await.unwrap();
    let kind = response.headers().get(CONTENT_TYPE).map(|kind| kind.to_str().unwrap().to_owned());
    Page { status: response.status().as_u16(), kind: kind.unwrap_or_default(), body: response.text().await.unwrap() }
}

#[tokio::test]
async fn readiness_follows_the_process() {
    let readiness = Readiness::default();
    let server = serve_health("127.0.0.1:0", readiness.clone(), None).await.unwrap();
    let not_ready = |broker, config| {
        format!(r#"{{"checks":{{"broker":"{broker}","config":"{config}"}},"status":"error","message":"not ready"}}"#)
    };
    let ready = r#"{"checks":{"broker":"ok","config":"ok"},"status":"ok"}"#.to_owned();
    let stopping = r#"{"status":"error","message":"server is shutting down"}"#.to_owned();
    type Step = (&'static str, fn(&Readiness), u16, String);
    let steps: [Step; 6] = [
        ("at first", |_| {}, 503, not_ready("error", "error")),
        ("configuration loaded", Readiness::config_loaded, 503, not_ready("error", "ok")),
        ("broker connected", |it| it.set_broker(true), 200, ready.clone()),
        ("broker lost", |it| it.set_broker(false), 503, not_ready("error", "ok")),
        ("broker back", |it| it.set_broker(true), 200, ready),
        ("shutting down", Readiness::shutting_down, 503, stopping),
    ];
    for (name, step, status, body) in steps {
        step(&readiness);
        let page = get(&server, "/readyz", "*/*").await;
        assert_eq!((page.status, page.body), (status, body), "{name}");
        assert_eq!(page.kind, "application/json", "{name}");
        assert_eq!(readiness.is_ready(), status == 200, "{name}");
        let alive = get(&server, "/healthz", "*/*").await;
        assert_eq!((alive.status, alive.body.as_str()), (200, r#"{"status":"ok"}"#), "{name}");
    }
    server.stop(Duration::from_secs(5)).await;
}

#[tokio::test]
async fn the_configuration_is_shown_only_on_request() {
    let hidden = serve_health("127.0.0.1:0", Readiness::default(), None).await.unwrap();
    assert_eq!(get(&hidden, "/config", "*/*").await.status, 404);
    let shown = serve_health("127.0.0.1:0", Readiness::default(), Some("a: 1\n".into())).await.unwrap();
    let page = get(&shown, "/config", "*/*").await;
    assert_eq!((page.status, page.kind.as_str(), page.body.as_str()), (200, "application/yaml", "a: 1\n"));
    assert_eq!(get(&shown, "/else", "*/*").await.status, 404);
}

#[tokio::test]
async fn metrics_come_in_the_format_that_is_asked_for() {
    let identity = MetricIdentity { adapter: "a".to_owned(), version: "1".to_owned(), commit: "c".to_owned() };
    let server = serve_metrics("127.0.0.1:0", Arc::new(Metrics::new(&identity))).await.unwrap();
    let classic = get(&server, "/metrics", "*/*").await;
    assert_eq!((classic.status, classic.kind.as_str()), (200, "text/plain; version=0.0.4; charset=utf-8"));
    assert!(classic.body.contains("# TYPE hyperfleet_adapter_events_processed_total counter\n"), "{}", classic.body);
    let open = get(&server, "/metrics", "application/openmetrics-text; version=1.0.0").await;
    assert_eq!(open.kind, "application/openmetrics-text; version=1.0.0; charset=utf-8");
    assert!(open.body.ends_with("# EOF\n"), "{}", open.body);
}

#[tokio::test]
async fn an_address_that_cannot_be_listened_on_is_an_error() {
    let taken = serve_health("127.0.0.1:0", Readiness::default(), None).await.unwrap();
    let cases = [
        ("taken", taken.address().to_string()),
        ("taken, on all interfaces", format!(":{}", taken.address().port())),
        ("no port", "127.0.0.1".to_owned()),
        ("a port that is none", ":http".to_owned()),
    ];
    for (name, address) in cases {
        let error = serve_health(&address, Readiness::default(), None).await.err().map(|error| error.to_string());
        assert_eq!(error, Some(format!("failed to listen on `{address}` for health")), "{name}");
    }
}

#[tokio::test]
async fn a_port_alone_means_all_interfaces() {
    let server = serve_health(":0", Readiness::default(), None).await.unwrap();
    assert!(server.address().ip().is_unspecified());
    assert_eq!(get(&server, "/healthz", "*/*").await.status, 200);
}

#[tokio::test]
async fn a_stopped_server_listens_no_more() {
    let server = serve_health("127.0.0.1:0", Readiness::default(), None).await.unwrap();
    let address = server.address();
    server.stop(Duration::from_secs(5)).await;
    assert!(tokio::net::TcpStream::connect(address).await.is_err());
}
