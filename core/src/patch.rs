//! Checks that a merge patch leaves an object's identity and its ownership alone.
//!
//! In: the document of a merge patch, as written or as rendered. Out: a [`Fault`] for each field that no
//! patch may write. A patch goes to the object that discovery found, so it cannot change which object that
//! is; and if it changed the labels and annotations by which the adapter finds its objects, the next event
//! would not find the object.

use std::fmt;

use serde_json::{Map, Value};

use lifecycle_objects::keys;

/// The labels and annotations from which the adapter reads ownership and generation.
const MANAGED: [&str; 7] = [
    keys::ADAPTER,
    keys::RESOURCE_ID,
    keys::RESOURCE,
    keys::GENERATION,
    keys::DISOWNED,
    keys::DISOWNED_BY,
    keys::OWNERSHIP_PROOF,
];

/// A field that a patch must not write.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Fault {
    /// The keys from the document's root to the field.
    pub(crate) path: Vec<&'static str>,
    /// Why a patch must not write the field.
    pub(crate) message: String,
    /// The cure, if there is one to name.
    pub(crate) help: Option<&'static str>,
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.path.join("."), self.message)
    }
}

/// Returns a fault for each field that no patch may write; `is_owned` says whether the resource has an
/// `owner`.
pub(crate) fn faults(document: &Map<String, Value>, is_owned: bool) -> Vec<Fault> {
    let mut faults = Vec::new();
    identity(document, &["apiVersion", "kind"], &[], &mut faults);
    let metadata = match document.get("metadata") {
        None => return faults,
        Some(Value::Object(metadata)) => metadata,
        Some(other) => {
            faults.push(no_mapping(other, vec!["metadata"]));
            return faults;
        }
    };
    identity(metadata, &["name", "namespace", "uid", "resourceVersion"], &["metadata"], &mut faults);
    if is_owned && metadata.contains_key("ownerReferences") {
        faults.push(Fault {
            path: vec!["metadata", "ownerReferences"],
            message: "the adapter writes it because of `owner`: each would undo the other".to_owned(),
            help: Some("remove it from the patch, or remove `owner`"),
        });
    }
    for key in ["labels", "annotations"] {
        match metadata.get(key) {
            None => {}
            Some(Value::Object(entries)) => managed(entries, key, &mut faults),
            Some(other) => faults.push(no_mapping(other, vec!["metadata", key])),
        }
    }
    faults
}

fn identity(entries: &Map<String, Value>, keys: &[&'static str], above: &[&'static str], faults: &mut Vec<Fault>) {
    for key in keys.iter().filter(|key| entries.contains_key(**key)) {
        faults.push(Fault {
            path: above.iter().chain([key]).copied().collect(),
            message: format!("a patch cannot change the `{key}` of an object"),
            help: Some("remove it: the patch goes to the object that `discovery` finds"),
        });
    }
}

fn managed(entries: &Map<String, Value>, map: &'static str, faults: &mut Vec<Fault>) {
    for key in MANAGED.iter().filter(|key| entries.contains_key(**key)) {
        faults.push(Fault {
            path: vec!["metadata", map, key],
            message: format!("`{key}` is how the adapter finds its objects: a patch cannot change it"),
            help: Some("remove it; to disown an object, use `lifecycle.orphan`"),
        });
    }
}

/// The fault of `metadata`, `labels` or `annotations` that is no mapping. A merge patch with null would
/// remove the whole mapping, with the adapter's labels and annotations in it.
fn no_mapping(value: &Value, path: Vec<&'static str>) -> Fault {
    let (message, help) = if value.is_null() {
        let message = "removes the labels and annotations by which the adapter finds its objects";
        (message, Some("set only single keys to `null`"))
    } else {
        ("must be a mapping", None)
    };
    Fault { path, message: message.to_owned(), help }
}
