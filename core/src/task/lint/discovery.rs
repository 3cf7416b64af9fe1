//! Objects that are written and never found again, or found by two.

use std::collections::BTreeSet;

use super::{Linter, gates_of, resources};
use crate::cel::ResourceReads;
use crate::document::Path;
use crate::keys;
use crate::task::{DiscoverBy, Discovery, Manifest, Resource, TransportKind, kinds};
use crate::template::{Part, Template};

pub(super) fn lint(linter: &mut Linter<'_>) {
    let task = linter.task;
    for (path, resource) in resources(task) {
        if let Some((at, fault)) = mismatch(resource) {
            let place = at.iter().fold(path.key("discovery"), |path, key| path.key(key));
            let name = &resource.name;
            let message = format!(
                "does not find what the manifest describes: {fault}; `{name}` is never created (`SelectorMismatch`)"
            );
            linter.warn(&place, message, "let the manifest and the discovery say the same".to_owned());
        }
        clock(linter, &path, resource);
        status(linter, &path, resource);
    }
    for (index, (path, resource)) in resources(task).enumerate() {
        let twin = task.resources.iter().take(index).position(|other| are_twins(other, resource));
        if let Some(other) = twin {
            twins(linter, &path, other);
        }
    }
}

/// Where the resource's discovery excludes what its manifest says, and why.
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

/// Why the manifest's label is not what is looked for; `wanted` is none if only an event reveals it.
fn label_fault(resource: &Resource, label: Part<'_>, key: &str, wanted: Option<&str>) -> Option<String> {
    match label {
        Part::Literal(value) => {
            let written = value.as_str().filter(|written| Some(*written) != wanted)?;
            wanted.map(|_| format!("that has \"{written}\" there"))
        }
        // What the author leaves out is stamped.
        Part::Absent if key == keys::ADAPTER || key == keys::RESOURCE_ID => None,
        Part::Absent if key == keys::RESOURCE => {
            wanted.filter(|wanted| *wanted != resource.name).map(|_| format!("that gets \"{}\" there", resource.name))
        }
        Part::Absent => Some("that has no such label".to_owned()),
        Part::Template(_) | Part::Uncertain => None,
    }
}

/// A name with the time in it is another one on each event.
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

/// Some kinds are data only.
fn status(linter: &mut Linter<'_>, path: &Path, resource: &Resource) {
    let task = linter.task;
    for gate in gates_of(linter, path, resource) {
        for other in task.resources.iter().filter(|other| kinds::has_no_status(&other.kind)) {
            let name = &other.name;
            let is_nested = task.resources.iter().flat_map(|it| &it.nested).any(|nested| nested.name == *name);
            let ResourceReads::Only(read) = gate.expression.reads_below("resources", name) else { continue };
            if read.contains("status") && !is_nested {
                let message = format!("`resources.{name}.status` never exists: a {} has no status", other.kind.kind);
                let help = "read its data or its metadata, or the status of what works with it".to_owned();
                linter.warn(&gate.path, message, help);
            }
        }
    }
}

/// Whether two resources are the same object on the same event, with nothing to say which of them is meant.
fn are_twins(one: &Resource, other: &Resource) -> bool {
    let is_chosen = |resource: &Resource| {
        let gates = &resource.gates;
        [&gates.when, &gates.create, &gates.apply].into_iter().any(Option::is_some)
    };
    let is_kubernetes = |resource: &Resource| matches!(resource.transport, TransportKind::Kubernetes);
    one.kind == other.kind
        && is_kubernetes(one)
        && is_kubernetes(other)
        && namespace(one).is_some_and(|namespace| Some(namespace) == self::namespace(other))
        && is_same_object(one, other)
        && !(is_chosen(one) && is_chosen(other))
}

fn is_same_object(one: &Resource, other: &Resource) -> bool {
    match (&one.discovery.by, &other.discovery.by) {
        (DiscoverBy::Name(one), DiscoverBy::Name(other)) => one.source() == other.source(),
        (DiscoverBy::Labels(of_one), DiscoverBy::Labels(of_other)) => {
            let name = written(one, "name");
            name.is_some() && name == written(other, "name") && sources(of_one) == sources(of_other)
        }
        (DiscoverBy::Name(_), DiscoverBy::Labels(_)) | (DiscoverBy::Labels(_), DiscoverBy::Name(_)) => false,
    }
}

fn sources(labels: &[(Template, Template)]) -> BTreeSet<(&str, &str)> {
    labels.iter().map(|(key, value)| (key.source(), value.source())).collect()
}

/// What the namespace is rendered from, empty if there is none; nothing if only an event reveals it.
fn namespace(resource: &Resource) -> Option<&str> {
    let of_discovery = resource.discovery.namespace.as_ref().map(Template::source);
    of_discovery.filter(|namespace| !namespace.is_empty()).or_else(|| written(resource, "namespace"))
}

/// What a key of the manifest's metadata is rendered from, empty if it is not there.
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
        format!("is the object that `{name}` is, too: each writes what the other wrote, or finds its name taken");
    let help = format!("give it a name of its own, or gates that tell when it is meant and when `{name}`");
    let place = linter.either(path, ["name", "alias"]);
    linter.warn(&place, message, help);
}
