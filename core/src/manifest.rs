//! Renders a resource's manifest for one event and stamps it: the desired object.
//!
//! In: a compiled [`Manifest`], the event's [`Scope`] and the [`Stamp`]. Out: a [`Desired`] object, ready to
//! be written. Fails if the manifest does not render to an object with a kind and a name, or if the value of
//! a stamped label or annotation is invalid.

pub mod reserved;

use std::borrow::Cow;

use lifecycle_config::diagnostics::{Diagnostics, Severity};
use lifecycle_config::document::{Document, Node};
use lifecycle_language::scope::Scope;
use lifecycle_language::template::{Tree, Unconfined};
use lifecycle_objects::failure::{FailReason, Failure};
use lifecycle_objects::id::{Generation, GroupVersionKind, is_same_namespace};
use lifecycle_objects::keys;
use lifecycle_objects::observation::Version;
use lifecycle_objects::secret::{encode_texts, lacks_value};
use lifecycle_objects::server_set;
use lifecycle_objects::stamp::{Stamp, apply_stamp, mapping, prove};
use serde_json::{Value, json};

use crate::task::{Manifest, Resource, TransportKind};
use reserved::Reserved;

/// A rendered and stamped object.
#[derive(Debug, Clone, PartialEq)]
pub struct Desired {
    /// The rendered manifest with the adapter's labels and annotation, as the adapter sends it.
    pub object: Value,
    /// The object's API group, version and kind.
    pub kind: GroupVersionKind,
    /// The object's name, from `metadata.name`.
    pub name: String,
    /// The object's namespace, if the manifest names one.
    pub namespace: Option<String>,
    /// The generation in its annotation: the author's if there is one, else the event's.
    pub generation: Generation,
}

impl Desired {
    /// Returns the value of a label.
    #[must_use]
    pub fn label(&self, key: &str) -> Option<&str> {
        self.object.get("metadata")?.get("labels")?.get(key)?.as_str()
    }

    /// Whether a live object has the rendered name and namespace.
    #[must_use]
    pub fn is_named_as(&self, version: &Version) -> bool {
        let namespace = self.namespace.as_deref().unwrap_or_default();
        self.name == version.name() && is_same_namespace(namespace, version.namespace())
    }
}

/// The reasons with which rendering and stamping can fail.
pub const FAILURES: [FailReason; 3] =
    [FailReason::RenderFailed, FailReason::InvalidLabel, FailReason::InvalidGeneration];

/// The fields of a manifest that decide ownership: name, namespace, and the ownership labels if the author
/// wrote them.
#[derive(Debug, Clone, PartialEq)]
pub struct OwnershipFields {
    metadata: Value,
}

impl OwnershipFields {
    /// The paths of those fields.
    const PATHS: [&[&str]; 4] = [
        &["metadata", "name"],
        &["metadata", "namespace"],
        &["metadata", "labels", keys::ADAPTER],
        &["metadata", "labels", keys::RESOURCE_ID],
    ];

    /// Reduces a manifest to these fields, so that an error in another field does not block a deletion. A
    /// text manifest without a structure of its own ([`Manifest::structure`]) stays complete.
    pub(crate) fn part_of(manifest: &Manifest) -> Cow<'_, Manifest> {
        match manifest.structure() {
            Some(tree) => Cow::Owned(Manifest::Inline(tree.keep(&Self::PATHS))),
            None => Cow::Borrowed(manifest),
        }
    }

    /// Renders a reduced manifest.
    ///
    /// # Errors
    /// [`FailReason::RenderFailed`].
    pub(crate) fn render(part: &Manifest, transport: &TransportKind, scope: &Scope) -> Result<Self, Failure> {
        let mut object = render(part, scope)?;
        place(&mut object, transport, scope)?;
        let identity = Self { metadata: object.get("metadata").cloned().unwrap_or_default() };
        if identity.text("name").is_empty() {
            return Err(render_failure("the rendered manifest has no `metadata.name`"));
        }
        Ok(identity)
    }

    /// Returns the value of a label.
    #[must_use]
    pub fn label(&self, key: &str) -> Option<&str> {
        self.metadata.get("labels")?.get(key)?.as_str()
    }

    /// Why the manifest cannot tell whose an object is: it writes another ownership label than the adapter stamps.
    pub(crate) fn fault(&self, resource: &str, stamp: &Stamp) -> Option<Failure> {
        let fault = reserved::fault(&json!({ "metadata": self.metadata }), resource, stamp)?;
        Some(Failure::new(FailReason::InvalidLabel, fault))
    }

    /// Whether a live object has the rendered name and namespace.
    #[must_use]
    pub fn is_named_as(&self, version: &Version) -> bool {
        self.text("name") == version.name() && is_same_namespace(self.text("namespace"), version.namespace())
    }

    /// The rendered name.
    #[must_use]
    pub fn name(&self) -> &str {
        self.text("name")
    }

    /// The rendered namespace; empty if there is none.
    #[must_use]
    pub fn namespace(&self) -> &str {
        self.text("namespace")
    }

    fn text(&self, key: &str) -> &str {
        self.metadata.get(key).and_then(Value::as_str).unwrap_or_default()
    }
}

impl Manifest {
    /// Returns the manifest as a tree of templates. A text manifest has one only if the text is YAML and
    /// every template action is within a key or a value: an action in a comment or between lines can change
    /// the structure.
    #[must_use]
    pub fn structure(&self) -> Option<Cow<'_, Tree>> {
        let text = match self {
            Self::Inline(tree) => return Some(Cow::Borrowed(tree)),
            Self::Text(template) => template.source(),
        };
        let document = Document::parse_secret("manifest", text).ok()?;
        let tree = Tree::parse(&document.root().to_manifest().ok()?).ok()?;
        (actions_of(&tree) == actions(text)).then_some(Cow::Owned(tree))
    }

    /// Returns the manifest as a tree of templates for each of its documents, under the same condition; none if it is not
    /// met.
    #[must_use]
    pub fn structures(&self) -> Vec<Cow<'_, Tree>> {
        let text = match self {
            Self::Inline(tree) => return vec![Cow::Borrowed(tree)],
            Self::Text(template) => template.source(),
        };
        let trees = |documents: Vec<Value>| documents.iter().map(|document| Tree::parse(document).ok()).collect();
        let trees: Option<Vec<Tree>> = parse_all(text).ok().and_then(trees);
        let trees = trees.filter(|trees| trees.iter().map(actions_of).sum::<usize>() == actions(text));
        trees.into_iter().flatten().map(Cow::Owned).collect()
    }
}

/// How many template actions a text has.
fn actions(text: &str) -> usize {
    text.matches("{{").count()
}

fn actions_of(tree: &Tree) -> usize {
    tree.templates().into_iter().map(|template| actions(template.source())).sum()
}

/// Renders and stamps a resource's manifest.
///
/// # Errors
/// The manifest does not render, a stamped value is invalid, or the manifest writes a label or annotation that is
/// [reserved].
pub fn desired(resource: &Resource, scope: &Scope, stamp: &Stamp, reserved: Reserved) -> Result<Desired, Failure> {
    let mut object = render(&resource.manifest, scope)?;
    if let Some(fault) = lacks_value(&object) {
        return Err(render_failure(fault));
    }
    server_set::strip(&mut object);
    encode_texts(&mut object);
    place(&mut object, &resource.transport, scope)?;
    if let (Reserved::Refused, Some(fault)) = (reserved, reserved::fault(&object, &resource.name, stamp)) {
        return Err(Failure::new(FailReason::InvalidLabel, fault));
    }
    let generation = apply_stamp(&mut object, &resource.name, stamp)?;
    let text = |of: Option<&Value>, key: &str| of.and_then(|of| of.get(key)?.as_str()).unwrap_or_default().to_owned();
    let metadata = object.get("metadata");
    let (api_version, kind, name) =
        (text(Some(&object), "apiVersion"), text(Some(&object), "kind"), text(metadata, "name"));
    for (value, key) in [(&api_version, "apiVersion"), (&kind, "kind"), (&name, "metadata.name")] {
        if value.is_empty() {
            return Err(render_failure(format!("the rendered manifest has no `{key}`")));
        }
    }
    let namespace = Some(text(metadata, "namespace")).filter(|namespace| !namespace.is_empty());
    let kind = GroupVersionKind::new(&api_version, &kind);
    if let Some(signer) = &stamp.signer {
        prove(&mut object, signer, &kind);
    }
    Ok(Desired { kind, name, namespace, generation, object })
}

/// Puts an object of a Maestro consumer into its only namespace, which has the consumer's name.
fn place(object: &mut Value, transport: &TransportKind, scope: &Scope) -> Result<(), Failure> {
    if let TransportKind::Maestro { target_cluster } = transport {
        let consumer = target_cluster.render(scope).map_err(|error| render_failure(error.to_string()))?;
        mapping(object, "metadata")?.insert("namespace".to_owned(), Value::from(&*consumer));
    }
    Ok(())
}

fn render_failure(message: impl Into<String>) -> Failure {
    Failure::new(FailReason::RenderFailed, message)
}

fn render(manifest: &Manifest, scope: &Scope) -> Result<Value, Failure> {
    let object = match manifest {
        Manifest::Inline(tree) => tree.render(scope).map_err(|error| render_failure(error.to_string()))?,
        Manifest::Text(template) => {
            let (text, is_suspicious) =
                template.render_watched(scope).map_err(|error| render_failure(error.to_string()))?;
            let (object, has_other_documents) = parse(&text)?;
            if is_suspicious {
                if has_other_documents {
                    return Err(render_failure(Unconfined::Structure(String::new()).to_string()));
                }
                let parse = |text: &str| parse(text).ok().map(|(object, _)| object);
                template.confine(scope, &object, &[], parse).map_err(|error| render_failure(error.to_string()))?;
            }
            object
        }
    };
    match object {
        Value::Object(map) if !map.is_empty() => Ok(Value::Object(map)),
        Value::Object(_) | Value::Null => Err(render_failure("empty manifest: it renders to nothing")),
        Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Array(_) => {
            Err(render_failure("the manifest does not render to a mapping"))
        }
    }
}

/// Parses a rendered text manifest by the rules of Kubernetes' own YAML parser; says whether other documents follow.
///
/// An error names the line but never quotes it: the manifest may be a Secret.
fn parse(text: &str) -> Result<(Value, bool), Failure> {
    if text.trim().is_empty() {
        return Ok((Value::Null, false));
    }
    let failed = |messages: String| render_failure(format!("failed to parse rendered manifest as YAML: {messages}"));
    let document =
        Document::parse_secret("the rendered manifest", text).map_err(|found| failed(errors_by_line(&found)))?;
    let object = document.root().to_manifest().map_err(failed)?;
    Ok((object, document.has_other_documents()))
}

/// Parses every document of a text, by the same rules; the error names lines and quotes none.
pub(crate) fn parse_all(text: &str) -> Result<Vec<Value>, String> {
    let roots = Document::parse_all_secret("the manifest", text).map_err(|found| errors_by_line(&found))?;
    roots.iter().map(Node::to_manifest).collect()
}

/// The line, from 1, at which the content of each document of a text begins; none for a text that does not parse.
pub(crate) fn document_lines(text: &str) -> Vec<usize> {
    let roots = Document::parse_all_secret("the manifest", text).unwrap_or_default();
    roots.iter().map(|root| root.position.line).collect()
}

/// The errors of parsing a text, each with its line.
fn errors_by_line(diagnostics: &Diagnostics) -> String {
    let errors = diagnostics.all().iter().filter(|diagnostic| diagnostic.severity == Severity::Error);
    let messages = errors.map(|diagnostic| match diagnostic.line {
        Some(line) => format!("line {line}: {}", diagnostic.message),
        None => diagnostic.message.clone(),
    });
    messages.collect::<Vec<_>>().join("; ")
}

#[cfg(test)]
mod tests;
