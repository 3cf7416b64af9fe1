//! Warns of retention that keeps no former version, and of selectors that find objects which the resource should
//! not own.

use std::collections::BTreeSet;

use lifecycle_config::diagnostics::Severity;
use lifecycle_config::document::Path;
use lifecycle_core::task::{DiscoverBy, Manifest, ParamSource, Recreate, Resource, Task};
use lifecycle_language::template::{Part, Template};
use lifecycle_objects::keys;

use super::linter::{Linter, resources};
use super::variation::{Variation, variations};

pub(super) fn lint(linter: &mut Linter<'_>) {
    for (path, resource) in resources(linter.task) {
        if resource.retention.is_some() {
            fixed_name(linter, &path, resource);
        }
        shared_selector(linter, &path, resource);
        renamed(linter, &path, resource);
    }
}

/// Warns of a discovery by a name that changes with each generation: no later event finds the object any more.
fn renamed(linter: &mut Linter<'_>, path: &Path, resource: &Resource) {
    let DiscoverBy::Name(name) = &resource.discovery.by else { return };
    let task = linter.task;
    if ![Some(name), resource.discovery.namespace.as_ref()].iter().flatten().any(|it| reads_generation(task, it)) {
        return;
    }
    let message = format!(
        "changes with each generation, and no event finds the object of the former one: `{}` never deletes it",
        resource.name
    );
    let help = "find the objects by labels (`by_selectors`), or name the object by what never changes";
    linter.warn(&path.key("discovery").key("by_name"), message, help.to_owned());
}

/// Whether a template reads the event's generation, by itself or through a param.
fn reads_generation(task: &Task, template: &Template) -> bool {
    let of_param = |source: &ParamSource| match source {
        ParamSource::Event(path) => path == "generation",
        ParamSource::Path(path) => path == "event.generation",
        ParamSource::Environment(_)
        | ParamSource::Config(_)
        | ParamSource::ApiCall(_)
        | ParamSource::Expression(_)
        | ParamSource::File { .. } => false,
    };
    template.variables().iter().any(|variable| {
        variable == "event.generation"
            || task.params.iter().any(|param| param.name == *variable && of_param(&param.source))
    })
}

/// Warns of a fixed name beside `retention`: a new version needs another name than the version before.
fn fixed_name(linter: &mut Linter<'_>, path: &Path, resource: &Resource) {
    let varying = match &resource.manifest {
        Manifest::Inline(tree) => match tree.part(&["metadata", "name"]) {
            Part::Literal(_) => BTreeSet::new(),
            Part::Template(template) => variations(linter.task, template),
            Part::Absent | Part::Uncertain => return,
        },
        // Where the name is in a text is not known before an event; a text that is always the same has a fixed name.
        Manifest::Text(template) => variations(linter.task, template),
    };
    if varying.contains(&Variation::Event) || varying.contains(&Variation::Deployment) {
        return;
    }
    let manifest = path.key("manifest");
    let place = linter.place_or(manifest.key("metadata").key("name"), &manifest);
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

/// Warns of a selector that also finds objects of other API resources or other programs. The resource owns each
/// of them that lacks the label `hyperfleet.io/resource`, and deletes or disowns it with its own.
fn shared_selector(linter: &mut Linter<'_>, path: &Path, resource: &Resource) {
    let DiscoverBy::Labels(labels) = &resource.discovery.by else { return };
    let task = linter.task;
    let Some((effect, is_as_in_go)) = effect(resource) else { return };
    let is_particular = |template: &Template| is_particular(task, template);
    if labels.iter().any(|(key, value)| is_particular(key) || is_particular(value)) {
        return;
    }
    let is_placed = resource.discovery.namespace.as_ref().is_some_and(is_particular);
    let name = &resource.name;
    let unlabelled = format!("of those without the label `{}` {effect}", keys::RESOURCE);
    let (message, help) = if has_particular_name(task, resource) && !is_placed {
        (
            format!(
                "finds the same objects for every API resource: gates may see another one's as `resources.{name}`, and {unlabelled}"
            ),
            format!("add a label that differs, such as `{}: \"{{{{ .event.id }}}}\"`", keys::RESOURCE_ID),
        )
    } else if labels.iter().any(|(key, _)| key.as_literal().is_some_and(|key| keys::OWNERSHIP_LABELS.contains(&key))) {
        return;
    } else {
        (
            format!("finds every object with these labels, whoever made it: {unlabelled}"),
            format!(
                "add `{}: {name}`, which the adapter sets on each object of `{name}`; objects that the Go adapter made do not have it",
                keys::RESOURCE
            ),
        )
    };
    // The Go adapter also deletes the objects that it finds to recreate them; a namespace that belongs to the API
    // resource rarely holds objects of other programs.
    let severity = if is_placed || is_as_in_go { Severity::Note } else { Severity::Warning };
    let place = path.key("discovery").key("by_selectors").key("label_selector");
    linter.report(severity, &place, message, help);
}

/// How the resource's gates harm an object that it should not own, and whether the Go adapter does the same.
fn effect(resource: &Resource) -> Option<(&'static str, bool)> {
    let gates = &resource.gates;
    if resource.retention.is_some() {
        Some(("the former versions are deleted", false))
    } else if gates.delete.is_some() {
        Some(("all are deleted when one is", false))
    } else if gates.orphan.is_some() {
        Some(("all are disowned when one is", false))
    } else {
        let is_on_change = |recreate: &Recreate| matches!(recreate, Recreate::OnChange);
        gates.recreate.as_ref().map(|recreate| ("all are deleted when one is recreated", is_on_change(recreate)))
    }
}

/// Whether the object's name differs between API resources.
fn has_particular_name(task: &Task, resource: &Resource) -> bool {
    let Manifest::Inline(tree) = &resource.manifest else { return false };
    matches!(tree.part(&["metadata", "name"]), Part::Template(name) if is_particular(task, name))
}

fn is_particular(task: &Task, template: &Template) -> bool {
    let varying = variations(task, template);
    varying.contains(&Variation::Resource) || varying.contains(&Variation::Event)
}
