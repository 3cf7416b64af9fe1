//! The roles that the sweeper needs, and no more.
//!
//! In: the kinds that the configuration selects, the kinds that the cluster serves, and the service account. Out:
//! manifests. A role cannot say "metadata only": whoever may list a kind may read its objects in full.

use std::collections::{BTreeMap, BTreeSet};

use lifecycle_core::sweep::{KindPattern, Policy};
use lifecycle_kube::rights::{Account, binding, role, rule, stream};
use lifecycle_kube::{ServedKind, UnreadGroup};
use serde_json::{Value, json};

use crate::inventory::KindFilter;
use crate::leader;

/// Prints the roles and bindings.
#[must_use]
pub fn manifests(
    filter: &KindFilter,
    policy: &Policy,
    lease: &leader::Settings,
    served: &[ServedKind],
    account: &Account,
) -> String {
    // Each installation on a cluster has an account of its own, and so roles of its own.
    let name = format!("hyperfleet-sweeper:{}:{}", account.namespace, account.name);
    let approver = format!("{name}:approver");
    let namespace = lease.namespace.as_deref().unwrap_or(&account.namespace);
    let (mut rules, comment) = object_rules(filter, &policy.cluster_scoped, served);
    // Its UID is that of the cluster, which commands say before they act.
    let mut system = rule("", ["namespaces"], &["get"]);
    system["resourceNames"] = json!(["kube-system"]);
    rules.push(system.clone());
    // RBAC cannot name the object of a creation.
    let create = rule("coordination.k8s.io", ["leases"], &["create"]);
    let mut write = rule("coordination.k8s.io", ["leases"], &["get", "patch"]);
    write["resourceNames"] = json!([lease.name]);
    let bound = format!("Binds the role above to the service account {account}.");
    let documents = [
        (comment, role(None, &name, &rules)),
        (bound.clone(), binding(None, &name, account)),
        ("The Lease by which one replica leads.".to_owned(), role(Some(namespace), &name, &[create, write.clone()])),
        (bound, binding(Some(namespace), &name, account)),
        (
            "For people who may approve a plan that the sweeper holds (`sweeper approve`): bind it to them by a\n\
             RoleBinding.\n\
             RBAC cannot restrict a patch to the annotation of the approval: they can also end the leader's term."
                .to_owned(),
            role(Some(namespace), &approver, &[write]),
        ),
        (
            "Beside that role, for the same people: `sweeper approve` says in which cluster it approves, by the UID of\n\
             kube-system. Bind it to them by a ClusterRoleBinding."
                .to_owned(),
            role(None, &approver, &[system]),
        ),
    ];
    stream(&documents)
}

/// Prints values of the Helm chart, which has the other rules itself: those that get and delete the swept kinds.
#[must_use]
pub fn values(filter: &KindFilter, policy: &Policy, served: &[ServedKind]) -> String {
    let (rules, comment) = deletion_rules(filter, &policy.cluster_scoped, served);
    stream(&[(comment, json!({ "rbac": { "rules": rules } }))])
}

/// A warning for each group that could not be read, and so may serve a swept kind which the roles lack.
#[must_use]
pub fn warnings(filter: &KindFilter, unread: &[UnreadGroup]) -> Vec<String> {
    let may_hide = unread.iter().filter(|unread| filter.can_select_in(&unread.group));
    let warning = |UnreadGroup { group, error }: &UnreadGroup| {
        format!("warning: the API group {group} could not be read, so the roles lack its kinds: {error}")
    };
    may_hide.map(warning).collect()
}

/// The rules of the cluster role, and a comment about them.
fn object_rules(filter: &KindFilter, cluster_scoped: &[KindPattern], served: &[ServedKind]) -> (Vec<Value>, String) {
    let (deletions, comment) = deletion_rules(filter, cluster_scoped, served);
    // What goes along with an orphan can be of any kind. While a kind cannot be listed, the sweeper deletes nothing, so a
    // CRD to come needs no new role for that.
    let mut rules = vec![rule("", ["events"], &["create"]), rule("*", ["*"], &["list"])];
    rules.extend(deletions);
    let comment = format!(
        "Create an Event about each deletion. List every kind, also those that are not swept: an object of any\n\
         kind can belong to an orphan, and would go along. {comment}"
    );
    (rules, comment)
}

/// The rules that get and delete the swept kinds, and a comment about them.
fn deletion_rules(filter: &KindFilter, cluster_scoped: &[KindPattern], served: &[ServedKind]) -> (Vec<Value>, String) {
    let is_allowed =
        |kind: &ServedKind| kind.namespaced || cluster_scoped.iter().any(|pattern| pattern.matches(&kind.kind));
    let selected: Vec<_> = served.iter().filter(|kind| filter.selects(kind)).collect();
    let swept: Vec<_> = selected.iter().copied().filter(|kind| is_allowed(kind)).collect();
    let mut comment = "Get and delete the swept kinds that the cluster serves\n\
         now: generate it again after installing a CRD."
        .to_owned();
    for pattern in &filter.include {
        if !selected.iter().any(|kind| pattern.matches(&kind.kind)) {
            comment.push_str(&format!("\n`{pattern}` selects no kind that the cluster serves now."));
        }
    }
    // `get` on `*` would include subresources such as `nodes/proxy` and `pods/exec`, which run commands.
    (rules_by_group(&swept, &["get", "delete"]), comment)
}

/// A rule for each group of these kinds.
fn rules_by_group(kinds: &[&ServedKind], verbs: &[&str]) -> Vec<Value> {
    let mut groups: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for kind in kinds {
        // A kind that is served in several versions is one resource.
        groups.entry(&kind.kind.group).or_default().insert(&kind.plural);
    }
    groups.into_iter().map(|(group, resources)| rule(group, resources, verbs)).collect()
}

#[cfg(test)]
mod tests;
