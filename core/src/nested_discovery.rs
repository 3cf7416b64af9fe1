//! Nested discovery: finds a manifest inside a discovered `ManifestWork`, which becomes `resources.<name>`.

use serde_json::Value;

use lifecycle_objects::id::Generation;
use lifecycle_objects::observation::{QueryBy, Version, satisfies};

/// Returns the manifest in `spec.workload.manifests` of `parent` that has the given name or labels.
///
/// If a namespace is given, the manifest has to be in it. Of several manifests, returns the one of the
/// highest generation. Adds `statusFeedback` and `conditions` from the parent's status entry for that
/// manifest.
///
/// The manifest can be of any kind.
#[must_use]
pub fn find(parent: &Value, namespace: Option<&str>, by: &QueryBy) -> Option<Value> {
    let manifests = parent.pointer("/spec/workload/manifests")?.as_array()?;
    let best = manifests
        .iter()
        .filter(|manifest| satisfies(namespace, by, *manifest))
        .map(|manifest| Version::new(manifest.clone()))
        .max_by(|a, b| {
            let generation = |version: &Version| version.generation().unwrap_or(Generation(0));
            generation(a).cmp(&generation(b)).then_with(|| b.name().cmp(a.name()))
        })?;
    let mut object = best.into_object();
    enrich(parent, &mut object);
    Some(object)
}

/// Copies `statusFeedback` and `conditions` from the parent's status entry with the object's namespace and
/// name.
fn enrich(parent: &Value, object: &mut Value) {
    let text = |value: &Value, pointer: &str| value.pointer(pointer).and_then(Value::as_str).map(str::to_owned);
    let name = text(object, "/metadata/name").unwrap_or_default();
    let namespace = text(object, "/metadata/namespace").unwrap_or_default();
    let entry = parent.pointer("/status/resourceStatus/manifests").and_then(Value::as_array).and_then(|entries| {
        entries.iter().find(|entry| {
            text(entry, "/resourceMeta/name").as_deref() == Some(&name)
                && text(entry, "/resourceMeta/namespace").as_deref() == Some(&namespace)
        })
    });
    if let (Some(entry), Some(object)) = (entry, object.as_object_mut()) {
        for key in ["statusFeedback", "conditions"] {
            if let Some(value) = entry.get(key) {
                object.insert(key.to_owned(), value.clone());
            }
        }
    }
}
