//! Tests of the command `check`: its output and exit codes.

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
fn diagnostics_have_place_line_and_cure() {
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
            "task.yaml:5:45: warning: resources[0].lifecycle.create.when.expression: cannot hold while `resources.job` is absent, and the adapter evaluates it then: `job` is never created
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
task.yaml:5:45: error: resources[0].lifecycle.create.when.expression: cannot hold while `resources.job` is absent, and the adapter evaluates it then: `job` is never created
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
            true,
            "task.yaml:11:25: warning: post.payloads[0].build.observed_time: template parse error: unclosed action: `}}` is missing
  11 |         observed_time: \"{{ .now\"
     |                         ^
  help: as in the Go adapter, the file loads, and an event fails where it needs this value
0 errors, 1 warning
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
fn strict_accepts_keys_without_effect_and_deprecated_keys() {
    let deployment = "adapter: {name: installer}\nclients: {kubernetes: {api_version: v1}}\n";
    let task = format!("preconditions: [{{name: found, api_call: {{method: GET, url: /clusters}}}}]\n{RESOURCE}{POST}");
    let folder = tempfile::tempdir().unwrap();
    let output = check(folder.path(), deployment, &task, &["--strict"]);
    let printed = String::from_utf8_lossy(&output.stdout).into_owned();
    for expected in [
        "config.yaml:2:37: note: clients.kubernetes.api_version: has no effect\n",
        "task.yaml:1:31: note: preconditions[0].api_call: is deprecated in preconditions\n",
        "0 errors, 0 warnings, 2 notes\n",
    ] {
        assert!(printed.contains(expected), "no `{expected}` in:\n{printed}");
    }
    assert_eq!(output.status.code(), Some(0), "{printed}");
}

#[test]
fn json_output_has_the_same_diagnostics() {
    let folder = tempfile::tempdir().unwrap();
    let output = check(folder.path(), DEPLOYMENT, &format!("{RESOURCE}{GATE}{POST}"), &["--output", "json"]);
    assert_eq!(output.status.code(), Some(0));
    let listed: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(
        listed,
        json!({
            "errors": 0,
            "warnings": 1,
            "notes": 0,
            "omitted": 0,
            "diagnostics": [{
                "severity": "warning",
                "file": "task.yaml",
                "path": "resources[0].lifecycle.create.when.expression",
                "line": 5,
                "column": 45,
                "message": "cannot hold while `resources.job` is absent, and the adapter evaluates it then: `job` is never created",
                "help": "ask for what `job` waits for, not for `job` itself",
            }],
        })
    );
}

/// A task with a namespace, and a Job that the namespace owns and that keeps former versions.
const RETAINED: &str = r#"params:
  - {name: clusterId, source: event.id}
  - {name: isDeleting, source: {expression: "event.?deleted_time.orValue(null) != null"}}
resources:
  - name: space
    manifest: {apiVersion: v1, kind: Namespace, metadata: {name: "{{ .clusterId }}"}}
    discovery: {by_name: "{{ .clusterId }}"}
  - alias: run
    owner: {resource: space}
    retention: {historyLimit: 3}
    when:
      expression: |
        !resources.?run.hasValue()
          || timestamp(resources.run.metadata.creationTimestamp) < timestamp(now()) - duration("10m")
    manifest:
      apiVersion: batch/v1
      kind: Job
      metadata: {name: "{{ now | date `150405` }}", namespace: "{{ .clusterId }}", labels: {app: run}}
    discovery: {namespace: "{{ .clusterId }}", by_selectors: {label_selector: {app: run}}}
    lifecycle:
      apply: {when: {expression: "!resources.?run.hasValue()"}}
      recreate: {when: {expression: "resources.run.?status.?conditions.orValue([]).exists(c, c.type == \"Failed\")"}}
      patch:
        - when: {expression: "resources.run.metadata.labels[?'tier'].orValue('') != \"gold;#{}\""}
          document: {metadata: {labels: {tier: gold}}}
      orphan: {when: {expression: "false"}}
      delete: {when: {expression: isDeleting}}
"#;

#[test]
fn explain_prints_the_reachable_rows_of_each_resource() {
    let folder = tempfile::tempdir().unwrap();
    let output = check(folder.path(), DEPLOYMENT, RETAINED, &["--explain"]);
    insta::assert_snapshot!(String::from_utf8_lossy(&output.stdout));
    assert_eq!(output.status.code(), Some(0));
}

#[test]
fn graph_prints_a_page_with_a_flowchart_per_resource() {
    let folder = tempfile::tempdir().unwrap();
    let output = check(folder.path(), DEPLOYMENT, RETAINED, &["--graph"]);
    insta::assert_snapshot!(String::from_utf8_lossy(&output.stdout));
    assert!(String::from_utf8_lossy(&output.stderr).contains("orphan.when.expression: can never hold"), "{output:?}");
    assert_eq!(output.status.code(), Some(0));
    assert_eq!(check(folder.path(), DEPLOYMENT, RETAINED, &["--graph", "--strict"]).status.code(), Some(1));
}

#[test]
fn invalid_task_prints_neither_rows_nor_graph() {
    let folder = tempfile::tempdir().unwrap();
    for flag in ["--explain", "--graph"] {
        let output = check(folder.path(), DEPLOYMENT, "resources: [{name: a}]\n", &[flag]);
        let printed = String::from_utf8_lossy(&output.stdout).into_owned();
        assert!(printed.ends_with("\n2 errors, 0 warnings\n"), "{flag}: {printed}");
        assert_eq!(output.status.code(), Some(1), "{flag}");
    }
    let output = check(folder.path(), DEPLOYMENT, "resources: [{name: a}]\n", &["--graph", "-o", "json"]);
    let listed: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!((&listed["errors"], listed.get("resources")), (&json!(2), None));
}

#[test]
fn rows_and_graphs_are_available_as_json() {
    let folder = tempfile::tempdir().unwrap();
    let listed = |flags: &[&str]| -> Value {
        let output = check(folder.path(), DEPLOYMENT, RETAINED, flags);
        serde_json::from_slice(&output.stdout).unwrap()
    };
    assert_eq!(listed(&["-o", "json"]).get("resources"), None);
    let explained = listed(&["--explain", "-o", "json"]);
    let run = &explained["resources"][1];
    assert_eq!((&run["name"], &run["apiVersion"], &run["kind"]), (&json!("run"), &json!("batch/v1"), &json!("Job")));
    assert_eq!(run.get("graph"), None);
    let rows = run["rows"].as_array().unwrap();
    let recreate = rows.iter().find(|row| row["row"] == "14").unwrap();
    assert_eq!(
        recreate["decisions"],
        json!([
            { "decision": "create_version", "reason": "RecreateGateHolds" },
            { "decision": "fail", "reason": "VersionNameTaken" },
            { "decision": "fail", "reason": "GateFailed" },
            { "decision": "fail", "reason": "OwnerUnavailable" },
        ])
    );
    let drawn = listed(&["--graph", "-o", "json"]);
    assert_eq!(drawn["resources"][1]["rows"], run["rows"]);
    let graph = drawn["resources"][1]["graph"].as_str().unwrap();
    assert!(graph.starts_with("flowchart TD\n") && graph.contains("row14_fail_VersionNameTaken"), "{graph}");
}

/// Checks the graphs against the subset of Mermaid's grammar that they use: boxes, and arrows between
/// declared boxes.
#[test]
fn graph_of_every_example_is_a_valid_flowchart() {
    let examples = Path::new(env!("CARGO_MANIFEST_DIR")).join("../examples");
    let mut graphs = 0;
    for example in fs::read_dir(examples).unwrap().map(|entry| entry.unwrap().path()).filter(|path| path.is_dir()) {
        let mut command = Command::cargo_bin("hyperfleet-adapter").unwrap();
        let files = ["check", "--graph", "-c", "adapter-config.yaml", "-t", "task-config.yaml"];
        let output = command.current_dir(&example).args(files).output().unwrap();
        let page = String::from_utf8(output.stdout).unwrap();
        for graph in page.split("```mermaid\n").skip(1) {
            let graph = graph.split("```").next().unwrap();
            assert_eq!(faults(graph), Vec::<&str>::new(), "{}", example.display());
            graphs += 1;
        }
    }
    assert!(graphs >= 17, "{graphs}");
}

/// Returns the lines that are neither a box nor an arrow between declared boxes.
fn faults(graph: &str) -> Vec<&str> {
    let mut lines = graph.lines();
    assert_eq!(lines.next(), Some("flowchart TD"));
    let lines: Vec<&str> = lines.map(str::trim).collect();
    let is_name = |name: &str| !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
    let text = |text: &str| !text.is_empty() && !text.contains(['"', '`', '{', '}', ':', '%', '\\']);
    let declared = |line: &str| {
        let name: String = line.chars().take_while(|c| c.is_ascii_alphanumeric() || *c == '_').collect();
        let rest = line.strip_prefix(&name)?;
        let inner = rest.strip_prefix("([\"").and_then(|rest| rest.strip_suffix("\"])"));
        let inner = inner.or_else(|| rest.strip_prefix("[\"").and_then(|rest| rest.strip_suffix("\"]")))?;
        (is_name(&name) && text(inner)).then_some(name)
    };
    let names: Vec<String> = lines.iter().filter_map(|line| declared(line)).collect();
    let is_arrow = |line: &str| {
        let mut parts = line.splitn(2, [' ']);
        let (Some(from), Some(rest)) = (parts.next(), parts.next()) else { return false };
        let rest = rest.strip_prefix("-->|\"").or_else(|| rest.strip_prefix("-.->|\""));
        let Some((label, to)) = rest.and_then(|rest| rest.split_once("\"| ")) else { return false };
        text(label) && [from, to].iter().all(|name| names.iter().any(|known| known == name))
    };
    lines.into_iter().filter(|line| declared(line).is_none() && !is_arrow(line)).collect()
}

#[test]
fn missing_file_is_a_diagnostic() {
    let folder = tempfile::tempdir().unwrap();
    let mut command = Command::cargo_bin("hyperfleet-adapter").unwrap();
    let files = ["check", "--config", "none.yaml", "--task-config", "none.yaml"];
    let output = command.current_dir(folder.path()).env_clear().args(files).output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&output.stdout).contains("none.yaml: error: "), "{output:?}");
}
