//! Manifests that grant a service account rights.
//!
//! In: rules, names, service accounts. Out: `Role`s, `ClusterRole`s and their bindings as JSON, and YAML for
//! `kubectl apply`. Fails: only [`Account::parse`].

use std::fmt;

use lifecycle_objects::id::GroupVersionKind;
use serde_json::{Value, json};

/// The API group of roles and bindings.
const RBAC: &str = "rbac.authorization.k8s.io";

/// A service account.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Account {
    /// The namespace of the service account.
    pub namespace: String,
    /// The name of the service account.
    pub name: String,
}

impl Account {
    /// Parses `namespace/name`.
    ///
    /// # Errors
    ///
    /// The text has another form.
    pub fn parse(text: &str) -> Result<Self, String> {
        // As Kubernetes restricts these names.
        let is_name = |text: &str| {
            !text.is_empty()
                && text.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '.' || c == '-')
        };
        match text.split_once('/') {
            Some((namespace, name)) if is_name(namespace) && is_name(name) => {
                Ok(Self { namespace: namespace.to_owned(), name: name.to_owned() })
            }
            _ => Err(format!("{text:?} is no service account: write `namespace/name`")),
        }
    }

    /// The user name that the account has in requests.
    #[must_use]
    pub fn user(&self) -> String {
        format!("system:serviceaccount:{}:{}", self.namespace, self.name)
    }
}

impl fmt::Display for Account {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.namespace, self.name)
    }
}

/// A rule that allows these verbs on resources of an API group, by their plural names.
#[must_use]
pub fn rule<'a>(group: &str, resources: impl IntoIterator<Item = &'a str>, verbs: &[&str]) -> Value {
    let resources: Vec<_> = resources.into_iter().collect();
    json!({ "apiGroups": [group], "resources": resources, "verbs": verbs })
}

/// A `Role`, or a `ClusterRole` without a namespace.
#[must_use]
pub fn role(namespace: Option<&str>, name: &str, rules: &[Value]) -> Value {
    let kind = if namespace.is_some() { "Role" } else { "ClusterRole" };
    object(&format!("{RBAC}/v1"), kind, namespace, name, json!({ "rules": rules }))
}

/// Binds the `Role` of this name in the namespace, or without a namespace the `ClusterRole`, to a service account.
#[must_use]
pub fn binding(namespace: Option<&str>, name: &str, account: &Account) -> Value {
    let role = if namespace.is_some() { "Role" } else { "ClusterRole" };
    let subject = json!({ "kind": "ServiceAccount", "namespace": account.namespace, "name": account.name });
    let reference = json!({ "apiGroup": RBAC, "kind": role, "name": name });
    let rest = json!({ "roleRef": reference, "subjects": [subject] });
    object(&format!("{RBAC}/v1"), &format!("{role}Binding"), namespace, name, rest)
}

/// A manifest: its identity, and the members of `rest`.
#[must_use]
pub fn object(api_version: &str, kind: &str, namespace: Option<&str>, name: &str, rest: Value) -> Value {
    let mut manifest = json!({ "apiVersion": api_version, "kind": kind, "metadata": { "name": name } });
    if let Some(namespace) = namespace {
        manifest["metadata"]["namespace"] = namespace.into();
    }
    if let (Some(manifest), Value::Object(rest)) = (manifest.as_object_mut(), rest) {
        manifest.extend(rest);
    }
    manifest
}

/// Prints manifests as one YAML stream, each behind its comment.
#[must_use]
pub fn stream(documents: &[(String, Value)]) -> String {
    let mut text = String::new();
    for (comment, document) in documents {
        text.push_str("---\n");
        for line in comment.lines() {
            text.push_str("# ");
            text.push_str(line);
            text.push('\n');
        }
        // JSON values always have a YAML form.
        text.push_str(&serde_saphyr::to_string(document).unwrap_or_default());
        if !text.ends_with('\n') {
            text.push('\n');
        }
    }
    text
}

/// The plural name of a kind's resource, by the rules that Kubernetes' own kinds follow.
///
/// A custom kind is called by the plural of its definition, which its author may have chosen otherwise.
#[must_use]
pub fn plural(kind: &GroupVersionKind) -> String {
    if kind.kind.len() < 2 {
        // The library's function subtracts from the length.
        return format!("{}s", kind.kind.to_ascii_lowercase());
    }
    let kind = kube::api::GroupVersionKind::gvk(&kind.group, &kind.version, &kind.kind);
    kube::api::ApiResource::from_gvk(&kind).plural
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "tests")]

    use super::*;

    #[test]
    fn plural_follows_the_rules_of_kubernetes() {
        let cases = [
            ("Job", "jobs"),
            ("NetworkPolicy", "networkpolicies"),
            ("Gateway", "gateways"),
            ("Ingress", "ingresses"),
            ("Endpoints", "endpoints"),
            ("Y", "ys"),
        ];
        for (kind, expected) in cases {
            let kind = GroupVersionKind { group: "g".into(), version: "v1".into(), kind: kind.into() };
            assert_eq!(plural(&kind), expected);
        }
    }

    #[test]
    fn account_is_parsed_from_namespace_and_name() {
        let account = Account::parse("fleet/adapter").unwrap();
        assert_eq!(account.user(), "system:serviceaccount:fleet:adapter");
        assert_eq!(account.to_string(), "fleet/adapter");
        for text in [
            "adapter",
            "/adapter",
            "fleet/",
            "a/b/c",
            "",
            "fleet/a'b",
            "Fleet/adapter",
            "system:serviceaccount:fleet:adapter",
        ] {
            let error = Account::parse(text).unwrap_err();
            assert!(error.contains("write `namespace/name`"), "{error}");
        }
    }
}
