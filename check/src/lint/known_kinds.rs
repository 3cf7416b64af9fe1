//! Warns of kinds that Kubernetes does not serve: kinds of its own that are misspelt or stand under a wrong
//! `apiVersion`; and notes manifests of a bundle whose kinds only an event tells.

use lifecycle_config::document::Path;
use lifecycle_core::task::{Manifest, kinds};

use super::{Linter, resources};
use crate::rights::members::kind;

pub(super) fn lint(linter: &mut Linter<'_>) {
    for (path, resource) in resources(linter.task) {
        if let Some(bundle) = &resource.bundle {
            let manifests = path.key("bundle").key("manifests");
            for (index, manifest) in bundle.manifests.iter().enumerate() {
                lint_members(linter, &manifests.index(index), manifest);
            }
        }
        let Some(fault) = kinds::fault(&resource.kind) else { continue };
        let manifest = path.key("manifest");
        let key = manifest.key(fault.key);
        let place = if linter.document.node(&key).is_some() { key } else { manifest };
        let name = &resource.name;
        let message = format!(
            "Kubernetes has no kind `{}` in `{}`: `{name}` is never read or written",
            resource.kind.kind,
            resource.kind.api_version()
        );
        linter.warn(&place, message, format!("write `{}`", fault.cure));
    }
}

fn lint_members(linter: &mut Linter<'_>, place: &Path, manifest: &Manifest) {
    let trees = manifest.structures();
    for kind in trees.iter().filter_map(|tree| kind(tree)) {
        let Some(fault) = kinds::fault(&kind) else { continue };
        let message = format!(
            "Kubernetes has no kind `{}` in `{}`: this keeps the bundle from being written",
            kind.kind,
            kind.api_version()
        );
        linter.warn(place, message, format!("write `{}`", fault.cure));
    }
    if trees.is_empty() && matches!(manifest, Manifest::Text(_)) {
        let message =
            "is no YAML before its templates are rendered, so that neither `check` nor `rbac` sees its objects"
                .to_owned();
        let help = "put each template in quotes, after `!!int` or `!!bool` for a value that is no text; a text with branches or \
                    loops stays as it is";
        linter.note(place, message, help.to_owned());
    }
}
