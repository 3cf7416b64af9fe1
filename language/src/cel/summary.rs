//! A value in a few words, for people who ask why something was decided.
//!
//! In goes JSON, out comes its compact text, cut after [`MAX_CHARACTERS`]. A whole Kubernetes object becomes its kind and
//! name, because a gate mostly asks whether the object exists. `data` and `stringData` of a Secret read `[redacted]`,
//! wherever the Secret is in the value, and so does the annotation in which `kubectl apply` keeps a copy of the
//! Secret's fields, and what is secret in the scope.

use serde_json::Value;

use crate::secrets::{REDACTED, Secrets};

/// The longest text, in characters, without the `…` that marks a cut text.
pub(super) const MAX_CHARACTERS: usize = 100;

/// The annotation with the whole manifest that `kubectl apply` sent last.
const LAST_APPLIED: &str = "kubectl.kubernetes.io/last-applied-configuration";

/// A value, and the kind of container that it is in.
#[derive(Clone, Copy)]
pub(super) struct Place<'v> {
    value: &'v Value,
    within: Within,
    secrets: &'v Secrets,
}

/// The kind of container that a value is in, which decides whether a summary may show the value.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Within {
    /// The value is in no container with confidential data: neither a Secret nor `env`.
    Anything,
    /// The value is the `metadata` of a Secret.
    SecretMetadata,
    /// The value is the `annotations` of a Secret.
    SecretAnnotations,
    /// Data that nobody may see.
    Confidential,
}

impl<'v> Place<'v> {
    /// A value that is no part of another, and the texts that its summary may not show.
    pub(super) fn of(value: &'v Value, secrets: &'v Secrets) -> Self {
        Self { value, within: Within::Anything, secrets }
    }

    /// The same value, which nobody may see, nor what is in it.
    pub(super) fn confidential(self) -> Self {
        Self { within: Within::Confidential, ..self }
    }

    /// The entry of an object, or the element of a list at a decimal index.
    pub(super) fn child(&self, key: &str) -> Option<Self> {
        let is_index = key.bytes().all(|byte| byte.is_ascii_digit());
        self.entry(key).or_else(|| self.element(key.parse().ok().filter(|_| is_index)?))
    }

    /// The entry of an object.
    pub(super) fn entry(&self, key: &str) -> Option<Self> {
        self.value.get(key).map(|value| Self { value, within: self.within(key), secrets: self.secrets })
    }

    /// The element of a list.
    pub(super) fn element(&self, index: usize) -> Option<Self> {
        self.value.as_array()?.get(index).map(|value| self.same(value))
    }

    /// Writes the value as a short text for logs, with confidential parts redacted.
    pub(super) fn summary(self) -> String {
        if self.within == Within::Confidential {
            return REDACTED.to_owned();
        }
        let mut text = self.object_name().unwrap_or_default();
        if text.is_empty() {
            self.write(&mut text);
        }
        if let Some((end, _)) = text.char_indices().nth(MAX_CHARACTERS) {
            text.truncate(end);
            text.push('…');
        }
        text
    }

    /// `Job team-a/provision`, if the value is a Kubernetes object.
    fn object_name(self) -> Option<String> {
        let text = |value: &'v Value, key: &str| value.get(key).and_then(Value::as_str);
        let (kind, _, metadata) =
            (text(self.value, "kind")?, text(self.value, "apiVersion")?, self.value.get("metadata")?);
        let name = text(metadata, "name")?;
        let object = match text(metadata, "namespace") {
            Some(namespace) if !namespace.is_empty() => format!("{kind} {namespace}/{name}"),
            _ => format!("{kind} {name}"),
        };
        Some(self.secrets.text(&object).into_owned())
    }

    /// An element: as confidential as its list.
    fn same(&self, value: &'v Value) -> Self {
        Self { value, within: self.within, secrets: self.secrets }
    }

    fn within(&self, key: &str) -> Within {
        let is_secret = || self.value.get("kind").and_then(Value::as_str) == Some("Secret");
        match (self.within, key) {
            (Within::Confidential, _) | (Within::SecretAnnotations, LAST_APPLIED) => Within::Confidential,
            (Within::SecretMetadata, "annotations") => Within::SecretAnnotations,
            (_, "data" | "stringData") if is_secret() => Within::Confidential,
            (_, "metadata") if is_secret() => Within::SecretMetadata,
            (Within::Anything | Within::SecretMetadata | Within::SecretAnnotations, _) => Within::Anything,
        }
    }

    /// Appends the value, up to a little more than is kept.
    fn write(self, text: &mut String) {
        match self.value {
            _ if self.within == Within::Confidential => quote(REDACTED, text),
            Value::Number(number) if self.secrets.contain_number(number) => quote(REDACTED, text),
            Value::Null | Value::Bool(_) | Value::Number(_) => text.push_str(&self.value.to_string()),
            // Before the value is cut: the beginning of a secret would not be found.
            Value::String(value) => quote(&self.secrets.text(value), text),
            Value::Array(items) => {
                text.push('[');
                for (index, item) in items.iter().enumerate() {
                    if !separate(index, text) {
                        break;
                    }
                    self.same(item).write(text);
                }
                text.push(']');
            }
            Value::Object(fields) => {
                text.push('{');
                for (index, (key, value)) in fields.iter().enumerate() {
                    if !separate(index, text) {
                        break;
                    }
                    quote(key, text);
                    text.push(':');
                    Self { value, within: self.within(key), secrets: self.secrets }.write(text);
                }
                text.push('}');
            }
        }
    }
}

/// Separates two items; false if the text is long enough already.
fn separate(index: usize, text: &mut String) -> bool {
    if index > 0 {
        text.push(',');
    }
    // No character has more than four bytes.
    text.len() <= 4 * MAX_CHARACTERS
}

/// Appends a string as JSON, up to a little more than is kept.
fn quote(value: &str, text: &mut String) {
    let end = value.char_indices().nth(MAX_CHARACTERS + 1).map_or(value.len(), |(end, _)| end);
    text.push_str(&Value::from(&value[..end]).to_string());
}
