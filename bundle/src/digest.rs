//! The digest of a rendered object, by which a later pass notices that the object is to be written again.
//!
//! In: a rendered object before it is placed and stamped, and what becomes of it when it leaves the manifests; what counts as a
//! change of it, and the generation of the API resource. Out: a text for the annotation [`DIGEST`](lifecycle_objects::keys::DIGEST).
//! Nothing here fails.
//!
//! All of the object counts, its policies' annotations included: an object whose policy changed is written once more, and so
//! carries the policy by which it is handled after it has left the manifests.

use std::collections::BTreeMap;

use lifecycle_objects::id::Generation;
use lifecycle_objects::keys;
use lifecycle_objects::proof::hexadecimal;
use lifecycle_objects::server_set;
use serde_json::Value;
use sha2::{Digest as _, Sha256};

use super::departure::Departure;
use super::policy::Reconcile;

/// The digest of every object that is written once.
pub const ONCE: &str = "__once__";

/// How many digits tell whether the content of an object changed.
const DIGITS: usize = 16;

/// The hashes of a rendered object.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Digest {
    /// Of all of it, and of what becomes of it in the end.
    all: String,
    /// The beginning of the hash of its content: of all but the annotations with the bundle's prefix and the adapter's own.
    content: String,
}

impl Digest {
    /// Hashes an object. Only its metadata is ever copied: the rest may be large.
    #[must_use]
    pub fn of(object: &Value, prefix: &str, departure: Departure) -> Self {
        let mut metadata = object.get("metadata").cloned().unwrap_or_default();
        if let Some(fields) = metadata.as_object_mut() {
            fields.retain(|key, _| !server_set::METADATA.contains(&key.as_str()));
        }
        let fields = object.as_object().into_iter().flatten().filter(|(key, _)| *key != "metadata");
        let rest = hash(&fields.collect::<BTreeMap<_, _>>());
        let Departure { policy, order } = departure;
        let all = hash(&(&rest, &metadata, policy.word(), order));
        drop_policies(&mut metadata, prefix);
        let mut content = hash(&(&rest, &metadata));
        content.truncate(DIGITS);
        Self { all, content }
    }

    /// The annotation's value: the hash of all, and after `~` that of the content, each with the generation if that counts.
    #[must_use]
    pub fn text(&self, reconcile: Reconcile, generation: Generation) -> String {
        let Self { all, content } = self;
        match reconcile {
            Reconcile::Once => ONCE.to_owned(),
            Reconcile::OnObjectChange => format!("{all}~{content}"),
            Reconcile::OnObjectOrComponentChange => format!("{all}@{generation}~{content}@{generation}"),
        }
    }
}

/// Removes the annotations that are not of the content.
fn drop_policies(metadata: &mut Value, prefix: &str) {
    let Some(fields) = metadata.as_object_mut() else { return };
    if let Some(annotations) = fields.get_mut("annotations").and_then(Value::as_object_mut) {
        let is_policy = |key: &str| key.strip_prefix(prefix).is_some_and(|rest| rest.starts_with('/'));
        annotations.retain(|key, _| !is_policy(key) && !key.starts_with(keys::PREFIX));
    }
    fields.retain(|key, value| key != "annotations" || value.as_object().is_none_or(|all| !all.is_empty()));
}

/// The hash of the JSON of a value. The keys of JSON objects are sorted, so equal values have equal hashes.
fn hash(value: &impl serde::Serialize) -> String {
    // A value always has a text.
    hexadecimal(&Sha256::digest(serde_json::to_vec(value).unwrap_or_default()))
}

/// Whether two digests are of objects with different content. A digest that does not tell is of the same.
#[must_use]
pub fn is_other_content(one: &str, other: &str) -> bool {
    let content = |digest: &str| digest.split_once('~').map(|(_, content)| content.to_owned());
    content(one).zip(content(other)).is_some_and(|(one, other)| one != other)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::policy::Delete;

    const DEPARTURE: Departure = Departure { policy: Delete::Delete, order: 0 };

    fn by(object: &Value, reconcile: Reconcile, generation: i64) -> String {
        Digest::of(object, "example.io", DEPARTURE).text(reconcile, Generation(generation))
    }

    fn of(object: &Value) -> String {
        by(object, Reconcile::OnObjectChange, 1)
    }

    #[test]
    fn digest_is_the_hash_of_the_object_without_the_servers_fields() {
        let object = json!({ "kind": "ConfigMap", "metadata": { "name": "a" }, "data": { "k": "v" } });
        // rest=$(printf '%s' '{"data":{"k":"v"},"kind":"ConfigMap"}' | sha256sum | cut -c -64)
        // printf '["%s",{"name":"a"},"delete",0]' $rest | sha256sum; printf '["%s",{"name":"a"}]' $rest | sha256sum
        let (all, content) = ("c9854591af4f438f155c53af7834072d9198a109d9f6b6b59b694d8a7350491f", "febad3869e50f73e");
        assert_eq!(of(&object), format!("{all}~{content}"));
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
        let by = |reconcile, generation| by(&object, reconcile, generation);
        assert_eq!(by(Reconcile::OnObjectChange, 1), by(Reconcile::OnObjectChange, 2));
        assert_ne!(by(Reconcile::OnObjectOrComponentChange, 1), by(Reconcile::OnObjectOrComponentChange, 2));
        assert_eq!(by(Reconcile::Once, 1), ONCE);
    }

    #[test]
    fn policies_are_no_content() {
        let with = |annotation: &str| json!({ "metadata": { "annotations": { annotation: "1" } } });
        for (key, is_other) in [("example.io/apply-order", false), (keys::DELETION, false), ("example.iox/a", true)] {
            assert_ne!(of(&with(key)), of(&json!({})), "{key}");
            assert_eq!(is_other_content(&of(&with(key)), &of(&json!({ "metadata": {} }))), is_other, "{key}");
        }
        assert!(!is_other_content(ONCE, &of(&json!({}))));
    }

    #[test]
    fn object_that_is_to_leave_otherwise_has_another_digest_and_the_same_content() {
        let object = json!({ "metadata": { "name": "a" } });
        for departure in [Departure { policy: Delete::Orphan, ..DEPARTURE }, Departure { order: 1, ..DEPARTURE }] {
            let other = Digest::of(&object, "example.io", departure).text(Reconcile::OnObjectChange, Generation(1));
            assert_ne!(other, of(&object));
            assert!(!is_other_content(&other, &of(&object)));
        }
    }
}
