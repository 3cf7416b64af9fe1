#![expect(clippy::unwrap_used, reason = "tests")]

use std::path::PathBuf;

use super::*;

const EVENT: &str = r#"{"specversion": "1.0", "id": "e", "source": "s", "type": "t", "time": "2026-01-01T00:00:00Z",
    "data": {"id": "c1", "kind": "Cluster", "generation": 1}}"#;
const ANSWERS: &str = r#"{"responses": [{"match": {"method": "GET", "urlPattern": "/clusters/c1$"},
    "responses": [{"statusCode": 200, "body": {"id": "c1", "generation": 1}}]}]}"#;

fn read_series(text: &str) -> Result<Vec<Step>, String> {
    let folder = tempfile::tempdir().unwrap();
    let file = |name: &str, text: &str| -> PathBuf {
        let path = folder.path().join(name);
        std::fs::write(&path, text).unwrap();
        path
    };
    let (event, answers) = (file("event.json", EVENT), file("api-responses.json", ANSWERS));
    let steps = read(&file("series.yaml", text), &event, Some(&answers), Timestamp::UNIX_EPOCH);
    steps.map_err(|error| {
        format!("{:#}", anyhow::Error::from(error)).replace(&format!("{}/", folder.path().display()), "")
    })
}

#[test]
fn steps_carry_on_clock_event_and_answers() {
    let steps = read_series(
        r#"
- name: first
- name: again
- name: later
  after: 1h
  event: {data: {generation: 2}}
  answers: [{match: {method: GET, urlPattern: /clusters/c1$}, patch: {generation: 2, id: null}}]
- name: last
"#,
    )
    .unwrap();
    let told = steps.iter().map(|step| {
        (step.now.to_string(), step.event.generation.0, step.event.time.clone().unwrap(), step.answers.is_some())
    });
    let expected = [
        ("2026-01-01T00:00:00Z", 1, false),
        ("2026-01-01T00:00:10Z", 1, false),
        ("2026-01-01T01:00:10Z", 2, true),
        ("2026-01-01T01:00:20Z", 2, false),
    ];
    let expected = expected.map(|(now, generation, answers)| (now.to_owned(), generation, now.to_owned(), answers));
    assert_eq!(told.collect::<Vec<_>>(), expected);
}

#[test]
fn invalid_series_is_refused_with_place_and_cure() {
    let cases = [
        ("name: x", "series.yaml: not the YAML of a series, which is a list of steps, each with a `name`"),
        ("- after: 1s", "series.yaml: step 1 ``: missing field `name`"),
        ("- {name: a, evnt: {}}", "step 1 `a`: unknown field `evnt`, expected one of `name`, `after`, `event`"),
        ("- {name: a, after: 1 day}", "step 1 `a`: after: "),
        ("- {name: a, event: {specversion: null}}", "step 1 `a`: event: "),
        ("- {name: a, world: [{edit: {}}]}", "unknown variant `edit`, expected one of `create`, `patch`, `delete`"),
        (
            "- {name: a, answers: [{match: {method: GET, urlPattern: /x}, patch: {a: 1}}]}",
            "answers[0]: no entry has this `match`, whose bodies `patch` changes; there are {\"method\":\"GET\",\"urlPattern\":\"/clusters/c1$\"}",
        ),
        (
            "- {name: a, answers: [{match: {method: GET, urlPattern: /x}}]}",
            "answers[0]: write either `responses` or `patch` beside `match`",
        ),
        (
            "- {name: a, answers: [{match: {method: GET, urlPattern: /x}, responses: [{status: 200}]}]}",
            "responses[0].responses[0].status: is an unknown key",
        ),
    ];
    for (text, expected) in cases {
        let refused = read_series(text).err().unwrap_or_else(|| panic!("{text} is accepted"));
        assert!(refused.contains(expected), "{text}: {refused}");
    }
}

#[test]
fn change_without_an_object_names_those_that_exist() {
    let map =
        |name: &str| json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "name": name, "namespace": "n" } });
    let store = MemoryTransport::new(Timestamp::UNIX_EPOCH).with_objects([map("a"), map("b")]).unwrap();
    let refused = Change::Patch(map("c")).make(&store).unwrap_err();
    assert_eq!(refused, "ConfigMap n/c does not exist; there is ConfigMap n/a, ConfigMap n/b");
    let refused = Change::Delete(json!({ "apiVersion": "batch/v1", "kind": "Job" })).make(&store).unwrap_err();
    assert_eq!(refused, "Job does not exist; there is no Job");
    let refused = Change::Patch(json!({ "data": { "k": "v" } })).make(&store).unwrap_err();
    assert_eq!(refused, "names no object; add its `apiVersion`, `kind` and `metadata`");

    let all = json!({ "apiVersion": "v1", "kind": "ConfigMap", "data": { "k": "v" } });
    Change::Patch(all).make(&store).unwrap();
    assert!(store.objects().iter().all(|object| object["data"]["k"] == "v"), "no name means all");
    Change::Delete(json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "name": "a" } }))
        .make(&store)
        .unwrap();
    Change::Create(map("c")).make(&store).unwrap();
    let names: Vec<_> = store.objects().iter().map(|object| object["metadata"]["name"].clone()).collect();
    assert_eq!(names, ["b", "c"]);
}
