//! Counts the objects of a pass, and notes what each API resource's objects say about it.
//!
//! In: every labelled object, one after the other; then the API's answers. Out: the ids to ask the API about, counts
//! by kind and verdict, and the API resources that are older than their objects. Fails: never. Keeps no object: its
//! size depends on the number of kinds and API resources.

use std::collections::{BTreeMap, BTreeSet};

use lifecycle_objects::id::{Generation, GroupVersionKind};
use lifecycle_objects::object_ref::ObjectRef;

use super::verdict::{identified, unclaimed};
use super::{Candidate, Keep, OwnerAnswer, Policy};

/// The counts of one pass.
#[derive(Debug, Clone, Default)]
pub struct Census {
    /// The kinds, each with its number of labelled objects of any adapter.
    kinds: Vec<(GroupVersionKind, u64)>,
    owners: BTreeMap<String, Owner>,
    unidentified: BTreeMap<(usize, Keep), u64>,
    inventory: u64,
    sweepable: u64,
    adapters: BTreeSet<String>,
}

/// What the objects of one API resource say about it.
#[derive(Debug, Clone, Default)]
struct Owner {
    /// The highest generation that an object carries, and that object.
    newest: Option<(Generation, ObjectRef)>,
    /// How many objects of each kind name the resource, by the kind's index.
    objects: BTreeMap<usize, u64>,
    /// How many objects would be orphans without the resource.
    sweepable: u64,
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
    /// Begins a census of these kinds, which [`add`](Self::add) names by their index.
    pub fn of(kinds: impl IntoIterator<Item = GroupVersionKind>) -> Self {
        Self { kinds: kinds.into_iter().map(|kind| (kind, 0)).collect(), ..Self::default() }
    }

    /// Counts one object of the kind with this index.
    pub fn add(&mut self, kind: usize, candidate: &Candidate, policy: &Policy) {
        if let Some((_, objects)) = self.kinds.get_mut(kind) {
            *objects += 1;
        }
        if !self.adapters.contains(&candidate.adapter) {
            self.adapters.insert(candidate.adapter.clone());
        }
        if let Err(keep) = identified(candidate, policy) {
            *self.unidentified.entry((kind, keep)).or_default() += 1;
            self.inventory += u64::from(keep != Keep::ForeignAdapter);
            return;
        }
        self.inventory += 1;
        let sweepable = u64::from(unclaimed(candidate, policy).is_ok());
        self.sweepable += sweepable;
        if !self.owners.contains_key(&candidate.resource_id) {
            self.owners.insert(candidate.resource_id.clone(), Owner::default());
        }
        let Some(owner) = self.owners.get_mut(&candidate.resource_id) else { return };
        *owner.objects.entry(kind).or_default() += 1;
        owner.sweepable += sweepable;
        if owner.newest.as_ref().is_none_or(|(newest, _)| *newest < candidate.generation) {
            owner.newest = Some((candidate.generation, candidate.object.clone()));
        }
    }

    /// Every adapter that an object names, of this installation or not.
    #[must_use]
    pub fn adapters(&self) -> &BTreeSet<String> {
        &self.adapters
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
        self.kinds.iter().map(|(kind, objects)| (kind, *objects))
    }

    /// The API resources to ask about, each once.
    pub fn owners(&self) -> impl Iterator<Item = &str> {
        self.owners.keys().map(String::as_str)
    }

    /// Whether an object of this installation names the API resource.
    #[must_use]
    pub fn names(&self, owner: &str) -> bool {
        self.owners.contains_key(owner)
    }

    /// How many objects are orphans, or would be, if these API resources are gone.
    #[must_use]
    pub fn sweepable_of(&self, is_gone: impl Fn(&str) -> bool) -> u64 {
        self.owners.iter().filter(|(id, _)| is_gone(id)).map(|(_, owner)| owner.sweepable).sum()
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
            if let Some((kind, _)) = self.kinds.get(kind) {
                *counts.entry((kind.clone(), keep)).or_default() += objects;
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
