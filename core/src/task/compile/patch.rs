//! Partial writes: what a patch may say about an object that is managed.
//!
//! A patch goes to the object that discovery found, so it cannot give it another identity; nor may it touch the
//! labels and annotations by which the adapter knows its objects, or the next event would not know it any more.
//! Keys that are templates are not judged here: only an event reveals them.

use serde_json::{Map, Value};

use super::check::{Checker, Key, Place};
use super::{gates, manifest};
use crate::keys;
use crate::task::Patch;
use crate::task::spec::PatchSpec;

/// Labels and annotations that say whose an object is, and how recent.
const MANAGED: [&str; 7] = [
    keys::ADAPTER,
    keys::RESOURCE_ID,
    keys::RESOURCE,
    keys::GENERATION,
    keys::DISOWNED,
    keys::DISOWNED_BY,
    keys::OWNERSHIP_PROOF,
];

/// The entries of the list at `place`; `is_owned` says whether the resource has an `owner`.
pub(super) fn compile(checker: &mut Checker<'_>, specs: &[PatchSpec], place: &Place<'_>, is_owned: bool) -> Vec<Patch> {
    let entries = specs.iter().enumerate().filter_map(|(index, spec)| {
        let place = place.index(index);
        let when = gates::when(checker, &spec.when, &place, Key::New);
        let place = place.key("document");
        if spec.document.is_empty() {
            if !checker.is_reported(&place) {
                let help = "name what is to be set, or to be removed with `null`";
                checker.error_with_help(&place, "is empty: there is nothing to write", help);
            }
            return None;
        }
        identity(checker, &spec.document, &place, is_owned);
        let document = manifest::tree(checker, &Value::Object(spec.document.clone()), &place, Key::New);
        Some(Patch { when: when?, document: document? })
    });
    entries.collect()
}

fn identity(checker: &mut Checker<'_>, document: &Map<String, Value>, place: &Place<'_>, is_owned: bool) {
    refuse(checker, document, &["apiVersion", "kind"], place);
    let place = place.key("metadata");
    let metadata = match document.get("metadata") {
        None => return,
        Some(Value::Object(metadata)) => metadata,
        Some(other) => return no_mapping(checker, other, &place),
    };
    refuse(checker, metadata, &["name", "namespace", "uid", "resourceVersion"], &place);
    if is_owned && metadata.contains_key("ownerReferences") {
        checker.error_with_help(
            &place.key("ownerReferences"),
            "is what `owner` writes: each would undo the other",
            "remove it from the patch, or remove `owner`",
        );
    }
    for key in ["labels", "annotations"] {
        let place = place.key(key);
        match metadata.get(key) {
            None => {}
            Some(Value::Object(entries)) => managed(checker, entries, &place),
            Some(other) => no_mapping(checker, other, &place),
        }
    }
}

fn refuse(checker: &mut Checker<'_>, entries: &Map<String, Value>, keys: &[&str], place: &Place<'_>) {
    for key in keys.iter().filter(|key| entries.contains_key(**key)) {
        let message = format!("a patch cannot change the `{key}` of an object");
        let help = "remove it: the patch goes to the object that `discovery` finds";
        checker.error_with_help(&place.key(key), message, help);
    }
}

fn managed(checker: &mut Checker<'_>, entries: &Map<String, Value>, place: &Place<'_>) {
    for key in MANAGED.iter().filter(|key| entries.contains_key(**key)) {
        let message = format!("`{key}` is how the adapter knows its objects: a patch cannot change it");
        checker.error_with_help(&place.key(key), message, "remove it; to let go of an object, use `lifecycle.orphan`");
    }
}

/// Null would remove what the object is managed by, and anything else is no object's metadata.
fn no_mapping(checker: &mut Checker<'_>, value: &Value, place: &Place<'_>) {
    if value.is_null() {
        let message = "removes the labels and annotations by which the adapter knows its objects";
        checker.error_with_help(place, message, "set to `null` only what is to go");
    } else {
        checker.error(place, "must be a mapping");
    }
}
