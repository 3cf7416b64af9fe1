//! Plays every scenario of `examples/`, compares it with its expected traces, and plays it again.
//!
//! To accept changed traces, run `UPDATE_EXPECTED=1 cargo test --test scenarios`, and read the difference.

#![expect(clippy::unwrap_used, reason = "tests")]

use std::path::{Path, PathBuf};

use hyperfleet_adapter::args::{DryRunArgs, LegacyDryRun, OutputFormat};
use hyperfleet_adapter::config::{Environment, Flags, Paths};
use hyperfleet_adapter::dry_run::expected::Traces;
use hyperfleet_adapter::dry_run::text::without_colours;
use hyperfleet_adapter::dry_run::trace::{ResourceTrace, Trace};
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

fn captured() -> Streams<Vec<u8>, Vec<u8>> {
    Streams { out: Vec::new(), err: Vec::new(), colour: false }
}

fn json_of(folder: &Path) -> DryRunArgs {
    DryRunArgs { scenario: folder.to_owned(), output: OutputFormat::Json, verbose: false, update: false, check: false }
}

/// Whether the scenario leaves nothing to do, so that the next event must not write.
fn is_reconciled(trace: &Trace) -> bool {
    let goes_on = |resource: &ResourceTrace| matches!(resource.result, "deleted" | "deleting" | "waiting");
    !trace.failed() && !trace.resources.iter().any(goes_on)
}

fn writes(trace: &Trace) -> Vec<String> {
    let operations = trace.transport_operations.iter();
    operations
        .filter(|operation| matches!(operation.operation, "apply" | "delete"))
        .map(|operation| format!("{} {} {}", operation.operation, operation.kind, operation.name))
        .collect()
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
        let world = scenario::load(&folder, NEVER).unwrap_or_else(|error| panic!("{}: {error:?}", name(&folder)));
        let traces = Traces::of(&world.play(false).await);
        if update {
            traces.write(&folder).unwrap();
        } else {
            differences.push_str(&traces.compare(&folder).unwrap());
        }
    }
    assert!(differences.is_empty(), "{differences}");
}

#[tokio::test]
async fn repeated_event_of_a_reconciled_scenario_writes_nothing() {
    let mut reconciled = 0;
    for folder in scenarios() {
        let world = scenario::load(&folder, NEVER).unwrap();
        if !is_reconciled(&world.play(false).await) {
            continue;
        }
        reconciled += 1;
        let before = world.objects();
        let again = world.play(false).await;
        assert_eq!(writes(&again), Vec::<String>::new(), "{}", name(&folder));
        assert_eq!(world.objects(), before, "{}", name(&folder));
        assert!(again.diffs.is_empty(), "{}", name(&folder));
    }
    assert!(reconciled >= 8, "only {reconciled} scenarios end reconciled");
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
        let expected = if trace["status"] == "failed" { Ending::Failed } else { Ending::Good };
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
        if discovery.is_some() && !writes(&played).is_empty() {
            continue;
        }
        let flags = LegacyDryRun {
            event: Some(folder.join("event.json")),
            api_responses: Some(folder.join("api-responses.json")),
            discovery,
            verbose: false,
            output: OutputFormat::Json,
        };
        let request = legacy::Request {
            flags: &flags,
            paths: &Paths { adapter: folder.join("adapter-config.yaml"), task: folder.join("task-config.yaml") },
            environment: &Environment::default(),
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
