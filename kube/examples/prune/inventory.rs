//! The labelled objects of a cluster, of every kind and without their content.

use std::collections::{BTreeMap, BTreeSet};

use lifecycle_core::object_ref::ObjectRef;
use lifecycle_core::task::PropagationPolicy;
use lifecycle_kube::{Cluster, Deletion, Error, Fence, Form};
use serde_json::Value;

/// What was found, and what could not be read.
pub(crate) struct Inventory {
    /// Each object's `apiVersion`, `kind` and `metadata`.
    pub(crate) objects: Vec<Value>,
    /// Why objects may be missing: kinds that were not discovered, and lists that failed.
    pub(crate) unread: Vec<Error>,
}

/// Lists every object that has all of these labels, of each kind that can be listed and deleted.
///
/// # Errors
///
/// The API groups cannot be read, or the labels are no labels.
pub(crate) async fn take(cluster: &Cluster, labels: &BTreeMap<String, String>) -> Result<Inventory, Error> {
    let discovery = cluster.discover().await?;
    let mut inventory = Inventory { objects: Vec::new(), unread: discovery.unread };
    for served in discovery.kinds.iter().filter(|served| served.has_verbs(&["list", "delete"])) {
        match cluster.list(&served.kind, None, labels, Form::MetadataOnly)?.read_all().await {
            Ok(objects) => inventory.objects.extend(objects),
            Err(error) => inventory.unread.push(error),
        }
    }
    // Two groups may serve one object, as the two of `Event` do: its UID tells.
    let mut seen = BTreeSet::new();
    inventory.objects.retain(|object| seen.insert(object["metadata"]["uid"].as_str().map(str::to_owned)));
    Ok(inventory)
}

/// Deletes the object in the version that the inventory holds, and no namesake.
///
/// # Errors
///
/// The object changed since it was listed (`Conflict`), or the server refused for another reason.
pub(crate) async fn delete(cluster: &Cluster, object: &Value) -> Result<Deletion, Error> {
    cluster.delete(&ObjectRef::of(object), Fence::of(object), PropagationPolicy::Background).await
}
