//! `rbac`: prints the roles that the adapter needs for its task, as manifests or as values of its Helm chart.
//!
//! In: the task, and a service account. Out: a rule for each kind and set of verbs, for the namespace where the objects are
//! if the task names one, else for the whole cluster. Fails: if a configuration file has errors. No server is asked, so the
//! plural of a custom kind is a guess, and a comment says so, unless its definition is in a bundle of the task.

use std::collections::{BTreeMap, BTreeSet};
use std::process::ExitCode;

use lifecycle_check::rights::{Rights, plurals, rights, unknown};
use lifecycle_core::task::Task;
use lifecycle_kube::rights::{Account, binding, plural, role, rule, stream};
use lifecycle_objects::id::GroupVersionKind;
use lifecycle_objects::kinds::is_namespaced;
use serde_json::{Map, Value, json};

use super::{checked, print, print_diagnostics};
use crate::args::RbacArgs;
use crate::config::{Checked, Environment};

/// Prints the roles.
///
/// # Errors
/// Standard output cannot be written.
pub fn rbac(arguments: &RbacArgs, environment: &Environment) -> anyhow::Result<ExitCode> {
    let RbacArgs { flags, account, values } = arguments;
    let Checked { diagnostics, task } = checked(flags, environment);
    let Some(task) = task.filter(|_| !diagnostics.has_errors()) else { return print_diagnostics(&diagnostics) };
    let needs = Needs::of(&task);
    print(&if *values { needs.values() } else { needs.manifests(account) })
}

/// The rules of a task, by namespace: without one for the whole cluster.
struct Needs {
    rules: BTreeMap<Option<String>, Vec<Value>>,
    remarks: Vec<String>,
}

impl Needs {
    fn of(task: &Task) -> Self {
        let (rights, defined) = (rights(task), plurals(task));
        let definition = |kind: &GroupVersionKind| defined.get(&(kind.group.clone(), kind.kind.clone()));
        // Entries of the same kind and namespace share a rule, and kinds of the same group and verbs do, too.
        let mut kinds: BTreeMap<(Option<String>, String, String), BTreeSet<&str>> = BTreeMap::new();
        for Rights { kind, namespace, verbs } in &rights {
            let resource = definition(kind).cloned().unwrap_or_else(|| plural(kind));
            let key = (namespace.clone(), kind.group.clone(), resource);
            kinds.entry(key).or_default().extend(verbs);
        }
        let mut groups: BTreeMap<_, Vec<String>> = BTreeMap::new();
        for ((namespace, group, resource), verbs) in kinds {
            groups.entry((namespace, group, verbs)).or_default().push(resource);
        }
        let mut rules: BTreeMap<_, Vec<_>> = BTreeMap::new();
        for ((namespace, group, verbs), resources) in groups {
            let verbs: Vec<_> = verbs.into_iter().collect();
            rules.entry(namespace).or_default().push(rule(&group, resources.iter().map(String::as_str), &verbs));
        }
        let mut remarks: Vec<_> = rights
            .iter()
            .map(|rights| &rights.kind)
            .filter(|kind| definition(kind).is_none())
            .filter_map(remark)
            .collect();
        remarks.extend(unknown(task));
        remarks.sort_unstable();
        remarks.dedup();
        Self { rules, remarks }
    }

    fn manifests(&self, account: &Account) -> String {
        // Each adapter on a cluster has an account of its own, and so roles of its own.
        let name = format!("hyperfleet-adapter:{}:{}", account.namespace, account.name);
        let mut documents = Vec::new();
        for (namespace, rules) in &self.rules {
            let namespace = namespace.as_deref();
            let place = namespace.map_or("any namespace, or in none".to_owned(), |namespace| format!("`{namespace}`"));
            let mut comment =
                format!("The verbs that the task's reads, gates and writes need, for objects in {place}.");
            if documents.is_empty() {
                self.remarks.iter().for_each(|remark| comment.extend(["\n", remark]));
            }
            documents.push((comment, role(namespace, &name, rules)));
            let bound = format!("Binds the role above to the service account {account}.");
            documents.push((bound, binding(namespace, &name, account)));
        }
        stream(&documents)
    }

    fn values(&self) -> String {
        let cluster = self.rules.get(&None).cloned().unwrap_or_default();
        let namespaced = self.rules.iter().filter_map(|(namespace, rules)| Some((namespace.clone()?, json!(rules))));
        let namespaced: Map<String, Value> = namespaced.collect();
        let comment = "The rules that the task needs, for `helm install --values`.".to_owned();
        let comment = std::iter::once(comment).chain(self.remarks.iter().cloned()).collect::<Vec<_>>().join("\n");
        stream(&[(comment, json!({ "rbac": { "rules": cluster, "namespaces": namespaced } }))])
    }
}

/// What a person has to know about rights for a kind.
fn remark(kind: &GroupVersionKind) -> Option<String> {
    if kind.group == "rbac.authorization.k8s.io" {
        let (limit, verb, of) = match kind.kind.strip_suffix("Binding") {
            Some(role) => ("roles whose rights", "bind", role),
            None => ("rights that", "escalate", kind.kind.as_str()),
        };
        Some(format!(
            "The task writes a {}: the API server allows only {limit} the account has itself, unless it may `{verb}` {}s.",
            kind.kind,
            of.to_lowercase()
        ))
    } else if is_namespaced(kind).is_none() {
        let resource = plural(kind);
        Some(format!(
            "The name `{resource}` of {} in {} is a guess: compare it with its definition.",
            kind.kind, kind.group
        ))
    } else {
        None
    }
}
