#![expect(clippy::unwrap_used, reason = "tests")]

use std::fs;
use std::path::Path;

use serde_json::json;

use super::*;

const ADAPTER: &str =
    "adapter: {name: team, version: 1.0.0}\nclients:\n  hyperfleet_api: {base_url: http://api:8000, version: v1}\n";
/// A task that reads its cluster, keeps a ConfigMap and patches it as long as a gate holds, and reports.
const TASK: &str = r#"
params:
  - {name: clusterId, source: event.id}
  - {name: cluster, source: {api_call: {method: GET, url: "/clusters/{{ .clusterId }}"}}}
resources:
  - name: quota
    manifest:
      apiVersion: v1
      kind: ResourceQuota
      metadata: {name: quota, namespace: n}
      spec: {hard: {limits.memory: 2048Mi}}
    discovery: {by_name: quota, namespace: n}
    lifecycle:
      patch:
        - when: {expression: "resources.quota.spec.hard['limits.memory'] != GATE"}
          document: {spec: {hard: {limits.memory: 2048Mi}}}
post:
  payloads: [{name: status, build: {adapter: "{{ .adapter.name }}", observed_generation: {expression: event.generation}, conditions: []}}]
  post_actions: [{name: report, api_call: {method: PUT, url: "/clusters/{{ .clusterId }}/statuses", body: "{{ .status }}"}}]
"#;

/// Writes a scenario whose gate compares with this text, with the answers of these URLs.
fn scenario(folder: &Path, gate: &str, urls: &[&str]) {
    fs::write(folder.join("adapter-config.yaml"), ADAPTER).unwrap();
    fs::write(folder.join("task-config.yaml"), TASK.replace("GATE", gate)).unwrap();
    let event = json!({
        "specversion": "1.0", "id": "e", "source": "s", "type": "t", "time": "2026-01-01T00:00:00Z",
        "data": { "id": "c1", "kind": "Cluster", "generation": 1 }
    });
    fs::write(folder.join("event.json"), event.to_string()).unwrap();
    let answer = |url: &&str| json!({ "match": { "method": "GET", "urlPattern": url }, "responses": [{ "body": { "id": "c1" } }] });
    let answers = json!({ "responses": urls.iter().map(answer).collect::<Vec<_>>() });
    fs::write(folder.join("api-responses.json"), answers.to_string()).unwrap();
}

/// Plays a scenario: how it ended, or why not, and what it printed.
async fn played(folder: &Path, repeat: bool) -> (Result<Ending, String>, String, String) {
    let (scenario, output) = (folder.to_owned(), OutputFormat::Text);
    let arguments = DryRunArgs { scenario, output, verbose: false, update: false, check: false, repeat };
    let mut streams = Streams { out: Vec::new(), err: Vec::new(), colour: false };
    let ending = run_scenario(&arguments, Timestamp::UNIX_EPOCH, &mut streams).await.map_err(|error| error.to_string());
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap().replace(&format!("{}/", folder.display()), "");
    (ending.map_err(|error| error.replace(&format!("{}/", folder.display()), "")), text(streams.out), text(streams.err))
}

#[tokio::test]
async fn request_that_no_entry_matches_fails_the_pass_and_a_report_does_not() {
    let folder = tempfile::tempdir().unwrap();
    scenario(folder.path(), "'2Gi'", &["/clusters/c1$"]);
    let (ending, out, _) = played(folder.path(), false).await;
    assert_eq!(ending, Ok(Ending::Good), "{out}");
    assert!(out.contains("/clusters/c1/statuses -> 201  (no prepared answer: the report is stored)"), "{out}");
    assert!(!out.contains("Warning"), "{out}");

    scenario(folder.path(), "'2Gi'", &["/clustres/c1$"]);
    let (ending, out, err) = played(folder.path(), false).await;
    assert_eq!(ending, Ok(Ending::Failed), "{out}");
    let sentence = "no entry of api-responses.json matches GET /api/hyperfleet/v1/clusters/c1";
    assert!(
        out.contains("-> 404  (no prepared answer)")
            && out.contains(&format!("Warning: {sentence}: the answer is 404;")),
        "{out}"
    );
    assert!(err.contains(sentence), "{err}");
}

#[tokio::test]
async fn go_adapters_flags_answer_what_no_entry_matches_with_nothing_and_a_warning() {
    let folder = tempfile::tempdir().unwrap();
    scenario(folder.path(), "'2Gi'", &["/clustres/c1$"]);
    let flags = crate::args::LegacyDryRun {
        event: Some(folder.path().join("event.json")),
        api_responses: Some(folder.path().join("api-responses.json")),
        discovery: None,
        verbose: false,
        output: OutputFormat::Text,
    };
    let paths = crate::config::Paths {
        adapter: folder.path().join("adapter-config.yaml"),
        task: folder.path().join("task-config.yaml"),
    };
    let request = legacy::Request {
        flags: &flags,
        paths: &paths,
        environment: &crate::config::Environment::default(),
        config_flags: &crate::config::Flags::default(),
        version: &lifecycle_service::version::Version { number: "0.0.0", commit: "none", date: "unknown" },
        now: Timestamp::UNIX_EPOCH,
    };
    let mut streams = Streams { out: Vec::new(), err: Vec::new(), colour: false };
    assert_eq!(run_legacy(&request, &mut streams).await.unwrap(), Ending::Good);
    let out = String::from_utf8(streams.out).unwrap();
    assert!(
        out.contains("Warning: no entry of api-responses.json matches GET")
            && out.contains("200 {}, as in the Go adapter"),
        "{out}"
    );
}

#[tokio::test]
async fn repeat_notices_a_quantity_that_the_server_stores_in_another_form_and_prints_its_trace() {
    let folder = tempfile::tempdir().unwrap();
    scenario(folder.path(), "'2Gi'", &["/clusters/c1$"]);
    assert_eq!(played(folder.path(), true).await.0, Ok(Ending::Good));
    scenario(folder.path(), "'2048Mi'", &["/clusters/c1$"]);
    fs::write(folder.path().join("series.yaml"), "- name: create\n- name: next\n").unwrap();
    let (ending, out, err) = played(folder.path(), true).await;
    assert_eq!(ending, Ok(Ending::RepeatWrites), "{out}");
    assert!(
        err.contains(
            "Error: step `next`: a repeat of the event writes what was written before: patch ResourceQuota n/quota"
        ),
        "{err}"
    );
    let repeat = out.split("Repeat, with a write too many:").nth(1).unwrap();
    assert!(repeat.contains("resources.quota.spec.hard[\"limits.memory\"] = \"2Gi\""), "{repeat}");
}

#[tokio::test]
async fn series_that_breaks_off_prints_the_traces_before_and_of_a_step_that_fails() {
    let folder = tempfile::tempdir().unwrap();
    scenario(folder.path(), "'2Gi'", &["/clusters/c1$"]);
    let series = "\
- name: create
- name: the API is away
  answers: [{match: {method: GET, urlPattern: /clusters/c1$}, responses: [{statusCode: 503}]}]
- name: a Job completes
  world: [{patch: {apiVersion: batch/v1, kind: Job, status: {succeeded: 1}}}]
- name: never
";
    fs::write(folder.path().join("series.yaml"), series).unwrap();
    let (ending, out, err) = played(folder.path(), false).await;
    let refused = "series.yaml: step 3 `a Job completes`: world[0]: Job does not exist; there is no Job";
    assert_eq!(ending, Err(refused.to_owned()), "{out}");
    insta::assert_snapshot!(format!("{out}----- standard error\n{err}"));
}

#[tokio::test]
async fn log_lines_are_shown_with_their_level_in_the_step_that_logs_them() {
    let folder = tempfile::tempdir().unwrap();
    scenario(folder.path(), "'2Gi'", &["/clusters/c1$"]);
    let task = r#"
params:
  - {name: clusterId, source: event.id}
  - {name: cluster, source: {api_call: {method: GET, url: "/clusters/{{ .clusterId }}"}}}
  - {name: pin, sensitive: true, source: {expression: "'pin-1234'"}}
preconditions:
  - {name: there, log: {message: "cluster {{ .clusterId }} has {{ .pin }}"}, expression: "true"}
post:
  post_actions:
    - {name: note, log: {level: warn, message: "done with {{ .clusterId }}"}}
    - {name: odd, log: {message: "{{ .cluster.id.below }}"}}
    - {name: silent, when: {expression: "false"}, log: {message: "not reached"}}
"#;
    fs::write(folder.path().join("task-config.yaml"), task).unwrap();

    let (ending, out, err) = played(folder.path(), false).await;
    assert_eq!(ending, Ok(Ending::Good), "{out}{err}");
    let after = |step: &str| out.split(step).nth(1).and_then(|rest| rest.lines().nth(1)).unwrap_or_default().to_owned();
    assert_eq!(after("] there "), "    Log:      info: cluster c1 has [redacted]", "{out}");
    assert_eq!(after("] note "), "    Log:      warn: done with c1", "{out}");
    assert!(after("] odd ").starts_with("    Log:      not rendered: "), "{out}");
    assert!(!out.contains("not reached"), "{out}");

    let (scenario, output) = (folder.path().to_owned(), OutputFormat::Json);
    let arguments = DryRunArgs { scenario, output, verbose: false, update: false, check: false, repeat: false };
    let mut streams = Streams { out: Vec::new(), err: Vec::new(), colour: false };
    run_scenario(&arguments, Timestamp::UNIX_EPOCH, &mut streams).await.unwrap();
    let trace: serde_json::Value = serde_json::from_slice(&streams.out).unwrap();
    let line = |phase: &str, step: &str, level: &str, message: &str| json!({ "phase": phase, "step": step, "level": level, "message": message });
    assert_eq!(trace["logs"][0], line("preconditions", "there", "info", "cluster c1 has [redacted]"));
    assert_eq!(trace["logs"][1], line("post_actions", "note", "warn", "done with c1"));
    assert_eq!((&trace["logs"][2]["step"], &trace["logs"][2]["message"]), (&json!("odd"), &json!("")));
    assert!(trace["logs"][2]["error"].is_string() && trace["logs"].as_array().unwrap().len() == 3, "{}", trace["logs"]);
}
