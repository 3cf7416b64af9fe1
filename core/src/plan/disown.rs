//! Builds the patch that disowns an object.
//!
//! In: a version, and the [`Stamp`]: the names of the adapter and of the event's API resource. Out: a JSON merge
//! patch. The patch removes the adapter's three labels and the ownership proof. It removes every owner reference,
//! except one with `controller: true`. It adds the label and the annotation of disowned objects. The patch keeps
//! the generation annotation, which records the generation for which the adapter last wrote the object. A `ManifestWork` also
//! gets the option to keep its objects when somebody deletes it.

use lifecycle_objects::destination::Destination;
use lifecycle_objects::keys;
use lifecycle_objects::labels::is_label_value;
use lifecycle_objects::observation::Version;
use lifecycle_objects::stamp::Stamp;
use serde_json::{Map, Value, json};

/// Returns an error if the resource id cannot be the value of the label `hyperfleet.io/disowned`.
pub(super) fn check_mark(stamp: &Stamp) -> Result<(), String> {
    if let Some(fault) = &stamp.resource_id_fault {
        return Err(format!("the label `{}` has no value: {fault}", keys::DISOWNED));
    }
    // With an empty id, the label would match every API resource without an id.
    if stamp.resource_id.is_empty() || !is_label_value(&stamp.resource_id) {
        let id = &stamp.resource_id;
        return Err(format!("the label `{}` cannot have the value {id:?}, the resource id", keys::DISOWNED));
    }
    Ok(())
}

/// The patch that disowns `version`, which lives in `destination`.
pub(super) fn patch(version: &Version, destination: &Destination, resource: &str, stamp: &Stamp) -> Value {
    let labels = json!({
        keys::ADAPTER: null,
        keys::RESOURCE_ID: null,
        keys::RESOURCE: null,
        keys::DISOWNED: stamp.resource_id,
    });
    let annotations = json!({
        keys::OWNERSHIP_PROOF: null,
        keys::DISOWNED_BY: stamp.disowned_by(resource),
    });
    let mut metadata = Map::new();
    metadata.insert("labels".to_owned(), labels);
    metadata.insert("annotations".to_owned(), annotations);
    if let Some(left) = version.kept_references() {
        // `null` removes the key, so that the object looks like one that never had an owner.
        let left = if left.is_empty() { Value::Null } else { Value::Array(left) };
        metadata.insert("ownerReferences".to_owned(), left);
    }
    match destination {
        Destination::ThisCluster => json!({ "metadata": metadata }),
        // Whoever deletes the work later deletes the work alone: it keeps what it applied.
        Destination::Consumer(_) => {
            json!({ "metadata": metadata, "spec": { "deleteOption": { "propagationPolicy": "Orphan" } } })
        }
    }
}
