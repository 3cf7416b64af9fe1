//! What a call is about, in the words that error texts and spans use.

use std::fmt;

use lifecycle_core::belonging::is_same_namespace;
use lifecycle_core::id::GroupVersionKind;
use lifecycle_core::observation::{Query, QueryBy};
use lifecycle_core::write::Target;
use serde_json::Value;

/// One object, or the objects of one kind. An empty name or namespace is none.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Subject {
    pub(crate) kind: GroupVersionKind,
    pub(crate) namespace: Option<String>,
    pub(crate) name: Option<String>,
}

impl Subject {
    /// Reads kind, namespace and name off an object.
    pub(crate) fn of(object: &Value) -> Self {
        let text = |object: &Value, key: &str| object.get(key).and_then(Value::as_str).map(str::to_owned);
        let metadata = object.get("metadata").unwrap_or(&Value::Null);
        Self {
            kind: GroupVersionKind::new(
                &text(object, "apiVersion").unwrap_or_default(),
                &text(object, "kind").unwrap_or_default(),
            ),
            namespace: text(metadata, "namespace").filter(|namespace| !namespace.is_empty()),
            name: text(metadata, "name").filter(|name| !name.is_empty()),
        }
    }
}

impl Subject {
    /// Whether a target has this namespace and name.
    pub(crate) fn is_named_as(&self, target: &Target) -> bool {
        let namespace = |namespace: &Option<String>| namespace.clone().unwrap_or_default();
        self.name.as_ref() == Some(&target.name)
            && is_same_namespace(&namespace(&self.namespace), &namespace(&target.namespace))
    }
}

impl From<&Target> for Subject {
    fn from(target: &Target) -> Self {
        Self {
            kind: target.kind.clone(),
            namespace: target.namespace.clone().filter(|namespace| !namespace.is_empty()),
            name: Some(target.name.clone()).filter(|name| !name.is_empty()),
        }
    }
}

impl From<&Query> for Subject {
    fn from(query: &Query) -> Self {
        let name = match &query.by {
            QueryBy::Name(name) => Some(name.clone()),
            QueryBy::Labels(_) => None,
        };
        Self {
            kind: query.kind.clone(),
            namespace: query.namespace.clone().filter(|namespace| !namespace.is_empty()),
            name: name.filter(|name| !name.is_empty()),
        }
    }
}

impl fmt::Display for Subject {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let kind = &self.kind.kind;
        match (&self.namespace, &self.name) {
            (Some(namespace), Some(name)) => write!(f, "{kind} {namespace}/{name}"),
            (None, Some(name)) => write!(f, "{kind} {name}"),
            (Some(namespace), None) => write!(f, "{kind} in {namespace}"),
            (None, None) => f.write_str(kind),
        }
    }
}
