//! Garbage collection: removes references to deleted owners, and finds dependents without an owner.

use lifecycle_objects::id::GroupVersionKind;
use serde_json::Value;

use super::state::{Key, State, is_terminating, metadata_text};

/// Finds the objects whose owners are all deleted. Objects that are terminating already are left out.
///
/// For an object with some owners left, removes the references to the deleted ones.
pub(super) fn dependents_without_owner(state: &mut State) -> Vec<Key> {
    let keys: Vec<Key> = state.objects.keys().cloned().collect();
    let mut dependents_without_owner = Vec::new();
    for key in keys {
        let Some(stored) = state.objects.get(&key) else { continue };
        let owners = owners(&stored.object);
        let existing: Vec<Value> =
            owners.iter().filter(|owner| exists(state, owner, &key.namespace)).cloned().collect();
        if existing.len() == owners.len() {
            continue;
        }
        if !existing.is_empty() {
            set_owners(state, &key, existing);
        } else if !is_terminating(&stored.object) {
            dependents_without_owner.push(key);
        }
    }
    dependents_without_owner
}

/// Removes every reference to the owner with this UID, so that its dependents outlive it (propagation policy
/// `Orphan`).
pub(super) fn disown(state: &mut State, uid: &str) {
    let keys: Vec<Key> = state.objects.keys().cloned().collect();
    for key in keys {
        let Some(stored) = state.objects.get(&key) else { continue };
        let owners = owners(&stored.object);
        let others: Vec<Value> = owners.iter().filter(|owner| text(owner, "uid") != uid).cloned().collect();
        if others.len() < owners.len() {
            set_owners(state, &key, others);
        }
    }
}

fn set_owners(state: &mut State, key: &Key, owners: Vec<Value>) {
    let version = state.next_version();
    let metadata = state.objects.get_mut(key).and_then(|stored| stored.object.get_mut("metadata"));
    let Some(Value::Object(metadata)) = metadata else { return };
    metadata.insert("resourceVersion".to_owned(), version);
    if owners.is_empty() {
        metadata.remove("ownerReferences");
    } else {
        metadata.insert("ownerReferences".to_owned(), owners.into());
    }
}

/// An owner is in the namespace of its dependent, or cluster-scoped.
fn exists(state: &State, owner: &Value, namespace: &str) -> bool {
    let kind = GroupVersionKind::new(text(owner, "apiVersion"), text(owner, "kind"));
    [namespace, ""].into_iter().any(|namespace| {
        let key = Key::new(&kind, Some(namespace.to_owned()), text(owner, "name").to_owned());
        state.objects.get(&key).is_some_and(|stored| metadata_text(&stored.object, "uid") == text(owner, "uid"))
    })
}

fn owners(object: &Value) -> &[Value] {
    let owners = object.pointer("/metadata/ownerReferences").and_then(Value::as_array);
    owners.map(Vec::as_slice).unwrap_or_default()
}

fn text<'a>(owner: &'a Value, key: &str) -> &'a str {
    owner.get(key).and_then(Value::as_str).unwrap_or_default()
}
