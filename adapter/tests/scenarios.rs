//! Plays every scenario of `examples/`, compares it with its expected traces, and plays it again.
//!
//! To accept changed traces, run `UPDATE_EXPECTED=1 cargo test --test scenarios`, and read the difference.

#![expect(clippy::unwrap_used, reason = "tests")]

use std::path::{Path, PathBuf};

use hyperfleet_adapter::args::{DryRunArgs, LegacyDryRun, OutputFormat};
use hyperfleet_adapter::config::{Environment, Flags, Paths};
use hyperfleet_adapter::dry_run::expected::Traces;
use hyperfleet_adapter::dry_run::play::Life;
use hyperfleet_adapter::dry_run::text::without_colours;
use hyperfleet_adapter::dry_run::{Ending, Streams, input, legacy, run_legacy, run_scenario, scenario};
use jiff::Timestamp;
use lifecycle_service::version::Version;
use serde_json::{Value, json};

/// A clock value that no scenario uses: each has its own clock.
const NEVER: Timestamp = Timestamp::UNIX_EPOCH;

const NO_BUILD: Version = Version { number: "0.0.0-dev", commit: "none", date: "unknown" };

fn scenarios() -> Vec<PathBuf> {
    let examples = Path::new(env!("CARGO_MANIFEST_DIR")).join("../examples");
    let mut folders: Vec<PathBuf> =
        std::fs::read_dir(examples).unwrap().map(|entry| entry.unwrap().path()).filter(|path| path.is_dir()).collect();
    folders.sort();
    folders
}

fn name(folder: &Path) -> &str {
    folder.file_name().and_then(|name| name.to_str()).unwrap()
}

/// Plays a scenario, with all steps if it is a series.
async fn life(folder: &Path, repeat: bool) -> Life {
    let mut world = scenario::load(folder, NEVER).unwrap_or_else(|error| panic!("{}: {error:?}", name(folder)));
    let steps = scenario::steps(folder, NEVER).unwrap_or_else(|error| panic!("{}: {error:?}", name(folder)));
    let life = Life::play(&mut world, &steps, false, repeat).await;
    assert!(life.refused.is_none(), "{}: {:?}", name(folder), life.refused);
    life
}

fn captured() -> Streams<Vec<u8>, Vec<u8>> {
    Streams { out: Vec::new(), err: Vec::new(), colour: false }
}

fn json_of(folder: &Path) -> DryRunArgs {
    DryRunArgs {
        scenario: folder.to_owned(),
        output: OutputFormat::Json,
        verbose: false,
        update: false,
        check: false,
        repeat: false,
    }
}

#[test]
fn every_scenario_is_in_the_index_and_has_a_readme() {
    let folders = scenarios();
    assert!(folders.len() >= 10, "{folders:?}");
    let index = folders[0].join("../README.md");
    let index = std::fs::read_to_string(index).unwrap();
    for folder in folders {
        assert!(index.contains(&format!("({})", name(&folder))), "{} is not in the index", name(&folder));
        let readme = std::fs::read_to_string(folder.join("README.md"))
            .unwrap_or_else(|error| panic!("{}: {error}", name(&folder)));
        assert!(readme.starts_with("# ") && readme.contains("Look for:"), "{}", name(&folder));
    }
}

#[tokio::test]
async fn every_scenario_has_its_expected_traces() {
    let update = std::env::var_os("UPDATE_EXPECTED").is_some();
    let mut differences = String::new();
    for folder in scenarios() {
        let traces = Traces::of(&life(&folder, false).await);
        if update {
            traces.write(&folder).unwrap();
        } else {
            differences.push_str(&traces.compare(&folder).unwrap());
        }
    }
    assert!(differences.is_empty(), "{differences}");
}

#[tokio::test]
async fn repeated_event_of_a_reconciled_scenario_changes_nothing() {
    let mut reconciled = 0;
    for folder in scenarios() {
        let world = scenario::load(&folder, NEVER).unwrap();
        if !world.play(false).await.writes().is_empty() {
            continue;
        }
        reconciled += 1;
        let before = world.objects();
        let again = world.play(false).await;
        assert_eq!(again.writes(), Vec::<String>::new(), "{}", name(&folder));
        assert_eq!(world.objects(), before, "{}", name(&folder));
        assert!(again.diffs.is_empty(), "{}", name(&folder));
    }
    assert!(reconciled >= 8, "only {reconciled} scenarios end reconciled");
}

#[tokio::test]
async fn no_scenario_writes_when_an_event_is_repeated() {
    for folder in scenarios() {
        let repeats = life(&folder, true).await.repeats;
        assert_eq!(repeats, [], "{}", name(&folder));
    }
}

/// A task whose patch never ends: it writes the time of each event, and its gate always holds.
#[tokio::test]
async fn repeat_option_fails_if_a_repeat_writes() {
    let scratch = tempfile::tempdir().unwrap();
    let folder = copied("34-life-of-a-cluster", scratch.path());
    let repeat = DryRunArgs { repeat: true, ..json_of(&folder) };
    let run = async || {
        let mut streams = captured();
        let ending = run_scenario(&repeat, NEVER, &mut streams).await.unwrap();
        (ending, String::from_utf8(streams.err).unwrap())
    };
    assert_eq!(run().await, (Ending::Good, String::new()));

    let task = folder.join("task-config.yaml");
    let text = std::fs::read_to_string(&task).unwrap();
    let patch = "    lifecycle:\n      patch:\n        - {when: {expression: \"!isDeleting\"}, document: {metadata: {annotations: {example.io/at: '{{ .now }}'}}}}\n";
    let first = text.find("    lifecycle:\n").unwrap();
    let task_text = format!("{}{patch}{}", &text[..first], &text[first + "    lifecycle:\n".len()..]);
    std::fs::write(&task, task_text).unwrap();
    let (ending, told) = run().await;
    assert_eq!((ending, ending.exit_code()), (Ending::RepeatWrites, 1));
    let sentence = "Error: step `the cluster is created`: a repeat of the event writes what was written before: ";
    assert!(told.contains(&format!("{sentence}patch Namespace cluster-c-7f3a")), "{told}");
}

#[tokio::test]
async fn repeated_events_stop_writing_in_every_scenario() {
    for folder in scenarios() {
        let world = scenario::load(&folder, NEVER).unwrap();
        // In the worst case, each pass allows one more resource to be written in the next pass.
        for _ in 0..=world.play(false).await.resources.len() {
            world.play(false).await;
        }
        let before = world.objects();
        world.play(false).await;
        assert_eq!(world.objects(), before, "{}", name(&folder));
    }
}

#[tokio::test]
async fn playing_a_scenario_is_repeatable_and_changes_no_file() {
    for folder in scenarios() {
        let first = scenario::load(&folder, NEVER).unwrap().play(true).await;
        let second = scenario::load(&folder, Timestamp::MAX).unwrap().play(true).await;
        assert_eq!(first.to_json(), second.to_json(), "{}", name(&folder));
    }
}

#[tokio::test]
async fn exit_code_depends_on_whether_the_event_failed() {
    for folder in scenarios() {
        let mut streams = captured();
        let ending = run_scenario(&json_of(&folder), NEVER, &mut streams).await.unwrap();
        let trace: Value = serde_json::from_slice(&streams.out).unwrap();
        let steps = trace["steps"].as_array().into_iter().flatten();
        let has_failed = steps.chain([&trace]).any(|trace| trace["status"] == "failed");
        let expected = if has_failed { Ending::Failed } else { Ending::Good };
        assert_eq!(ending, expected, "{}", name(&folder));
        let explained = String::from_utf8(streams.err).unwrap();
        assert_eq!(explained.contains("Error in "), ending == Ending::Failed, "{}: {explained}", name(&folder));
    }
}

/// Writes the live objects of a scenario into a file by name, as the flag of the Go adapter expects them.
fn discovery_file(folder: &Path, to: &Path) -> Option<PathBuf> {
    let live = input::read_objects(&folder.join("live")).unwrap();
    let by_name = live.iter().map(|object| (object["metadata"]["name"].as_str().unwrap().to_owned(), object.clone()));
    let objects: serde_json::Map<String, Value> = by_name.collect();
    let file = to.join(format!("{}.json", name(folder)));
    std::fs::write(&file, serde_json::to_vec(&objects).unwrap()).unwrap();
    (!objects.is_empty()).then_some(file)
}

/// Copies a scenario, so that a test can change it.
fn copied(name: &str, to: &Path) -> PathBuf {
    let from = scenarios().into_iter().find(|folder| folder.ends_with(name)).unwrap();
    let folder = to.join(name);
    for part in ["", "live", "expected"] {
        std::fs::create_dir_all(folder.join(part)).unwrap();
        for entry in std::fs::read_dir(from.join(part)).into_iter().flatten() {
            let path = entry.unwrap().path();
            if path.is_file() {
                std::fs::copy(&path, folder.join(part).join(path.file_name().unwrap())).unwrap();
            }
        }
    }
    folder
}

#[tokio::test]
async fn check_reports_a_difference_and_update_accepts_it() {
    let scratch = tempfile::tempdir().unwrap();
    let folder = copied("10-stale-event", scratch.path());
    let check = DryRunArgs { check: true, ..json_of(&folder) };
    let update = DryRunArgs { update: true, ..json_of(&folder) };
    let run = async |arguments: &DryRunArgs| {
        let mut streams = captured();
        let ending = run_scenario(arguments, NEVER, &mut streams).await.unwrap();
        (ending, String::from_utf8(streams.out).unwrap())
    };
    assert_eq!(run(&check).await, (Ending::Good, String::new()));

    let event = folder.join("event.json");
    let text = std::fs::read_to_string(&event).unwrap();
    std::fs::write(&event, text.replace("\"generation\": 3", "\"generation\": 4")).unwrap();
    let (ending, difference) = run(&check).await;
    assert_eq!((ending, ending.exit_code()), (Ending::Unexpected, 1));
    assert!(
        difference.contains("\n-    Reason:   StaleEvent") && difference.contains("\n+    Reason:   SameGeneration")
    );
    assert!(difference.contains("dry-run --update "), "{difference}");

    assert_eq!(run(&update).await, (Ending::Good, String::new()));
    assert_eq!(run(&check).await, (Ending::Good, String::new()));
}

#[tokio::test]
async fn colour_option_adds_colours_only_and_verbose_adds_bodies() {
    let folder = scenarios().remove(0);
    let run = async |verbose: bool, colour: bool| {
        let mut streams = Streams { colour, ..captured() };
        let arguments = DryRunArgs { verbose, output: OutputFormat::Text, ..json_of(&folder) };
        run_scenario(&arguments, NEVER, &mut streams).await.unwrap();
        String::from_utf8(streams.out).unwrap()
    };
    let (plain, coloured) = (run(false, false).await, run(false, true).await);
    assert!(coloured.contains('\u{1b}') && !plain.contains('\u{1b}'));
    assert_eq!(without_colours(&coloured), plain);
    let verbose = run(true, false).await;
    assert!(verbose.contains("[verbose] Request body:") && !plain.contains("[verbose]"), "{verbose}");
}

#[tokio::test]
async fn unusable_inputs_are_refused_with_a_cure() {
    let scratch = tempfile::tempdir().unwrap();
    let refused = |folder: &Path| format!("{:#}", anyhow::Error::from(scenario::load(folder, NEVER).err().unwrap()));
    assert!(refused(scratch.path()).contains("event.json is missing; see examples/README.md"));

    let folder = copied("10-stale-event", scratch.path());
    let event = folder.join("event.json");
    let text = std::fs::read_to_string(&event).unwrap();
    std::fs::write(&event, text.replace("2026-09-14T08:00:00Z", "yesterday")).unwrap();
    assert!(refused(&folder).contains("yesterday"), "{}", refused(&folder));

    let flags = LegacyDryRun { api_responses: Some(folder.join("api-responses.json")), ..LegacyDryRun::default() };
    let request = legacy::Request {
        flags: &flags,
        paths: &Paths { adapter: folder.join("adapter-config.yaml"), task: folder.join("task-config.yaml") },
        environment: &Environment::default(),
        config_flags: &Flags::default(),
        version: &NO_BUILD,
        now: NEVER,
    };
    let error = run_legacy(&request, &mut captured()).await.err().unwrap().to_string();
    assert!(error.starts_with("--dry-run-event is required"), "{error}");
}

#[tokio::test]
async fn missing_variable_names_the_file_of_variables() {
    let scratch = tempfile::tempdir().unwrap();
    let folder = copied("35-secret-from-text", scratch.path());
    std::fs::remove_file(folder.join("environment.json")).unwrap();
    let error = format!("{:#}", anyhow::Error::from(scenario::load(&folder, NEVER).err().unwrap()));
    assert!(error.contains("required environment variable REGISTRY_TOKEN is not set"), "{error}");
    assert!(error.contains("add it to `environment.json`"), "{error}");
}

#[tokio::test]
async fn params_after_the_one_that_failed_are_shown_as_not_read() {
    let scratch = tempfile::tempdir().unwrap();
    let folder = copied("36-node-pool", scratch.path());
    let event = folder.join("event.json");
    let text = std::fs::read_to_string(&event).unwrap();
    std::fs::write(&event, text.replace("owner_references", "owners")).unwrap();
    let mut streams = captured();
    let arguments = DryRunArgs { output: OutputFormat::Text, ..json_of(&folder) };
    run_scenario(&arguments, NEVER, &mut streams).await.unwrap();
    let text = String::from_utf8(streams.out).unwrap();
    let line =
        |name: &str| text.lines().find(|line| line.trim_start().starts_with(name)).unwrap_or_default().to_owned();
    assert!(line("nodePoolId ").contains("np-2b91"), "{text}");
    assert!(line("clusterId ").contains("(failed)"), "{text}");
    for later in ["generation ", "nodePool ", "isDeleting "] {
        assert!(line(later).contains("(not read: the pass ended before)"), "{text}");
    }
}

fn forget(value: &mut Value, key: &str) {
    match value {
        Value::Object(members) => {
            members.remove(key);
            members.values_mut().for_each(|member| forget(member, key));
        }
        Value::Array(items) => items.iter_mut().for_each(|item| forget(item, key)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

#[tokio::test]
async fn go_adapters_flags_have_the_same_results() {
    let scratch = tempfile::tempdir().unwrap();
    for folder in scenarios() {
        // With the Go adapter's flags, an overriding object also replaces the result of a write with its
        // name. So the results are comparable only if the scenario writes no live object.
        let played = scenario::load(&folder, NEVER).unwrap().play(false).await;
        let discovery = discovery_file(&folder, scratch.path());
        if discovery.is_some() && !played.writes().is_empty() {
            continue;
        }
        let flags = LegacyDryRun {
            event: Some(folder.join("event.json")),
            api_responses: Some(folder.join("api-responses.json")),
            discovery,
            verbose: false,
            output: OutputFormat::Json,
        };
        let variables = folder.join("environment.json");
        let environment =
            if variables.exists() { input::read_environment(&variables).unwrap() } else { Environment::default() };
        let request = legacy::Request {
            flags: &flags,
            paths: &Paths { adapter: folder.join("adapter-config.yaml"), task: folder.join("task-config.yaml") },
            environment: &environment,
            config_flags: &Flags::default(),
            version: &NO_BUILD,
            now: NEVER,
        };
        let mut streams = captured();
        let ending = run_legacy(&request, &mut streams).await.unwrap();
        let mut trace: Value = serde_json::from_slice(&streams.out).unwrap();
        let mut expected: Value = serde_json::from_str(&played.to_json()).unwrap();
        // Both stores number their writes, but in different orders.
        forget(&mut trace, "resourceVersion");
        forget(&mut expected, "resourceVersion");
        assert_eq!(trace, expected, "{}", name(&folder));
        assert_eq!(ending == Ending::Failed, played.failed(), "{}", name(&folder));
    }
}

#[tokio::test]
async fn trace_has_every_member_of_the_go_adapters() {
    let played = |name: &'static str| async move {
        let folder = scenarios().into_iter().find(|folder| folder.ends_with(name)).unwrap();
        let trace = scenario::load(&folder, NEVER).unwrap().play(true).await;
        serde_json::from_str::<Value>(&trace.to_json()).unwrap()
    };
    let created = played("01-create-cluster").await;
    for member in [
        "/event/id",
        "/event/type",
        "/status",
        "/params/clusterId",
        "/preconditions/0/name",
        "/preconditions/0/status",
        "/preconditions/0/matched",
        "/resources/0/name",
        "/resources/0/kind",
        "/resources/1/namespace",
        "/resources/0/resourceName",
        "/resources/0/status",
        "/resources/0/operation",
        "/resources/0/reason",
        "/discoveredResources/provisionJob",
        "/postActions/0/name",
        "/postActions/0/status",
        "/apiRequests/0/method",
        "/apiRequests/0/url",
        "/apiRequests/0/statusCode",
        "/apiRequests/0/responseBody",
        "/apiRequests/1/requestBody",
        "/transportOperations/0/operation",
        "/transportOperations/0/kind",
        "/transportOperations/0/name",
    ] {
        assert!(created.pointer(member).is_some(), "{member}");
    }
    let applies = created["transportOperations"].as_array().unwrap().iter();
    let results: Vec<&Value> = applies.filter_map(|operation| operation.get("result")).collect();
    assert_eq!(results, [&json!("create"); 3]);

    let deleted = played("07-delete-the-rest").await;
    assert_eq!(deleted["resources"][0]["discoveredState"]["kind"], "Namespace");
    let failed = played("11-name-taken").await;
    assert_eq!(failed["status"], "failed");
    assert!(failed.pointer("/errors/resources").is_some() && failed.pointer("/resources/0/error").is_some());
}

/// A task that copies a variable of the environment into objects, a gate, a report and a URL.
const COPIES_A_SECRET: &str = r#"params:
  - {name: token, source: env.TOKEN}
  - {name: derived, source: {expression: "'x' + token.upperAscii()"}}
  - {name: copy, source: derived}
  - {name: tier, source: env.TIER, default: gold}
preconditions:
  - {name: ready, expression: "token != 'nothing'"}
resources:
  - name: secret
    manifest:
      apiVersion: v1
      kind: Secret
      metadata: {name: a, namespace: n}
      stringData: {plain: "{{ .token }}", fixed: of-the-task}
    discovery: {namespace: n, by_name: a}
  - name: map
    manifest:
      apiVersion: v1
      kind: ConfigMap
      metadata: {name: b, namespace: n, annotations: {tier: "{{ .tier }}"}}
      data: {bearer: "Bearer {{ .token }}", lower: "{{ lower .copy }}", kept: readable}
    discovery: {namespace: n, by_name: b}
    lifecycle:
      create: {when: {expression: "copy != token && env.TOKEN != '' && resources.secret.data.fixed != ''"}}
  - name: text
    manifest: |
      apiVersion: v1
      kind: ConfigMap
      metadata: {name: c, namespace: ns}
      data: {encoded: '{{ replace .token "-" "+" }}'}
    discovery: {namespace: ns, by_name: c}
post:
  payloads:
    - name: status
      build:
        token: {expression: "token.replace('-', '_')"}
        nested: [{again: "<{{ .token }}>"}]
        kept: readable
  post_actions:
    - name: report
      api_call: {method: PUT, url: "/x?y={{ .token }}", body: "{{ .status }}"}
    - {name: told, log: {message: "{{ title .token }}"}}
"#;

#[tokio::test]
async fn no_trace_contains_a_secret() {
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, text: &str| std::fs::write(folder.path().join(name), text).unwrap();
    write("adapter-config.yaml", "adapter: {name: a}\nclients: {hyperfleet_api: {base_url: http://api}}\n");
    write("task-config.yaml", COPIES_A_SECRET);
    write("environment.json", r#"{"TOKEN": "hunter-two"}"#);
    write(
        "event.json",
        r#"{"specversion": "1.0", "id": "e", "source": "s", "type": "t", "time": "2026-01-01T00:00:00Z", "data": {"id": "c-1", "kind": "Cluster", "generation": 1}}"#,
    );
    std::fs::create_dir(folder.path().join("live")).unwrap();
    write(
        "live/a.yaml",
        "apiVersion: v1\nkind: Secret\nmetadata:\n  name: a\n  namespace: 'n'\n  labels: {hyperfleet.io/adapter: a, hyperfleet.io/resource: secret, hyperfleet.io/resource-id: c-1}\n  annotations: {hyperfleet.io/generation: '0'}\ndata: {old: bGl2ZS1zZWNyZXQ=}\nstringData: {plain: earlier}\n",
    );
    for output in [OutputFormat::Text, OutputFormat::Json] {
        for verbose in [false, true] {
            let mut streams = captured();
            let arguments = DryRunArgs { output, verbose, ..json_of(folder.path()) };
            run_scenario(&arguments, NEVER, &mut streams).await.unwrap();
            let printed = String::from_utf8(streams.out).unwrap() + &String::from_utf8(streams.err).unwrap();
            for secret in [
                "unter-two",
                "UNTER-TWO",
                "unter_two",
                "unter-Two",
                "unter+two",
                "of-the-task",
                "bGl2ZS1zZWNyZXQ",
                "earlier",
            ] {
                assert!(!printed.contains(secret), "{secret} in:\n{printed}");
            }
            for kept in ["readable", "gold", "[redacted]", "[redacted, changed]"] {
                assert!(printed.contains(kept), "no {kept} in:\n{printed}");
            }
        }
    }
}

#[tokio::test]
async fn template_behind_a_tag_is_a_number_and_other_text_is_refused_as_by_a_server() {
    let traced = async |replicas: &str, size: Value| {
        let folder = tempfile::tempdir().unwrap();
        let write = |name: &str, text: &str| std::fs::write(folder.path().join(name), text).unwrap();
        write("adapter-config.yaml", "adapter: {name: a}\nclients: {hyperfleet_api: {base_url: http://api}}\n");
        let task = format!(
            "params: [{{name: n, source: event.size}}]\nresources:\n  - name: web\n    discovery: {{namespace: n, by_name: a}}\n    \
             manifest:\n      apiVersion: apps/v1\n      kind: Deployment\n      metadata: {{name: a, namespace: n}}\n      \
             spec: {{replicas: {replicas}}}\n"
        );
        write("task-config.yaml", &task);
        let data = json!({"id": "c-1", "kind": "Cluster", "generation": 1, "size": size});
        let event = json!({"specversion": "1.0", "id": "e", "source": "s", "type": "t", "data": data});
        write("event.json", &event.to_string());
        let mut streams = captured();
        run_scenario(&json_of(folder.path()), NEVER, &mut streams).await.unwrap();
        let trace: Value = serde_json::from_slice(&streams.out).unwrap();
        (trace["discoveredResources"]["web"]["spec"]["replicas"].clone(), trace["resources"][0]["error"].to_string())
    };
    let (replicas, error) = traced("!!int \"{{ .n }}\"", json!(3)).await;
    assert_eq!((replicas, error.as_str()), (json!(3), "null"));
    let (_, error) = traced("!!int \"{{ .n }}\"", json!("three")).await;
    assert!(error.contains("spec.replicas: the template's text is not an integer"), "{error}");
    let (_, error) = traced("\"{{ .n }}\"", json!(3)).await;
    assert!(error.contains("spec.replicas: is text, and Kubernetes wants an integer"), "{error}");
}
