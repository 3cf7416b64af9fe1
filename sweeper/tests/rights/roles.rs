//! Asks the API server, for every resource and verb, whether the printed roles allow it.

use std::collections::{BTreeMap, BTreeSet};
use std::io::Write as _;

use anyhow::{Result, ensure};
use futures::{StreamExt as _, TryStreamExt as _, stream};
use http::Method;
use hyperfleet_sweeper::inventory::KindFilter;
use hyperfleet_sweeper::rights::rbac;
use lifecycle_e2e::{PATIENCE, await_condition, unique};
use lifecycle_kube::rights::Account;
use serde_json::json;

use super::{Server, account, config};

const VERBS: [&str; 12] = [
    "bind",
    "create",
    "delete",
    "deletecollection",
    "escalate",
    "get",
    "impersonate",
    "list",
    "patch",
    "update",
    "use",
    "watch",
];

/// Subresources by which commands run, tokens are issued, or objects change.
const SUBRESOURCES: [&str; 8] = [
    "deployments.apps/scale",
    "namespaces/finalize",
    "nodes/proxy",
    "pods/exec",
    "pods/log",
    "pods/proxy",
    "pods/status",
    "serviceaccounts/token",
];

/// The name of the Lease, by default.
const LEASE: &str = "hyperfleet-sweeper";

/// Where a right is asked for: a namespace and a name, or all of them if empty.
#[derive(Clone, Copy)]
struct Scope<'a>(&'a str, &'a str);

const CLUSTER: Scope<'_> = Scope("", "");

/// The verbs that a user may use on each resource; resources without any are left out.
type Rights = BTreeMap<String, Vec<&'static str>>;

fn rights(expected: &[(&str, &[&'static str])]) -> Rights {
    expected.iter().map(|(resource, verbs)| ((*resource).to_owned(), verbs.to_vec())).collect()
}

impl Server {
    /// Whether a user may; the resource is written as `deployments.apps/scale`.
    async fn may(&self, user: &str, verb: &str, resource: &str, scope: Scope<'_>) -> Result<bool> {
        let (resource, subresource) = resource.split_once('/').unwrap_or((resource, ""));
        let (resource, group) = resource.split_once('.').unwrap_or((resource, ""));
        let Scope(namespace, name) = scope;
        let review = json!({
            "apiVersion": "authorization.k8s.io/v1", "kind": "SubjectAccessReview",
            "spec": { "user": user, "resourceAttributes": {
                "group": group, "resource": resource, "subresource": subresource, "verb": verb,
                "namespace": namespace, "name": name,
            } },
        });
        let path = "/apis/authorization.k8s.io/v1/subjectaccessreviews";
        let answer = self.send("", Method::POST, path, &review).await?;
        Ok(answer["status"]["allowed"] == true)
    }

    /// Everything that a user may do with the resources that the server serves, and with chosen subresources.
    async fn rights(&self, user: &str, scope: Scope<'_>) -> Result<Rights> {
        let mut resources: BTreeSet<_> = SUBRESOURCES.into_iter().map(str::to_owned).collect();
        resources.extend(self.served.iter().map(|kind| match kind.kind.group.as_str() {
            "" => kind.plural.clone(),
            group => format!("{}.{group}", kind.plural),
        }));
        let questions = resources.iter().flat_map(|resource| VERBS.map(|verb| (resource, verb)));
        let allowed = stream::iter(questions).map(async |(resource, verb)| -> Result<_> {
            Ok(self.may(user, verb, resource, scope).await?.then_some((resource, verb)))
        });
        let allowed: Vec<_> = allowed.buffered(8).try_collect().await?;
        let mut rights = Rights::new();
        for (resource, verb) in allowed.into_iter().flatten() {
            rights.entry(resource.clone()).or_default().push(verb);
        }
        Ok(rights)
    }

    async fn await_right(&self, user: &str, verb: &str, resource: &str, scope: Scope<'_>) -> Result<()> {
        await_condition("the roles to take effect", PATIENCE, async || {
            ensure!(self.may(user, verb, resource, scope).await?, "{user} may not {verb} {resource}");
            Ok(())
        })
        .await
    }

    /// Applies the roles for a configuration, and waits until they hold.
    async fn grant(&self, text: &str, account: &Account) -> Result<KindFilter> {
        let config = config(text)?;
        self.apply(&rbac::manifests(&config.filter, &config.policy, &config.lease, &self.served, account)).await?;
        let user = account.user();
        self.await_right(&user, "create", "events", CLUSTER).await?;
        self.await_right(&user, "patch", "leases.coordination.k8s.io", Scope(&account.namespace, LEASE)).await?;
        Ok(config.filter)
    }
}

#[tokio::test]
async fn sweeper_may_handle_included_kinds_and_its_lease_only() -> Result<()> {
    let server = Server::connect().await?;
    let namespace = server.control_plane.namespace().await?;
    let account = account(&format!("{}/{}", namespace.name(), unique("sweeper")))?;
    let mut key = tempfile::NamedTempFile::new()?;
    key.write_all(&[7; 32])?;
    let kinds = "kinds:\n  include: [ConfigMap, apps/*, Namespace, ClusterRole]\n  exclude: [StatefulSet]\n  \
                 cluster_scoped: [ClusterRole]\n";
    server.grant(&format!("{kinds}signing_key_files: [{}]\n", key.path().display()), &account).await?;

    let user = account.user();
    let swept = &["delete", "get", "list"];
    let expected = rights(&[
        ("clusterroles.rbac.authorization.k8s.io", swept),
        ("configmaps", swept),
        ("controllerrevisions.apps", swept),
        ("daemonsets.apps", swept),
        ("deployments.apps", swept),
        ("events", &["create", "list"]),
        ("replicasets.apps", swept),
    ]);
    // What goes along can be of any kind.
    let beside_lists = |mut rights: Rights| {
        assert!(rights.values().all(|verbs| verbs.contains(&"list")), "{rights:?}");
        rights.retain(|_, verbs| **verbs != ["list"]);
        rights
    };
    let found = async |scope| Ok::<_, anyhow::Error>(beside_lists(server.rights(&user, scope).await?));
    assert_eq!(found(CLUSTER).await?, expected);
    let with_lease = |verbs: &[&'static str]| {
        let lease = ("leases.coordination.k8s.io".to_owned(), verbs.to_vec());
        expected.clone().into_iter().chain([lease]).collect::<Rights>()
    };
    let another = found(Scope(namespace.name(), "another")).await?;
    assert_eq!(another, with_lease(&["create", "list"]), "in its namespace, for another Lease");
    let own = found(Scope(namespace.name(), LEASE)).await?;
    assert_eq!(own, with_lease(&["create", "get", "list", "patch"]), "for its Lease");
    Ok(())
}

#[tokio::test]
async fn sweeper_of_every_kind_may_not_run_commands() -> Result<()> {
    let server = Server::connect().await?;
    let namespace = server.control_plane.namespace().await?;
    let account = account(&format!("{}/{}", namespace.name(), unique("sweeper")))?;
    let filter = server.grant("", &account).await?;

    let found = server.rights(&account.user(), CLUSTER).await?;
    let of = |resource: &str| found.get(resource).map(Vec::as_slice).unwrap_or_default();
    for subresource in SUBRESOURCES {
        assert_eq!(of(subresource), ["list"], "{subresource}: no request has this verb and a subresource");
    }
    for kind in &server.served {
        let group = &kind.kind.group;
        let resource = if group.is_empty() { kind.plural.clone() } else { format!("{}.{group}", kind.plural) };
        let expected: &[&str] = match resource.as_str() {
            "events" => &["create", "list"],
            _ if filter.selects(kind) && kind.namespaced => &["delete", "get", "list"],
            _ => &["list"],
        };
        assert_eq!(of(&resource), expected, "{resource}");
    }
    Ok(())
}

#[tokio::test]
async fn approver_may_patch_the_lease_and_tell_the_cluster_only() -> Result<()> {
    let server = Server::connect().await?;
    let namespace = server.control_plane.namespace().await?;
    let account = account(&format!("{}/{}", namespace.name(), unique("sweeper")))?;
    server.grant("kinds: {include: [ConfigMap]}\n", &account).await?;
    let person = unique("person");
    let name = format!("hyperfleet-sweeper:{}:{}:approver", account.namespace, account.name);
    let group = "rbac.authorization.k8s.io";
    let binding = json!({
        "apiVersion": format!("{group}/v1"), "kind": "RoleBinding",
        "metadata": { "name": person, "namespace": namespace.name() },
        "roleRef": { "apiGroup": group, "kind": "Role", "name": name },
        "subjects": [{ "apiGroup": group, "kind": "User", "name": person }],
    });
    server.apply(&binding.to_string()).await?;
    let mut binding = binding;
    binding["kind"] = json!("ClusterRoleBinding");
    binding["metadata"] = json!({ "name": person });
    binding["roleRef"]["kind"] = json!("ClusterRole");
    server.apply(&binding.to_string()).await?;
    let (lease, system) = (Scope(namespace.name(), LEASE), Scope("", "kube-system"));
    server.await_right(&person, "patch", "leases.coordination.k8s.io", lease).await?;
    server.await_right(&person, "get", "namespaces", system).await?;

    let expected = rights(&[("leases.coordination.k8s.io", &["get", "patch"])]);
    assert_eq!(server.rights(&person, lease).await?, expected);
    assert_eq!(server.rights(&person, system).await?, rights(&[("namespaces", &["get"])]));
    for elsewhere in [CLUSTER, Scope("", "another"), Scope(namespace.name(), "another"), Scope("default", LEASE)] {
        assert_eq!(server.rights(&person, elsewhere).await?, Rights::new());
    }
    Ok(())
}
