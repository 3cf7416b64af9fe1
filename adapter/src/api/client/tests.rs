#![expect(clippy::unwrap_used, reason = "tests")]

use std::collections::VecDeque;
use std::net::SocketAddr;
use std::path::Path;
use std::sync::{Arc, Mutex};

use axum::Router;
use axum::body::{Body, Bytes};
use axum::extract::{ConnectInfo, State};
use axum::http::{Request, Response};
use axum::response::IntoResponse as _;
use lifecycle_core::api_call::Method as CallMethod;
use lifecycle_service::metrics::Exposition;
use tokio::net::TcpListener;

use super::*;
use crate::metrics::{MetricIdentity, Metrics};

/// A server that answers by a script, its last answer for ever, and remembers what it was asked.
#[derive(Clone)]
struct Server {
    address: SocketAddr,
    asked: Arc<Mutex<Vec<(http::request::Parts, Bytes)>>>,
}

type Script = Arc<Mutex<VecDeque<Response<Body>>>>;

impl Server {
    async fn start(answers: impl IntoIterator<Item = Response<Body>>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let server = Self { address: listener.local_addr().unwrap(), asked: Arc::default() };
        let script: Script = Arc::new(Mutex::new(answers.into_iter().collect()));
        let router = Router::new().fallback(answer).with_state((server.clone(), script));
        tokio::spawn(
            async move { axum::serve(listener, router.into_make_service_with_connect_info::<SocketAddr>()).await },
        );
        server
    }

    fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    fn header(&self, request: usize, name: &str) -> Option<String> {
        let asked = self.asked.lock().unwrap();
        asked[request].0.headers.get(name).map(|value| value.to_str().unwrap().to_owned())
    }

    fn count(&self) -> usize {
        self.asked.lock().unwrap().len()
    }
}

async fn answer(State((server, script)): State<(Server, Script)>, request: Request<Body>) -> Response<Body> {
    let (parts, body) = request.into_parts();
    let body = axum::body::to_bytes(body, usize::MAX).await.unwrap();
    server.asked.lock().unwrap().push((parts, body));
    script.lock().unwrap().pop_front().unwrap_or_else(|| (StatusCode::OK, "again").into_response())
}

fn status(code: u16) -> Response<Body> {
    (StatusCode::from_u16(code).unwrap(), format!("answer {code}")).into_response()
}

fn settings(base_url: String) -> ApiSettings {
    let delay = Duration::from_millis(1);
    ApiSettings {
        base_url,
        version: "v1".to_owned(),
        timeout: Duration::from_secs(10),
        retry: RetryPolicy { base_delay: delay, max_delay: delay, ..RetryPolicy::default() },
        default_headers: vec![
            ("x-default".to_owned(), Secret::new("d".to_owned())),
            ("X-Both".to_owned(), Secret::new("d".to_owned())),
        ],
        token: None,
        user_agent: "hyperfleet-adapter/1.2.3".to_owned(),
        propagate: true,
        doubt: Doubt::default(),
    }
}

fn with_token(base_url: String, path: &Path) -> ApiSettings {
    ApiSettings {
        token: Some(TokenSettings { path: path.to_owned(), cache_ttl: Duration::from_secs(600) }),
        ..settings(base_url)
    }
}

fn metrics() -> SharedMetrics {
    let identity = MetricIdentity { adapter: "a".to_owned(), version: "1".to_owned(), commit: "c".to_owned() };
    Arc::new(Metrics::new(&identity))
}

fn client(settings: ApiSettings) -> HttpApi {
    HttpApi::new(settings, metrics()).unwrap()
}

fn request(method: CallMethod, url: &str) -> ApiRequest {
    ApiRequest {
        method,
        url: url.to_owned(),
        timeout: None,
        retry_attempts: None,
        retry_backoff: None,
        body: None,
        headers: Vec::new(),
    }
}

async fn call(api: &HttpApi, request: &ApiRequest) -> Result<ApiResponse, ApiFailure> {
    api.call(request, &CallContext::default()).await
}

#[tokio::test]
async fn only_an_api_that_gives_no_answer_of_its_own_is_doubted() {
    for (code, expected) in
        [(200, false), (404, false), (429, false), (500, false), (502, true), (503, true), (504, true)]
    {
        let server = Server::start((0..2).map(|_| status(code))).await;
        let mut settings = settings(server.url());
        settings.retry.attempts = 1;
        let doubt = settings.doubt.clone();
        let api = client(settings);
        drop(call(&api, &request(CallMethod::Get, "clusters/c-1")).await);
        assert_eq!(doubt.is_raised(), expected, "{code}");
        assert_eq!(api.probe()().await.is_err(), expected, "{code}");
        let probe = server.asked.lock().unwrap()[1].0.clone();
        assert_eq!((probe.method.as_str(), probe.uri.path()), ("GET", "/api/hyperfleet/v1"), "{code}");
    }
    let gone = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", gone.local_addr().unwrap());
    drop(gone);
    let settings = settings(url.clone());
    let doubt = settings.doubt.clone();
    let api = client(settings);
    call(&api, &request(CallMethod::Get, "clusters/c-1")).await.unwrap_err();
    assert!(doubt.is_raised() && api.probe()().await.is_err());

    // Another host is nobody that the adapter waits for.
    let server = Server::start([]).await;
    let settings = self::settings(server.url());
    let doubt = settings.doubt.clone();
    call(&client(settings), &request(CallMethod::Get, &format!("{url}/x"))).await.unwrap_err();
    assert!(!doubt.is_raised());
}

#[tokio::test]
async fn probe_asks_where_relative_calls_go() {
    let cases = [
        ("a base at the root", "", "v1", "/api/hyperfleet/v1"),
        ("a base with a path", "/fleet/", "v2", "/fleet/api/hyperfleet/v2"),
        ("no version configured", "/fleet", "", "/fleet/api/hyperfleet/v1"),
    ];
    for (name, path, version, expected) in cases {
        let server = Server::start([]).await;
        let base_url = format!("{}{path}", server.url());
        let api = client(ApiSettings { version: version.to_owned(), ..settings(base_url) });
        api.probe()().await.unwrap();
        let asked = server.asked.lock().unwrap()[0].0.uri.path().to_owned();
        assert_eq!(asked, expected, "{name}");
    }
}

#[tokio::test]
async fn sends_what_the_task_asked_for() {
    let server = Server::start([]).await;
    let api = client(settings(server.url()));
    let put = ApiRequest {
        body: Some(r#"{"a":1}"#.to_owned()),
        headers: vec![("X-Both".to_owned(), "own".to_owned())],
        ..request(CallMethod::Put, "clusters/c-1/statuses?force=yes")
    };
    let parent = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
    let trace = TraceContext::parse(Some(parent), Some("v=1"));
    let response = api.call(&put, &CallContext { trace, deadline: None }).await.unwrap();
    assert_eq!(response, ApiResponse { status: 200, body: "again".to_owned(), attempts: 1 });
    {
        let asked = server.asked.lock().unwrap();
        assert_eq!(asked[0].0.method, "PUT");
        assert_eq!(asked[0].0.uri, "/api/hyperfleet/v1/clusters/c-1/statuses?force=yes");
        assert_eq!(asked[0].1, r#"{"a":1}"#);
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
    assert_eq!(server.header(0, "authorization"), None);
}

#[tokio::test]
async fn a_request_may_bring_its_own_agent_and_type_and_a_get_has_no_body() {
    let server = Server::start([]).await;
    let api = client(ApiSettings { propagate: false, ..settings(server.url()) });
    let own = [("user-agent", "mine"), ("content-type", "application/merge-patch+json")];
    let patch = ApiRequest {
        body: Some("{}".to_owned()),
        headers: own.map(|(name, value)| (name.to_owned(), value.to_owned())).to_vec(),
        ..request(CallMethod::Patch, "x")
    };
    let trace = TraceContext::parse(Some("00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"), None);
    api.call(&patch, &CallContext { trace, deadline: None }).await.unwrap();
    for (name, value) in own {
        assert_eq!(server.header(0, name).as_deref(), Some(value), "{name}");
    }
    assert_eq!(server.header(0, "traceparent"), None, "propagation is off");
    call(&api, &ApiRequest { body: Some("{}".to_owned()), ..request(CallMethod::Get, "x") }).await.unwrap();
    assert_eq!(server.header(1, "content-type"), None);
    assert!(server.asked.lock().unwrap()[1].1.is_empty());
}

#[tokio::test]
async fn credentials_stay_on_the_api() -> anyhow::Result<()> {
    let folder = tempfile::tempdir()?;
    let path = folder.path().join("token");
    std::fs::write(&path, "secret\n")?;
    let foreign = Server::start([]).await;
    let away = Response::builder().status(307).header("location", format!("{}/x", foreign.url())).body(Body::empty())?;
    let around = Response::builder().status(307).header("location", "/elsewhere").body(Body::empty())?;
    let server = Server::start([status(200), status(200), away, around]).await;
    let api = client(with_token(server.url(), &path));

    let faked = ApiRequest {
        headers: vec![("Authorization".to_owned(), "Basic x".to_owned())],
        ..request(CallMethod::Get, "x")
    };
    call(&api, &faked).await?;
    assert_eq!(server.header(0, "authorization").as_deref(), Some("Bearer secret"), "the file's token wins");
    call(&api, &request(CallMethod::Get, &format!("{}/api/x", server.url()))).await?;
    assert_eq!(server.header(1, "authorization").as_deref(), Some("Bearer secret"), "spelt out");

    call(&api, &request(CallMethod::Get, &format!("{}/x", foreign.url()))).await?;
    for name in ["authorization", "x-default"] {
        assert_eq!(foreign.header(0, name), None, "{name}");
    }
    let redirected = call(&api, &request(CallMethod::Get, "away")).await?;
    assert_eq!((redirected.status, foreign.count()), (307, 1), "a redirect to others is not followed");
    let redirected = call(&api, &request(CallMethod::Get, "around")).await?;
    assert_eq!((redirected.status, server.count()), (200, 5), "one at home is");
    Ok(())
}

#[tokio::test]
async fn a_refused_token_is_read_again_once() -> anyhow::Result<()> {
    let folder = tempfile::tempdir()?;
    let path = folder.path().join("token");
    std::fs::write(&path, "old")?;
    let server = Server::start([status(200), status(401), status(200), status(401)]).await;
    let api = client(with_token(server.url(), &path));
    let get = ApiRequest { retry_attempts: Some(1), ..request(CallMethod::Get, "x") };
    assert_eq!(call(&api, &get).await?.status, 200);
    std::fs::write(&path, "new")?;
    let renewed = call(&api, &get).await?;
    assert_eq!((renewed.status, renewed.attempts), (200, 2));
    let sent: Vec<_> = (0..3).map(|number| server.header(number, "authorization").unwrap()).collect();
    assert_eq!(sent, ["Bearer old", "Bearer old", "Bearer new"]);
    let refused = call(&api, &get).await?;
    assert_eq!((refused.status, refused.attempts), (401, 1), "the same token again is no reason to try again");
    Ok(())
}

#[tokio::test]
async fn a_token_that_cannot_be_read_fails_the_call() {
    let server = Server::start([]).await;
    let api = client(with_token(server.url(), Path::new("/nonexistent/token")));
    let failure = call(&api, &request(CallMethod::Get, "x")).await.unwrap_err();
    assert_eq!(failure.attempts, 3);
    assert!(failure.message.starts_with("reading token file /nonexistent/token: "), "{failure}");
    assert_eq!(server.count(), 0, "nothing is sent without it");
}

#[tokio::test]
async fn answers_come_back_whatever_their_status() {
    let cases = [
        ("success", vec![201], None, Ok((201, 1))),
        ("a refusal", vec![409], None, Ok((409, 1))),
        ("a failing server that recovers", vec![500, 429, 200], None, Ok((200, 3))),
        ("a failing server that does not", vec![503, 502, 500, 200], None, Ok((500, 3))),
        ("the call's own number of attempts", vec![503, 503, 503, 503, 200], Some(5), Ok((200, 5))),
        ("zero means the client's own", vec![503, 503, 200], Some(0), Ok((200, 3))),
    ];
    for (name, script, attempts, expected) in cases {
        let server = Server::start(script.into_iter().map(status)).await;
        let api = client(settings(server.url()));
        // POST is retried like any other method.
        let post = ApiRequest { retry_attempts: attempts, ..request(CallMethod::Post, "x") };
        let result = call(&api, &post).await.map(|response| (response.status, response.attempts));
        assert_eq!(result.map_err(|failure: ApiFailure| failure.message), expected, "{name}");
    }
}

#[tokio::test]
async fn attempts_are_counted_by_endpoint_and_class() {
    let server = Server::start([status(503), status(200)]).await;
    let metrics = metrics();
    let api = HttpApi::new(settings(server.url()), Arc::clone(&metrics)).unwrap();
    call(&api, &request(CallMethod::Get, "clusters/c-1?x=y")).await.unwrap();
    call(&api, &request(CallMethod::Get, &format!("http://localhost:{}/private/7", server.address.port())))
        .await
        .unwrap();
    let text = metrics.expose(Exposition::Classic);
    let series = [
        r#"api="hyperfleet",method="GET",endpoint="/clusters/{id}",status_code="5xx"} 1"#,
        r#"api="hyperfleet",method="GET",endpoint="/clusters/{id}",status_code="2xx"} 1"#,
        r#"api="external",method="GET",endpoint="external",status_code="2xx"} 1"#,
    ];
    for series in series {
        assert!(text.contains(series), "{series} in {text}");
    }
}

#[tokio::test]
async fn a_server_that_is_not_there_is_a_failure() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    drop(listener);
    let api = client(settings(format!("http://{address}")));
    let failure = call(&api, &request(CallMethod::Get, "x")).await.unwrap_err();
    assert_eq!(failure.attempts, 3);
    assert!(failure.message.contains("Connection refused"), "{failure}");
    assert!(!failure.message.contains("http://"), "the URL stands elsewhere: {failure}");
}

#[tokio::test]
async fn a_server_that_does_not_answer_is_given_up() {
    // Connections are taken by the kernel; nobody reads them.
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let api = client(settings(format!("http://{}", listener.local_addr().unwrap())));
    let get = |milliseconds| ApiRequest {
        timeout: Some(Duration::from_millis(milliseconds)),
        ..request(CallMethod::Get, "x")
    };
    let failure = call(&api, &get(20)).await.unwrap_err();
    assert_eq!((failure.attempts, failure.message.as_str()), (3, "no answer within 20ms"));

    let started = Instant::now();
    let context = CallContext { deadline: Some(started + Duration::from_millis(30)), ..CallContext::default() };
    let failure = api.call(&get(60_000), &context).await.unwrap_err();
    assert_eq!(
        (failure.attempts, failure.message.as_str()),
        (1, "the event's deadline passed before there was an answer"),
        "the deadline ends the first attempt, and leaves no room for another one"
    );
    let failure = api.call(&get(60_000), &context).await.unwrap_err();
    assert_eq!((failure.attempts, failure.message.as_str()), (0, "the event's deadline has passed"));

    let impatient = client(ApiSettings { timeout: Duration::from_millis(10), ..settings(api.base.to_string()) });
    let failure = call(&impatient, &get(60_000)).await.unwrap_err();
    assert_eq!(failure.message, "no answer within 10ms", "a call's own limit can only be shorter");
}

#[tokio::test]
async fn what_cannot_be_sent_is_not_tried() {
    let api = client(settings("http://127.0.0.1:9".to_owned()));
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
    assert_eq!(failure.message, "`ftp://**REDACTED**@x/y?token=**REDACTED**` is no valid URL");
}

#[tokio::test]
async fn a_body_without_an_end_is_refused() {
    let endless = futures::stream::repeat_with(|| Ok::<_, std::convert::Infallible>(Bytes::from(vec![b'x'; 1 << 16])));
    let declared = Response::builder().body(Body::from(vec![b'x'; BODY_LIMIT + 1])).unwrap();
    let largest = Response::builder().body(Body::from(vec![b'x'; BODY_LIMIT])).unwrap();
    let server = Server::start([Response::new(Body::from_stream(endless)), declared, largest]).await;
    let api = client(settings(server.url()));
    for name in ["streamed", "declared"] {
        let failure = call(&api, &request(CallMethod::Get, "x")).await.unwrap_err();
        assert_eq!(
            (failure.attempts, failure.message.as_str()),
            (1, "the response body is over 10485760 bytes"),
            "{name}"
        );
    }
    assert_eq!(call(&api, &request(CallMethod::Get, "x")).await.unwrap().body.len(), BODY_LIMIT);
}

#[tokio::test]
async fn connections_are_used_again() {
    let server = Server::start([]).await;
    let api = client(settings(server.url()));
    for _ in 0..5 {
        call(&api, &request(CallMethod::Get, "x")).await.unwrap();
    }
    let asked = server.asked.lock().unwrap();
    let peers: Vec<_> =
        asked.iter().map(|(parts, _)| parts.extensions.get::<ConnectInfo<SocketAddr>>().unwrap().0).collect();
    assert_eq!(peers, vec![peers[0]; 5]);
}

#[test]
fn settings_that_cannot_work_are_refused() {
    let base = |text: &str| settings(text.to_owned());
    let cases = [
        ("no base URL", base(" "), "the base URL of the HyperFleet API is not configured"),
        ("no scheme", base("api:8000"), "`api:8000` is no base URL, expected http:// or https:// and a host"),
        (
            "credentials beside a mistake",
            base("https//user:hunter2@api?token=hunter2"),
            "`**REDACTED**@api?token=**REDACTED**` is no base URL, expected http:// or https:// and a host",
        ),
        (
            "credentials and a query",
            base("https://user:hunter2@api?token=hunter2"),
            "`https://**REDACTED**@api?token=**REDACTED**` is no base URL, expected http:// or https:// and a host",
        ),
        ("a query", base("http://api?x"), "`http://api?x` is no base URL, expected http:// or https:// and a host"),
        (
            "a header that is none",
            ApiSettings { default_headers: vec![("a b".to_owned(), Secret::default())], ..base("http://api") },
            "default header `a b` is no valid HTTP header",
        ),
    ];
    for (name, settings, expected) in cases {
        assert_eq!(HttpApi::new(settings, metrics()).unwrap_err().to_string(), expected, "{name}");
    }
}
