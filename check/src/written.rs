//! What a task's author wrote about the place of objects, as far as it is known before an event.
//!
//! In: resources of a task. Out: source texts of their manifests and discoveries, compared; none where only an event
//! shows the text. Nothing fails.

use lifecycle_core::task::{DiscoverBy, Manifest, Resource, Task};
use lifecycle_language::template::{Part, Template};

/// The source text of a key of the manifest's metadata; empty if the key is missing.
pub(crate) fn metadata<'r>(resource: &'r Resource, key: &str) -> Option<&'r str> {
    let Manifest::Inline(tree) = &resource.manifest else { return None };
    match tree.part(&["metadata", key]) {
        Part::Literal(value) => value.as_str(),
        Part::Template(template) => Some(template.source()),
        Part::Absent => Some(""),
        Part::Uncertain => None,
    }
}

/// The source text of the namespace of a resource's objects; empty if they are in none.
pub(crate) fn namespace(resource: &Resource) -> Option<&str> {
    let of_discovery = resource.discovery.namespace.as_ref().map(Template::source);
    of_discovery.filter(|namespace| !namespace.is_empty()).or_else(|| metadata(resource, "namespace"))
}

/// The resource whose object is the namespace of another one's objects.
pub(crate) fn namespace_of(task: &Task, resource: &Resource) -> Option<usize> {
    let namespace = namespace(resource)?;
    task.resources.iter().position(|other| {
        other.kind.group.is_empty()
            && other.kind.kind == "Namespace"
            && matches!(&other.discovery.by, DiscoverBy::Name(name) if name.source() == namespace)
    })
}

/// The resource that deletes the namespace of another one's objects, and these with it.
pub(crate) fn deleted_namespace(task: &Task, resource: &Resource) -> Option<usize> {
    namespace_of(task, resource).filter(|&namespace| task.resources[namespace].gates.delete.is_some())
}

/// Whether a part of a manifest is the text for which a discovery searches. A template that reads `resources` can render
/// to another text after an earlier write of the same event.
pub(crate) fn is_same(part: &Part<'_>, wanted: &Template) -> Option<bool> {
    match part {
        Part::Literal(value) => Some(value.as_str()? == wanted.as_literal()?),
        Part::Template(template) => {
            (template.source() == wanted.source() && template.resource_reads().is_empty()).then_some(true)
        }
        Part::Absent | Part::Uncertain => None,
    }
}
