//! The kind, namespace and name of an object, printed in error texts and spans.

use std::fmt;

use serde_json::Value;

use crate::id::GroupVersionKind;
use crate::id::is_same_namespace;
use crate::observation::{Query, QueryBy};
use crate::write::Target;

/// The kind, namespace and name of one object.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ObjectRef {
    /// The object's API group, version and kind.
    pub kind: GroupVersionKind,
    /// The object's namespace; `None` for a cluster-scoped object and for a list over all namespaces. Never
    /// empty.
    pub namespace: Option<String>,
    /// The object's name; empty for a list, and for an object whose name the API server will generate.
    pub name: String,
}

impl ObjectRef {
    /// Refers to all objects of a kind: in one namespace, or everywhere if there is none.
    #[must_use]
    pub fn all(kind: GroupVersionKind, namespace: Option<&str>) -> Self {
        let namespace = namespace.filter(|namespace| !namespace.is_empty()).map(str::to_owned);
        Self { kind, namespace, name: String::new() }
    }

    /// Reads kind, namespace and name from an object.
    #[must_use]
    pub fn of(object: &Value) -> Self {
        fn text<'o>(object: &'o Value, key: &str) -> &'o str {
            object.get(key).and_then(Value::as_str).unwrap_or_default()
        }
        let metadata = object.get("metadata").unwrap_or(&Value::Null);
        Self {
            kind: GroupVersionKind::new(text(object, "apiVersion"), text(object, "kind")),
            namespace: Some(text(metadata, "namespace")).filter(|namespace| !namespace.is_empty()).map(str::to_owned),
            name: text(metadata, "name").to_owned(),
        }
    }

    /// Whether the target has this name, and a namespace that can be the same.
    #[must_use]
    pub fn is_named_as(&self, target: &Target) -> bool {
        let namespace = |namespace: &Option<String>| namespace.clone().unwrap_or_default();
        self.name == target.name && is_same_namespace(&namespace(&self.namespace), &namespace(&target.namespace))
    }
}

impl From<&Target> for ObjectRef {
    fn from(target: &Target) -> Self {
        Self { name: target.name.clone(), ..Self::all(target.kind.clone(), target.namespace.as_deref()) }
    }
}

impl From<&Query> for ObjectRef {
    fn from(query: &Query) -> Self {
        let name = match &query.by {
            QueryBy::Name(name) => name.clone(),
            QueryBy::Labels(_) => String::new(),
        };
        Self { name, ..Self::all(query.kind.clone(), query.namespace.as_deref()) }
    }
}

impl fmt::Display for ObjectRef {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let kind = &self.kind.kind;
        match (&self.namespace, self.name.as_str()) {
            (None, "") => f.write_str(kind),
            (None, name) => write!(f, "{kind} {name}"),
            (Some(namespace), "") => write!(f, "{kind} in {namespace}"),
            (Some(namespace), name) => write!(f, "{kind} {namespace}/{name}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn object_ref_prints_kind_namespace_and_name() {
        let named = |metadata: Value| {
            ObjectRef::of(&json!({ "apiVersion": "batch/v1", "kind": "Job", "metadata": metadata })).to_string()
        };
        assert_eq!(named(json!({ "name": "a", "namespace": "team" })), "Job team/a");
        assert_eq!(named(json!({ "name": "a" })), "Job a");
        assert_eq!(named(json!({ "namespace": "team" })), "Job in team");
        assert_eq!(named(json!({ "namespace": "" })), "Job");
    }
}
