//! The order in which requests for the kinds of one stage are sent.

use lifecycle_objects::identity::GroupKind;

/// Returns when an object of a kind is applied: lower comes first.
///
/// A namespace precedes what is in it, a webhook of others the objects that it judges, a class or role what refers to it, and
/// configuration the workload that mounts it. An account precedes the Secret with its token, which
/// Kubernetes deletes without the account.
pub(super) fn to_apply(kind: &GroupKind) -> i8 {
    match (kind.group.as_str(), kind.kind.as_str()) {
        ("", "Namespace") => -4,
        ("admissionregistration.k8s.io", "MutatingWebhookConfiguration" | "ValidatingWebhookConfiguration") => -3,
        ("", "ServiceAccount")
        | ("apiextensions.k8s.io", "CustomResourceDefinition")
        | ("networking.k8s.io", "IngressClass")
        | ("node.k8s.io", "RuntimeClass")
        | ("rbac.authorization.k8s.io", "ClusterRole" | "Role")
        | ("scheduling.k8s.io", "PriorityClass")
        | ("storage.k8s.io", "StorageClass") => -2,
        ("", "ConfigMap" | "Secret") | ("rbac.authorization.k8s.io", "ClusterRoleBinding" | "RoleBinding") => -1,
        ("apiregistration.k8s.io", "APIService") => 1,
        _ => 0,
    }
}

/// Returns when an object of a kind is deleted: lower comes first.
///
/// What others refer to goes last.
pub(super) fn to_delete(kind: &GroupKind) -> i8 {
    match (kind.group.as_str(), kind.kind.as_str()) {
        ("admissionregistration.k8s.io", "MutatingWebhookConfiguration" | "ValidatingWebhookConfiguration") => 1,
        ("", "ConfigMap" | "Secret" | "Service") => 2,
        ("", "Namespace") => 3,
        ("networking.k8s.io", "IngressClass")
        | ("node.k8s.io", "RuntimeClass")
        | ("scheduling.k8s.io", "PriorityClass")
        | ("storage.k8s.io", "StorageClass") => 4,
        _ => 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn priority_depends_on_group_and_kind() {
        let cases = [
            ("", "Namespace", -4, 3),
            ("admissionregistration.k8s.io", "ValidatingWebhookConfiguration", -3, 1),
            ("admissionregistration.k8s.io", "MutatingWebhookConfiguration", -3, 1),
            ("apiextensions.k8s.io", "CustomResourceDefinition", -2, 0),
            ("networking.k8s.io", "IngressClass", -2, 4),
            ("node.k8s.io", "RuntimeClass", -2, 4),
            ("scheduling.k8s.io", "PriorityClass", -2, 4),
            ("storage.k8s.io", "StorageClass", -2, 4),
            ("rbac.authorization.k8s.io", "ClusterRole", -2, 0),
            ("rbac.authorization.k8s.io", "Role", -2, 0),
            ("", "ServiceAccount", -2, 0),
            ("", "ConfigMap", -1, 2),
            ("", "Secret", -1, 2),
            ("rbac.authorization.k8s.io", "ClusterRoleBinding", -1, 0),
            ("rbac.authorization.k8s.io", "RoleBinding", -1, 0),
            ("", "Service", 0, 2),
            ("apps", "Deployment", 0, 0),
            ("apiregistration.k8s.io", "APIService", 1, 0),
            ("serving.knative.dev", "Service", 0, 0),
            ("example.io", "Namespace", 0, 0),
        ];
        for (group, kind, apply, delete) in cases {
            let of = GroupKind::new(group, kind);
            assert_eq!((to_apply(&of), to_delete(&of)), (apply, delete), "{of}");
        }
    }
}
