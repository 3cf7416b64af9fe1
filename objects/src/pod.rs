//! Where the kinds of Kubernetes have the specification of a Pod.

use crate::id::GroupVersionKind;

/// The path of keys to the specification of a Pod in an object of this kind, if it has one.
#[must_use]
pub fn specification(kind: &GroupVersionKind) -> Option<&'static str> {
    match (kind.group.as_str(), kind.kind.as_str()) {
        ("", "Pod") => Some("spec"),
        ("", "PodTemplate") => Some("template/spec"),
        ("", "ReplicationController")
        | ("apps", "DaemonSet" | "Deployment" | "ReplicaSet" | "StatefulSet")
        | ("batch", "Job") => Some("spec/template/spec"),
        ("batch", "CronJob") => Some("spec/jobTemplate/spec/template/spec"),
        _ => None,
    }
}
