//! Renders a discovery to what is looked for, and where.
//!
//! In: a resource and the variables of the event. Out: a [`Query`] that some object could answer. It fails where a template
//! fails, and where the result is nothing that an object can have, such as an empty name: a query that can find nothing would
//! make a live object look absent, and its deletion look done.

use std::collections::BTreeMap;

use crate::destination::Destination;
use crate::keys;
use crate::observation::{Query, QueryBy};
use crate::scope::Scope;
use crate::task::compile::labels;
use crate::task::kinds::{NameRule, is_namespaced, name_rule};
use crate::task::{DiscoverBy, Discovery, Resource, TransportKind};
use crate::template::RenderError;

/// A discovery that nothing can be looked for by.
#[derive(Debug, thiserror::Error)]
pub(super) enum QueryError {
    /// A template failed.
    #[error(transparent)]
    Render(#[from] RenderError),
    /// The result is nothing that an object can have.
    #[error("{0}")]
    Impossible(String),
}

/// Renders the destination and the discovery of a resource.
pub(super) fn of_resource(resource: &Resource, scope: &Scope) -> Result<Query, QueryError> {
    let destination = destination(&resource.transport, scope)?;
    let (namespace, by) = of_any_kind(&resource.discovery, scope)?;
    let kind = resource.kind.clone();
    // Tasks of the Go adapter write `*` for kinds outside of namespaces, whose namespace is not asked for.
    let checked = namespace.as_ref().filter(|namespace| *namespace != "*");
    if let Some(namespace) = checked.filter(|_| is_namespaced(&kind) != Some(false)) {
        possible("namespace", namespace, NameRule::Label.fault(namespace))?;
    }
    if let QueryBy::Name(name) = &by {
        possible("by_name", name, name_rule(&kind).fault(name))?;
    }
    Ok(Query { destination, kind, namespace, by })
}

/// Renders where a resource's objects live.
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

/// Renders the discovery of objects whose kind is not known, and with it no rule for their names.
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
