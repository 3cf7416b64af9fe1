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

/// Long for a request over loopback, short for who waits for it to run out.
const SHORT: Duration = Duration::from_millis(200);
/// Never reached unless something hangs; below hyper's own time-out of 30 s.
const LONG: Duration = Duration::from_secs(20);
const UNHURRIED: Limits = Limits { head: LONG, body: LONG, answer: LONG, connections: 8 };
const GET: &str = "GET / HTTP/1.1\r\nhost: x\r\n\r\n";

#[tokio::test]
async fn listener_turns_nagles_algorithm_off() {
    let mut listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let _client = TcpStream::connect(listener.local_addr().unwrap()).await.unwrap();
    assert!(accept(&mut listener).await.nodelay().unwrap());
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

/// Everything until the server closes.
async fn rest(mut client: TcpStream) -> String {
    let mut text = String::new();
    match tokio::time::timeout(LONG, client.read_to_string(&mut text)).await.unwrap() {
        // As the system closes what was not accepted, or not read to its end.
        Err(error) if error.kind() == io::ErrorKind::ConnectionReset => {}
        closed => drop(closed.unwrap()),
    }
    text
}

/// One answer with the body `well`, on a connection that stays open.
async fn is_well(client: &mut TcpStream) {
    let mut text = Vec::new();
    while !text.ends_with(b"well") {
        assert_ne!(tokio::time::timeout(LONG, client.read_buf(&mut text)).await.unwrap().unwrap(), 0, "{text:?}");
    }
}

fn body(text: &str) -> String {
    format!("POST /echo HTTP/1.1\r\nhost: x\r\ncontent-length: 6\r\n\r\n{text}")
}

#[tokio::test]
async fn a_head_that_does_not_come_is_given_up() {
    let server = serve(router(), Limits { head: SHORT, ..UNHURRIED }).await;
    for (name, sent) in [("nothing", ""), ("half a line", "GE"), ("half a head", "GET / HTTP/1.1\r\nhost: x\r\n")] {
        assert_eq!(rest(send(&server, sent).await).await, "", "{name}");
    }
    let mut idle = send(&server, GET).await;
    is_well(&mut idle).await;
    assert_eq!(rest(idle).await, "", "idle after an answer");
}

#[tokio::test]
async fn a_body_that_does_not_come_is_given_up() {
    let server = serve(router(), Limits { body: SHORT, ..UNHURRIED }).await;
    for (name, sent) in [("nothing", ""), ("half", "hal")] {
        let answer = rest(send(&server, &body(sent)).await).await;
        assert!(answer.starts_with("HTTP/1.1 408 "), "{name}: {answer}");
        assert!(answer.ends_with("the body did not arrive in time"), "{name}: {answer}");
    }
    // Nobody reads this one: it is answered at once, and the rest of it is not waited for.
    let unread = format!("{}GET", GET.replace("\r\n\r\n", "\r\ncontent-length: 6\r\n\r\n"));
    assert!(rest(send(&server, &unread).await).await.ends_with("well"));
}

/// A deadline for each piece would let a client go on for ever.
#[tokio::test]
async fn a_body_that_dribbles_is_given_up() {
    let server = serve(router(), Limits { body: SHORT, ..UNHURRIED }).await;
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
async fn bodies_that_come_are_read() {
    let server = serve(router(), UNHURRIED).await;
    let mut client = send(&server, &body("who").replace("host: x", "connection: close\r\nhost: x")).await;
    client.write_all(b"le!").await.unwrap();
    assert!(rest(client).await.ends_with("whole!"));
    let large = "POST /echo HTTP/1.1\r\nhost: x\r\nconnection: close\r\ncontent-length: 17\r\n\r\nseventeen letters";
    assert!(rest(send(&server, large).await).await.starts_with("HTTP/1.1 413 "));
}

/// More than the system takes on for a client that reads nothing.
const LONG_ANSWER: usize = 64 << 20;

#[tokio::test]
async fn a_client_that_does_not_read_its_answer_is_given_up() {
    let router = router().route("/long", get(async || vec![b'x'; LONG_ANSWER]));
    let server = serve(router, Limits { answer: SHORT, connections: 1, ..UNHURRIED }).await;
    let unread = send(&server, "GET /long HTTP/1.1\r\nhost: x\r\n\r\n").await;
    // The only connection: it is let in when the other one is gone.
    is_well(&mut send(&server, GET).await).await;
    let taken = rest(unread).await.len();
    assert!(taken < LONG_ANSWER, "{taken} bytes");
}

/// As many handlers as were started wait for `gate`.
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
async fn one_connection_too_many_waits_while_all_are_busy() {
    let (gate, entered) = (Arc::new(Notify::new()), Arc::new(Notify::new()));
    let server = serve(gated(&gate, &entered), Limits { connections: 1, ..UNHURRIED }).await;
    for (name, request) in [("closes", GET.replace("host: x", "connection: close\r\nhost: x")), ("stays", GET.into())] {
        let first = send(&server, &request).await;
        entered.notified().await;
        let second = send(&server, &request).await;
        // The clock moves only when nothing else does.
        assert!(tokio::time::timeout(SHORT, entered.notified()).await.is_err(), "the second one was let in: {name}");
        gate.notify_one();
        assert!(rest(first).await.ends_with("well"), "{name}");
        entered.notified().await;
        gate.notify_one();
        is_well(&mut { second }).await;
    }
}

#[tokio::test]
async fn idle_connections_give_way_to_a_new_one() {
    let server = serve(router(), Limits { connections: 2, ..UNHURRIED }).await;
    for (name, sent) in [("nothing", ""), ("half a line", "GE"), ("half a head", "GET / HTTP/1.1\r\nhost: x\r\n")] {
        let mut crowd = Vec::new();
        for _ in 0..5 {
            crowd.push(send(&server, sent).await);
        }
        is_well(&mut send(&server, GET).await).await;
        let last = crowd.pop();
        for gone in crowd {
            assert_eq!(rest(gone).await, "", "{name}");
        }
        drop(last);
    }
}

#[tokio::test]
async fn the_longest_idle_gives_way() {
    let server = serve(router(), Limits { connections: 2, ..UNHURRIED }).await;
    let (mut first, mut second) = (send(&server, GET).await, send(&server, GET).await);
    is_well(&mut first).await;
    is_well(&mut second).await;
    first.write_all(GET.as_bytes()).await.unwrap();
    is_well(&mut first).await;
    is_well(&mut send(&server, GET).await).await;
    assert_eq!(rest(second).await, "");
    first.write_all(GET.as_bytes()).await.unwrap();
    is_well(&mut first).await;
}

/// More of them than there is room for, one after the other, each of which stays open.
async fn newcomers(server: &Server) -> Vec<TcpStream> {
    let mut all = Vec::new();
    for _ in 0..4 {
        let mut newcomer = send(server, GET).await;
        is_well(&mut newcomer).await;
        all.push(newcomer);
    }
    all
}

#[tokio::test]
async fn a_busy_connection_is_not_cut() {
    let (gate, entered) = (Arc::new(Notify::new()), Arc::new(Notify::new()));
    // More than the system's buffers hold: the end of the answer waits for who reads it.
    const LARGE: usize = 64 << 20;
    let router =
        router().nest("/slow", gated(&gate, &entered)).route("/large", get(async || vec![b'x'; LARGE].into_response()));
    let server = serve(router, Limits { connections: 2, ..UNHURRIED }).await;

    let handled = send(&server, &GET.replace("/ ", "/slow ")).await;
    entered.notified().await;
    let mut others = newcomers(&server).await;
    gate.notify_one();
    let mut handled = handled;
    is_well(&mut handled).await;
    drop(handled);

    let mut sending = send(&server, &body("").replace("host: x", "connection: close\r\nexpect: 100-continue")).await;
    let mut text = [0; 12];
    sending.read_exact(&mut text).await.unwrap();
    assert_eq!(&text, b"HTTP/1.1 100");
    others.extend(newcomers(&server).await);
    sending.write_all(b"whole!").await.unwrap();
    assert!(rest(sending).await.ends_with("whole!"));

    let mut reading = send(&server, &GET.replace("/ ", "/large ")).await;
    reading.read_exact(&mut text).await.unwrap();
    others.extend(newcomers(&server).await);
    let mut length = 0;
    let mut piece = vec![0; 1 << 20];
    while length < LARGE {
        let read = tokio::time::timeout(LONG, reading.read(&mut piece)).await.unwrap().unwrap();
        assert_ne!(read, 0, "cut after {length} bytes");
        length += read;
    }
}

#[tokio::test]
async fn a_handler_that_panics_is_logged() {
    let (lines, mut logged) = tokio::sync::mpsc::unbounded_channel();
    let settings = LogSettings { level: LevelFilter::ERROR, format: Format::Json, output: Output::Stderr };
    let sink = Box::new(move |line: &[u8]| drop(lines.send(String::from_utf8_lossy(line).into_owned())));
    let _log = tracing::subscriber::set_default(subscriber_into(settings, &Identity::of("tests"), sink));
    let router = Router::new().route("/", get(async || -> &str { panic!("no such row") }));
    let server = serve(router, UNHURRIED).await;
    assert_eq!(rest(send(&server, GET).await).await, "");
    let line = tokio::time::timeout(LONG, logged.recv()).await.unwrap().unwrap();
    for part in [r#""level":"error""#, r#""purpose":"tests""#, "no such row"] {
        assert!(line.contains(part), "{line}");
    }
}

#[tokio::test]
async fn a_stopped_server_ends_what_it_has_begun() {
    let (gate, entered) = (Arc::new(Notify::new()), Arc::new(Notify::new()));
    let server = serve(gated(&gate, &entered), UNHURRIED).await;
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
async fn who_dawdles_does_not_hold_up_the_end() {
    let (gate, entered) = (Arc::new(Notify::new()), Arc::new(Notify::new()));
    for sent in ["GET / HT", GET] {
        let server = serve(gated(&gate, &entered), UNHURRIED).await;
        let client = send(&server, sent).await;
        if sent == GET {
            entered.notified().await;
        }
        tokio::time::timeout(LONG, server.stop(SHORT)).await.unwrap();
        assert_eq!(rest(client).await, "", "{sent}");
    }
}

#[test]
fn addresses_are_read_as_people_write_them() {
    let cases = [
        (":8080", Some("[::]:8080")),
        ("localhost:8080", Some("127.0.0.1:8080")),
        ("0.0.0.0:8080", Some("0.0.0.0:8080")),
        ("[::1]:8080", Some("[::1]:8080")),
        (":http", None),
        ("8080", None),
        ("example.org:80", None),
        ("", None),
    ];
    for (text, expected) in cases {
        assert_eq!(parse_address(text).map(|address| address.to_string()).as_deref(), expected, "{text}");
    }
}

#[tokio::test]
async fn a_port_alone_is_on_all_interfaces() {
    let server = Listener::bind(all_interfaces(0), "tests").await.unwrap().serve(router(), UNHURRIED);
    assert!(server.address().ip().is_unspecified());
    let mut client = TcpStream::connect((Ipv4Addr::LOCALHOST, server.address().port())).await.unwrap();
    client.write_all(GET.as_bytes()).await.unwrap();
    is_well(&mut client).await;
}

#[tokio::test]
async fn an_address_that_is_taken_is_an_error() {
    let server = serve(router(), UNHURRIED).await;
    for address in [server.address(), all_interfaces(server.address().port())] {
        let error = Listener::bind(address, "health").await.unwrap_err().to_string();
        assert_eq!(error, format!("failed to listen on `{address}` for health"));
    }
}
