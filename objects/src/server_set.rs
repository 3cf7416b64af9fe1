//! Fields of an object that only an API server sets.
//!
//! In: a rendered object, such as one that its author took from `kubectl get -o yaml`. Out: the object without these fields.
//! Nothing fails, so that files of the Go adapter load unchanged; `check` warns of them.
//!
//! A `resourceVersion` or `uid` would be refused or contradict the fence of an update, and no update may have `managedFields`. A
//! `status` goes from the kinds of Kubernetes alone: their servers ignore it in every write of the adapter. A custom resource
//! whose definition has no subresource keeps it, because there the author's status is stored like any other field.

use serde_json::Value;

use crate::id::GroupVersionKind;
use crate::kinds;
use crate::object_ref::ObjectRef;

/// The fields of `metadata`.
pub const METADATA: [&str; 8] = [
    "creationTimestamp",
    "deletionGracePeriodSeconds",
    "deletionTimestamp",
    "generation",
    "managedFields",
    "resourceVersion",
    "selfLink",
    "uid",
];

/// Whether no write of an object of this kind changes its `status`, as certain before there is a server.
#[must_use]
pub fn ignores_status(kind: &GroupVersionKind) -> bool {
    kinds::is_namespaced(kind).is_some()
}

/// Removes what a server sets.
pub fn strip(object: &mut Value) {
    let has_status = object.get("status").is_some();
    let drops_status = has_status && ignores_status(&ObjectRef::of(object).kind);
    let Some(fields) = object.as_object_mut() else { return };
    if drops_status {
        fields.remove("status");
    }
    if let Some(metadata) = fields.get_mut("metadata").and_then(Value::as_object_mut) {
        metadata.retain(|key, _| !METADATA.contains(&key.as_str()));
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_a_server_sets_goes_and_the_rest_stays() {
        let metadata = json!({
            "name": "a", "namespace": "n", "labels": { "uid": "kept" }, "uid": "u", "resourceVersion": "7", "generation": 3,
            "creationTimestamp": null, "deletionTimestamp": "2026-01-01T00:00:00Z", "deletionGracePeriodSeconds": 30,
            "selfLink": "/x", "managedFields": [{ "manager": "kubectl" }], "finalizers": ["a/b"]
        });
        let kept = json!({ "name": "a", "namespace": "n", "labels": { "uid": "kept" }, "finalizers": ["a/b"] });
        let object = |api_version: &str, kind: &str, metadata: &Value| json!({ "apiVersion": api_version, "kind": kind, "metadata": metadata, "spec": { "uid": 1 }, "status": { "x": 1 } });
        let cases = [("apps/v1", "Deployment", false), ("example.com/v1", "Thing", true)];
        for (api_version, kind, keeps_status) in cases {
            let mut stripped = object(api_version, kind, &metadata);
            strip(&mut stripped);
            let mut expected = object(api_version, kind, &kept);
            if !keeps_status {
                expected.as_object_mut().map(|it| it.remove("status"));
            }
            assert_eq!(stripped, expected);
        }
        let mut work = object("work.open-cluster-management.io/v1", "ManifestWork", &metadata);
        work["spec"] = json!({ "workload": { "manifests": [object("v1", "ConfigMap", &metadata)] } });
        let inside = work["spec"].clone();
        strip(&mut work);
        assert_eq!(work["spec"], inside, "who applies the manifests of a work there decides about them");
    }
}
