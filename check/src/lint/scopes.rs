//! Warns of objects of a bundle that write a namespace although their kind has none.

use super::{Linter, resources};

pub(super) fn lint(linter: &mut Linter<'_>) {
    for (path, resource) in resources(linter.task) {
        let Some(bundle) = &resource.bundle else { continue };
        for object in &bundle.known {
            let Some(namespace) = &object.dropped_namespace else { continue };
            let message = format!(
                "`{}` is in no namespace, and its manifest writes `{namespace}`, which the API server drops",
                object.identity
            );
            let help = "remove `metadata.namespace`".to_owned();
            linter.warn(&path.key("bundle").key("manifests"), message, help);
        }
    }
}
