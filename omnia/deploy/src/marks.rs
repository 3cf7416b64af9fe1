//! By what the objects of a pack are known: the labels of its deployments, and the digests in its state.
//!
//! In: the pack's id, what is wanted, and the state. Out: the [`Marks`] of the pack's set. Nothing here fails.
//!
//! An object is taken over by its labels alone, and only if they are this pack's. A digest is believed only of the very object that was
//! written whole, in the generation that was written, and that still has what is wanted: anything else is written again. The client's
//! state may be older than the objects: it keeps none of a deployment that failed.

use std::collections::{BTreeMap, BTreeSet};

use lifecycle_bundle::departure::Departure;
use lifecycle_bundle::digest::ONCE;
use lifecycle_bundle::marks::{Kinship, Marks, Owner, Written};
use lifecycle_bundle::policy::Delete;
use lifecycle_bundle::siblings::Siblings;
use lifecycle_objects::failure::Failure;
use lifecycle_objects::id::Generation;
use lifecycle_objects::identity::Identity;
use lifecycle_objects::object_ref::ObjectRef;
use lifecycle_objects::observation::Version;
use serde_json::{Value, json};

use crate::kinds::Kind;
use crate::labels::{self, Claim};
use crate::readiness::generation;

/// The marks of one pack's objects.
#[derive(Debug, Default)]
pub struct PackMarks {
    pack_id: String,
    selector: BTreeMap<String, String>,
    known: Known,
}

/// What is known of a pack's objects beside the objects.
#[derive(Debug, Default)]
pub struct Known {
    /// The objects that were written whole.
    pub written: BTreeMap<Identity, Last>,
    /// What is wanted.
    pub wanted: BTreeMap<Identity, Value>,
    /// The kinds that are the operator's once there is an object: it is never written again.
    pub once: BTreeSet<Kind>,
    /// Whether objects of these kinds stay although they are not wanted.
    pub kept: BTreeSet<Kind>,
    /// The objects that stay although they are not wanted.
    pub bound: BTreeSet<Identity>,
}

/// An object as it was last written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Last {
    /// The digest of what was wanted.
    pub digest: String,
    /// The UID; empty if the server tells none.
    pub uid: String,
    /// The generation that the write made; none if the server tells none.
    pub generation: Option<i64>,
}

impl Last {
    /// Whether this is the object, and nothing changed it since as far as its server tells.
    fn is(&self, object: &Value) -> bool {
        let uid = object["metadata"]["uid"].as_str().unwrap_or_default();
        let is_same = self.uid.is_empty() || uid.is_empty() || self.uid == uid;
        is_same && self.generation.zip(generation(object)).is_none_or(|(written, live)| written == live)
    }
}

impl PackMarks {
    /// The marks of a pack of which nothing is known.
    #[must_use]
    pub fn new(pack_id: &str) -> Self {
        let selector = [(labels::PACK_ID.to_owned(), labels::of_pack(pack_id))].into();
        Self { pack_id: pack_id.to_owned(), selector, ..Self::default() }
    }

    /// The same, with what is known beside the objects.
    #[must_use]
    pub fn knowing(self, known: Known) -> Self {
        Self { known, ..self }
    }

    fn claim(&self, version: &Version) -> Claim {
        labels::claim(&labels::read(version.object()), &self.pack_id)
    }

    /// Whether somebody changed an object that is wanted.
    #[must_use]
    pub fn has_drifted(&self, version: &Version) -> bool {
        let wanted = self.known.wanted.get(&identity(version));
        wanted.is_some_and(|wanted| !differences(wanted, version.object()).is_empty())
    }
}

fn identity(version: &Version) -> Identity {
    ObjectRef::of(version.object()).into()
}

impl Marks for PackMarks {
    fn selector(&self) -> &BTreeMap<String, String> {
        &self.selector
    }

    fn owner_of(&self, version: &Version, _: Option<&Siblings>) -> Owner {
        let is_operators = || Kind::of(&identity(version).kind).is_some_and(|kind| self.known.once.contains(&kind));
        match self.claim(version) {
            Claim::Ours => Owner::Set,
            Claim::Foreign(_) if is_operators() => Owner::Set,
            Claim::Foreign(owner) => Owner::Others(owner),
        }
    }

    fn kinship(&self, version: &Version, identity: &Identity) -> Kinship {
        let Known { kept, bound, .. } = &self.known;
        let stays = || Kind::of(&identity.kind).is_some_and(|kind| kept.contains(&kind)) || bound.contains(identity);
        match self.claim(version) {
            Claim::Ours if stays() => Kinship::Copy,
            Claim::Ours => Kinship::Member,
            Claim::Foreign(_) => Kinship::Copy,
        }
    }

    fn digest<'v>(&'v self, version: &'v Version) -> Option<&'v str> {
        let identity = identity(version);
        if Kind::of(&identity.kind).is_some_and(|kind| self.known.once.contains(&kind)) {
            return Some(ONCE);
        }
        let last = self.known.written.get(&identity).filter(|last| last.is(version.object()))?;
        (!self.has_drifted(version)).then_some(&last.digest)
    }

    fn departure(&self, _: &Version, identity: &Identity) -> Option<Departure> {
        Some(Departure { policy: Delete::Delete, order: Kind::of(&identity.kind).map_or(0, Kind::delete_order) })
    }

    fn generation(&self, _: &Version) -> Option<Generation> {
        None
    }

    fn check(&self) -> Result<(), Failure> {
        Ok(())
    }

    fn faults(&self, _: &Value, _: &Identity) -> Vec<String> {
        Vec::new()
    }

    /// The bodies of a pack have their labels already.
    fn mark(&self, _: &mut Value, _: &Written<'_>) -> Result<(), Failure> {
        Ok(())
    }

    fn departing(&self, _: Departure, _: &Identity) -> Option<Value> {
        None
    }

    fn strip(&self, _: &Version) -> Value {
        json!({ "metadata": { "labels": { labels::MANAGED_BY: null, labels::PACK_ID: null } } })
    }

    fn cure_of_taken(&self) -> &'static str {
        "give the pack or its agent another name, or delete that object"
    }

    fn departure_key(&self) -> &'static str {
        labels::RESOURCE_TYPE
    }
}

/// The fields of a wanted object that a live one has otherwise, as paths. What the live one has besides counts as the server's, and so
/// does a part that its API does not show.
#[must_use]
pub fn differences(wanted: &Value, live: &Value) -> Vec<String> {
    let mut found = Vec::new();
    let parts = wanted.as_object().into_iter().flatten();
    for (key, part) in parts.filter(|(key, _)| !matches!(key.as_str(), "apiVersion" | "kind" | "metadata")) {
        if let Some(shown) = live.get(key) {
            compare(part, shown, key.clone(), &mut found);
        }
    }
    found
}

fn compare(wanted: &Value, live: &Value, path: String, found: &mut Vec<String>) {
    match (wanted, live) {
        (Value::Object(wanted), Value::Object(live)) => {
            for (key, part) in wanted {
                let path = format!("{path}.{key}");
                match live.get(key) {
                    Some(shown) => compare(part, shown, path, found),
                    None => found.push(path),
                }
            }
        }
        (Value::Array(wanted), Value::Array(live)) if wanted.len() == live.len() => {
            let items = wanted.iter().zip(live).enumerate();
            items.for_each(|(index, (wanted, live))| compare(wanted, live, format!("{path}[{index}]"), found));
        }
        _ if wanted == live => {}
        _ => found.push(path),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn difference_is_what_was_wanted_and_is_otherwise() {
        let wanted =
            json!({ "kind": "A", "metadata": { "labels": { "a": "1" } }, "spec": { "n": 1, "list": [{ "a": 1 }] } });
        for (name, live, expected) in [
            ("the same", wanted.clone(), &[][..]),
            (
                "defaults of the server",
                json!({ "spec": { "n": 1, "m": 2, "list": [{ "a": 1, "b": 2 }] }, "status": {} }),
                &[],
            ),
            ("a server that shows no spec", json!({ "metadata": {} }), &[]),
            ("another value", json!({ "spec": { "n": 2, "list": [{ "a": 1 }] } }), &["spec.n"]),
            ("an item gone", json!({ "spec": { "n": 1, "list": [] } }), &["spec.list"]),
            (
                "a field gone, and one inside an item",
                json!({ "spec": { "list": [{ "a": 2 }] } }),
                &["spec.list[0].a", "spec.n"],
            ),
        ] {
            assert_eq!(differences(&wanted, &live), expected, "{name}");
        }
    }
}
