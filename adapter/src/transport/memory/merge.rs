//! A forced apply by one manager and merge patches by another, on plain JSON.

use serde_json::{Map, Value};

/// What a write never sets: the server's own fields.
const SERVER_FIELDS: [&str; 6] =
    ["uid", "resourceVersion", "creationTimestamp", "deletionTimestamp", "generation", "managedFields"];

/// What a server leaves out of an object when nothing is in it.
const OMITTED_IF_EMPTY: [&str; 4] = ["labels", "annotations", "finalizers", "ownerReferences"];

/// Writes `desired` into `live`: its fields win, fields of others stay, and what `before` (the desired object of
/// the last apply) had and `desired` has no longer goes.
pub(super) fn apply(live: &mut Value, before: Option<&Value>, desired: &Value) {
    let empty = Map::new();
    let fields = |value: Option<&Value>| value.and_then(Value::as_object).unwrap_or(&empty).clone();
    let (mut desired, mut before) = (fields(Some(desired)), fields(before));
    for object in [&mut desired, &mut before] {
        drop_server_fields(object.get_mut("metadata"));
    }
    if let Some(live) = live.as_object_mut() {
        for (list, identity) in [("finalizers", None), ("ownerReferences", Some("uid"))] {
            let union = united(list, identity, live, &before, &desired);
            if let (Some(union), Some(metadata)) = (union, desired.get_mut("metadata").and_then(Value::as_object_mut)) {
                metadata.insert(list.to_owned(), union);
            }
        }
        merge(live, &before, &desired);
    }
}

/// Merges `patch` into `live`, and takes what it names out of `applied`, the desired object of the last apply: the patch's
/// manager owns that now, so that the next apply does not remove it for not naming it.
pub(super) fn patch(live: &mut Value, applied: Option<&mut Value>, patch: &Value) {
    let mut patch = patch.clone();
    drop_server_fields(patch.get_mut("metadata"));
    json_patch::merge(live, &patch);
    if let Some(metadata) = live.get_mut("metadata").and_then(Value::as_object_mut) {
        metadata.retain(|key, value| !(OMITTED_IF_EMPTY.contains(&key.as_str()) && is_empty(value)));
    }
    if let Some(applied) = applied {
        disclaim(applied, &patch);
    }
}

fn disclaim(applied: &mut Value, patch: &Value) {
    let (Some(applied), Some(patch)) = (applied.as_object_mut(), patch.as_object()) else { return };
    for (key, patch) in patch {
        match applied.get_mut(key) {
            Some(below @ Value::Object(_)) if patch.is_object() => disclaim(below, patch),
            _ => {
                applied.remove(key);
            }
        }
    }
}

fn drop_server_fields(metadata: Option<&mut Value>) {
    if let Some(metadata) = metadata.and_then(Value::as_object_mut) {
        metadata.retain(|key, _| !SERVER_FIELDS.contains(&key.as_str()));
    }
}

fn is_empty(value: &Value) -> bool {
    value.as_object().is_some_and(Map::is_empty) || value.as_array().is_some_and(Vec::is_empty)
}

fn merge(live: &mut Map<String, Value>, before: &Map<String, Value>, desired: &Map<String, Value>) {
    for (key, had) in before.iter().filter(|(key, _)| !desired.contains_key(*key)) {
        drop_owned(live, key, had);
    }
    for (key, wanted) in desired {
        let empty = Map::new();
        match (live.get_mut(key).and_then(Value::as_object_mut), wanted) {
            (Some(live), Value::Object(wanted)) => {
                merge(live, before.get(key).and_then(Value::as_object).unwrap_or(&empty), wanted);
            }
            _ => {
                live.insert(key.clone(), wanted.clone());
            }
        }
    }
}

/// Removes a field, but of a mapping only what was ours.
fn drop_owned(live: &mut Map<String, Value>, key: &str, had: &Value) {
    let Some(value) = live.get_mut(key) else { return };
    if let (Some(live), Some(had)) = (value.as_object_mut(), had.as_object()) {
        for (key, had) in had {
            drop_owned(live, key, had);
        }
        if !live.is_empty() {
            return;
        }
    }
    live.remove(key);
}

/// The entries of a metadata list that others wrote, and ours.
fn united(
    list: &str,
    identity: Option<&str>,
    live: &Map<String, Value>,
    before: &Map<String, Value>,
    desired: &Map<String, Value>,
) -> Option<Value> {
    let entries = |object: &Map<String, Value>| -> Vec<Value> {
        let list = object.get("metadata").and_then(|metadata| metadata.get(list));
        list.and_then(Value::as_array).cloned().unwrap_or_default()
    };
    let same = |a: &Value, b: &Value| match identity {
        Some(key) => a.get(key) == b.get(key),
        None => a == b,
    };
    let (ours, was_ours) = (entries(desired), entries(before));
    let mut union: Vec<Value> =
        entries(live).into_iter().filter(|entry| !was_ours.iter().chain(&ours).any(|ours| same(entry, ours))).collect();
    union.extend(ours);
    (!union.is_empty()).then(|| union.into())
}
