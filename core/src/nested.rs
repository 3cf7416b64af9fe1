//! Objects inside a discovered one: the manifests of a `ManifestWork`, promoted to `resources.<name>`.

use serde_json::Value;

use crate::belonging::satisfies;
use crate::id::Generation;
use crate::observation::{Query, QueryBy, Version};

/// Finds the embedded manifest that a query asks for, of the latest generation, with what the parent's status says of it.
///
/// Embedded manifests stand at `spec.workload.manifests`. The kind of `query` is not compared: an embedded
/// manifest is looked for by name or labels alone.
#[must_use]
pub fn find(parent: &Value, query: &Query) -> Option<Value> {
    let manifests = parent.pointer("/spec/workload/manifests")?.as_array()?;
    let best = manifests
        .iter()
        .filter(|manifest| satisfies(query, *manifest))
        .map(|manifest| Version::new(manifest.clone()))
        .max_by(|a, b| {
            let generation = |version: &Version| version.generation().unwrap_or(Generation(0));
            generation(a).cmp(&generation(b)).then_with(|| b.name().cmp(a.name()))
        })?;
    let mut object = best.into_object();
    enrich(parent, &mut object);
    Some(object)
}

/// Adds `statusFeedback` and `conditions` of the parent's status entry for this very manifest.
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

/// The text of a query, for messages.
#[must_use]
pub fn describe(query: &Query) -> String {
    match &query.by {
        QueryBy::Name(name) => format!("name {name}"),
        QueryBy::Labels(labels) => {
            labels.iter().map(|(key, value)| format!("{key}={value}")).collect::<Vec<_>>().join(",")
        }
    }
}
