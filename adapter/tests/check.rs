//! Tests of the command `check`: its output and exit codes.

#![expect(clippy::unwrap_used, reason = "tests")]

use std::fs;
use std::path::Path;
use std::process::Output;

use assert_cmd::Command;
use serde_json::{Value, json};

const DEPLOYMENT: &str = "adapter: {name: installer}\n";
const RESOURCE: &str = "resources:\n  - name: job\n    manifest: {apiVersion: batch/v1, kind: Job, metadata: {name: x, namespace: x}}\n    discovery: {namespace: x, by_name: x}\n";
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
  help: the file loads, and an event fails where it needs this value
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
fn label_of_another_adapter_is_refused_where_gates_rely_on_it() {
    let folder = tempfile::tempdir().unwrap();
    for (label, gate, is_refused) in [
        ("another", GATE, true),
        ("another", "", false),
        ("installer", GATE, false),
        ("\"{{ .adapter.name }}\"", GATE, false),
    ] {
        let labelled = format!("metadata: {{labels: {{hyperfleet.io/adapter: {label}}}, ");
        let task = format!("{RESOURCE}{gate}{POST}").replacen("metadata: {", &labelled, 1);
        let output = check(folder.path(), DEPLOYMENT, &task, &[]);
        let told = String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr);
        assert_eq!(!output.status.success(), is_refused, "{label}: {told}");
        assert_eq!(told.contains("and `adapter.name` is \"installer\""), label == "another", "{told}");
    }
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
fn graph_prints_the_order_of_the_resources_on_one_screen() {
    let chain: Vec<_> = ["volume", "database", "server", "gateway"].into_iter().enumerate().collect();
    let resources = chain.iter().map(|(index, name)| {
        let above = chain.get(index + 1).map_or(String::new(), |(_, above)| format!(" && !resources.?{above}.hasValue()"));
        let below = index.checked_sub(1).map_or(String::new(), |below| {
            format!("    when: {{expression: \"resources.?{}.?status.?ready.orValue(false)\"}}\n", chain[below].1)
        });
        format!(
            "  - name: {name}\n    manifest: {{apiVersion: example.io/v1, kind: Part, metadata: {{name: {name}, namespace: x}}}}\n    discovery: {{namespace: x, by_name: {name}}}\n{below}    lifecycle: {{delete: {{when: {{expression: \"going{above}\"}}}}}}\n"
        )
    });
    let params = "params:\n  - {name: going, source: {expression: \"event.kind == 'x'\"}}\nresources:\n";
    let task = format!("{params}{}{POST}", resources.collect::<String>().replace("job", "server"));
    let folder = tempfile::tempdir().unwrap();
    let output = check(folder.path(), DEPLOYMENT, &task, &["--graph"]);
    let printed = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(printed.lines().count() <= 40, "{printed}");
    insta::assert_snapshot!(printed);
}

#[test]
fn graph_names_the_resources_when_it_draws_an_unknown_one() {
    let folder = tempfile::tempdir().unwrap();
    let output = check(folder.path(), DEPLOYMENT, RETAINED, &["--graph=runs"]);
    let error = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(error.contains("--graph=runs names no resource of the task; its resources are space, run"), "{error}");
    assert_eq!(output.status.code(), Some(1));
}

#[test]
fn graph_of_a_resource_is_its_decision_tree() {
    let folder = tempfile::tempdir().unwrap();
    let output = check(folder.path(), DEPLOYMENT, RETAINED, &["--graph=run"]);
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
            { "decision": "fail", "reason": "NotOurs" },
        ])
    );
    let drawn = listed(&["--graph", "-o", "json"]);
    assert_eq!(drawn["resources"][1]["rows"], run["rows"]);
    let graph = drawn["resources"][1]["graph"].as_str().unwrap();
    assert_eq!(drawn["resources"][1]["waits"]["creation"][0], json!({ "for": "space", "because": "owner" }));
    assert!(graph.starts_with("flowchart TD\n") && graph.contains("row14_fail_VersionNameTaken"), "{graph}");
}

/// Checks the graphs against the subset of Mermaid's grammar that they use: boxes, and arrows between
/// declared boxes.
#[test]
fn graph_of_every_example_is_a_valid_flowchart() {
    let examples = Path::new(env!("CARGO_MANIFEST_DIR")).join("../examples");
    let mut graphs = 0;
    for example in fs::read_dir(examples).unwrap().map(|entry| entry.unwrap().path()).filter(|path| path.is_dir()) {
        let run = |flags: &[&str]| {
            let mut command = Command::cargo_bin("hyperfleet-adapter").unwrap();
            let files = ["check", "-c", "adapter-config.yaml", "-t", "task-config.yaml"];
            String::from_utf8(command.current_dir(&example).args(files).args(flags).output().unwrap().stdout).unwrap()
        };
        let listed: Value = serde_json::from_str(&run(&["--graph", "-o", "json"])).unwrap();
        let trees = listed["resources"].as_array().into_iter().flatten();
        let mut drawn: Vec<String> = trees.map(|resource| resource["graph"].as_str().unwrap().to_owned()).collect();
        let page = run(&["--graph"]);
        drawn.extend(page.split("```mermaid\n").skip(1).map(|graph| graph.split("```").next().unwrap().to_owned()));
        for graph in drawn {
            assert_eq!(faults(&graph), Vec::<&str>::new(), "{}", example.display());
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

#[test]
fn fields_of_another_type_are_reported_with_the_way_that_works() {
    let task = |replicas: &str, patch: &str| {
        format!(
            "params: [{{name: n, source: event.size}}]\nresources:\n  - name: job\n    discovery: {{namespace: x, by_name: x}}\n    \
             lifecycle:\n      patch: [{{when: {{expression: \"event.late\"}}, document: {{spec: {{paused: {patch}}}}}}}]\n    \
             manifest:\n      apiVersion: apps/v1\n      kind: Deployment\n      metadata: {{name: x, namespace: x, labels: {{n: \"{{{{ .n }}}}\"}}}}\n      \
             spec:\n        replicas: {replicas}\n{POST}"
        )
    };
    let at = "resources[0].manifest.spec.replicas: is";
    let wants = "and Kubernetes wants an integer: it refuses the object";
    let cases = [
        (task("!!int \"{{ .n }}\"", "!!bool \"{{ .n }}\""), vec![]),
        (task("3", "null"), vec![]),
        (task("1{{ .n }}", "true"), vec![]),
        (
            task("\"{{ .n }}\"", "true"),
            vec![format!("{at} text, {wants}"), "help: write `!!int \"{{ .n }}\"`".to_owned()],
        ),
        (
            task("\"3\"", "true"),
            vec![format!("{at} text, {wants}"), "help: write an integer, without quotes".to_owned()],
        ),
        (
            task("{expression: n}", "true"),
            vec![format!("{at} a mapping, {wants}"), "compute a param, and write `!!int \"{{ .param }}\"`".to_owned()],
        ),
        (
            task("3", "\"{{ .n }}\""),
            vec![
                "patch[0].document.spec.paused: is text, and Kubernetes wants true or false".to_owned(),
                "help: write `!!bool \"{{ .n }}\"`".to_owned(),
            ],
        ),
        (
            task("3", "true").replace(
                "resources:\n",
                "resources:\n  - name: set\n    bundle:\n      manifests:\n        - {apiVersion: v1, kind: List, items: [{apiVersion: v1, kind: ConfigMap, metadata: {name: x}, data: {a: 5}}]}\n",
            ),
            vec!["resources[0].bundle.manifests[0].items[0].data.a: is a number, and Kubernetes wants text".to_owned()],
        ),
        (
            task("3", "true").replace(
                "resources:\n",
                "resources:\n  - name: set\n    bundle:\n      manifests:\n        - \"{apiVersion: apps/v1, kind: Deployment, metadata: {name: x}, spec: {replicas: '2'}}\"\n",
            ),
            vec![
                "resources[0].bundle.manifests[0]: Deployment x: spec.replicas is text, and Kubernetes wants an integer".to_owned(),
            ],
        ),
        (task("{{ .n }}", "true"), vec!["in a manifest, for a number, `!!int \"{{ … }}\"`".to_owned()]),
    ];
    for (task, expected) in cases {
        let folder = tempfile::tempdir().unwrap();
        let output = check(folder.path(), DEPLOYMENT, &task, &[]);
        let printed = String::from_utf8_lossy(&output.stdout).into_owned();
        for expected in &expected {
            assert!(printed.contains(expected.as_str()), "no `{expected}` in:\n{printed}");
        }
        assert_eq!(printed.contains("0 errors"), expected.is_empty(), "{task}\n{printed}");
    }
}

#[test]
fn data_that_kubernetes_refuses_is_reported_once() {
    let entry = |kind: &str, data: &str| {
        format!(
            "resources:\n  - name: job\n    manifest: {{apiVersion: v1, kind: {kind}, metadata: {{name: x, namespace: x}}, {data}}}\n    \
             discovery: {{namespace: x, by_name: x}}\n{POST}"
        )
    };
    for (kind, data) in
        [("ConfigMap", "data: {n: 3}"), ("Secret", "data: {n: plain text}"), ("Secret", "stringData: {n: 3}")]
    {
        let folder = tempfile::tempdir().unwrap();
        let output = check(folder.path(), DEPLOYMENT, &entry(kind, data), &[]);
        let printed = String::from_utf8_lossy(&output.stdout).into_owned();
        assert!(printed.ends_with("\n1 error, 0 warnings\n"), "{kind} {data}\n{printed}");
    }
}

/// The bundle of example 40: what its objects can come to, as text and as a picture.
#[test]
fn explain_and_graph_show_the_objects_of_a_bundle() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../examples/40-job-that-serves-once");
    let (config, task) = (format!("{folder}/adapter-config.yaml"), format!("{folder}/task-config.yaml"));
    let run = |option: &str| {
        let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_hyperfleet-adapter"));
        let output = command.args(["check", "-c", &config, "-t", &task, option]).output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap()
    };
    let bundle = lifecycle_bundle::table::Row::Purge;
    let explained = run("--explain");
    assert!(explained.contains("its objects:"), "{explained}");
    assert!(explained.contains(&format!("{:>3}  {}", bundle.number(), bundle.condition())), "{explained}");
    let name = explained.lines().find(|line| line.ends_with("(v1 ConfigMap)")).unwrap();
    let name = name.trim_end_matches(" (v1 ConfigMap)");
    let graph = run(&format!("--graph={name}"));
    assert!(graph.contains("Its objects, in waves.") && graph.contains("purge after wave -1"), "{graph}");
    assert!(graph.contains("| R6 | not wanted |"), "{graph}");
}
