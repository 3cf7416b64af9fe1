//! Warns of manifests that write a namespace although their kind has none.

use lifecycle_config::diagnostics::Severity;
use lifecycle_language::template::Part;
use lifecycle_objects::kinds::is_namespaced;

use super::linter::{Linter, resources};
use crate::manifests::Role;

pub(super) fn lint(linter: &mut Linter<'_>) {
    let help = "remove `metadata.namespace`";
    for (path, resource) in resources(linter.task) {
        // A bundle knows the scope of the types that it introduces, too.
        for object in resource.bundle.iter().flat_map(|bundle| &bundle.known) {
            let Some(namespace) = &object.dropped_namespace else { continue };
            let message = format!(
                "`{}` is in no namespace, and its manifest writes `{namespace}`, which the API server drops",
                object.identity
            );
            linter.report_object(Severity::Warning, &path, object, message, help.to_owned());
        }
    }
    for object in linter.manifests().iter() {
        let effect = match object.role {
            Role::Member => continue,
            Role::Entry => ", which the API server drops",
            Role::Nested => "",
        };
        let namespace = match object.tree.part(&["metadata", "namespace"]) {
            Part::Literal(value) => value.as_str().unwrap_or_default(),
            Part::Template(template) => template.source(),
            Part::Absent | Part::Uncertain => continue,
        };
        let Some(kind) = object.kind.as_ref().filter(|kind| is_namespaced(kind) == Some(false)) else { continue };
        if !namespace.is_empty() {
            let message = format!("a {} is in no namespace, and the manifest writes `{namespace}`{effect}", kind.kind);
            linter.warn(&object.at(linter.document, &"metadata.namespace".into()), message, help.to_owned());
        }
    }
}
