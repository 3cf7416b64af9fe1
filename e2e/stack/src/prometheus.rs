//! Prometheus, with the rules that the repository ships.
//!
//! In: the parts and their metrics. Out: a [`Setup`]. Fails: never.

use lifecycle_e2e::process::Setup;
use serde_json::json;

use crate::part::Plan;

/// Debian's program.
const PROGRAM: &str = "/usr/bin/prometheus";
const RULES: [(&str, &str); 3] = [
    ("adapter.rules.yaml", include_str!("../../../deploy/prometheus/adapter.rules.yaml")),
    ("reconcile-metrics.rules.yaml", include_str!("../../../deploy/prometheus/reconcile-metrics.rules.yaml")),
    ("sweeper.rules.yaml", include_str!("../../../deploy/prometheus/sweeper.rules.yaml")),
];

/// A Prometheus that reads the metrics of these parts at this interval.
pub(crate) fn plan<'a>(port: u16, interval: &str, parts: impl Iterator<Item = &'a Plan>) -> Plan {
    let jobs = parts.map(|part| {
        let target = part.metrics.trim_start_matches("http://").trim_end_matches("/metrics");
        // In a cluster every target has this label; dashboards select by it.
        let labels = json!({ "namespace": "stack" });
        json!({ "job_name": part.name, "static_configs": [{ "targets": [target], "labels": labels }] })
    });
    let config = json!({
        "global": { "scrape_interval": interval, "evaluation_interval": interval },
        "rule_files": RULES.map(|(name, _)| name),
        "scrape_configs": jobs.collect::<Vec<_>>(),
    });
    let url = format!("http://127.0.0.1:{port}");
    let mut setup = Setup::new(PROGRAM).file("--config.file", "prometheus.yaml", &config.to_string()).arguments(&[
        "--storage.tsdb.path",
        "data",
        "--web.listen-address",
        &format!("127.0.0.1:{port}"),
    ]);
    for (name, text) in RULES {
        setup = setup.with_file(name, text);
    }
    let (ready, metrics) = (format!("{url}/-/ready"), format!("{url}/metrics"));
    Plan { name: "prometheus".to_owned(), before: None, setup, ready, metrics, address: url }
}
