//! Prints what an administrator grants: roles for the sweeper, and a policy that protects the labels it trusts.
//!
//! In: the configuration, service accounts, and for the roles the kinds that the cluster serves. Out: manifests as YAML.
//! Fails: never; a pattern that no served kind matches becomes a comment.

pub mod admission;
pub mod rbac;

use std::fmt;

use serde_json::Value;

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

/// Prints manifests as one YAML stream, each behind its comment.
fn stream(documents: &[(String, Value)]) -> String {
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

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "tests")]

    use super::*;

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
