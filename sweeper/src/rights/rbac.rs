//! The roles that the sweeper needs, and no more.
//!
//! In: the kinds that the configuration selects, the kinds that the cluster serves, and the service account. Out:
//! manifests. A role cannot say "metadata only": whoever may list a kind may read its objects whole.

use std::collections::BTreeSet;

use lifecycle_core::sweep::Policy;
use lifecycle_kube::ServedKind;
use serde_json::{Value, json};

use super::{Account, stream};
use crate::config::LeaseConfig;
use crate::inventory::KindFilter;

/// The name of every role and binding.
const NAME: &str = "hyperfleet-sweeper";

/// Prints the roles and bindings.
#[must_use]
pub fn manifests(
    filter: &KindFilter,
    policy: &Policy,
    lease: &LeaseConfig,
    served: &[ServedKind],
    account: &Account,
) -> String {
    let subjects = json!([{ "kind": "ServiceAccount", "namespace": account.namespace, "name": account.name }]);
    let namespace = lease.namespace.as_deref().unwrap_or(&account.namespace);
    let (rules, comment) = object_rules(filter, policy, served);
    let cluster_role = object("rbac.authorization.k8s.io/v1", "ClusterRole", None, NAME, json!({ "rules": rules }));
    let lease_rules = |verbs: &[&str]| json!({ "apiGroups": ["coordination.k8s.io"], "resources": ["leases"], "resourceNames": [lease.name], "verbs": verbs });
    // RBAC cannot name the object of a creation.
    let create = json!({ "apiGroups": ["coordination.k8s.io"], "resources": ["leases"], "verbs": ["create"] });
    let approver = format!("{NAME}-approver");
    let documents = [
        (comment, cluster_role),
        ("Binds the role to the sweeper's service account.".to_owned(), binding("ClusterRole", None, NAME, &subjects)),
        (
            "The Lease by which one replica leads.".to_owned(),
            role(namespace, NAME, &json!([create, lease_rules(&["get", "patch"])])),
        ),
        (
            "Binds the role to the sweeper's service account.".to_owned(),
            binding("Role", Some(namespace), NAME, &subjects),
        ),
        (
            "For people who may approve a plan that the sweeper holds (`sweeper approve`): bind it to them.".to_owned(),
            role(namespace, &approver, &json!([lease_rules(&["get", "patch"])])),
        ),
    ];
    stream(&documents)
}

/// The rules about swept objects, and a comment about them.
fn object_rules(filter: &KindFilter, policy: &Policy, served: &[ServedKind]) -> (Vec<Value>, String) {
    let mut rules = vec![json!({ "apiGroups": [""], "resources": ["events"], "verbs": ["create"] })];
    let mut comment =
        "List, get and delete on the swept kinds, and the creation of an Event about each deletion.".to_owned();
    if filter.include.is_empty() {
        rules.push(json!({ "apiGroups": ["*"], "resources": ["*"], "verbs": ["list", "get", "delete"] }));
        comment.push_str(
            "\n`kinds.include` is empty, so this grants every kind, those of CRDs to come too: RBAC has no exceptions.",
        );
        return (rules, comment);
    }
    let is_allowed = |served: &ServedKind| {
        served.namespaced || policy.cluster_scoped.iter().any(|pattern| pattern.matches(&served.kind))
    };
    for pattern in &filter.include {
        let kinds: Vec<_> = served.iter().filter(|kind| pattern.matches(&kind.kind) && filter.selects(kind)).collect();
        if kinds.is_empty() {
            comment.push_str(&format!(
                "\nThe cluster serves no kind for `{pattern}`: generate the roles again once it does."
            ));
        }
        rules.extend(rule(&kinds, |kind| is_allowed(kind), &["list", "get", "delete"]));
        // What may not be deleted is listed, so that `plan` can say that it is kept.
        rules.extend(rule(&kinds, |kind| !is_allowed(kind), &["list"]));
    }
    (rules, comment)
}

/// One rule for those kinds of a pattern that `selects`; they may lie in several groups.
fn rule(kinds: &[&ServedKind], selects: impl Fn(&ServedKind) -> bool, verbs: &[&str]) -> Vec<Value> {
    let selected: Vec<_> = kinds.iter().filter(|kind| selects(kind)).collect();
    let groups: BTreeSet<&str> = selected.iter().map(|kind| kind.kind.group.as_str()).collect();
    let of_group = |group: &str| {
        let resources: BTreeSet<&str> =
            selected.iter().filter(|kind| kind.kind.group == group).map(|kind| kind.plural.as_str()).collect();
        json!({ "apiGroups": [group], "resources": resources, "verbs": verbs })
    };
    groups.into_iter().map(of_group).collect()
}

fn role(namespace: &str, name: &str, rules: &Value) -> Value {
    object("rbac.authorization.k8s.io/v1", "Role", Some(namespace), name, json!({ "rules": rules }))
}

fn binding(role: &str, namespace: Option<&str>, name: &str, subjects: &Value) -> Value {
    let reference = json!({ "apiGroup": "rbac.authorization.k8s.io", "kind": role, "name": name });
    let rest = json!({ "roleRef": reference, "subjects": subjects });
    object("rbac.authorization.k8s.io/v1", &format!("{role}Binding"), namespace, name, rest)
}

/// A manifest: its identity, and the members of `rest`.
pub(super) fn object(api_version: &str, kind: &str, namespace: Option<&str>, name: &str, rest: Value) -> Value {
    let mut manifest = json!({ "apiVersion": api_version, "kind": kind, "metadata": { "name": name } });
    if let Some(namespace) = namespace {
        manifest["metadata"]["namespace"] = namespace.into();
    }
    if let (Some(manifest), Value::Object(rest)) = (manifest.as_object_mut(), rest) {
        manifest.extend(rest);
    }
    manifest
}
