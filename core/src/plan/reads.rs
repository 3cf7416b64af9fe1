//! Finds which entries of `resources` an expression or a template can read.
//!
//! If one of these entries could not be discovered, the expression or template is not evaluated and fails: an
//! unread object is not an absent one.

use std::collections::BTreeSet;

use crate::cel::{Expression, ResourceReads};
use crate::task::{DiscoverBy, Discovery, Manifest, Resource, TransportKind};
use crate::template::{Template, Tree};

/// The names in `resources` that an expression or template can read.
#[derive(Debug)]
pub(super) enum Reads<'a> {
    /// Any name: the expression or template uses `resources` as a whole, or indexes it by a computed value.
    Any,
    /// Only the entries of these names; none if the set is empty.
    Only(BTreeSet<&'a str>),
}

impl Reads<'_> {
    /// Whether no name can be read.
    pub(super) fn is_empty(&self) -> bool {
        matches!(self, Self::Only(names) if names.is_empty())
    }

    /// Whether any name can be read.
    pub(super) fn is_any(&self) -> bool {
        matches!(self, Self::Any)
    }

    /// Returns an error if one of the `unknown` names, which could not be discovered, can be read.
    pub(super) fn check(&self, unknown: &BTreeSet<&str>) -> Result<(), String> {
        let read = match self {
            Self::Any => unknown.first(),
            Self::Only(names) => unknown.iter().find(|name| names.contains(*name)),
        };
        match read {
            Some(name) => Err(format!("it reads resources.{name}, which could not be discovered")),
            None => Ok(()),
        }
    }
}

/// The names that an expression can read.
pub(super) fn of_expression(expression: &Expression) -> Reads<'_> {
    match expression.resource_reads() {
        ResourceReads::Any => Reads::Any,
        ResourceReads::Only(names) => Reads::Only(names.iter().map(String::as_str).collect()),
    }
}

/// The names that a manifest's templates can read.
pub(super) fn of_manifest(manifest: &Manifest) -> Reads<'_> {
    match manifest {
        Manifest::Inline(tree) => of_tree(tree),
        Manifest::Text(template) => of_templates([template]),
    }
}

/// The names that a tree of templates can read.
pub(super) fn of_tree(tree: &Tree) -> Reads<'_> {
    of_templates(tree.templates())
}

/// The entries of `resources` that a resource's destination and discovery can read.
pub(super) fn of_query(resource: &Resource) -> Reads<'_> {
    let destination = match &resource.transport {
        TransportKind::Kubernetes => None,
        TransportKind::Maestro { target_cluster } => Some(target_cluster),
    };
    of_templates(destination.into_iter().chain(templates(&resource.discovery)))
}

/// The names that a discovery can read.
pub(super) fn of_discovery(discovery: &Discovery) -> Reads<'_> {
    of_templates(templates(discovery))
}

fn templates(discovery: &Discovery) -> Vec<&Template> {
    let mut templates: Vec<&Template> = discovery.namespace.iter().collect();
    match &discovery.by {
        DiscoverBy::Name(name) => templates.push(name),
        DiscoverBy::Labels(labels) => templates.extend(labels.iter().flat_map(|(key, value)| [key, value])),
    }
    templates
}

fn of_templates<'a>(templates: impl IntoIterator<Item = &'a Template>) -> Reads<'a> {
    let mut names = BTreeSet::new();
    for template in templates {
        if template.reads_root() {
            return Reads::Any;
        }
        for path in template.variables() {
            let mut segments = path.split('.');
            match (segments.next(), segments.next()) {
                (Some("resources"), Some(name)) => {
                    names.insert(name);
                }
                (Some("resources"), None) => return Reads::Any,
                _ => {}
            }
        }
    }
    Reads::Only(names)
}
