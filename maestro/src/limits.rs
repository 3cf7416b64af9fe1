//! Checks a `ManifestWork` before it is sent.
//!
//! In: a work. Out: nothing, or in one sentence why it cannot be sent. Maestro stores some works that its agents drop
//! without a word (no manifest, or too many bytes), so the client has to refuse them. The rest is what Maestro refuses
//! itself, asked here too, because a recreation must know before it deletes: Maestro has no dry run.

use std::collections::BTreeSet;

use lifecycle_objects::kinds::NameRule;
use lifecycle_objects::labels;
use serde_json::{Map, Value};

use crate::work::KEPT;

/// The most bytes of all manifests together, as the agents count.
pub const LARGEST: usize = 500 * 1024;

/// The keys of a work's `spec`.
const SPEC: [&str; 4] = ["workload", "deleteOption", "manifestConfigs", "executor"];

/// What is wrong with a work, if anything.
#[must_use]
pub fn fault(work: &Value) -> Option<String> {
    let name = work.pointer("/metadata/name").and_then(Value::as_str).unwrap_or_default();
    if let Some(fault) = NameRule::Label.fault(name) {
        return Some(format!("metadata.name is `{name}`: {fault}"));
    }
    if let Some(fault) = of_labels(work) {
        return Some(fault);
    }
    let Some(spec) = work.get("spec").and_then(Value::as_object) else {
        return Some("spec is missing: agents drop a work without manifests".to_owned());
    };
    if let Some(key) = spec.keys().find(|key| !SPEC.contains(&key.as_str())) {
        return Some(format!("spec.{key}: a ManifestWork has no such key; it has {}", SPEC.join(", ")));
    }
    let manifests = work.pointer("/spec/workload/manifests").and_then(Value::as_array);
    let Some(manifests) = manifests.filter(|manifests| !manifests.is_empty()) else {
        return Some("spec.workload.manifests is empty: agents drop a work without manifests".to_owned());
    };
    let bytes: usize = manifests.iter().map(|manifest| manifest.to_string().len()).sum();
    if bytes > LARGEST {
        return Some(format!("the manifests have {bytes} bytes: agents drop a work of more than {LARGEST}"));
    }
    let mut seen = BTreeSet::new();
    manifests.iter().enumerate().find_map(|(index, manifest)| {
        let fault = of_manifest(manifest).or_else(|| {
            let key = ["/apiVersion", "/kind", "/metadata/namespace", "/metadata/name"];
            let key = key.map(|place| manifest.pointer(place).and_then(Value::as_str).unwrap_or_default());
            (!seen.insert(key)).then(|| "an earlier manifest has the same kind, namespace and name".to_owned())
        })?;
        Some(format!("spec.workload.manifests[{index}]: {fault}"))
    })
}

/// Fields of metadata that Maestro refuses in a manifest.
const REFUSED: [&str; 3] = ["generateName", "resourceVersion", "deletionGracePeriodSeconds"];

fn of_manifest(manifest: &Value) -> Option<String> {
    let text = |place: &str| manifest.pointer(place).and_then(Value::as_str).unwrap_or_default();
    for place in ["/apiVersion", "/kind", "/metadata/name"] {
        if text(place).is_empty() {
            return Some(format!("{} is missing", place[1..].replace('/', ".")));
        }
    }
    if text("/apiVersion").split('/').count() > 2 {
        return Some(format!("apiVersion `{}` is not `group/version`", text("/apiVersion")));
    }
    let namespace = text("/metadata/namespace");
    if !namespace.is_empty()
        && let Some(fault) = NameRule::Label.fault(namespace)
    {
        return Some(format!("metadata.namespace is `{namespace}`: {fault}"));
    }
    if let Some(key) = REFUSED.iter().find(|key| manifest["metadata"].get(**key).is_some()) {
        return Some(format!("metadata.{key} is not allowed"));
    }
    of_labels(manifest)
}

/// What is wrong with the labels or annotations of an object.
fn of_labels(object: &Value) -> Option<String> {
    let all = |key: &str| object["metadata"].get(key).and_then(Value::as_object).into_iter().flat_map(Map::iter);
    let label_fault = |value: &Value| value.as_str().map_or(Some("is no text"), labels::value_fault);
    let label =
        all("labels").find_map(|(key, value)| Some((key, labels::key_fault(key).or_else(|| label_fault(value))?)));
    if let Some((key, fault)) = label {
        return Some(format!("metadata.labels: `{key}`: {fault}"));
    }
    let annotation_fault = |value: &Value| value.as_str().is_none().then_some("is no text");
    let annotation = all("annotations")
        .find_map(|(key, value)| Some((key, labels::key_fault(key).or_else(|| annotation_fault(value))?)));
    annotation.map(|(key, fault)| format!("metadata.annotations: `{key}`: {fault}"))
}

/// What is wrong with a merge patch of a work, if anything: what it sets that Maestro would not keep.
#[must_use]
pub fn patch_fault(document: &Value) -> Option<String> {
    let keys = |part: &Value| part.as_object().map(|part| part.keys().cloned().collect::<Vec<_>>()).unwrap_or_default();
    let unknown = keys(document).into_iter().find(|key| !["apiVersion", "kind", "metadata", "spec"].contains(&&**key));
    if let Some(key) = unknown {
        return Some(format!("{key}: a patch can change `metadata` and `spec` of a ManifestWork"));
    }
    let of_place = ["namespace", "uid", "resourceVersion"];
    let unkept = keys(&document["metadata"]);
    let unkept = unkept.iter().find(|key| !KEPT.contains(&key.as_str()) && !of_place.contains(&key.as_str()))?;
    Some(format!("metadata.{unkept}: Maestro does not keep it"))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn work(manifests: Value) -> Value {
        json!({"metadata": {"name": "w"}, "spec": {"workload": {"manifests": manifests}}})
    }

    fn manifest() -> Value {
        json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "m", "namespace": "n"}})
    }

    #[test]
    fn fault_names_the_manifest_and_the_field() {
        let with = |place: &str, value: Value| {
            let mut manifest = manifest();
            let parts = place.rsplit_once('/');
            if let Some((parent, key)) = parts.and_then(|(parent, key)| Some((manifest.pointer_mut(parent)?, key))) {
                parent[key] = value;
            }
            work(json!([manifest]))
        };
        let cases = [
            (work(json!([manifest()])), None),
            (work(json!([])), Some("agents drop a work without manifests")),
            (json!({"metadata": {"name": "w"}, "spec": {}}), Some("without manifests")),
            (json!({"metadata": {"name": "w"}}), Some("spec is missing")),
            (json!({"metadata": {"name": "w"}, "spec": null}), Some("spec is missing")),
            (json!({"metadata": {"name": "w"}, "spec": []}), Some("spec is missing")),
            (json!({"metadata": {"name": "W"}, "spec": {}}), Some("metadata.name is `W`")),
            (json!({"metadata": {"name": "w"}, "spec": {"deleteOptions": {}}}), Some("spec.deleteOptions")),
            (work(json!([manifest(), manifest()])), Some("manifests[1]: an earlier manifest has the same kind")),
            (with("/kind", json!("")), Some("manifests[0]: kind is missing")),
            (with("/metadata/name", json!(null)), Some("metadata.name is missing")),
            (with("/apiVersion", json!("a/b/c")), Some("not `group/version`")),
            (with("/metadata/namespace", json!("N!")), Some("metadata.namespace is `N!`")),
            (with("/metadata/generateName", json!("x-")), Some("metadata.generateName is not allowed")),
            (with("/metadata/labels", json!({"a b": "c"})), Some("metadata.labels: `a b`")),
            (with("/metadata/labels", json!({"a": "c d"})), Some("metadata.labels: `a`")),
            (with("/metadata/annotations", json!({"/": "c"})), Some("metadata.annotations: `/`")),
            (with("/metadata/labels", json!({"a": null})), Some("metadata.labels: `a`: is no text")),
            (with("/metadata/annotations", json!({"a": 1})), Some("metadata.annotations: `a`: is no text")),
            (
                json!({"metadata": {"name": "w", "labels": {"a": true}}, "spec": {}}),
                Some("metadata.labels: `a`: is no text"),
            ),
            (with("/data", json!({"a": "x".repeat(LARGEST)})), Some("agents drop a work of more than 512000")),
        ];
        for (work, expected) in cases {
            match (fault(&work), expected) {
                (None, None) => {}
                (Some(found), Some(expected)) => assert!(found.contains(expected), "{found}"),
                (found, expected) => panic!("{found:?} instead of {expected:?}"),
            }
        }
    }

    #[test]
    fn patch_may_set_only_what_maestro_keeps() {
        let fine = json!({"metadata": {"labels": {"a": null}, "ownerReferences": []}, "spec": {"deleteOption": {}}});
        let cases = [
            (fine, None),
            (json!({"status": {}}), Some("status: a patch can change")),
            (json!({"metadata": {"generateName": "x"}}), Some("metadata.generateName: Maestro does not keep it")),
        ];
        for (document, expected) in cases {
            let found = patch_fault(&document);
            assert_eq!(found.is_some(), expected.is_some(), "{document}");
            assert!(found.unwrap_or_default().contains(expected.unwrap_or_default()), "{document}");
        }
    }
}
