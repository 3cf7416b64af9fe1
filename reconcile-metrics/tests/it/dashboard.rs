//! Runs the dashboard's queries on a real Prometheus that scrapes a real exporter.

use std::net::TcpListener;
use std::process::Stdio;

use lifecycle_e2e::{PATIENCE, await_condition};
use serde_json::Value;
use tokio::process::{Child, Command};

use crate::promtool::{as_sent, dashboard, queries, repository};
use crate::world::{Exporter, KINDS, World};

/// Panels without data in this test: no reading fails, and no alert has lasted long enough to fire.
const EMPTY_WHEN_ALL_IS_WELL: [&str; 2] = ["Failed readings", "Alerts firing"];

struct Prometheus {
    url: String,
    _child: Child,
    _directory: tempfile::TempDir,
}

impl Prometheus {
    async fn scraping(exporter: &Exporter) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let config = directory.path().join("prometheus.yaml");
        let rules = repository("deploy/prometheus/reconcile-metrics.rules.yaml").canonicalize().unwrap();
        let text = serde_json::json!({
            "global": {"scrape_interval": "1s", "evaluation_interval": "1s"},
            "rule_files": [rules],
            "scrape_configs": [{
                "job_name": "reconcile-metrics",
                "static_configs": [{"targets": [exporter.metrics_address()], "labels": {"namespace": "test"}}],
            }],
        });
        std::fs::write(&config, text.to_string()).unwrap();
        let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        let child = Command::new("prometheus")
            .arg(format!("--config.file={}", config.display()))
            .arg(format!("--storage.tsdb.path={}", directory.path().join("data").display()))
            .arg(format!("--web.listen-address=127.0.0.1:{port}"))
            .arg("--log.level=error")
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .kill_on_drop(true)
            .spawn()
            .expect("prometheus is not installed; run `./test --setup` once");
        Self { url: format!("http://127.0.0.1:{port}"), _child: child, _directory: directory }
    }

    async fn query(&self, client: &reqwest::Client, query: &str) -> anyhow::Result<Vec<Value>> {
        let mut url = reqwest::Url::parse(&format!("{}/api/v1/query", self.url))?;
        url.query_pairs_mut().append_pair("query", query);
        let body = client.get(url).send().await?.text().await?;
        let body: Value = serde_json::from_str(&body)?;
        anyhow::ensure!(body["status"] == "success", "{body}");
        Ok(body["data"]["result"].as_array().cloned().unwrap_or_default())
    }
}

#[tokio::test]
async fn every_panel_has_data() {
    let mut world = World::migrated().await;
    crate::stuck::troubled(&mut world).await;
    let exporter = world.exporter(KINDS).await;
    let details = tokio::spawn(exporter.scraper.clone().keep_details());
    let prometheus = Prometheus::scraping(&exporter).await;
    let client = reqwest::Client::new();

    let queries: Vec<_> =
        queries(&dashboard()).into_iter().map(|(panel, query)| (panel, as_sent(&query, "10s", "cluster"))).collect();
    for (panel, query) in queries.iter().filter(|(panel, _)| !EMPTY_WHEN_ALL_IS_WELL.contains(&panel.as_str())) {
        let shown = await_condition(&format!("panel `{panel}` to show something"), PATIENCE, async || {
            let series = prometheus.query(&client, query).await?;
            anyhow::ensure!(!series.is_empty(), "no series");
            Ok(series)
        })
        .await
        .unwrap();
        // `--nocapture` shows the values.
        println!("{panel}");
        for series in &shown {
            println!("  {} {}", series["metric"], series["value"][1]);
        }
    }
    let value = async |query: &str| {
        let found = prometheus.query(&client, query).await.unwrap();
        found.first().map(|series| series["value"][1].as_str().unwrap().to_owned())
    };
    assert_eq!(value(&queries[0].1).await.as_deref(), Some("2"), "c1 and c2 are stuck, of the type that is selected");
    await_condition("the recorded series and a pending alert", PATIENCE, async || {
        let recorded = prometheus.query(&client, "sum(hyperfleet:stuck:max)").await?;
        anyhow::ensure!(recorded.first().is_some_and(|series| series["value"][1] == "4"), "{recorded:?}");
        let alert = r#"ALERTS{alertname="HyperFleetResourcesStuck", alertstate="pending"}"#;
        anyhow::ensure!(prometheus.query(&client, alert).await?.len() == 2, "clusters, and node pools in deletion");
        Ok(())
    })
    .await
    .unwrap();
    details.abort();
}
