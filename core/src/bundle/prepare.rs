//! Makes rendered objects the objects of a bundle: places them, reads their annotations, and stamps them.
//!
//! In: the rendered objects, and what is the same for all of them. Out: [`Rendered`] objects, ready to be written. Fails: with
//! everything that is wrong with any object, each with its cure. All objects are prepared before the first is written, so that one
//! bad object keeps the whole bundle from being written.

use std::collections::BTreeMap;

use lifecycle_config::decode::suggest;
use serde_json::{Map, Value};

use super::applyset::{PART_OF, set};
use super::checks;
use super::departure::Departure;
use super::digest::digest;
use super::identity::{GroupKind, Identity};
use super::member::Rendered;
use super::policy::{Settings, Update, takes_others_along};
use super::session::Setting;
use crate::keys;
use crate::manifest::{apply_stamp, prove};
use crate::object_ref::ObjectRef;
use crate::readiness::Hints;
use crate::task::kinds::is_namespaced;

/// Prepares all objects of a bundle.
///
/// # Errors
/// Each fault of each object, with the object's name.
pub fn prepare(objects: Vec<Value>, setting: &Setting<'_>) -> Result<Vec<Rendered>, Vec<String>> {
    let scopes = scopes(&objects);
    let (mut prepared, mut faults) = (Vec::with_capacity(objects.len()), Vec::new());
    for object in objects {
        match prepare_one(object, &scopes, setting) {
            Ok(rendered) => prepared.push(rendered),
            Err(found) => faults.extend(found),
        }
    }
    faults.extend(checks::duplicates(&prepared));
    faults.extend(checks::deadlocks(&prepared));
    if faults.is_empty() { Ok(prepared) } else { Err(faults) }
}

/// Whether the kinds that the set itself defines are namespaced.
fn scopes(objects: &[Value]) -> BTreeMap<GroupKind, bool> {
    let text = |object: &Value, pointer: &str| object.pointer(pointer).and_then(Value::as_str).map(str::to_owned);
    let scope = |object: &Value| {
        let is_definition = Identity::from(ObjectRef::of(object)).kind.is_custom_resource_definition();
        let kind = GroupKind { group: text(object, "/spec/group")?, kind: text(object, "/spec/names/kind")? };
        is_definition.then_some((kind, text(object, "/spec/scope")? == "Namespaced"))
    };
    objects.iter().filter_map(scope).collect()
}

fn prepare_one(
    mut object: Value,
    scopes: &BTreeMap<GroupKind, bool>,
    setting: &Setting<'_>,
) -> Result<Rendered, Vec<String>> {
    let reference = ObjectRef::of(&object);
    if object.pointer("/metadata/generateName").is_some() {
        return Err(vec![format!(
            "{reference}: write `metadata.name` instead of `generateName`: a bundle finds its objects by name"
        )]);
    }
    if reference.kind.kind.is_empty() || reference.kind.version.is_empty() || reference.name.is_empty() {
        return Err(vec![format!("{reference}: write `apiVersion`, `kind` and `metadata.name`")]);
    }
    let written = GroupKind::new(&reference.kind.group, &reference.kind.kind);
    if written.to_string().parse() != Ok(written) {
        return Err(vec![format!(
            "{reference}: `apiVersion` and `kind` do not name a kind, such as `apps/v1` and `Deployment`"
        )]);
    }
    place(&mut object, &reference, scopes, &setting.namespace);
    strip(&mut object);
    let reference = ObjectRef::of(&object);
    let kind = reference.kind.clone();
    let identity = Identity::from(reference);
    let fault = |fault: String| format!("{identity}: {fault}");
    if let Some(cure) = setting.collision(&identity) {
        return Err(vec![fault(cure)]);
    }
    let mut settings = Settings::read(&object, setting.prefix, &setting.defaults)
        .map_err(|faults| faults.iter().map(|it| fault(it.to_string())).collect::<Vec<_>>())?;
    let mut faults = Vec::new();
    let hints = settings.status_hint.as_deref().map(Hints::parse).unwrap_or_else(|| Ok(Hints::default()));
    let hints = hints.unwrap_or_else(|error| {
        faults.push(fault(format!("the annotation `{}/status-hint`: {error}", setting.prefix)));
        Hints::default()
    });
    let is_written = |name: &str| {
        let annotations = object.pointer("/metadata/annotations");
        annotations.is_some_and(|annotations| annotations.get(format!("{}/{name}", setting.prefix)).is_some())
    };
    if takes_others_along(&identity.kind) {
        let refused = |annotation: &str| {
            fault(format!(
                "remove the annotation `{}/{annotation}`: what the object introduces or contains would go with it",
                setting.prefix
            ))
        };
        if settings.purge_order.is_some() {
            faults.push(refused("purge-order"));
        }
        if settings.policies.update == Update::Recreate {
            if is_written("update-policy") {
                faults.push(refused("update-policy"));
            }
            // The bundle's own policy is meant for the objects that can bear it.
            settings.policies.update = Update::Apply;
        }
    }
    if identity.kind == GroupKind::new("", "Secret") && settings.purge_order.is_some() {
        faults.push(fault(format!(
            "remove the annotation `{}/purge-order`: a digest of what has served stands in a ConfigMap, which more people may read",
            setting.prefix
        )));
    }
    faults.extend(misspelt(&object, setting.prefix).into_iter().map(fault));
    let departure = Departure { policy: settings.policies.delete, order: settings.delete_order };
    set(&mut object, "annotations", keys::DELETION, departure.to_text(&identity));
    let digest = digest(&object, setting.prefix, settings.policies.reconcile, setting.stamp.generation);
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
    if faults.is_empty() { Ok(Rendered { object, identity, kind, settings, hints, digest }) } else { Err(faults) }
}

/// Annotations with the bundle's prefix that are nearly one of its own: a typo would leave an object with the default, which may
/// be to delete it.
fn misspelt(object: &Value, prefix: &str) -> Vec<String> {
    let annotations = object.pointer("/metadata/annotations").and_then(Value::as_object);
    let names = annotations.into_iter().flatten().filter_map(|(key, _)| key.strip_prefix(prefix)?.strip_prefix('/'));
    names
        .filter(|name| !Settings::NAMES.contains(name))
        .filter_map(|name| {
            let similar = suggest(name, &Settings::NAMES)?;
            Some(format!("there is no annotation `{prefix}/{name}`; did you mean `{prefix}/{similar}`?"))
        })
        .collect()
}

/// Removes what the adapter writes itself: a manifest that was taken from a cluster has it, too.
fn strip(object: &mut Value) {
    let Some(annotations) = object.pointer_mut("/metadata/annotations").and_then(Value::as_object_mut) else { return };
    annotations.retain(|key, _| key != keys::DISOWNED_BY && !keys::MEMBER_ANNOTATIONS.contains(&key.as_str()));
}

/// Puts an object into its namespace. Whether a kind that neither Kubernetes nor the set defines is namespaced is known to the
/// author alone.
fn place(object: &mut Value, reference: &ObjectRef, scopes: &BTreeMap<GroupKind, bool>, namespace: &str) {
    let Some(metadata) = object.get_mut("metadata").and_then(Value::as_object_mut) else { return };
    let of_set = || scopes.get(&GroupKind::new(&reference.kind.group, &reference.kind.kind)).copied();
    match is_namespaced(&reference.kind).or_else(of_set) {
        Some(true) if reference.namespace.is_none() => {
            metadata.insert("namespace".to_owned(), Value::from(namespace));
        }
        Some(false) => drop(metadata.remove("namespace")),
        Some(true) | None => {}
    }
    let is_empty = |part: &Value| part.is_null() || part.as_object().is_some_and(Map::is_empty);
    metadata.retain(|key, part| !(matches!(key.as_str(), "labels" | "annotations") && is_empty(part)));
}
