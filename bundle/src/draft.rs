//! What no event decides about an object of a bundle: the object as its author wrote it, what its annotations say, and its digest.
//!
//! In: a rendered object, the prefix of annotations, and the bundle's own policies. Out: a [`Draft`]. Fails: with everything that
//! is wrong with the object, each with its cure. The drafts of manifests without templates are made once, when the task is loaded;
//! those of the others for each event.

use lifecycle_config::decode::suggest;
use lifecycle_objects::identity::{GroupKind, Identity};
use lifecycle_objects::keys;
use lifecycle_objects::object_ref::ObjectRef;
use lifecycle_objects::readiness::Hints;
use lifecycle_objects::secret::{encode_texts, lacks_value};
use lifecycle_objects::server_set;
use serde_json::{Map, Value};

use super::departure::Departure;
use super::digest::Digest;
use super::policy::{Policies, Settings, Update, takes_others_along};
use super::serving;

/// An object of a bundle, as far as no event decides it.
#[derive(Debug, Clone, PartialEq)]
pub struct Draft {
    /// The object as its author wrote it, but for what a server or the adapter writes itself, and `stringData` of a
    /// Secret, which is in `data`.
    pub object: Value,
    /// The object's kind, name and, if the author wrote one, namespace.
    pub reference: ObjectRef,
    /// What its annotations say.
    pub settings: Settings,
    /// How to judge whether it is ready.
    pub hints: Hints,
    /// By what a later pass notices that the object is to be written again.
    pub digest: Digest,
}

impl Draft {
    /// Reads a rendered object, whose annotations say how it is kept.
    ///
    /// # Errors
    /// Each fault of the object, with the object's name.
    pub fn new(object: Value, prefix: &str, defaults: &Policies) -> Result<Self, Vec<String>> {
        let (mut object, reference, identity) = shaped(object)?;
        let fault = |fault: String| format!("{identity}: {fault}");
        let mut settings = Settings::read(&object, prefix, defaults)
            .map_err(|faults| faults.iter().map(|it| fault(it.to_string())).collect::<Vec<_>>())?;
        let hints = settings.status_hint.as_deref().map(Hints::parse).unwrap_or_else(|| Ok(Hints::default()));
        let mut faults = misspelt(&object, prefix);
        let hints = hints.unwrap_or_else(|error| {
            faults.push(format!("the annotation `{prefix}/status-hint`: {error}"));
            Hints::default()
        });
        faults.extend(serving::fault(&identity.kind, &object));
        faults.extend(drop_rules(&identity.kind, &mut object));
        faults.extend(restrict(&mut settings, &identity.kind, &object, prefix));
        if !faults.is_empty() {
            return Err(faults.into_iter().map(fault).collect());
        }
        let digest = Digest::of(&object, prefix, Departure::of(&settings));
        Ok(Self { object, reference, settings, hints, digest })
    }

    /// The draft of an object that a program makes, and says itself how it is kept.
    ///
    /// # Errors
    /// The fault of the object, with the object's name.
    pub fn with(object: Value, settings: Settings, hints: Hints) -> Result<Self, Vec<String>> {
        let (object, reference, _) = shaped(object)?;
        let digest = Digest::of(&object, "", Departure::of(&settings));
        Ok(Self { object, reference, settings, hints, digest })
    }
}

/// The object without what a server or the adapter writes itself, and what makes it the object that it is.
fn shaped(mut object: Value) -> Result<(Value, ObjectRef, Identity), Vec<String>> {
    let reference = ObjectRef::of(&object);
    if reference.kind.kind.is_empty() || reference.kind.version.is_empty() || reference.name.is_empty() {
        return Err(vec![format!("{reference}: write `apiVersion`, `kind` and `metadata.name`")]);
    }
    let identity = Identity::from(reference.clone());
    if identity.kind.to_string().parse().as_ref() != Ok(&identity.kind) {
        return Err(vec![format!(
            "{reference}: `apiVersion` and `kind` do not name a kind, such as `apps/v1` and `Deployment`"
        )]);
    }
    for part in ["labels", "annotations"] {
        if metadata(&object, part).is_some_and(|part| !part.is_object() && !part.is_null()) {
            let fault = format!("write `metadata.{part}` as a mapping, with a text for each key");
            return Err(vec![format!("{identity}: {fault}")]);
        }
    }
    strip(&mut object);
    if let Some(lack) = lacks_value(&object) {
        return Err(vec![format!("{identity}: {lack}")]);
    }
    server_set::strip(&mut object);
    encode_texts(&mut object);
    Ok((object, reference, identity))
}

impl Draft {
    /// Whether the object runs once, and is not created again when it is gone.
    pub(super) fn serves_once(&self, kind: &GroupKind) -> bool {
        serving::serves_once(kind, &self.object, self.settings.purge_order)
    }
}

/// Removes the empty `rules` of an aggregated `ClusterRole`, which its controller fills in: whoever owns them empties the role at each
/// write. Rules that are not empty would be lost.
fn drop_rules(kind: &GroupKind, object: &mut Value) -> Option<String> {
    let is_aggregated = *kind == GroupKind::new("rbac.authorization.k8s.io", "ClusterRole")
        && object.get("aggregationRule").is_some_and(|rule| !rule.is_null());
    let role = object.as_object_mut().filter(|_| is_aggregated)?;
    let is_empty = role.get("rules")?.as_array().is_none_or(Vec::is_empty);
    if is_empty {
        role.remove("rules");
        return None;
    }
    Some("its `rules` belong to the controller that aggregates them, as `aggregationRule` says; remove `rules`, or put them into a \
          ClusterRole that the rule selects"
        .to_owned())
}

/// A field of an object's metadata.
fn metadata<'o>(object: &'o Value, key: &str) -> Option<&'o Value> {
    object.get("metadata")?.get(key)
}

/// Says which settings an object of this kind cannot have. A policy of the bundle as a whole is no fault of the object: it is replaced.
fn restrict(settings: &mut Settings, kind: &GroupKind, object: &Value, prefix: &str) -> Vec<String> {
    let is_written = |name: &str| {
        metadata(object, "annotations").is_some_and(|annotations| annotations.get(format!("{prefix}/{name}")).is_some())
    };
    let mut faults = Vec::new();
    if takes_others_along(kind) {
        let refused = |annotation: &str| {
            format!(
                "remove the annotation `{prefix}/{annotation}`: what the object introduces or contains would go with it"
            )
        };
        if settings.purge_order.is_some() {
            faults.push(refused("purge-order"));
        }
        if settings.policies.update == Update::Recreate {
            if is_written("update-policy") {
                faults.push(refused("update-policy"));
            }
            settings.policies.update = Update::Apply;
        }
    }
    if *kind == GroupKind::new("", "Secret") && settings.purge_order.is_some() {
        faults.push(format!(
            "remove the annotation `{prefix}/purge-order`: a digest of what has served stands in a ConfigMap, which more people \
             may read"
        ));
    }
    faults
}

/// Annotations with the bundle's prefix that are nearly one of its own: a typo would leave an object with the default, which may
/// be to delete it.
fn misspelt(object: &Value, prefix: &str) -> Vec<String> {
    let annotations = metadata(object, "annotations").and_then(Value::as_object);
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
    let Some(metadata) = object.get_mut("metadata").and_then(Value::as_object_mut) else { return };
    if let Some(annotations) = metadata.get_mut("annotations").and_then(Value::as_object_mut) {
        annotations.retain(|key, _| key != keys::DISOWNED_BY && !keys::MEMBER_ANNOTATIONS.contains(&key.as_str()));
    }
    let is_empty = |part: &Value| part.is_null() || part.as_object().is_some_and(Map::is_empty);
    metadata.retain(|key, part| !(matches!(key.as_str(), "labels" | "annotations") && is_empty(part)));
}

#[cfg(test)]
mod tests;
