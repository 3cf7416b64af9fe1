//! Runs every query of the dashboards and the rules that the repository ships against the Prometheus of a stack.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use anyhow::{Context as _, Result, ensure};
use lifecycle_e2e::await_condition;
use reqwest::{Client, Url};
use serde_json::Value;

const DASHBOARDS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../deploy/grafana/dashboards");
/// Looks back to before the start of the stack.
const WINDOW: &str = "1h";
/// Rules and scrapes that are due within seconds.
const PATIENCE: Duration = Duration::from_secs(60);
/// Panels and rules without data after the stories, and the reason.
const EMPTY: [(&str, &str); 3] = [
    ("Failed readings", "the exporter can read the database all the time"),
    ("Alerts firing", "no alert fires, as each waits for minutes"),
    ("HyperFleetSweeperForged", "nobody forges a label"),
];

/// Fails if a query fails, if one returns no number, or if an alert fires.
pub(crate) async fn ensure_data(stack: &Path) -> Result<()> {
    lifecycle_e2e::init();
    let addresses: Value = serde_json::from_slice(&fs::read(stack.join("addresses.json"))?)?;
    let prometheus = Prometheus { url: addresses["prometheus"].as_str().context("no address")?.to_owned() };
    let mut queries = dashboards()?;
    let known = queries.len();
    queries.extend(prometheus.rules().await?);
    ensure!(
        known > 50 && queries.len() > known + 20,
        "{known} queries of dashboards, {} of rules",
        queries.len() - known
    );

    await_condition("data for each query", PATIENCE, async || {
        let mut empty = BTreeSet::new();
        for Query { of, text, is_instant } in &queries {
            if !prometheus.has_data(text, *is_instant).await? {
                empty.insert(format!("{of}: {text}"));
            }
        }
        let is_expected = |query: &String| EMPTY.iter().any(|(of, _)| query.starts_with(&format!("{of}: ")));
        empty.retain(|query| !is_expected(query));
        ensure!(empty.is_empty(), "no data: {empty:#?}");
        Ok(())
    })
    .await?;
    let firing = prometheus.ask("query", &[("query", r#"ALERTS{alertstate="firing"}"#)]).await?;
    ensure!(firing["result"] == Value::Array(Vec::new()), "alerts fire although all is well: {firing:#}");
    Ok(())
}

struct Query {
    /// The title of the panel, or the name of the rule.
    of: String,
    text: String,
    /// Whether only the present value counts.
    is_instant: bool,
}

/// The queries of all dashboards, with values for Grafana's variables.
fn dashboards() -> Result<Vec<Query>> {
    let mut queries = Vec::new();
    for file in fs::read_dir(DASHBOARDS)? {
        let dashboard: Value = serde_json::from_slice(&fs::read(file?.path())?)?;
        for panel in dashboard["panels"].as_array().context("no panels")? {
            for target in panel["targets"].as_array().into_iter().flatten() {
                let text = target["expr"].as_str().context("no query")?;
                let text = text.replace("$__rate_interval", "1m").replace("$__range", WINDOW);
                let variables = ["$namespace", "$resource_type", "$adapter_name"];
                let text = variables.iter().fold(text, |text, variable| text.replace(variable, ".*"));
                ensure!(!text.contains('$'), "a variable without a value: {text}");
                let of = panel["title"].as_str().unwrap_or_default().to_owned();
                queries.push(Query { of, text, is_instant: target["instant"] == true });
            }
        }
    }
    Ok(queries)
}

/// What an expression reads: the names of metrics, with their matchers.
fn selectors(expression: &str) -> BTreeSet<String> {
    let starts = ["hyperfleet", "process_"].into_iter().flat_map(|prefix| expression.match_indices(prefix));
    let selector = |(start, _): (usize, &str)| {
        let rest = &expression[start..];
        let end = rest.find(|c: char| !(c.is_ascii_alphanumeric() || matches!(c, '_' | ':'))).unwrap_or(rest.len());
        let (name, rest) = rest.split_at(end);
        let matchers =
            rest.strip_prefix('{').and_then(|rest| rest.split_once('}')).map_or("", |(matchers, _)| matchers);
        format!("{name}{{{matchers}}}")
    };
    starts.map(selector).collect()
}

struct Prometheus {
    url: String,
}

impl Prometheus {
    async fn ask(&self, path: &str, parameters: &[(&str, &str)]) -> Result<Value> {
        let mut url = Url::parse(&format!("{}/api/v1/{path}", self.url))?;
        url.query_pairs_mut().extend_pairs(parameters);
        let answer: Value = serde_json::from_str(&Client::new().get(url).send().await?.text().await?)?;
        ensure!(answer["status"] == "success", "{parameters:?}: {answer}");
        Ok(answer["data"].clone())
    }

    /// The queries of the rules. An alert's own is empty while all is well, so each selector in it counts.
    async fn rules(&self) -> Result<Vec<Query>> {
        let rules = self.ask("rules", &[]).await?;
        let mut queries = Vec::new();
        for rule in
            rules["groups"].as_array().into_iter().flatten().flat_map(|group| group["rules"].as_array()).flatten()
        {
            let (of, text) = (rule["name"].as_str().context("no name")?, rule["query"].as_str().context("no query")?);
            let texts = if rule["type"] == "alerting" {
                selectors(text).into_iter().map(|selector| format!("last_over_time({selector}[{WINDOW}])")).collect()
            } else {
                BTreeSet::from([text.to_owned()])
            };
            queries.extend(texts.into_iter().map(|text| Query { of: of.to_owned(), text, is_instant: true }));
        }
        Ok(queries)
    }

    /// Whether a query returns a number now, or for a graph, at any time of the stack.
    async fn has_data(&self, query: &str, is_instant: bool) -> Result<bool> {
        let now = SystemTime::now().duration_since(UNIX_EPOCH)?.as_secs();
        let (start, end) = ((now - 3600).to_string(), now.to_string());
        let graph = [("query", query), ("start", start.as_str()), ("end", end.as_str()), ("step", "5s")];
        let found = if is_instant {
            self.ask("query", &[("query", query)]).await?
        } else {
            self.ask("query_range", &graph).await?
        };
        let series = found["result"].as_array().into_iter().flatten();
        let mut samples = series.flat_map(|series| {
            let graph = series["values"].as_array().into_iter().flatten();
            graph.chain(series.get("value"))
        });
        Ok(samples.any(|sample| sample[1].as_str().is_some_and(|value| value != "NaN")))
    }
}
