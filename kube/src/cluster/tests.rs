//! Tests of [`Cluster`] against a fake API server. `tests/` holds those against the real one.

#![expect(clippy::unwrap_used, reason = "tests")]

mod observer;
mod reads;
mod updates;
mod writes;

use std::io::Write as _;
use std::sync::Mutex;

use axum::extract::{Request, State};
use axum::http::StatusCode;
use serde_json::json;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;

use super::*;
use crate::connect;
use crate::{Fence, Selector};

type Answers = dyn Fn(&str) -> (u16, Value) + Send + Sync;

/// A fake API server: `answers` maps each request line to a status and body; `lines` records the request lines, `bodies` what
/// writes send.
#[derive(Clone)]
struct Server {
    answers: Arc<Answers>,
    lines: Arc<Mutex<Vec<String>>>,
    bodies: Arc<Mutex<Vec<Value>>>,
    together: Arc<tokio::sync::Barrier>,
}

impl Server {
    async fn start(answers: impl Fn(&str) -> (u16, Value) + Send + Sync + 'static) -> (Self, Client) {
        Self::start_with_barrier(1, answers).await
    }

    /// Delays every answer except discovery's until `together` requests have arrived.
    async fn start_with_barrier(
        together: usize,
        answers: impl Fn(&str) -> (u16, Value) + Send + Sync + 'static,
    ) -> (Self, Client) {
        let server = Self {
            answers: Arc::new(answers),
            lines: Arc::default(),
            bodies: Arc::default(),
            together: Arc::new(tokio::sync::Barrier::new(together)),
        };
        let router = axum::Router::new().fallback(answer).with_state(server.clone());
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        tokio::spawn(async move { axum::serve(listener, router).await });
        (server, client(&format!("http://{address}")).await)
    }

    fn lines(&self) -> Vec<String> {
        self.lines.lock().unwrap().clone()
    }

    fn bodies(&self) -> Vec<Value> {
        self.bodies.lock().unwrap().clone()
    }
}

async fn answer(State(server): State<Server>, request: Request) -> (StatusCode, axum::body::Body) {
    let line = format!("{} {}", request.method(), request.uri());
    assert_eq!(request.headers()["user-agent"], "lifecycle-test/1");
    server.lines.lock().unwrap().push(line.clone());
    if line == "GET /api/v1" {
        let kinds = json!({ "kind": "APIResourceList", "resources": [
            { "name": "configmaps", "singularName": "", "namespaced": true, "kind": "ConfigMap", "verbs": [] },
            { "name": "namespaces", "singularName": "", "namespaced": false, "kind": "Namespace", "verbs": [] },
            { "name": "namespaces/finalize", "singularName": "", "namespaced": false, "kind": "Other", "verbs": [] },
        ] });
        return (StatusCode::OK, kinds.to_string().into());
    }
    let body = axum::body::to_bytes(request.into_body(), usize::MAX).await.unwrap();
    server.bodies.lock().unwrap().extend(serde_json::from_slice::<Value>(&body));
    server.together.wait().await;
    let (status, body) = (server.answers)(&line);
    (StatusCode::from_u16(status).unwrap(), body.to_string().into())
}

/// Builds the client through [`connect`], so that the tests cover its settings.
async fn client(url: &str) -> Client {
    let mut file = tempfile::NamedTempFile::new().unwrap();
    let kubeconfig = json!({ "apiVersion": "v1", "kind": "Config", "current-context": "x",
        "clusters": [{ "name": "x", "cluster": { "server": url } }],
        "users": [{ "name": "x", "user": {} }],
        "contexts": [{ "name": "x", "context": { "cluster": "x", "user": "x" } }] });
    file.write_all(kubeconfig.to_string().as_bytes()).unwrap();
    connect(Some(file.path()), "lifecycle-test/1").await.unwrap()
}

fn cluster(client: Client) -> Cluster {
    Cluster::new(client, "me", Settings::default())
}

/// A cluster client whose fake server answers with `answers`.
async fn answering(answers: impl Fn(&str) -> (u16, Value) + Send + Sync + 'static) -> Cluster {
    cluster(Server::start(answers).await.1)
}

/// The URL of a port on which nothing listens.
async fn closed_port() -> String {
    format!("http://{}", TcpListener::bind("127.0.0.1:0").await.unwrap().local_addr().unwrap())
}

fn named(kind: &str, namespace: &str, name: &str) -> ObjectRef {
    let kind = GroupVersionKind::new("v1", kind);
    ObjectRef { name: name.to_owned(), ..ObjectRef::all(kind, Some(namespace)) }
}

fn config_map() -> Value {
    json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "name": "a", "namespace": "team", "uid": "u1" } })
}

fn status(code: u16, reason: &str, details: Value) -> (u16, Value) {
    (code, json!({ "kind": "Status", "code": code, "reason": reason, "message": "no", "details": details }))
}

#[tokio::test]
async fn refused_request_is_sent_once() {
    for code in [409, 429, 500, 502, 503, 504] {
        let (server, client) = Server::start(move |_| status(code, "", Value::Null)).await;
        let cluster = cluster(client);
        let refused = cluster.create(&config_map()).await.unwrap_err();
        assert_eq!(refused.status, Some(code));
        cluster.get(&named("ConfigMap", "team", "a")).await.unwrap_err();
        let expected = [
            "GET /api/v1",
            "POST /api/v1/namespaces/team/configmaps?fieldManager=me&fieldValidation=Strict",
            "GET /api/v1/namespaces/team/configmaps/a",
        ];
        assert_eq!(server.lines(), expected, "{code}");
    }
}

#[tokio::test]
async fn cut_connection_is_unreachable_and_the_request_is_sent_once() {
    for (name, answer) in
        [("before an answer", ""), ("within an answer", "HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\n{")]
    {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let requests = Arc::new(Mutex::new(0));
        let counter = Arc::clone(&requests);
        tokio::spawn(async move {
            loop {
                let (mut stream, _) = listener.accept().await.unwrap();
                let mut buffer = [0; 4096];
                let read = stream.read(&mut buffer).await.unwrap();
                assert!(read > 0);
                *counter.lock().unwrap() += 1;
                stream.write_all(answer.as_bytes()).await.unwrap();
            }
        });
        let cluster = cluster(client(&format!("http://{address}")).await);
        let error = cluster.get(&named("ConfigMap", "team", "a")).await.unwrap_err();
        assert_eq!(error.kind, WriteErrorKind::Unreachable, "{name}: {error}");
        assert!(error.to_string().starts_with("failed to get ConfigMap team/a: failed to look up"), "{name}: {error}");
        assert_eq!(*requests.lock().unwrap(), 1, "{name}");
    }
}

#[tokio::test]
async fn refused_connection_is_unreachable_with_each_cause_once() {
    let error = cluster(client(&closed_port().await).await).create(&config_map()).await.unwrap_err();
    assert_eq!((error.kind, error.status), (WriteErrorKind::Unreachable, None));
    assert!(error.message.contains("Connection refused"), "{error}");
    assert_eq!(error.message.matches("client error").count(), 1, "each cause is printed once: {error}");
}

#[tokio::test]
async fn request_without_an_answer_ends_with_its_time_limit() {
    let (_server, client) = Server::start_with_barrier(2, |_| (200, Value::Null)).await;
    // The limit of the discovery, too, which is answered.
    let settings = Settings { request_timeout: Duration::from_secs(1), ..Settings::default() };
    let error = Cluster::new(client, "me", settings).create(&config_map()).await.unwrap_err();
    assert_eq!(error.kind, WriteErrorKind::Unreachable);
    assert_eq!(error.message, "no answer within 1 s");
}

#[tokio::test]
async fn simultaneous_calls_share_one_lookup() {
    let (server, client) = Server::start_with_barrier(64, |_| (200, config_map())).await;
    let cluster = cluster(client);
    let objects = vec![named("ConfigMap", "team", "a"); 64];
    let found = futures::future::join_all(objects.iter().map(|object| cluster.get(object))).await;
    assert!(found.iter().all(|found| found.as_ref().is_ok_and(Option::is_some)));
    let lookups = server.lines().iter().filter(|line| *line == "GET /api/v1").count();
    assert_eq!((lookups, server.lines().len()), (1, 65));
}

#[tokio::test]
async fn object_is_absent_only_if_the_server_names_it() {
    let missing = |name: &str, kind: &str| status(404, "NotFound", json!({ "name": name, "kind": kind }));
    let cases = [
        ("the object is missing", missing("a", "configmaps"), Some(0)),
        ("the namespace is missing", missing("team", "namespaces"), None),
        ("the path is not served", status(404, "NotFound", json!({})), None),
        ("reading is forbidden", status(403, "Forbidden", json!({ "name": "a" })), None),
    ];
    for (name, answer, expected) in cases {
        let (_server, client) = Server::start(move |_| answer.clone()).await;
        let found = cluster(client).get(&named("ConfigMap", "team", "a")).await;
        assert_eq!(found.ok().map(|object| usize::from(object.is_some())), expected, "{name}");
    }
}

#[tokio::test]
async fn namespace_is_required_only_for_namespaced_kinds() {
    let namespace = json!({ "apiVersion": "v1", "kind": "Namespace", "metadata": { "name": "a", "uid": "u" } });
    let (server, client) = Server::start(move |_| (200, namespace.clone())).await;
    let cluster = cluster(client);
    let error = cluster.get(&named("ConfigMap", "", "a")).await.unwrap_err();
    assert_eq!(error.kind, WriteErrorKind::Invalid);
    assert_eq!(
        error.to_string(),
        "failed to get ConfigMap a: ConfigMap is a namespaced kind: the namespace is missing"
    );
    cluster.get(&named("Namespace", "team", "a")).await.unwrap();
    assert_eq!(server.lines(), ["GET /api/v1", "GET /api/v1/namespaces/a"]);
}

#[tokio::test]
async fn kind_is_remembered_until_its_path_is_not_served() {
    let (server, client) = Server::start(|_| status(404, "NotFound", json!({}))).await;
    let cluster = cluster(client);
    let query = named("ConfigMap", "team", "a");
    cluster.get(&query).await.unwrap_err();
    cluster.get(&query).await.unwrap_err();
    let object = "GET /api/v1/namespaces/team/configmaps/a";
    assert_eq!(server.lines(), ["GET /api/v1", object, "GET /api/v1", object]);
}

#[tokio::test]
async fn missing_kind_is_looked_up_again_after_a_while() {
    for (look_again_after, lookups) in [(Duration::from_secs(600), 1), (Duration::ZERO, 3)] {
        let (server, client) = Server::start(|_| (200, Value::Null)).await;
        let cluster = Cluster::new(client, "me", Settings { look_again_after, ..Settings::default() });
        for _ in 0..3 {
            let error = cluster.get(&named("Widget", "team", "a")).await.unwrap_err();
            assert_eq!(error.kind, WriteErrorKind::NotFound);
            assert_eq!(error.to_string(), "failed to get Widget team/a: the API server serves no kind Widget in v1");
        }
        assert_eq!(server.lines().len(), lookups);
    }
}

#[tokio::test]
async fn failed_lookup_is_not_remembered() {
    let widget = json!({ "resources": [{ "name": "widgets", "namespaced": true, "kind": "Widget" }] });
    let failures = Mutex::new(1);
    let (server, client) = Server::start(move |line| {
        let mut failures = failures.lock().unwrap();
        match line {
            "GET /apis/example.com/v1" if *failures > 0 => {
                *failures -= 1;
                status(503, "ServiceUnavailable", Value::Null)
            }
            "GET /apis/example.com/v1" => (200, widget.clone()),
            _ => {
                let metadata = json!({ "name": "a", "namespace": "team", "uid": "u" });
                (200, json!({ "apiVersion": "example.com/v1", "kind": "Widget", "metadata": metadata }))
            }
        }
    })
    .await;
    let cluster = cluster(client);
    let query = ObjectRef { kind: GroupVersionKind::new("example.com/v1", "Widget"), ..named("Widget", "team", "a") };
    let error = cluster.get(&query).await.unwrap_err();
    assert_eq!(error.kind, WriteErrorKind::Unavailable);
    assert_eq!(error.to_string(), "failed to get Widget team/a: failed to look up the kind: no (HTTP status 503)");
    cluster.get(&query).await.unwrap();
    assert_eq!(server.lines().len(), 3);
}
