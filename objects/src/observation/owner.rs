//! Whose an object is, in words.
//!
//! In: an object, as it was read. Out: a part of a sentence that names its adapter, its controller or nobody. Nothing here fails.

use super::Version;
use crate::keys;

/// The adapter, the entry and the API resource in an object's ownership labels, in words.
#[must_use]
pub fn labelled_owner(version: &Version) -> String {
    let [adapter, id, entry] = keys::OWNERSHIP_LABELS.map(|key| version.label(key).unwrap_or("?"));
    format!("adapter {adapter}, entry {entry}, for the resource {id}")
}

/// Whose an object is that the resource does not own, in words.
#[must_use]
pub fn whose(version: &Version) -> String {
    if keys::OWNERSHIP_LABELS.iter().any(|key| version.label(key).is_some()) {
        return labelled_owner(version);
    }
    if version.is_disowned() {
        return format!("nobody: it was disowned, as its label `{}` says", keys::DISOWNED);
    }
    if version.annotation(keys::GENERATION).is_some() {
        return format!("an adapter that sets no labels, as its annotation `{}` says", keys::GENERATION);
    }
    match version.controller() {
        Some(controller) => format!("{controller}, which controls it"),
        None => "nobody: no adapter wrote it".to_owned(),
    }
}
