//! Sets of fields in the notation `fieldsV1`, in which `managedFields` keeps who set which field of an object.
//!
//! In: a set, and a path or another set. Out: the set, changed. Pure.

use serde_json::{Map, Value, json};

/// Removes the member at a path of a field set, and the nodes above it that are empty then; says whether there was one.
pub(crate) fn remove(fields: &mut Map<String, Value>, path: &[&str]) -> bool {
    let Some((first, rest)) = path.split_first() else { return false };
    if rest.is_empty() {
        return fields.remove(*first).is_some();
    }
    let Some(below) = fields.get_mut(*first).and_then(Value::as_object_mut) else { return false };
    let is_removed = remove(below, rest);
    if is_removed && below.is_empty() {
        fields.remove(*first);
    }
    is_removed
}

/// Adds the members of the field set `other` to the field set `fields`, both in the `fieldsV1` notation.
///
/// In this notation a set is a tree, and each node without children is a member. A node with children is a
/// member only if it has the child `.`. So a node that is a leaf in one set and has children in the other
/// gets this child.
pub(crate) fn unite(fields: &mut Map<String, Value>, other: &Map<String, Value>) {
    for (path, below) in other {
        let Some(below) = below.as_object() else { continue };
        match fields.get_mut(path).and_then(Value::as_object_mut) {
            None => {
                fields.insert(path.clone(), Value::Object(below.clone()));
            }
            Some(known) => {
                if known.is_empty() != below.is_empty() {
                    known.insert(".".to_owned(), json!({}));
                }
                unite(known, below);
            }
        }
    }
}
