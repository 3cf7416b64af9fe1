#![expect(clippy::unwrap_used, reason = "tests")]

use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use axum::Router;
use axum::body::Bytes;
use axum::routing::post;
use lifecycle_core::event::OwnerReference;
use lifecycle_objects::id::Generation;
use lifecycle_service::logging::{self, Identity, LogSettings};
use opentelemetry_sdk::trace::Sampler;
use serde_json::Value;
use tracing_subscriber::layer::SubscriberExt as _;

use super::*;

const TRACE: &str = "4bf92f3577b34da6a3ce929d0e0e4736";
const PARENT: &str = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";

fn event(traceparent: Option<&str>) -> LifecycleEvent {
    LifecycleEvent {
        event_id: "e-1".to_owned(),
        source: "sentinel".to_owned(),
        event_type: "reconcile".to_owned(),
        time: None,
        traceparent: traceparent.map(str::to_owned),
        tracestate: traceparent.map(|_| "vendor=1".to_owned()),
        resource_id: "n-1".to_owned(),
        kind: "NodePool".to_owned(),
        href: String::new(),
        generation: Generation(7),
        owner: Some(OwnerReference { id: "c-1".to_owned(), kind: "Cluster".to_owned(), href: String::new() }),
        data: Value::Null,
    }
}

fn identity() -> Identity {
    Identity { component: "adapter-dns".to_owned(), version: "1".to_owned(), hostname: "pod-0".to_owned() }
}

fn export(endpoint: String, protocol: Protocol) -> Export {
    Export {
        endpoint,
        protocol,
        sampler: Sampler::ParentBased(Box::new(Sampler::AlwaysOn)),
        service_name: "dns".to_owned(),
    }
}

/// Runs `work` with a log subscriber, and returns the lines that `work` logged.
fn logged(work: impl FnOnce()) -> Vec<String> {
    let written = Arc::new(Mutex::new(Vec::new()));
    let sink = Arc::clone(&written);
    let sink = Box::new(move |line: &[u8]| sink.lock().unwrap().push(String::from_utf8_lossy(line).into_owned()));
    let subscriber = logging::subscriber_into(LogSettings::default(), &identity(), sink);
    tracing::subscriber::with_default(subscriber, work);
    std::mem::take(&mut written.lock().unwrap())
}

#[test]
fn incoming_trace_context_passes_through_without_an_exporter() {
    tracing::subscriber::with_default(logging::subscriber(LogSettings::default(), &identity()), || {
        let (span, trace) = event_span(&event(Some(PARENT)), "adapter-dns", "sub");
        assert_eq!(trace.traceparent().as_deref(), Some(PARENT));
        assert_eq!(trace.tracestate(), Some("vendor=1"));
        assert_eq!(outgoing(&span, &trace), trace);
        assert_eq!(event_span(&event(None), "adapter-dns", "sub").1, TraceContext::default());
    });
}

#[test]
fn log_lines_of_a_pass_carry_the_event_identifiers() {
    let lines = logged(|| {
        let (span, _) = event_span(&event(Some(PARENT)), "adapter-dns", "sub");
        span.in_scope(|| tracing::info!("Processing event"));
    });
    let line: Value = serde_json::from_str(&lines[0]).unwrap();
    let cases = [
        ("event_id", "e-1"),
        ("trace_id", TRACE),
        ("adapter", "adapter-dns"),
        ("subscription", "sub"),
        ("resource_type", "nodepools"),
        ("resource_id", "n-1"),
        ("nodepool_id", "n-1"),
        ("cluster_id", "c-1"),
        ("observed_generation", "7"),
    ];
    for (key, value) in cases {
        assert_eq!(line[key], value, "{key}");
    }
    assert!(line.get("span_id").is_none(), "the only span is the sender's");
    assert!(line.as_object().unwrap().keys().all(|key| !key.contains('.')), "{line}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn exporter_sends_spans_of_the_incoming_trace_over_http() {
    let received = Arc::new(Mutex::new(Vec::<u8>::new()));
    let sink = Arc::clone(&received);
    let collector = Router::new().route(
        "/v1/traces",
        post(async move |body: Bytes| {
            sink.lock().unwrap().extend_from_slice(&body);
        }),
    );
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let endpoint = format!("http://{}/v1/traces", listener.local_addr().unwrap());
    tokio::spawn(async move { axum::serve(listener, collector).await });

    let tracing = Tracing::start(&export(endpoint, Protocol::HttpProtobuf), &identity()).unwrap();
    let subscriber = tracing_subscriber::registry().with(tracing.layer());
    let trace = tracing::subscriber::with_default(subscriber, || {
        let (span, trace) = event_span(&event(Some(PARENT)), "adapter-dns", "sub");
        mark_failed(&span, "resource failed");
        let inner = span.in_scope(|| info_span!("http.client", otel.name = "GET"));
        let own = outgoing(&inner, &trace);
        assert_ne!(own.span_id(), trace.span_id(), "a call belongs to its own span");
        assert_eq!(own.trace_id(), trace.trace_id());
        tracing::info_span!(target: "h2", "theirs").in_scope(|| tracing::info!("not a span event"));
        trace
    });
    assert_eq!(trace.trace_id().as_deref(), Some(TRACE));
    assert_ne!(trace.traceparent().as_deref(), Some(PARENT), "the pass has a span of its own");
    assert_eq!(trace.tracestate(), Some("vendor=1"));
    tracing.shutdown(Duration::from_secs(5)).await;

    let received = received.lock().unwrap();
    let has = |text: &str| received.windows(text.len()).any(|window| window == text.as_bytes());
    for text in ["adapter.process", "GET", "hyperfleet.cluster_id", "hyperfleet.resource_id", "resource failed", "dns"]
    {
        assert!(has(text), "{text} was exported");
    }
    for text in ["theirs", "not a span event"] {
        assert!(!has(text), "{text} was not exported");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn unreachable_collector_does_not_delay_the_shutdown() {
    // The listener never accepts, so that connections and requests hang.
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    for (protocol, endpoint) in
        [(Protocol::Grpc, format!("http://{address}")), (Protocol::HttpProtobuf, format!("http://{address}/v1/traces"))]
    {
        let tracing = Tracing::start(&export(endpoint, protocol), &identity()).unwrap();
        let subscriber = tracing_subscriber::registry().with(tracing.layer());
        tracing::subscriber::with_default(subscriber, || drop(event_span(&event(None), "adapter-dns", "sub")));
        let started = Instant::now();
        tracing.shutdown(Duration::from_millis(200)).await;
        assert!(started.elapsed() < Duration::from_secs(5), "{protocol:?}: {:?}", started.elapsed());
    }
}
