//! Normalizes a state, so that the states of two runs can be compared.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use crate::object::{created, is_terminating, kind, metadata, name, uid};
use crate::shape::NAMES;

/// The objects by kind and name, without UIDs, versions and times.
///
/// The sequence's id becomes a constant; a name with the clock is replaced by its rank; an owner reference is replaced by the
/// owner's name, or by `gone`.
pub(crate) fn normal(objects: &[Value], id: &str) -> BTreeMap<String, Value> {
    let names = anonymous_names(objects, id);
    let called = |object: &Value| names.get(name(object)).cloned().unwrap_or_else(|| name(object).replace(id, "ID"));
    let mut state = BTreeMap::new();
    for object in objects {
        let key = format!("{} {}", kind(object), called(object));
        if is_terminating(object) {
            // The engine writes nothing into a terminating object, so its content does not matter.
            state.insert(key, json!("terminating"));
            continue;
        }
        let references = object.pointer("/metadata/ownerReferences").and_then(Value::as_array);
        let owners: Vec<String> = references
            .into_iter()
            .flatten()
            .map(|reference| {
                let by_uid =
                    objects.iter().find(|object| reference.get("uid").and_then(Value::as_str) == Some(uid(object)));
                by_uid.map_or_else(|| "gone".to_owned(), |owner| format!("{} {}", kind(owner), called(owner)))
            })
            .collect();
        let part = |pointer: &str| object.pointer(pointer).cloned().unwrap_or(Value::Null);
        let seen = json!({
            "labels": part("/metadata/labels"),
            "annotations": part("/metadata/annotations"),
            "finalizers": part("/metadata/finalizers"),
            "data": part("/data"),
            // Only of works: a cluster adds fields of its own to the spec of other kinds.
            "spec": if kind(object) == "ManifestWork" { part("/spec") } else { Value::Null },
            "owners": owners,
        });
        let text = seen.to_string().replace(id, "ID");
        state.insert(key, serde_json::from_str(&text).unwrap_or(Value::Null));
    }
    state
}

/// The names of the objects in the order of creation, oldest first.
pub(crate) fn order(objects: &[Value], id: &str) -> Vec<String> {
    let names = anonymous_names(objects, id);
    let mut objects: Vec<&Value> = objects.iter().collect();
    objects.sort_by_key(|object| (created(object), name(object)));
    objects
        .into_iter()
        .map(|object| names.get(name(object)).cloned().unwrap_or_else(|| name(object).replace(id, "ID")))
        .collect()
}

/// Maps the names that end in the clock to their rank.
fn anonymous_names(objects: &[Value], id: &str) -> BTreeMap<String, String> {
    let mut anonymous = BTreeMap::new();
    for resource in NAMES {
        let prefix = format!("{id}-{resource}-");
        let is_clock = |rest: &str| rest.len() == 14 && rest.bytes().all(|byte| byte.is_ascii_digit());
        let mut names: Vec<&str> = objects
            .iter()
            .map(|object| metadata(object, "name"))
            .filter(|name| name.strip_prefix(&prefix).is_some_and(is_clock))
            .collect();
        names.sort_unstable();
        for (rank, name) in names.into_iter().enumerate() {
            anonymous.insert(name.to_owned(), format!("ID-{resource}-time-{rank}"));
        }
    }
    anonymous
}
