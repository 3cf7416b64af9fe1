//! Runs the program and checks the output and exit code of each command.

use std::io::Write as _;

use assert_cmd::Command;
use lifecycle_migrations as migrations;
use serde_json::Value;
use sqlx::migrate::Migrator;

use crate::promtool::repository;
use crate::world::{API_SCHEMA, KINDS, World, program};

pub(crate) fn run(world: &World, arguments: &[&str]) -> (bool, String, String) {
    run_with(world, KINDS, arguments)
}

pub(crate) fn run_with(world: &World, config: &str, arguments: &[&str]) -> (bool, String, String) {
    let mut file = tempfile::Builder::new().suffix(".yaml").tempfile().unwrap();
    file.write_all(config.as_bytes()).unwrap();
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
async fn migrate_applies_pending_migrations_and_lists_them() {
    let world = World::empty().await;
    let (good, text, _) = run(&world, &["migrate", "--list"]);
    assert!(good && text.matches("pending").count() == 2, "{text}");
    for _ in 0..2 {
        let (good, text, error) = run(&world, &["migrate"]);
        assert!(good && text.matches("applied").count() == 2, "{text}{error}");
    }
}

/// `apply` compares the checksums that the folder's migrations left with those of the compiled ones.
#[tokio::test(flavor = "multi_thread")]
async fn migrations_of_the_folder_can_be_reverted_and_equal_the_compiled_ones() {
    let mut world = World::migrated().await;
    let folder = Migrator::new(repository("migrations")).await.unwrap();
    folder.undo(&mut world.connection, 0).await.unwrap();
    assert_eq!(world.number("SELECT count(*) FROM pg_tables WHERE tablename = 'resources'").await, 0);
    folder.run(&mut world.connection).await.unwrap();
    migrations::apply(&mut world.connection).await.unwrap();
    assert!(migrations::list(&mut world.connection).await.unwrap().iter().all(|migration| migration.applied));
}

#[tokio::test(flavor = "multi_thread")]
async fn migrate_refuses_a_database_of_another_program() {
    let theirs = World::with_schema(API_SCHEMA).await;
    for arguments in [["migrate", "--list"].as_slice(), &["migrate"]] {
        let (good, text, error) = run(&theirs, arguments);
        assert!(
            !good && error.contains("belongs to another program") && error.contains("reconcile-metrics prepare"),
            "{arguments:?}: {text}{error}"
        );
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn stuck_prints_a_table_and_json() {
    let mut world = World::migrated().await;
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
async fn stuck_does_not_claim_nothing_is_stuck_if_rows_were_left_out() {
    let mut world = World::migrated().await;
    world.resource("c1", "Cluster", Some("False"), "3 hours").await;
    world.resource("c2", "Cluster", Some("False"), "2 hours").await;
    world.resource("w1", "Widget", Some("False"), "1 hour").await;
    for id in ["c1", "c2"] {
        world.report("Cluster", id, "hypershift", 1, r#"[{"type": "Available", "status": "True"}]"#).await;
    }
    world.report("Cluster", "c1", "dns", 1, r#"[{"type": "Available", "status": "True"}]"#).await;
    // The kind is misspelt.
    let (good, text, error) = run(&world, &["stuck", "--kind", "Clutser"]);
    assert!(good && text == "nothing that is stuck matches\n", "{text}");
    assert!(error.contains("no kind `Clutser` is configured; did you mean `Cluster`?"), "{error}");
    // Only c2 waits on dns, and `max_resources: 1` reads only the older c1.
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
    // `other` selects kinds that are not configured, as in the label `resource_type`.
    let (_, text, _) = run(&world, &["stuck", "--kind", "other"]);
    assert_eq!(text.lines().skip(1).map(|line| line.split(' ').next()).collect::<Vec<_>>(), [Some("w1")], "{text}");
}

#[tokio::test(flavor = "multi_thread")]
async fn command_with_a_wrong_configuration_prints_diagnostics_and_fails() {
    let world = World::empty().await;
    let (good, _, error) = run(&world, &["serve", "--metrics-listen", "nowhere"]);
    assert!(!good && error.contains("error: --metrics-listen: metrics.listen"), "{error}");
    let (good, text, _) = run(&world, &["check", "--db-port", "x"]);
    assert!(!good && text.contains("error: --db-port: database.port"), "{text}");
    let (good, text, _) = run(&world, &["check"]);
    assert!(good && text.contains("0 errors"), "{text}");
}

/// A taken port ends `serve` after its first log lines.
#[test]
fn log_output_flag_selects_the_stream_of_serve() {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let taken = listener.local_addr().unwrap().to_string();
    for (sent, to_stdout) in [(None, false), (Some("stderr"), false), (Some("stdout"), true)] {
        let mut command = Command::new(program());
        command.args(["serve", "--health-listen", &taken]).args(sent.iter().flat_map(|sent| ["--log-output", sent]));
        let output = command.env_clear().output().unwrap();
        let has_warning = |bytes: &[u8]| String::from_utf8_lossy(bytes).contains("no kinds are known");
        assert_eq!((has_warning(&output.stdout), has_warning(&output.stderr)), (to_stdout, !to_stdout), "{sent:?}");
    }
}

#[test]
fn version_command_and_flag_print_the_version() {
    use lifecycle_service::version;

    let output = |argument: &str| Command::new(program()).arg(argument).output().unwrap();
    for flag in ["--version", "-V"] {
        let output = output(flag);
        let text = String::from_utf8(output.stdout).unwrap();
        assert_eq!((output.status.success(), text), (true, format!("reconcile-metrics {}\n", version::LINE)));
    }
    assert!(String::from_utf8(output("version").stdout).unwrap().contains(version::THIS.number));
}

#[tokio::test(flavor = "multi_thread")]
async fn error_text_contains_each_cause_once() {
    let mut world = World::migrated().await;
    world.sql("ALTER TABLE resources RENAME COLUMN generation TO revision").await;
    let (good, _, error) = run(&world, &["stuck"]);
    let expected = "Error: a query failed: error returned from database: column r.generation does not exist\n";
    assert_eq!((good, error.as_str()), (false, expected), "a command does not log what `check` prints");
    let elsewhere = world.database.url().replace(world.database.name(), "nowhere");
    let (good, _, error) = run(&world, &["stuck", "--db-url", &elsewhere]);
    let cause = ": error returned from database: database \"nowhere\" does not exist\n";
    assert!(!good && error.starts_with("Error: failed to connect to the database at "), "{error}");
    assert!(error.ends_with(cause) && error.matches(cause).count() == 1, "{error}");
}

#[test]
fn connection_error_without_a_configuration_file_hints_at_it() {
    let hint = "no configuration file was given: set --config or HYPERFLEET_CONFIG";
    for (variable, value, is_hinted) in
        [("PORT", "1", true), ("HOST", "", true), ("URL", "postgres://127.0.0.1:1/hyperfleet", false)]
    {
        let output = Command::new(program())
            .args(["stuck", "--db-port", "1"])
            .env_clear()
            .env(format!("HYPERFLEET_DATABASE_{variable}"), value)
            .output()
            .unwrap();
        let error = String::from_utf8(output.stderr).unwrap();
        assert_eq!(error.contains(hint), is_hinted, "{variable}: {error}");
    }
}
