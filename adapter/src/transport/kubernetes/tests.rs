//! The transport against a server that answers as told. What the real API server answers is in `tests/`.

#![expect(clippy::unwrap_used, reason = "tests")]

use std::collections::BTreeMap;
use std::io::Write as _;
use std::sync::Mutex;

use axum::extract::{Request, State};
use axum::http::StatusCode;
use lifecycle_core::id::GroupVersionKind;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;

use super::*;

type Answers = dyn Fn(&str) -> (u16, Value) + Send + Sync;

/// A server that answers each request line by a function, and keeps the lines.
#[derive(Clone)]
struct Server {
    answers: Arc<Answers>,
    lines: Arc<Mutex<Vec<String>>>,
    together: Arc<tokio::sync::Barrier>,
}

impl Server {
    async fn start(answers: impl Fn(&str) -> (u16, Value) + Send + Sync + 'static) -> (Self, Client) {
        Self::start_with_barrier(1, answers).await
    }

    /// Holds back the answers to all but discovery until `together` requests have come.
    async fn start_with_barrier(
        together: usize,
        answers: impl Fn(&str) -> (u16, Value) + Send + Sync + 'static,
    ) -> (Self, Client) {
        let server = Self {
            answers: Arc::new(answers),
            lines: Arc::default(),
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
    server.together.wait().await;
    let (status, body) = (server.answers)(&line);
    (StatusCode::from_u16(status).unwrap(), body.to_string().into())
}

/// Goes through [`connect`], so that what it sets is what is tested.
async fn client(url: &str) -> Client {
    let mut file = tempfile::NamedTempFile::new().unwrap();
    let kubeconfig = json!({ "apiVersion": "v1", "kind": "Config", "current-context": "x",
        "clusters": [{ "name": "x", "cluster": { "server": url } }],
        "users": [{ "name": "x", "user": {} }],
        "contexts": [{ "name": "x", "context": { "cluster": "x", "user": "x" } }] });
    file.write_all(kubeconfig.to_string().as_bytes()).unwrap();
    connect(Some(file.path()), "lifecycle-test/1").await.unwrap()
}

fn transport(client: Client) -> KubernetesTransport {
    KubernetesTransport::new(client, "me", Settings::default())
}

fn named(kind: &str, namespace: &str, name: &str) -> Query {
    Query {
        destination: Destination::ThisCluster,
        kind: GroupVersionKind::new("v1", kind),
        namespace: Some(namespace.to_owned()).filter(|text| !text.is_empty()),
        by: QueryBy::Name(name.to_owned()),
    }
}

fn config_map() -> Value {
    json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "name": "a", "namespace": "team", "uid": "u1" } })
}

fn target() -> Target {
    Target {
        destination: Destination::ThisCluster,
        kind: GroupVersionKind::new("v1", "ConfigMap"),
        namespace: Some("team".to_owned()),
        name: "a".to_owned(),
        uid: "u1".to_owned(),
        resource_version: String::new(),
    }
}

fn status(code: u16, reason: &str, details: Value) -> (u16, Value) {
    (code, json!({ "kind": "Status", "code": code, "reason": reason, "message": "no", "details": details }))
}

#[tokio::test]
async fn no_status_is_tried_again() {
    for code in [409, 429, 500, 502, 503, 504] {
        let (server, client) = Server::start(move |_| status(code, "", Value::Null)).await;
        let transport = transport(client);
        let refused = transport.create(&config_map(), &Destination::ThisCluster).await.unwrap_err();
        assert_eq!(refused.status, Some(code));
        transport.find(&named("ConfigMap", "team", "a")).await.unwrap_err();
        let expected = [
            "GET /api/v1",
            "POST /api/v1/namespaces/team/configmaps?fieldManager=me",
            "GET /api/v1/namespaces/team/configmaps/a",
        ];
        assert_eq!(server.lines(), expected, "{code}");
    }
}

#[tokio::test]
async fn a_connection_that_is_cut_is_unreachable_and_not_tried_again() {
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
        let transport = transport(client(&format!("http://{address}")).await);
        let error = transport.find(&named("ConfigMap", "team", "a")).await.unwrap_err();
        assert_eq!(error.kind, WriteErrorKind::Unreachable, "{name}: {error}");
        assert!(error.to_string().starts_with("failed to get ConfigMap team/a: failed to look up"), "{name}: {error}");
        assert_eq!(*requests.lock().unwrap(), 1, "{name}");
    }
}

#[tokio::test]
async fn nobody_listening_is_unreachable_and_says_so() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    drop(listener);
    let error = transport(client(&format!("http://{address}")).await)
        .create(&config_map(), &Destination::ThisCluster)
        .await
        .unwrap_err();
    assert_eq!((error.kind, error.status), (WriteErrorKind::Unreachable, None));
    assert!(error.message.contains("Connection refused"), "{error}");
    assert_eq!(error.message.matches("client error").count(), 1, "each cause is said once: {error}");
}

#[tokio::test]
async fn only_an_api_server_that_gives_no_answer_of_its_own_is_doubted() {
    for (code, expected) in
        [(200, false), (404, false), (409, false), (500, false), (502, true), (503, true), (504, true)]
    {
        let (_server, client) = Server::start(move |_| (code, config_map())).await;
        let settings = Settings::default();
        let doubt = settings.doubt.clone();
        let transport = KubernetesTransport::new(client, "me", settings);
        drop(transport.find(&named("ConfigMap", "team", "a")).await);
        assert_eq!(doubt.is_raised(), expected, "{code}");
        assert_eq!(transport.probe()().await.is_err(), expected, "{code}");
    }
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    drop(listener);
    let settings = Settings::default();
    let doubt = settings.doubt.clone();
    let transport = KubernetesTransport::new(client(&url).await, "me", settings);
    transport.create(&config_map(), &Destination::ThisCluster).await.unwrap_err();
    assert!(doubt.is_raised());
    let reason = transport.probe()().await.unwrap_err();
    assert!(reason.contains("Connection refused"), "{reason}");
}

#[tokio::test]
async fn endless_answer_is_refused_and_raises_no_doubt() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let server = tokio::spawn(async move {
        let (mut stream, _) = listener.accept().await.unwrap();
        let _ = stream.read(&mut [0; 4096]).await.unwrap();
        stream.write_all(b"HTTP/1.1 200 OK\r\n\r\n").await.unwrap();
        // Ends with an error once the client closes the connection.
        while stream.write_all(&[b' '; 64 * 1024]).await.is_ok() {}
    });
    let settings = Settings::default();
    let doubt = settings.doubt.clone();
    let transport = KubernetesTransport::new(client(&url).await, "me", settings);
    let error = transport.create(&config_map(), &Destination::ThisCluster).await.unwrap_err();
    assert!(error.message.contains("the answer is longer than 64 MiB"), "{error}");
    assert_eq!((error.status, doubt.is_raised()), (Some(200), false));
    server.await.unwrap();
}

#[tokio::test]
async fn call_that_its_event_gives_up_raises_a_doubt() {
    let (_server, client) = Server::start_with_barrier(2, |_| (200, Value::Null)).await;
    let settings = Settings::default();
    let doubt = settings.doubt.clone();
    let transport = KubernetesTransport::new(client, "me", settings);
    let query = named("ConfigMap", "team", "a");
    let given_up = tokio::time::timeout(Duration::from_millis(50), transport.find(&query)).await;
    assert!(given_up.is_err() && doubt.is_raised());
}

#[tokio::test]
async fn a_server_that_does_not_answer_is_given_up() {
    let (_server, client) = Server::start_with_barrier(2, |_| (200, Value::Null)).await;
    let settings = Settings { request_timeout: Duration::from_millis(50), ..Settings::default() };
    let error = KubernetesTransport::new(client, "me", settings)
        .create(&config_map(), &Destination::ThisCluster)
        .await
        .unwrap_err();
    assert_eq!(error.kind, WriteErrorKind::Unreachable);
    assert_eq!(error.message, "no answer within 0.05 s");
}

#[tokio::test]
async fn many_calls_are_under_way_at_the_same_time_and_share_one_lookup() {
    let (server, client) = Server::start_with_barrier(64, |_| (200, config_map())).await;
    let transport = transport(client);
    let queries = vec![named("ConfigMap", "team", "a"); 64];
    let found = futures::future::join_all(queries.iter().map(|query| transport.find(query))).await;
    assert!(found.iter().all(|found| found.as_ref().is_ok_and(|objects| objects.len() == 1)));
    let lookups = server.lines().iter().filter(|line| *line == "GET /api/v1").count();
    assert_eq!((lookups, server.lines().len()), (1, 65));
}

#[tokio::test]
async fn a_list_is_read_to_its_end_or_not_at_all() {
    let item = |name: &str| json!({ "metadata": { "name": name, "namespace": "team" } });
    let list = |token: &str, items: Value| json!({ "apiVersion": "v1", "kind": "ConfigMapList", "metadata": { "continue": token }, "items": items });
    let pages = move |last: (u16, Value)| {
        move |line: &str| match line {
            line if line.contains("continue=t1") => (200, list("t2", json!([item("c")]))),
            line if line.contains("continue=t2") => last.clone(),
            _ => (200, list("t1", json!([item("a"), item("b")]))),
        }
    };
    let query = Query {
        by: QueryBy::Labels(BTreeMap::from([("x".to_owned(), "1".to_owned())])),
        ..named("ConfigMap", "team", "")
    };

    let (server, client) = Server::start(pages((200, list("", json!([]))))).await;
    let found = transport(client).find(&query).await.unwrap();
    assert_eq!(found.len(), 3);
    let third = json!({ "name": "c", "namespace": "team" });
    assert_eq!(found[2], json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": third }));
    assert_eq!(server.lines()[1], "GET /api/v1/namespaces/team/configmaps?labelSelector=x%3D1&limit=100");
    assert_eq!(server.lines().len(), 4);

    let (_server, client) = Server::start(pages(status(410, "Expired", Value::Null))).await;
    let error = transport(client).find(&query).await.unwrap_err();
    assert_eq!(error.to_string(), "failed to list ConfigMap in team: no");

    let (_server, client) = Server::start(pages((200, json!({})))).await;
    let error = transport(client).find(&query).await.unwrap_err();
    assert_eq!(error.kind, WriteErrorKind::Unavailable, "{error}");
}

#[tokio::test]
async fn an_answer_that_is_not_the_object_is_a_failure_of_every_call() {
    let another = json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "name": "a", "namespace": "team", "uid": "u2" } });
    let status = json!({ "apiVersion": "v1", "kind": "Status", "status": "Success" });
    for answer in [json!({}), status, another] {
        let uid_is_known = answer.pointer("/metadata/uid").is_some();
        let is_status = answer["kind"] == "Status";
        let (_server, client) = Server::start(move |_| (200, answer.clone())).await;
        let transport = transport(client);
        let managed_fields =
            json!([{ "manager": "me", "operation": "Update", "fieldsType": "FieldsV1", "fieldsV1": {} }]);
        let to_migrate = Version::new(json!({ "metadata": { "managedFields": managed_fields } }));
        let target = target();
        let found = transport.find(&named("ConfigMap", "team", "a")).await.map(drop);
        let created = transport.create(&config_map(), &Destination::ThisCluster).await.map(drop);
        let rehearsed = transport.rehearse_create(&config_map(), &Destination::ThisCluster).await;
        let updated = transport.update(&config_map(), &target, &Version::new(config_map())).await.map(drop);
        let taken_over = transport.update(&config_map(), &target, &to_migrate).await.map(drop);
        let patched = transport.patch(&json!({}), &target).await.map(drop);
        let deleted = transport.delete(&target, PropagationPolicy::Background).await.map(drop);
        let calls = [
            ("find", found, uid_is_known),
            ("create", created, uid_is_known),
            ("rehearse", rehearsed, uid_is_known),
            ("update", updated, false),
            ("take over", taken_over, false),
            ("patch", patched, false),
            ("delete", deleted, is_status),
        ];
        for (name, result, expected) in calls {
            assert_eq!(result.is_ok(), expected, "{name}: {result:?}");
            if let Err(error) = result {
                assert_eq!((error.kind, error.status), (WriteErrorKind::Unavailable, Some(200)), "{name}: {error}");
                assert!(error.message.starts_with("the answer is not what was asked for: it"), "{name}: {error}");
            }
        }
    }
}

#[tokio::test]
async fn only_the_servers_word_is_an_absence() {
    let missing = |name: &str, kind: &str| status(404, "NotFound", json!({ "name": name, "kind": kind }));
    let cases = [
        ("the object is missing", missing("a", "configmaps"), Some(0)),
        ("the namespace is missing", missing("team", "namespaces"), None),
        ("the path is not served", status(404, "NotFound", json!({})), None),
        ("reading is forbidden", status(403, "Forbidden", json!({ "name": "a" })), None),
    ];
    for (name, answer, expected) in cases {
        let (_server, client) = Server::start(move |_| answer.clone()).await;
        let found = transport(client).find(&named("ConfigMap", "team", "a")).await;
        assert_eq!(found.ok().map(|objects| objects.len()), expected, "{name}");
    }
}

#[tokio::test]
async fn namespaces_are_demanded_or_ignored_as_the_kind_has_them() {
    let namespace = json!({ "apiVersion": "v1", "kind": "Namespace", "metadata": { "name": "a" } });
    let (server, client) = Server::start(move |_| (200, namespace.clone())).await;
    let transport = transport(client);
    let error = transport.find(&named("ConfigMap", "", "a")).await.unwrap_err();
    assert_eq!(error.kind, WriteErrorKind::Invalid);
    assert_eq!(
        error.to_string(),
        "failed to get ConfigMap a: ConfigMap is a namespaced kind: the namespace is missing"
    );
    transport.find(&named("Namespace", "team", "a")).await.unwrap();
    assert_eq!(server.lines(), ["GET /api/v1", "GET /api/v1/namespaces/a"]);
}

#[tokio::test]
async fn a_kind_is_remembered_until_the_server_no_longer_serves_it() {
    let (server, client) = Server::start(|_| status(404, "NotFound", json!({}))).await;
    let transport = transport(client);
    let query = named("ConfigMap", "team", "a");
    transport.find(&query).await.unwrap_err();
    transport.find(&query).await.unwrap_err();
    let object = "GET /api/v1/namespaces/team/configmaps/a";
    assert_eq!(server.lines(), ["GET /api/v1", object, "GET /api/v1", object]);
}

#[tokio::test]
async fn a_missing_kind_is_looked_up_again_but_not_at_once() {
    for (look_again_after, lookups) in [(Duration::from_secs(600), 1), (Duration::ZERO, 3)] {
        let (server, client) = Server::start(|_| (200, Value::Null)).await;
        let transport = KubernetesTransport::new(client, "me", Settings { look_again_after, ..Settings::default() });
        for _ in 0..3 {
            let error = transport.find(&named("Widget", "team", "a")).await.unwrap_err();
            assert_eq!(error.kind, WriteErrorKind::NotFound);
            assert_eq!(error.to_string(), "failed to get Widget team/a: the API server serves no kind Widget in v1");
        }
        assert_eq!(server.lines().len(), lookups);
    }
}

#[tokio::test]
async fn a_failed_lookup_is_not_remembered() {
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
                let metadata = json!({ "name": "a", "namespace": "team" });
                (200, json!({ "apiVersion": "example.com/v1", "kind": "Widget", "metadata": metadata }))
            }
        }
    })
    .await;
    let transport = transport(client);
    let query = Query { kind: GroupVersionKind::new("example.com/v1", "Widget"), ..named("Widget", "team", "a") };
    let error = transport.find(&query).await.unwrap_err();
    assert_eq!(error.kind, WriteErrorKind::Unavailable);
    assert_eq!(error.to_string(), "failed to get Widget team/a: failed to look up the kind: no");
    transport.find(&query).await.unwrap();
    assert_eq!(server.lines().len(), 3);
}

#[tokio::test]
async fn writes_without_a_fence_are_not_sent() {
    let (server, client) = Server::start(|_| (200, Value::Null)).await;
    let transport = transport(client);
    let target = Target { uid: String::new(), ..target() };
    let deleted = transport.delete(&target, PropagationPolicy::Background).await.unwrap_err();
    let updated = transport.update(&config_map(), &target, &Version::new(config_map())).await.unwrap_err();
    let patched = transport.patch(&json!({}), &target).await.unwrap_err();
    let elsewhere = Target { uid: "u1".to_owned(), ..target };
    let moved = transport.patch(&json!({ "metadata": { "namespace": "other" } }), &elsewhere).await.unwrap_err();
    let selected = transport.find(&Query { by: QueryBy::Labels(BTreeMap::new()), ..named("ConfigMap", "", "") }).await;
    for error in [deleted, updated, patched, moved, selected.unwrap_err()] {
        assert_eq!(error.kind, WriteErrorKind::Invalid, "{error}");
    }
    assert_eq!(server.lines(), Vec::<String>::new());
}

#[tokio::test]
async fn the_observer_is_told_of_every_request() {
    let (_server, client) = Server::start(|_| status(403, "Forbidden", Value::Null)).await;
    let seen: Arc<Mutex<Vec<String>>> = Arc::default();
    let log = Arc::clone(&seen);
    let observer: CallObserver = Arc::new(move |record| {
        let line = format!("{} {} {}", record.verb.label(), record.kind, record.status_class());
        log.lock().unwrap().push(line);
    });
    let settings = Settings { observer: Some(observer), ..Settings::default() };
    let transport = KubernetesTransport::new(client, "me", settings);
    transport.rehearse_create(&config_map(), &Destination::ThisCluster).await.unwrap_err();
    assert_eq!(*seen.lock().unwrap(), ["discover ConfigMap 2xx", "rehearse ConfigMap 4xx"]);
}

#[test]
fn an_accepted_deletion_is_pending_only_with_a_deletion_timestamp() {
    let cases = [
        ("a status", json!({ "kind": "Status", "metadata": {}, "status": "Success" }), false),
        ("the object that was", json!({ "metadata": { "name": "a" } }), false),
        ("the object that stays", json!({ "metadata": { "deletionTimestamp": "2026-01-01T00:00:00Z" } }), true),
    ];
    for (name, answer, pending) in cases {
        assert_eq!(matches!(deletion(answer), Deletion::Pending(_)), pending, "{name}");
    }
}
