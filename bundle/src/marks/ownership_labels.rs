//! Members that are known by the labels of their owner, the label of their set, and what their annotations say.
//!
//! In: the entry of the task, the stamp of the event, and the parent's place. Out: the [`Marks`] of the set. Fails: an object whose
//! author wrote another owner's labels cannot be marked.

use std::collections::{BTreeMap, BTreeSet};

use lifecycle_objects::failure::Failure;
use lifecycle_objects::id::Generation;
use lifecycle_objects::identity::Identity;
use lifecycle_objects::keys;
use lifecycle_objects::object_ref::ObjectRef;
use lifecycle_objects::observation::{Described, Version, labelled_owner};
use lifecycle_objects::stamp::{Stamp, apply_stamp, prove};
use serde_json::{Map, Value, json};

use super::{Kinship, Marks, Owner, Written};
use crate::applyset;
use crate::departure::Departure;
use crate::siblings::Siblings;

/// The marks of the set of one entry of a task.
#[derive(Debug, Clone)]
pub struct OwnershipLabels<'t> {
    entry: &'t str,
    /// The names of the task's entries, if objects of an entry that the task no longer has are members, too.
    entries: Option<BTreeSet<&'t str>>,
    stamp: Stamp,
    /// The namespace and the name of the parent.
    parent: (String, String),
    selector: BTreeMap<String, String>,
}

impl<'t> OwnershipLabels<'t> {
    /// The marks of the set whose parent is the `ConfigMap` of this namespace and name. `stamp` is the identity of the adapter and of
    /// the API resource.
    #[must_use]
    pub fn new(entry: &'t str, stamp: Stamp, namespace: &str, name: &str) -> Self {
        let selector = BTreeMap::from([(applyset::PART_OF.to_owned(), applyset::id(namespace, name))]);
        Self { entry, entries: None, stamp, parent: (namespace.to_owned(), name.to_owned()), selector }
    }

    /// The same for a set that is to go: objects of entries that are not among these go with it.
    #[must_use]
    pub fn with_former_entries(self, entries: BTreeSet<&'t str>) -> Self {
        Self { entries: Some(entries), ..self }
    }

    /// The value of the label that members carry.
    fn set(&self) -> Option<&str> {
        self.selector.get(applyset::PART_OF).map(String::as_str)
    }

    /// Why an object cannot be one of the set, with the cure; none if it can.
    fn collision(&self, identity: &Identity) -> Option<String> {
        let (namespace, name) = &self.parent;
        if identity.kind.is_namespace() && identity.name == *namespace {
            let cure = "it would take the bundle's own ConfigMap along; give the bundle another `namespace`";
            return Some(cure.to_owned());
        }
        let is_parents_kind = identity.kind.group.is_empty() && identity.kind.kind == "ConfigMap";
        let is_parent = is_parents_kind && identity.namespace.as_ref() == Some(namespace) && identity.name == *name;
        is_parent.then(|| "it is the bundle's own ConfigMap; give the object or the bundle another name".to_owned())
    }

    /// The value of one of the labels of the set's owner.
    fn owner(&self, key: &str) -> &str {
        match key {
            keys::ADAPTER => self.stamp.adapter.as_str(),
            keys::RESOURCE_ID => self.stamp.resource_id.as_str(),
            _ => self.entry,
        }
    }

    /// Whether the owner's label of an object is that of the set.
    fn is_owner_label(&self, key: &str, object: &impl Described) -> bool {
        let is_former = |label: &str| self.entries.as_ref().is_some_and(|entries| !entries.contains(label));
        let label = object.label(key);
        label == Some(self.owner(key)) || key == keys::RESOURCE && label.is_some_and(is_former)
    }

    /// Whether an object has a label of another owner.
    fn is_of_others(&self, version: &Version) -> bool {
        let is_theirs = |key: &&str| version.label(key).is_some() && !self.is_owner_label(key, version.object());
        keys::OWNERSHIP_LABELS.iter().any(is_theirs)
    }

    /// Whether an object has all labels of a member. One that a person disowned is nobody's.
    fn is_stamped(&self, version: &Version) -> bool {
        !version.is_disowned()
            && version.label(applyset::PART_OF) == self.set()
            && keys::OWNERSHIP_LABELS.into_iter().all(|key| self.is_owner_label(key, version.object()))
    }

    /// Whose a member of another bundle of the task is, if that bundle may have given it up. An event of an older generation takes
    /// nothing back, and a copy of a member is nobody's gift.
    fn giver(&self, version: &Version, siblings: &Siblings) -> Option<Owner> {
        let entry = self.sibling_of(version)?;
        let identity = ObjectRef::of(version.object()).into();
        let names_itself = version.annotation(keys::DELETION).and_then(|text| Departure::names(text, &identity));
        let is_newer = version.generation().is_some_and(|theirs| theirs > self.stamp.generation);
        if names_itself != Some(true) || is_newer {
            return None;
        }
        match siblings.has_given_up(entry, &identity)? {
            Ok(true) => Some(Owner::GivenUpBy(format!("the entry {entry} of this task"))),
            Ok(false) => None,
            Err(cause) => {
                Some(Owner::Others(format!("the entry {entry} of this task, which may still render it: {cause}")))
            }
        }
    }
}

impl Marks for OwnershipLabels<'_> {
    fn selector(&self) -> &BTreeMap<String, String> {
        &self.selector
    }

    /// An object is a member if it has the set's label and all labels of its owner.
    fn owner_of(&self, version: &Version, siblings: Option<&Siblings>) -> Owner {
        if self.is_stamped(version) {
            return Owner::Set;
        }
        if let Some(owner) = siblings.and_then(|siblings| self.giver(version, siblings)) {
            return owner;
        }
        if version.is_disowned() {
            let why = format!("nobody: it was disowned, as its label `{}` says", keys::DISOWNED);
            return Owner::Disowned(why);
        }
        // An adapter that sets no labels, as the Go adapter, wrote it.
        let is_of_adapter = || {
            let ours = [keys::DIGEST, keys::DELETION, keys::DISOWNED_BY];
            version.annotation(keys::GENERATION).is_some()
                && ours.iter().all(|key| version.annotation(key).is_none())
                && keys::OWNERSHIP_LABELS.iter().all(|key| version.label(key).is_none())
        };
        let other = version.label(applyset::PART_OF).filter(|label| Some(*label) != self.set());
        let owner = match other {
            // An object that only lost labels of its owner is nobody's, and may be adopted again.
            Some(_) | None if self.is_of_others(version) => Some(labelled_owner(version)),
            Some(other) if version.label(keys::ADAPTER).is_some() => Some(format!(
                "this entry's set `{other}`, which another `bundle.name` or `bundle.namespace` had; write the former ones, or \
                 disown that set first"
            )),
            Some(other) => Some(format!("the set `{other}`")),
            None if is_of_adapter() => {
                Some(format!("an adapter that sets no labels, as its annotation `{}` says", keys::GENERATION))
            }
            // Whatever controls the object writes it again, and may take it away.
            None => version.controller().map(|controller| format!("{controller}, which controls it")),
        };
        owner.map_or(Owner::Nobody, Owner::Others)
    }

    /// A member has to name itself, or at least to have no controller.
    fn kinship(&self, version: &Version, identity: &Identity) -> Kinship {
        let names_itself = version.annotation(keys::DELETION).and_then(|text| Departure::names(text, identity));
        let is_controlled = version.controller().is_some();
        let has_digest = version.annotation(keys::DIGEST).is_some();
        let lost = keys::OWNERSHIP_LABELS.into_iter().find(|key| version.label(key).is_none());
        match (names_itself, lost) {
            _ if version.is_disowned() || self.is_of_others(version) => Kinship::Copy,
            (Some(true), Some(label)) => Kinship::Lost(label),
            (Some(true), None) if !has_digest => Kinship::Lost(keys::DIGEST),
            (Some(true), None) => Kinship::Member,
            (None, None) if has_digest && !is_controlled => Kinship::Member,
            (Some(_) | None, _) => Kinship::Copy,
        }
    }

    fn digest<'v>(&'v self, version: &'v Version) -> Option<&'v str> {
        version.annotation(keys::DIGEST)
    }

    fn departure(&self, version: &Version, identity: &Identity) -> Option<Departure> {
        Departure::read(version.annotation(keys::DELETION)?, identity)
    }

    fn generation(&self, version: &Version) -> Option<Generation> {
        version.generation()
    }

    fn check(&self) -> Result<(), Failure> {
        apply_stamp(&mut json!({}), self.entry, &self.stamp).map(drop)
    }

    fn faults(&self, object: &Value, identity: &Identity) -> Vec<String> {
        let labels = object.get("metadata").and_then(|metadata| metadata.get("labels"));
        let is_others = |key: &&str| {
            labels.and_then(|labels| labels.get(*key)).is_some_and(|label| label.as_str() != Some(self.owner(key)))
        };
        let label = keys::OWNERSHIP_LABELS.into_iter().find(is_others);
        let label =
            label.map(|key| format!("remove the label `{key}`: the objects of a bundle have the adapter's own"));
        self.collision(identity).into_iter().chain(label).collect()
    }

    fn mark(&self, object: &mut Value, written: &Written<'_>) -> Result<(), Failure> {
        apply_stamp(object, self.entry, &self.stamp)?;
        for (key, value) in &self.selector {
            applyset::set(object, "labels", key, value.clone());
        }
        applyset::set(object, "annotations", keys::DELETION, written.departure.to_text(written.identity));
        applyset::set(object, "annotations", keys::DIGEST, written.digest.to_owned());
        if let Some(signer) = &self.stamp.signer {
            let kind = ObjectRef::of(object).kind;
            prove(object, signer, &kind);
        }
        Ok(())
    }

    /// With the generation, so that a pass of an older event does not take it back.
    fn departing(&self, departure: Departure, identity: &Identity) -> Option<Value> {
        let generation = self.stamp.generation.to_string();
        let annotations = json!({ keys::DELETION: departure.to_text(identity), keys::GENERATION: generation });
        Some(json!({ "metadata": { "annotations": annotations } }))
    }

    /// Unlike an entry's object, a member gets no label `disowned`: a bundle that wants it again may adopt it.
    fn strip(&self, version: &Version) -> Value {
        let labels = keys::OWNERSHIP_LABELS.into_iter().chain(self.selector.keys().map(String::as_str));
        let nothing = |keys: &mut dyn Iterator<Item = &str>| -> Value {
            keys.map(|key| (key.to_owned(), Value::Null)).collect::<Map<_, _>>().into()
        };
        let mut metadata = json!({
            "labels": nothing(&mut labels.into_iter()),
            "annotations": nothing(&mut keys::MEMBER_ANNOTATIONS.into_iter()),
        });
        if let Some(left) = version.kept_references() {
            metadata["ownerReferences"] = if left.is_empty() { Value::Null } else { Value::Array(left) };
        }
        json!({ "metadata": metadata })
    }

    fn departure_key(&self) -> &'static str {
        keys::DELETION
    }

    fn sibling_of<'v>(&self, version: &'v Version) -> Option<&'v str> {
        let is_ours = |key: &str| self.is_owner_label(key, version.object());
        let entry = version.label(keys::RESOURCE).filter(|entry| *entry != self.entry)?;
        (!version.is_disowned() && is_ours(keys::ADAPTER) && is_ours(keys::RESOURCE_ID)).then_some(entry)
    }
}
