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
    let (good, text, error) = run(&world, &["migrate", "--repair"]);
    assert!(good && text.starts_with("the record was wrong about 0 resources"), "{text}{error}");
    let (good, _, error) = run(&world, &["migrate", "--revert-to", "0"]);
    assert!(!good && error.contains("drops tables") && error.contains("confirm it by --yes"), "{error}");
    let (_, text, _) = run(&world, &["migrate", "--list"]);
    assert_eq!(text.matches("applied").count(), 2, "nobody was asked, so nothing is reverted: {text}");
    let (good, text, _) = run(&world, &["migrate", "--revert-to", "20260901000000", "--yes"]);
    assert!(good && text.contains("20260901000100  pending"), "{text}");
    let (good, text, error) = run(&world, &["migrate", "--revert-to", "20260901000000"]);
    assert!(good && text.contains("20260901000100  pending"), "there is nothing to confirm: {text}{error}");
    let theirs = World::theirs(ROWS).await;
    for arguments in [["migrate", "--list"].as_slice(), &["migrate"], &["migrate", "--repair"]] {
        let (good, text, error) = run(&theirs, arguments);
        assert!(
            !good && error.contains("belongs to another program") && error.contains("reconcile-metrics index"),
            "{arguments:?}: {text}{error}"
        );
    }
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
    assert_eq!(text, "nothing that is stuck matches\n");
    let (_, text, _) = run(&world, &["stuck", "--adapter", "hypershift", "--kind", "cluster"]);
    assert_eq!(text.lines().filter(|line| line.starts_with('c')).count(), 2, "{text}");
}

#[tokio::test(flavor = "multi_thread")]
async fn stuck_does_not_say_that_nothing_is_stuck_unless_nothing_is() {
    let mut world = World::ours().await;
    world.resource("c1", "Cluster", Some("False"), "3 hours").await;
    world.resource("c2", "Cluster", Some("False"), "2 hours").await;
    world.resource("w1", "Widget", Some("False"), "1 hour").await;
    for id in ["c1", "c2"] {
        world.report("Cluster", id, "hypershift", 1, r#"[{"type": "Available", "status": "True"}]"#).await;
    }
    world.report("Cluster", "c1", "dns", 1, r#"[{"type": "Available", "status": "True"}]"#).await;
    // Misspelt.
    let (good, text, error) = run(&world, &["stuck", "--kind", "Clutser"]);
    assert!(good && text == "nothing that is stuck matches\n", "{text}");
    assert!(error.contains("no kind `Clutser` is configured; did you mean `Cluster`?"), "{error}");
    // c2 waits on dns, and is not the oldest.
    let mut few = tempfile::Builder::new().suffix(".yaml").tempfile().unwrap();
    few.write_all(format!("details: {{max_resources: 1}}\n{KINDS}").as_bytes()).unwrap();
    let command = |arguments: &[&str]| {
        let mut command = Command::new(program());
        command.args(arguments).arg("--config").arg(few.path());
        let output = command.env_clear().env("HYPERFLEET_DATABASE_URL", world.database.url()).output().unwrap();
        String::from_utf8(output.stdout).unwrap()
    };
    let text = command(&["stuck", "--adapter", "dns", "--limit", "1"]);
    assert!(text.starts_with("none of the 1 oldest matches; there are more"), "{text}");
    let body: Value =
        serde_json::from_str(&command(&["stuck", "--adapter", "dns", "--limit", "1", "--output", "json"])).unwrap();
    assert_eq!((&body["size"], &body["read"], &body["truncated"]), (&0.into(), &1.into(), &true.into()));
    // The gauges say `other` of kinds that are not configured.
    let (_, text, _) = run(&world, &["stuck", "--kind", "other"]);
    assert_eq!(text.lines().skip(1).map(|line| line.split(' ').next()).collect::<Vec<_>>(), [Some("w1")], "{text}");
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
    for became in ["was built", "was there already"] {
        let (good, text, error) = run(&world, &["index"]);
        assert!(good && text.matches(became).count() == 2, "{text}{error}");
        assert_eq!(world.number(indexes).await, 2);
    }
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

/// `serve` as a process, with its log.
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

    /// The entries of that message, in order.
    fn said(&self, message: &str) -> Vec<Value> {
        let said = |entry: &Value| entry["message"].as_str().is_some_and(|said| said.starts_with(message));
        self.entries().into_iter().filter(said).collect()
    }

    async fn address(&self, purpose: &str) -> String {
        await_condition("the address", PATIENCE, async || {
            let found = self.said("Listening").into_iter().find(|entry| entry["purpose"] == purpose);
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

/// What is configured for a kind applies to that spelling alone, and nothing else would show it.
#[tokio::test(flavor = "multi_thread")]
async fn a_kind_in_another_spelling_is_warned_of() {
    let mut world = World::ours().await;
    world.resource("c1", "Cluster", Some("False"), "1 hour").await;
    world.resource("w1", "Widget", Some("False"), "1 hour").await;
    let mut file = tempfile::Builder::new().suffix(".yaml").tempfile().unwrap();
    file.write_all(b"kinds: [{kind: cluster, required_adapters: [dns]}]").unwrap();
    let path = file.path().to_str().unwrap();
    let serving = Serving::start(&world.database.url(), &["--config", path]);
    for _ in 0..2 {
        serving.get("metrics", "/metrics").await;
    }
    let said = serving.said("A kind is spelled otherwise");
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
    assert!(good && text.contains("the database has our schema") && text.contains("2 warnings"), "{text}");
    assert!(text.contains(r#"kind "Cluster" is configured as "cluster""#), "{text}");
    assert!(text.contains(r#"kind "Widget" is not configured"#), "{text}");
    let (good, _, error) = run(&World::empty().await, &["check", "--database"]);
    assert!(!good && error.contains("neither of the known schemas"), "{error}");
}

#[tokio::test(flavor = "multi_thread")]
async fn tables_that_are_read_and_kinds_that_are_not_are_named() {
    let world = World::theirs(DOCUMENTS).await;
    let serving = Serving::start(&world.database.url(), &[]);
    serving.get("metrics", "/metrics").await;
    let names = |said: Vec<Value>, key: &str| -> Vec<(Value, Value)> {
        said.into_iter().map(|entry| (entry["kind"].clone(), entry[key].clone())).collect()
    };
    let read = names(serving.said("Reading a table"), "table");
    assert_eq!(read, [("Cluster".into(), "clusters".into()), ("NodePool".into(), "node_pools".into())]);
    let (good, text, error) = run(&world, &["check", "--database"]);
    assert!(good && text.contains("kind NodePool is read from table `node_pools`"), "{text}{error}");
    assert!(text.contains("kind \"Channel\" is not read: no table of it is known; set `table.name`"), "{text}");

    let mut file = tempfile::Builder::new().suffix(".yaml").tempfile().unwrap();
    file.write_all(KINDS.as_bytes()).unwrap();
    let serving = Serving::start(&world.database.url(), &["--config", file.path().to_str().unwrap()]);
    for _ in 0..2 {
        serving.get("metrics", "/metrics").await;
    }
    let unread = serving.said("A kind is not read");
    let (good, text, error) = run(&world, &["stuck"]);
    assert!(good && text == "of the kinds that are read, nothing is stuck\n", "{text}");
    assert!(error.contains("warning: not read: kind Channel: no table of it is known"), "{error}");
    let (good, text, _) = run(&world, &["stuck", "--output", "json"]);
    assert!(good && serde_json::from_str::<Value>(&text).unwrap()["unread"][0]["kind"] == "Channel", "{text}");
    let (good, text, error) = run(&world, &["stuck", "--missing", "--kind", "other"]);
    assert!(good && text == "nothing was looked for\n" && error.contains("required_adapters"), "{text}{error}");
    assert_eq!(unread.len(), 1, "once: {:#?}", serving.entries());
    assert_eq!((&unread[0]["kind"], &unread[0]["level"]), (&"Channel".into(), &"warn".into()));
}

#[tokio::test(flavor = "multi_thread")]
async fn logs_go_where_they_are_sent() {
    let world = World::ours().await;
    for (sent, to_stdout) in [(None, false), (Some("stderr"), false), (Some("stdout"), true)] {
        let mut command = Command::new(program());
        command.arg("stuck").args(sent.iter().flat_map(|sent| ["--log-output", sent]));
        let output = command.env_clear().env("HYPERFLEET_DATABASE_URL", world.database.url()).output().unwrap();
        let has_warning = |bytes: &[u8]| String::from_utf8_lossy(bytes).contains("no kinds are listed");
        assert_eq!((has_warning(&output.stdout), has_warning(&output.stderr)), (to_stdout, !to_stdout), "{sent:?}");
    }
}

#[test]
fn the_version_is_told_by_command_and_flag() {
    let output = |argument: &str| Command::new(program()).arg(argument).output().unwrap();
    let number = lifecycle_service::version::THIS.number;
    for flag in ["--version", "-V"] {
        let output = output(flag);
        let text = String::from_utf8(output.stdout).unwrap();
        assert_eq!((output.status.success(), text), (true, format!("reconcile-metrics {number}\n")));
    }
    assert!(String::from_utf8(output("version").stdout).unwrap().contains(number));
}

/// The real program serves, says what it reads, and ends when it is told to.
#[tokio::test(flavor = "multi_thread")]
async fn serve_starts_without_a_database_and_ends_cleanly() {
    let world = World::ours().await;
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
    for message in ["The database cannot be read", "The database answers again", "Reading our schema"] {
        assert!(!serving.said(message).is_empty(), "{message}: {:#?}", serving.entries());
    }
    let signed = |entry: &Value| entry["component"] == "reconcile-metrics" && entry["version"] == "0.0.0-dev";
    assert!(serving.entries().iter().all(signed), "{:#?}", serving.entries());

    let killed = std::process::Command::new("kill").args(["-TERM", &serving.child.id().to_string()]).status().unwrap();
    assert!(killed.success());
    let status = await_condition("the exporter to end", PATIENCE, async || {
        anyhow::Context::context(serving.child.try_wait()?, "it runs")
    })
    .await
    .unwrap();
    assert!(status.success() && !serving.said("Stopped").is_empty(), "{status}");
}

/// The runbook begins with this line of the log: it must tell today's cause, not the first one.
#[tokio::test(flavor = "multi_thread")]
async fn a_failure_that_becomes_another_is_logged_again() {
    let world = World::empty().await;
    let proxy = world.database.proxy().await.unwrap();
    proxy.refuse();
    let serving = Serving::start(&world.database.through(&proxy).unwrap().url(), &[]);
    let reasons = || {
        let entries = serving.said("The database cannot be read").into_iter();
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

#[tokio::test(flavor = "multi_thread")]
async fn an_error_of_the_database_is_said_once() {
    let mut world = World::ours().await;
    world.sql("ALTER TABLE resources RENAME COLUMN generation TO revision").await;
    let (good, _, error) = run(&world, &["stuck"]);
    let expected = "Error: a query failed: error returned from database: column r.generation does not exist\n";
    assert_eq!((good, error.as_str()), (false, expected));
    let elsewhere = world.database.url().replace(world.database.name(), "nowhere");
    let (good, _, error) = run(&world, &["stuck", "--db-url", &elsewhere]);
    let expected =
        "Error: failed to connect to the database: error returned from database: database \"nowhere\" does not exist\n";
    assert_eq!((good, error.as_str()), (false, expected));
}
