//! What stays the same while a bundle is reconciled, and what follows from it: whose an object is.
//!
//! In: the entry, the stamp of the event, and the bundle's own policies. Out: whether a live object is a member. Nothing here
//! fails.

use std::collections::BTreeSet;

use jiff::Timestamp;
use lifecycle_objects::destination::Destination;
use lifecycle_objects::identity::Identity;
use lifecycle_objects::keys;
use lifecycle_objects::object_ref::ObjectRef;
use lifecycle_objects::observation::{Described, Version, labelled_owner};
use lifecycle_objects::stamp::Stamp;
use lifecycle_objects::type_pattern::TypePattern;

use super::applyset;
use super::departure::Departure;
use super::member::{Live, Owner};
use super::policy::Policies;
use super::ready::ReadyRules;
use super::siblings::Siblings;

/// What stays the same while a bundle is reconciled.
#[derive(Debug)]
pub struct Setting<'t> {
    /// The name of the entry in the task.
    pub entry: &'t str,
    /// The names of the task's entries, if the set is to go: objects of an entry that the task no longer has go with it.
    pub entries: Option<BTreeSet<&'t str>>,
    /// The identity of the adapter and of the API resource.
    pub stamp: Stamp,
    /// The cluster.
    pub destination: Destination,
    /// The namespace of the parent, and of namespaced objects that name none.
    pub namespace: String,
    /// The name of the parent.
    pub name: String,
    /// The value of the label that members carry: the [`applyset::id`] of the parent.
    pub set: String,
    /// The prefix of the policies' annotations.
    pub prefix: &'t str,
    /// The policies of objects that say nothing else.
    pub defaults: Policies,
    /// Whether namespaces that are missing are created.
    pub creates_namespaces: bool,
    /// The types that the author names beside those of the set's own objects.
    pub managed_types: &'t [TypePattern],
    /// When objects are ready, where the author says so.
    pub ready: &'t dyn ReadyRules,
    /// The time of the event.
    pub now: Timestamp,
}

/// What an object with the set's label is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kinship {
    /// A member.
    Member,
    /// A member that lost this label or annotation.
    Lost(&'static str),
    /// An object of others: labels and annotations are copied.
    Copy,
}

impl Setting<'_> {
    /// Why an object cannot be one of the set, with the cure; none if it can.
    pub(super) fn collision(&self, identity: &Identity) -> Option<String> {
        let Self { namespace, name, .. } = self;
        if identity.kind.is_namespace() && identity.name == *namespace {
            let cure = "it would take the bundle's own ConfigMap along; give the bundle another `namespace`";
            return Some(cure.to_owned());
        }
        let is_parents_kind = identity.kind.group.is_empty() && identity.kind.kind == "ConfigMap";
        let is_parent = is_parents_kind && identity.namespace.as_deref() == Some(namespace) && identity.name == *name;
        is_parent.then(|| "it is the bundle's own ConfigMap; give the object or the bundle another name".to_owned())
    }

    /// The value of one of the labels of the bundle's owner.
    pub(super) fn owner(&self, key: &str) -> &str {
        match key {
            keys::ADAPTER => self.stamp.adapter.as_str(),
            keys::RESOURCE_ID => self.stamp.resource_id.as_str(),
            _ => self.entry,
        }
    }

    /// Whether the owner's label of an object is that of the bundle.
    pub(super) fn is_owner_label(&self, key: &str, object: &impl Described) -> bool {
        let is_former = |label: &str| self.entries.as_ref().is_some_and(|entries| !entries.contains(label));
        let label = object.label(key);
        label == Some(self.owner(key)) || key == keys::RESOURCE && label.is_some_and(is_former)
    }

    /// What an object with the set's label is that the manifests do not render. Operators and people copy labels and
    /// annotations, so a member has to name itself, or at least to have no controller.
    pub(super) fn kinship(&self, version: &Version, identity: &Identity) -> Kinship {
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

    /// Whose the live object of a rendered one is. It is a member if it has the set's label and all labels of its owner.
    pub(super) fn owner_of(&self, version: Version, siblings: Option<&Siblings>) -> Live {
        if self.is_stamped(&version) {
            return Live::Member(version);
        }
        if let Some(owner) = siblings.and_then(|siblings| self.giver(&version, siblings)) {
            return Live::Other(version, owner);
        }
        // An adapter that sets no labels, as the Go adapter, wrote it.
        let is_of_adapter = || {
            let ours = [keys::DIGEST, keys::DELETION, keys::DISOWNED_BY];
            version.annotation(keys::GENERATION).is_some()
                && ours.iter().all(|key| version.annotation(key).is_none())
                && keys::OWNERSHIP_LABELS.iter().all(|key| version.label(key).is_none())
        };
        let owner = match version.label(applyset::PART_OF) {
            Some(_) | None if version.is_disowned() => {
                Some(format!("nobody: it was disowned, as its label `{}` says", keys::DISOWNED))
            }
            // An object that only lost labels of its owner is nobody's, and may be adopted again.
            Some(_) | None if self.is_of_others(&version) => Some(labelled_owner(&version)),
            Some(other) if other != self.set && version.label(keys::ADAPTER).is_some() => Some(format!(
                "this entry's set `{other}`, which another `bundle.name` or `bundle.namespace` had; write the former ones, or \
                 disown that set first"
            )),
            Some(other) if other != self.set => Some(format!("the set `{other}`")),
            Some(_) | None if is_of_adapter() => {
                Some(format!("an adapter that sets no labels, as its annotation `{}` says", keys::GENERATION))
            }
            // Whatever controls the object writes it again, and may take it away.
            Some(_) | None => version.controller().map(|controller| format!("{controller}, which controls it")),
        };
        Live::Other(version, owner.map_or(Owner::Nobody, Owner::Others))
    }

    /// The other entry for the same API resource whose labels an object has; none if it has others.
    pub(super) fn sibling_of<'v>(&self, version: &'v Version) -> Option<&'v str> {
        let is_ours = |key: &str| self.is_owner_label(key, version.object());
        let entry = version.label(keys::RESOURCE).filter(|entry| *entry != self.entry)?;
        (!version.is_disowned() && is_ours(keys::ADAPTER) && is_ours(keys::RESOURCE_ID)).then_some(entry)
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

    /// Whether an object has a label of another owner.
    fn is_of_others(&self, version: &Version) -> bool {
        let is_theirs = |key: &&str| version.label(key).is_some() && !self.is_owner_label(key, version.object());
        keys::OWNERSHIP_LABELS.iter().any(is_theirs)
    }

    /// Whether an object has all labels of a member. One that a person disowned is nobody's.
    fn is_stamped(&self, version: &Version) -> bool {
        !version.is_disowned()
            && version.label(applyset::PART_OF) == Some(self.set.as_str())
            && keys::OWNERSHIP_LABELS.into_iter().all(|key| self.is_owner_label(key, version.object()))
    }
}
