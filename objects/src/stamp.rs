//! Marks an object as the adapter's: labels that say whose it is, the generation, and the proof of ownership.
//!
//! In: an object, the [`Stamp`] of an event, and the task entry's name. Out: the object with its labels and annotations. Fails if
//! the author wrote a label or annotation that cannot be one.

use serde_json::{Map, Value};

use crate::failure::{FailReason, Failure};
use crate::id::{Generation, GroupVersionKind};
use crate::keys;
use crate::kinds;
use crate::labels::is_label_value;
use crate::proof::{Claim, Signer};

/// The labels and the annotation that every object gets. A generation that the author wrote stays.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stamp {
    /// The name of the adapter that stamps the objects.
    pub adapter: String,
    /// The id of the API resource; empty if it could not be rendered.
    pub resource_id: String,
    /// Why the id could not be rendered, if so.
    pub resource_id_fault: Option<String>,
    /// The generation of the event, which the adapter writes into the generation annotation.
    pub generation: Generation,
    /// Signs the ownership labels, if a signing key is configured.
    pub signer: Option<Signer>,
}

impl Stamp {
    /// Returns the value of [`keys::DISOWNED_BY`] on objects of this resource that the adapter disowns.
    #[must_use]
    pub fn disowned_by(&self, resource: &str) -> String {
        format!("{}/{resource}", self.adapter)
    }
}

/// Adds the labels and the generation of a stamp, and returns the object's generation: the author's if the manifest has one.
///
/// # Errors
/// [`FailReason::InvalidLabel`] and [`FailReason::InvalidGeneration`], if a label or the generation that the author wrote is none;
/// [`FailReason::RenderFailed`], if the object has no mapping where labels and annotations go.
pub fn apply_stamp(object: &mut Value, resource: &str, stamp: &Stamp) -> Result<Generation, Failure> {
    let metadata = mapping(object, "metadata")?;
    let labels = mapping_in(metadata, "labels")?;
    if labels.contains_key(keys::DISOWNED) {
        return Err(Failure::new(
            FailReason::InvalidLabel,
            format!(
                "the manifest writes the label `{}`, with which an object is never updated or deleted again; remove the \
                 label, and use `lifecycle.orphan` to disown the object",
                keys::DISOWNED
            ),
        ));
    }
    for (key, value) in [
        (keys::ADAPTER, stamp.adapter.as_str()),
        (keys::RESOURCE_ID, stamp.resource_id.as_str()),
        (keys::RESOURCE, resource),
    ] {
        let label = labels.entry(key).or_insert_with(|| Value::from(value));
        let valid = label.as_str().is_some_and(|label| !label.is_empty() && is_label_value(label));
        if !valid {
            let message = match &stamp.resource_id_fault {
                Some(fault) if key == keys::RESOURCE_ID && *label == stamp.resource_id => {
                    format!("the label `{key}` has no value: {fault}")
                }
                Some(_) | None => format!(
                    "the label `{key}` cannot have the value {label}: 1 to 63 letters, digits, `-`, `_` or `.`, \
                     beginning and ending with a letter or digit"
                ),
            };
            return Err(Failure::new(FailReason::InvalidLabel, message));
        }
    }
    let annotations = mapping_in(metadata, "annotations")?;
    let annotation = annotations.entry(keys::GENERATION).or_insert_with(|| Value::from(stamp.generation.to_string()));
    let generation = match &*annotation {
        Value::String(text) => text.trim().parse().ok(),
        Value::Number(number) => number.as_i64(),
        Value::Null | Value::Bool(_) | Value::Array(_) | Value::Object(_) => None,
    };
    let Some(generation) = generation else {
        return Err(Failure::new(
            FailReason::InvalidGeneration,
            format!("the annotation `{}` is {annotation}, which is not a whole number", keys::GENERATION),
        ));
    };
    // Annotations are strings: the API server would refuse the number that an author wrote.
    *annotation = Value::from(generation.to_string());
    Ok(Generation(generation))
}

/// Signs the object's final labels, including those that its author wrote, and adds the proof unless there is
/// one.
pub fn prove(object: &mut Value, signer: &Signer, kind: &GroupVersionKind) {
    let metadata = object.get("metadata");
    let text = |key: &str| metadata.and_then(|metadata| metadata.get(key)?.as_str()).unwrap_or_default();
    let labels = metadata.and_then(|metadata| metadata.get("labels"));
    let label = |key: &str| labels.and_then(|labels| labels.get(key)?.as_str());
    let proof = signer.sign(&Claim {
        adapter: label(keys::ADAPTER).unwrap_or_default(),
        resource_id: label(keys::RESOURCE_ID).unwrap_or_default(),
        group: &kind.group,
        kind: &kind.kind,
        // The API server drops the namespace of a cluster-scoped object, and the proof is verified against
        // the live object.
        namespace: if kinds::is_namespaced(kind) == Some(false) { "" } else { text("namespace") },
        name: text("name"),
    });
    let annotations = object.get_mut("metadata").and_then(|metadata| metadata.get_mut("annotations"));
    if let Some(annotations) = annotations.and_then(Value::as_object_mut) {
        annotations.entry(keys::OWNERSHIP_PROOF).or_insert_with(|| Value::from(proof));
    }
}

/// The mapping below a key of an object, which is made if there is none.
///
/// # Errors
/// [`FailReason::RenderFailed`], if the object or the value is no mapping.
pub fn mapping<'v>(object: &'v mut Value, key: &str) -> Result<&'v mut Map<String, Value>, Failure> {
    let Some(object) = object.as_object_mut() else {
        return Err(failure("the manifest does not render to a mapping"));
    };
    mapping_in(object, key)
}

fn mapping_in<'v>(object: &'v mut Map<String, Value>, key: &str) -> Result<&'v mut Map<String, Value>, Failure> {
    let entry = object.entry(key).or_insert(Value::Null);
    if entry.is_null() {
        *entry = Value::Object(Map::new());
    }
    entry.as_object_mut().ok_or_else(|| failure(format!("`{key}` of the rendered manifest is not a mapping")))
}

fn failure(message: impl Into<String>) -> Failure {
    Failure::new(FailReason::RenderFailed, message)
}
