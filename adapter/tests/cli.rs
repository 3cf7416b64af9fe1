//! Tests of the command line: what each command prints on which stream, and its exit code.

use std::fs;

use anyhow::{Context, Result};
use assert_cmd::Command;
use serde_json::Value;
use tempfile::TempDir;

const DEPLOYMENT: &str = "
adapter: {name: cli}
clients:
  hyperfleet_api:
    base_url: http://127.0.0.1:1
    default_headers: {Authorization: Basic hunter2}
  broker: {subscription_id: cli, topic: clusters}
";

const TASK: &str = r#"
params:
  - {name: clusterId, source: event.id, required: true}
resources:
  - name: settings
    manifest: {apiVersion: v1, kind: ConfigMap, metadata: {name: "{{ .clusterId }}", namespace: default}}
    discovery: {namespace: default, by_name: "{{ .clusterId }}"}
"#;

/// A task with a misspelt key, an unknown template variable, and an expression with a syntax error.
const INVALID: &str = r#"
params:
  - {name: clusterId, sauce: event.id}
resources:
  - name: settings
    manifest: {apiVersion: v1, kind: ConfigMap, metadata: {name: "{{ .clusterIdd }}"}}
    discovery: {by_name: "{{ .clusterId }}"}
    lifecycle: {delete: {when: {expression: "1 +"}}}
"#;

/// A task that loads with a warning: its precondition reads `release`, which no param declares.
const DUBIOUS: &str = r#"
params:
  - {name: clusterId, source: event.id, required: true}
preconditions:
  - {name: released, expression: release == "4.20"}
"#;

/// The exit code and output of a command.
struct Printed {
    code: Option<i32>,
    out: String,
    err: String,
}

/// Runs a command line in a directory with all of the files above, and with an empty environment.
fn run(line: &str) -> Result<Printed> {
    run_with(line, &[])
}

fn run_with(line: &str, environment: &[(&str, &str)]) -> Result<Printed> {
    let directory = TempDir::new()?;
    let files =
        [("adapter.yaml", DEPLOYMENT), ("task.yaml", TASK), ("mistaken.yaml", INVALID), ("dubious.yaml", DUBIOUS)];
    for (name, text) in files {
        fs::write(directory.path().join(name), text)?;
    }
    let mut command = Command::new(env!("CARGO_BIN_EXE_hyperfleet-adapter"));
    let output = command
        .env_clear()
        .envs(environment.iter().copied())
        .current_dir(directory.path())
        .args(line.split_whitespace())
        .timeout(std::time::Duration::from_secs(60))
        .output()?;
    Ok(Printed {
        code: output.status.code(),
        out: String::from_utf8(output.stdout)?,
        err: String::from_utf8(output.stderr)?,
    })
}

#[test]
fn each_command_has_its_exit_code_and_streams() -> Result<()> {
    let cases = [
        // line, exit code, on standard output, on standard error
        ("", 0, "Usage: hyperfleet-adapter", ""),
        ("help", 0, "Usage: hyperfleet-adapter", ""),
        ("--help", 0, "config-dump", ""),
        ("serve --help", 0, "--dry-run-event", ""),
        ("version", 0, "Version:    0.0.0-dev\nCommit:     none\nBuild Date: unknown\n", ""),
        ("check -c adapter.yaml -t task.yaml", 0, "0 errors, 1 warning\n", ""),
        ("check -c adapter.yaml -t dubious.yaml", 0, "0 errors, 1 warning\n", ""),
        ("check --strict -c adapter.yaml -t dubious.yaml", 1, "1 error, 0 warnings\n", ""),
        ("check -c adapter.yaml -t mistaken.yaml", 1, "4 errors, 0 warnings\n", ""),
        ("check --explain -c adapter.yaml -t task.yaml", 0, "  12  absent: create Absent", ""),
        ("check --graph -c adapter.yaml -t task.yaml", 0, "in this order", "0 errors, 1 warning\n"),
        ("check --graph=settings -c adapter.yaml -t task.yaml", 0, "flowchart TD\n", "0 errors, 1 warning\n"),
        ("check --explain --graph", 1, "", "cannot be used with"),
        ("config-dump -c adapter.yaml -t task.yaml", 0, "name: cli\n", ""),
        ("config-dump -c adapter.yaml -t mistaken.yaml", 1, "", "did you mean `source`?"),
        ("config-dump -c nowhere.yaml -t task.yaml", 1, "", "nowhere.yaml"),
        ("config-dump", 1, "", "--config"),
        ("config-dump -c adapter.yaml", 1, "", "--task-config"),
        ("serve -c adapter.yaml -t mistaken.yaml", 1, "", "did you mean `source`?"),
        ("serve -c adapter.yaml -t task.yaml", 1, "", "broker.type"),
        ("serve --no-such-flag", 1, "", "--no-such-flag"),
        ("frobnicate", 1, "", "frobnicate"),
        ("dry-run", 1, "", "<FOLDER>"),
    ];
    for (line, code, out, err) in cases {
        let printed = run(line)?;
        assert_eq!(printed.code, Some(code), "`{line}`: {}{}", printed.out, printed.err);
        for (stream, found, expected) in [("stdout", &printed.out, out), ("stderr", &printed.err, err)] {
            assert!(found.contains(expected), "`{line}`: no `{expected}` on {stream}: {found}");
            assert_eq!(found.is_empty(), expected.is_empty(), "`{line}`: {stream}: {found}");
        }
    }
    Ok(())
}

#[test]
fn check_lists_every_mistake_with_its_place_and_its_cure() -> Result<()> {
    let printed = run("check -c adapter.yaml -t mistaken.yaml")?;
    for expected in [
        "mistaken.yaml:3:5: error: params[0].source: is required\n",
        "mistaken.yaml:3:23: error: params[0].sauce: unknown key\n",
        "  help: did you mean `source`?",
        "error: resources[0].manifest.metadata.name: undefined template variable \"clusterIdd\"\n",
        "  help: did you mean `clusterId`?\n",
        "error: resources[0].lifecycle.delete.when.expression: CEL parse error",
    ] {
        assert!(printed.out.contains(expected), "no `{expected}` in:\n{}", printed.out);
    }
    Ok(())
}

#[test]
fn check_prints_the_same_diagnostics_as_json() -> Result<()> {
    let printed = run("check -o json -c adapter.yaml -t mistaken.yaml")?;
    let listed: Value = serde_json::from_str(&printed.out)?;
    assert_eq!((printed.code, &listed["errors"], &listed["warnings"]), (Some(1), &Value::from(4), &Value::from(0)));
    let diagnostic = &listed["diagnostics"][1];
    assert_eq!((&diagnostic["line"], &diagnostic["column"]), (&Value::from(3), &Value::from(23)));
    assert_eq!(diagnostic["path"], "params[0].sauce");
    Ok(())
}

#[test]
fn config_dump_prints_effective_values_without_secrets() -> Result<()> {
    let files = "-c adapter.yaml -t task.yaml";
    let printed = run(&format!("config-dump {files}"))?;
    assert!(printed.out.contains("base_url: http://127.0.0.1:1\n"), "{}", printed.out);
    assert!(printed.out.contains("**REDACTED**"), "{}", printed.out);
    assert!(!printed.out.contains("hunter2"), "{}", printed.out);

    let environment = [("HYPERFLEET_API_BASE_URL", "http://from-the-environment")];
    let printed = run_with(&format!("config-dump {files}"), &environment)?;
    assert!(printed.out.contains("base_url: http://from-the-environment\n"), "a variable beats the file");
    let flag = "--hyperfleet-api-base-url=http://from-a-flag";
    let printed = run_with(&format!("config-dump {files} {flag}"), &environment)?;
    assert!(printed.out.contains("base_url: http://from-a-flag\n"), "a flag beats the variable: {}", printed.out);
    Ok(())
}

#[test]
fn files_can_be_named_by_variables() -> Result<()> {
    let environment = [("HYPERFLEET_ADAPTER_CONFIG", "adapter.yaml"), ("HYPERFLEET_TASK_CONFIG", "task.yaml")];
    assert_eq!(run_with("config-dump", &environment)?.code, Some(0));
    assert_eq!(run_with("check", &environment)?.code, Some(0));
    Ok(())
}

#[test]
fn each_schema_lists_the_keys_of_its_file() -> Result<()> {
    for (file, key) in [("task", "resources"), ("adapter", "clients"), ("broker", "broker")] {
        let printed = run(&format!("schema {file}"))?;
        let schema: Value = serde_json::from_str(&printed.out)?;
        let keys = schema["properties"].as_object().with_context(|| format!("{file}: {schema}"))?;
        assert!(keys.contains_key(key), "{file}: {keys:?}");
    }
    Ok(())
}
