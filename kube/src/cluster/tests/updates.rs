//! Tests of what an update sends, against a fake API server: `tests/updates.rs` holds those against the real one.

use lifecycle_objects::observation::Version;
use lifecycle_objects::write::UpdateMode;

use super::*;

/// A live map with a field that nobody owns, as the server fills it in.
fn live() -> Value {
    let mut live = map(&json!({ "own": "1", "filled": "2" }));
    live["metadata"]["resourceVersion"] = json!("7");
    live
}

fn map(data: &Value) -> Value {
    let mut map = config_map();
    map["data"] = data.clone();
    map
}

/// The server's refusal of an object, because of a field.
fn refusal(reason: &str, field: &str, message: &str) -> (u16, Value) {
    let causes = json!([{ "reason": reason, "field": field, "message": message }]);
    let status = json!({
        "apiVersion": "v1", "kind": "Status", "status": "Failure", "reason": "Invalid", "code": 422, "message": message,
        "details": { "causes": causes },
    });
    (422, status)
}

/// Updates the live map to `desired`; the server gives these answers in turn. Returns the result, and the bodies of the writes.
async fn update(
    desired: &Value,
    live: Value,
    mode: UpdateMode,
    answers: Vec<(u16, Value)>,
) -> (Result<Value, WriteError>, Vec<Value>) {
    let answers = Mutex::new(answers.into_iter());
    let (server, client) = Server::start(move |_| answers.lock().unwrap().next().unwrap_or((500, Value::Null))).await;
    let object = ObjectRef::of(desired);
    let result = cluster(client).update(desired, &object, Fence::new("u1", "7"), &Version::new(live), mode).await;
    (result, server.bodies())
}

#[tokio::test]
async fn write_after_a_refused_apply_has_the_fence_of_the_apply() {
    let desired = map(&json!({ "own": "1" }));
    let answers = vec![refusal("FieldValueForbidden", "data.filled", "no"), (200, desired.clone())];
    let (result, bodies) = update(&desired, live(), UpdateMode::Apply, answers).await;
    assert!(result.is_ok(), "{result:?}");
    let patch = json!({ "data": { "filled": null }, "metadata": { "uid": "u1", "resourceVersion": "7" } });
    assert_eq!(bodies.get(1..), Some(&[patch][..]), "{bodies:?}");
}

#[tokio::test]
async fn apply_that_is_refused_for_another_cause_is_the_only_write() {
    let desired = map(&json!({ "own": "1" }));
    for (name, answer) in [
        ("a field that is missing", refusal("FieldValueRequired", "data.filled", "no")),
        ("a field of the manifest", refusal("FieldValueInvalid", "data.own", "no")),
        ("a field that nobody has", refusal("FieldValueInvalid", "data.other", "no")),
    ] {
        let (result, bodies) = update(&desired, live(), UpdateMode::Apply, vec![answer]).await;
        let kind = result.map_err(|error| error.kind);
        assert_eq!((kind, bodies.len()), (Err(WriteErrorKind::Invalid), 1), "{name}");
    }
}

#[tokio::test]
async fn second_refusal_is_told_as_the_first() {
    let desired = map(&json!({ "own": "1" }));
    let answers = vec![
        refusal("FieldValueForbidden", "data.filled", "the manifest's own"),
        refusal("FieldValueInvalid", "data.own", "that of the patch"),
    ];
    let (result, bodies) = update(&desired, live(), UpdateMode::Apply, answers).await;
    let error = result.map_err(|error| error.to_string());
    assert!(error.as_ref().is_err_and(|error| error.contains("the manifest's own")), "{error:?}");
    assert_eq!(bodies.len(), 2);
}

#[tokio::test]
async fn replacement_that_changes_nothing_is_not_sent() {
    let fields = json!({ "f:data": { "f:own": {}, "f:filled": {} } });
    let entry = json!({ "manager": "me", "operation": "Update", "apiVersion": "v1", "fieldsType": "FieldsV1",
                        "fieldsV1": fields });
    // What a webhook fills in during a write counts as a field of the writer.
    let mut filled_in = live();
    filled_in["metadata"]["managedFields"] = json!([entry]);
    for (name, live) in [("a field of nobody", live()), ("a field of a webhook", filled_in)] {
        let (result, bodies) = update(&map(&json!({ "own": "1" })), live, UpdateMode::Replace, vec![]).await;
        let data = result.ok().map(|object| object["data"].clone());
        assert_eq!((data, bodies), (Some(json!({ "own": "1", "filled": "2" })), vec![]), "{name}");
    }
}
