//! Makes a rendered object a member: places it, reads its annotations, and stamps it.
//!
//! In: a rendered object, and what is the same for all objects of the bundle. Out: a [`Rendered`] object, ready to be written.
//! Fails: with everything that is wrong with the object, each with its cure. The caller prepares all objects before it writes
//! the first, so that one bad object keeps the whole bundle from being written.

use serde_json::{Map, Value};

use super::applyset::{PART_OF, set};
use super::digest::digest;
use super::member::Rendered;
use super::policy::{Settings, may_be_purged};
use super::session::Setting;
use crate::bundle::identity::Identity;
use crate::keys;
use crate::manifest::{apply_stamp, prove};
use crate::object_ref::ObjectRef;
use crate::readiness::Hints;
use crate::task::kinds::is_namespaced;

/// Prepares one object. Objects of a namespaced kind without a namespace get `namespace`.
///
/// # Errors
/// Each fault of the object, with the object's name.
pub fn prepare(mut object: Value, namespace: &str, setting: &Setting<'_>) -> Result<Rendered, Vec<String>> {
    let reference = ObjectRef::of(&object);
    if reference.kind.kind.is_empty() || reference.kind.version.is_empty() || reference.name.is_empty() {
        return Err(vec![format!("{reference}: write `apiVersion`, `kind` and `metadata.name`")]);
    }
    place(&mut object, &reference, namespace);
    let reference = ObjectRef::of(&object);
    let kind = reference.kind.clone();
    let identity = Identity::from(reference);
    let fault = |fault: String| format!("{identity}: {fault}");
    let settings = Settings::read(&object, setting.prefix, &setting.defaults)
        .map_err(|faults| faults.iter().map(|it| fault(it.to_string())).collect::<Vec<_>>())?;
    let mut faults = Vec::new();
    let hints = settings.status_hint.as_deref().map(Hints::parse).unwrap_or_else(|| Ok(Hints::default()));
    let hints = hints.unwrap_or_else(|error| {
        faults.push(fault(format!("the annotation `{}/status-hint`: {error}", setting.prefix)));
        Hints::default()
    });
    if settings.purge_order.is_some() && !may_be_purged(&identity.kind) {
        faults.push(fault(format!(
            "remove the annotation `{}/purge-order`: what the object introduces would go with it",
            setting.prefix
        )));
    }
    let digest = digest(&object, settings.policies.reconcile, setting.stamp.generation);
    if let Err(failure) = apply_stamp(&mut object, setting.entry, &setting.stamp) {
        faults.push(fault(failure.message));
        return Err(faults);
    }
    if let Some(key) = keys::OWNERSHIP_LABELS.into_iter().find(|key| !setting.is_owner_label(key, &object)) {
        faults.push(fault(format!("remove the label `{key}`: the objects of a bundle have the adapter's own")));
    }
    set(&mut object, "labels", PART_OF, setting.set.clone());
    set(&mut object, "annotations", keys::DIGEST, digest.clone());
    if let Some(signer) = &setting.stamp.signer {
        prove(&mut object, signer, &kind);
    }
    if faults.is_empty() { Ok(Rendered { object, settings, hints, digest }) } else { Err(faults) }
}

/// Puts an object into its namespace. Whether a kind that Kubernetes does not have is namespaced is known to the author alone.
fn place(object: &mut Value, reference: &ObjectRef, namespace: &str) {
    let Some(metadata) = object.get_mut("metadata").and_then(Value::as_object_mut) else { return };
    match is_namespaced(&reference.kind) {
        Some(true) if reference.namespace.is_none() => {
            metadata.insert("namespace".to_owned(), Value::from(namespace));
        }
        Some(false) => drop(metadata.remove("namespace")),
        Some(true) | None => {}
    }
    let is_empty = |part: &Value| part.is_null() || part.as_object().is_some_and(Map::is_empty);
    metadata.retain(|key, part| !(matches!(key.as_str(), "labels" | "annotations") && is_empty(part)));
}
