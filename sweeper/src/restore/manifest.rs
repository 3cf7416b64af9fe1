//! Turns the recorded manifest of a deleted object into one that can be created. Pure.
//!
//! Drops what the API server sets itself, and beyond that only what would keep the new object from being created or
//! from working. So a Service asks for its former address, and a claim for its former volume: a claim without it would
//! silently get an empty volume.

use lifecycle_objects::keys;
use lifecycle_objects::object_ref::ObjectRef;
use serde_json::{Map, Value};

/// The metadata that the API server sets, and the owners, whose UIDs may be gone with them.
const SET_BY_SERVER: [&str; 9] = [
    "uid",
    "resourceVersion",
    "creationTimestamp",
    "deletionTimestamp",
    "deletionGracePeriodSeconds",
    "generation",
    "managedFields",
    "selfLink",
    "ownerReferences",
];

/// The labels by which a Job finds its Pods. They contain the UID of the deleted Job, and the API server refuses
/// another Job's.
const JOB_LABELS: [&str; 2] = ["controller-uid", "batch.kubernetes.io/controller-uid"];

/// What the volume controller notes about a claim that it bound. A new claim with these notes counts as one that has
/// lost its volume.
const CLAIM_ANNOTATIONS: [&str; 2] = ["pv.kubernetes.io/bind-completed", "pv.kubernetes.io/bound-by-controller"];

/// Returns the manifest of a new object like the recorded one.
pub(super) fn creatable(recorded: &Value, keep_stamps: bool) -> Value {
    let mut manifest = recorded.clone();
    remove(&mut manifest, "", &["status"]);
    remove(&mut manifest, "/metadata", &SET_BY_SERVER);
    if !keep_stamps {
        for place in ["/metadata/labels", "/metadata/annotations"] {
            edit(&mut manifest, place, |fields| fields.retain(|key, _| !key.starts_with(keys::PREFIX)));
        }
    }
    let object = ObjectRef::of(recorded);
    match (object.kind.group.as_str(), object.kind.kind.as_str()) {
        ("batch", "Job") if recorded.pointer("/spec/manualSelector") != Some(&Value::Bool(true)) => {
            remove(&mut manifest, "/spec", &["selector"]);
            remove(&mut manifest, "/spec/template/metadata/labels", &JOB_LABELS);
            remove(&mut manifest, "/metadata/labels", &JOB_LABELS);
        }
        ("", "PersistentVolumeClaim") => remove(&mut manifest, "/metadata/annotations", &CLAIM_ANNOTATIONS),
        // The API server refuses a new Pod with ephemeral containers. A Pod that names a node which is gone would be
        // deleted at once, so the scheduler chooses again.
        ("", "Pod") => remove(&mut manifest, "/spec", &["ephemeralContainers", "nodeName"]),
        _ => {}
    }
    manifest
}

fn remove(manifest: &mut Value, place: &str, keys: &[&str]) {
    edit(manifest, place, |fields| fields.retain(|key, _| !keys.contains(&key.as_str())));
}

/// Edits a mapping of the manifest, and removes labels or annotations that became empty.
fn edit(manifest: &mut Value, place: &str, change: impl FnOnce(&mut Map<String, Value>)) {
    let Some(fields) = manifest.pointer_mut(place).and_then(Value::as_object_mut) else { return };
    change(fields);
    if fields.is_empty()
        && let Some((parent, key)) = place.rsplit_once('/')
        && let Some(parent) = manifest.pointer_mut(parent).and_then(Value::as_object_mut)
    {
        parent.remove(key);
    }
}
