//! What happens to the objects outside of the adapter: people and controllers write, a cluster empties namespaces, and
//! agents delete works.
//!
//! These calls have no fences, and are not in the log of operations, which lists the adapter's.

use lifecycle_objects::apply;
use lifecycle_objects::destination::Destination;
use lifecycle_objects::object_ref::ObjectRef;
use lifecycle_objects::write::{Target, WriteError};
use serde_json::Value;

use super::MemoryTransport;
use super::state::{Key, metadata_text};

impl MemoryTransport {
    /// The objects of a kind that a reference means: it may leave the namespace and the name open.
    #[must_use]
    pub fn objects_of(&self, object_ref: &ObjectRef) -> Vec<ObjectRef> {
        let state = self.state();
        let of_kind = state.objects.keys().filter(|key| {
            key.group == object_ref.kind.group
                && key.kind == object_ref.kind.kind
                && object_ref.namespace.as_ref().is_none_or(|namespace| *namespace == key.namespace)
                && (object_ref.name.is_empty() || object_ref.name == key.name)
        });
        let found = of_kind.map(|key| ObjectRef {
            name: key.name.clone(),
            ..ObjectRef::all(object_ref.kind.clone(), Some(&key.namespace))
        });
        found.collect()
    }

    /// Creates an object.
    ///
    /// # Errors
    /// The server would refuse the object.
    pub fn create_outside(&self, object: &Value) -> Result<(), WriteError> {
        self.insert(object, false).map(drop)
    }

    /// Changes an object by a JSON merge patch. Does nothing if the object does not exist.
    ///
    /// # Errors
    /// The server would refuse the changed object.
    pub fn patch_outside(&self, object_ref: &ObjectRef, document: &Value) -> Result<(), WriteError> {
        let key = Key::of(object_ref);
        let uid = self.state().objects.get(&key).map(|stored| metadata_text(&stored.object, "uid").to_owned());
        let Some(uid) = uid else { return Ok(()) };
        let target = Target {
            destination: Destination::ThisCluster,
            kind: object_ref.kind.clone(),
            namespace: object_ref.namespace.clone(),
            name: object_ref.name.clone(),
            uid,
            resource_version: String::new(),
        };
        self.change("change", &key, &target, |stored| apply::patch(&mut stored.object, None, document)).map(drop)
    }

    /// Deletes an object.
    pub fn delete_outside(&self, object_ref: &ObjectRef) {
        Self::delete_object(&mut self.state(), &Key::of(object_ref));
    }

    /// Has the agents of remote clusters confirm the deletions of works, which go then unless a finalizer holds them. An agent
    /// does so some time after the deletion.
    pub fn confirm_remote_deletions(&self) {
        let mut state = self.state();
        let works = state.objects.iter().filter(|(_, stored)| stored.awaits_agent);
        for key in works.map(|(key, _)| key.clone()).collect::<Vec<_>>() {
            state.objects.get_mut(&key).into_iter().for_each(|work| work.awaits_agent = false);
            Self::delete_object(&mut state, &key);
        }
    }

    /// Deletes the objects in namespaces that were deleted. A cluster does so before the namespace is gone.
    pub fn empty_deleted_namespaces(&self) {
        let mut state = self.state();
        for namespace in std::mem::take(&mut state.deleted_namespaces) {
            let keys: Vec<Key> = state.objects.keys().filter(|key| key.namespace == namespace).cloned().collect();
            for key in keys {
                Self::delete_object(&mut state, &key);
            }
        }
    }
}
