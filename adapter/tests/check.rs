//! `check` as its user meets it: what is printed, and how the program ends.

#![expect(clippy::unwrap_used, reason = "tests")]

use std::fs;
use std::path::Path;
use std::process::Output;

use assert_cmd::Command;
use serde_json::{Value, json};

const DEPLOYMENT: &str = "adapter: {name: installer}\n";
const RESOURCE: &str =
    "resources:\n  - name: job\n    manifest: {apiVersion: batch/v1, kind: Job}\n    discovery: {by_name: x}\n";
const POST: &str = r#"post:
  payloads:
    - name: status
      build:
        adapter: "{{ .adapter.name }}"
        observed_generation: {expression: event.generation}
        observed_time: "{{ .now }}"
        conditions:
          - {type: Applied, status: {expression: "resources.?job.hasValue() ? 'True' : 'False'"}}
          - {type: Available, status: "True"}
          - {type: Health, status: "True"}
  post_actions:
    - name: report
      api_call: {method: PUT, url: /statuses, body: "{{ .status }}"}
"#;
const GATE: &str = "    lifecycle: {create: {when: {expression: has(resources.job)}}}\n";

fn check(folder: &Path, deployment: &str, task: &str, flags: &[&str]) -> Output {
    fs::write(folder.join("config.yaml"), deployment).unwrap();
    fs::write(folder.join("task.yaml"), task).unwrap();
    let files = ["check", "--config", "config.yaml", "--task-config", "task.yaml"];
    let mut command = Command::cargo_bin("hyperfleet-adapter").unwrap();
    command.current_dir(folder).env_clear().args(files).args(flags).output().unwrap()
}

#[test]
fn people_get_place_line_and_cure() {
    let sound = format!("{RESOURCE}{POST}");
    let gated = format!("{RESOURCE}{GATE}{POST}");
    let unclosed = format!("{RESOURCE}{POST}").replace("{{ .now }}", "{{ .now");
    let cases = [
        ("sound files", DEPLOYMENT, sound.as_str(), &[][..], true, "0 errors, 0 warnings\n"),
        ("sound files, strictly", DEPLOYMENT, &sound, &["--strict"], true, "0 errors, 0 warnings\n"),
        (
            "a gate that cannot hold",
            DEPLOYMENT,
            &gated,
            &[],
            true,
            "task.yaml:5:45: warning: resources[0].lifecycle.create.when.expression: can never hold: it is asked while `job` is absent, and does not hold then; `job` is never created
  5 |     lifecycle: {create: {when: {expression: has(resources.job)}}}
    |                                             ^
  help: ask for what `job` waits for, not for `job` itself
0 errors, 1 warning
",
        ),
        (
            "the same, strictly, beside a mistake in the other file",
            "adapter: {nam: installer}\n",
            &gated,
            &["--strict"],
            false,
            "config.yaml:1:1: error: adapter.name: is required
  1 | adapter: {nam: installer}
    | ^
config.yaml:1:11: error: adapter.nam: unknown key
  1 | adapter: {nam: installer}
    |           ^
  help: did you mean `name`? Accepted here: `name`, `version`
task.yaml:5:45: error: resources[0].lifecycle.create.when.expression: can never hold: it is asked while `job` is absent, and does not hold then; `job` is never created
  5 |     lifecycle: {create: {when: {expression: has(resources.job)}}}
    |                                             ^
  help: ask for what `job` waits for, not for `job` itself
3 errors, 0 warnings
",
        ),
        (
            "an unclosed action",
            DEPLOYMENT,
            &unclosed,
            &[],
            false,
            "task.yaml:11:25: error: post.payloads[0].build.observed_time: template parse error: unclosed action: `}}` is missing
  11 |         observed_time: \"{{ .now\"
     |                         ^
1 error, 0 warnings
",
        ),
    ];
    for (name, deployment, task, flags, passes, expected) in cases {
        let folder = tempfile::tempdir().unwrap();
        let output = check(folder.path(), deployment, task, flags);
        assert_eq!(String::from_utf8_lossy(&output.stdout), expected, "{name}");
        assert_eq!(String::from_utf8_lossy(&output.stderr), "", "{name}");
        assert_eq!(output.status.code(), Some(i32::from(!passes)), "{name}");
    }
}

#[test]
fn programs_get_the_same_as_json() {
    let folder = tempfile::tempdir().unwrap();
    let output = check(folder.path(), DEPLOYMENT, &format!("{RESOURCE}{GATE}{POST}"), &["--output", "json"]);
    assert_eq!(output.status.code(), Some(0));
    let listed: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(
        listed,
        json!({
            "errors": 0,
            "warnings": 1,
            "omitted": 0,
            "mistakes": [{
                "severity": "warning",
                "file": "task.yaml",
                "path": "resources[0].lifecycle.create.when.expression",
                "line": 5,
                "column": 45,
                "message": "can never hold: it is asked while `job` is absent, and does not hold then; `job` is never created",
                "help": "ask for what `job` waits for, not for `job` itself",
            }],
        })
    );
}

#[test]
fn a_file_that_is_not_there_is_a_mistake() {
    let folder = tempfile::tempdir().unwrap();
    let mut command = Command::cargo_bin("hyperfleet-adapter").unwrap();
    let files = ["check", "--config", "none.yaml", "--task-config", "none.yaml"];
    let output = command.current_dir(folder.path()).env_clear().args(files).output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&output.stdout).contains("none.yaml: error: "), "{output:?}");
}
