//! Finds which entries of `resources` an expression or a template can read.
//!
//! If one of these entries could not be discovered, the expression or template is not evaluated and fails: an
//! unread object is not an absent one.

use std::collections::BTreeSet;

use crate::task::{Discovery, Manifest, Resource, TransportKind};
use lifecycle_language::resource_reads::ResourceReads;
use lifecycle_language::template::{Template, Tree};

/// Returns an error if one of the `unknown` names, which could not be discovered, can be read.
pub(super) fn check(reads: &ResourceReads, unknown: &BTreeSet<&str>) -> Result<(), String> {
    match unknown.iter().find(|name| reads.has(name)) {
        Some(name) => Err(format!("it reads resources.{name}, which could not be discovered")),
        None => Ok(()),
    }
}

/// The names that a manifest's templates can read.
pub(super) fn of_manifest(manifest: &Manifest) -> ResourceReads {
    match manifest {
        Manifest::Inline(tree) => of_tree(tree),
        Manifest::Text(template) => of_templates([template]),
    }
}

/// The names that the manifest of a resource, and those of its bundle, can read.
pub(super) fn of_manifests(resource: &Resource) -> ResourceReads {
    let mut reads = of_manifest(&resource.manifest);
    for manifest in resource.bundle.iter().flat_map(|bundle| &bundle.manifests) {
        reads.extend(&of_manifest(manifest));
    }
    reads
}

/// The names that a tree of templates can read.
pub(super) fn of_tree(tree: &Tree) -> ResourceReads {
    of_templates(tree.templates())
}

/// The entries of `resources` that a resource's destination and discovery can read.
pub(super) fn of_query(resource: &Resource) -> ResourceReads {
    let destination = match &resource.transport {
        TransportKind::Kubernetes => None,
        TransportKind::Maestro { target_cluster } => Some(target_cluster),
    };
    of_templates(destination.into_iter().chain(resource.discovery.templates()))
}

/// The names that a discovery can read.
pub(super) fn of_discovery(discovery: &Discovery) -> ResourceReads {
    of_templates(discovery.templates())
}

fn of_templates<'a>(templates: impl IntoIterator<Item = &'a Template>) -> ResourceReads {
    let mut reads = ResourceReads::default();
    templates.into_iter().for_each(|template| reads.extend(template.resource_reads()));
    reads
}
