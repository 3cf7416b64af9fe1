//! What makes two objects the same object: group, kind, namespace and name, without the version.
//!
//! In: an object, or a text such as `Deployment.apps`. Out: its [`Identity`] or [`GroupKind`]. Fails: a text that names no
//! kind. Nothing here knows whether a kind is namespaced: the caller has put the namespace right before it asks.

use std::fmt;
use std::str::FromStr;

use crate::labels::is_subdomain;
use crate::object_ref::ObjectRef;

/// An API group and a kind. The version is left out, because the API server serves each object in every version of its
/// group.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct GroupKind {
    /// The API group; empty for the core group.
    pub group: String,
    /// The kind, such as `ConfigMap`.
    pub kind: String,
}

impl GroupKind {
    /// Makes a kind of a group; the core group is empty.
    #[must_use]
    pub fn new(group: &str, kind: &str) -> Self {
        Self { group: group.to_owned(), kind: kind.to_owned() }
    }

    /// Whether objects of this kind are namespaces.
    #[must_use]
    pub fn is_namespace(&self) -> bool {
        self.is("", "Namespace")
    }

    /// Whether objects of this kind introduce a kind of their own.
    #[must_use]
    pub fn is_custom_resource_definition(&self) -> bool {
        self.is("apiextensions.k8s.io", "CustomResourceDefinition")
    }

    /// Whether objects of this kind introduce the kinds that another API server serves.
    #[must_use]
    pub fn is_api_service(&self) -> bool {
        self.is("apiregistration.k8s.io", "APIService")
    }

    fn is(&self, group: &str, kind: &str) -> bool {
        self.group == group && self.kind == kind
    }
}

/// Prints `Deployment.apps`, and just `ConfigMap` for the core group, as kubectl and the `ApplySet` convention do.
impl fmt::Display for GroupKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.group.as_str() {
            "" => f.write_str(&self.kind),
            group => write!(f, "{}.{group}", self.kind),
        }
    }
}

/// The error for a text that does not name a kind.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not `KIND` or `KIND.GROUP`, such as `ConfigMap` or `Deployment.apps`")]
pub struct GroupKindError(pub String);

/// As the key of a JSON object.
impl serde::Serialize for GroupKind {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> serde::Deserialize<'de> for GroupKind {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(serde::de::Error::custom)
    }
}

impl FromStr for GroupKind {
    type Err = GroupKindError;

    /// Parses what [`Display`](fmt::Display) prints. A kind has no dot, so the first dot begins the group.
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let (kind, group) = match text.split_once('.') {
            Some((kind, group)) => (kind, Some(group)),
            None => (text, None),
        };
        if !is_kind(kind) || group.is_some_and(|group| !is_subdomain(group)) {
            return Err(GroupKindError(text.to_owned()));
        }
        Ok(Self::new(group.unwrap_or_default(), kind))
    }
}

/// Whether a text can be a kind: the API server demands a DNS label, of which a kind may write letters in upper case.
#[must_use]
pub fn is_kind(text: &str) -> bool {
    let inner = |c: char| c.is_ascii_alphanumeric() || c == '-';
    let is_long = text.len() > 63;
    text.starts_with(|c: char| c.is_ascii_alphabetic()) && !text.ends_with('-') && text.chars().all(inner) && !is_long
}

/// The kind, namespace and name of one object of a bundle; a bundle has at most one object of each identity.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Identity {
    /// The object's API group and kind.
    pub kind: GroupKind,
    /// The object's namespace; `None` for a cluster-scoped object. Never empty.
    pub namespace: Option<String>,
    /// The object's name.
    pub name: String,
}

impl From<ObjectRef> for Identity {
    fn from(object: ObjectRef) -> Self {
        let kind = GroupKind { group: object.kind.group, kind: object.kind.kind };
        Self { kind, namespace: object.namespace, name: object.name }
    }
}

/// Prints `Deployment.apps team/web`, and `ClusterRole.rbac.authorization.k8s.io viewer` without a namespace.
impl fmt::Display for Identity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.namespace {
            Some(namespace) => write!(f, "{} {namespace}/{}", self.kind, self.name),
            None => write!(f, "{} {}", self.kind, self.name),
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    fn identity(api_version: &str, metadata: &serde_json::Value) -> Identity {
        ObjectRef::of(&json!({ "apiVersion": api_version, "kind": "Widget", "metadata": metadata })).into()
    }

    #[test]
    fn identity_leaves_the_version_out() {
        let metadata = json!({ "namespace": "team", "name": "web" });
        assert_eq!(identity("example.io/v1", &metadata), identity("example.io/v2beta1", &metadata));
        assert_ne!(identity("example.io/v1", &metadata), identity("example.com/v1", &metadata));
    }

    #[test]
    fn identity_prints_kind_group_namespace_and_name() {
        let cases = [
            ("example.io/v1", json!({ "namespace": "team", "name": "web" }), "Widget.example.io team/web"),
            ("v1", json!({ "namespace": "team", "name": "web" }), "Widget team/web"),
            ("v1", json!({ "namespace": "", "name": "web" }), "Widget web"),
        ];
        for (api_version, metadata, expected) in cases {
            assert_eq!(identity(api_version, &metadata).to_string(), expected);
        }
    }

    #[test]
    fn text_that_names_no_kind_is_refused() {
        for text in ["", ".apps", "Deployment.", "Deployment.Apps", "Deploy ment", "a,b", "-A", "A-", "*", "Ä"] {
            assert_eq!(text.parse::<GroupKind>(), Err(GroupKindError(text.to_owned())), "{text}");
        }
        assert!("A".repeat(64).parse::<GroupKind>().is_err());
    }

    proptest! {
        #[test]
        fn printed_kind_parses_to_itself(kind in "[A-Z][A-Za-z0-9]{0,20}", group in "([a-z]{1,8}(\\.[a-z0-9]{1,8}){0,3})?") {
            let kind = GroupKind::new(&group, &kind);
            prop_assert_eq!(kind.to_string().parse(), Ok(kind));
        }
    }
}
