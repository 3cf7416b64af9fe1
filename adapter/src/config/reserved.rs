//! Compares the label `hyperfleet.io/adapter` that a manifest writes with the adapter's name, where no event decides the label.
//!
//! The task file alone does not tell the name. The other labels of the adapter are checked when the task is compiled.

use lifecycle_config::diagnostics::{Diagnostics, Severity};
use lifecycle_config::document::{Document, Path};
use lifecycle_core::manifest::reserved::CURE;
use lifecycle_core::task::{Manifest, Task};
use lifecycle_language::template::Part;
use lifecycle_objects::keys;

/// Reports each label that names another adapter: an error if the task has a lifecycle key, for such an object is never
/// written; else a warning.
pub(super) fn check_adapter_labels(adapter: &str, task: &Task, document: &Document, diagnostics: &mut Diagnostics) {
    for (index, resource) in task.resources.iter().enumerate().filter(|(_, resource)| resource.bundle.is_none()) {
        let tree = resource.manifest.structure();
        let label = ["metadata", "labels", keys::ADAPTER];
        let Some(Part::Literal(written)) = tree.as_ref().map(|tree| tree.part(&label)) else { continue };
        if written.as_str() == Some(adapter) {
            continue;
        }
        let place = Path::root().key("resources").index(index).key("manifest");
        let place = match &resource.manifest {
            Manifest::Inline(_) => label.into_iter().fold(place, |place, key| place.key(key)),
            Manifest::Text(_) => place,
        };
        let severity = if task.has_lifecycle() { Severity::Error } else { Severity::Warning };
        let message = format!(
            "writes {written} as the label `{}`, by which the adapter tells whose an object is, and `adapter.name` is \"{adapter}\"",
            keys::ADAPTER
        );
        diagnostics.push(document.diagnostic(severity, &place, message, Some(CURE.to_owned())));
    }
}
