#![expect(clippy::unwrap_used, reason = "tests")]

use std::error::Error;
use std::io;
use std::sync::{Arc, Mutex};

use jiff::Timestamp;
use serde_json::Value;
use tracing::{debug, error, error_span, info, info_span, warn};

use super::*;

/// Runs `work` with a log at `level` and a fixed clock, and returns the logged lines.
fn logged(level: LevelFilter, format: Format, work: impl FnOnce()) -> Vec<String> {
    let written = Arc::new(Mutex::new(Vec::new()));
    let sink = Arc::clone(&written);
    let identity =
        Identity { component: "adapter-dns".to_owned(), version: "1.2.3".to_owned(), hostname: "pod-0".to_owned() };
    let log = LogLayer::new(format, &identity, Box::new(move |line| sink.lock().unwrap().push(line.to_vec())))
        .with_clock(|| Timestamp::from_microsecond(1_700_000_000_000_500).unwrap());
    tracing::subscriber::with_default(with_log(level, log), work);
    let lines = written.lock().unwrap();
    lines.iter().map(|line| String::from_utf8(line.clone()).unwrap()).collect()
}

#[derive(Debug, thiserror::Error)]
#[error("failed to call the API")]
struct CallError(#[source] io::Error);

fn entries() {
    let span = error_span!("pass", http.request.method = "GET", attempt = 1_u64, late = tracing::field::Empty);
    attach(&span, [("event_id".into(), "e-1".to_owned()), ("cluster_id".into(), "c 1".to_owned())]);
    let _inside = span.enter();
    info!("Processing event");
    span.record("late", true);
    let inner = info_span!("inner", attempt = 2_u64);
    inner.in_scope(|| {
        let error = CallError(io::Error::other("reset"));
        error!(error = &error as &dyn Error, took_ms = 1.5, version = "mine", "Post action failed: {}", 7);
    });
    warn!(attempt = -3, "Forged\n{{\"level\":\"error\"}}");
}

const PREFIX: &str = r#"{"timestamp":"2023-11-14T22:13:20.000500Z","#;
const IDENTITY: &str = r#""component":"adapter-dns","version":"1.2.3","hostname":"pod-0""#;

#[test]
fn json_line_has_flat_fields_of_event_and_spans() {
    let expected = [
        format!(
            r#"{PREFIX}"level":"info","message":"Processing event",{IDENTITY},"attempt":1,"event_id":"e-1","cluster_id":"c 1"}}"#
        ),
        format!(
            r#"{PREFIX}"level":"error","message":"Post action failed: 7",{IDENTITY},"attempt":2,"event_id":"e-1","cluster_id":"c 1","late":true,"error":"failed to call the API: reset","took_ms":1.5,"field_version":"mine"}}"#
        ),
        format!(
            r#"{PREFIX}"level":"warn","message":"Forged\n{{\"level\":\"error\"}}",{IDENTITY},"event_id":"e-1","cluster_id":"c 1","late":true,"attempt":-3}}"#
        ),
    ];
    let lines = logged(LevelFilter::INFO, Format::Json, entries);
    assert_eq!(lines, expected.map(|line| line + "\n"));
    for line in lines {
        serde_json::from_str::<Value>(&line).unwrap();
    }
}

#[test]
fn text_line_has_identity_message_and_fields() {
    let lines = logged(LevelFilter::INFO, Format::Text, entries);
    let expected = [
        "2023-11-14T22:13:20.000500Z INFO [adapter-dns] [1.2.3] [pod-0] Processing event attempt=1 event_id=e-1 cluster_id=\"c 1\"\n",
        "2023-11-14T22:13:20.000500Z ERROR [adapter-dns] [1.2.3] [pod-0] Post action failed: 7 attempt=2 event_id=e-1 cluster_id=\"c 1\" late=true error=\"failed to call the API: reset\" took_ms=1.5 field_version=mine\n",
        "2023-11-14T22:13:20.000500Z WARN [adapter-dns] [1.2.3] [pod-0] Forged\\n{\"level\":\"error\"} event_id=e-1 cluster_id=\"c 1\" late=true attempt=-3\n",
    ];
    assert_eq!(lines, expected);
}

#[test]
fn error_entry_has_its_span_fields_at_every_level() {
    let lines = logged(LevelFilter::ERROR, Format::Json, entries);
    assert_eq!(lines.len(), 1);
    assert!(lines[0].contains(r#""event_id":"e-1""#), "{}", lines[0]);
}

#[test]
fn levels_of_libraries_stop_at_warn() {
    let work = || {
        debug!("ours, debug");
        info!("ours, info");
        debug!(target: "hyper::client", "theirs, debug");
        info!(target: "hyper::client", "theirs, info");
        warn!(target: "hyper::client", "theirs, warn");
        error!(target: "hyper::client", "theirs, error");
    };
    let cases = [
        (LevelFilter::DEBUG, vec!["ours, debug", "ours, info", "theirs, warn", "theirs, error"]),
        (LevelFilter::INFO, vec!["ours, info", "theirs, warn", "theirs, error"]),
        (LevelFilter::WARN, vec!["theirs, warn", "theirs, error"]),
        (LevelFilter::ERROR, vec!["theirs, error"]),
    ];
    for (level, expected) in cases {
        let messages: Vec<String> = logged(level, Format::Json, work)
            .iter()
            .map(|line| serde_json::from_str::<Value>(line).unwrap()["message"].as_str().unwrap().to_owned())
            .collect();
        assert_eq!(messages, expected, "{level}");
    }
}

#[test]
fn amqp_clients_repeated_errors_are_not_logged() {
    let lines = logged(LevelFilter::DEBUG, Format::Json, || {
        error!(target: "lapin::channels", "Connection error");
        error!(target: "lapin::io_loop", "error doing IO");
        error!(target: "lapin::thread", "Thread panicked");
    });
    assert_eq!(lines.len(), 1, "{lines:?}");
    assert!(lines[0].contains("Thread panicked"), "{}", lines[0]);
}

#[test]
fn unchecked_certificate_is_not_warned_about_at_each_handshake() {
    let lines = logged(LevelFilter::DEBUG, Format::Json, || {
        warn!(target: "kube_client::client::tls::rustls_tls", "Server cert bypassed");
        error!(target: "kube_client::client::tls::rustls_tls", "Broken");
        warn!(target: "kube_client::client::tls::rustls_tls", path = "/ca", "failed to reload CA bundle");
        warn!(target: "kube_client::client::builder", "Kept");
    });
    let kept = ["Broken", "failed to reload", "Kept"];
    assert!(lines.len() == 3 && lines.iter().zip(kept).all(|(line, kept)| line.contains(kept)), "{lines:?}");
}

#[test]
fn library_spans_add_no_fields() {
    let lines = logged(LevelFilter::INFO, Format::Json, || {
        let ours = info_span!("ours", kept = "yes");
        let _ours = ours.enter();
        let theirs = info_span!(target: "h2", "theirs", dropped = "no");
        theirs.in_scope(|| info!("inside"));
    });
    assert!(lines[0].contains(r#""kept":"yes""#) && !lines[0].contains("dropped"), "{}", lines[0]);
}

#[test]
fn long_messages_values_and_lines_are_cut() {
    let long = "ä".repeat(40_000);
    let lines = logged(LevelFilter::INFO, Format::Json, || {
        info!(a = long, "{long}");
        // Each control character takes six bytes on a JSON line, so these values exceed the limit of a line.
        let worst = "\u{1}".repeat(8000);
        info!(a = worst, b = worst, c = worst, "many");
    });
    for line in &lines {
        assert!(line.len() < 64 * 1024, "{}", line.len());
    }
    let first: Value = serde_json::from_str(&lines[0]).unwrap();
    let message = first["message"].as_str().unwrap();
    assert!(message.len() <= 1024 && message.ends_with("ä…"), "{}", message.len());
    assert!(first["a"].as_str().unwrap().len() <= 8 * 1024);
    let second: Value = serde_json::from_str(&lines[1]).unwrap();
    assert_eq!((second["a"].is_string(), second.get("b"), &second["truncated"]), (true, None, &Value::Bool(true)));
}

#[test]
fn any_event_is_written_as_one_line() {
    use proptest::prelude::*;
    proptest!(|(message in any::<String>(), value in any::<String>())| {
        for format in [Format::Json, Format::Text] {
            let lines = logged(LevelFilter::INFO, format, || info!(value, "{message}"));
            prop_assert_eq!(lines.len(), 1);
            prop_assert_eq!(lines[0].find('\n'), Some(lines[0].len() - 1));
            if format == Format::Json {
                let entry: Value = serde_json::from_str(&lines[0]).unwrap();
                prop_assert_eq!(entry["value"].as_str(), Some(value.as_str()));
            }
        }
    });
}

#[test]
fn host_name_falls_back_to_the_pod_name() {
    let cases = [
        ("the kernel's", ["pod-0\n", "other"], "pod-0"),
        ("the pod's", ["\n", "pod-1"], "pod-1"),
        ("the kernel has none", ["(none)\n", "pod-1"], "pod-1"),
        ("nobody knows", ["", ""], "unknown"),
    ];
    for (name, candidates, expected) in cases {
        assert_eq!(first_name(candidates.map(str::to_owned)), expected, "{name}");
    }
}
