//! What is known of Kubernetes' own kinds: whether they live in a namespace, and whether they have a status.
//!
//! A server's other kinds are its secret: nothing is said of them.

use crate::id::GroupVersionKind;

/// Kinds outside of namespaces, by group.
const CLUSTER_SCOPED: [(&str, &[&str]); 13] = [
    ("", &["ComponentStatus", "Namespace", "Node", "PersistentVolume"]),
    (
        "admissionregistration.k8s.io",
        &[
            "MutatingAdmissionPolicy",
            "MutatingAdmissionPolicyBinding",
            "MutatingWebhookConfiguration",
            "ValidatingAdmissionPolicy",
            "ValidatingAdmissionPolicyBinding",
            "ValidatingWebhookConfiguration",
        ],
    ),
    ("apiextensions.k8s.io", &["CustomResourceDefinition"]),
    ("apiregistration.k8s.io", &["APIService"]),
    ("certificates.k8s.io", &["CertificateSigningRequest", "ClusterTrustBundle"]),
    ("flowcontrol.apiserver.k8s.io", &["FlowSchema", "PriorityLevelConfiguration"]),
    ("networking.k8s.io", &["IPAddress", "IngressClass", "ServiceCIDR"]),
    ("node.k8s.io", &["RuntimeClass"]),
    ("rbac.authorization.k8s.io", &["ClusterRole", "ClusterRoleBinding"]),
    ("resource.k8s.io", &["DeviceClass", "DeviceTaintRule", "ResourceSlice"]),
    ("scheduling.k8s.io", &["PriorityClass"]),
    ("storage.k8s.io", &["CSIDriver", "CSINode", "StorageClass", "VolumeAttachment", "VolumeAttributesClass"]),
    ("storagemigration.k8s.io", &["StorageVersionMigration"]),
];

/// Kinds in namespaces, by group; those that an adapter may have a reason to write.
const NAMESPACED: [(&str, &[&str]); 11] = [
    (
        "",
        &[
            "ConfigMap",
            "Endpoints",
            "Event",
            "LimitRange",
            "PersistentVolumeClaim",
            "Pod",
            "PodTemplate",
            "ReplicationController",
            "ResourceQuota",
            "Secret",
            "Service",
            "ServiceAccount",
        ],
    ),
    ("apps", &["ControllerRevision", "DaemonSet", "Deployment", "ReplicaSet", "StatefulSet"]),
    ("autoscaling", &["HorizontalPodAutoscaler"]),
    ("batch", &["CronJob", "Job"]),
    ("coordination.k8s.io", &["Lease"]),
    ("discovery.k8s.io", &["EndpointSlice"]),
    ("events.k8s.io", &["Event"]),
    ("networking.k8s.io", &["Ingress", "NetworkPolicy"]),
    ("policy", &["PodDisruptionBudget"]),
    ("rbac.authorization.k8s.io", &["Role", "RoleBinding"]),
    ("storage.k8s.io", &["CSIStorageCapacity"]),
];

/// Kinds that are data only, by group.
const WITHOUT_STATUS: [(&str, &[&str]); 9] = [
    ("", &["ConfigMap", "Endpoints", "Event", "LimitRange", "PodTemplate", "Secret", "ServiceAccount"]),
    ("apps", &["ControllerRevision"]),
    ("coordination.k8s.io", &["Lease"]),
    ("discovery.k8s.io", &["EndpointSlice"]),
    ("events.k8s.io", &["Event"]),
    ("node.k8s.io", &["RuntimeClass"]),
    ("rbac.authorization.k8s.io", &["ClusterRole", "ClusterRoleBinding", "Role", "RoleBinding"]),
    ("scheduling.k8s.io", &["PriorityClass"]),
    ("storage.k8s.io", &["CSIDriver", "CSINode", "StorageClass"]),
];

fn is_in(table: &[(&str, &[&str])], kind: &GroupVersionKind) -> bool {
    table.iter().any(|(group, kinds)| *group == kind.group && kinds.contains(&kind.kind.as_str()))
}

/// Whether objects of a kind are in a namespace, if that is known.
pub(crate) fn is_namespaced(kind: &GroupVersionKind) -> Option<bool> {
    if is_in(&CLUSTER_SCOPED, kind) {
        return Some(false);
    }
    is_in(&NAMESPACED, kind).then_some(true)
}

/// Whether objects of a kind certainly have no `status`.
pub(super) fn has_no_status(kind: &GroupVersionKind) -> bool {
    is_in(&WITHOUT_STATUS, kind)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_kind_is_known_by_its_group_too() {
        let cases = [
            ("v1", "Namespace", Some(false), false),
            ("v1", "ConfigMap", Some(true), true),
            ("batch/v1", "Job", Some(true), false),
            ("rbac.authorization.k8s.io/v1", "ClusterRole", Some(false), true),
            ("rbac.authorization.k8s.io/v1", "Role", Some(true), true),
            ("example.io/v1", "Namespace", None, false),
            ("example.io/v1", "ConfigMap", None, false),
            ("v1", "Job", None, false),
        ];
        for (version, kind, namespaced, no_status) in cases {
            let of = GroupVersionKind::new(version, kind);
            assert_eq!((is_namespaced(&of), has_no_status(&of)), (namespaced, no_status), "{version} {kind}");
        }
    }

    #[test]
    fn no_kind_is_in_both_scopes() {
        let in_both = CLUSTER_SCOPED.iter().any(|(group, kinds)| {
            kinds.iter().any(|kind| is_in(&NAMESPACED, &GroupVersionKind::new(&format!("{group}/v1"), kind)))
        });
        assert!(!in_both);
    }
}
