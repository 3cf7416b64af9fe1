//! What is in a namespace although nobody put it there: what Kubernetes makes in each one, and what it derives from other objects.
//!
//! In: a kind, or an object. Out: whether it counts as content that somebody would miss. Nothing here fails.

use crate::identity::GroupKind;
use crate::object_ref::ObjectRef;

/// The objects that Kubernetes or `OpenShift` puts into each namespace, by group, kind and name.
const OF_EACH_NAMESPACE: [(&str, &str, &[&str]); 4] = [
    ("", "ServiceAccount", &["default", "builder", "deployer"]),
    ("", "ConfigMap", &["kube-root-ca.crt", "openshift-service-ca.crt"]),
    ("rbac.authorization.k8s.io", "RoleBinding", OF_OPENSHIFT),
    ("authorization.openshift.io", "RoleBinding", OF_OPENSHIFT),
];
const OF_OPENSHIFT: &[&str] = &["system:deployers", "system:image-builders", "system:image-pullers"];

/// The kinds that Kubernetes' own controllers write, some of them with the labels of another object, by group and kind.
pub const WRITTEN_BY_KUBERNETES: [(&str, &str); 4] =
    [("", "Endpoints"), ("discovery.k8s.io", "EndpointSlice"), EVENTS[0], EVENTS[1]];

/// The group whose objects are measurements of others, and whose server is often away.
pub const METRICS: &str = "metrics.k8s.io";

/// Kubernetes itself deletes each Event after an hour.
const EVENTS: [(&str, &str); 2] = [("", "Event"), ("events.k8s.io", "Event")];

/// Whether Kubernetes or `OpenShift` puts an object of this kind and name into each namespace.
#[must_use]
pub fn is_of_each_namespace(object: &ObjectRef) -> bool {
    let ObjectRef { kind, name, .. } = object;
    OF_EACH_NAMESPACE
        .iter()
        .any(|(group, of, names)| kind.group == *group && kind.kind == *of && names.contains(&name.as_str()))
}

/// Whether this is the kind of Events, with which nothing is lost.
#[must_use]
pub fn is_event(kind: &GroupKind) -> bool {
    is_one_of(&EVENTS, kind)
}

/// Whether objects of this kind are no content of a namespace: Kubernetes derives them from other objects, or they are locks.
#[must_use]
pub fn is_derived(kind: &GroupKind) -> bool {
    is_one_of(&WRITTEN_BY_KUBERNETES, kind) || is_one_of(&[("coordination.k8s.io", "Lease")], kind)
}

fn is_one_of(kinds: &[(&str, &str)], kind: &GroupKind) -> bool {
    kinds.iter().any(|(group, name)| kind.group == *group && kind.kind == *name)
}
