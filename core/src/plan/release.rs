//! What is sent to let go of an object.
//!
//! In: a version, who lets go of it, and the kind of its owner, if it has one. Out: a JSON merge patch that takes
//! the management labels, the ownership proof and the owner reference off, and marks the object as released.
//! The generation stays: it says what the object was last written for.

use serde_json::{Map, Value, json};

use super::decision::{FailReason, Failure};
use super::owner::without_references_to;
use crate::id::GroupVersionKind;
use crate::keys;
use crate::manifest::{Stamp, is_label_value};
use crate::observation::Version;

/// The patch that releases `version`.
///
/// # Errors
/// The resource id is empty, or cannot be the value of a label.
pub(super) fn patch(
    version: &Version,
    resource: &str,
    stamp: &Stamp,
    owner: Option<&GroupVersionKind>,
) -> Result<Value, Failure> {
    // A mark without an id would be that of every API resource that has none.
    if stamp.resource_id.is_empty() || !is_label_value(&stamp.resource_id) {
        let message =
            format!("the label `{}` cannot have the value {:?}, the resource id", keys::DISOWNED, stamp.resource_id);
        return Err(Failure::new(FailReason::InvalidLabel, message));
    }
    let labels = json!({
        keys::ADAPTER: null,
        keys::RESOURCE_ID: null,
        keys::RESOURCE: null,
        keys::DISOWNED: stamp.resource_id,
    });
    let annotations = json!({
        keys::OWNERSHIP_PROOF: null,
        keys::DISOWNED_BY: disowned_by(stamp, resource),
    });
    let mut metadata = Map::new();
    metadata.insert("labels".to_owned(), labels);
    metadata.insert("annotations".to_owned(), annotations);
    if let Some(left) = owner.and_then(|kind| without_references_to(kind, version)) {
        // An empty list would do, but null leaves the object as it would be without an owner.
        let left = if left.is_empty() { Value::Null } else { Value::Array(left) };
        metadata.insert("ownerReferences".to_owned(), left);
    }
    Ok(json!({ "metadata": metadata }))
}

/// Who released an object: the value of [`keys::DISOWNED_BY`].
#[must_use]
pub(crate) fn disowned_by(stamp: &Stamp, resource: &str) -> String {
    format!("{}/{resource}", stamp.adapter)
}
