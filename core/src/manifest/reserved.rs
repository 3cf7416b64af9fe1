//! Labels and annotations that only the adapter writes: by them it tells whose an object is.
//!
//! In: a rendered manifest, and what the adapter stamps. Out: why the manifest is refused; none if it writes no such key, or
//! writes what is stamped anyway. Nothing fails. The annotation of generations is no such key: an author may write another.
//!
//! Without this rule a fixed `hyperfleet.io/resource-id` beside a fixed name makes one object of all API resources, and the
//! deletion of one deletes what the others use. In a task without lifecycle keys nothing is deleted, and labels of the author
//! stay, as in the Go adapter.

use serde_json::Value;

use lifecycle_objects::keys;
use lifecycle_objects::stamp::Stamp;

/// What becomes of a manifest that writes other values than the adapter stamps.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reserved {
    /// The author's values stay.
    Kept,
    /// The manifest is refused.
    Refused,
}

impl Reserved {
    /// The rule of a task.
    #[must_use]
    pub fn of(has_lifecycle: bool) -> Self {
        if has_lifecycle { Self::Refused } else { Self::Kept }
    }
}

/// The annotations that no manifest of an entry may have, whatever their values.
pub const ANNOTATIONS: [&str; 4] = [keys::OWNERSHIP_PROOF, keys::DISOWNED_BY, keys::DIGEST, keys::DELETION];

/// The cure of each fault.
pub const CURE: &str = "remove it from the manifest: the adapter adds it";

/// The first fault of a manifest of the entry `resource`, with its cure.
#[must_use]
pub fn fault(object: &Value, resource: &str, stamp: &Stamp) -> Option<String> {
    let metadata = object.get("metadata")?;
    let written = |part: &str| metadata.get(part).and_then(Value::as_object).filter(|written| !written.is_empty());
    let label = written("labels").and_then(|labels| {
        keys::OWNERSHIP_LABELS.into_iter().find_map(|key| label_fault(key, labels.get(key)?, resource, stamp))
    });
    let annotation = || {
        let annotations = written("annotations")?;
        ANNOTATIONS.into_iter().find(|key| annotations.contains_key(*key)).map(annotation_fault)
    };
    label.or_else(annotation).map(|fault| format!("the manifest {fault}; {CURE}"))
}

/// Why an ownership label cannot have a value; none if it has the stamped one.
pub(super) fn label_fault(key: &str, value: &Value, resource: &str, stamp: &Stamp) -> Option<String> {
    let stamped = match key {
        keys::ADAPTER => stamp.adapter.as_str(),
        keys::RESOURCE_ID => stamp.resource_id.as_str(),
        _ => resource,
    };
    let id = if key == keys::RESOURCE_ID { " (another id is configured by `stamp.resource_id`)" } else { "" };
    let fault = || {
        format!(
            "writes {value} as the label `{key}`, by which the adapter tells whose an object is, and the adapter stamps \
             \"{stamped}\"{id}"
        )
    };
    (value.as_str() != Some(stamped)).then(fault)
}

/// Why an annotation cannot be written.
#[must_use]
pub fn annotation_fault(key: &str) -> String {
    format!("writes the annotation `{key}`, which only the adapter writes")
}
