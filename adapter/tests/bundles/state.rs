//! What a test finds in its namespace, to compare it with what another life left in another namespace.

use anyhow::Result;
use serde_json::{Map, Value, json};

use crate::world::{ENTRY, World, text};

/// The objects of the test's namespace that the test named, and the parent, without what differs from life to life.
pub(crate) async fn state(world: &World) -> Result<Vec<Value>> {
    let mut objects = Vec::new();
    for kind in [world.map("", ""), world.secret(""), world.foo("", 1)] {
        for object in world.all_like(&kind).await? {
            let name = text(&object, "/metadata/name");
            if name == ENTRY || world.knows(name) {
                objects.push(neutral(world, object)?);
            }
        }
    }
    Ok(objects)
}

/// An object without what differs from life to life.
pub(crate) fn neutral(world: &World, mut object: Value) -> Result<Value> {
    if object["metadata"]["name"] == ENTRY {
        let mut memory: Map<String, Value> = serde_json::from_str(text(&object, "/data/memory"))?;
        memory.retain(|key, _| !matches!(key.as_str(), "claims" | "applied"));
        object["data"] = Value::Object(memory);
    }
    if object["kind"] == "CustomResourceDefinition" {
        // It has the times at which the type became served.
        object["status"] = Value::Null;
    }
    let kept = ["name", "namespace", "labels", "annotations", "finalizers"];
    if let Some(metadata) = object["metadata"].as_object_mut() {
        metadata.retain(|key, _| kept.contains(&key.as_str()));
    }
    let mut object: Value = serde_json::from_str(&world.neutral(&object.to_string()))?;
    // Both are hashes of the namespace as well.
    if let Some(labels) = object["metadata"]["labels"].as_object_mut() {
        labels.retain(|key, _| !key.starts_with("applyset."));
    }
    if let Some(annotations) = object["metadata"]["annotations"].as_object_mut() {
        annotations.remove("hyperfleet.io/digest");
    }
    if let Some(completed) = object.pointer_mut("/data/completed") {
        *completed = json!(completed.as_object().map(|it| it.keys().cloned().collect::<Vec<_>>()));
    }
    Ok(object)
}
