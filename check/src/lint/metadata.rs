//! Warns of labels and annotations that Kubernetes rejects.
//!
//! Their values are strings in the API. YAML reads `1` and `true` without quotes as a number and a boolean, and
//! the API server answers 400 to each write.

use lifecycle_config::document::{Content, Document, Entry, Node, Path, Scalar};

use super::{Linter, resources};
use lifecycle_core::id::GroupVersionKind;
use lifecycle_core::task::compile::labels;
use lifecycle_core::task::{Manifest, Resource};

pub(super) fn lint(linter: &mut Linter<'_>) {
    each_object(linter, &mut |linter, place, object, resource| self::object(linter, place, object, &resource.kind));
}

/// Calls `see` with every object and patch that the task writes, as far as it is YAML before it is rendered.
pub(super) fn each_object<'t>(
    linter: &mut Linter<'t>,
    see: &mut dyn FnMut(&mut Linter<'t>, &Place, &Node, &'t Resource),
) {
    let document = linter.document;
    for (path, resource) in resources(linter.task) {
        let at = path.key("manifest");
        match &resource.manifest {
            Manifest::Inline(_) => {
                if let Some(manifest) = document.node(&at) {
                    see(linter, &Place { path: at, within: None }, manifest, resource);
                }
            }
            Manifest::Text(template) => {
                if let Ok(text) = Document::parse("manifest", template.source()) {
                    see(linter, &Place { path: at, within: Some(Path::root()) }, text.root(), resource);
                }
            }
        }
        for index in 0..resource.gates.patches.len() {
            let at = path.key("lifecycle").key("patch").index(index).key("document");
            if let Some(patch) = document.node(&at) {
                see(linter, &Place { path: at, within: None }, patch, resource);
            }
        }
    }
}

/// The place of a value: a path in the task file, and a path within the text there if the manifest is a text.
#[derive(Clone)]
pub(super) struct Place {
    path: Path,
    within: Option<Path>,
}

impl Place {
    pub(super) fn key(&self, key: &str) -> Self {
        match &self.within {
            None => Self { path: self.path.key(key), within: None },
            Some(within) => Self { path: self.path.clone(), within: Some(within.key(key)) },
        }
    }

    /// The value that a scalar at this place has. A manifest that is a text is read as YAML 1.1, in which `yes` is a
    /// boolean.
    pub(super) fn read(&self, scalar: &Scalar) -> Option<serde_json::Value> {
        if self.within.is_some() { scalar.to_manifest().ok() } else { Some(scalar.to_value()) }
    }

    pub(super) fn warn(&self, linter: &mut Linter<'_>, message: &str, help: String) {
        let message = match &self.within {
            None => message.to_owned(),
            Some(within) => format!("`{within}` {message}"),
        };
        linter.warn(&self.path, message, help);
    }
}

/// Checks the metadata of an object and, for workloads, of its pod templates.
fn object(linter: &mut Linter<'_>, place: &Place, object: &Node, kind: &GroupVersionKind) {
    let metadata: &[&[&str]] = match (kind.group.as_str(), kind.kind.as_str()) {
        ("batch", "CronJob") => &[
            &["metadata"],
            &["spec", "jobTemplate", "metadata"],
            &["spec", "jobTemplate", "spec", "template", "metadata"],
        ],
        ("apps" | "batch", _) => &[&["metadata"], &["spec", "template", "metadata"]],
        _ => &[&["metadata"]],
    };
    for path in metadata {
        let Some(found) = path.iter().try_fold(object, |node, key| node.get(key)) else { continue };
        let place = path.iter().fold(place.clone(), |place, key| place.key(key));
        for (key, of) in [("labels", Of::Label), ("annotations", Of::Annotation)] {
            if let Some(Node { content: Content::Map(entries), .. }) = found.get(key) {
                let place = place.key(key);
                entries.iter().for_each(|entry| self::entry(linter, &place.key(&entry.key), entry, of));
            }
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Of {
    Label,
    Annotation,
}

fn entry(linter: &mut Linter<'_>, place: &Place, entry: &Entry, of: Of) {
    let what = match of {
        Of::Label => "a label",
        Of::Annotation => "an annotation",
    };
    if let Some(fault) = labels::key_fault(&entry.key).filter(|_| !entry.key.contains("{{")) {
        let message = format!("is not the key of {what}, and Kubernetes refuses the object: {fault}");
        place.warn(linter, &message, "write a key such as `example.io/tier`".to_owned());
    }
    match &entry.value.content {
        Content::Scalar(scalar) => value(linter, place, scalar, of, what),
        Content::List(_) | Content::Map(_) => {
            let message = format!("is {}, but {what} is text: Kubernetes refuses the object", entry.value.describe());
            place.warn(linter, &message, "write text, in quotes".to_owned());
        }
    }
}

fn value(linter: &mut Linter<'_>, place: &Place, scalar: &Scalar, of: Of, what: &str) {
    let text = &scalar.text;
    let Some(read) = place.read(scalar) else { return };
    match read {
        serde_json::Value::Number(_) | serde_json::Value::Bool(_) => {
            let found = if read.is_boolean() { "a boolean" } else { "a number" };
            let message = format!("is {found}, but {what} is text: Kubernetes refuses the object");
            place.warn(linter, &message, format!("put it in quotes: `\"{text}\"`"));
        }
        serde_json::Value::String(text) if of == Of::Label && !text.contains("{{") => {
            if let Some(fault) = labels::value_fault(&text) {
                let message = format!("is not the value of {what}, and Kubernetes refuses the object: {fault}");
                place.warn(linter, &message, "write a shorter or simpler value, or make it an annotation".to_owned());
            }
        }
        // In a patch, null removes a label; in a manifest, a null label is ignored.
        serde_json::Value::Null
        | serde_json::Value::String(_)
        | serde_json::Value::Array(_)
        | serde_json::Value::Object(_) => {}
    }
}
