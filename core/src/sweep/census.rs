//! Counts the objects of a pass, and notes what each API resource's objects say about it.
//!
//! In: every labelled object, one after the other; then the API's answers. Out: the ids to ask the API about, counts
//! by kind and verdict, and the API resources that are older than their objects. Fails: never. Keeps no object: its
//! size depends on the number of kinds, namespaces and API resources.

use std::collections::{BTreeMap, BTreeSet};

use super::verdict::{identified, unclaimed};
use super::{Candidate, Keep, OwnerAnswer, Policy};
use crate::id::{Generation, GroupVersionKind};
use crate::object_ref::ObjectRef;

/// The counts of one pass.
#[derive(Debug, Clone, Default)]
pub struct Census {
    kinds: Vec<Kind>,
    owners: BTreeMap<String, Owner>,
    /// How many labelled objects of any adapter live in each namespace.
    namespaces: BTreeMap<String, u64>,
    unidentified: BTreeMap<(usize, Keep), u64>,
    inventory: u64,
    sweepable: u64,
}

#[derive(Debug, Clone)]
struct Kind {
    kind: GroupVersionKind,
    plural: String,
    objects: u64,
}

/// What the objects of one API resource say about it.
#[derive(Debug, Clone, Default)]
struct Owner {
    /// The highest generation that an object carries, and that object.
    newest: Option<(Generation, ObjectRef)>,
    /// How many objects of each kind name the resource, by the kind's index.
    objects: BTreeMap<usize, u64>,
}

/// An object that was made for a newer generation of its API resource than the API has.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Newer {
    /// The API resource.
    pub resource_id: String,
    /// Its generation, by the API.
    pub owner: Generation,
    /// The object.
    pub object: ObjectRef,
    /// The generation that the object was made for.
    pub generation: Generation,
}

impl Census {
    /// Announces a kind; returns the index by which [`add`](Self::add) names it.
    pub fn add_kind(&mut self, kind: GroupVersionKind, plural: String) -> usize {
        self.kinds.push(Kind { kind, plural, objects: 0 });
        self.kinds.len() - 1
    }

    /// Counts one object of the kind with this index.
    pub fn add(&mut self, kind: usize, candidate: &Candidate, policy: &Policy) {
        if let Some(kind) = self.kinds.get_mut(kind) {
            kind.objects += 1;
        }
        if let Some(namespace) = &candidate.object.namespace {
            *self.namespaces.entry(namespace.clone()).or_default() += 1;
        }
        if let Err(keep) = identified(candidate, policy) {
            *self.unidentified.entry((kind, keep)).or_default() += 1;
            self.inventory += u64::from(keep != Keep::ForeignAdapter);
            return;
        }
        self.inventory += 1;
        self.sweepable += u64::from(unclaimed(candidate, policy).is_ok());
        if !self.owners.contains_key(&candidate.resource_id) {
            self.owners.insert(candidate.resource_id.clone(), Owner::default());
        }
        let Some(owner) = self.owners.get_mut(&candidate.resource_id) else { return };
        *owner.objects.entry(kind).or_default() += 1;
        if owner.newest.as_ref().is_none_or(|(newest, _)| *newest < candidate.generation) {
            owner.newest = Some((candidate.generation, candidate.object.clone()));
        }
    }

    /// How many objects name an adapter of this installation.
    #[must_use]
    pub fn inventory(&self) -> u64 {
        self.inventory
    }

    /// How many objects would be orphans if the API had lost every resource: those of which the API can be asked, and
    /// which nothing else claims. The limit in percent is a share of them. As a share of the whole inventory, it would
    /// let every orphan go where most objects are claimed.
    #[must_use]
    pub fn sweepable(&self) -> u64 {
        self.sweepable
    }

    /// Every listed kind, and how many labelled objects of any adapter it has.
    pub fn kinds(&self) -> impl Iterator<Item = (&GroupVersionKind, u64)> {
        self.kinds.iter().map(|kind| (&kind.kind, kind.objects))
    }

    /// The API resources to ask about, each once.
    pub fn owners(&self) -> impl Iterator<Item = &str> {
        self.owners.keys().map(String::as_str)
    }

    /// The kinds of which an object names one of these API resources.
    #[must_use]
    pub fn kinds_of(&self, owners: &BTreeSet<&str>) -> Vec<GroupVersionKind> {
        let named: BTreeSet<_> = owners
            .iter()
            .filter_map(|owner| self.owners.get(*owner))
            .flat_map(|owner| owner.objects.keys().copied())
            .collect();
        named.into_iter().filter_map(|kind| self.kinds.get(kind)).map(|kind| kind.kind.clone()).collect()
    }

    /// Whether an object of this installation names the API resource.
    #[must_use]
    pub fn names(&self, owner: &str) -> bool {
        self.owners.contains_key(owner)
    }

    /// Whether labelled objects live in this object: in a namespace, or as objects of a custom kind that this
    /// `CustomResourceDefinition` defines. They may belong to others. A custom kind that was not listed may have objects.
    #[must_use]
    pub fn contains(&self, candidate: &Candidate) -> bool {
        let name = &candidate.object.name;
        match (candidate.object.kind.group.as_str(), candidate.object.kind.kind.as_str()) {
            ("", "Namespace") => self.namespaces.get(name).is_some_and(|objects| *objects > 0),
            ("apiextensions.k8s.io", "CustomResourceDefinition") => {
                let defines = |kind: &&Kind| format!("{}.{}", kind.plural, kind.kind.group) == *name;
                let mut listed = self.kinds.iter().filter(defines).peekable();
                listed.peek().is_none() || listed.any(|kind| kind.objects > 0)
            }
            _ => false,
        }
    }

    /// The API resources that are older than an object of theirs.
    ///
    /// The objects are listed before the API is asked, so a resource that only grows is never older.
    #[must_use]
    pub fn newer_than_owner(&self, answer: impl Fn(&str) -> OwnerAnswer) -> Vec<Newer> {
        let newer = |(id, owner): (&String, &Owner)| {
            let OwnerAnswer::Exists(generation) = answer(id) else { return None };
            let (newest, object) = owner.newest.as_ref()?;
            (*newest > generation).then(|| Newer {
                resource_id: id.clone(),
                owner: generation,
                object: object.clone(),
                generation: *newest,
            })
        };
        self.owners.iter().filter_map(newer).collect()
    }

    /// How many objects of each kind are kept for a reason that needs no look at the single object: their labels, or an
    /// API resource that exists or is unknown.
    #[must_use]
    pub fn kept(&self, answer: impl Fn(&str) -> OwnerAnswer) -> BTreeMap<(GroupVersionKind, Keep), u64> {
        let mut counts = BTreeMap::new();
        let mut count = |kind: usize, keep: Keep, objects: u64| {
            if let Some(kind) = self.kinds.get(kind) {
                *counts.entry((kind.kind.clone(), keep)).or_default() += objects;
            }
        };
        for ((kind, keep), objects) in &self.unidentified {
            count(*kind, *keep, *objects);
        }
        for (id, owner) in &self.owners {
            let keep = match answer(id) {
                OwnerAnswer::Exists(_) => Keep::OwnerExists,
                OwnerAnswer::Unknown => Keep::OwnerUnknown,
                OwnerAnswer::Gone => continue,
            };
            for (kind, objects) in &owner.objects {
                count(*kind, keep, *objects);
            }
        }
        counts
    }
}
