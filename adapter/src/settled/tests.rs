#![expect(clippy::unwrap_used, clippy::panic, reason = "tests")]

use lifecycle_core::id::Generation;
use lifecycle_core::manifest::Stamp;
use lifecycle_core::task::Task;
use lifecycle_core::task::compile::{Surroundings, compile};
use serde_json::json;

use super::*;

/// A parent that other resources are found by, and a child whose gates read it.
const TASK: &str = r#"
params: [{ name: generation, source: event.generation }, { name: gone, source: event.id }]
resources:
  - name: parent
    manifest: { apiVersion: v1, kind: ConfigMap, metadata: { name: parent, namespace: n } }
    discovery: { by_name: parent, namespace: n }
  - name: child
    manifest: { apiVersion: v1, kind: Secret, metadata: { name: child, namespace: n } }
    discovery: { by_name: "{{ .resources.parent.data.child }}", namespace: n }
    recreate_on_change: true
    lifecycle: { delete: { when: { expression: "gone == 'yes'" } } }
"#;

fn task() -> Task {
    let surroundings = Surroundings { read: &|path| Err(format!("{path} is not there")), environment: &|_| None };
    let compiled = compile("task.yaml", TASK, &surroundings);
    compiled.task.unwrap_or_else(|| panic!("{}", compiled.diagnostics))
}

fn parent(generation: &str) -> Value {
    json!({ "apiVersion": "v1", "kind": "ConfigMap", "data": { "child": "child" }, "metadata": {
        "name": "parent", "namespace": "n", "annotations": { "hyperfleet.io/generation": generation } } })
}

fn child(generation: &str) -> Value {
    json!({ "apiVersion": "v1", "kind": "Secret", "metadata": {
        "name": "child", "namespace": "n", "annotations": { "hyperfleet.io/generation": generation } } })
}

fn terminating(mut object: Value) -> Value {
    object["metadata"]["deletionTimestamp"] = json!("2026-01-01T00:00:00Z");
    object
}

/// Settles generation 3 with these objects remembered, and gives the variable afterwards.
fn settled(gone: &str, remembered: &[Value]) -> (Option<Vec<Outcome>>, Option<Value>) {
    let mut scope = Scope::new("2026-01-01T00:00:00Z".parse().unwrap());
    scope.set("generation", json!(3));
    scope.set("gone", json!(gone));
    scope.set("resources", json!({}));
    let stamp = Stamp { adapter: "a".to_owned(), resource_id: "c".to_owned(), generation: Generation(3), signer: None };
    let task = task();
    let outcomes = settle(Planner::new(&task, stamp), &mut scope, |query| {
        let found: Vec<Value> =
            remembered.iter().filter(|object| object["kind"] == json!(query.kind.kind)).cloned().collect();
        Some(found).filter(|found| !found.is_empty())
    });
    (outcomes, scope.get("resources").cloned())
}

#[test]
fn what_is_as_the_event_wants_it_is_settled_and_visible() {
    let (outcomes, resources) = settled("no", &[parent("3"), child("3")]);
    let decisions: Vec<_> = outcomes.unwrap().iter().map(|outcome| outcome.decision.reason()).collect();
    assert_eq!(decisions, ["SameGeneration", "SameGeneration"]);
    assert_eq!(resources, Some(json!({ "parent": parent("3"), "child": child("3") })));
}

#[test]
fn anything_else_is_read_live_and_leaves_no_trace() {
    let mut lost = parent("3");
    lost["data"] = json!({});
    let cases = [
        ("nothing is remembered", "no", vec![]),
        ("the second wave is not remembered", "no", vec![parent("3")]),
        ("one has to be updated", "no", vec![parent("2"), child("3")]),
        ("one has to be recreated", "no", vec![parent("3"), child("2")]),
        ("one is of a later generation", "no", vec![parent("4"), child("3")]),
        ("one carries no generation", "no", vec![parent("?"), child("3")]),
        ("one is terminating", "no", vec![parent("3"), terminating(child("3"))]),
        ("a delete gate holds", "yes", vec![parent("3"), child("3")]),
        ("a delete gate holds for what is terminating", "yes", vec![parent("3"), terminating(child("3"))]),
        ("a discovery cannot be rendered", "no", vec![lost, child("3")]),
    ];
    for (name, gone, remembered) in cases {
        let (outcomes, resources) = settled(gone, &remembered);
        assert_eq!(outcomes, None, "{name}");
        assert_eq!(resources, Some(json!({})), "{name}");
    }
}
