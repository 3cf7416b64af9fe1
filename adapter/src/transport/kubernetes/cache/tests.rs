//! The cache before an API server in a function, on a clock of its own. What the real one tells is in `tests/`.

#![expect(clippy::unwrap_used, reason = "tests")]

use std::convert::Infallible;
use std::future::pending;
use std::sync::Mutex;

use http::{Request, Response};
use serde_json::json;
use tokio::time::{Instant, sleep};

use super::*;
use crate::transport::kubernetes::Settings;

/// What becomes of a request: a status and a body, or never an answer.
type Answer = Option<(u16, Value)>;

/// A client whose server is a function of the request's line; and the lines so far.
fn server(answer: impl Fn(&str) -> Answer + Send + Sync + 'static) -> (Client, Arc<Mutex<Vec<String>>>) {
    let lines = Arc::<Mutex<Vec<String>>>::default();
    let (kept, answer) = (Arc::clone(&lines), Arc::new(answer));
    let service = tower::service_fn(move |request: Request<Body>| {
        let line = request.uri().to_string();
        kept.lock().unwrap().push(line.clone());
        let answer = answer(&line);
        async move {
            let Some((status, body)) = answer else { pending().await };
            let body = if body.is_null() { String::new() } else { body.to_string() };
            Ok::<_, Infallible>(Response::builder().status(status).body(Body::from(body.into_bytes())).unwrap())
        }
    });
    (Client::new(service, "default"), lines)
}

fn kinds() -> Answer {
    let maps = json!({ "name": "configmaps", "namespaced": true, "kind": "ConfigMap" });
    Some((200, json!({ "resources": [maps] })))
}

fn map(namespace: &str, name: &str, labels: Value) -> Value {
    json!({ "metadata": { "name": name, "namespace": namespace, "labels": labels, "uid": format!("uid-{name}") } })
}

fn list(items: &[Value]) -> Answer {
    Some((
        200,
        json!({ "kind": "ConfigMapList", "apiVersion": "v1", "metadata": { "resourceVersion": "7" }, "items": items }),
    ))
}

fn watch(client: Client) -> WatchCache {
    let kind = GroupVersionKind::new("v1", "ConfigMap");
    KubernetesTransport::new(client, "team", Settings::default()).watch([kind.clone(), kind])
}

fn by(namespace: Option<&str>, by: QueryBy) -> Query {
    Query { kind: GroupVersionKind::new("v1", "ConfigMap"), namespace: namespace.map(str::to_owned), by }
}

fn named(namespace: &str, name: &str) -> Query {
    by(Some(namespace), QueryBy::Name(name.to_owned()))
}

fn labelled(namespace: Option<&str>, labels: &[(&str, &str)]) -> Query {
    let labels = labels.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect();
    by(namespace, QueryBy::Labels(labels))
}

fn is_watch(line: &str) -> bool {
    line.contains("watch=true")
}

#[tokio::test(start_paused = true)]
async fn it_answers_what_the_server_would_and_only_what_is_certain() {
    let ours = |more: &str| json!({ "hyperfleet.io/adapter": "team", "app": more });
    let mut leaving = map("n", "leaving", ours("leaving"));
    leaving["metadata"]["deletionTimestamp"] = json!("2026-01-01T00:00:00Z");
    leaving["metadata"]["finalizers"] = json!(["a/b"]);
    let items = [map("n", "b", ours("web")), map("n", "a", ours("web")), map("m", "c", ours("web")), leaving];
    let (client, lines) = server(move |line| match line {
        "/api/v1" => kinds(),
        line if is_watch(line) => None,
        _ => list(&items),
    });
    let cache = watch(client);
    assert_eq!(cache.find(&named("n", "a")), None, "before anything was listed");
    sleep(Duration::from_secs(1)).await;

    let adapter = ("hyperfleet.io/adapter", "team");
    let cases = [
        ("by name", named("n", "a"), Some(vec!["a"])),
        ("by name in another namespace", named("m", "a"), None),
        ("by name without a namespace", by(None, QueryBy::Name("a".to_owned())), None),
        ("an absent name", named("n", "z"), None),
        ("a terminating name", named("n", "leaving"), None),
        ("by labels, in the server's order", labelled(None, &[adapter, ("app", "web")]), Some(vec!["c", "a", "b"])),
        ("by labels in a namespace", labelled(Some("n"), &[adapter, ("app", "web")]), Some(vec!["a", "b"])),
        ("by labels that nothing has", labelled(None, &[adapter, ("app", "db")]), None),
        ("by labels, one of them terminating", labelled(Some("n"), &[adapter]), None),
        ("by labels that others may have too", labelled(None, &[("app", "web")]), None),
        ("by another adapter's label", labelled(None, &[("hyperfleet.io/adapter", "x"), ("app", "web")]), None),
        ("a kind that is not watched", Query { kind: GroupVersionKind::new("v1", "Secret"), ..named("n", "a") }, None),
    ];
    for (name, query, expected) in cases {
        let found = cache.find(&query);
        let names = found
            .as_ref()
            .map(|found| found.iter().map(|object| object["metadata"]["name"].as_str().unwrap()).collect::<Vec<_>>());
        assert_eq!(names, expected, "{name}");
    }
    let found = cache.find(&named("n", "a")).unwrap();
    assert_eq!((&found[0]["apiVersion"], &found[0]["kind"]), (&json!("v1"), &json!("ConfigMap")), "as a GET has them");

    let lines = lines.lock().unwrap().clone();
    assert_eq!(lines.len(), 3, "one discovery, one list and one watch of a kind that was named twice: {lines:?}");
    assert!(lines[1].contains("labelSelector=hyperfleet.io%2Fadapter%3Dteam"), "{lines:?}");
}

#[tokio::test(start_paused = true)]
async fn a_watch_that_gets_no_answer_is_given_up_after_a_while_and_begun_anew() {
    let silent = Arc::new(Mutex::new(false));
    let is_silent = Arc::clone(&silent);
    let (client, _) = server(move |line| match line {
        "/api/v1" => kinds(),
        line if is_watch(line) || *is_silent.lock().unwrap() => None,
        _ => list(&[map("n", "a", json!({}))]),
    });
    let cache = watch(client);
    sleep(Duration::from_secs(1)).await;
    assert!(cache.find(&named("n", "a")).is_some());
    *silent.lock().unwrap() = true;
    sleep(ANSWER_TIMEOUT).await;
    assert_eq!(cache.find(&named("n", "a")), None);
    *silent.lock().unwrap() = false;
    let begun = Instant::now();
    while cache.find(&named("n", "a")).is_none() {
        sleep(Duration::from_secs(1)).await;
        assert!(begun.elapsed() < ANSWER_TIMEOUT * 3, "it did not come back");
    }
}

#[tokio::test(start_paused = true)]
async fn whatever_the_server_does_it_is_not_asked_often() {
    let refused = || Some((403, json!({ "kind": "Status", "status": "Failure", "code": 403, "message": "no" })));
    let gone = || json!({ "type": "ERROR", "object": { "kind": "Status", "status": "Failure", "code": 410 } });
    type Server = Box<dyn Fn(&str) -> Answer + Send + Sync>;
    let cases: [(&str, Server, usize); 4] = [
        ("may not list", Box::new(move |line| if line == "/api/v1" { kinds() } else { refused() }), 80),
        ("serves no such kind", Box::new(|_| Some((200, json!({ "resources": [] })))), 80),
        (
            "expires every watch",
            Box::new(move |line| match line {
                "/api/v1" => kinds(),
                line if is_watch(line) => Some((200, gone())),
                _ => list(&[]),
            }),
            150,
        ),
        (
            "ends every watch in good order",
            Box::new(|line| match line {
                "/api/v1" => kinds(),
                line if is_watch(line) => Some((200, Value::Null)),
                _ => list(&[]),
            }),
            // The pace alone.
            630,
        ),
    ];
    for (name, answer, at_most) in cases {
        let (client, lines) = server(answer);
        let cache = watch(client);
        sleep(Duration::from_secs(600)).await;
        let asked = lines.lock().unwrap().len();
        assert!((10..=at_most).contains(&asked), "a server that {name} was asked {asked} times in 10 min");
        assert_eq!(cache.find(&named("n", "a")), None, "{name}");
    }
}

#[tokio::test(start_paused = true)]
async fn nothing_goes_on_once_it_is_dropped() {
    let (client, lines) = server(|line| if line == "/api/v1" { kinds() } else { Some((503, Value::Null)) });
    drop(watch(client));
    sleep(Duration::from_secs(60)).await;
    assert_eq!(lines.lock().unwrap().len(), 0);
}
