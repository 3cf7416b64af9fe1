//! Generates the table of metrics from the exposition of a registry in which each metric was recorded once.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use hyperfleet_adapter::metrics::{
    Api, AuthFailure, BrokerError, Dependency, EventStatus, InvalidEvent, MetricIdentity, Metrics, Phase,
    PreconditionResult, WriteResult,
};
use jiff::Timestamp;
use lifecycle_bundle::member::Effect;
use lifecycle_bundle::report::{ObjectReport, Report, Stop, StoppedBy};
use lifecycle_bundle::table::Intent;
use lifecycle_objects::identity::{GroupKind, Identity};
use lifecycle_service::metrics::Exposition;

/// Metrics that exist only because the Go adapter has them: this adapter publishes no messages.
const NEVER_COUNTED: [&str; 1] = ["hyperfleet_broker_messages_published"];

#[derive(Default)]
struct Metric {
    kind: String,
    help: String,
    labels: BTreeSet<String>,
}

/// Returns a table with a row for each metric, without the labels that all metrics have.
pub(crate) fn table() -> String {
    let mut found: BTreeMap<String, Metric> = BTreeMap::new();
    for line in exposition().lines() {
        if let Some((name, help)) = line.strip_prefix("# HELP ").and_then(|rest| rest.split_once(' ')) {
            found.entry(name.to_owned()).or_default().help = help.trim_end_matches('.').to_owned();
        } else if let Some((name, kind)) = line.strip_prefix("# TYPE ").and_then(|rest| rest.split_once(' ')) {
            found.entry(name.to_owned()).or_default().kind = kind.to_owned();
        } else if !line.starts_with('#') && !line.is_empty() {
            let (name, labels) = series(line);
            let base = ["_bucket", "_sum", "_count"].iter().find_map(|suffix| name.strip_suffix(suffix));
            let known = |name: &str| found.contains_key(name);
            let metric = if known(name) { name } else { base.filter(|base| known(base)).expect(line) };
            let implied = ["component", "version", "adapter_name", "le"];
            let own = labels.into_iter().filter(|label| !implied.contains(label)).map(str::to_owned);
            found.get_mut(metric).expect(line).labels.extend(own);
        }
    }
    // A metric is exposed only after it was recorded, so check that `exposition` records each registered metric.
    for registered in include_str!("../../src/metrics.rs").split("\"hyperfleet_").skip(1) {
        let name = format!("hyperfleet_{}", registered.split('"').next().unwrap_or_default());
        let is_exposed = found.keys().any(|exposed| exposed.strip_suffix("_total").unwrap_or(exposed) == name);
        assert!(is_exposed || NEVER_COUNTED.contains(&name.as_str()), "record {name} in `exposition`");
    }
    let mut table = "| Metric | Type | Labels | Meaning |\n| --- | --- | --- | --- |\n".to_owned();
    for (name, Metric { kind, help, labels }) in found {
        let labels: Vec<_> = labels.iter().map(|label| format!("`{label}`")).collect();
        table.push_str(&format!("| `{name}` | {kind} | {} | {help} |\n", labels.join(", ")));
    }
    table
}

fn exposition() -> String {
    let metrics = Metrics::new(&MetricIdentity {
        adapter: "dns-adapter".to_owned(),
        version: "1.0.0".to_owned(),
        commit: "abc".to_owned(),
    });
    let second = Duration::from_secs(1);
    metrics.declare_topic("clusters");
    metrics.event_finished(EventStatus::Failed, second, &[Phase::Resources], Timestamp::UNIX_EPOCH);
    metrics.event_lag(second);
    metrics.dependency_up(Dependency::Kubernetes, true);
    metrics.event_invalid(InvalidEvent::Unreadable);
    metrics.event_coalesced();
    metrics.warning("resource");
    metrics.decision("create", "Absent");
    metrics.resource_failed("Conflict");
    metrics.bundle("monitoring", &bundle());
    metrics.precondition("ready", PreconditionResult::Pass);
    metrics.resource_created("Job", WriteResult::Success);
    metrics.deletion_started("Job").finish(WriteResult::Success);
    metrics.api_request(Api::Kubernetes, "get", "Job", Some(200), second);
    metrics.api_auth_failure(AuthFailure::Unauthorized);
    metrics.message_consumed("clusters");
    metrics.message_handled("clusters", second);
    metrics.broker_error("clusters", BrokerError::Handler);
    metrics.expose(Exposition::Classic)
}

/// A bundle with an object that was repaired, and with others' objects in the way of its deletion.
fn bundle() -> Report {
    let identity = Identity { kind: GroupKind::new("", "ConfigMap"), namespace: None, name: "a".to_owned() };
    let object = ObjectReport {
        identity: identity.clone(),
        step: "wave 0".into(),
        verdict: None,
        effect: Effect::Updated { drift: vec!["data.k".to_owned()] },
        judgement: None,
    };
    Report {
        objects: vec![object],
        intent: Intent::Apply,
        steps: Vec::new(),
        stopped: Some(Stop { step: None, by: StoppedBy::Others(identity), why: "it is in the way".to_owned() }),
    }
}

/// The name and the label names of a sample.
fn series(line: &str) -> (&str, Vec<&str>) {
    let Some((name, rest)) = line.split_once('{') else {
        return (line.split(' ').next().unwrap_or_default(), Vec::new());
    };
    let labels = rest.rsplit_once('}').map_or("", |(labels, _)| labels);
    (name, labels.split("\",").filter_map(|label| label.split('=').next()).collect())
}
