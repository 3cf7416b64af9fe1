//! Tests of patches to live objects.

use lifecycle_objects::keys;
use serde_json::{Value, json};

use super::passes::{assert_settled, config_map, live, pass, task, with, yes};
use super::store::Store;
use crate::plan::Next;

/// An entry of `lifecycle.patch` that sets a key of `data` while the live value differs.
fn set(key: &str, value: &str) -> Value {
    let differs = format!("resources.?job.?data[?\"{key}\"].orValue(\"\") != \"{value}\"");
    entry(&differs, json!({ "data": { key: value } }))
}

fn entry(when: &str, document: Value) -> Value {
    json!({ "when": { "expression": when }, "document": document })
}

fn job(patches: &[Value]) -> Value {
    with(config_map("job"), json!({ "lifecycle": { "patch": patches } }))
}

fn live_job() -> Store {
    Store::with([live("ConfigMap", "job", json!({}), Some(1))])
}

#[test]
fn patches_whose_gates_hold_are_sent_in_order_without_an_update() {
    let patches = [set("a", "one"), entry("false", json!({ "data": { "b": "two" } })), set("c", "three")];
    let task = task(&[job(&patches)]);
    let mut store = live_job();
    let patched = pass(&task, &mut store, 3, &[]);
    assert_eq!(patched.result(), ("patch", "PatchGateHolds", "patched", "15"));
    assert_eq!(patched.outcomes[0].reason(), "gate of patch[0], patch[2] holds");
    assert_eq!(store.log, ["patch job", "patch job"]);
    assert_eq!(store.object("job")["data"], json!({ "a": "one", "c": "three" }));
    assert_eq!(patched.visible("job"), Some(store.object("job")), "the server's last answer is what is seen");
    let asked: Vec<_> =
        patched.outcomes[0].gates.iter().map(|gate| (gate.name.as_str(), gate.answer.as_str())).collect();
    assert_eq!(asked, [("patch[0]", "holds"), ("patch[1]", "does not hold"), ("patch[2]", "holds")]);
}

#[test]
fn object_is_updated_if_no_patch_gate_holds() {
    let task = task(&[job(&[set("a", "one")])]);
    let mut store = live_job();
    assert_eq!(pass(&task, &mut store, 3, &[]).result().2, "patched");
    assert_eq!(pass(&task, &mut store, 3, &[]).result().2, "updated");
    assert_settled(&task, &mut store, 3, &[]);
    assert_eq!(store.object("job")["data"], json!({ "a": "one" }), "what was patched survives the update");
}

#[test]
fn later_patch_overrides_an_earlier_one_and_null_removes() {
    let patches = [
        entry("has(resources.job.data)", json!({ "data": { "a": "one", "b": null } })),
        entry("has(resources.job.data)", json!({ "data": { "a": "two" } })),
    ];
    let task = task(&[job(&patches)]);
    let mut store = live_job();
    store.change("job", &json!({ "data": { "b": "gone", "c": "stays" } }));
    pass(&task, &mut store, 3, &[]);
    assert_eq!(store.object("job")["data"], json!({ "a": "two", "c": "stays" }));
}

#[test]
fn absent_object_is_created_and_not_patched() {
    let task = task(&[job(&[entry("true", json!({ "data": { "a": "one" } }))])]);
    let mut store = Store::new();
    assert_eq!(pass(&task, &mut store, 3, &[]).result().2, "created");
}

#[test]
fn refused_patch_stops_later_ones_and_earlier_ones_are_visible() {
    let task = task(&[job(&[set("a", "one"), set("b", "two")]), config_map("later")]);
    let mut store = live_job();
    let mut scope = super::passes::scope(&store, 3, &[]);
    let (mut planner, step) = super::passes::first_step(&task, &store, &mut scope);
    let lifecycle_objects::write::Command::Patch { target, documents } = step.command else { unreachable!("{step:?}") };
    assert_eq!(documents, [json!({ "data": { "a": "one" } }), json!({ "data": { "b": "two" } })]);
    let first = lifecycle_objects::write::Command::Patch { target, documents: documents[..1].to_vec() };
    let lifecycle_objects::write::Executed::Patched(object) = store.execute(first) else { unreachable!("it is taken") };
    store.refuse = vec!["patch job".to_owned()];
    let refused = lifecycle_objects::write::WriteError {
        kind: lifecycle_objects::write::WriteErrorKind::Invalid,
        call: "patch job".to_owned(),
        status: Some(422),
        message: "no".to_owned(),
    };
    planner
        .record(&mut scope, lifecycle_objects::write::Executed::PatchFailed { object: Some(object), error: refused });
    let outcome = &planner.outcomes()[0];
    assert_eq!(outcome.failure().map(|failure| failure.reason.as_str()), Some("Invalid"));
    let seen = scope.get("resources").and_then(|resources| resources.get("job"));
    assert_eq!(seen.map(|job| &job["data"]), Some(&json!({ "a": "one" })));
    assert_eq!(planner.next(&mut scope), Next::Done, "what comes later is not written");
    assert_eq!(planner.outcomes()[1].decision.reason(), "EarlierFailure");
    store.refuse.clear();
    pass(&task, &mut store, 3, &[]);
    assert_eq!(store.object("job")["data"], json!({ "a": "one", "b": "two" }), "the next event goes on");
}

#[test]
fn failing_patch_document_or_gate_prevents_every_patch() {
    let broken = [
        ("RenderFailed", entry("true", json!({ "data": { "b": "{{ .unset }}" } }))),
        ("GateFailed", entry("resources.job.spec.done", json!({ "data": { "b": "two" } }))),
    ];
    for (reason, broken) in broken {
        for patches in [[set("a", "one"), broken.clone()], [broken.clone(), set("a", "one")]] {
            let mut store = live_job();
            let failed = pass(&task(&[job(&patches)]), &mut store, 3, &[]);
            assert_eq!(failed.result(), ("fail", reason, "failed", "15"));
            assert_eq!(store.log.len(), 0);
            let message = &failed.outcomes[0].failure().map(|failure| failure.message.clone()).unwrap_or_default();
            assert!(message.contains("patch["), "it says which: {message}");
        }
    }
}

#[test]
fn rendered_patch_may_not_change_managed_labels_or_annotations() {
    let keys = [keys::ADAPTER, keys::RESOURCE_ID, keys::RESOURCE, keys::DISOWNED].map(|key| ("labels", key));
    let annotations = [keys::GENERATION, keys::DISOWNED_BY, keys::OWNERSHIP_PROOF].map(|key| ("annotations", key));
    let under = |map: &str, value: Value| json!({ "metadata": { map: { "{{ .stage }}": value } } });
    let mut cases: Vec<(String, Value, &str)> = Vec::new();
    for (map, key) in keys.into_iter().chain(annotations) {
        for value in [Value::Null, json!("other")] {
            cases.push((format!("metadata.{map}.{key}"), under(map, value), key));
        }
    }
    for (key, value) in
        [("labels", Value::Null), ("annotations", Value::Null), ("labels", json!("text")), ("uid", json!("x"))]
    {
        cases.push((format!("metadata.{key}"), json!({ "metadata": { "{{ .stage }}": value } }), key));
    }
    cases.push(("metadata".to_owned(), json!({ "{{ .stage }}": null }), "metadata"));
    cases.push(("kind".to_owned(), json!({ "{{ .stage }}": "Secret" }), "kind"));
    for (place, document, rendered) in cases {
        let task = task(&[job(&[set("a", "one"), entry("true", document)])]);
        let mut store = live_job();
        let failed = pass(&task, &mut store, 3, &[("stage", json!(rendered))]);
        assert_eq!(failed.result(), ("fail", "RenderFailed", "failed", "15"), "{place}");
        assert_eq!(store.log.len(), 0, "{place}");
        let message = failed.outcomes[0].failure().map(|failure| failure.message.clone()).unwrap_or_default();
        assert!(message.starts_with(&format!("the document of patch[1]: {place}: ")), "{place}: {message}");
    }
}

#[test]
fn rendered_patch_may_set_other_labels() {
    let document = json!({ "metadata": { "{{ .stage }}": { "example.io/tier": "gold" } } });
    let task = task(&[job(&[entry("!has(resources.job.metadata.labels.none)", document)])]);
    let mut store = live_job();
    assert_eq!(pass(&task, &mut store, 3, &[("stage", json!("labels"))]).result().2, "patched");
    assert_eq!(store.object("job")["metadata"]["labels"]["example.io/tier"], "gold");
}

#[test]
fn patch_gate_on_a_missing_status_does_not_hold() {
    let task = task(&[job(&[
        entry("resources.job.status.phase == \"Done\"", json!({ "data": { "b": "two" } })),
        set("a", "one"),
    ])]);
    let mut store = live_job();
    let patched = pass(&task, &mut store, 3, &[]);
    assert_eq!((patched.result().2, patched.warnings()), ("patched", vec!["status_missing"]));
    assert_eq!(store.object("job")["data"], json!({ "a": "one" }));
}

#[test]
fn patch_document_is_rendered_with_the_events_variables() {
    let task = task(&[job(&[entry(
        "!has(resources.job.data)",
        json!({ "data": { "stage": "{{ .stage }}", "at": "{{ .now }}" } }),
    )])]);
    let mut store = live_job();
    pass(&task, &mut store, 3, &yes("writing"));
    assert_eq!(store.object("job")["data"], json!({ "stage": "one", "at": "2026-01-01T00:00:00Z" }));
}

/// An entry for the Secret `job` with one patch.
fn secret(patch: Value) -> Value {
    with(job(&[patch]), json!({ "manifest": { "kind": "Secret" } }))
}

fn live_secret() -> Store {
    Store::with([with(live("Secret", "job", json!({}), Some(3)), json!({ "data": { "old": "eA==", "kept": "eA==" } }))])
}

#[test]
fn null_among_the_texts_of_a_secret_removes_the_key_of_its_data() {
    let task =
        task(&[secret(entry("has(resources.job.data.old)", json!({ "stringData": { "old": null, "new": "hi" } })))]);
    let mut store = live_secret();
    assert_eq!(pass(&task, &mut store, 3, &[]).result().2, "patched");
    assert_eq!(store.object("job")["data"], json!({ "kept": "eA==", "new": "aGk=" }));
    assert_settled(&task, &mut store, 3, &[]);
}

#[test]
fn patch_with_a_text_made_from_null_is_not_sent() {
    let task = task(&[secret(entry("true", json!({ "stringData": { "password": "{{ .unset }}" } })))]);
    let mut store = live_secret();
    let failed = pass(&task, &mut store, 3, &[("unset", Value::Null)]);
    assert_eq!((failed.result(), store.log.len()), (("fail", "RenderFailed", "failed", "15"), 0));
    let reason = failed.outcomes[0].reason();
    assert!(reason.contains("patch[0]: `stringData.password` of the Secret has no value"), "{reason}");
}
