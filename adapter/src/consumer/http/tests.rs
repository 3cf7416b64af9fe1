#![expect(clippy::unwrap_used, reason = "tests")]

use axum::body::Body;
use proptest::prelude::*;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tower::ServiceExt;

use super::*;

struct Fixture {
    router: Router,
    inbox: mpsc::Receiver<Incoming>,
    stop: CancellationToken,
}

fn fixture(permits: usize) -> Fixture {
    let (sender, inbox) = mpsc::channel(4);
    let stop = CancellationToken::new();
    let intake = Intake { inbox: sender, permits: Arc::new(Semaphore::new(permits)), stop: stop.clone() };
    Fixture { router: router(intake), inbox, stop }
}

fn structured() -> Request {
    request(&[("content-type", "application/cloudevents+json; charset=utf-8")], "{}")
}

fn request(headers: &[(&str, &str)], body: &str) -> Request {
    let builder = headers.iter().fold(Request::post("/"), |builder, (name, value)| builder.header(*name, *value));
    builder.body(Body::from(body.to_owned())).unwrap()
}

async fn text(response: Response) -> String {
    let body = axum::body::to_bytes(response.into_body(), 4096).await.unwrap();
    String::from_utf8(body.to_vec()).unwrap()
}

#[tokio::test]
async fn http_status_reports_the_disposition_of_the_event() {
    let dead = Disposition::DeadLetter { reason: "data is a list".to_owned() };
    let cases = [
        (Disposition::Ack, StatusCode::NO_CONTENT, "", None),
        (dead, StatusCode::BAD_REQUEST, "data is a list", None),
        (Disposition::Requeue, StatusCode::SERVICE_UNAVAILABLE, "no events are taken now", Some("1")),
    ];
    for (disposition, status, body, retry_after) in cases {
        let mut fixture = fixture(1);
        let answer = tokio::spawn(fixture.router.oneshot(structured()));
        let incoming = fixture.inbox.recv().await.unwrap();
        assert_eq!(incoming.message, Message::Structured(Bytes::from_static(b"{}")));
        assert!(!answer.is_finished(), "no answer before the pass has ended");
        incoming.settlement.settle(disposition.clone());
        let answer = answer.await.unwrap().unwrap();
        assert_eq!(answer.status(), status, "{disposition:?}");
        let header = answer.headers().get("retry-after").map(|value| value.to_str().unwrap().to_owned());
        assert_eq!(header.as_deref(), retry_after, "{disposition:?}");
        assert_eq!(text(answer).await, body);
    }
}

#[tokio::test]
async fn binary_mode_reads_attributes_from_headers() {
    let mut fixture = fixture(1);
    let headers = [
        ("content-type", "application/json"),
        ("ce-specversion", "1.0"),
        ("Ce-Id", "caf%C3%A9"),
        ("x-request-id", "1"),
    ];
    let answer = tokio::spawn(fixture.router.oneshot(request(&headers, r#"{"id":"a"}"#)));
    let incoming = fixture.inbox.recv().await.unwrap();
    let Message::Binary { mut attributes, body } = incoming.message else { panic!("not binary") };
    attributes.sort();
    let expected = [("id", "café"), ("specversion", "1.0")].map(|(name, value)| (name.to_owned(), value.to_owned()));
    assert_eq!((attributes.as_slice(), body.as_ref()), (expected.as_slice(), br#"{"id":"a"}"#.as_slice()));
    incoming.settlement.settle(Disposition::Ack);
    assert_eq!(answer.await.unwrap().unwrap().status(), StatusCode::NO_CONTENT);
}

#[tokio::test]
async fn requests_without_a_valid_event_are_rejected() {
    let large = "x".repeat(MAX_EVENT_BYTES + 1);
    let event = ("content-type", STRUCTURED);
    let cases = [
        ("no mode at all", request(&[("content-type", "application/json")], "{}"), StatusCode::UNSUPPORTED_MEDIA_TYPE),
        (
            "a batch",
            request(&[("content-type", "application/cloudevents-batch+json")], "[]"),
            StatusCode::UNSUPPORTED_MEDIA_TYPE,
        ),
        ("too large a body", request(&[event], &large), StatusCode::PAYLOAD_TOO_LARGE),
        ("another method", Request::get("/").body(Body::empty()).unwrap(), StatusCode::METHOD_NOT_ALLOWED),
        ("another path", Request::post("/events").body(Body::empty()).unwrap(), StatusCode::NOT_FOUND),
    ];
    for (name, request, status) in cases {
        let mut fixture = fixture(1);
        assert_eq!(fixture.router.oneshot(request).await.unwrap().status(), status, "{name}");
        // The dispatcher logs and counts what was meant as an event.
        let is_event = [413, 415].contains(&status.as_u16());
        let told = fixture.inbox.try_recv().ok().map(|incoming| incoming.message.parse(MAX_EVENT_BYTES).unwrap_err());
        assert_eq!(told.is_some(), is_event, "{name}");
        let names_status = |reason: String| reason.contains(status.as_str());
        assert!(told.is_none_or(names_status), "{name}");
    }
}

#[tokio::test]
async fn full_input_responds_429_until_an_event_is_settled() {
    let mut fixture = fixture(1);
    let first = tokio::spawn(fixture.router.clone().oneshot(structured()));
    let incoming = fixture.inbox.recv().await.unwrap();
    let refused = fixture.router.clone().oneshot(structured()).await.unwrap();
    assert_eq!(refused.status(), StatusCode::TOO_MANY_REQUESTS);
    assert_eq!(refused.headers().get("retry-after").unwrap(), "1");
    incoming.settlement.settle(Disposition::Ack);
    first.await.unwrap().unwrap();
    let second = tokio::spawn(fixture.router.oneshot(structured()));
    fixture.inbox.recv().await.unwrap().settlement.settle(Disposition::Ack);
    assert_eq!(second.await.unwrap().unwrap().status(), StatusCode::NO_CONTENT);
}

#[tokio::test]
async fn disconnected_client_keeps_its_permit_until_settlement() {
    let mut fixture = fixture(1);
    let first = tokio::spawn(fixture.router.clone().oneshot(structured()));
    let incoming = fixture.inbox.recv().await.unwrap();
    first.abort();
    assert!(first.await.unwrap_err().is_cancelled());
    let refused = fixture.router.clone().oneshot(structured()).await.unwrap();
    assert_eq!(refused.status(), StatusCode::TOO_MANY_REQUESTS);
    incoming.settlement.settle(Disposition::Ack);
}

#[tokio::test]
async fn input_responds_503_while_stopping_or_without_a_dispatcher() {
    let stopping = fixture(1);
    stopping.stop.cancel();
    let answer = stopping.router.oneshot(structured()).await.unwrap();
    assert_eq!(answer.status(), StatusCode::SERVICE_UNAVAILABLE);

    let Fixture { router, inbox, stop: _stop } = fixture(1);
    drop(inbox);
    let answer = router.oneshot(structured()).await.unwrap();
    assert_eq!(answer.status(), StatusCode::SERVICE_UNAVAILABLE);
}

struct RunningInput {
    address: SocketAddr,
    inbox: mpsc::Receiver<Incoming>,
    stop: CancellationToken,
    ended: tokio::task::JoinHandle<()>,
}

async fn listen(max_unsettled: usize) -> RunningInput {
    let input = HttpInput::bind("127.0.0.1:0".parse().unwrap(), max_unsettled).await.unwrap();
    let (address, stop) = (input.local_addr(), CancellationToken::new());
    let (sender, inbox) = mpsc::channel(4);
    RunningInput { address, inbox, ended: tokio::spawn(input.run(sender, stop.clone())), stop }
}

#[tokio::test]
async fn stopping_input_responds_to_accepted_events_first() {
    let mut listener = listen(4).await;
    let mut client = TcpStream::connect(listener.address).await.unwrap();
    let request = format!(
        "POST / HTTP/1.1\r\nhost: x\r\ncontent-type: {STRUCTURED}\r\ncontent-length: 2\r\nconnection: close\r\n\r\n{{}}"
    );
    client.write_all(request.as_bytes()).await.unwrap();
    let incoming = listener.inbox.recv().await.unwrap();
    listener.stop.cancel();
    incoming.settlement.settle(Disposition::Ack);
    let mut answer = String::new();
    client.read_to_string(&mut answer).await.unwrap();
    assert!(answer.starts_with("HTTP/1.1 204 No Content\r\n"), "{answer}");
    listener.ended.await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn stalled_request_body_frees_its_permit() {
    let mut listener = listen(1).await;
    let head = format!("POST / HTTP/1.1\r\nhost: x\r\ncontent-type: {STRUCTURED}\r\ncontent-length: 2\r\n\r\n");
    let mut slow_client = TcpStream::connect(listener.address).await.unwrap();
    slow_client.write_all(format!("{head}{{").as_bytes()).await.unwrap();
    let mut answer = String::new();
    slow_client.read_to_string(&mut answer).await.unwrap();
    assert!(answer.starts_with("HTTP/1.1 408 Request Timeout\r\n"), "{answer}");

    let mut client = TcpStream::connect(listener.address).await.unwrap();
    client.write_all(format!("{head}{{}}").as_bytes()).await.unwrap();
    listener.inbox.recv().await.unwrap().settlement.settle(Disposition::Ack);
}

#[tokio::test(start_paused = true)]
async fn incomplete_request_does_not_delay_the_stop() {
    let listener = listen(4).await;
    let mut client = TcpStream::connect(listener.address).await.unwrap();
    client.write_all(b"POST / HTTP/1.1\r\nhost: ").await.unwrap();
    listener.stop.cancel();
    tokio::time::timeout(Duration::from_secs(60), listener.ended).await.unwrap().unwrap();
}

#[test]
fn header_values_are_unquoted_and_percent_decoded() {
    let cases = [
        ("plain", "abc", "abc"),
        ("percent-encoded", "a%20b%25", "a b%"),
        ("quoted", r#""a \"b\" c""#, r#"a "b" c"#),
        ("no valid escape", "100%, %4", "100%, %4"),
        ("one quote", "\"", "\""),
        ("empty", "", ""),
    ];
    for (name, value, expected) in cases {
        assert_eq!(decode(value.as_bytes()), expected, "{name}");
    }
}

proptest! {
    #[test]
    fn decoding_reverses_percent_encoding(text in any::<String>()) {
        let encoded: String = text.bytes().map(|byte| format!("%{byte:02X}")).collect();
        prop_assert_eq!(decode(encoded.as_bytes()), text);
    }

    #[test]
    fn decoding_an_arbitrary_header_never_panics(value in prop::collection::vec(any::<u8>(), 0..32)) {
        let _ = decode(&value);
    }
}
