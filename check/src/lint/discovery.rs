//! Warns of objects that their own discovery does not find, and of two resources that are the same object.

use std::collections::BTreeSet;

use lifecycle_config::document::Path;
use lifecycle_core::task::{DiscoverBy, Discovery, Manifest, Resource, TransportKind};
use lifecycle_language::template::{Part, Template};
use lifecycle_objects::id::GroupVersionKind;
use lifecycle_objects::keys;
use lifecycle_objects::kinds;

use super::clocks;
use super::linter::{Linter, resources};
use crate::written::{is_same, metadata, namespace};

pub(super) fn lint(linter: &mut Linter<'_>) {
    let task = linter.task;
    for (path, resource) in resources(task) {
        if let Some((at, fault)) = mismatch(resource) {
            let place = at.iter().fold(path.key("discovery"), |path, key| path.key(key));
            let name = &resource.name;
            let message = format!(
                "does not find what the manifest describes: {fault}; `{name}` is never created (`SelectorMismatch`)"
            );
            linter.warn(&place, message, "give the manifest and the discovery the same value".to_owned());
        }
        clock(linter, &path, resource);
        namespaces(linter, &path, resource);
    }
    let places: Vec<_> = task.resources.iter().map(place).collect();
    for (index, (path, resource)) in resources(task).enumerate().filter(|(index, _)| places[*index].is_some()) {
        // Two entries for one object may take turns if gates choose between them.
        let take_turns = |other: usize| task.resources[other].gates.hold_back() && resource.gates.hold_back();
        let twin = (0..index).find(|&other| places[other] == places[index] && !take_turns(other));
        if let Some(other) = twin {
            twins(linter, &path, other);
        }
    }
}

/// The key of the discovery that excludes the resource's own manifest, and what the manifest has there.
fn mismatch(resource: &Resource) -> Option<(Vec<&str>, String)> {
    let Manifest::Inline(tree) = &resource.manifest else { return None };
    let Discovery { namespace, by } = &resource.discovery;
    let has = |keys: &[&str], value: &dyn std::fmt::Display| format!("its `metadata.{}` is {value}", keys.join("."));
    let differs = |keys: &[&str], wanted: &Template| match tree.part(&[&["metadata"], keys].concat()) {
        part @ Part::Literal(value) if is_same(&part, wanted) == Some(false) => Some(has(keys, value)),
        Part::Literal(_) | Part::Template(_) | Part::Absent | Part::Uncertain => None,
    };
    let namespace = namespace.as_ref().filter(|namespace| !namespace.source().is_empty());
    if let Some(fault) = namespace.and_then(|namespace| differs(&["namespace"], namespace)) {
        return Some((vec!["namespace"], fault));
    }
    let labels = match by {
        DiscoverBy::Name(name) => return Some((vec!["by_name"], differs(&["name"], name)?)),
        DiscoverBy::Labels(labels) => labels,
    };
    if let Part::Literal(written) = tree.part(&["metadata", "labels", keys::RESOURCE])
        && written.as_str().is_some_and(|written| written != resource.name)
    {
        return Some((vec!["by_selectors"], has(&["labels", keys::RESOURCE], written)));
    }
    labels.iter().find_map(|(key, wanted)| {
        let key = key.as_literal()?;
        let path = ["labels", key];
        let fault = match tree.part(&["metadata", "labels", key]) {
            // The adapter sets these labels where the author leaves them out.
            Part::Absent if key == keys::ADAPTER || key == keys::RESOURCE_ID => None,
            Part::Absent if key == keys::RESOURCE => {
                wanted.as_literal().filter(|wanted| *wanted != resource.name).map(|_| has(&path, &resource.name))
            }
            Part::Absent => Some(has(&path, &"absent")),
            Part::Literal(_) | Part::Template(_) | Part::Uncertain => differs(&path, wanted),
        };
        Some((vec!["by_selectors", "label_selector", key], fault?))
    })
}

/// Warns of a discovery by a name with the time in it, which differs on each event.
fn clock(linter: &mut Linter<'_>, path: &Path, resource: &Resource) {
    let DiscoverBy::Name(name) = &resource.discovery.by else { return };
    if clocks::shows(linter.task, name) {
        let name = &resource.name;
        let message = format!(
            "reads the clock: what one event creates, the next does not find, and `{name}` is created each time"
        );
        let help = "find it by labels: `discovery: {by_selectors: {label_selector: {…}}}`, with `retention` to limit how many are kept";
        linter.warn(&path.key("discovery").key("by_name"), message, help.to_owned());
    }
}

/// Warns of a discovery by name without a namespace: the API server looks for a name in one namespace only.
fn namespaces(linter: &mut Linter<'_>, path: &Path, resource: &Resource) {
    let DiscoverBy::Name(_) = &resource.discovery.by else { return };
    let is_empty = |namespace: &str| namespace.is_empty();
    if !resource.discovery.namespace.as_ref().map(Template::source).is_none_or(is_empty) {
        return;
    }
    let kind = &resource.kind.kind;
    let written = metadata(resource, "namespace").filter(|namespace| !is_empty(namespace));
    let message = match (kinds::is_namespaced(&resource.kind), written) {
        (Some(false), _) | (None, None) => return,
        (Some(true), _) => format!(
            "names no `namespace`, and every {kind} is in one: the API server refuses to look for it, and each event fails with \
             `DiscoveryFailed`"
        ),
        (None, Some(_)) => format!(
            "names no `namespace`, and the manifest has one: unless {kind} is a kind without namespaces, the API server refuses to \
             look for it, and each event fails with `DiscoveryFailed`"
        ),
    };
    let help = written.map_or_else(
        || "add `namespace` to `discovery`, and to the manifest's `metadata`".to_owned(),
        |namespace| format!("add `namespace: {}` to `discovery`", serde_json::Value::from(namespace)),
    );
    linter.warn(&path.key("discovery").key("by_name"), message, help);
}

/// Kind, namespace and name of a resource's object, as written, and the labels of its selector if it has one: two
/// resources with the same are one object.
type Place<'r> = (&'r GroupVersionKind, &'r str, &'r str, BTreeSet<(&'r str, &'r str)>);

/// The place of a resource's object; none if its name or namespace is not known before an event.
fn place(resource: &Resource) -> Option<Place<'_>> {
    if !matches!(resource.transport, TransportKind::Kubernetes) {
        return None;
    }
    let (name, selector) = match &resource.discovery.by {
        DiscoverBy::Name(name) => (name.source(), BTreeSet::new()),
        DiscoverBy::Labels(labels) => {
            let labels = labels.iter().map(|(key, value)| (key.source(), value.source()));
            (metadata(resource, "name")?, labels.collect())
        }
    };
    Some((&resource.kind, namespace(resource)?, name, selector))
}

fn twins(linter: &mut Linter<'_>, path: &Path, other: usize) {
    let name = &linter.task.resources[other].name;
    let message =
        format!("is the same object as `{name}`: each of the two overwrites the other, or fails with `NameTaken`");
    let help = "give it another name, or give both gates that choose between them".to_owned();
    let place = linter.either(path, ["name", "alias"]);
    linter.warn(&place, message, help);
}
