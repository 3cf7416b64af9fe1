#![expect(clippy::panic, clippy::unwrap_used, reason = "tests")]

use std::time::Duration;

use axum::body::Body;
use http::Response;
use http::header::CONTENT_TYPE;
use lifecycle_e2e::scripted::{Scripted, status};
use lifecycle_objects::id::Generation;
use serde_json::{Value, json};

use super::*;
use crate::api::client;

/// A fake API whose base URL contains credentials, and which fails every call.
struct Absent;

impl Api for Absent {
    async fn call(&self, _: &ApiRequest, _: &CallContext) -> Result<api::Answer, ApiFailure> {
        Err(ApiFailure { attempts: 1, message: "refused".to_owned() })
    }

    fn resolve_url(&self, url: &str) -> String {
        format!("https://user:hunter2@api{url}?token=hunter2")
    }
}

/// A fake API that answers every call with this body.
struct Answering(&'static str);

impl Api for Answering {
    async fn call(&self, _: &ApiRequest, _: &CallContext) -> Result<api::Answer, ApiFailure> {
        let content_type = Some("application/json".to_owned());
        Ok(api::Answer { content_type, body: self.0.to_owned(), attempts: 1, ..api::Answer::default() })
    }

    fn resolve_url(&self, url: &str) -> String {
        format!("/api/hyperfleet/v1{url}")
    }

    fn is_prepared(&self) -> bool {
        true
    }
}

fn request(method: Method, url: &str) -> ApiRequest {
    ApiRequest {
        method,
        url: url.to_owned(),
        url_template: url.to_owned(),
        timeout: None,
        retry_attempts: None,
        retry_backoff: None,
        body: None,
        headers: Vec::new(),
    }
}

fn event() -> LifecycleEvent {
    LifecycleEvent {
        event_id: "e-1".to_owned(),
        source: "tests".to_owned(),
        event_type: "reconcile".to_owned(),
        time: None,
        traceparent: None,
        tracestate: None,
        resource_id: "c-1".to_owned(),
        kind: "Cluster".to_owned(),
        href: String::new(),
        generation: Generation(1),
        owner: None,
        data: serde_json::Value::Null,
    }
}

#[tokio::test]
async fn only_the_own_resource_with_a_deletion_time_is_being_deleted() {
    let deleting = r#"{"id": "c-1", "deleted_time": "2026-01-01T00:00:00Z"}"#;
    let get = |url: &str| request(Method::Get, url);
    let cases = [
        ("the own resource", get("/clusters/c-1"), deleting, Some(true)),
        ("the own resource, which lives", get("/clusters/c-1"), r#"{"deleted_time": null}"#, Some(false)),
        ("the own resource, without the key", get("/clusters/c-1"), r#"{"note": "deleted_time"}"#, Some(false)),
        ("the key of a part of it", get("/clusters/c-1"), r#"{"spec": {"deleted_time": "x"}}"#, Some(false)),
        ("no JSON", get("/clusters/c-1"), "deleted_time", None),
        ("another resource", get("/clusters/c-2"), deleting, None),
        ("an answer to a write", request(Method::Put, "/clusters/c-1/statuses"), deleting, None),
    ];
    let event = event();
    for (name, request, body, expected) in cases {
        let api = Answering(body);
        let mut fetcher = Fetcher::new(&api, &event, &TraceContext::default(), false);
        fetcher.answer(Need::Call(request)).await;
        assert_eq!(fetcher.is_deleting, expected, "{name}");
    }
}

const EARLY: &str = "2026-01-01T00:00:00Z";
const LATE: &str = "2026-01-01T00:00:01Z";

/// A report of generation 2 as adapters send it and the API returns it.
fn report(generation: i64, time: &str, available: &str) -> Value {
    json!({
        "adapter": "a", "observed_generation": generation, "observed_time": time, "last_report_time": time,
        "conditions": [{ "type": "Available", "status": available }],
    })
}

/// An answer of the API with this document.
fn document_of(code: u16, document: &Value) -> Response<Body> {
    let answer = Response::builder().status(code).header(CONTENT_TYPE, "application/json");
    answer.body(Body::from(document.to_string())).unwrap()
}

fn list(reports: &[Value]) -> Response<Body> {
    document_of(200, &json!({ "items": reports, "page": 1, "size": reports.len(), "total": reports.len() }))
}

fn discarded() -> Response<Body> {
    Response::builder().status(204).body(Body::empty()).unwrap()
}

/// Sends a report of generation 2 to a server with these answers. Returns the answer, and the requests that the server
/// received.
async fn reported(
    url: &str,
    answers: impl IntoIterator<Item = Response<Body>>,
) -> (Result<String, CallError>, Vec<String>) {
    let server = Scripted::start(answers).await.unwrap();
    let (api, event) = (client(server.url()), event());
    let mut fetcher = Fetcher::new(&api, &event, &TraceContext::default(), true);
    let body = Some(report(2, EARLY, "True").to_string());
    let request =
        ApiRequest { body, retry_attempts: Some(1), ..request(Method::Put, &url.replace("HOST", &server.url())) };
    let Answer::Called(answer) = fetcher.answer(Need::Call(request)).await else { panic!("an answer") };
    let asked = server.asked();
    let asked: Vec<_> = asked.iter().map(|asked| format!("{} {}", asked.parts.method, asked.parts.uri)).collect();
    assert_eq!(fetcher.account.unwrap_or_default().calls.len(), asked.len(), "the trace has every call");
    (answer, asked)
}

#[tokio::test]
async fn report_that_the_api_discards_fails_unless_a_newer_one_is_stored() {
    let cases = [
        ("a newer generation is stored", list(&[report(3, EARLY, "True")]), None),
        (
            "a later time is stored",
            list(&[report(2, LATE, "True")]),
            Some("before that of the adapter's stored report"),
        ),
        ("nothing is stored", list(&[]), Some("its `observed_generation` 2 is newer than the API resource")),
        ("the list fails", status(503), Some("its cause is not known: API request failed: GET")),
        ("the list is a page", status(200), Some("its cause is not known: API request failed: GET")),
        ("the list is no list", document_of(200, &json!({})), Some("the list of the reports is not read")),
    ];
    for (name, list, expected) in cases {
        // The list is asked for without what else stands in the report's URL.
        let (answer, asked) = reported("/clusters/c-1/statuses?x=y#z", [discarded(), list]).await;
        match (&answer, expected) {
            (Ok(body), None) => assert_eq!(body, "", "{name}"),
            (Err(CallError::Failed(error)), Some(cause)) => {
                let call = "PUT /api/hyperfleet/v1/clusters/c-1/statuses?x=y returned 204 No Content after 1 attempt(s): \
                            the API discarded the report: ";
                assert!(error.contains(call) && error.contains(cause), "{name}: {error}");
            }
            (other, _) => panic!("{name}: {other:?}"),
        }
        let statuses = "/api/hyperfleet/v1/clusters/c-1/statuses";
        assert_eq!(asked, [format!("PUT {statuses}?x=y"), format!("GET {statuses}?page=1&size=100")], "{name}");
    }
}

#[tokio::test]
async fn only_a_discarded_report_is_explained_by_the_stored_ones() {
    let (own, other) = ("/clusters/c-1/statuses", "/clusters/c-1/hooks");
    for (name, url, answer) in [
        ("a stored report", own, document_of(201, &report(2, EARLY, "True"))),
        ("another path of the API", other, discarded()),
        ("another service on the API's host", "HOST/statuses", discarded()),
    ] {
        let (answer, asked) = reported(url, [answer]).await;
        assert!(answer.is_ok() && asked.len() == 1, "{name}: {answer:?} {asked:?}");
    }
}

#[tokio::test]
async fn report_that_the_api_answers_with_a_former_one_fails() {
    let (answer, asked) = reported("/clusters/c-1/statuses", [document_of(201, &report(2, EARLY, "False"))]).await;
    let Err(CallError::Failed(error)) = answer else { panic!("{answer:?}") };
    assert!(error.contains("returned 201 Created") && error.contains("`observed_time` is that of"), "{error}");
    assert_eq!(asked.len(), 1);
}

#[tokio::test]
async fn errors_and_traces_show_no_url_credentials() {
    let (request, event) = (request(Method::Get, "/x"), event());
    let mut fetcher = Fetcher::new(&Absent, &event, &TraceContext::default(), true);
    let Answer::Called(Err(error)) = fetcher.answer(Need::Call(request)).await else { panic!("an error") };
    let shown = "https://**REDACTED**@api/x?token=**REDACTED**";
    assert!(error.to_string().contains(shown), "{error}");
    let urls: Vec<_> =
        fetcher.account.iter().flat_map(|account| &account.calls).map(|call| call.url.as_str()).collect();
    assert_eq!(urls, [shown]);
}

#[tokio::test]
async fn endless_file_is_an_error() {
    let deadline = Instant::now() + Duration::from_secs(60);
    let error = read("/dev/zero", Some(deadline)).await;
    assert_eq!(error, Err(ReadError::Failed("failed to read /dev/zero: it has more than 1048576 bytes".to_owned())));
}

/// A stage that needs one thing, and ends with the answer.
struct Asking(Option<Need>);

impl Stage for Asking {
    type Done = Option<Answer>;

    fn resume(&mut self, _: &mut Scope, answer: Option<Answer>) -> Progress<Self::Done> {
        match self.0.take() {
            Some(need) => Progress::Needs(need),
            None => Progress::Done(answer),
        }
    }
}

#[tokio::test]
async fn error_of_a_call_quotes_no_secret() {
    let document = json!({ "error": "no user hunter2-a" });
    let server = Scripted::start([document_of(400, &document)]).await.unwrap();
    let (api, event) = (client(server.url()), event());
    let mut scope = Scope::new(jiff::Timestamp::UNIX_EPOCH);
    scope.set("password", json!("hunter2-a"));
    scope.conceal(&["password"], true);
    let mut fetcher = Fetcher::new(&api, &event, &TraceContext::default(), false);
    let need = Need::Call(request(Method::Put, "/users"));
    let deadline = Instant::now() + Duration::from_secs(60);
    let (answer, _) = fetcher.drive(Phase::PostActions, Asking(Some(need)), &mut scope, deadline).await;
    let Some(Answer::Called(Err(error))) = answer else { panic!("{answer:?}") };
    assert!(error.to_string().contains("no user [redacted]"), "{error}");
}
