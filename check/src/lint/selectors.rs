//! Warns of two entries whose selectors find the same objects under names that vary.
//!
//! This adapter sets the label `hyperfleet.io/resource` on its objects. Objects of the Go adapter lack that
//! label: an entry owns those that no competing selector finds, and the object of the rendered name. With
//! competing selectors, no entry owns the objects of earlier names.

use lifecycle_config::document::Path;
use lifecycle_core::task::{DiscoverBy, Manifest, Resource, Task};
use lifecycle_language::template::{Part, Template, Tree};
use lifecycle_objects::id::is_same_kind;
use lifecycle_objects::keys;

use super::linter::{Linter, resources};
use super::variation::{Variation, variations};
use crate::written::is_same;

pub(super) fn lint(linter: &mut Linter<'_>) {
    let task = linter.task;
    for (index, (path, resource)) in resources(task).enumerate() {
        let Manifest::Inline(tree) = &resource.manifest else { continue };
        let gates = &resource.gates;
        let Some(effect) = gates
            .delete
            .as_ref()
            .map(|_| "a deletion")
            .or_else(|| gates.orphan.as_ref().map(|_| "a disowning"))
            .or_else(|| resource.retention.map(|_| "retention"))
        else {
            continue;
        };
        if !selects_unnamed(resource) || !has_varying_name(task, tree) || names_its_entry(tree) {
            continue;
        }
        let others = task.resources.iter().enumerate().filter(|(other, _)| *other != index);
        let found_by = others.map(|(_, other)| other).find(|other| finds_all(other, resource, tree));
        if let Some(other) = found_by {
            ambiguous(linter, &path, resource, other, effect);
        }
    }
}

fn ambiguous(linter: &mut Linter<'_>, path: &Path, resource: &Resource, other: &Resource, effect: &str) {
    let (name, other) = (&resource.name, &other.name);
    let message = format!(
        "the selector of `{other}` finds the objects of `{name}`, too, and their names vary: what the Go adapter created has no label `{}`, \
         and belongs to `{name}` only under the name of the current event; {effect} leaves the others alone",
        keys::RESOURCE
    );
    let help = format!("let the selector of `{other}` ask for a label that only the objects of `{other}` have");
    linter.warn(&path.key("discovery").key("by_selectors").key("label_selector"), message, help);
}

/// Whether a selector finds objects without the label `hyperfleet.io/resource`.
fn selects_unnamed(resource: &Resource) -> bool {
    match &resource.discovery.by {
        DiscoverBy::Name(_) => false,
        DiscoverBy::Labels(labels) => labels.iter().all(|(key, _)| key.as_literal() != Some(keys::RESOURCE)),
    }
}

fn names_its_entry(manifest: &Tree) -> bool {
    !matches!(manifest.part(&["metadata", "labels", keys::RESOURCE]), Part::Absent)
}

fn has_varying_name(task: &Task, manifest: &Tree) -> bool {
    match manifest.part(&["metadata", "name"]) {
        Part::Template(name) => variations(task, name).contains(&Variation::Event),
        Part::Literal(_) | Part::Absent | Part::Uncertain => false,
    }
}

/// Whether the selector of `other` certainly finds every object of the manifest of `resource`.
fn finds_all(other: &Resource, resource: &Resource, manifest: &Tree) -> bool {
    let DiscoverBy::Labels(labels) = &other.discovery.by else { return false };
    let is = |wanted: &Template, written: Part<'_>| is_same(&written, wanted) == Some(true);
    let namespace = other.discovery.namespace.as_ref();
    other.transport.can_meet(&resource.transport)
        && is_same_kind(&other.kind, &resource.kind)
        && selects_unnamed(other)
        && namespace.is_none_or(|namespace| is(namespace, manifest.part(&["metadata", "namespace"])))
        && labels.iter().all(|(key, value)| {
            key.as_literal().is_some_and(|key| is(value, manifest.part(&["metadata", "labels", key])))
        })
}
