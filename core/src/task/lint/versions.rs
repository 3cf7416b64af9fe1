//! Versions: retention that keeps nothing, and selectors that take other API resources' objects for versions.

use std::collections::BTreeSet;

use lifecycle_config::document::Path;

use super::variation::{Variation, variations};
use super::{Linter, resources};
use crate::task::{DiscoverBy, Manifest, Resource, Task};
use crate::template::{Part, Template};

pub(super) fn lint(linter: &mut Linter<'_>) {
    for (path, resource) in resources(linter.task) {
        if resource.retention.is_some() {
            fixed_name(linter, &path, resource);
        }
        shared_selector(linter, &path, resource);
    }
}

/// Versions are told apart by their names.
fn fixed_name(linter: &mut Linter<'_>, path: &Path, resource: &Resource) {
    let varying = match &resource.manifest {
        Manifest::Inline(tree) => match tree.part(&["metadata", "name"]) {
            Part::Literal(_) => BTreeSet::new(),
            Part::Template(template) => variations(linter.task, template),
            Part::Absent | Part::Uncertain => return,
        },
        // Which part of the text is the name, only an event reveals; none of it varies if nothing does.
        Manifest::Text(template) => variations(linter.task, template),
    };
    if varying.contains(&Variation::Event) || varying.contains(&Variation::Deployment) {
        return;
    }
    let inline = path.key("manifest").key("metadata").key("name");
    let place = if linter.document.node(&inline).is_some() { inline } else { path.key("manifest") };
    let message = match resource.gates.recreate {
        Some(_) => {
            "is the same for every version: while a former version is kept, each recreation fails with `VersionNameTaken`"
        }
        None => "is the same for every version: none is ever added, so that `retention` has nothing to keep",
    };
    let message = if matches!(resource.manifest, Manifest::Inline(_)) {
        message.to_owned()
    } else {
        format!("the name in the manifest {message}")
    };
    let help = "add to the name what differs between versions: the event's generation, or the time, as in `{{ now | date \"20060102-150405\" }}`";
    linter.warn(&place, message, help.to_owned());
}

/// What is found for one API resource must not be what is found for all of them.
fn shared_selector(linter: &mut Linter<'_>, path: &Path, resource: &Resource) {
    let DiscoverBy::Labels(labels) = &resource.discovery.by else { return };
    let task = linter.task;
    let gates = &resource.gates;
    let effect = match resource.retention {
        Some(_) => "the former versions are deleted",
        // One object for all of them is meant to be found by all.
        None if !has_particular_name(task, resource) => return,
        None if gates.delete.is_some() => "all are deleted when one is",
        None if gates.orphan.is_some() => "all are released when one is",
        None => return,
    };
    let tells_apart = |template: &Template| is_particular(task, template);
    let is_told_apart = labels.iter().any(|(key, value)| tells_apart(key) || tells_apart(value))
        || resource.discovery.namespace.as_ref().is_some_and(tells_apart);
    if is_told_apart {
        return;
    }
    let place = path.key("discovery").key("by_selectors").key("label_selector");
    let message = format!(
        "finds the same objects for every API resource: gates may see another one's as `resources.{}`, and of those without the label \
         `hyperfleet.io/resource` {effect}",
        resource.name
    );
    let help = "add a label that differs, such as `hyperfleet.io/resource-id: \"{{ .event.id }}\"`".to_owned();
    linter.warn(&place, message, help);
}

/// Whether each API resource certainly has an object of its own.
fn has_particular_name(task: &Task, resource: &Resource) -> bool {
    let Manifest::Inline(tree) = &resource.manifest else { return false };
    matches!(tree.part(&["metadata", "name"]), Part::Template(name) if is_particular(task, name))
}

fn is_particular(task: &Task, template: &Template) -> bool {
    let varying = variations(task, template);
    varying.contains(&Variation::Resource) || varying.contains(&Variation::Event)
}
