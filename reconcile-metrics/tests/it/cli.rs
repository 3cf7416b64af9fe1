//! The program itself: its commands, its exit codes, and a clean end.

use std::io::Write as _;

use assert_cmd::Command;
use lifecycle_e2e::{PATIENCE, await_condition};
use serde_json::Value;

use crate::world::{DOCUMENTS, KINDS, ROWS, World, program};

fn run(world: &World, arguments: &[&str]) -> (bool, String, String) {
    let mut file = tempfile::Builder::new().suffix(".yaml").tempfile().unwrap();
    file.write_all(KINDS.as_bytes()).unwrap();
    let output = Command::new(program())
        .args(arguments)
        .arg("--config")
        .arg(file.path())
        .env_clear()
        .env("HYPERFLEET_DATABASE_URL", world.database.url())
        .output()
        .unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    (output.status.success(), text(output.stdout), text(output.stderr))
}

#[tokio::test(flavor = "multi_thread")]
async fn migrate_is_explicit_and_can_be_taken_back() {
    let world = World::empty().await;
    let (good, text, _) = run(&world, &["migrate", "--list"]);
    assert!(good && text.matches("pending").count() == 2, "{text}");
    let (good, text, error) = run(&world, &["migrate"]);
    assert!(good && text.matches("applied").count() == 2, "{text}{error}");
    let (good, text, _) = run(&world, &["migrate", "--revert-to", "20260901000000"]);
    assert!(good && text.contains("20260901000100  pending"), "{text}");
    let theirs = World::theirs(ROWS).await;
    let (good, _, error) = run(&theirs, &["migrate"]);
    assert!(
        !good && error.contains("belongs to another program") && error.contains("reconcile-metrics index"),
        "{error}"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn stuck_prints_a_table_and_json() {
    let mut world = World::ours().await;
    let (good, text, _) = run(&world, &["stuck"]);
    assert!(good && text == "nothing is stuck\n", "{text}");
    world.resource("c1", "Cluster", Some("False"), "90 minutes").await;
    world.resource("c2", "Cluster", Some("False"), "30 minutes").await;
    world
        .report("Cluster", "c1", "dns", 1, r#"[{"type": "Available", "status": "False", "reason": "QuotaExceeded"}]"#)
        .await;
    let (good, text, error) = run(&world, &["stuck"]);
    assert!(good, "{error}");
    let lines: Vec<Vec<&str>> = text.lines().map(|line| line.split_whitespace().collect()).collect();
    assert_eq!(lines[1], ["c1", "Cluster", "c1", "1h30m", "1/1", "dns", "not_available", "QuotaExceeded"], "{text}");
    assert_eq!(lines[2], ["-/1", "hypershift", "never_reported"], "{text}");
    let (_, text, _) = run(&world, &["stuck", "--limit", "1", "--output", "json"]);
    let body: Value = serde_json::from_str(&text).unwrap();
    assert_eq!((body["items"].as_array().unwrap().len(), &body["truncated"]), (1, &Value::Bool(true)));
    let (_, text, _) = run(&world, &["stuck", "--deleting"]);
    assert_eq!(text, "nothing is stuck\n");
    let (_, text, _) = run(&world, &["stuck", "--adapter", "hypershift", "--kind", "cluster"]);
    assert_eq!(text.lines().filter(|line| line.starts_with('c')).count(), 2, "{text}");
}

#[tokio::test(flavor = "multi_thread")]
async fn index_builds_what_a_schema_that_is_not_ours_lacks() {
    let (good, text, _) = run(&World::ours().await, &["index"]);
    assert!(good && text.starts_with("nothing to build"), "{text}");
    let mut world = World::theirs(DOCUMENTS).await;
    let indexes = "SELECT count(*) FROM pg_class WHERE relname LIKE 'idx_reconcile_metrics_pending%'";
    let (good, text, _) = run(&world, &["index", "--dry-run"]);
    assert!(good && text.matches("CREATE INDEX CONCURRENTLY").count() == 2, "{text}");
    assert_eq!(world.number(indexes).await, 0);
    assert!(run(&world, &["index"]).0);
    assert_eq!(world.number(indexes).await, 2);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_wrong_configuration_ends_with_its_mistakes() {
    let world = World::empty().await;
    let (good, _, error) = run(&world, &["serve", "--metrics-listen", "nowhere"]);
    assert!(!good && error.contains("--metrics-listen: error: metrics.listen"), "{error}");
    let (good, text, _) = run(&world, &["check", "--db-port", "x"]);
    assert!(!good && text.contains("--db-port: error"), "{text}");
    let (good, text, _) = run(&world, &["check"]);
    assert!(good && text.contains("0 errors"), "{text}");
}

/// The real program serves, says what it reads, and ends when it is told to.
#[tokio::test(flavor = "multi_thread")]
async fn serve_starts_without_a_database_and_ends_cleanly() {
    let world = World::ours().await;
    let proxy = world.database.proxy().await.unwrap();
    proxy.refuse();
    let log = tempfile::NamedTempFile::new().unwrap();
    let mut child = std::process::Command::new(program())
        .args(["serve", "--metrics-listen", "127.0.0.1:0", "--health-listen", "127.0.0.1:0"])
        .env_clear()
        .env("HYPERFLEET_DATABASE_URL", world.database.through(&proxy).unwrap().url())
        .stderr(log.reopen().unwrap())
        .spawn()
        .unwrap();
    let entries = || -> Vec<Value> {
        let text = std::fs::read_to_string(log.path()).unwrap();
        text.lines().filter_map(|line| serde_json::from_str(line).ok()).collect()
    };
    let address = async |purpose: &str| {
        await_condition("the address", PATIENCE, async || {
            let found =
                entries().into_iter().find(|entry| entry["message"] == "Listening" && entry["purpose"] == purpose);
            let found = found.and_then(|entry| entry["address"].as_str().map(str::to_owned));
            anyhow::Context::context(found, "not logged yet")
        })
        .await
        .unwrap()
    };
    let (health, metrics) = (address("health").await, address("metrics").await);
    let client = reqwest::Client::new();
    let text = client.get(format!("http://{metrics}/metrics")).send().await.unwrap().text().await.unwrap();
    assert!(text.contains("scrape_success{") && text.contains("hyperfleet_reconcile_metrics_up"), "{text}");
    proxy.restore();
    await_condition("the exporter to be ready", PATIENCE, async || {
        client.get(format!("http://{metrics}/metrics")).send().await?;
        let status = client.get(format!("http://{health}/readyz")).send().await?.status();
        anyhow::ensure!(status == 200, "{status}");
        Ok(())
    })
    .await
    .unwrap();
    let said = |text: &str| entries().iter().any(|entry| entry["message"].as_str().unwrap().starts_with(text));
    assert!(said("The database cannot be read") && said("The database answers again"), "{:#?}", entries());
    assert!(said("Reading our schema"), "{:#?}", entries());
    let signed = |entry: &Value| entry["component"] == "reconcile-metrics" && entry["version"] == "0.0.0-dev";
    assert!(entries().iter().all(signed), "{:#?}", entries());

    let killed = std::process::Command::new("kill").args(["-TERM", &child.id().to_string()]).status().unwrap();
    assert!(killed.success());
    let status = await_condition("the exporter to end", PATIENCE, async || {
        anyhow::Context::context(child.try_wait()?, "it runs")
    })
    .await
    .unwrap();
    assert!(status.success() && said("Stopped"), "{status}");
}
