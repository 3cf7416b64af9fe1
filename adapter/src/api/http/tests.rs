#![expect(clippy::unwrap_used, reason = "tests")]

use std::sync::Arc;
use std::time::Duration;

use axum::body::Body;
use lifecycle_api_client::RetryPolicy;
use lifecycle_core::api_call::Method as CallMethod;
use lifecycle_e2e::scripted::{Scripted, status};
use lifecycle_service::metrics::Exposition;
use tokio::net::TcpListener;

use super::*;
use crate::metrics::{MetricIdentity, Metrics};
use crate::readiness::Readiness;

fn settings(base_url: String) -> Settings {
    let delay = Duration::from_millis(1);
    Settings {
        base_url,
        version: "v1".to_owned(),
        timeout: Duration::from_secs(10),
        retry: RetryPolicy { base_delay: delay, max_delay: delay, ..RetryPolicy::default() },
        default_headers: HeaderMap::new(),
        token: None,
        user_agent: HeaderValue::from_static("hyperfleet-adapter/1.2.3"),
    }
}

fn observers() -> Observers {
    let identity = MetricIdentity { adapter: "a".to_owned(), version: "1".to_owned(), commit: "c".to_owned() };
    Observers {
        propagate: true,
        suspicion: Suspicion::default(),
        metrics: Arc::new(Metrics::new(&identity)),
        identity: Arc::default(),
    }
}

/// A client of the API that retries after a millisecond.
pub(crate) fn api(base_url: String) -> HttpApi {
    HttpApi::new(settings(base_url), observers()).unwrap()
}

fn request(method: CallMethod, url: &str) -> ApiRequest {
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

async fn call(api: &HttpApi, request: &ApiRequest) -> Result<Answer, ApiFailure> {
    api.call(request, &CallContext::default()).await
}

/// A URL whose port no process listens on.
async fn unused_url() -> String {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    format!("http://{}", listener.local_addr().unwrap())
}

#[tokio::test]
async fn only_calls_without_the_apis_answer_raise_suspicion() {
    for (code, expected) in
        [(200, false), (404, false), (429, false), (500, false), (502, true), (503, true), (504, true)]
    {
        let server = Scripted::start((0..2).map(|_| status(code))).await.unwrap();
        let api = api(server.url());
        let once = ApiRequest { retry_attempts: Some(1), ..request(CallMethod::Get, "clusters/c-1") };
        drop(call(&api, &once).await);
        assert_eq!(api.observers.suspicion.is_raised(), expected, "{code}");
        assert_eq!(api.probe()().await.is_err(), expected, "{code}");
        let probe = server.asked()[1].parts.clone();
        assert_eq!((probe.method.as_str(), probe.uri.path()), ("GET", "/api/hyperfleet/v1"), "{code}");
    }
    let gone = unused_url().await;
    let absent = api(gone.clone());
    call(&absent, &request(CallMethod::Get, "clusters/c-1")).await.unwrap_err();
    assert!(absent.observers.suspicion.is_raised() && absent.probe()().await.is_err());

    // A call to another host says nothing about the API, so it raises no suspicion.
    let api = api(Scripted::start([]).await.unwrap().url());
    call(&api, &request(CallMethod::Get, &format!("{gone}/x"))).await.unwrap_err();
    assert!(!api.observers.suspicion.is_raised());
}

#[tokio::test]
async fn call_without_an_answer_makes_the_api_suspect() {
    // The kernel accepts the connection, but no code reads the request: the call hangs.
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let api = api(format!("http://{}", listener.local_addr().unwrap()));
    let asking = request(CallMethod::Get, "x");
    tokio::select! {
        biased;
        answer = call(&api, &asking) => assert!(answer.is_err(), "the server never answers"),
        connection = listener.accept() => drop(connection.unwrap()),
    }
    assert!(api.observers.suspicion.is_raised());
}

#[tokio::test]
async fn unreadable_token_raises_no_suspicion() {
    let path = "/nonexistent/token".into();
    let token = Some(lifecycle_api_client::TokenSettings {
        path,
        cache_ttl: Duration::ZERO,
        scheme: lifecycle_api_client::AuthScheme::Bearer,
    });
    let api = HttpApi::new(Settings { token, ..settings(unused_url().await) }, observers()).unwrap();
    let failure = call(&api, &request(CallMethod::Get, "x")).await.unwrap_err();
    assert!(failure.message.starts_with("reading token file /nonexistent/token: "), "{failure}");
    assert!(!api.observers.suspicion.is_raised());
}

#[tokio::test]
async fn request_has_method_headers_and_body_of_the_task() {
    let server = Scripted::start([]).await.unwrap();
    let own = default_headers(&[("x-default", "d"), ("x-both", "d")].map(|(a, b)| (a.to_owned(), b.to_owned())).into());
    let settings = Settings { default_headers: own.unwrap(), ..settings(server.url()) };
    let api = HttpApi::new(settings, observers()).unwrap();
    let put = ApiRequest {
        body: Some(r#"{"a":1}"#.to_owned()),
        headers: vec![("X-Both".to_owned(), "own".to_owned())],
        ..request(CallMethod::Put, "clusters/c-1/statuses?force=yes")
    };
    let parent = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
    let trace = TraceContext::parse(Some(parent), Some("v=1"));
    let response = api.call(&put, &CallContext { trace, ..CallContext::default() }).await.unwrap();
    assert_eq!((response.status.as_u16(), response.body.as_str(), response.attempts), (200, "again", 1));
    {
        let requests = server.asked();
        assert_eq!(requests[0].parts.method, "PUT");
        assert_eq!(requests[0].parts.uri, "/api/hyperfleet/v1/clusters/c-1/statuses?force=yes");
        assert_eq!(requests[0].body, r#"{"a":1}"#);
    }
    let headers = [
        ("x-default", "d"),
        ("x-both", "own"),
        ("content-type", "application/json"),
        ("user-agent", "hyperfleet-adapter/1.2.3"),
        ("traceparent", parent),
        ("tracestate", "v=1"),
    ];
    for (name, value) in headers {
        assert_eq!(server.header(0, name).as_deref(), Some(value), "{name}");
    }
}

#[tokio::test]
async fn trace_context_is_sent_only_if_configured() {
    let server = Scripted::start([]).await.unwrap();
    let api = HttpApi::new(settings(server.url()), Observers { propagate: false, ..observers() }).unwrap();
    let trace = TraceContext::parse(Some("00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"), None);
    api.call(&request(CallMethod::Get, "x"), &CallContext { trace, ..CallContext::default() }).await.unwrap();
    assert_eq!(server.header(0, "traceparent"), None);
}

#[tokio::test]
async fn zero_attempts_mean_the_clients_default() {
    let server = Scripted::start([503, 503, 200].map(status)).await.unwrap();
    let post = ApiRequest { retry_attempts: Some(0), ..request(CallMethod::Post, "x") };
    let response = call(&api(server.url()), &post).await.unwrap();
    assert_eq!((response.status.as_u16(), response.attempts), (200, 3));
}

#[tokio::test]
async fn attempts_are_counted_by_endpoint_and_status_class() {
    let server = Scripted::start([status(503), status(200)]).await.unwrap();
    let api = api(server.url());
    let by_kind = ApiRequest {
        url_template: "{{ .kind }}/{{ .id }}?x={{ .x }}".to_owned(),
        ..request(CallMethod::Get, "clusters/c-1?x=y")
    };
    call(&api, &request(CallMethod::Get, "clusters/c-1?x=y")).await.unwrap();
    call(&api, &by_kind).await.unwrap();
    let foreign = server.url().replace("127.0.0.1", "localhost");
    call(&api, &request(CallMethod::Get, &format!("{foreign}/private/7"))).await.unwrap();
    let text = api.observers.metrics.expose(Exposition::Classic);
    let series = [
        r#"api="hyperfleet",method="GET",endpoint="/clusters/{id}",status_code="5xx"} 1"#,
        r#"api="hyperfleet",method="GET",endpoint="/clusters/{id}",status_code="2xx"} 1"#,
        r#"api="hyperfleet",method="GET",endpoint="/{id}/{id}",status_code="2xx"} 1"#,
        r#"api="external",method="GET",endpoint="external",status_code="2xx"} 1"#,
    ];
    for series in series {
        assert!(text.contains(series), "{series} in {text}");
    }
}

#[tokio::test]
async fn call_ends_at_the_deadline_of_its_event() {
    // The kernel accepts the connection, but no code reads the request: the call hangs.
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let api = api(format!("http://{}", listener.local_addr().unwrap()));
    let get = ApiRequest { timeout: Some(Duration::from_secs(60)), ..request(CallMethod::Get, "x") };
    let deadline = Some(Instant::now() + Duration::from_millis(30));
    let context = CallContext { deadline, ..CallContext::default() };
    let failure = api.call(&get, &context).await.unwrap_err();
    assert_eq!(
        (failure.attempts, failure.message.as_str()),
        (1, "the event's deadline passed before there was an answer"),
        "the deadline ends the first attempt, and leaves no room for another one"
    );
    let failure = api.call(&get, &context).await.unwrap_err();
    assert_eq!((failure.attempts, failure.message.as_str()), (0, "the event's deadline has passed"));
}

#[tokio::test]
async fn invalid_url_or_header_fails_without_an_attempt() {
    let api = api("http://127.0.0.1:9".to_owned());
    let headers = |name: &str, value: &str| vec![(name.to_owned(), value.to_owned())];
    let cases = [
        ("no web address", request(CallMethod::Get, "ftp://x/y")),
        ("a bad header name", ApiRequest { headers: headers("a b", "c"), ..request(CallMethod::Get, "x") }),
        ("a bad header value", ApiRequest { headers: headers("a", "b\nc"), ..request(CallMethod::Get, "x") }),
    ];
    for (name, request) in cases {
        let failure = call(&api, &request).await.unwrap_err();
        assert_eq!(failure.attempts, 0, "{name}: {failure}");
    }
    let failure = call(&api, &request(CallMethod::Get, "ftp://user:hunter2@x/y?token=hunter2")).await.unwrap_err();
    assert_eq!(failure.message, "`ftp://**REDACTED**@x/y?token=**REDACTED**` is not a valid URL");
}

#[tokio::test]
async fn adapter_that_meets_another_service_is_not_ready_until_the_api_answers() {
    let page = || {
        let mut page = status(404);
        *page.body_mut() = Body::from("<html>");
        page
    };
    let mut own = status(200);
    own.headers_mut().insert("content-type", HeaderValue::from_static("application/json"));
    *own.body_mut() = Body::from("{}");
    let server = Scripted::start([page(), page(), page(), page(), own]).await.unwrap();
    let readiness = Readiness::default();
    let observers = Observers { identity: Arc::new(Identity::new(readiness.clone())), ..observers() };
    let api = HttpApi::new(settings(server.url()), observers).unwrap();
    for expected in [false, false, true] {
        call(&api, &request(CallMethod::Get, "clusters/c-1?x=y")).await.unwrap();
        assert_eq!(readiness.stranger().is_some(), expected);
    }
    let reason = readiness.stranger().unwrap();
    assert!(reason.starts_with("this does not look like the HyperFleet API: /api/hyperfleet/v1/clusters/c-1 answers"));
    // The adapter asks again on its own: first the page answers, then the API.
    let healed = async {
        while readiness.stranger().is_some() {
            tokio::task::yield_now().await
        }
    };
    tokio::select! {
        () = api.ask_again(Duration::from_millis(1)) => unreachable!("it never returns"),
        () = healed => {}
    }
    let paths: Vec<_> = server.asked().iter().map(|asked| asked.parts.uri.path().to_owned()).collect();
    assert_eq!(paths, vec!["/api/hyperfleet/v1/clusters/c-1"; 5]);
}

#[test]
fn invalid_client_settings_are_errors() {
    let cases = [
        ("no base URL", " ", "the base URL of the HyperFleet API is not configured"),
        ("no scheme", "api:8000", "`api:8000` is not a base URL, expected http:// or https:// and a host"),
        (
            "credentials beside a mistake",
            "https//user:hunter2@api?token=hunter2",
            "`**REDACTED**@api?token=**REDACTED**` is not a base URL, expected http:// or https:// and a host",
        ),
        (
            "credentials and a query",
            "https://user:hunter2@api?token=hunter2",
            "`https://**REDACTED**@api?token=**REDACTED**` is not a base URL, expected http:// or https:// and a host",
        ),
        ("a query", "http://api?x", "`http://api?x` is not a base URL, expected http:// or https:// and a host"),
    ];
    for (name, base_url, expected) in cases {
        let error = HttpApi::new(settings(base_url.to_owned()), observers()).unwrap_err();
        assert_eq!(error.to_string(), expected, "{name}");
    }
    let error = default_headers(&[("a b".to_owned(), "hunter2".to_owned())].into()).unwrap_err();
    assert_eq!(error.to_string(), "default header `a b` is not a valid HTTP header");
}

#[test]
fn debug_output_hides_header_values() {
    let headers = default_headers(&[("x-key".to_owned(), "hunter2".to_owned())].into()).unwrap();
    assert!(!format!("{:?}", Settings { default_headers: headers, ..settings(String::new()) }).contains("hunter2"));
}
