//! Warns of objects of a namespaced kind without a namespace, and of objects of a cluster-scoped kind with one.

use super::{Linter, is_created, resources};
use lifecycle_core::task::{DiscoverBy, Resource, TransportKind, kinds};
use lifecycle_language::template::Part;

pub(super) fn lint(linter: &mut Linter<'_>) {
    let task = linter.task;
    for (path, resource) in resources(task).filter(|(_, it)| matches!(it.transport, TransportKind::Kubernetes)) {
        let Some(written) = written(resource) else { continue };
        let discovered = resource.discovery.namespace.as_ref().map(|it| it.source()).filter(|it| !it.is_empty());
        let (name, kind) = (&resource.name, &resource.kind.kind);
        let at_manifest = path.key("manifest");
        match (kinds::is_namespaced(&resource.kind), written, discovered) {
            (Some(true), false, _) if is_created(task, resource) => {
                let message =
                    format!("has no `metadata.namespace`, and every {kind} is in one: `{name}` is never created");
                let help = format!("add `namespace: {}` to `metadata`", quoted(discovered.unwrap_or("…")));
                linter.warn(&at_manifest, message, help);
            }
            (Some(true), false, None) if matches!(resource.discovery.by, DiscoverBy::Name(_)) => {
                let message = format!(
                    "names no `namespace`, and every {kind} is in one: the API server refuses to look for it, and each event \
                     fails with `DiscoveryFailed`"
                );
                linter.warn(
                    &path.key("discovery").key("by_name"),
                    message,
                    "add `namespace` to `discovery`".to_owned(),
                );
            }
            (Some(false), true, _) => {
                let place = at_manifest.key("metadata").key("namespace");
                let place = if linter.document.node(&place).is_some() { place } else { at_manifest };
                ignored(linter, &place, kind);
            }
            (Some(false), false, Some(_)) => ignored(linter, &path.key("discovery").key("namespace"), kind),
            (Some(true), ..) | (Some(false), false, None) | (None, ..) => {}
        }
    }
}

fn ignored(linter: &mut Linter<'_>, place: &lifecycle_config::document::Path, kind: &str) {
    let message = format!("has no effect: a {kind} is in no namespace");
    linter.warn(place, message, "remove the namespace, or check the kind".to_owned());
}

/// Whether the manifest has a namespace; none if only an event shows that.
fn written(resource: &Resource) -> Option<bool> {
    let tree = resource.manifest.structure()?;
    match tree.part(&["metadata", "namespace"]) {
        Part::Absent => Some(false),
        // A number or a boolean has its own warning.
        Part::Literal(value) => Some(!value.is_null() && value.as_str() != Some("")),
        Part::Template(_) => Some(true),
        Part::Uncertain => None,
    }
}

fn quoted(namespace: &str) -> serde_json::Value {
    serde_json::Value::from(namespace)
}
