#![expect(clippy::unwrap_used, reason = "tests")]

use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};

use axum::body::Body;
use http::header::{HeaderName, LOCATION};
use lifecycle_e2e::scripted::{Scripted, status};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpListener;

use super::*;

fn headers(pairs: &[(&'static str, &'static str)]) -> HeaderMap {
    let pairs = pairs.iter();
    pairs.map(|(name, value)| (HeaderName::from_static(name), HeaderValue::from_static(value))).collect()
}

pub(crate) fn settings(base_url: String) -> Settings {
    let delay = Duration::from_millis(1);
    Settings {
        base_url,
        version: "v1".to_owned(),
        timeout: Duration::from_secs(10),
        retry: RetryPolicy { base_delay: delay, max_delay: delay, ..RetryPolicy::default() },
        default_headers: headers(&[("x-default", "d"), ("x-both", "d")]),
        token: None,
        user_agent: HeaderValue::from_static("tests/1.2.3"),
    }
}

fn with_token(base_url: String, path: &Path) -> Settings {
    Settings {
        token: Some(TokenSettings {
            path: path.to_owned(),
            cache_ttl: Duration::from_secs(600),
            scheme: AuthScheme::Bearer,
        }),
        ..settings(base_url)
    }
}

fn client(settings: Settings) -> Client {
    Client::new(settings).unwrap()
}

async fn call(client: &Client, request: &Request) -> Result<Answer, Failure> {
    client.call(request, None, &()).await
}

/// The number of attempts, and the last error with its causes.
fn attempts_and_error(failure: &Failure) -> (u32, String) {
    (failure.attempts, Chain(&failure.error).to_string())
}

fn redirect_to(location: &str) -> http::Response<Body> {
    let mut response = status(307);
    response.headers_mut().insert(LOCATION, location.parse().unwrap());
    response
}

#[tokio::test]
async fn probe_requests_the_root_of_relative_urls() {
    let cases = [
        ("a base at the root", "", "v1", "/api/hyperfleet/v1"),
        ("a base with a path", "/fleet/", "v2", "/fleet/api/hyperfleet/v2"),
        ("no version configured", "/fleet", "", "/fleet/api/hyperfleet/v1"),
    ];
    for (name, path, version, expected) in cases {
        let server = Scripted::start([status(503)]).await.unwrap();
        let base_url = format!("{}{path}", server.url());
        let client = client(Settings { version: version.to_owned(), ..settings(base_url) });
        assert_eq!(client.probe().ask().await.unwrap(), 503, "{name}");
        assert_eq!(server.asked()[0].parts.uri.path(), expected, "{name}");
    }
}

#[tokio::test]
async fn request_is_sent_with_its_headers_and_the_defaults() {
    let server = Scripted::start([]).await.unwrap();
    let client = client(settings(server.url()));
    let put = Request {
        method: Method::PUT,
        url: "clusters/c-1/statuses?force=yes".to_owned(),
        headers: headers(&[("x-both", "own")]),
        body: Some(Bytes::from(r#"{"a":1}"#)),
        ..Request::default()
    };
    let answer = call(&client, &put).await.unwrap();
    assert_eq!((answer.status.as_u16(), answer.body.as_str(), answer.attempts), (200, "again", 1));
    {
        let asked = server.asked();
        assert_eq!(asked[0].parts.method, "PUT");
        assert_eq!(asked[0].parts.uri, "/api/hyperfleet/v1/clusters/c-1/statuses?force=yes");
        assert_eq!(asked[0].body, r#"{"a":1}"#);
    }
    let headers =
        [("x-default", "d"), ("x-both", "own"), ("content-type", "application/json"), ("user-agent", "tests/1.2.3")];
    for (name, value) in headers {
        assert_eq!(server.header(0, name).as_deref(), Some(value), "{name}");
    }
    assert_eq!(server.header(0, "authorization"), None);
}

#[tokio::test]
async fn request_headers_replace_defaults_and_get_sends_no_body() {
    let server = Scripted::start([]).await.unwrap();
    let client = client(settings(server.url()));
    let own = [("user-agent", "mine"), ("content-type", "application/merge-patch+json")];
    let body = Some(Bytes::from("{}"));
    let url = "x".to_owned();
    let patch =
        Request { method: Method::PATCH, url, body: body.clone(), headers: headers(&own), ..Request::default() };
    call(&client, &patch).await.unwrap();
    for (name, value) in own {
        assert_eq!(server.header(0, name).as_deref(), Some(value), "{name}");
    }
    call(&client, &Request { body, ..Request::get("x") }).await.unwrap();
    assert_eq!(server.header(1, "content-type"), None);
    assert!(server.asked()[1].body.is_empty());
}

#[tokio::test]
async fn token_and_default_headers_are_sent_to_the_api_only() -> anyhow::Result<()> {
    let folder = tempfile::tempdir()?;
    let path = folder.path().join("token");
    std::fs::write(&path, "secret\n")?;
    let foreign = Scripted::start([]).await?;
    let script = [status(200), status(200), redirect_to(&format!("{}/x", foreign.url())), redirect_to("/elsewhere")];
    let server = Scripted::start(script).await?;
    let client = client(with_token(server.url(), &path));

    let faked = Request { headers: headers(&[("authorization", "Basic x")]), ..Request::get("x") };
    call(&client, &faked).await?;
    assert_eq!(server.header(0, "authorization").as_deref(), Some("Bearer secret"), "the file's token replaces it");
    call(&client, &Request::get(format!("{}/api/x", server.url()))).await?;
    assert_eq!(
        server.header(1, "authorization").as_deref(),
        Some("Bearer secret"),
        "an absolute URL on the API's origin"
    );

    call(&client, &Request::get(format!("{}/x", foreign.url()))).await?;
    for name in ["authorization", "x-default"] {
        assert_eq!(foreign.header(0, name), None, "{name}");
    }
    let away = call(&client, &Request::get("away")).await?;
    assert_eq!((away.status.as_u16(), foreign.asked().len()), (307, 1), "a redirect to another origin");
    assert_eq!(away.redirect, Some(format!("{}/x", foreign.url())));
    let around = call(&client, &Request::get("around")).await?;
    assert_eq!((around.status.as_u16(), server.asked().len()), (307, 4), "a redirect within the origin");
    assert_eq!(around.redirect, Some(format!("{}/elsewhere", server.url())));
    Ok(())
}

#[tokio::test]
async fn target_of_a_redirect_is_shown_without_credentials() {
    let cases = [
        ("https://user:hunter2@login.example/a?token=hunter2#x", "https://login.example/a"),
        ("../b", "/api/hyperfleet/b"),
        ("http://[", "an unknown URL"),
    ];
    for (location, expected) in cases {
        let server = Scripted::start([redirect_to(location)]).await.unwrap();
        let answer = call(&client(settings(server.url())), &Request::get("clusters")).await.unwrap();
        let target = answer.redirect.unwrap_or_default();
        assert_eq!(target.strip_prefix(&server.url()).unwrap_or(&target), expected, "{location}");
    }
    let server = Scripted::start([status(304)]).await.unwrap();
    let answer = call(&client(settings(server.url())), &Request::get("clusters")).await.unwrap();
    assert_eq!(answer.redirect.as_deref(), Some("an unknown URL"), "a redirect without a target");
}

#[tokio::test]
async fn answer_with_an_age_above_zero_is_cached() {
    let cases: [(&str, &[&str], bool); 6] = [
        ("no age", &[], false),
        ("an answer that a cache fetched for this request", &["0"], false),
        ("a second", &["1"], true),
        ("an hour", &["3600"], true),
        ("no number", &["soon"], true),
        ("two caches", &["0", "7"], true),
    ];
    for (name, ages, expected) in cases {
        let mut answer = status(404);
        for age in ages {
            answer.headers_mut().append(AGE, HeaderValue::from_static(age));
        }
        let server = Scripted::start([answer]).await.unwrap();
        let answer = call(&client(settings(server.url())), &Request::get("x")).await.unwrap();
        assert_eq!(answer.cached, expected, "{name}");
    }
}

#[tokio::test]
async fn answer_that_a_cache_marks_is_cached() {
    let cases = [
        ("stale", "warning", "110 - \"Response is Stale\"", true),
        ("another warning", "warning", "299 - \"old API\"", false),
        ("from the edge", "x-cache", "HIT from edge-7", true),
        ("through the edge", "x-cache", "MISS from edge-7", false),
    ];
    for (name, header, value, expected) in cases {
        let mut answer = status(404);
        answer.headers_mut().append(header, HeaderValue::from_static(value));
        let server = Scripted::start([answer]).await.unwrap();
        let answer = call(&client(settings(server.url())), &Request::get("x")).await.unwrap();
        assert_eq!(answer.cached, expected, "{name}");
    }
}

#[tokio::test]
async fn refused_token_is_retried_once_if_the_file_has_a_new_one() -> anyhow::Result<()> {
    let folder = tempfile::tempdir()?;
    let path = folder.path().join("token");
    std::fs::write(&path, "old")?;
    let server = Scripted::start([status(200), status(401), status(200), status(401)]).await?;
    let client = client(with_token(server.url(), &path));
    let get = Request { attempts: Some(1), ..Request::get("x") };
    assert_eq!(call(&client, &get).await?.status, 200);
    std::fs::write(&path, "new")?;
    let renewed = call(&client, &get).await?;
    assert_eq!((renewed.status.as_u16(), renewed.attempts), (200, 2));
    let sent: Vec<_> = (0..3).map(|number| server.header(number, "authorization").unwrap()).collect();
    assert_eq!(sent, ["Bearer old", "Bearer old", "Bearer new"]);
    let refused = call(&client, &get).await?;
    let seen = (refused.status.as_u16(), refused.attempts);
    assert_eq!(seen, (401, 1), "the call is not retried with the same token");
    Ok(())
}

#[tokio::test]
async fn call_without_a_readable_token_fails_unsent() {
    let server = Scripted::start([]).await.unwrap();
    let client = client(with_token(server.url(), Path::new("/nonexistent/token")));
    let (attempts, message) = attempts_and_error(&call(&client, &Request::get("x")).await.unwrap_err());
    assert_eq!(attempts, 3);
    assert!(message.starts_with("reading token file /nonexistent/token: "), "{message}");
    assert_eq!(server.asked().len(), 0, "no request is sent without the token");
}

#[tokio::test]
async fn retries_end_with_the_last_answer_whatever_its_status() {
    let cases = [
        ("success", vec![201], None, (201, 1)),
        ("a refusal", vec![409], None, (409, 1)),
        ("a failing server that recovers", vec![500, 429, 200], None, (200, 3)),
        ("a failing server that does not", vec![503, 502, 500, 200], None, (500, 3)),
        ("the call's own number of attempts", vec![503, 503, 503, 503, 200], Some(5), (200, 5)),
    ];
    for (name, script, attempts, expected) in cases {
        let server = Scripted::start(script.into_iter().map(status)).await.unwrap();
        let client = client(settings(server.url()));
        // The client retries POST too: the API's writes are idempotent.
        let post = Request { method: Method::POST, attempts, ..Request::get("x") };
        let answer = call(&client, &post).await.unwrap();
        assert_eq!((answer.status.as_u16(), answer.attempts), expected, "{name}");
    }
}

#[tokio::test]
async fn refused_connection_is_a_failure_without_the_url() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    drop(listener);
    let client = client(settings(format!("http://{address}")));
    let (attempts, message) = attempts_and_error(&call(&client, &Request::get("x")).await.unwrap_err());
    assert_eq!(attempts, 3);
    assert!(message.contains("Connection refused"), "{message}");
    assert!(!message.contains("http://"), "a URL may hold credentials: {message}");
}

#[tokio::test]
async fn silent_server_ends_the_call_by_time_limit_or_deadline() {
    // The kernel accepts connections on the listener's behalf; the test never reads from them.
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let patient = client(settings(url.clone()));
    let get = |milliseconds| Request { timeout: Some(Duration::from_millis(milliseconds)), ..Request::get("x") };
    let failure = call(&patient, &get(20)).await.unwrap_err();
    assert_eq!(attempts_and_error(&failure), (3, "no answer within 20ms".to_owned()));

    let deadline = Some(Instant::now() + Duration::from_millis(30));
    let failure = patient.call(&get(60_000), deadline, &()).await.unwrap_err();
    assert_eq!(
        attempts_and_error(&failure),
        (1, "the deadline passed before there was an answer".to_owned()),
        "the deadline ends the first attempt and prevents a second one"
    );
    let failure = patient.call(&get(60_000), deadline, &()).await.unwrap_err();
    assert_eq!(attempts_and_error(&failure), (0, "the deadline has passed".to_owned()));

    let impatient = client(Settings { timeout: Duration::from_millis(10), ..settings(url) });
    let failure = call(&impatient, &get(60_000)).await.unwrap_err();
    assert_eq!(attempts_and_error(&failure).1, "no answer within 10ms", "a call's own limit can only be shorter");
}

#[tokio::test]
async fn url_of_another_scheme_is_not_called() {
    let client = client(settings("http://127.0.0.1:9".to_owned()));
    let failure = call(&client, &Request::get("ftp://user:hunter2@x/y")).await.unwrap_err();
    assert_eq!(attempts_and_error(&failure), (0, "the URL is no http:// or https:// address".to_owned()));
}

#[tokio::test]
async fn truncated_body_is_a_failure() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let client = client(settings(format!("http://{}", listener.local_addr().unwrap())));
    tokio::spawn(async move {
        loop {
            let (mut connection, _) = listener.accept().await.unwrap();
            drop(connection.read(&mut [0; 1024]).await);
            drop(connection.write_all(b"HTTP/1.1 404 Not Found\r\nContent-Length: 9\r\n\r\nhalf").await);
        }
    });
    let (attempts, message) = attempts_and_error(&call(&client, &Request::get("x")).await.unwrap_err());
    assert_eq!(attempts, 3);
    assert!(message.starts_with("reading the response: "), "{message}");
}

#[tokio::test]
async fn body_above_the_size_limit_is_refused() {
    let endless = futures::stream::repeat_with(|| Ok::<_, std::convert::Infallible>(Bytes::from(vec![b'x'; 1 << 16])));
    let response = |body| http::Response::new(body);
    let declared = response(Body::from(vec![b'x'; BODY_LIMIT + 1]));
    let largest = response(Body::from(vec![b'x'; BODY_LIMIT]));
    let server = Scripted::start([response(Body::from_stream(endless)), declared, largest]).await.unwrap();
    let client = client(settings(server.url()));
    for name in ["streamed", "declared"] {
        let failure = call(&client, &Request::get("x")).await.unwrap_err();
        assert_eq!(attempts_and_error(&failure), (1, "the response body is over 10485760 bytes".to_owned()), "{name}");
    }
    assert_eq!(call(&client, &Request::get("x")).await.unwrap().body.len(), BODY_LIMIT);
}

/// Counts the waits for large answers; the first attempt's wait never ends.
#[derive(Default)]
struct Waits(AtomicUsize);

struct Waiting<'a>(&'a Waits);

impl<'w> Watch for &'w Waits {
    type Attempt = Waiting<'w>;

    fn attempt(&self, _: &Outgoing, _: u32) -> Waiting<'w> {
        Waiting(self)
    }
}

impl WatchAttempt for Waiting<'_> {
    fn sending(&mut self, _: &mut HeaderMap) {}

    async fn large(&mut self) {
        if self.0.0.fetch_add(1, Ordering::Relaxed) == 0 {
            std::future::pending::<()>().await;
        }
    }

    fn ended(self, _: Result<StatusCode, &CallError>) {}
}

#[tokio::test]
async fn large_answer_is_received_when_the_watch_permits_it() {
    let sized = |bytes: usize| http::Response::new(Body::from(vec![b'x'; bytes]));
    let server = Scripted::start([sized(SMALL_BODY), sized(4 * SMALL_BODY), sized(4 * SMALL_BODY)]).await.unwrap();
    let client = client(settings(server.url()));
    let waits = Waits::default();
    let request = Request { timeout: Some(Duration::from_millis(500)), ..Request::get("x") };
    let small = client.call(&request, None, &&waits).await.unwrap();
    assert_eq!((small.attempts, waits.0.load(Ordering::Relaxed)), (1, 0), "a small answer waits for nothing");
    let large = client.call(&request, None, &&waits).await.unwrap();
    assert_eq!(large.attempts, 2, "the wait counts as time of the first attempt, which ends without an answer");
    assert_eq!((large.body.len(), waits.0.load(Ordering::Relaxed)), (4 * SMALL_BODY, 2), "once for each attempt");
}

#[tokio::test]
async fn connections_are_reused() {
    let server = Scripted::start([]).await.unwrap();
    let client = client(settings(server.url()));
    for _ in 0..5 {
        call(&client, &Request::get("x")).await.unwrap();
    }
    let peers: Vec<_> = server.asked().iter().map(|asked| asked.peer).collect();
    assert_eq!(peers, vec![peers[0]; 5]);
}

#[test]
fn unusable_base_url_is_refused_without_being_printed() {
    let base = "the base URL of the HyperFleet API is no base URL, expected http:// or https:// and a host";
    let cases = [
        ("no base URL", " ", "the base URL of the HyperFleet API is not configured"),
        ("no scheme", "api:8000", base),
        ("another scheme", "ftp://api", base),
        ("credentials beside a mistake", "https//user:hunter2@api?token=hunter2", base),
        ("a query", "http://api?x", base),
    ];
    for (name, base_url, expected) in cases {
        assert_eq!(Client::new(settings(base_url.to_owned())).unwrap_err().to_string(), expected, "{name}");
    }
}
