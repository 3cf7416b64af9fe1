//! Warns of kinds that Kubernetes does not serve: kinds of its own that are misspelt or stand under a wrong
//! `apiVersion`; and notes manifests of a bundle whose kinds only an event tells.

use lifecycle_config::document::Path;
use lifecycle_core::task::Manifest;
use lifecycle_objects::id::GroupVersionKind;
use lifecycle_objects::kinds::{self, KindFault};

use super::linter::{Linter, resources};
use crate::manifests::Role;

pub(super) fn lint(linter: &mut Linter<'_>) {
    let task = linter.task;
    for (path, resource) in resources(task) {
        match &resource.bundle {
            Some(bundle) => {
                let place = path.key("bundle").key("manifests");
                for (index, manifest) in bundle.manifests.iter().enumerate() {
                    unread(linter, &place.index(index), manifest);
                }
            }
            None => {
                let Some(fault) = kinds::fault(&resource.kind) else { continue };
                let manifest = path.key("manifest");
                let message = format!("{}: `{}` is never read or written", unserved(&resource.kind), resource.name);
                linter.warn(&linter.place_or(manifest.key(fault.key), &manifest), message, cure(&fault));
            }
        }
    }
    for object in linter.manifests().iter() {
        let effect = match object.role {
            // The kind of an entry is known, whatever its manifest is.
            Role::Entry => continue,
            Role::Member => "this keeps the bundle from being written",
            Role::Nested => "no agent can apply it",
        };
        let Some((kind, fault)) = object.kind.as_ref().and_then(|kind| Some((kind, kinds::fault(kind)?))) else {
            continue;
        };
        let message = format!("{}{}: {effect}", object.subject(), unserved(kind));
        linter.warn(&object.at(linter.document, &fault.key.into()), message, cure(&fault));
    }
}

fn unserved(kind: &GroupVersionKind) -> String {
    format!("Kubernetes has no kind `{}` in `{}`", kind.kind, kind.api_version())
}

fn cure(fault: &KindFault) -> String {
    format!("write `{}`", fault.cure)
}

/// Notes a manifest of a bundle whose objects nobody sees before an event.
fn unread(linter: &mut Linter<'_>, place: &Path, manifest: &Manifest) {
    let text = if let Manifest::Text(template) = manifest { Some(template) } else { None };
    if let Some(template) = text.filter(|_| manifest.structures().is_empty()) {
        if !template.has_branch() && lacks_separator(template.source()) {
            let message =
                "has two objects in one document, so that every event fails: YAML refuses the second `apiVersion`";
            let help = "write a line `---` before each further `apiVersion`";
            linter.error(place, message.to_owned(), help.to_owned());
            return;
        }
        let message =
            "is no YAML before its templates are rendered, so that neither `check` nor `rbac` sees its objects"
                .to_owned();
        let help = "put each template in quotes, after `!!int` or `!!bool` for a value that is no text; a text with branches or \
                    loops stays as it is";
        linter.note(place, message, help.to_owned());
    }
}

/// Whether a document of a text has two lines `apiVersion:` at its margin.
fn lacks_separator(text: &str) -> bool {
    let starts = |line: &&str| line.starts_with("apiVersion:");
    text.lines()
        .collect::<Vec<_>>()
        .split(|line| line.starts_with("---"))
        .any(|document| document.iter().filter(|line| starts(line)).count() > 1)
}
