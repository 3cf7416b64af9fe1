#![expect(clippy::unwrap_used, reason = "tests")]

use std::sync::Arc;

use axum::extract::{DefaultBodyLimit, Request};
use axum::response::{IntoResponse, Response};
use axum::routing::{any, get, post};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::sync::Notify;
use tracing::level_filters::LevelFilter;

use super::*;
use crate::logging::{Format, Identity, LogSettings, Output, subscriber_into};

/// A limit that a loopback request does not reach, and that a test can wait for.
const SHORT: Duration = Duration::from_millis(200);
/// A limit that only a hanging test reaches; below hyper's own time limit of 30 s.
const LONG: Duration = Duration::from_secs(20);
const LONG_LIMITS: Limits = Limits { head: LONG, body: LONG, answer: LONG, connections: 8 };
const GET: &str = "GET / HTTP/1.1\r\nhost: x\r\n\r\n";

#[tokio::test]
async fn listener_turns_nagles_algorithm_off() {
    let mut listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let _client = TcpStream::connect(listener.local_addr().unwrap()).await.unwrap();
    assert!(accept(&mut listener).await.0.nodelay().unwrap());
}

async fn echo(request: Request) -> Response {
    whole_body(request).await.map_or_else(|refusal| refusal, IntoResponse::into_response)
}

fn router() -> Router {
    Router::new().route("/", any(async || "well")).route("/echo", post(echo).layer(DefaultBodyLimit::max(16)))
}

async fn serve(router: Router, limits: Limits) -> Server {
    Listener::bind("127.0.0.1:0".parse().unwrap(), "tests").await.unwrap().serve(router, limits)
}

async fn send(server: &Server, text: &str) -> TcpStream {
    let mut client = TcpStream::connect(server.address()).await.unwrap();
    client.write_all(text.as_bytes()).await.unwrap();
    client
}

/// Reads until the server closes the connection.
async fn rest(mut client: TcpStream) -> String {
    let mut text = String::new();
    match tokio::time::timeout(LONG, client.read_to_string(&mut text)).await.unwrap() {
        // The system resets a connection whose request was not accepted, or not read to its end.
        Err(error) if error.kind() == io::ErrorKind::ConnectionReset => {}
        closed => drop(closed.unwrap()),
    }
    text
}

/// Reads one answer with the body `well`, and leaves the connection open.
async fn read_well(client: &mut TcpStream) {
    let mut text = Vec::new();
    while !text.ends_with(b"well") {
        assert_ne!(tokio::time::timeout(LONG, client.read_buf(&mut text)).await.unwrap().unwrap(), 0, "{text:?}");
    }
}

fn body(text: &str) -> String {
    format!("POST /echo HTTP/1.1\r\nhost: x\r\ncontent-length: 6\r\n\r\n{text}")
}

#[tokio::test]
async fn server_closes_a_connection_without_a_complete_head() {
    let server = serve(router(), Limits { head: SHORT, ..LONG_LIMITS }).await;
    for (name, sent) in [("nothing", ""), ("half a line", "GE"), ("half a head", "GET / HTTP/1.1\r\nhost: x\r\n")] {
        assert_eq!(rest(send(&server, sent).await).await, "", "{name}");
    }
    let mut idle = send(&server, GET).await;
    read_well(&mut idle).await;
    assert_eq!(rest(idle).await, "", "idle after an answer");
}

#[tokio::test]
async fn server_answers_408_to_an_incomplete_body() {
    let server = serve(router(), Limits { body: SHORT, ..LONG_LIMITS }).await;
    for (name, sent) in [("nothing", ""), ("half", "hal")] {
        let answer = rest(send(&server, &body(sent)).await).await;
        assert!(answer.starts_with("HTTP/1.1 408 "), "{name}: {answer}");
        assert!(answer.ends_with("the body did not arrive in time"), "{name}: {answer}");
    }
    // This handler does not read the body, so the server answers without waiting for the rest of it.
    let unread = format!("{}GET", GET.replace("\r\n\r\n", "\r\ncontent-length: 6\r\n\r\n"));
    assert!(rest(send(&server, &unread).await).await.ends_with("well"));
}

/// The body's time limit is for the whole body: a limit per chunk would let a slow client keep a connection
/// for ever.
#[tokio::test]
async fn server_answers_408_to_a_body_sent_too_slowly() {
    let server = serve(router(), Limits { body: SHORT, ..LONG_LIMITS }).await;
    let client = send(&server, "POST /echo HTTP/1.1\r\nhost: x\r\ntransfer-encoding: chunked\r\n\r\n").await;
    let (mut answers, mut requests) = client.into_split();
    let dribble = tokio::spawn(async move {
        let mut pace = tokio::time::interval(SHORT / 4);
        while requests.write_all(b"0001\r\n").await.is_ok() && requests.write_all(b"x\r\n").await.is_ok() {
            pace.tick().await;
        }
    });
    let mut answer = vec![0; 12];
    answers.read_exact(&mut answer).await.unwrap();
    assert_eq!(answer, b"HTTP/1.1 408");
    dribble.abort();
}

#[tokio::test]
async fn server_reads_bodies_up_to_their_limit() {
    let server = serve(router(), LONG_LIMITS).await;
    let mut client = send(&server, &body("who").replace("host: x", "connection: close\r\nhost: x")).await;
    client.write_all(b"le!").await.unwrap();
    assert!(rest(client).await.ends_with("whole!"));
    let large = "POST /echo HTTP/1.1\r\nhost: x\r\nconnection: close\r\ncontent-length: 17\r\n\r\nseventeen letters";
    assert!(rest(send(&server, large).await).await.starts_with("HTTP/1.1 413 "));
}

/// Longer than the system's buffers for a connection, so that the server must wait for the client.
const LONG_ANSWER: usize = 64 << 20;

#[tokio::test]
async fn server_closes_a_connection_that_does_not_read() {
    let router = router().route("/long", get(async || vec![b'x'; LONG_ANSWER]));
    let server = serve(router, Limits { answer: SHORT, connections: 1, ..LONG_LIMITS }).await;
    let unread = send(&server, "GET /long HTTP/1.1\r\nhost: x\r\n\r\n").await;
    // The limit is one connection, so this request is answered only after the unread one is closed.
    read_well(&mut send(&server, GET).await).await;
    let taken = rest(unread).await.len();
    assert!(taken < LONG_ANSWER, "{taken} bytes");
}

/// A route whose handler announces itself with `entered`, and waits for `gate`.
fn gated(gate: &Arc<Notify>, entered: &Arc<Notify>) -> Router {
    let (gate, entered) = (Arc::clone(gate), Arc::clone(entered));
    Router::new().route(
        "/",
        get(async move || {
            entered.notify_one();
            gate.notified().await;
            "well"
        }),
    )
}

#[tokio::test(start_paused = true)]
async fn connection_beyond_the_limit_waits() {
    let (gate, entered) = (Arc::new(Notify::new()), Arc::new(Notify::new()));
    let server = serve(gated(&gate, &entered), Limits { connections: 1, ..LONG_LIMITS }).await;
    let request = GET.replace("host: x", "connection: close\r\nhost: x");
    let first = send(&server, &request).await;
    entered.notified().await;
    let second = send(&server, &request).await;
    // The paused clock advances only while every task waits, so the time-out proves that nothing accepts the
    // second.
    assert!(tokio::time::timeout(SHORT, entered.notified()).await.is_err(), "the second one was accepted");
    gate.notify_one();
    assert!(rest(first).await.ends_with("well"));
    entered.notified().await;
    gate.notify_one();
    assert!(rest(second).await.ends_with("well"));
}

#[tokio::test]
async fn panic_of_a_handler_is_logged() {
    let (lines, mut logged) = tokio::sync::mpsc::unbounded_channel();
    let settings = LogSettings { level: LevelFilter::ERROR, format: Format::Json, output: Output::Stderr };
    let sink = Box::new(move |line: &[u8]| drop(lines.send(String::from_utf8_lossy(line).into_owned())));
    let _log = tracing::subscriber::set_default(subscriber_into(settings, &Identity::of("tests"), sink));
    let router = Router::new().route("/", get(async || -> &str { panic!("no such row") }));
    let server = serve(router, LONG_LIMITS).await;
    assert_eq!(rest(send(&server, GET).await).await, "");
    let line = tokio::time::timeout(LONG, logged.recv()).await.unwrap().unwrap();
    for part in [r#""level":"error""#, r#""purpose":"tests""#, "no such row"] {
        assert!(line.contains(part), "{line}");
    }
}

#[tokio::test]
async fn stopped_server_finishes_running_requests() {
    let (gate, entered) = (Arc::new(Notify::new()), Arc::new(Notify::new()));
    let server = serve(gated(&gate, &entered), LONG_LIMITS).await;
    let address = server.address();
    let idle = TcpStream::connect(address).await.unwrap();
    let running = send(&server, GET).await;
    entered.notified().await;
    server.close();
    assert_eq!(rest(idle).await, "");
    let stopped = tokio::spawn(server.stop(LONG));
    gate.notify_one();
    let answer = rest(running).await;
    assert!(answer.contains("connection: close") && answer.ends_with("well"), "{answer}");
    stopped.await.unwrap();
    assert!(TcpStream::connect(address).await.is_err());
}

#[tokio::test]
async fn slow_client_does_not_delay_the_stop() {
    let (gate, entered) = (Arc::new(Notify::new()), Arc::new(Notify::new()));
    for sent in ["GET / HT", GET] {
        let server = serve(gated(&gate, &entered), LONG_LIMITS).await;
        let client = send(&server, sent).await;
        if sent == GET {
            entered.notified().await;
        }
        tokio::time::timeout(LONG, server.stop(SHORT)).await.unwrap();
        assert_eq!(rest(client).await, "", "{sent}");
    }
}

#[tokio::test]
async fn unspecified_address_accepts_ipv4_too() {
    let server = Listener::bind((Ipv6Addr::UNSPECIFIED, 0).into(), "tests").await.unwrap().serve(router(), LONG_LIMITS);
    assert!(server.address().ip().is_unspecified());
    let mut client = TcpStream::connect((Ipv4Addr::LOCALHOST, server.address().port())).await.unwrap();
    client.write_all(GET.as_bytes()).await.unwrap();
    read_well(&mut client).await;
}

#[tokio::test]
async fn taken_address_is_an_error() {
    let server = serve(router(), LONG_LIMITS).await;
    for address in [server.address(), (Ipv6Addr::UNSPECIFIED, server.address().port()).into()] {
        let error = Listener::bind(address, "health").await.unwrap_err().to_string();
        assert_eq!(error, format!("failed to listen on `{address}` for health"));
    }
}
