//! Which live objects belong to a resource, and which are merely visible.
//!
//! In: a [`Claim`], which is one resource's, and a version that its discovery found. Out: [`Belongs`]. Nothing can fail;
//! what only the rendered manifest can tell is `Unclear` until it is rendered.
//!
//! What discovery by name finds belongs. What a selector finds belongs if its labels say so; an object without
//! our resource label, which an older adapter wrote, belongs if no other entry's discovery finds it, or if it has the
//! rendered name, and if none of its other labels says that it is another's. What was released says by whom, and goes on to
//! belong to that resource, so that it is known not to be touched. Anything else is never deleted, pruned, stripped or written.

use serde_json::Value;

use crate::id::GroupVersionKind;
use crate::keys;
use crate::manifest::{Identity, Stamp};
use crate::observation::{Query, QueryBy, Version};
use crate::plan::disowned_by;

/// Whose an object has to be.
#[derive(Debug, Clone)]
pub struct Claim<'a> {
    /// The resource's name in the task.
    pub resource: &'a str,
    /// The adapter and the API resource.
    pub stamp: &'a Stamp,
    /// What the rendered manifest says of itself; none if it was not rendered.
    pub identity: Option<&'a Identity>,
    /// What the task's other entries of this kind look for at the same destination.
    pub rivals: Vec<Rival<'a>>,
}

/// Another entry of the task, for objects of the same kind at the same destination.
#[derive(Debug, Clone, Copy)]
pub enum Rival<'a> {
    /// What it looks for is not known.
    Unknown,
    /// It looks for these.
    Finds(&'a Query),
}

/// Whether an object belongs to a resource.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Belongs {
    /// It does.
    Yes,
    /// It does not.
    No,
    /// The rendered manifest would tell, and was not rendered.
    Unclear,
}

impl Claim<'_> {
    /// Whether an object that `query` found belongs to the resource.
    #[must_use]
    pub fn covers(&self, query: &Query, version: &Version) -> Belongs {
        if matches!(query.by, QueryBy::Name(_)) || self.released(version) {
            return Belongs::Yes;
        }
        match version.label(keys::RESOURCE) {
            Some(resource) if resource == self.resource => self.by_labels(version, false),
            Some(_) => Belongs::No,
            None if version.is_disowned() && version.annotation(keys::DISOWNED_BY).is_some() => Belongs::No,
            // It need not say whose it is, but if it does, it has to be ours.
            None => match self.by_labels(version, true) {
                Belongs::Yes if self.is_contested(version) => self.by_name(version),
                belongs @ (Belongs::Yes | Belongs::No | Belongs::Unclear) => belongs,
            },
        }
    }

    /// Whether an object is marked as released by this resource. A mark that does not say by whom, as a person may set it,
    /// counts if nothing on the object says that it was another's.
    #[must_use]
    pub fn released(&self, version: &Version) -> bool {
        if version.label(keys::DISOWNED) != Some(&self.stamp.resource_id) {
            return false;
        }
        match version.annotation(keys::DISOWNED_BY) {
            Some(by) => by == disowned_by(self.stamp, self.resource),
            None => {
                let is_open = |key: &str, ours: &str| version.label(key).is_none_or(|label| label == ours);
                is_open(keys::RESOURCE, self.resource)
                    && is_open(keys::ADAPTER, &self.stamp.adapter)
                    && is_open(keys::RESOURCE_ID, &self.stamp.resource_id)
                    && (version.label(keys::RESOURCE).is_some() || !self.may_be_released_by_another(version))
            }
        }
    }

    /// The labels that are ours are the stamped ones, and those that the author wrote in their place. `may_be_absent` says
    /// whether an object without one of them is ours as well.
    fn by_labels(&self, version: &Version, may_be_absent: bool) -> Belongs {
        let stamps = [(keys::ADAPTER, &self.stamp.adapter), (keys::RESOURCE_ID, &self.stamp.resource_id)];
        let is_ours = |key: &str, stamped: &str| {
            let Some(label) = version.label(key) else { return may_be_absent };
            label == stamped || self.identity.and_then(|identity| identity.label(key)) == Some(label)
        };
        if stamps.into_iter().all(|(key, stamped)| is_ours(key, stamped)) {
            Belongs::Yes
        } else if self.identity.is_none() {
            Belongs::Unclear
        } else {
            Belongs::No
        }
    }

    fn by_name(&self, version: &Version) -> Belongs {
        match self.identity {
            None => Belongs::Unclear,
            Some(identity) if identity.is_named_as(version) => Belongs::Yes,
            Some(_) => Belongs::No,
        }
    }

    /// Whether a mark can be another entry's. A release takes labels off, so that a selector which does not find the object
    /// any more proves nothing.
    fn may_be_released_by_another(&self, version: &Version) -> bool {
        self.rivals.iter().any(|rival| match rival {
            Rival::Unknown => true,
            Rival::Finds(query) => matches!(query.by, QueryBy::Labels(_)) || could_find(query, version),
        })
    }

    /// Whether another entry of the task finds an object that does not say whose it is.
    fn is_contested(&self, version: &Version) -> bool {
        self.rivals.iter().any(|rival| match rival {
            Rival::Unknown => true,
            Rival::Finds(query) => could_find(query, version),
        })
    }
}

/// Whether two kinds have the same objects: one object is served in every version of its group.
#[must_use]
pub fn is_same_kind(a: &GroupVersionKind, b: &GroupVersionKind) -> bool {
    a.group == b.group && a.kind == b.kind
}

/// Whether two namespaces can be one. A cluster-scoped object has none, whatever a task gives its kind.
#[must_use]
pub fn is_same_namespace(a: &str, b: &str) -> bool {
    a.is_empty() || b.is_empty() || a == b
}

/// What a query asks of an object.
pub trait Described {
    /// `metadata.name`; empty if it has none.
    fn name(&self) -> &str;
    /// `metadata.namespace`; empty for a cluster-scoped object.
    fn namespace(&self) -> &str;
    /// A label's value.
    fn label(&self, key: &str) -> Option<&str>;
}

impl Described for Value {
    fn name(&self) -> &str {
        self.pointer("/metadata/name").and_then(Value::as_str).unwrap_or_default()
    }

    fn namespace(&self) -> &str {
        self.pointer("/metadata/namespace").and_then(Value::as_str).unwrap_or_default()
    }

    fn label(&self, key: &str) -> Option<&str> {
        self.pointer("/metadata/labels")?.get(key)?.as_str()
    }
}

/// Whether an object is in the namespace, if one is given, and has the name or the labels.
#[must_use]
pub fn satisfies(namespace: Option<&str>, by: &QueryBy, object: &impl Described) -> bool {
    let namespace = namespace.unwrap_or_default();
    (namespace.is_empty() || namespace == object.namespace()) && matches(by, object)
}

/// Whether an object at the query's destination would be found by the query if its kind is cluster-scoped, for which a
/// namespace is ignored.
#[must_use]
pub fn could_find(query: &Query, object: &impl Described) -> bool {
    is_same_namespace(query.namespace.as_deref().unwrap_or_default(), object.namespace()) && matches(&query.by, object)
}

fn matches(by: &QueryBy, object: &impl Described) -> bool {
    match by {
        QueryBy::Name(name) => object.name() == name,
        QueryBy::Labels(labels) => labels.iter().all(|(key, value)| object.label(key) == Some(value)),
    }
}

#[cfg(test)]
mod tests;
