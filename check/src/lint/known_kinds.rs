//! Warns of kinds that Kubernetes does not serve: kinds of its own that are misspelt or stand under a wrong
//! `apiVersion`.

use super::{Linter, resources};
use lifecycle_core::task::kinds;

pub(super) fn lint(linter: &mut Linter<'_>) {
    for (path, resource) in resources(linter.task) {
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
