//! Facts about the objects that a resource's discovery can find, which exclude situations and failures from the
//! exploration.

use lifecycle_core::task::{DiscoverBy, Manifest, Resource, Task};
use lifecycle_language::template::{Part, Template, Tree};
use lifecycle_objects::keys;
use lifecycle_objects::kinds;

use crate::written::is_same;

/// Facts about the objects that a resource's discovery can find; false if not certain.
pub(super) struct Found {
    /// Discovery finds one object at most.
    pub(super) is_single: bool,
    /// Every object that discovery finds has the rendered name and namespace.
    pub(super) is_named: bool,
    /// Discovery finds every object that the manifest renders to.
    pub(super) is_found_again: bool,
    /// No patch can remove a label that the selector needs.
    pub(super) is_found_patched: bool,
}

impl Found {
    pub(super) fn of(task: &Task, resource: &Resource) -> Self {
        let is_cluster_scoped = kinds::is_namespaced(&resource.kind) == Some(false);
        let in_namespace = |wanted: &Template| is_written(resource, &["namespace"], wanted);
        let namespace = resource.discovery.namespace.as_ref();
        match &resource.discovery.by {
            DiscoverBy::Name(name) => {
                let namespace = namespace.filter(|namespace| is_never_empty(task, namespace));
                let is_single = is_cluster_scoped || namespace.is_some();
                let is_placed = is_cluster_scoped || namespace.is_some_and(in_namespace);
                let is_named = is_single && is_placed && is_written(resource, &["name"], name);
                Self { is_single, is_named, is_found_again: is_named, is_found_patched: true }
            }
            DiscoverBy::Labels(labels) => {
                let is_placed = namespace.is_none_or(in_namespace);
                let is_labelled = labels.iter().all(|(key, value)| {
                    key.as_literal().is_some_and(|key| is_written(resource, &["labels", key], value))
                });
                Self {
                    is_single: false,
                    is_named: false,
                    is_found_again: is_placed && is_labelled && takes_its_own_label(resource),
                    is_found_patched: !resource.gates.patches.iter().any(|patch| can_write_labels(&patch.document)),
                }
            }
        }
    }
}

/// Whether a key of the manifest's metadata certainly renders to the text for which discovery searches.
fn is_written(resource: &Resource, keys: &[&str], wanted: &Template) -> bool {
    let Manifest::Inline(tree) = &resource.manifest else { return false };
    is_same(&tree.part(&[&["metadata"], keys].concat()), wanted) == Some(true)
}

/// Whether a patch can change labels.
fn can_write_labels(document: &Tree) -> bool {
    !matches!(document.part(&["metadata", "labels"]), Part::Absent)
}

/// Whether objects get the label `hyperfleet.io/resource` with the resource's name.
fn takes_its_own_label(resource: &Resource) -> bool {
    let Manifest::Inline(tree) = &resource.manifest else { return false };
    match tree.part(&["metadata", "labels", keys::RESOURCE]) {
        Part::Literal(value) => value.as_str() == Some(resource.name.as_str()),
        Part::Absent => true,
        Part::Template(_) | Part::Uncertain => false,
    }
}

/// Whether the source of a template shows that it renders to a non-empty text for every event: it has text outside
/// of its actions, or reads a required param. The adapter drops an event without a value for a required param before
/// it renders templates, so a template of nothing but required params counts.
fn is_never_empty(task: &Task, template: &Template) -> bool {
    let mut parts = template.source().split("{{");
    let mut has_text = parts.next().is_some_and(|text| !text.is_empty());
    for part in parts {
        let Some((action, text)) = part.split_once("}}") else { return false };
        let Some(variable) = action.trim().strip_prefix('.') else { return false };
        // An action other than a plain variable may be a condition, or trim the text around it.
        if !variable.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '.')) {
            return false;
        }
        has_text |= !text.is_empty() || is_required(task, variable);
    }
    has_text
}

fn is_required(task: &Task, variable: &str) -> bool {
    task.times_set(variable) == 1 && task.params.iter().any(|param| param.name == variable && param.required)
}
