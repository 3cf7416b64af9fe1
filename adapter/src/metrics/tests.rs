#![expect(clippy::unwrap_used, reason = "tests")]

use std::collections::{BTreeMap, BTreeSet};

use super::*;

fn metrics() -> Metrics {
    Metrics::new(&MetricIdentity {
        adapter: "hyperfleet-adapter-dns".to_owned(),
        version: "1.2.3".to_owned(),
        commit: "abc".to_owned(),
    })
}

/// Metrics after one call of every method, so that every series exists.
fn exercised() -> Metrics {
    let metrics = metrics();
    metrics.declare_kinds(["Job"]);
    metrics.declare_preconditions(["cluster"]);
    metrics.declare_decisions([("skip", "same_generation")]);
    metrics.declare_topic("clusters");
    drop(metrics.event_started());
    metrics.dependency_up(Dependency::Kubernetes, true);
    metrics.event_finished(
        EventStatus::Failed,
        Duration::from_millis(1500),
        &[Phase::Resources],
        Timestamp::from_second(1_700_000_000).unwrap(),
    );
    metrics.event_lag(Duration::from_secs(2));
    metrics.event_coalesced();
    metrics.event_invalid(InvalidEvent::Unreadable);
    metrics.warning("gate_conflict");
    metrics.decision("create", "absent");
    metrics.precondition("cluster", PreconditionResult::Pass);
    metrics.resource_created("Job", WriteResult::Success);
    metrics.deletion_started("Job").finish(WriteResult::Error);
    metrics.deletion_started(" ").finish(WriteResult::Success);
    metrics.api_request(Api::Hyperfleet, "GET", "/clusters/{id}", Some(404), Duration::from_millis(20));
    metrics.api_request(Api::Kubernetes, "create", "Job", None, Duration::from_millis(20));
    metrics.message_consumed("clusters \"new\"\\\n");
    metrics.message_published("clusters");
    metrics.message_handled("clusters", Duration::from_secs(1));
    metrics.broker_error("clusters", BrokerError::Handler);
    metrics
}

/// The parse of an exposition by a strict reader of the classic text format: types by family, and samples by
/// series.
struct Scrape {
    types: BTreeMap<String, String>,
    samples: BTreeMap<String, f64>,
}

impl Scrape {
    fn read(text: &str) -> Self {
        let name_ok = |name: &str| {
            !name.is_empty()
                && name.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | ':'))
                && !name.starts_with(|c: char| c.is_ascii_digit())
        };
        let mut scrape = Self { types: BTreeMap::new(), samples: BTreeMap::new() };
        let mut helped = BTreeSet::new();
        let mut family = String::new();
        assert!(text.ends_with('\n'), "the last line ends, too");
        for line in text.lines() {
            if let Some(help) = line.strip_prefix("# HELP ") {
                let (name, words) = help.split_once(' ').unwrap();
                assert!(name_ok(name) && !words.is_empty() && helped.insert(name.to_owned()), "{line}");
            } else if let Some(rest) = line.strip_prefix("# TYPE ") {
                let (name, kind) = rest.split_once(' ').unwrap();
                assert!(matches!(kind, "counter" | "gauge" | "histogram"), "{line}");
                assert!(helped.contains(name), "help comes first: {line}");
                assert!(scrape.types.insert(name.to_owned(), kind.to_owned()).is_none(), "twice: {line}");
                family = name.to_owned();
            } else {
                let (series, value) = line.rsplit_once(' ').unwrap();
                let name = series.split('{').next().unwrap();
                let suffixes: &[&str] =
                    if scrape.types[&family] == "histogram" { &["_bucket", "_sum", "_count"] } else { &[""] };
                assert!(
                    suffixes.iter().any(|suffix| name == format!("{family}{suffix}")),
                    "outside its family: {line}"
                );
                assert_eq!(scrape.types[&family] == "counter", name.ends_with("_total"), "{line}");
                let labels = series[name.len()..].strip_prefix('{').and_then(|it| it.strip_suffix('}')).unwrap();
                let labels = read_labels(labels);
                assert!(labels.contains_key("component") && labels.contains_key("version"), "{line}");
                assert!(labels.keys().all(|name| name_ok(name)), "{line}");
                let series = format!("{name}{labels:?}");
                assert!(scrape.samples.insert(series, value.parse().unwrap()).is_none(), "twice: {line}");
            }
        }
        scrape
    }

    fn value(&self, name: &str, labels: &[(&str, &str)]) -> Option<f64> {
        let fixed = [("component", "hyperfleet-adapter-dns"), ("version", "1.2.3")];
        let labels: BTreeMap<String, String> =
            fixed.iter().chain(labels).map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
        self.samples.get(&format!("{name}{labels:?}")).copied()
    }
}

fn read_labels(mut text: &str) -> BTreeMap<String, String> {
    let mut labels = BTreeMap::new();
    while !text.is_empty() {
        let (name, rest) = text.split_once("=\"").unwrap();
        let mut value = String::new();
        let mut chars = rest.char_indices();
        let end = loop {
            match chars.next().unwrap() {
                (at, '"') => break at,
                (_, '\\') => value.push(match chars.next().unwrap().1 {
                    'n' => '\n',
                    c @ ('\\' | '"') => c,
                    other => panic!("no such escape: {other}"),
                }),
                (_, c) => value.push(c),
            }
        };
        assert!(labels.insert(name.to_owned(), value).is_none(), "the label {name} twice");
        text = &rest[end + 1..];
        text = text.strip_prefix(',').unwrap_or(text);
    }
    labels
}

#[test]
fn metrics_have_the_names_types_and_labels_of_the_contract() {
    let scrape = Scrape::read(&exercised().expose(Exposition::Classic));
    let own = ("adapter_name", "dns");
    type Case<'a> = (&'a str, &'a str, &'a [(&'a str, &'a str)], f64);
    let cases: [Case<'_>; 31] = [
        ("hyperfleet_adapter_build_info", "gauge", &[("commit", "abc")], 1.0),
        ("hyperfleet_adapter_up", "gauge", &[], 1.0),
        ("hyperfleet_adapter_events_processed_total", "counter", &[own, ("status", "failed")], 1.0),
        ("hyperfleet_adapter_events_processed_total", "counter", &[own, ("status", "skipped")], 0.0),
        ("hyperfleet_adapter_event_processing_duration_seconds_count", "", &[own], 1.0),
        ("hyperfleet_adapter_event_processing_duration_seconds_sum", "", &[own], 1.5),
        ("hyperfleet_adapter_event_processing_duration_seconds_bucket", "", &[own, ("le", "1")], 0.0),
        ("hyperfleet_adapter_event_processing_duration_seconds_bucket", "", &[own, ("le", "2")], 1.0),
        ("hyperfleet_adapter_event_processing_duration_seconds_bucket", "", &[own, ("le", "120")], 1.0),
        ("hyperfleet_adapter_event_processing_duration_seconds_bucket", "", &[own, ("le", "+Inf")], 1.0),
        ("hyperfleet_adapter_event_lag_seconds_count", "", &[own], 1.0),
        ("hyperfleet_adapter_events_in_flight", "gauge", &[own], 0.0),
        ("hyperfleet_adapter_events_coalesced_total", "counter", &[own], 1.0),
        ("hyperfleet_adapter_events_invalid_total", "counter", &[own, ("reason", "unreadable")], 1.0),
        ("hyperfleet_adapter_last_processed_timestamp_seconds", "gauge", &[own], 1_700_000_000.0),
        ("hyperfleet_adapter_errors_total", "counter", &[own, ("error_type", "resources")], 1.0),
        ("hyperfleet_adapter_warnings_total", "counter", &[own, ("warning", "gate_conflict")], 1.0),
        ("hyperfleet_adapter_decisions_total", "counter", &[own, ("decision", "create"), ("reason", "absent")], 1.0),
        (
            "hyperfleet_adapter_preconditions_evaluated_total",
            "counter",
            &[own, ("precondition_name", "cluster"), ("result", "pass")],
            1.0,
        ),
        (
            "hyperfleet_adapter_resources_created_total",
            "counter",
            &[own, ("resource_type", "Job"), ("status", "success")],
            1.0,
        ),
        (
            "hyperfleet_adapter_resources_deleted_total",
            "counter",
            &[own, ("resource_type", "Job"), ("status", "error")],
            1.0,
        ),
        (
            "hyperfleet_adapter_resources_deleted_total",
            "counter",
            &[own, ("resource_type", "Unknown"), ("status", "success")],
            1.0,
        ),
        ("hyperfleet_adapter_resource_deletion_duration_seconds_count", "", &[own, ("resource_type", "Job")], 1.0),
        ("hyperfleet_adapter_resource_deletions_in_progress", "gauge", &[own, ("resource_type", "Job")], 0.0),
        (
            "hyperfleet_adapter_api_requests_total",
            "counter",
            &[own, ("api", "hyperfleet"), ("method", "GET"), ("endpoint", "/clusters/{id}"), ("status_code", "4xx")],
            1.0,
        ),
        (
            "hyperfleet_adapter_api_requests_total",
            "counter",
            &[own, ("api", "kubernetes"), ("method", "create"), ("endpoint", "Job"), ("status_code", "none")],
            1.0,
        ),
        (
            "hyperfleet_adapter_api_request_duration_seconds_bucket",
            "",
            &[own, ("api", "hyperfleet"), ("method", "GET"), ("endpoint", "/clusters/{id}"), ("le", "0.05")],
            1.0,
        ),
        ("hyperfleet_broker_messages_consumed_total", "counter", &[("topic", "clusters \"new\"\\\n")], 1.0),
        ("hyperfleet_broker_messages_published_total", "counter", &[("topic", "clusters")], 1.0),
        ("hyperfleet_broker_errors_total", "counter", &[("topic", "clusters"), ("error_type", "handler")], 1.0),
        ("hyperfleet_broker_message_duration_seconds_count", "", &[("topic", "clusters")], 1.0),
    ];
    for (name, kind, labels, value) in cases {
        assert_eq!(scrape.value(name, labels), Some(value), "{name}{labels:?}");
        if !kind.is_empty() {
            assert_eq!(scrape.types[name], kind, "{name}");
        }
    }
    for name in
        ["process_cpu_seconds_total", "process_resident_memory_bytes", "process_open_fds", "process_start_time_seconds"]
    {
        assert!(scrape.value(name, &[]).is_some(), "{name}");
    }
}

#[test]
fn series_of_closed_sets_start_at_zero() {
    let metrics = metrics();
    metrics.declare_kinds(["Job"]);
    metrics.declare_preconditions(["cluster"]);
    metrics.declare_decisions([("skip", "same_generation")]);
    metrics.declare_topic("clusters");
    let scrape = Scrape::read(&metrics.expose(Exposition::Classic));
    let expected = [
        ("hyperfleet_adapter_events_processed_total", 3),
        ("hyperfleet_adapter_errors_total", 4),
        ("hyperfleet_adapter_events_invalid_total", 2),
        ("hyperfleet_adapter_resources_created_total", 2),
        ("hyperfleet_adapter_resources_deleted_total", 2),
        ("hyperfleet_adapter_preconditions_evaluated_total", 3),
        ("hyperfleet_adapter_decisions_total", 1),
        ("hyperfleet_broker_messages_consumed_total", 1),
        ("hyperfleet_broker_errors_total", 2),
    ];
    for (name, count) in expected {
        let series: Vec<_> =
            scrape.samples.iter().filter(|(series, _)| series.starts_with(&format!("{name}{{"))).collect();
        assert_eq!(series.len(), count, "{name}");
        assert!(series.iter().all(|(_, value)| **value == 0.0), "{name}");
    }
}

#[test]
fn guards_decrement_their_gauges() {
    let metrics = metrics();
    let in_flight = |metrics: &Metrics| {
        let scrape = Scrape::read(&metrics.expose(Exposition::Classic));
        let own = ("adapter_name", "dns");
        (
            scrape.value("hyperfleet_adapter_events_in_flight", &[own]),
            scrape.value("hyperfleet_adapter_resource_deletions_in_progress", &[own, ("resource_type", "Job")]),
            scrape.value("hyperfleet_adapter_up", &[]),
        )
    };
    let pass = metrics.event_started();
    let deletion = metrics.deletion_started("Job");
    assert_eq!(in_flight(&metrics), (Some(1.0), Some(1.0), Some(1.0)));
    drop(pass);
    drop(deletion);
    metrics.shutting_down();
    assert_eq!(in_flight(&metrics), (Some(0.0), Some(0.0), Some(0.0)));
    let scrape = Scrape::read(&metrics.expose(Exposition::Classic));
    let deleted = |status| [("adapter_name", "dns"), ("resource_type", "Job"), ("status", status)];
    for status in ["success", "error"] {
        let count = scrape.value("hyperfleet_adapter_resources_deleted_total", &deleted(status));
        assert_eq!(count, Some(0.0), "a deletion given up is neither success nor error");
    }
}

#[test]
fn endpoint_labels_are_limited_in_number() {
    let metrics = metrics();
    for number in 0..3 * ENDPOINT_LIMIT {
        for _ in 0..2 {
            metrics.api_request(Api::Hyperfleet, "GET", &format!("/e{number}"), Some(200), Duration::ZERO);
        }
    }
    let scrape = Scrape::read(&metrics.expose(Exposition::Classic));
    let series = scrape.samples.keys().filter(|series| series.starts_with("hyperfleet_adapter_api_requests_total"));
    assert_eq!(series.count(), ENDPOINT_LIMIT + 1, "the last one is `other`");
    let total: f64 =
        scrape.samples.iter().filter(|(series, _)| series.contains("api_requests_total")).map(|(_, value)| value).sum();
    assert_eq!(total, 6.0 * ENDPOINT_LIMIT as f64, "nothing is lost");
}

#[test]
fn adapter_name_label_drops_the_word_adapter() {
    let cases = [
        ("hyperfleet-adapter-dns", "dns"),
        ("adapter-validation", "validation"),
        ("placement-adapter", "placement"),
        ("adapter-dns-adapter", "dns-adapter"),
        ("hyperfleet-adapter", "hyperfleet"),
        ("dns", "dns"),
        ("my-adapter-dns", "my-adapter-dns"),
    ];
    for (configured, expected) in cases {
        assert_eq!(adapter_name(configured), expected, "{configured}");
    }
}
