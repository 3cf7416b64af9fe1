//! Warns of objects that their own discovery does not find, and of two resources that are the same object.

use std::collections::{BTreeMap, BTreeSet};

use lifecycle_config::document::Path;

use super::{Linter, resources};
use lifecycle_core::id::GroupVersionKind;
use lifecycle_core::keys;
use lifecycle_core::task::{DiscoverBy, Discovery, Manifest, Resource, TransportKind, kinds};
use lifecycle_language::template::{Part, Template};

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
    let mut places: BTreeMap<Place<'_>, FirstOf> = BTreeMap::new();
    for (index, (path, resource)) in resources(task).enumerate() {
        let Some(place) = Place::of(resource) else { continue };
        let first = places.entry(place).or_default();
        let (twin, known) = match resource.gates.hold_back() {
            // Two entries for one object may take turns if gates choose between them.
            true => (first.unchosen, &mut first.chosen),
            false => (first.chosen.into_iter().chain(first.unchosen).min(), &mut first.unchosen),
        };
        known.get_or_insert(index);
        if let Some(other) = twin {
            twins(linter, &path, other);
        }
    }
}

/// The first two entries for one object: one with gates that choose between entries, and one without.
#[derive(Default)]
struct FirstOf {
    chosen: Option<usize>,
    unchosen: Option<usize>,
}

/// The key of the discovery that excludes the resource's own manifest, and the reason.
fn mismatch(resource: &Resource) -> Option<(Vec<&str>, String)> {
    let Manifest::Inline(tree) = &resource.manifest else { return None };
    let Discovery { namespace, by } = &resource.discovery;
    let written = |keys: &[&str]| match tree.part(keys) {
        Part::Literal(value) => value.as_str(),
        Part::Absent | Part::Template(_) | Part::Uncertain => None,
    };
    if let Some(wanted) = namespace.as_ref().and_then(Template::as_literal).filter(|wanted| !wanted.is_empty())
        && let Some(namespace) = written(&["metadata", "namespace"]).filter(|namespace| *namespace != wanted)
    {
        return Some((vec!["namespace"], format!("that is in the namespace \"{namespace}\"")));
    }
    match by {
        DiscoverBy::Name(name) => {
            let name = name.as_literal()?;
            let written = written(&["metadata", "name"]).filter(|written| *written != name)?;
            Some((vec!["by_name"], format!("that is named \"{written}\"")))
        }
        DiscoverBy::Labels(labels) => {
            let written = written(&["metadata", "labels", keys::RESOURCE]).filter(|written| *written != resource.name);
            let of_another = written.map(|written| {
                (
                    vec!["by_selectors"],
                    format!("that says of itself to be \"{written}\", by the label `{}`", keys::RESOURCE),
                )
            });
            of_another.or_else(|| {
                labels.iter().find_map(|(key, value)| {
                    let key = key.as_literal()?;
                    let fault =
                        label_fault(resource, tree.part(&["metadata", "labels", key]), key, value.as_literal())?;
                    Some((vec!["by_selectors", "label_selector", key], fault))
                })
            })
        }
    }
}

/// Why the selector does not match a label of the manifest; `wanted` is none if the selector's value is a template.
fn label_fault(resource: &Resource, label: Part<'_>, key: &str, wanted: Option<&str>) -> Option<String> {
    match label {
        Part::Literal(value) => {
            let written = value.as_str().filter(|written| Some(*written) != wanted)?;
            wanted.map(|_| format!("that has \"{written}\" there"))
        }
        // The adapter sets these labels where the author leaves them out.
        Part::Absent if key == keys::ADAPTER || key == keys::RESOURCE_ID => None,
        Part::Absent if key == keys::RESOURCE => {
            wanted.filter(|wanted| *wanted != resource.name).map(|_| format!("that gets \"{}\" there", resource.name))
        }
        Part::Absent => Some("that has no such label".to_owned()),
        Part::Template(_) | Part::Uncertain => None,
    }
}

/// Warns of a discovery by a name with the time in it, which differs on each event.
fn clock(linter: &mut Linter<'_>, path: &Path, resource: &Resource) {
    let DiscoverBy::Name(name) = &resource.discovery.by else { return };
    if name.reads_clock() || name.variables().contains("now") {
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
    let written = written(resource, "namespace").filter(|namespace| !is_empty(namespace));
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

/// Kind, namespace and name of a resource's object, as written: two resources with the same are one object.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct Place<'r> {
    kind: (&'r str, &'r str, &'r str),
    namespace: &'r str,
    name: &'r str,
    /// The labels of the selector; none if discovery is by name.
    selector: Option<BTreeSet<(&'r str, &'r str)>>,
}

impl<'r> Place<'r> {
    /// The place of a resource's object; none if the manifest's name or namespace is not known before an event.
    fn of(resource: &'r Resource) -> Option<Self> {
        if !matches!(resource.transport, TransportKind::Kubernetes) {
            return None;
        }
        let GroupVersionKind { group, version, kind } = &resource.kind;
        let (name, selector) = match &resource.discovery.by {
            DiscoverBy::Name(name) => (name.source(), None),
            DiscoverBy::Labels(labels) => (written(resource, "name")?, Some(sources(labels))),
        };
        Some(Self { kind: (group, version, kind), namespace: namespace(resource)?, name, selector })
    }
}

fn sources(labels: &[(Template, Template)]) -> BTreeSet<(&str, &str)> {
    labels.iter().map(|(key, value)| (key.source(), value.source())).collect()
}

/// The source text of the namespace; empty if there is none, and `None` if it is not known before an event.
pub(super) fn namespace(resource: &Resource) -> Option<&str> {
    let of_discovery = resource.discovery.namespace.as_ref().map(Template::source);
    of_discovery.filter(|namespace| !namespace.is_empty()).or_else(|| written(resource, "namespace"))
}

/// The source text of a key of the manifest's metadata; empty if the key is missing.
fn written<'r>(resource: &'r Resource, key: &str) -> Option<&'r str> {
    let Manifest::Inline(tree) = &resource.manifest else { return None };
    match tree.part(&["metadata", key]) {
        Part::Literal(value) => value.as_str(),
        Part::Template(template) => Some(template.source()),
        Part::Absent => Some(""),
        Part::Uncertain => None,
    }
}

fn twins(linter: &mut Linter<'_>, path: &Path, other: usize) {
    let name = &linter.task.resources[other].name;
    let message =
        format!("is the same object as `{name}`: each of the two overwrites the other, or fails with `NameTaken`");
    let help = "give it another name, or give both gates that choose between them".to_owned();
    let place = linter.either(path, ["name", "alias"]);
    linter.warn(&place, message, help);
}
