//! Renders a resource's discovery to a query: where to look, and for which name or labels.
//!
//! In: a resource and the variables of the event. Out: a [`Query`]. Rendering fails if a template fails, or if
//! the result is something that no object can have, such as an empty name: such a query would find nothing, so
//! that a live object would look absent and its deletion complete.

use std::collections::BTreeMap;

use lifecycle_language::scope::Scope;
use lifecycle_language::template::RenderError;
use lifecycle_objects::destination::Destination;
use lifecycle_objects::keys;
use lifecycle_objects::kinds::{NameRule, is_namespaced, name_rule};
use lifecycle_objects::labels;
use lifecycle_objects::observation::{Query, QueryBy, Version};
use lifecycle_objects::write::Target;

use crate::task::{DiscoverBy, Discovery, Resource, TransportKind};

/// A discovery that cannot become a query.
#[derive(Debug, thiserror::Error)]
pub(super) enum QueryError {
    /// A template of the discovery or the destination could not be rendered.
    #[error(transparent)]
    Render(#[from] RenderError),
    /// No object can have the rendered name, namespace or labels.
    #[error("{0}")]
    Impossible(String),
}

/// The fence of a write: the UID and resource version of the object that a query found.
pub(super) fn target(query: &Query, version: &Version) -> Target {
    let destination = match &query.destination {
        Destination::ThisCluster => Destination::ThisCluster,
        // The work can be at the consumer that the entry had before; the namespace of a work is its consumer.
        Destination::Consumer(_) => Destination::Consumer(version.namespace().to_owned()),
    };
    Target::of(version, &query.kind, &destination)
}

/// Renders the destination and the discovery of a resource.
pub(super) fn of_resource(resource: &Resource, scope: &Scope) -> Result<Query, QueryError> {
    let destination = destination(&resource.transport, scope)?;
    let (mut namespace, by) = of_any_kind(&resource.discovery, scope)?;
    let kind = resource.kind.clone();
    if let Destination::Consumer(consumer) = &destination {
        let other = namespace.as_ref().filter(|namespace| *namespace != "*" && *namespace != consumer);
        let fault = other.map(|_| format!("the objects of Maestro consumer {consumer} are in namespace {consumer}"));
        possible("namespace", other.map_or("", String::as_str), fault)?;
        namespace = Some(consumer.clone());
    }
    // Tasks of the Go adapter write `*` as the namespace of cluster-scoped kinds, so `*` is not checked as a
    // name.
    let checked = namespace.as_ref().filter(|namespace| *namespace != "*");
    if let Some(namespace) = checked.filter(|_| is_namespaced(&kind) != Some(false)) {
        possible("namespace", namespace, NameRule::Label.fault(namespace))?;
    }
    if let QueryBy::Name(name) = &by {
        possible("by_name", name, name_rule(&kind).fault(name))?;
    }
    Ok(Query { destination, kind, namespace, by })
}

/// Renders the destination of a resource's objects.
fn destination(transport: &TransportKind, scope: &Scope) -> Result<Destination, QueryError> {
    Ok(match transport {
        TransportKind::Kubernetes => Destination::ThisCluster,
        TransportKind::Maestro { target_cluster } => {
            let consumer = target_cluster.render(scope)?.into_owned();
            if let Some(fault) = NameRule::Label.fault(&consumer) {
                let message =
                    format!("target_cluster renders to `{consumer}`, which no Maestro consumer is called: {fault}");
                return Err(QueryError::Impossible(message));
            }
            Destination::Consumer(consumer)
        }
    })
}

/// Renders a nested discovery, whose objects can be of any kind, so that no kind's rules for names apply.
pub(super) fn of_any_kind(discovery: &Discovery, scope: &Scope) -> Result<(Option<String>, QueryBy), QueryError> {
    let namespace = match &discovery.namespace {
        Some(namespace) => Some(namespace.render(scope)?.into_owned()).filter(|namespace| !namespace.is_empty()),
        None => None,
    };
    let by = match &discovery.by {
        DiscoverBy::Name(name) => {
            let name = name.render(scope)?.into_owned();
            possible("by_name", &name, name.is_empty().then(|| "it is empty".to_owned()))?;
            QueryBy::Name(name)
        }
        DiscoverBy::Labels(labels) => {
            let mut rendered = BTreeMap::new();
            for (key, value) in labels {
                let (key, value) = (key.render(scope)?.into_owned(), value.render(scope)?.into_owned());
                possible("label_selector key", &key, labels::key_fault(&key).map(str::to_owned))?;
                possible(&format!("label_selector {key}"), &value, labels::value_fault(&value).map(str::to_owned))?;
                let is_unset = value.is_empty() && keys::OWNERSHIP_LABELS.contains(&key.as_str());
                possible(&format!("label_selector {key}"), &value, is_unset.then(|| "it is never empty".to_owned()))?;
                if rendered.insert(key.clone(), value).is_some() {
                    return Err(QueryError::Impossible(format!("two keys of label_selector render to `{key}`")));
                }
            }
            QueryBy::Labels(rendered)
        }
    };
    Ok((namespace, by))
}

fn possible(place: &str, rendered: &str, fault: Option<String>) -> Result<(), QueryError> {
    match fault {
        Some(fault) => {
            Err(QueryError::Impossible(format!("{place} renders to `{rendered}`, which no object has: {fault}")))
        }
        None => Ok(()),
    }
}
