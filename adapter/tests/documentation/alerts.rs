//! Compares `docs/alerts.md`, the rules, the dashboards and the runbooks of all programs with each other.

use std::collections::BTreeSet;
use std::fs;
use std::io::Write as _;
use std::path::Path;
use std::process::Command;

use lifecycle_config::document::Document;
use serde_json::{Value, json};

use super::check_generated;
use super::page::{Page, root};

/// The names of the rule files.
const RULES: [&str; 3] = ["adapter", "reconcile-metrics", "sweeper"];
/// Each alert costs people on call time.
const MOST_ALERTS: usize = 15;
/// The dashboards, and how each of their queries is restricted to what its reader selected.
const DASHBOARDS: [(&str, &str); 3] = [
    ("adapter", r#"adapter_name=~"$adapter_name""#),
    ("fleet", r#"namespace=~"$namespace"#),
    ("sweeper", r#"namespace=~"$namespace"#),
];
const REPOSITORY: &str = "https://github.com/openshift-hyperfleet/hyperfleet-lifecycle/blob/main/";

/// A rule of an alert, or one that records.
struct Rule {
    value: Value,
}

impl Rule {
    fn all() -> Vec<Self> {
        let of_file = |file: &'static str| {
            let text = fs::read_to_string(root().join(format!("deploy/prometheus/{file}.rules.yaml"))).unwrap();
            let rules = Document::parse("rules", &text).unwrap().root().to_value();
            let groups = rules["groups"].as_array().unwrap().clone();
            let rules = groups.into_iter().flat_map(|group| group["rules"].as_array().unwrap().clone());
            rules.map(|value| Self { value })
        };
        RULES.into_iter().flat_map(of_file).collect()
    }

    fn alerts() -> Vec<Self> {
        Self::all().into_iter().filter(|rule| rule.value["alert"].is_string()).collect()
    }

    fn name(&self) -> &str {
        self.value["alert"].as_str().or(self.value["record"].as_str()).unwrap()
    }

    fn expression(&self) -> &str {
        self.value["expr"].as_str().unwrap().trim()
    }

    /// The address of the runbook.
    fn runbook(&self) -> &str {
        self.value["annotations"]["runbook_url"].as_str().unwrap()
    }

    /// The page of the runbook, and its section about this alert.
    fn section(&self) -> (String, String) {
        let (page, anchor) = self.runbook().strip_prefix(REPOSITORY).unwrap().split_once('#').unwrap();
        assert_eq!(anchor, self.name().to_lowercase());
        let text = Page::read(page).text;
        let heading = format!("\n### {}\n", self.name());
        let (_, rest) = text.split_once(&heading).unwrap_or_else(|| panic!("{page} has no section {}", self.name()));
        (page.to_owned(), rest.split("\n## ").next().unwrap().split("\n### ").next().unwrap().trim().to_owned())
    }
}

/// The first sentence of a text, without links.
fn first_sentence(text: &str) -> String {
    let paragraph = text.split("\n\n").next().unwrap().replace('\n', " ");
    let mut sentence = paragraph.split(". ").next().unwrap().trim_end_matches('.').to_owned();
    while let Some((before, rest)) = sentence.split_once('[') {
        let (label, rest) = rest.split_once("](").unwrap();
        sentence = format!("{before}{label}{}", rest.split_once(')').unwrap().1);
    }
    sentence
}

fn table() -> String {
    let mut table = "| Alert | Severity | For | Means |\n| --- | --- | --- | --- |\n".to_owned();
    for alert in Rule::alerts() {
        let (page, section) = alert.section();
        let link = format!("{}#{}", page.trim_start_matches("docs/"), alert.name().to_lowercase());
        let (severity, wait) = (&alert.value["labels"]["severity"], alert.value["for"].as_str().unwrap_or("0m"));
        let (severity, means) = (severity.as_str().unwrap(), first_sentence(&section));
        table.push_str(&format!("| [{}]({link}) | {severity} | {wait} | {means} |\n", alert.name()));
    }
    table
}

fn expressions() -> String {
    let mut text = String::new();
    for rule in Rule::all() {
        // A rule file folds lines, except for those that are indented more.
        let expression = rule.expression();
        let lines = if expression.contains('\n') {
            expression.to_owned()
        } else {
            expression.replace(" or ", "\nor ").replace(" unless ", "\nunless ")
        };
        text.push_str(&format!("`{}`\n\n```promql\n{lines}\n```\n\n", rule.name()));
    }
    text
}

#[test]
fn page_has_every_alert_and_expression() {
    check_generated("docs/alerts.md", &[("alerts", table()), ("expressions", expressions())]);
}

#[test]
fn alerts_are_few_and_each_has_a_runbook_whose_first_step_is_a_query_or_a_command() {
    let alerts = Rule::alerts();
    assert!(alerts.len() <= MOST_ALERTS, "{} alerts", alerts.len());
    // The API's chart has alerts of these names.
    let taken = ["HyperFleetResourceReconciliationStuckWarning", "HyperFleetResourceReconciliationStuckCritical"];
    for alert in alerts {
        let name = alert.name();
        assert!(!taken.contains(&name), "{name}");
        let severity = alert.value["labels"]["severity"].as_str().unwrap();
        assert!(["warning", "critical"].contains(&severity), "{name}: {severity}");
        let (_, section) = alert.section();
        let steps = section.split_once("\n1. ").unwrap_or_else(|| panic!("{name} has no steps: {section}")).1;
        let first = steps.split("\n2. ").next().unwrap();
        assert!(first.contains('`'), "{name}: the first step has no query and no command: {first}");
    }
}

fn promtool(arguments: &[&str]) {
    let output = Command::new("promtool").args(arguments).current_dir(root().join("deploy/prometheus")).output();
    let output = output.expect("promtool is not installed; run `./test --setup` once");
    let said = [output.stdout, output.stderr].map(|bytes| String::from_utf8_lossy(&bytes).into_owned()).concat();
    assert!(output.status.success(), "{said}");
}

#[test]
fn rules_pass_promtool_and_their_tests() {
    for entry in fs::read_dir(root().join("deploy/prometheus")).unwrap() {
        let file = entry.unwrap().file_name().into_string().unwrap();
        promtool(&[if file.contains(".tests.") { "test" } else { "check" }, "rules", &file]);
    }
}

fn dashboard(name: &str) -> Value {
    let path = root().join(format!("deploy/grafana/dashboards/{name}.json"));
    serde_json::from_str(&fs::read_to_string(path).unwrap()).unwrap()
}

fn panels(dashboard: &Value) -> &Vec<Value> {
    dashboard["panels"].as_array().unwrap()
}

fn queries(panel: &Value) -> impl Iterator<Item = &str> {
    panel["targets"].as_array().into_iter().flatten().map(|target| target["expr"].as_str().unwrap())
}

/// The metrics that a query reads.
fn metrics(query: &str) -> BTreeSet<&str> {
    let words = query.split(|c: char| !(c.is_ascii_alphanumeric() || matches!(c, '_' | ':')));
    words.filter(|word| ["hyperfleet_", "hyperfleet:"].iter().any(|prefix| word.starts_with(prefix))).collect()
}

/// A person who gets an alert sees its figure on a dashboard: a panel that reads the same metrics leads to the runbook.
#[test]
fn each_alert_has_a_panel_that_reads_its_metrics() {
    let dashboards = DASHBOARDS.map(|(name, _)| dashboard(name));
    for alert in Rule::alerts() {
        let reads = metrics(alert.expression());
        let shows = |panel: &&Value| {
            let leads = panel["links"].as_array().into_iter().flatten().any(|link| link["url"] == alert.runbook());
            leads && queries(panel).any(|query| metrics(query).intersection(&reads).next().is_some())
        };
        let found = dashboards.iter().flat_map(panels).find(shows);
        assert!(found.is_some(), "no panel links to {} and reads one of {reads:?}", alert.runbook());
    }
}

#[test]
fn links_of_dashboards_lead_to_headings() {
    for (name, _) in DASHBOARDS {
        let dashboard = dashboard(name);
        let links = panels(&dashboard).iter().chain([&dashboard]).filter_map(|it| it["links"].as_array()).flatten();
        for link in links {
            let url = link["url"].as_str().unwrap();
            let (page, anchor) =
                url.strip_prefix(REPOSITORY).unwrap().split_once('#').unwrap_or((&url[REPOSITORY.len()..], ""));
            let page = Page::read(page);
            assert!(anchor.is_empty() || page.anchors().contains(anchor), "{name}: {url}");
        }
    }
}

#[test]
fn dashboards_have_unique_ids_a_full_grid_and_descriptions() {
    for (name, selection) in DASHBOARDS {
        let dashboard = dashboard(name);
        assert_eq!(dashboard["uid"], format!("hyperfleet-{name}"));
        let (mut ids, mut taken, mut height) = (BTreeSet::new(), BTreeSet::new(), 0);
        for panel in panels(&dashboard) {
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
            assert_eq!(panel["datasource"]["uid"], "${datasource}", "{title}");
            for target in panel["targets"].as_array().unwrap() {
                // A range query would show the last value even if there is none any more.
                let is_single = matches!(panel["type"].as_str(), Some("stat" | "table"));
                assert_eq!(target["instant"] == true, is_single, "{title}");
                assert!(target["expr"].as_str().unwrap().contains(selection), "{title} shows what was not selected");
            }
        }
        assert_eq!(taken.len() as u64, 24 * height, "{name}: there are gaps between panels");
    }
}

/// Wraps the queries as recording rules, because `promtool` parses PromQL only in rules.
#[test]
fn queries_of_dashboards_are_valid_promql() {
    let dashboards = DASHBOARDS.map(|(name, _)| dashboard(name));
    let queries = dashboards.iter().flat_map(panels).flat_map(queries).enumerate();
    let rules = queries.map(|(n, query)| {
        let query = query.replace("$__rate_interval", "5m").replace("$__range", "1h");
        json!({ "record": format!("panel:{n}"), "expr": query })
    });
    let groups = json!({ "groups": [{ "name": "dashboards", "rules": rules.collect::<Vec<_>>() }] });
    let mut file = tempfile::Builder::new().suffix(".yaml").tempfile().unwrap();
    file.write_all(groups.to_string().as_bytes()).unwrap();
    promtool(&["check", "rules", file.path().to_str().unwrap()]);
}

/// A chart's rules and dashboard are those of the repository.
#[test]
fn charts_link_to_the_rules_and_dashboards() {
    for (chart, dashboard) in [("adapter", "adapter"), ("reconcile-metrics", "fleet"), ("sweeper", "sweeper")] {
        let files = root().join(format!("deploy/charts/hyperfleet-{chart}/files"));
        let target = |file: &str| fs::canonicalize(files.join(file)).unwrap();
        let expected = |path: String| fs::canonicalize(Path::new(root()).join(path)).unwrap();
        assert_eq!(target("rules.yaml"), expected(format!("deploy/prometheus/{chart}.rules.yaml")));
        assert_eq!(target("dashboard.json"), expected(format!("deploy/grafana/dashboards/{dashboard}.json")));
    }
}
