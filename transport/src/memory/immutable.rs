//! Refuses changes of fields that Kubernetes lets nobody change, for the kinds that tasks write most.
//!
//! In: an object before and after a write. Out: the reason why an API server would refuse the write. Fails: never. A kind
//! that is not in the table has no such field here: an API server may know more.

use lifecycle_objects::id::GroupVersionKind;
use serde_json::Value;

/// The fields by API group and kind.
const FIELDS: [(&str, &str, &[&str]); 10] = [
    ("apps", "DaemonSet", &["/spec/selector"]),
    ("apps", "Deployment", &["/spec/selector"]),
    ("apps", "ReplicaSet", &["/spec/selector"]),
    (
        "apps",
        "StatefulSet",
        &["/spec/selector", "/spec/serviceName", "/spec/podManagementPolicy", "/spec/volumeClaimTemplates"],
    ),
    ("batch", "Job", &["/spec/selector", "/spec/template", "/spec/completionMode", "/spec/manualSelector"]),
    ("", "PersistentVolumeClaim", &["/spec/accessModes", "/spec/storageClassName", "/spec/volumeMode"]),
    ("", "Secret", &["/type"]),
    ("rbac.authorization.k8s.io", "ClusterRoleBinding", &["/roleRef"]),
    ("rbac.authorization.k8s.io", "RoleBinding", &["/roleRef"]),
    ("storage.k8s.io", "StorageClass", &["/provisioner", "/parameters", "/reclaimPolicy", "/volumeBindingMode"]),
];

/// The fields of a ConfigMap or Secret that says of itself that it is immutable.
const SEALED: [&str; 4] = ["/data", "/binaryData", "/stringData", "/immutable"];

/// Why an API server would refuse the change, if it would.
pub(super) fn problem(kind: &GroupVersionKind, before: &Value, after: &Value) -> Option<String> {
    let of_kind = FIELDS.iter().filter(|(group, name, _)| *group == kind.group && *name == kind.kind);
    let is_sealed = kind.group.is_empty()
        && matches!(kind.kind.as_str(), "ConfigMap" | "Secret")
        && before.get("immutable") == Some(&Value::Bool(true));
    let sealed = SEALED.iter().filter(|_| is_sealed);
    let fields = of_kind.flat_map(|(_, _, fields)| *fields).chain(sealed);
    let is_changed = |field: &str| {
        let [before, after] = [before, after].map(|object| object.pointer(field).filter(|value| !value.is_null()));
        before != after
    };
    let changed = fields.into_iter().find(|field| is_changed(field))?;
    let path = changed.trim_start_matches('/').replace('/', ".");
    Some(format!("{path}: the field is immutable; recreate the object, or name it anew"))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn fields_that_nobody_may_change_are_named() {
        let job =
            |image: &str, suspend: bool| json!({ "spec": { "suspend": suspend, "template": { "image": image } } });
        let set = |service: &str, replicas: u32| json!({ "spec": { "serviceName": service, "replicas": replicas } });
        let map = |text: &str, is_sealed: bool| json!({ "data": { "a": text }, "immutable": is_sealed });
        let role = |name: &str| json!({ "roleRef": { "name": name } });
        let rbac = "rbac.authorization.k8s.io/v1";
        let cases = [
            ("a Job's template", "batch/v1", "Job", job("a", true), job("b", true), Some("spec.template")),
            ("the rest of a Job", "batch/v1", "Job", job("a", true), job("a", false), None),
            ("the service of a set", "apps/v1", "StatefulSet", set("a", 1), set("b", 1), Some("spec.serviceName")),
            ("the size of a set", "apps/v1", "StatefulSet", set("a", 1), set("a", 2), None),
            ("a sealed map", "v1", "ConfigMap", map("a", true), map("b", true), Some("data")),
            ("an open map", "v1", "ConfigMap", map("a", false), map("b", false), None),
            ("a map that is sealed", "v1", "ConfigMap", map("a", false), map("b", true), None),
            ("a binding's role", rbac, "RoleBinding", role("a"), role("b"), Some("roleRef")),
            ("another group's Job", "example.com/v1", "Job", job("a", true), job("b", true), None),
        ];
        for (name, api_version, kind, before, after, expected) in cases {
            let found = problem(&GroupVersionKind::new(api_version, kind), &before, &after);
            let expected =
                expected.map(|field| format!("{field}: the field is immutable; recreate the object, or name it anew"));
            assert_eq!(found, expected, "{name}");
        }
    }
}
