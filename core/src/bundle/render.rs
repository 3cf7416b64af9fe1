//! Renders the manifests of a bundle to its objects.
//!
//! In: the bundle, and the variables of an event. Out: the objects in the order of the manifests, not yet prepared: each that was
//! not drafted when the task was loaded is a mapping with a kind, but it may lack a name. Fails: with everything that is wrong, each with the place of its manifest. An
//! error never quotes a manifest, which may be a Secret.
//!
//! A text holds any number of YAML documents. A document without content is left out, so that a condition in a template
//! can drop an object; a `List`, or a list of one kind, stands for its items.

use lifecycle_bundle::prepare::Source;
use lifecycle_language::scope::Scope;
use lifecycle_objects::keys;
use serde_json::{Map, Value};

use crate::manifest::parse_all;
use crate::task::{Bundle, Manifest};

/// Renders all manifests. A bundle may render to no object at all.
///
/// # Errors
/// A manifest does not render, is no YAML, holds a value that would change its structure, or holds something that is no
/// object.
pub fn render(bundle: &Bundle, scope: &Scope) -> Result<Vec<Source>, Vec<String>> {
    let (mut objects, mut faults) = (Vec::new(), Vec::new());
    for (index, manifest) in bundle.manifests.iter().enumerate() {
        if let Some(Some(drafts)) = bundle.drafts.get(index) {
            objects.extend(drafts.iter().cloned().map(Source::Drafted));
            continue;
        }
        let place = format!("manifests[{index}]");
        match documents(manifest, scope) {
            Ok(documents) => {
                for (place, object) in objects_of(documents, &place) {
                    let of_object = self::faults(&object).into_iter();
                    faults.extend(of_object.map(|fault| format!("{place}: {}; {}", fault.message, fault.help)));
                    objects.push(Source::Rendered(object));
                }
            }
            Err(cause) => faults.push(format!("{place}: {cause}")),
        }
    }
    if faults.is_empty() { Ok(objects) } else { Err(faults) }
}

/// Renders a manifest to its documents.
fn documents(manifest: &Manifest, scope: &Scope) -> Result<Vec<Value>, String> {
    let template = match manifest {
        Manifest::Inline(tree) => return Ok(vec![tree.render(scope).map_err(|error| error.to_string())?]),
        Manifest::Text(template) => template,
    };
    let (text, is_suspicious) = template.render_watched(scope).map_err(|error| error.to_string())?;
    let documents =
        parse_all(&text).map_err(|messages| format!("failed to parse the rendered manifest as YAML: {messages}"))?;
    if is_suspicious {
        // The documents are compared as one list, so that a value can bring no document either.
        let parse = |text: &str| parse_all(text).ok().map(Value::Array);
        let documents = Value::Array(documents.clone());
        template.confine(scope, &documents, &[], parse).map_err(|error| error.to_string())?;
    }
    Ok(documents)
}

/// The objects of a manifest, each with its place: without documents that have no content, and with the items of a `List` in
/// place of the list.
#[must_use]
pub fn objects_of(documents: Vec<Value>, place: &str) -> Vec<(String, Value)> {
    let is_one = documents.len() == 1;
    let mut found = Vec::new();
    for (index, document) in documents.into_iter().enumerate() {
        let place = if is_one { place.to_owned() } else { format!("{place}, document {}", index + 1) };
        collect(document, place, &mut found);
    }
    found
}

fn collect(mut value: Value, place: String, found: &mut Vec<(String, Value)>) {
    if value.is_null() || value.as_object().is_some_and(Map::is_empty) {
        return;
    }
    if !is_list(&value) {
        return found.push((place, value));
    }
    let of_items = item_kind(&value);
    match value.get_mut("items").map(Value::take) {
        Some(Value::Array(items)) => {
            for (index, mut item) in items.into_iter().enumerate() {
                fill_in(&mut item, of_items.as_ref());
                collect(item, format!("{place}, items[{index}]"), found);
            }
        }
        None | Some(Value::Null) => {}
        Some(other) => {
            value["items"] = other;
            found.push((place, value));
        }
    }
}

/// The `apiVersion` and the `kind` of the items of a list of one kind, which the API server writes into neither of them; none for a
/// `List` of version `v1`.
pub(crate) fn item_kind(list: &Value) -> Option<[(&'static str, Value); 2]> {
    let kind = list.get("kind")?.as_str()?.strip_suffix("List").filter(|kind| !kind.is_empty())?;
    Some([("apiVersion", list.get("apiVersion")?.clone()), ("kind", Value::from(kind))])
}

/// Writes them into an item that lacks them.
pub(crate) fn fill_in(item: &mut Value, kind: Option<&[(&'static str, Value); 2]>) {
    let Some(item) = item.as_object_mut().filter(|item| !item.is_empty()) else { return };
    for (key, of_list) in kind.into_iter().flatten() {
        item.entry(*key).or_insert_with(|| of_list.clone());
    }
}

/// Whether a value is a `List` of version `v1`, or a list of one kind, such as a `ConfigMapList`: it has `items`, and no name. Another
/// object whose kind ends so is one like any other.
#[must_use]
pub fn is_list(value: &Value) -> bool {
    let text = |key: &str| value.get(key).and_then(Value::as_str);
    let has_items = value.get("items").is_some_and(Value::is_array);
    let is_named = || value.get("metadata").is_some_and(|metadata| metadata.get("name").is_some());
    match text("kind") {
        Some("List") if text("apiVersion") == Some("v1") => true,
        Some(kind) => kind.ends_with("List") && has_items && !is_named(),
        None => false,
    }
}

/// What keeps a value from being an object of a bundle.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Fault {
    /// The keys below the value to what is wrong.
    pub(crate) path: &'static [&'static str],
    /// What is wrong.
    pub(crate) message: &'static str,
    /// How to mend that.
    pub(crate) help: &'static str,
}

/// Everything that keeps a value from being an object of a bundle.
pub(crate) fn faults(value: &Value) -> Vec<Fault> {
    let Value::Object(object) = value else {
        return vec![Fault {
            path: &[],
            message: "is no mapping, so it is no object",
            help: "write `apiVersion`, `kind` and `metadata` with a `name`",
        }];
    };
    let is_text = |key: &str| object.get(key).and_then(Value::as_str).is_some_and(|text| !text.is_empty());
    let metadata = object.get("metadata");
    let labels = metadata.and_then(|metadata| metadata.get("labels"));
    let has = |part: Option<&Value>, key: &str| part.is_some_and(|part| part.get(key).is_some());
    let items = object.get("items").filter(|_| is_list(value));
    let known = [
        (
            items.is_some_and(|items| !items.is_array() && !items.is_null()),
            Fault {
                path: &["items"],
                message: "has `items` that are no list, as those of a `List` have to be",
                help: "begin each object below `items` with `- `",
            },
        ),
        (
            !is_text("apiVersion"),
            Fault {
                path: &[],
                message: "`apiVersion` is required, as text",
                help: "add the version, such as `apiVersion: apps/v1`",
            },
        ),
        (
            !is_text("kind"),
            Fault {
                path: &[],
                message: "`kind` is required, as text",
                help: "add the kind, such as `kind: Deployment`",
            },
        ),
        (
            has(metadata, "generateName"),
            Fault {
                path: &["metadata", "generateName"],
                message: "writes `metadata.generateName`, but a bundle finds its objects again by their names",
                help: "write `metadata.name` in place of `generateName`",
            },
        ),
        (
            has(labels, keys::DISOWNED),
            Fault {
                path: &["metadata", "labels", keys::DISOWNED],
                message: "writes the label `hyperfleet.io/disowned`, with which an object is never updated or deleted again",
                help: "remove the label; the policy `delete: orphan` disowns an object that leaves the bundle",
            },
        ),
    ];
    known.into_iter().filter(|(is_at_fault, _)| *is_at_fault).map(|(_, fault)| fault).collect()
}

#[cfg(test)]
mod tests;
