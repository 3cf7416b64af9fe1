//! The scope, the name rule and the presence of a status, for the kinds that Kubernetes itself has.
//!
//! Custom kinds and those of other API servers are unknown here.

use lifecycle_config::decode::suggest;

use crate::id::GroupVersionKind;
use crate::labels::is_subdomain;

/// The cluster-scoped kinds of Kubernetes, by API group.
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

/// Namespaced kinds, by group; only those that an adapter may have a reason to write.
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

/// The versions in which Kubernetes serves the namespaced kinds of a group, and those of the groups without a name
/// and of RBAC.
const VERSIONS: [(&str, &[&str]); 11] = [
    ("", &["v1"]),
    ("apps", &["v1"]),
    ("autoscaling", &["v1", "v2"]),
    ("batch", &["v1"]),
    ("coordination.k8s.io", &["v1"]),
    ("discovery.k8s.io", &["v1"]),
    ("events.k8s.io", &["v1"]),
    ("networking.k8s.io", &["v1"]),
    ("policy", &["v1"]),
    ("rbac.authorization.k8s.io", &["v1"]),
    ("storage.k8s.io", &["v1"]),
];

/// Kinds whose objects have no `status`, by group.
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

/// The rule that Kubernetes applies to the names of a kind's objects.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NameRule {
    /// A DNS subdomain (RFC 1123) of at most so many characters.
    Subdomain(usize),
    /// A DNS label: at most 63 characters, without dots.
    Label,
    /// A segment of a URL path: any text without `/` and `%`, except `.` and `..`.
    PathSegment,
}

/// Kinds whose names need only be segments of a URL path, by group.
const NAMED_FREELY: [(&str, &[&str]); 4] = [
    ("", &["ComponentStatus"]),
    ("apiregistration.k8s.io", &["APIService"]),
    ("certificates.k8s.io", &["CertificateSigningRequest", "ClusterTrustBundle"]),
    ("rbac.authorization.k8s.io", &["ClusterRole", "ClusterRoleBinding", "Role", "RoleBinding"]),
];

/// Returns the name rule of a kind. Names of custom resources are subdomains; `OpenShift` serves its kinds
/// from API servers of its own, which accept more.
#[must_use]
pub fn name_rule(kind: &GroupVersionKind) -> NameRule {
    match (kind.group.as_str(), kind.kind.as_str()) {
        ("", "Namespace" | "Service") => NameRule::Label,
        ("batch", "CronJob") => NameRule::Subdomain(52),
        (group, _) if group.ends_with(".openshift.io") || is_in(&NAMED_FREELY, kind) => NameRule::PathSegment,
        _ => NameRule::Subdomain(253),
    }
}

impl NameRule {
    /// Returns why a name breaks the rule, if it does.
    #[must_use]
    pub fn fault(self, name: &str) -> Option<String> {
        if name.is_empty() {
            return Some("it is empty".to_owned());
        }
        let length = match self {
            Self::Subdomain(length) => length,
            Self::Label => 63,
            Self::PathSegment if matches!(name, "." | "..") => return Some(format!("it is `{name}`")),
            Self::PathSegment => {
                let wrong = name.chars().find(|c| matches!(c, '/' | '%'))?;
                return Some(format!("it contains `{wrong}`"));
            }
        };
        let may_have =
            |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-' || (c == '.' && self != Self::Label);
        if let Some(wrong) = name.chars().find(|c| !may_have(*c)) {
            let what = if wrong.is_uppercase() { "the upper-case letter" } else { "the character" };
            return Some(format!("it contains {what} `{wrong}`"));
        }
        if name.len() > length {
            return Some(format!("it is longer than {length} characters"));
        }
        (!is_subdomain(name))
            .then(|| "it does not begin and end with a letter or digit, or has a `.` beside a `-` or a `.`".to_owned())
    }

    /// Says how to write a name that follows the rule.
    #[must_use]
    pub fn cure(self) -> &'static str {
        match self {
            Self::Subdomain(52) => {
                "write at most 52 lower-case letters, digits, `-` and `.`, with a letter or digit at either end"
            }
            Self::Subdomain(_) => {
                "write lower-case letters, digits, `-` and `.` only, with a letter or digit at either end"
            }
            Self::Label => "write at most 63 lower-case letters, digits and `-`, with a letter or digit at either end",
            Self::PathSegment => "write a name without `/` and `%`",
        }
    }
}

fn is_in(table: &[(&str, &[&str])], kind: &GroupVersionKind) -> bool {
    table.iter().any(|(group, kinds)| *group == kind.group && kinds.contains(&kind.kind.as_str()))
}

/// Whether objects of a kind are in a namespace; none for an unknown kind.
#[must_use]
pub fn is_namespaced(kind: &GroupVersionKind) -> Option<bool> {
    if is_in(&CLUSTER_SCOPED, kind) {
        return Some(false);
    }
    is_in(&NAMESPACED, kind).then_some(true)
}

/// Whether the `status` of a kind's objects is a subresource, so that the API server ignores it in other writes;
/// false for an unknown kind.
#[must_use]
pub fn has_status_subresource(kind: &GroupVersionKind) -> bool {
    is_namespaced(kind).is_some() && !has_no_status(kind)
}

/// The key of a manifest that names a kind which Kubernetes does not serve, and what to write there instead.
#[derive(Debug, PartialEq, Eq)]
pub struct KindFault {
    /// `apiVersion` or `kind`.
    pub key: &'static str,
    /// The key with the value to write, such as `kind: Deployment`.
    pub cure: String,
}

/// Finds a kind of Kubernetes that is misspelt or has a wrong `apiVersion`. Groups with a dot that are not
/// Kubernetes' own may have any kind.
#[must_use]
pub fn fault(kind: &GroupVersionKind) -> Option<KindFault> {
    let version = |cure: String| Some(KindFault { key: "apiVersion", cure: format!("apiVersion: {cure}") });
    let served =
        |group: &str| VERSIONS.iter().find(|(of, _)| *of == group).map_or(&[] as &[&str], |(_, versions)| *versions);
    let of_group = |group: &str| match served(group).last() {
        Some(version) if !group.is_empty() => format!("{group}/{version}"),
        Some(version) => (*version).to_owned(),
        None => format!("{group}/v1"),
    };
    if let Some(namespaced) = is_namespaced(kind) {
        let served = served(&kind.group);
        let is_judged =
            !served.is_empty() && (namespaced || matches!(kind.group.as_str(), "" | "rbac.authorization.k8s.io"));
        return if is_judged && !served.contains(&kind.version.as_str()) {
            version(of_group(&kind.group))
        } else {
            None
        };
    }
    let all = || CLUSTER_SCOPED.iter().chain(&NAMESPACED);
    let is_own = kind.group == "extensions" || all().any(|(group, _)| *group == kind.group);
    if !is_own && kind.group.contains('.') {
        return None;
    }
    if let Some((group, _)) = all().find(|(_, kinds)| kinds.contains(&kind.kind.as_str())) {
        return version(of_group(group));
    }
    let here: Vec<&str> =
        all().filter(|(group, _)| *group == kind.group).flat_map(|(_, kinds)| *kinds).copied().collect();
    let anywhere: Vec<&str> = all().flat_map(|(_, kinds)| *kinds).copied().collect();
    let similar = suggest(&kind.kind, &here).or_else(|| suggest(&kind.kind, &anywhere))?;
    Some(KindFault { key: "kind", cure: format!("kind: {similar}") })
}

/// Whether objects of a kind never have a `status`; false for an unknown kind.
fn has_no_status(kind: &GroupVersionKind) -> bool {
    is_in(&WITHOUT_STATUS, kind)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kind_of_another_group_is_unknown() {
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
    fn misspelt_kind_and_wrong_version_are_found() {
        let cases = [
            ("v1", "ConfigMap", None),
            ("apps/v1", "Deployment", None),
            ("autoscaling/v2", "HorizontalPodAutoscaler", None),
            ("networking.k8s.io/v1beta1", "ServiceCIDR", None),
            ("v1", "Binding", None),
            ("example.io/v1", "Deploymnet", None),
            ("example.io/v1alpha1", "ConfigMap", None),
            ("v1", "Deployment", Some(("apiVersion", "apiVersion: apps/v1"))),
            ("apps", "Deployment", Some(("apiVersion", "apiVersion: apps/v1"))),
            ("app/v1", "Deployment", Some(("apiVersion", "apiVersion: apps/v1"))),
            ("apps/v1beta1", "Deployment", Some(("apiVersion", "apiVersion: apps/v1"))),
            ("extensions/v1beta1", "Ingress", Some(("apiVersion", "apiVersion: networking.k8s.io/v1"))),
            ("apps/v1", "ConfigMap", Some(("apiVersion", "apiVersion: v1"))),
            ("batch/v1beta1", "CronJob", Some(("apiVersion", "apiVersion: batch/v1"))),
            ("apps/v1", "Deploymnet", Some(("kind", "kind: Deployment"))),
            ("v1", "configmap", Some(("kind", "kind: ConfigMap"))),
            ("v1", "Configmap", Some(("kind", "kind: ConfigMap"))),
        ];
        for (version, kind, expected) in cases {
            let found = fault(&GroupVersionKind::new(version, kind));
            let found = found.as_ref().map(|fault| (fault.key, fault.cure.as_str()));
            assert_eq!(found, expected, "{version} {kind}");
        }
    }

    #[test]
    fn name_rule_depends_on_the_kind() {
        let long = "x".repeat(64);
        let cases = [
            ("v1", "ConfigMap", "a.b-c1", None),
            ("v1", "ConfigMap", "A", Some("it contains the upper-case letter `A`")),
            ("v1", "ConfigMap", "a_b", Some("it contains the character `_`")),
            (
                "v1",
                "ConfigMap",
                "-a",
                Some("it does not begin and end with a letter or digit, or has a `.` beside a `-` or a `.`"),
            ),
            ("v1", "ConfigMap", "", Some("it is empty")),
            ("v1", "ConfigMap", &long, None),
            ("v1", "Namespace", "a.b", Some("it contains the character `.`")),
            ("v1", "Namespace", &long, Some("it is longer than 63 characters")),
            ("batch/v1", "CronJob", &long, Some("it is longer than 52 characters")),
            ("rbac.authorization.k8s.io/v1", "Role", "system:Admin", None),
            ("rbac.authorization.k8s.io/v1", "Role", "a/b", Some("it contains `/`")),
            ("rbac.authorization.k8s.io/v1", "Role", "", Some("it is empty")),
            ("rbac.authorization.k8s.io/v1", "Role", "..", Some("it is `..`")),
            ("user.openshift.io/v1", "User", "Admin", None),
            ("example.io/v1", "Widget", "Admin", Some("it contains the upper-case letter `A`")),
        ];
        for (version, kind, name, fault) in cases {
            let rule = name_rule(&GroupVersionKind::new(version, kind));
            assert_eq!(rule.fault(name).as_deref(), fault, "{version} {kind} {name}");
        }
    }

    #[test]
    fn no_kind_is_both_namespaced_and_cluster_scoped() {
        let in_both = CLUSTER_SCOPED.iter().any(|(group, kinds)| {
            kinds.iter().any(|kind| is_in(&NAMESPACED, &GroupVersionKind::new(&format!("{group}/v1"), kind)))
        });
        assert!(!in_both);
    }
}
