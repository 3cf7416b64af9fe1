//! Which live objects belong to a resource, and which are merely visible.
//!
//! What discovery by name finds belongs. What a selector finds belongs if its labels say so; an object without
//! our resource label, which an older adapter wrote, belongs if its name is the rendered name, or if no
//! other entry of the task selects that kind. Anything else is never deleted, pruned or written.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::keys;
use crate::manifest::Stamp;
use crate::observation::{Query, QueryBy, Version};

/// Whose an object has to be.
#[derive(Debug, Clone, Copy)]
pub struct Claim<'a> {
    /// The resource's name in the task.
    pub resource: &'a str,
    /// The adapter and the API resource.
    pub stamp: &'a Stamp,
    /// The rendered name, if the manifest renders.
    pub rendered_name: Option<&'a str>,
    /// Whether no other entry of the task selects objects of this kind by labels.
    pub only_selector_of_its_kind: bool,
}

impl Claim<'_> {
    /// Whether an object that `query` found belongs to the resource.
    #[must_use]
    pub fn covers(&self, query: &Query, version: &Version) -> bool {
        match query.by {
            QueryBy::Name(_) => true,
            QueryBy::Labels(_) => match version.label(keys::RESOURCE) {
                Some(resource) => {
                    resource == self.resource
                        && version.label(keys::ADAPTER) == Some(&self.stamp.adapter)
                        && version.label(keys::RESOURCE_ID) == Some(&self.stamp.resource_id)
                }
                None => self.only_selector_of_its_kind || self.rendered_name == Some(version.name()),
            },
        }
    }
}

/// Whether an object would be found by the query.
#[must_use]
pub fn satisfies(query: &Query, object: &Value) -> bool {
    let text = |pointer: &str| object.pointer(pointer).and_then(Value::as_str).unwrap_or_default();
    let in_namespace = query
        .namespace
        .as_deref()
        .is_none_or(|namespace| namespace.is_empty() || namespace == text("/metadata/namespace"));
    in_namespace
        && match &query.by {
            QueryBy::Name(name) => name == text("/metadata/name"),
            QueryBy::Labels(labels) => has_labels(object, labels),
        }
}

fn has_labels(object: &Value, labels: &BTreeMap<String, String>) -> bool {
    let present = object.pointer("/metadata/labels");
    labels.iter().all(|(key, value)| {
        present.and_then(|present| present.get(key)).and_then(Value::as_str) == Some(value.as_str())
    })
}
