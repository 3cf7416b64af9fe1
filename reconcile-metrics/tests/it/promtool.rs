//! Checks the exposition, the rules and the dashboard with `promtool`, and that they use only metrics that exist.

use std::collections::BTreeSet;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use lifecycle_service::metrics::{Exposition, registry, write};
use reconcile_metrics::samples::FAMILIES;
use serde_json::Value;

use crate::world::{Exporter, KINDS, World};

pub(crate) fn repository(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join(path)
}

fn promtool(arguments: &[&str], input: &str) -> (bool, String) {
    let child = Command::new("promtool")
        .args(arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .current_dir(repository("deploy/prometheus"))
        .spawn();
    let mut child =
        child.expect("promtool is not installed; run `./test --setup` once, it installs the package prometheus");
    child.stdin.take().unwrap().write_all(input.as_bytes()).unwrap();
    let output = child.wait_with_output().unwrap();
    let text = format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    (output.status.success(), text)
}

#[tokio::test]
async fn exposition_passes_promtool_check_metrics() {
    let mut world = World::migrated().await;
    world.resource("c1", "Cluster", Some("False"), "1 hour").await;
    let config = world.config(KINDS);
    let exporter = Exporter::start(config).await;
    exporter.scraper.renew_details().await;
    let (_, text) = exporter.metrics_as("text/plain").await;
    let (passes, said) = promtool(&["check", "metrics"], &text);
    assert!(passes && said.trim().is_empty(), "{said}\n{text}");
}

#[test]
fn rules_pass_promtool_and_their_tests() {
    let (passes, said) = promtool(&["check", "rules", "reconcile-metrics.rules.yaml"], "");
    assert!(passes, "{said}");
    for tests in ["reconcile-metrics.tests.yaml", "reconcile-metrics-exporter.tests.yaml"] {
        let (passes, said) = promtool(&["test", "rules", tests], "");
        assert!(passes, "{said}");
    }
}

/// Returns every metric name that a query may use: the exporter's, with the suffixes of histograms, and Prometheus' own.
fn exposed() -> BTreeSet<String> {
    let mut names: BTreeSet<String> = ["up", "ALERTS"].map(str::to_owned).into();
    let described = write(&registry("", ""), Exposition::Classic);
    let types = described.lines().filter_map(|line| line.strip_prefix("# TYPE ")?.split(' ').next());
    names.extend(types.map(str::to_owned));
    for (name, kind, _) in FAMILIES {
        names.insert((*name).to_owned());
        if *kind == reconcile_metrics::samples::Kind::Histogram {
            names.extend(["_bucket", "_sum", "_count"].map(|suffix| format!("{name}{suffix}")));
        }
    }
    names
}

/// Returns the metrics that a query uses: words with a known prefix outside of braces, brackets and quotes.
fn named(query: &str) -> BTreeSet<String> {
    let mut names = BTreeSet::new();
    let mut rest = String::new();
    let mut depth = 0;
    let mut quoted = false;
    for c in query.chars() {
        match c {
            '"' => quoted = !quoted,
            '{' | '[' if !quoted => depth += 1,
            '}' | ']' if !quoted => depth -= 1,
            _ => {}
        }
        rest.push(if depth > 0 || quoted || matches!(c, '"' | '}' | ']') { ' ' } else { c });
    }
    let words = rest.split(|c: char| !(c.is_ascii_alphanumeric() || matches!(c, '_' | ':')));
    let is_metric = |word: &&str| {
        ["hyperfleet_", "hyperfleet:", "process_"].iter().any(|prefix| word.starts_with(prefix))
            || matches!(*word, "up" | "ALERTS")
    };
    for word in words.filter(is_metric) {
        names.insert(word.to_owned());
    }
    names
}

/// Returns the names of recording rules, and the expression of every rule.
fn rules() -> (BTreeSet<String>, Vec<(String, String)>) {
    let text = std::fs::read_to_string(repository("deploy/prometheus/reconcile-metrics.rules.yaml")).unwrap();
    let document = lifecycle_config::document::Document::parse("rules", &text).unwrap();
    let rules = document.root().to_value();
    let (mut recorded, mut expressions) = (BTreeSet::new(), Vec::new());
    for group in rules["groups"].as_array().unwrap() {
        for rule in group["rules"].as_array().unwrap() {
            if let Some(record) = rule["record"].as_str() {
                recorded.insert(record.to_owned());
            }
            let name = rule["record"].as_str().or(rule["alert"].as_str()).unwrap();
            expressions.push((name.to_owned(), rule["expr"].as_str().unwrap().to_owned()));
        }
    }
    (recorded, expressions)
}

#[test]
fn rules_use_only_metrics_that_exist() {
    let (recorded, expressions) = rules();
    let known: BTreeSet<_> = exposed().union(&recorded).cloned().collect();
    for (rule, expression) in expressions {
        let names = named(&expression);
        assert!(!names.is_empty(), "{rule}: {expression}");
        assert!(names.is_subset(&known), "{rule}: {:?}", names.difference(&known).collect::<Vec<_>>());
    }
}

#[test]
fn every_alert_has_a_section_in_the_runbook() {
    let runbook = std::fs::read_to_string(repository("docs/operations.md")).unwrap();
    let text = std::fs::read_to_string(repository("deploy/prometheus/reconcile-metrics.rules.yaml")).unwrap();
    let rules = lifecycle_config::document::Document::parse("rules", &text).unwrap().root().to_value();
    let mut alerts = 0;
    for rule in rules["groups"].as_array().unwrap().iter().flat_map(|group| group["rules"].as_array().unwrap()) {
        let Some(alert) = rule["alert"].as_str() else { continue };
        alerts += 1;
        assert!(runbook.contains(&format!("\n### {alert}\n")), "{alert} has no section in docs/operations.md");
        let link = rule["annotations"]["runbook_url"].as_str().unwrap();
        assert!(link.ends_with(&format!("docs/operations.md#{}", alert.to_lowercase())), "{link}");
        assert!(["warning", "critical"].contains(&rule["labels"]["severity"].as_str().unwrap()), "{alert}");
    }
    // Every alert costs people on call time, so their number is limited.
    assert!((5..=8).contains(&alerts), "{alerts}");
    for upstream in ["HyperFleetResourceReconciliationStuckWarning", "HyperFleetResourceReconciliationStuckCritical"] {
        assert!(!text.contains(upstream), "the API's chart has an alert {upstream}, so that two would fire for one");
    }
}

/// Returns every query of the dashboard, with the title of its panel.
pub(crate) fn queries(dashboard: &Value) -> Vec<(String, String)> {
    let mut queries = Vec::new();
    for panel in dashboard["panels"].as_array().unwrap() {
        let title = panel["title"].as_str().unwrap().to_owned();
        for target in panel["targets"].as_array().into_iter().flatten() {
            queries.push((title.clone(), target["expr"].as_str().unwrap().to_owned()));
        }
    }
    queries
}

/// Replaces Grafana's variables in a query: all namespaces, and the given types.
pub(crate) fn as_sent(query: &str, rate_interval: &str, resource_type: &str) -> String {
    query
        .replace("$__rate_interval", rate_interval)
        .replace("$namespace", ".*")
        .replace("$resource_type", resource_type)
}

pub(crate) fn dashboard() -> Value {
    let text = std::fs::read_to_string(repository("deploy/grafana/dashboards/reconcile-metrics.json")).unwrap();
    serde_json::from_str(&text).unwrap()
}

#[test]
fn dashboard_uses_only_metrics_that_exist() {
    let queries = queries(&dashboard());
    assert!(queries.len() >= 10, "{}", queries.len());
    let (recorded, _) = rules();
    let known: BTreeSet<_> = exposed().union(&recorded).cloned().collect();
    for (panel, query) in &queries {
        let names = named(query);
        assert!(!names.is_empty() && names.is_subset(&known), "{panel}: {query}");
        assert!(
            query.contains(r#"namespace=~"$namespace"#),
            "{panel} does not filter by namespace, so it adds up several installations: {query}"
        );
    }
}

#[test]
fn dashboard_has_unique_ids_a_full_grid_and_descriptions() {
    let dashboard = dashboard();
    assert_eq!(dashboard["uid"], "hyperfleet-reconcile-metrics");
    let (mut ids, mut taken, mut height) = (BTreeSet::new(), BTreeSet::new(), 0);
    for panel in dashboard["panels"].as_array().unwrap() {
        let title = &panel["title"];
        assert!(ids.insert(panel["id"].as_u64().unwrap()), "{title}: its id is taken");
        // Panels must not overlap on Grafana's grid of 24 columns.
        let place = |key: &str| panel["gridPos"][key].as_u64().unwrap();
        assert!(place("x") + place("w") <= 24, "{title}");
        for x in place("x")..place("x") + place("w") {
            for y in place("y")..place("y") + place("h") {
                assert!(taken.insert((x, y)), "{title} lies on another panel");
            }
        }
        height = height.max(place("y") + place("h"));
        if panel["type"] == "row" {
            continue;
        }
        assert!(panel["description"].as_str().is_some_and(|text| !text.is_empty()), "{title} has no description");
        for target in panel["targets"].as_array().unwrap() {
            assert_eq!(target["datasource"]["uid"], "${datasource}", "{title}");
            // A range query would show the last value even if the exporter cannot read the database any more.
            let single = matches!(panel["type"].as_str(), Some("stat" | "table"));
            assert_eq!(target["instant"] == true, single, "{title}");
        }
    }
    assert_eq!(taken.len() as u64, 24 * height, "there are gaps between panels");
}

/// Wraps the dashboard's queries as recording rules, because `promtool` parses PromQL only in rules.
#[test]
fn dashboard_queries_are_valid_promql() {
    let rules: Vec<Value> = queries(&dashboard())
        .into_iter()
        .enumerate()
        .map(|(n, (_, query))| serde_json::json!({"record": format!("panel:{n}"), "expr": as_sent(&query, "5m", ".*")}))
        .collect();
    let file = tempfile::Builder::new().suffix(".yaml").tempfile().unwrap();
    let groups = serde_json::json!({"groups": [{"name": "dashboard", "rules": rules}]});
    std::fs::write(file.path(), groups.to_string()).unwrap();
    let (passes, said) = promtool(&["check", "rules", file.path().to_str().unwrap()], "");
    assert!(passes, "{said}");
}

#[test]
fn named_finds_the_metrics_of_a_query() {
    let query =
        "sum by (resource_type) (rate(hyperfleet_a_total{x=\"hyperfleet_b\"}[5m])) / on () group_left hyperfleet:c > 0";
    assert_eq!(named(query), ["hyperfleet_a_total".to_owned(), "hyperfleet:c".to_owned()].into());
    assert_eq!(named("time() - up"), ["up".to_owned()].into());
}
