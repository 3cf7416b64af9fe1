//! Lists the labelled objects of every kind in a cluster, with their metadata only.

use std::collections::{BTreeMap, BTreeSet};

use lifecycle_kube::{Cluster, Fence, Form, Selector};
use lifecycle_objects::object_ref::ObjectRef;
use lifecycle_objects::write::{Deletion, PropagationPolicy, WriteError};
use serde_json::Value;

/// The listed objects, and the errors of kinds that could not be listed.
pub(crate) struct Inventory {
    /// Each object's `apiVersion`, `kind` and `metadata`.
    pub(crate) objects: Vec<Value>,
    /// Errors that make the list incomplete: a group of kinds that was not discovered, or a kind whose list
    /// failed.
    pub(crate) unread: Vec<WriteError>,
}

/// Lists the objects that carry all of `labels`, of every kind that supports the verbs `list` and `delete`.
///
/// # Errors
///
/// The API groups cannot be read, or `labels` are not valid Kubernetes labels.
pub(crate) async fn take(cluster: &Cluster, labels: &BTreeMap<String, String>) -> Result<Inventory, WriteError> {
    let discovery = cluster.discover().await?;
    let unread = discovery.unread.into_iter().map(|unread| unread.error).collect();
    let mut inventory = Inventory { objects: Vec::new(), unread };
    for served in discovery.kinds.iter().filter(|served| served.has_verbs(&["list", "delete"])) {
        match cluster.list(&served.kind, None, Selector::Labels(labels), Form::MetadataOnly)?.read_all().await {
            Ok(objects) => inventory.objects.extend(objects),
            Err(error) => inventory.unread.push(error),
        }
    }
    // Two API groups may serve the same object (`Event` is in `v1` and in `events.k8s.io/v1`): keep one entry
    // per UID.
    let mut seen = BTreeSet::new();
    inventory.objects.retain(|object| seen.insert(object["metadata"]["uid"].as_str().map(str::to_owned)));
    Ok(inventory)
}

/// Deletes the object if its UID and resource version are still those of the inventory.
///
/// # Errors
///
/// The object was changed or replaced since it was listed (`Conflict`), or the server refused for another reason.
pub(crate) async fn delete(cluster: &Cluster, object: &Value) -> Result<Deletion, WriteError> {
    cluster.delete(&ObjectRef::of(object), Fence::of(object), PropagationPolicy::Background).await
}
