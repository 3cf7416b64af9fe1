//! A `ManifestWork` in Maestro: a bundle, metadata, and the status that an agent reported.
//!
//! In: a work as a Kubernetes object, to be sent; or a resource bundle, as Maestro's REST interface shows it. Out: the
//! bundle and the metadata of an event; or the work. Nothing here fails: [`limits`](crate::limits) has checked what is
//! sent, and [`rest`](crate::rest) what was answered.
//!
//! Maestro does not show a work's `spec.executor` again.

use jiff::Timestamp;
use lifecycle_objects::id::GroupVersionKind;
use lifecycle_objects::keys;
use serde_json::{Map, Value, json};

use crate::identity;

/// The kind of works.
#[must_use]
pub fn kind() -> GroupVersionKind {
    GroupVersionKind::new("work.open-cluster-management.io/v1", "ManifestWork")
}

/// The parts of a bundle's `spec`: the work's key, the event's, and that of the REST interface, if it shows it.
const PARTS: [(&str, &str, Option<&str>); 3] = [
    ("deleteOption", "deleteOption", Some("delete_option")),
    ("manifestConfigs", "manifestConfigs", Some("manifest_configs")),
    // Misspelt in Maestro.
    ("executor", "executer", None),
];

/// The data of an event that creates or updates the work.
#[must_use]
pub fn bundle(work: &Value) -> Value {
    let spec = &work["spec"];
    let mut bundle = Map::new();
    bundle.insert("manifests".to_owned(), spec["workload"]["manifests"].clone());
    for (key, sent, _) in PARTS {
        if let Some(value) = spec.get(key).filter(|value| !value.is_null()) {
            bundle.insert(sent.to_owned(), value.clone());
        }
    }
    // The Go client always sends all four, and agents compare them.
    for config in bundle.get_mut("manifestConfigs").and_then(Value::as_array_mut).into_iter().flatten() {
        if let Some(identifier) = config.get_mut("resourceIdentifier").and_then(Value::as_object_mut) {
            for key in ["group", "resource", "name", "namespace"] {
                identifier.entry(key).or_insert_with(|| json!(""));
            }
        }
    }
    Value::Object(bundle)
}

/// The keys of a work's metadata that are sent, beside its place and id.
pub(crate) const KEPT: [&str; 5] = ["name", "labels", "annotations", "finalizers", "ownerReferences"];

/// The metadata of an event: what of the work's own is kept, with its place and id.
#[must_use]
pub fn metadata(work: &Value, consumer: &str, id: &str) -> Value {
    let mut metadata = Map::new();
    for key in KEPT {
        if let Some(value) = work["metadata"].get(key).filter(|value| !value.is_null()) {
            metadata.insert(key.to_owned(), value.clone());
        }
    }
    metadata.insert("namespace".to_owned(), json!(consumer));
    metadata.insert("uid".to_owned(), json!(id));
    Value::Object(metadata)
}

/// The work that was just sent, as a read will show it before an agent reports. `former` is the work that was there before;
/// Maestro does not tell UID and creation of a new one.
#[must_use]
pub fn sent(work: &Value, metadata: Value, version: i64, former: Option<&Value>) -> Value {
    let mut shown =
        json!({"apiVersion": work["apiVersion"], "kind": work["kind"], "metadata": metadata, "spec": work["spec"]});
    let metadata = &mut shown["metadata"];
    match former {
        Some(former) => {
            metadata["uid"] = former["metadata"]["uid"].clone();
            stamp(metadata, version, &former["metadata"]["creationTimestamp"]);
        }
        None => {
            metadata["uid"] = json!("");
            stamp(metadata, version, &time(Timestamp::now()));
        }
    }
    shown
}

/// A time as Kubernetes writes it, in whole seconds.
pub(crate) fn time(time: Timestamp) -> Value {
    json!(time.strftime("%Y-%m-%dT%H:%M:%SZ").to_string())
}

/// The work of a resource bundle.
#[must_use]
pub fn of_bundle(bundle: &Value) -> Value {
    let kind = kind();
    let version = bundle["version"].as_i64().unwrap_or_default();
    let mut metadata = match &bundle["metadata"] {
        Value::Object(metadata) => Value::Object(metadata.clone()),
        _ => json!({}),
    };
    // Another client may have sent no metadata, or others than the work's place.
    if metadata["name"].as_str().is_none_or(str::is_empty) {
        metadata["name"] = bundle["id"].clone();
    }
    metadata["namespace"] = bundle["consumer_name"].clone();
    let text = |key: &str| bundle[key].as_str().unwrap_or_default();
    metadata["uid"] = json!(identity::uid(text("id"), text("created_at")));
    stamp(&mut metadata, version, &bundle["created_at"]);
    if let Some(deleted) = bundle.get("deleted_at").filter(|at| !at.is_null()) {
        metadata["deletionTimestamp"] = deleted.clone();
    }
    let mut spec = json!({"workload": {"manifests": bundle["manifests"]}});
    for (key, _, shown) in PARTS {
        let value = shown.and_then(|shown| bundle.get(shown));
        if let Some(value) = value.filter(|value| !is_empty(value)) {
            spec[key] = value.clone();
        }
    }
    let mut work = json!({"apiVersion": kind.api_version(), "kind": kind.kind, "metadata": metadata, "spec": spec});
    let annotations = work["metadata"].get_mut("annotations").and_then(Value::as_object_mut);
    let marked = annotations.and_then(|annotations| annotations.remove(keys::UNOBSERVED_SINCE));
    let status = status(&bundle["status"], version);
    if let Some(unobserved) = unobserved(bundle, status.as_ref(), marked) {
        work["unobserved"] = unobserved;
    }
    if let Some(status) = status {
        work["status"] = status;
    }
    work
}

/// Since when no agent has observed what the row stores: its version, or its deletion. The times are the row's.
///
/// The server writes `updated_at` with each version. It writes the time with each status, too, but stores none of another
/// version, so the time of an unobserved version is that of its writing.
fn unobserved(bundle: &Value, status: Option<&Value>, marked: Option<Value>) -> Option<Value> {
    let time = |key: &str| bundle.get(key).filter(|at| !at.is_null()).cloned();
    let is_deleting = |status: &Value| {
        let conditions = status["conditions"].as_array().into_iter().flatten();
        conditions.into_iter().any(|it| it["type"] == "Deleting" && it["status"] == "True")
    };
    match (time("deleted_at"), status) {
        (Some(_), Some(status)) if is_deleting(status) => None,
        (Some(deleted), _) => Some(json!({"since": deleted, "sent": deleted})),
        (None, Some(_)) => None,
        (None, None) => {
            let sent = time("updated_at").or_else(|| time("created_at"))?;
            Some(json!({"since": marked.unwrap_or_else(|| sent.clone()), "sent": sent}))
        }
    }
}

/// Whether the agent has applied exactly the version that is stored.
#[must_use]
pub fn is_applied(work: &Value) -> bool {
    let conditions = work.pointer("/status/conditions").and_then(Value::as_array);
    conditions.into_iter().flatten().any(|condition| {
        condition["type"] == "Applied"
            && condition["status"] == "True"
            && condition["observedGeneration"] == work["metadata"]["generation"]
    })
}

/// The status that an agent reported on exactly this version; none if it reported on an older one only.
fn status(reported: &Value, version: i64) -> Option<Value> {
    let observed = reported.get("ObservedVersion").and_then(Value::as_i64)?;
    if observed != version {
        return None;
    }
    let mut status = json!({});
    // One of the agent's controllers may have reported on this version while another one's condition is of the former.
    let is_current =
        |condition: &&Value| condition.get("observedGeneration").is_none_or(|observed| *observed == version);
    if let Some(conditions) = reported.get("conditions").and_then(Value::as_array) {
        status["conditions"] = conditions.iter().filter(is_current).cloned().collect();
    }
    if let Some(manifests) = reported.get("resourceStatus").filter(|manifests| manifests.is_array()) {
        status["resourceStatus"] = json!({"manifests": manifests});
    }
    Some(status)
}

/// The version is the generation, too: an agent's `observedGeneration` names it.
fn stamp(metadata: &mut Value, version: i64, created: &Value) {
    metadata["resourceVersion"] = json!(version.to_string());
    metadata["generation"] = json!(version);
    if !created.is_null() {
        metadata["creationTimestamp"] = created.clone();
    }
}

fn is_empty(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::Array(list) => list.is_empty(),
        Value::Object(map) => map.is_empty(),
        Value::Bool(_) | Value::Number(_) | Value::String(_) => false,
    }
}

#[cfg(test)]
mod tests;
