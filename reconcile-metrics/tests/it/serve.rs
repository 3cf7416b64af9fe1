//! `serve` as a process: its log at the start, during failures of the database, and at the end.

use std::io::Write as _;

use assert_cmd::Command;
use lifecycle_e2e::{PATIENCE, await_condition};
use serde_json::Value;

use crate::cli::run;
use crate::world::{World, program};

/// A running `serve` process, with its log.
struct Serving {
    child: std::process::Child,
    log: tempfile::NamedTempFile,
    client: reqwest::Client,
}

impl Serving {
    fn start(url: &str, arguments: &[&str]) -> Self {
        let log = tempfile::NamedTempFile::new().unwrap();
        let child = std::process::Command::new(program())
            .args(["serve", "--metrics-listen", "127.0.0.1:0", "--health-listen", "127.0.0.1:0"])
            .args(arguments)
            .env_clear()
            .env("HYPERFLEET_DATABASE_URL", url)
            .stderr(log.reopen().unwrap())
            .spawn()
            .unwrap();
        Self { child, log, client: reqwest::Client::new() }
    }

    fn entries(&self) -> Vec<Value> {
        let text = std::fs::read_to_string(self.log.path()).unwrap();
        text.lines().filter_map(|line| serde_json::from_str(line).ok()).collect()
    }

    /// Returns the log entries whose message begins with this text.
    fn entries_of(&self, message: &str) -> Vec<Value> {
        let matches = |entry: &Value| entry["message"].as_str().is_some_and(|text| text.starts_with(message));
        self.entries().into_iter().filter(matches).collect()
    }

    async fn address(&self, purpose: &str) -> String {
        await_condition("the address", PATIENCE, async || {
            let found = self.entries_of("Listening").into_iter().find(|entry| entry["purpose"] == purpose);
            let found = found.and_then(|entry| entry["address"].as_str().map(str::to_owned));
            anyhow::Context::context(found, "not logged yet")
        })
        .await
        .unwrap()
    }

    async fn get(&self, purpose: &str, path: &str) -> (u16, String) {
        let url = format!("http://{}{path}", self.address(purpose).await);
        let response = self.client.get(url).send().await.unwrap();
        (response.status().as_u16(), response.text().await.unwrap())
    }
}

impl Drop for Serving {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Names of kinds are case-sensitive, and only this warning shows that a threshold does not apply.
#[tokio::test(flavor = "multi_thread")]
async fn kind_configured_in_another_case_causes_one_warning() {
    let mut world = World::migrated().await;
    world.resource("c1", "Cluster", Some("False"), "1 hour").await;
    world.resource("w1", "Widget", Some("False"), "1 hour").await;
    let mut file = tempfile::Builder::new().suffix(".yaml").tempfile().unwrap();
    file.write_all(b"kinds: [{kind: cluster, required_adapters: [dns]}]").unwrap();
    let path = file.path().to_str().unwrap();
    let serving = Serving::start(&world.database.url(), &["--config", path]);
    for _ in 0..2 {
        serving.get("metrics", "/metrics").await;
    }
    let said = serving.entries_of("A kind is configured in another case");
    let names: Vec<_> = said.iter().map(|entry| (&entry["kind"], &entry["configured"])).collect();
    assert_eq!(names, [(&"Cluster".into(), &"cluster".into())], "once: {:#?}", serving.entries());

    let check = |arguments: &[&str]| {
        let mut command = Command::new(program());
        command.args(["check", "--config", path]).args(arguments).env_clear();
        let output = command.env("HYPERFLEET_DATABASE_URL", world.database.url()).output().unwrap();
        (output.status.success(), String::from_utf8(output.stdout).unwrap())
    };
    assert!(check(&[]).1.contains("0 warnings"));
    let (good, text) = check(&["--database"]);
    assert!(good && text.contains("the database has 2 resources") && text.contains("2 warnings"), "{text}");
    assert!(text.contains(r#"kind "Cluster" is configured as "cluster""#), "{text}");
    assert!(text.contains(r#"kind "Widget" is not configured"#), "{text}");
    let (good, _, error) = run(&World::empty().await, &["check", "--database"]);
    assert!(!good && error.contains("there is no table `resources`"), "{error}");
}

#[tokio::test(flavor = "multi_thread")]
async fn serve_starts_without_a_database_and_ends_on_sigterm() {
    let world = World::migrated().await;
    let proxy = world.database.proxy().await.unwrap();
    proxy.refuse();
    let mut serving = Serving::start(&world.database.through(&proxy).unwrap().url(), &[]);
    let (_, text) = serving.get("metrics", "/metrics").await;
    assert!(text.contains("scrape_success{") && text.contains("hyperfleet_reconcile_metrics_up"), "{text}");
    proxy.restore();
    await_condition("the exporter to be ready", PATIENCE, async || {
        serving.get("metrics", "/metrics").await;
        let (status, _) = serving.get("health", "/readyz").await;
        anyhow::ensure!(status == 200, "{status}");
        Ok(())
    })
    .await
    .unwrap();
    for message in ["The database cannot be read", "The database answers again"] {
        assert!(!serving.entries_of(message).is_empty(), "{message}: {:#?}", serving.entries());
    }
    let has_identity = |entry: &Value| entry["component"] == "reconcile-metrics" && entry["version"] == "0.0.0-dev";
    assert!(serving.entries().iter().all(has_identity), "{:#?}", serving.entries());

    let killed = std::process::Command::new("kill").args(["-TERM", &serving.child.id().to_string()]).status().unwrap();
    assert!(killed.success());
    let status = await_condition("the exporter to end", PATIENCE, async || {
        anyhow::Context::context(serving.child.try_wait()?, "it runs")
    })
    .await
    .unwrap();
    assert!(status.success() && !serving.entries_of("Stopped").is_empty(), "{status}");
}

/// The runbook sends operators to this log line, so it must name the present reason and not only the first.
#[tokio::test(flavor = "multi_thread")]
async fn failure_is_logged_again_when_its_reason_changes() {
    let world = World::empty().await;
    let proxy = world.database.proxy().await.unwrap();
    proxy.refuse();
    let serving = Serving::start(&world.database.through(&proxy).unwrap().url(), &[]);
    let reasons = || {
        let entries = serving.entries_of("The database cannot be read").into_iter();
        let of_scrapes = entries.filter(|entry| entry["collector"] == "snapshot");
        of_scrapes.map(|entry| entry["reason"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    serving.get("metrics", "/metrics").await;
    assert_eq!(reasons(), ["connection"]);
    proxy.restore();
    for _ in 0..2 {
        serving.get("metrics", "/metrics").await;
    }
    assert_eq!(reasons(), ["connection", "schema"], "once for each: {:#?}", serving.entries());
}
