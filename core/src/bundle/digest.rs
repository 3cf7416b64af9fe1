//! The digest of a rendered object, by which a later pass notices that the object is to be written again.
//!
//! In: a rendered object before it is stamped, what counts as a change of it, and the generation of the API resource. Out: a
//! text for the annotation [`DIGEST`](crate::keys::DIGEST). Nothing here fails.
//!
//! All of the object counts, its policies' annotations included: an object whose policy changed is written once more, and so
//! carries the policy by which it is handled after it has left the manifests.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use serde_json::Value;
use sha2::{Digest as _, Sha256};

use super::policy::Reconcile;
use crate::id::Generation;
use crate::keys;

/// The digest of every object that is written once.
pub const ONCE: &str = "__once__";
/// Fields of `metadata` that are the server's.
const SERVERS: [&str; 6] =
    ["resourceVersion", "generation", "managedFields", "uid", "creationTimestamp", "deletionTimestamp"];

/// How many digits tell whether the content of an object changed.
const DIGITS: usize = 16;

/// The digest of a rendered object: that of all of it, and after `~` that of its content, which is all but the annotations with
/// this prefix and the adapter's own.
#[must_use]
pub fn digest(object: &Value, prefix: &str, reconcile: Reconcile, generation: Generation) -> String {
    let suffix = match reconcile {
        Reconcile::Once => return ONCE.to_owned(),
        Reconcile::OnObjectChange => String::new(),
        Reconcile::OnObjectOrComponentChange => format!("@{generation}"),
    };
    let mut metadata = object.get("metadata").cloned().unwrap_or_default();
    if let Some(fields) = metadata.as_object_mut() {
        fields.retain(|key, _| !SERVERS.contains(&key.as_str()));
    }
    let all = hash(object, &metadata);
    let content = if drop_policies(&mut metadata, prefix) { hash(object, &metadata) } else { all.clone() };
    format!("{all}{suffix}~{}{suffix}", content.get(..DIGITS).unwrap_or(&content))
}

/// Removes the annotations that are not of the content; returns whether there were some.
fn drop_policies(metadata: &mut Value, prefix: &str) -> bool {
    let Some(annotations) = metadata.get_mut("annotations").and_then(Value::as_object_mut) else { return false };
    let is_policy = |key: &str| key.strip_prefix(prefix).is_some_and(|rest| rest.starts_with('/'));
    let before = annotations.len();
    annotations.retain(|key, _| !is_policy(key) && !key.starts_with(keys::PREFIX));
    annotations.len() < before
}

/// Whether two digests are of objects with different content. A digest that does not tell is of the same.
#[must_use]
pub fn is_other_content(one: &str, other: &str) -> bool {
    let content = |digest: &str| digest.split_once('~').map(|(_, content)| content.to_owned());
    content(one).zip(content(other)).is_some_and(|(one, other)| one != other)
}

/// The hash of an object with this metadata in place of its own. Only the metadata is ever copied: the rest may be large.
fn hash(object: &Value, metadata: &Value) -> String {
    let fields = object.as_object().into_iter().flatten();
    let fields = fields.map(|(key, value)| (key.as_str(), if key == "metadata" { metadata } else { value }));
    let fields: BTreeMap<&str, &Value> = fields.collect();
    // The keys of JSON objects are sorted here, so equal objects are equal texts. A value always has a text.
    let hash = Sha256::digest(serde_json::to_vec(&fields).unwrap_or_default());
    hash.iter().fold(String::new(), |mut text, byte| {
        // Writing to a text cannot fail.
        let _ = write!(text, "{byte:02x}");
        text
    })
}

/// The annotations that the adapter itself changes from write to write.
const STAMPED: [&str; 3] = [keys::GENERATION, keys::OWNERSHIP_PROOF, keys::DIGEST];

/// The fields that differ between two states of a live object, as paths. What the server or the adapter's stamp changes does
/// not count.
#[must_use]
pub fn changed_fields(before: &Value, after: &Value) -> Vec<String> {
    let mut fields = Vec::new();
    compare(before, after, &mut String::new(), &mut fields);
    fields
}

fn compare(before: &Value, after: &Value, path: &mut String, fields: &mut Vec<String>) {
    let (Value::Object(old), Value::Object(new)) = (before, after) else {
        if before != after {
            fields.push(path.clone());
        }
        return;
    };
    let added = new.keys().filter(|key| !old.contains_key(*key));
    for key in old.keys().chain(added) {
        let is_servers = path == "metadata" && SERVERS.contains(&key.as_str());
        let is_stamped = path == "metadata.annotations" && STAMPED.contains(&key.as_str());
        if is_servers || is_stamped {
            continue;
        }
        let length = path.len();
        let dot = if path.is_empty() { "" } else { "." };
        let _ = write!(path, "{dot}{key}");
        if path != "status" {
            compare(old.get(key).unwrap_or(&Value::Null), new.get(key).unwrap_or(&Value::Null), path, fields);
        }
        path.truncate(length);
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn of(object: &Value) -> String {
        digest(object, "example.io", Reconcile::OnObjectChange, Generation(1))
    }

    #[test]
    fn digest_is_the_hash_of_the_object_without_the_servers_fields() {
        let object = json!({ "kind": "ConfigMap", "metadata": { "name": "a" }, "data": { "k": "v" } });
        // printf '%s' '{"data":{"k":"v"},"kind":"ConfigMap","metadata":{"name":"a"}}' | sha256sum
        let hash = "04e7c3cd5749fdb69e87b66257626d490d653b3d7bc714ffd0919185e22c2618";
        assert_eq!(of(&object), format!("{hash}~{}", &hash[..16]));
        let servers = json!({
            "kind": "ConfigMap", "data": { "k": "v" },
            "metadata": { "name": "a", "resourceVersion": "7", "generation": 3, "managedFields": [] },
        });
        assert_eq!(of(&servers), of(&object));
    }

    #[test]
    fn each_part_of_an_object_counts_also_its_annotations() {
        let object = json!({ "metadata": { "annotations": { "a": "1" } }, "spec": { "b": [1, 2] } });
        let others = [
            json!({ "metadata": { "annotations": { "a": "2" } }, "spec": { "b": [1, 2] } }),
            json!({ "metadata": { "annotations": { "a": "1" } }, "spec": { "b": [2, 1] } }),
            json!({ "metadata": { "annotations": { "a": "1" } } }),
        ];
        for other in others {
            assert_ne!(of(&other), of(&object), "{other}");
        }
    }

    #[test]
    fn generation_counts_only_for_the_policy_that_says_so() {
        let object = json!({ "metadata": { "name": "a" } });
        let by = |reconcile, generation| digest(&object, "example.io", reconcile, Generation(generation));
        assert_eq!(by(Reconcile::OnObjectChange, 1), by(Reconcile::OnObjectChange, 2));
        assert_ne!(by(Reconcile::OnObjectOrComponentChange, 1), by(Reconcile::OnObjectOrComponentChange, 2));
        assert_eq!(by(Reconcile::Once, 1), ONCE);
    }

    #[test]
    fn policies_are_no_content() {
        let with = |annotation: &str| json!({ "metadata": { "annotations": { annotation: "1" } } });
        for (key, is_other) in [("example.io/apply-order", false), (keys::DELETION, false), ("example.iox/a", true)] {
            assert_ne!(of(&with(key)), of(&json!({})), "{key}");
            assert_eq!(
                is_other_content(&of(&with(key)), &of(&json!({ "metadata": { "annotations": {} } }))),
                is_other,
                "{key}"
            );
        }
        assert!(!is_other_content(ONCE, &of(&json!({}))));
    }

    #[test]
    fn changed_fields_are_named_by_their_paths() {
        let before = json!({
            "metadata": { "resourceVersion": "1", "labels": { "a": "1" }, "annotations": { keys::GENERATION: "1" } }, "spec": { "replicas": 2, "list": [1] },
            "status": { "ready": 1 },
        });
        let after = json!({
            "metadata": { "resourceVersion": "2", "labels": { "a": "1" }, "annotations": { keys::GENERATION: "2" } }, "spec": { "replicas": 3, "list": [2], "new": {} },
            "status": { "ready": 2 },
        });
        assert_eq!(changed_fields(&before, &after), ["spec.list", "spec.replicas", "spec.new"]);
        assert!(changed_fields(&before, &before).is_empty());
    }
}
