//! The rights that the objects of a bundle need, as far as their manifests tell before an event.
//!
//! In: an entry with a bundle. Out: the verbs for each kind and namespace, and sentences about what no manifest tells. Nothing
//! fails.

use std::collections::{BTreeMap, BTreeSet};

use lifecycle_bundle::policy::{Delete, Policy as _, Update};
use lifecycle_core::task::{Bundle, Resource};
use lifecycle_language::template::{Part, Tree};
use lifecycle_objects::id::GroupVersionKind;
use lifecycle_objects::kinds::is_namespaced;
use lifecycle_objects::type_pattern::TypePattern;

use super::Rights;
use crate::manifests::kind;

/// A member is listed, created, read if its name is taken, applied (which is a patch to RBAC), and deleted once it leaves.
const VERBS: [&str; 5] = ["list", "create", "get", "patch", "delete"];

/// The rights for the objects of a bundle, without those for its parent.
pub(super) fn rights(bundle: &Bundle) -> Vec<Rights> {
    let mut needs: BTreeMap<(String, Option<String>), Rights> = BTreeMap::new();
    for tree in bundle.manifests.iter().flat_map(|manifest| manifest.structures()) {
        let Some(kind) = kind(&tree) else { continue };
        let namespace = namespace(&tree, &kind, bundle);
        let rights = needs.entry((kind.to_string(), namespace.clone()));
        let rights = rights.or_insert_with(|| Rights { kind, namespace, verbs: VERBS.into() });
        if bundle.policies.update == Update::Replace || is_replaced(&tree, bundle) {
            rights.verbs.insert("update");
        }
    }
    for kind in looked_at(bundle).filter_map(TypePattern::exact) {
        let kind = GroupVersionKind { group: kind.group, version: String::new(), kind: kind.kind };
        let rights = needs.entry((kind.to_string(), None));
        let rights = rights.or_insert_with(|| Rights { kind, namespace: None, verbs: BTreeSet::new() });
        rights.verbs.insert("list");
    }
    let namespaces = bundle.creates_namespaces.then(|| {
        let kind = GroupVersionKind::new("v1", "Namespace");
        Rights { kind, namespace: None, verbs: BTreeSet::from(["create", "get"]) }
    });
    needs.into_values().chain(namespaces).collect()
}

/// The plural names in the definitions of a bundle, by API group and kind.
pub(super) fn plurals(bundle: &Bundle) -> Vec<((String, String), String)> {
    let of_tree = |tree: &Tree| {
        let text = |path: &[&str]| match tree.part(path) {
            Part::Literal(value) => value.as_str().map(str::to_owned),
            Part::Absent | Part::Template(_) | Part::Uncertain => None,
        };
        let is_definition = kind(tree)?.kind == "CustomResourceDefinition";
        let of_definition = || {
            Some(((text(&["spec", "group"])?, text(&["spec", "names", "kind"])?), text(&["spec", "names", "plural"])?))
        };
        is_definition.then(of_definition)?
    };
    bundle.manifests.iter().flat_map(|manifest| manifest.structures()).filter_map(|tree| of_tree(&tree)).collect()
}

/// The types whose instances are looked at in all namespaces before something is deleted, as far as no event decides them: a type
/// that is always kept is not looked at.
fn looked_at(bundle: &Bundle) -> impl Iterator<Item = &TypePattern> {
    let going = bundle.known.iter().filter(|object| object.settings.policies.delete != Delete::Orphan);
    going.filter_map(|object| object.introduces.as_ref()).chain(&bundle.managed_types)
}

/// What the rights of a bundle's objects lack, because only an event, or the cluster, tells.
pub(super) fn unknown(resource: &Resource, bundle: &Bundle) -> Vec<String> {
    let name = &resource.name;
    let mut unknown = Vec::new();
    let mut kinds = BTreeSet::new();
    for (index, manifest) in bundle.manifests.iter().enumerate() {
        let of_manifest: Vec<_> = manifest.structures().iter().map(|tree| kind(tree)).collect();
        if of_manifest.is_empty() || of_manifest.contains(&None) {
            unknown.push(format!(
                "Only an event tells all kinds of `{name}`.bundle.manifests[{index}]: add `list`, `create`, `get`, `patch` and \
                 `delete` for each of them."
            ));
        }
        kinds.extend(of_manifest.into_iter().flatten().map(|kind| kind.kind));
    }
    let others =
        bundle.has_others && ["CustomResourceDefinition", "APIService"].iter().any(|kind| kinds.contains(*kind));
    if others || looked_at(bundle).any(|types| types.exact().is_none()) {
        unknown.push(format!(
            "Before the types of `{name}` are deleted, their instances are listed in all namespaces: add `list` for those that no rule \
             names."
        ));
    }
    if kinds.contains("Namespace") {
        unknown.push(format!(
            "Before a namespace of `{name}` is deleted, all that is in it is listed: add `list` for every kind (`*`) there."
        ));
    }
    unknown
}

/// The one namespace of the object; none if only an event tells it, if it is in none, or if the bundle creates and deletes the
/// namespace: a role in it could not be there before it, and would keep it from being deleted.
fn namespace(tree: &Tree, kind: &GroupVersionKind, bundle: &Bundle) -> Option<String> {
    let namespace = match tree.part(&["metadata", "namespace"]) {
        Part::Literal(value) => value.as_str()?,
        Part::Absent if is_namespaced(kind) == Some(true) => bundle.namespace.as_literal()?,
        Part::Absent | Part::Template(_) | Part::Uncertain => return None,
    };
    let is_own = bundle.known.iter().any(|it| it.identity.kind.is_namespace() && it.identity.name == namespace);
    (!namespace.is_empty() && !is_own && is_namespaced(kind) != Some(false)).then(|| namespace.to_owned())
}

/// Whether an annotation of the object has it replaced, or may have it replaced.
fn is_replaced(tree: &Tree, bundle: &Bundle) -> bool {
    match tree.part(&["metadata", "annotations", &format!("{}/update-policy", bundle.prefix)]) {
        Part::Absent => false,
        Part::Literal(value) => value.as_str().is_some_and(|word| Update::parse(word) == Ok(Some(Update::Replace))),
        Part::Template(_) | Part::Uncertain => true,
    }
}
