//! The rights that a task needs in Kubernetes, and no more.
//!
//! In: a compiled task. Out: for each resource the verbs that its reads and its reachable decisions need, and for each bundle
//! those that its objects need; sentences about what no task file tells. Nothing fails.
//! Resources on remote clusters need no right in this one, and are left out.

pub(crate) mod members;

use std::collections::{BTreeMap, BTreeSet};

use lifecycle_core::task::{DiscoverBy, Resource, Task, TransportKind};
use lifecycle_language::template::Template;
use lifecycle_objects::id::GroupVersionKind;
use lifecycle_objects::kinds::is_namespaced;

use crate::reach::{Reach, reach};

/// What the adapter must be allowed to do with objects of one kind.
#[derive(Debug)]
pub struct Rights {
    /// The kind of the objects.
    pub kind: GroupVersionKind,
    /// The one namespace of the objects; none if only an event shows the namespace, or if they are in none.
    pub namespace: Option<String>,
    /// The verbs, as RBAC spells them.
    pub verbs: BTreeSet<&'static str>,
}

/// The rights that each resource of a task needs, in the task's order; after those for the parent of a bundle, those for its
/// objects.
#[must_use]
pub fn rights(task: &Task) -> Vec<Rights> {
    let here = |reach: &Reach<'_>| matches!(reach.resource.transport, TransportKind::Kubernetes);
    let mut rights = Vec::new();
    for reach in reach(task).iter().filter(|reach| here(reach)) {
        rights.push(of(reach));
        rights.extend(search(reach));
        rights.extend(reach.resource.bundle.iter().flat_map(members::rights));
    }
    rights
}

/// The plural names of the kinds whose definitions are in bundles of a task, by API group and kind.
#[must_use]
pub fn plurals(task: &Task) -> BTreeMap<(String, String), String> {
    task.resources.iter().filter_map(|resource| resource.bundle.as_ref()).flat_map(members::plurals).collect()
}

/// What [`rights`] lacks, because only an event or the cluster tells, in sentences.
#[must_use]
pub fn unknown(task: &Task) -> Vec<String> {
    let bundles = task.resources.iter().filter_map(|resource| Some((resource, resource.bundle.as_ref()?)));
    bundles.flat_map(|(resource, bundle)| members::unknown(resource, bundle)).collect()
}

fn of(reach: &Reach<'_>) -> Rights {
    let resource = reach.resource;
    let mut verbs = BTreeSet::from([match resource.discovery.by {
        DiscoverBy::Name(_) => "get",
        DiscoverBy::Labels(_) => "list",
    }]);
    if resource.gates.orphan.is_some() {
        // What its own discovery no longer finds is searched for by the label `hyperfleet.io/disowned`.
        verbs.insert("list");
    }
    for (decision, _) in reach.rows.iter().flat_map(|row| &row.decisions) {
        verbs.extend(verbs_of(decision));
    }
    if resource.retention.is_some() {
        verbs.extend(verbs_of("delete"));
    }
    if resource.bundle.is_some() {
        // The parent is written whenever the set changes.
        verbs.insert("patch");
    }
    Rights { kind: resource.kind.clone(), namespace: namespace(resource).map(str::to_owned), verbs }
}

/// The right to search for what is left of a resource under another name or in another namespace, before it counts as gone.
fn search(reach: &Reach<'_>) -> Option<Rights> {
    let goes = reach.rows.iter().flat_map(|row| &row.decisions).any(|(name, _)| *name == "delete" || *name == "disown");
    let verbs = BTreeSet::from(["list"]);
    goes.then(|| Rights { kind: reach.resource.kind.clone(), namespace: None, verbs })
}

/// The verbs of the writes that carry out a decision, by its name in logs.
fn verbs_of(decision: &str) -> &'static [&'static str] {
    match decision {
        // The object that has the wanted name already is read.
        "create" | "create_version" => &["create", "get"],
        "recreate" => &["create", "get", "delete"],
        // An update is a server-side apply, which is a patch to RBAC.
        "update" | "patch" | "disown" => &["patch"],
        // Whether an object that somebody changed meanwhile is on its way out is read.
        "delete" => &["delete", "get"],
        _ => &[],
    }
}

/// The namespace that the discovery names. An object elsewhere is not created: its own discovery would not find it.
fn namespace(resource: &Resource) -> Option<&str> {
    let namespace = resource.discovery.namespace.as_ref().and_then(Template::as_literal)?;
    let is_one = !namespace.is_empty() && namespace != "*" && is_namespaced(&resource.kind) != Some(false);
    is_one.then_some(namespace)
}

#[cfg(test)]
mod tests {
    #![expect(clippy::panic, reason = "tests")]

    use super::*;
    use lifecycle_core::task::compile::{Surroundings, compile};

    fn task(resource: &str) -> Task {
        let text = format!("params: [{{name: x, source: event.x}}]\nresources:\n  - name: job\n    {resource}\n");
        let surroundings = Surroundings { read: &|file| Err(format!("no file {file}")), environment: &|_| None };
        let compiled = compile("task.yaml", &text, &surroundings);
        compiled.task.unwrap_or_else(|| panic!("{text}\n{}", compiled.diagnostics))
    }

    const MANIFEST: &str =
        "manifest: {apiVersion: batch/v1, kind: Job, metadata: {name: a, namespace: n, labels: {app: a}}}\n    ";
    const BY_NAME: &str = "discovery: {by_name: a, namespace: n}\n    ";
    const BY_LABELS: &str = "discovery: {by_selectors: {label_selector: {app: a}}}\n    ";

    #[test]
    fn verbs_are_those_of_the_reachable_decisions() {
        let gate =
            |key: &str, expression: &str| format!("lifecycle: {{{key}: {{when: {{expression: \"{expression}\"}}}}}}");
        let patch = "lifecycle: {patch: [{when: {expression: x}, document: {a: 1}}], create: {when: {expression: \"false\"}}, apply: {when: {expression: \"false\"}}}";
        let cases = [
            (BY_NAME, String::new(), "create get patch"),
            (BY_LABELS, String::new(), "create get list patch"),
            (BY_NAME, gate("apply", "!has(resources.job)"), "create get"),
            (BY_NAME, gate("delete", "x"), "create delete get patch"),
            (BY_NAME, gate("delete", "true"), "delete get"),
            // Patch: one of several versions may be disowned, and then the others are.
            (BY_LABELS, gate("delete", "true"), "delete get list patch"),
            (BY_NAME, gate("delete", "false"), "create get patch"),
            (BY_NAME, gate("recreate", "x"), "create delete get patch"),
            (BY_NAME, "recreate_on_change: true".to_owned(), "create delete get patch"),
            (BY_NAME, gate("orphan", "x"), "create get list patch"),
            (BY_LABELS, "retention: {historyLimit: 1}".to_owned(), "create delete get list patch"),
            (BY_NAME, patch.to_owned(), "get patch"),
            (BY_NAME, "when: {expression: \"false\"}".to_owned(), "get"),
        ];
        for (discovery, more, expected) in cases {
            let task = task(&format!("{MANIFEST}{discovery}{more}"));
            let verbs: Vec<_> = rights(&task).remove(0).verbs.into_iter().collect();
            assert_eq!(verbs.join(" "), expected, "{discovery}{more}");
        }
    }

    #[test]
    fn resource_that_goes_is_searched_for_in_all_namespaces() {
        for (more, expected) in [
            ("", 1),
            ("lifecycle: {delete: {when: {expression: x}}}", 2),
            ("lifecycle: {orphan: {when: {expression: x}}}", 2),
        ] {
            let all = rights(&task(&format!("{MANIFEST}{BY_NAME}{more}")));
            assert_eq!(all.len(), expected, "{more}");
            let search = all.get(1).map(|search| (search.namespace.clone(), search.verbs.clone()));
            assert!(search.is_none_or(|search| search == (None, BTreeSet::from(["list"]))), "{more}");
        }
    }

    #[test]
    fn kinds_of_the_items_of_a_list_are_known_with_an_event() {
        let of_bundle = |manifest: &str| {
            let task = task(&format!("bundle:\n      namespace: n\n      manifests: [{manifest}]"));
            let mut kinds = rights(&task).into_iter().map(|rights| rights.kind.kind);
            let names_it = kinds.any(|kind| kind.ends_with("List"));
            (names_it, unknown(&task).join(" ").contains("Only an event tells all kinds"))
        };
        let items = "items: [{apiVersion: v1, kind: Secret, metadata: {name: a}}]";
        for (name, manifest, expected) in [
            ("a list", format!("{{apiVersion: v1, kind: List, {items}}}"), (false, true)),
            ("a list of one kind", format!("{{apiVersion: v1, kind: SecretList, {items}}}"), (false, true)),
            (
                "an object whose kind ends so",
                "{apiVersion: example.io/v1, kind: AccessList, metadata: {name: a}}".to_owned(),
                (true, false),
            ),
        ] {
            assert_eq!(of_bundle(&manifest), expected, "{name}");
        }
    }

    #[test]
    fn objects_of_a_bundle_need_rights_of_their_own() {
        let bundle = "bundle:\n      namespace: n\n      policies: {missing_namespaces: ignore}\n      manifests:\n        \
                      - {kind: Secret, apiVersion: v1, metadata: {name: a}}\n        \
                      - {kind: Foo, apiVersion: example.io/v1, metadata: {name: f, namespace: other, annotations: {hyperfleet.io/update-policy: replace}}}\n        \
                      - {kind: CustomResourceDefinition, apiVersion: apiextensions.k8s.io/v1, metadata: {name: fooz.example.io}, spec: {group: example.io, names: {kind: Foo, plural: fooz}}}\n        \
                      - \"{{ if .x }}kind: A{{ end }}\"\n    \
                      lifecycle: {delete: {when: {expression: x}}}";
        let task = task(bundle);
        let all: Vec<String> = rights(&task)
            .into_iter()
            .map(|Rights { kind, namespace, verbs }| {
                let verbs: Vec<&str> = verbs.into_iter().collect();
                format!("{} {} {}", kind.kind, namespace.as_deref().unwrap_or("*"), verbs.join(" "))
            })
            .collect();
        assert_eq!(
            all,
            [
                "ConfigMap n create delete get patch",
                "ConfigMap * list",
                "CustomResourceDefinition * create delete get list patch",
                "Foo * list",
                "Foo other create delete get list patch update",
                "Secret n create delete get list patch",
            ]
        );
        let plural = plurals(&task).remove(&("example.io".to_owned(), "Foo".to_owned()));
        assert_eq!(plural.as_deref(), Some("fooz"), "as the definition says");
        let unknown = unknown(&task).join("\n");
        assert!(unknown.contains("`job`.bundle.manifests[3]") && unknown.contains("instances are listed"), "{unknown}");
    }

    #[test]
    fn rights_in_a_namespace_that_the_bundle_keeps_are_for_the_whole_cluster() {
        let bundle = "bundle:\n      namespace: n\n      policies: {missing_namespaces: ignore}\n      managed_types: [example.io/Foo]\n      manifests:\n        \
                      - {kind: Namespace, apiVersion: v1, metadata: {name: own}}\n        \
                      - {kind: Secret, apiVersion: v1, metadata: {name: a, namespace: own}}\n        \
                      - {kind: Secret, apiVersion: v1, metadata: {name: b, namespace: other}}\n    \
                      lifecycle: {delete: {when: {expression: x}}}";
        let task = task(bundle);
        let told =
            |Rights { kind, namespace, .. }: Rights| format!("{} {}", kind.kind, namespace.as_deref().unwrap_or("*"));
        let all: Vec<String> = rights(&task).into_iter().map(told).collect();
        assert_eq!(all, ["ConfigMap n", "ConfigMap *", "Foo *", "Namespace *", "Secret *", "Secret other"]);
        assert!(!unknown(&task).join("\n").contains("instances"), "a rule names the type");
    }

    #[test]
    fn namespace_is_that_of_the_discovery_if_no_event_decides_it() {
        let manifest = MANIFEST;
        let cases = [
            (format!("{manifest}{BY_NAME}"), Some("n")),
            (format!("{manifest}{BY_LABELS}"), None),
            (format!("{manifest}discovery: {{by_name: a, namespace: \"*\"}}"), None),
            (format!("{manifest}discovery: {{by_name: a, namespace: \"{{{{ .x }}}}\"}}"), None),
            ("manifest: {apiVersion: v1, kind: Namespace, metadata: {name: a}}\n    discovery: {by_name: a, namespace: n}".to_owned(), None),
        ];
        for (resource, expected) in cases {
            assert_eq!(rights(&task(&resource))[0].namespace.as_deref(), expected, "{resource}");
        }
    }
}
