//! Plays the life of a cluster with the recipes of the pages and with the tasks of the examples: creation, the event
//! again, the next generation, deletion, and each event once more.
//!
//! One event can look perfect where the second one does harm.

use std::fs;
use std::path::{Path, PathBuf};

use hyperfleet_adapter::dry_run::play::Life;
use hyperfleet_adapter::dry_run::scenario;
use jiff::Timestamp;
use serde_json::{Value, json};

use super::page::{pages, root};
use super::recipe;

/// A clock value that no scenario uses.
const NEVER: Timestamp = Timestamp::UNIX_EPOCH;

const ADAPTER: &str =
    "adapter: {name: recipe}\nclients: {hyperfleet_api: {base_url: \"http://api:8000\", version: v1}}\n";

/// The most events that a deletion takes in any recipe or example: one for each object, and the one that reports.
const DELETIONS: usize = 6;

/// The steps of a life. `entry` is the `match` of the API's answer about the cluster.
fn steps(entry: &Value, has_job: bool) -> Value {
    let answer = |patch: Value| json!([{ "match": entry, "patch": patch }]);
    let done = json!({ "type": "Complete", "status": "True", "lastTransitionTime": "2026-01-01T00:05:00Z" });
    let job = json!({ "apiVersion": "batch/v1", "kind": "Job", "status": { "conditions": [done] } });
    let world = if has_job { json!([{ "patch": job }]) } else { json!([]) };
    let mut steps = vec![
        json!({ "name": "create", "answers": answer(json!({ "generation": 1, "deleted_time": null })) }),
        json!({ "name": "again" }),
        json!({ "name": "again, after a while", "after": "5m", "world": world }),
        json!({ "name": "again, later", "after": "1h" }),
        json!({
            "name": "next generation", "after": "1h", "event": { "data": { "generation": 2 } },
            "answers": answer(json!({ "generation": 2, "spec": { "tier": "silver" } })),
        }),
        json!({ "name": "again, at the next generation" }),
        json!({
            "name": "delete", "after": "1h", "event": { "data": { "generation": 3 } },
            "answers": answer(json!({ "generation": 3, "deleted_time": "2026-01-02T00:00:00Z" })),
        }),
    ];
    steps.extend((1..DELETIONS).map(|time| json!({ "name": format!("delete, again {time}") })));
    steps.into()
}

/// Plays the life in a scenario's folder, and returns it with what is left.
async fn played(place: &str, folder: &Path) -> (Life, Vec<Value>) {
    let mut world = scenario::load(folder, NEVER).unwrap_or_else(|error| panic!("{error:#?}"));
    let steps = scenario::steps(folder, NEVER).unwrap_or_else(|error| panic!("{error:#?}"));
    let life = Life::play(&mut world, &steps, false, true).await;
    assert!(life.refused.is_none(), "{place}: {:?}", life.refused);
    (life, world.objects())
}

/// The lines at the end of a life's text, one for each event.
fn summary(life: &Life) -> String {
    let text = life.to_text(false);
    let lines: Vec<&str> = text.lines().collect();
    lines[lines.len().saturating_sub(life.steps.len())..].join("\n")
}

fn write(folder: &Path, name: &str, value: &Value) {
    fs::write(folder.join(name), format!("{value:#}")).unwrap();
}

#[tokio::test]
async fn every_recipe_plays_a_life_without_a_failure_and_leaves_nothing() {
    let mut recipes = 0;
    for page in pages() {
        let mut params = String::new();
        for (kind, line, text) in page.files() {
            match kind.as_str() {
                "params" => params = text,
                "resources" => {
                    let place = format!("{}:{line}", page.path.display());
                    recipe_life(&place, &recipe::task(&params, &text)).await;
                    recipes += 1;
                }
                _ => {}
            }
        }
    }
    assert!(recipes >= 7, "{recipes}");
}

async fn recipe_life(place: &str, task: &str) {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    fs::write(folder.join("adapter-config.yaml"), ADAPTER).unwrap();
    fs::write(folder.join("task-config.yaml"), task).unwrap();
    let data = json!({ "id": "c1", "kind": "Cluster", "generation": 1 });
    let event = json!({ "specversion": "1.0", "id": "e", "source": "s", "type": "t", "time": "2026-01-01T00:00:00Z", "data": data });
    write(folder, "event.json", &event);
    let entry = json!({ "method": "GET", "urlPattern": "/clusters/c1$" });
    let cluster = json!({ "id": "c1", "name": "one", "spec": { "tier": "gold" }, "updated_time": "2026-01-01T00:00:00Z", "status": { "conditions": [] } });
    let responses = json!([{ "match": entry, "responses": [{ "statusCode": 200, "body": cluster }] }]);
    write(folder, "api-responses.json", &json!({ "responses": responses }));
    write(folder, "series.yaml", &steps(&entry, task.contains("kind: Job")));

    let (life, left) = played(place, folder).await;
    let told = summary(&life);
    assert!(!life.failed(), "{place}\n{told}\n{:#?}", life.errors());
    assert_eq!(life.repeats, [], "{place}\n{told}");
    let is_disowned = |object: &&Value| object["metadata"]["labels"].get("hyperfleet.io/disowned").is_some();
    assert_eq!(left.iter().find(|object| !is_disowned(object)), None, "{place} leaves this behind\n{told}");
    assert_eq!(finalized(&life), Some(true), "{place}\n{told}");
}

/// What the last report says of `Finalized`.
fn finalized(life: &Life) -> Option<bool> {
    let (_, last) = life.steps.last()?;
    let conditions = last.reports.first()?.body["conditions"].as_array()?;
    Some(conditions.iter().find(|condition| condition["type"] == "Finalized")?["status"] == "True")
}

/// The examples that play no life: without an answer about the cluster, or with a gate that has to fail.
const WITHOUT_LIFE: [&str; 3] = ["12-api-down", "13-cluster-is-gone", "15-gate-without-an-answer"];

/// The examples whose Job does not run in this life: a gate waits for what their own answers say.
const WITHOUT_JOB: [&str; 1] = ["09-create-gate"];

#[tokio::test]
async fn every_example_plays_a_life_without_a_failure() {
    let (mut played_examples, mut finalized_examples) = (0, 0);
    let mut folders: Vec<PathBuf> =
        fs::read_dir(root().join("examples")).unwrap().map(|entry| entry.unwrap().path()).collect();
    folders.sort();
    for example in folders.into_iter().filter(|path| path.is_dir()) {
        let name = example.file_name().unwrap().to_string_lossy().into_owned();
        if WITHOUT_LIFE.contains(&name.as_str()) {
            continue;
        }
        finalized_examples += usize::from(example_life(&name, &example).await);
        played_examples += 1;
    }
    assert!(played_examples >= 37, "{played_examples}");
    assert!(finalized_examples >= 14, "{finalized_examples}");
}

/// Copies an example without its live objects, and plays a life with its task. Returns whether it ends with
/// `Finalized=True`; then nothing may be left. Some examples show no deletion.
async fn example_life(name: &str, example: &Path) -> bool {
    let scratch = tempfile::tempdir().unwrap();
    let folder = scratch.path();
    for from in [example.to_owned(), example.join("manifests")] {
        for entry in fs::read_dir(&from).into_iter().flatten() {
            let path = entry.unwrap().path();
            if path.is_file() {
                let to = folder.join(path.strip_prefix(example).unwrap());
                fs::create_dir_all(to.parent().unwrap()).unwrap();
                fs::copy(&path, to).unwrap();
            }
        }
    }
    let read = |name: &str| -> Value { serde_json::from_str(&fs::read_to_string(folder.join(name)).unwrap()).unwrap() };
    let mut event = read("event.json");
    event["data"]["generation"] = json!(1);
    write(folder, "event.json", &event);
    let answers = read("api-responses.json");
    let entries = answers["responses"].as_array().unwrap();
    let about_cluster =
        |entry: &&Value| entry["match"]["method"] == "GET" && entry["responses"][0]["body"].get("spec").is_some();
    let entry = entries.iter().find(about_cluster).unwrap_or_else(|| panic!("{name}: no answer about the cluster"));
    let has_job = fs::read_to_string(folder.join("task-config.yaml")).unwrap().contains("kind: Job");
    let has_job = has_job && !WITHOUT_JOB.contains(&name);
    write(folder, "series.yaml", &steps(&entry["match"], has_job));
    let (life, left) = played(name, folder).await;
    let told = summary(&life);
    assert!(!life.failed(), "{name}\n{told}\n{:#?}", life.errors());
    assert_eq!(life.repeats, [], "{name}\n{told}");
    let leaks = left.iter().filter(|object| object["metadata"]["labels"].get("hyperfleet.io/adapter").is_some());
    let leaks: Vec<_> = leaks.map(|object| format!("{} {}", object["kind"], object["metadata"]["name"])).collect();
    let is_finalized = finalized(&life).unwrap_or_default();
    assert!(!is_finalized || leaks.is_empty(), "{name} leaves behind {leaks:?}\n{told}");
    is_finalized
}
