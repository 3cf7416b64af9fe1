//! Reads the fields of a live object's JSON that the model needs.

use serde_json::Value;

/// A string field of `metadata`; empty if it is missing.
pub(crate) fn metadata<'v>(object: &'v Value, key: &str) -> &'v str {
    object.get("metadata").and_then(|metadata| metadata.get(key)).and_then(Value::as_str).unwrap_or_default()
}

pub(crate) fn label<'v>(object: &'v Value, key: &str) -> Option<&'v str> {
    object.pointer("/metadata/labels")?.get(key)?.as_str()
}

pub(crate) fn annotation<'v>(object: &'v Value, key: &str) -> Option<&'v str> {
    object.pointer("/metadata/annotations")?.get(key)?.as_str()
}

pub(crate) fn name(object: &Value) -> &str {
    metadata(object, "name")
}

pub(crate) fn uid(object: &Value) -> &str {
    metadata(object, "uid")
}

pub(crate) fn kind(object: &Value) -> &str {
    object.get("kind").and_then(Value::as_str).unwrap_or_default()
}

pub(crate) fn version(object: &Value) -> &str {
    metadata(object, "resourceVersion")
}

/// The generation that the object was last written for.
pub(crate) fn generation(object: &Value) -> Option<i64> {
    annotation(object, "hyperfleet.io/generation")?.parse().ok()
}

pub(crate) fn is_terminating(object: &Value) -> bool {
    !metadata(object, "deletionTimestamp").is_empty()
}

/// Whether an adapter wrote the object; any other object is foreign.
pub(crate) fn is_written(object: &Value) -> bool {
    annotation(object, "hyperfleet.io/generation").is_some()
        || label(object, "hyperfleet.io/adapter") == Some(crate::shape::ADAPTER)
        || is_marked(object)
}

/// Whether the object has the mark of a disowned object.
pub(crate) fn is_marked(object: &Value) -> bool {
    label(object, "hyperfleet.io/disowned").is_some()
}

/// The UIDs of the object's owners.
pub(crate) fn owners(object: &Value) -> Vec<&str> {
    let references = object.pointer("/metadata/ownerReferences").and_then(Value::as_array);
    let uids = references.into_iter().flatten().map(|reference| reference.get("uid").and_then(Value::as_str));
    uids.map(Option::unwrap_or_default).collect()
}

/// Describes the object on one line.
pub(crate) fn line(object: &Value) -> String {
    let mut line = format!(
        "{} {} uid={} rv={} generation={}",
        kind(object),
        name(object),
        uid(object).trim_start_matches("00000000-0000-4000-8000-"),
        version(object),
        annotation(object, "hyperfleet.io/generation").unwrap_or("-"),
    );
    let resource = label(object, "hyperfleet.io/resource");
    line += &resource.map_or_else(|| " unlabelled".to_owned(), |resource| format!(" of={resource}"));
    if is_marked(object) {
        line += " DISOWNED";
    }
    if is_terminating(object) {
        line += " TERMINATING";
    }
    line
}

/// Returns when the server created an object.
pub(crate) fn created(object: &Value) -> Option<jiff::Timestamp> {
    metadata(object, "creationTimestamp").parse().ok()
}

/// The field that the manifest sets, with the generation.
pub(crate) fn content(object: &Value) -> Option<&Value> {
    object.pointer("/data/of").or_else(|| object.pointer("/metadata/annotations/of"))
}
