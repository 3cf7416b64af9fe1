//! What an API server makes of an object that is applied or merge-patched, with the field ownership of one applying and one
//! patching manager.
//!
//! In: the live object, the object of the last apply, and what is applied or patched now. Out: the live object, changed. Pure. The
//! servers in memory of dry runs and of tests share these rules. A list is replaced as a whole, except `finalizers` and
//! `ownerReferences`, which every kind has.

use serde_json::{Map, Value};

use crate::server_set;

/// Fields of `metadata` that a server omits when they are empty.
const OMITTED_IF_EMPTY: [&str; 4] = ["labels", "annotations", "finalizers", "ownerReferences"];

/// Applies `desired` to `live`: fields of `desired` win, fields of others stay.
///
/// Removes the fields that `before` (the object of the previous apply) contains and `desired` does not.
pub fn apply(live: &mut Value, before: Option<&Value>, desired: &Value) {
    let empty = Map::new();
    let fields = |value: Option<&Value>| value.and_then(Value::as_object).unwrap_or(&empty).clone();
    let (mut desired, mut before) = (fields(Some(desired)), fields(before));
    for object in [&mut desired, &mut before] {
        drop_server_fields(object.get_mut("metadata"));
    }
    if let Some(live) = live.as_object_mut() {
        for (list, identity) in [("finalizers", None), ("ownerReferences", Some("uid"))] {
            let union = union_of_entries(list, identity, live, &before, &desired);
            if let (Some(union), Some(metadata)) = (union, desired.get_mut("metadata").and_then(Value::as_object_mut)) {
                metadata.insert(list.to_owned(), union);
            }
        }
        merge(live, &before, &desired);
    }
}

/// Replaces `live` as [`apply`] does, except that all finalizers of `live` stay.
pub fn replace(live: &mut Value, before: Option<&Value>, desired: &Value) {
    let mut before = before.cloned();
    let metadata = before.as_mut().and_then(|before| before.get_mut("metadata")).and_then(Value::as_object_mut);
    metadata.and_then(|metadata| metadata.remove("finalizers"));
    apply(live, before.as_ref(), desired);
}

/// Merges `patch` into `live`, and removes the patched fields from `applied`, the object of the last apply.
///
/// The patch's manager owns these fields from now on, so that a later apply that omits them does not remove them.
pub fn patch(live: &mut Value, applied: Option<&mut Value>, patch: &Value) {
    let mut patch = patch.clone();
    drop_server_fields(patch.get_mut("metadata"));
    json_patch::merge(live, &patch);
    if let Some(metadata) = live.get_mut("metadata").and_then(Value::as_object_mut) {
        metadata.retain(|key, value| !(OMITTED_IF_EMPTY.contains(&key.as_str()) && is_empty(value)));
    }
    if let Some(applied) = applied {
        remove_patched_fields(applied, &patch);
    }
}

fn remove_patched_fields(applied: &mut Value, patch: &Value) {
    let (Some(applied), Some(patch)) = (applied.as_object_mut(), patch.as_object()) else { return };
    for (key, patch) in patch {
        match applied.get_mut(key) {
            Some(below @ Value::Object(_)) if patch.is_object() => remove_patched_fields(below, patch),
            _ => {
                applied.remove(key);
            }
        }
    }
}

fn drop_server_fields(metadata: Option<&mut Value>) {
    if let Some(metadata) = metadata.and_then(Value::as_object_mut) {
        metadata.retain(|key, _| !server_set::METADATA.contains(&key.as_str()));
    }
}

fn is_empty(value: &Value) -> bool {
    value.as_object().is_some_and(Map::is_empty) || value.as_array().is_some_and(Vec::is_empty)
}

fn merge(live: &mut Map<String, Value>, before: &Map<String, Value>, desired: &Map<String, Value>) {
    for (key, applied) in before.iter().filter(|(key, _)| !desired.contains_key(*key)) {
        drop_owned(live, key, applied);
    }
    for (key, desired) in desired {
        let empty = Map::new();
        match (live.get_mut(key).and_then(Value::as_object_mut), desired) {
            (Some(live), Value::Object(desired)) => {
                merge(live, before.get(key).and_then(Value::as_object).unwrap_or(&empty), desired);
            }
            _ => {
                live.insert(key.clone(), desired.clone());
            }
        }
    }
}

/// Removes a field that an earlier apply set; of a mapping, removes only the entries that the apply set.
fn drop_owned(live: &mut Map<String, Value>, key: &str, applied: &Value) {
    let Some(value) = live.get_mut(key) else { return };
    if let (Some(live), Some(applied)) = (value.as_object_mut(), applied.as_object()) {
        for (key, applied) in applied {
            drop_owned(live, key, applied);
        }
        if !live.is_empty() {
            return;
        }
    }
    live.remove(key);
}

/// Joins the list entries of other managers with the entries of `desired`, as the server does for `finalizers`
/// and `ownerReferences`.
fn union_of_entries(
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
    let (applied, formerly_applied) = (entries(desired), entries(before));
    let mut union: Vec<Value> = entries(live)
        .into_iter()
        .filter(|entry| !formerly_applied.iter().chain(&applied).any(|applied| same(entry, applied)))
        .collect();
    union.extend(applied);
    (!union.is_empty()).then(|| union.into())
}
