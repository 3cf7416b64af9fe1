//! What the fence of a write means at Maestro, which has none of its own for a work's UID.
//!
//! In: the target of a write, and the work as it was read just before. Out: the version to send along, which Maestro compares.
//! Fails: a conflict, if the work is another one, or has changed since the target was read.

use lifecycle_objects::write::{Target, WriteError, WriteErrorKind};
use serde_json::Value;

use crate::place::Place;

/// The version that a write of `target` names, if `live` is the work that the target names.
pub(crate) fn fence(place: Place<'_>, target: &Target, live: &Value) -> Result<i64, WriteError> {
    let version = live["metadata"]["resourceVersion"].as_str().unwrap_or_default();
    let is_same = target.resource_version.is_empty() || target.resource_version == version;
    if target.uid != live["metadata"]["uid"] {
        return Err(place.error(WriteErrorKind::Conflict, "the work was deleted and created again since it was read"));
    }
    if !is_same {
        let message = format!("the work has version {version}, and version {} was read", target.resource_version);
        return Err(place.error(WriteErrorKind::Conflict, message));
    }
    version.parse().map_err(|_| place.error(WriteErrorKind::Conflict, "the work has no version"))
}
