//! What a set has to know from pass to pass, and cannot read from its members: where they are, what has served, when it was applied.
//!
//! In: the memory as its place has it ([`Stored`]), and what a pass finds and does. Out: the [`Memory`] to keep, when that is due.
//! Nothing here fails.
//!
//! The memory is kept before the first member of a kind or in a namespace is written, and names fewer of them only after two passes
//! that came to their ends and had no use for them. So it names, at any time, every place where a member can be. Where it is kept is
//! not known here: a ConfigMap ([`parent`](super::parent)) is one place.

use std::collections::{BTreeMap, BTreeSet};

use jiff::{SignedDuration, Timestamp};
use lifecycle_objects::id::{Generation, GroupVersionKind};
use lifecycle_objects::identity::{GroupKind, Identity};
use lifecycle_objects::kinds::is_namespaced;
use serde::{Deserialize, Serialize};

/// How many digits of a digest are remembered: enough to notice a change. With the name, an object that has served takes some 110 bytes
/// of the 1 MiB that a `ConfigMap` may have.
const DIGITS: usize = 16;

/// What a pass has to know, and cannot read from members.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Memory {
    /// How to list each kind, also one that no manifest names any more.
    #[serde(default)]
    pub(super) kinds: BTreeMap<GroupKind, Listing>,
    /// Kinds of members of which nobody knows any more how to list them.
    #[serde(skip)]
    pub(super) unlisted: BTreeSet<GroupKind>,
    /// The namespaces of the members. That of the set may be missing.
    #[serde(default)]
    pub(super) namespaces: BTreeSet<String>,
    /// The kinds and namespaces for which the last complete pass had no use.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    leaving: BTreeSet<String>,
    /// The beginnings of the digests of objects that have served, by identity.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    completed: BTreeMap<String, String>,
    /// When the objects of a step with one interval were last applied again, by both.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    applied: BTreeMap<String, Timestamp>,
    /// How often a pass claimed the set before it created something.
    #[serde(default)]
    claims: u64,
}

/// How to list the members of one kind.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Listing {
    /// The version in which the kind was last written.
    version: String,
    /// Whether its objects are in namespaces: a cluster may serve kinds that nobody else knows.
    namespaced: bool,
}

impl Memory {
    /// A memory of where members can be: these kinds, each with whether it is namespaced, and these namespaces beside that of the set.
    #[must_use]
    pub fn of_places(
        kinds: impl IntoIterator<Item = (GroupVersionKind, bool)>,
        namespaces: impl IntoIterator<Item = String>,
    ) -> Self {
        let listed = |(kind, namespaced): (GroupVersionKind, bool)| {
            (GroupKind::new(&kind.group, &kind.kind), Listing { version: kind.version, namespaced })
        };
        let kinds = kinds.into_iter().map(listed).collect();
        Self { kinds, namespaces: namespaces.into_iter().collect(), ..Self::default() }
    }

    /// The kinds of the members.
    pub fn group_kinds(&self) -> impl Iterator<Item = &GroupKind> {
        self.kinds.keys().chain(&self.unlisted)
    }
}

/// A memory as its place has it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stored {
    /// The memory.
    pub memory: Memory,
    /// The generation for which it was last kept; none if that is unknown.
    pub generation: Option<Generation>,
    /// Whether the place says all of this. Where it does not, somebody changed it, and it is kept once more.
    pub is_exact: bool,
}

impl Stored {
    /// Whether it says where all members are: nobody removed it, its marks, or how to list a kind.
    #[must_use]
    pub fn is_whole(&self) -> bool {
        self.generation.is_some() && !self.memory.kinds.is_empty() && self.memory.unlisted.is_empty()
    }
}

/// A memory during a pass.
#[derive(Debug)]
pub(super) struct Remembering {
    /// The namespace of the set, where members can be in any case.
    namespace: String,
    /// The generation of the event.
    generation: Generation,
    /// What the place has; `None` if nothing was kept.
    stored: Option<Stored>,
    memory: Memory,
    /// Whether this pass had it kept, so that no other pass at the same time can.
    is_ours: bool,
}

impl Remembering {
    /// Begins with what is kept of a set in this namespace.
    pub(super) fn new(stored: Option<Stored>, namespace: &str, generation: Generation) -> Self {
        let memory = stored.as_ref().map(|stored| stored.memory.clone()).unwrap_or_default();
        Self { namespace: namespace.to_owned(), generation, stored, memory, is_ours: false }
    }

    /// What is to be kept.
    pub(super) fn memory(&self) -> &Memory {
        &self.memory
    }

    /// Whether this pass had it kept.
    pub(super) fn is_ours(&self) -> bool {
        self.is_ours
    }

    /// Where members can be: one list for each, and a namespace for kinds that are in one. A kind whose listing somebody removed from
    /// the memory is listed in the whole cluster, unless Kubernetes' own kinds say otherwise; whichever version is served counts.
    pub(super) fn places(&self) -> Vec<(GroupVersionKind, Option<String>)> {
        let mut places = Vec::new();
        let namespaces: BTreeSet<&String> = self.memory.namespaces.iter().chain([&self.namespace]).collect();
        for kind in self.memory.group_kinds().collect::<BTreeSet<_>>() {
            let known = self.memory.kinds.get(kind);
            let version = known.map_or("v1", |listing| &listing.version);
            let api_version =
                if kind.group.is_empty() { version.to_owned() } else { format!("{}/{version}", kind.group) };
            let kind = GroupVersionKind::new(&api_version, &kind.kind);
            let own = || is_namespaced(&kind).unwrap_or(false);
            if known.map_or_else(own, |listing| listing.namespaced) {
                places.extend(namespaces.iter().map(|namespace| (kind.clone(), Some((*namespace).clone()))));
            } else {
                places.push((kind, None));
            }
        }
        places
    }

    /// Adds the place of an object that is to be written.
    pub(super) fn grow(&mut self, kind: &GroupVersionKind, namespace: Option<&str>) {
        let listing = Listing { version: kind.version.clone(), namespaced: namespace.is_some() };
        let of = GroupKind::new(&kind.group, &kind.kind);
        self.memory.unlisted.remove(&of);
        self.memory.kinds.insert(of, listing);
        if let Some(namespace) = namespace {
            self.memory.namespaces.insert(namespace.to_owned());
        }
    }

    /// Drops the places for which two complete passes had no use, one after the other: all but these, in which the pass wants or
    /// found an object.
    pub(super) fn shrink(&mut self, kinds: &BTreeSet<&GroupKind>, namespaces: &BTreeSet<&str>) {
        let unused_kinds = self.memory.group_kinds().filter(|kind| !kinds.contains(kind));
        let is_unused = |namespace: &&String| **namespace != self.namespace && !namespaces.contains(namespace.as_str());
        let unused_namespaces = self.memory.namespaces.iter().filter(is_unused).cloned();
        let unused: BTreeSet<String> = unused_kinds.map(GroupKind::to_string).chain(unused_namespaces).collect();
        let (gone, unused): (BTreeSet<String>, _) =
            unused.into_iter().partition(|place| self.memory.leaving.contains(place));
        self.memory.leaving = unused;
        self.memory.kinds.retain(|kind, _| !gone.contains(&kind.to_string()));
        self.memory.unlisted.retain(|kind| !gone.contains(&kind.to_string()));
        self.memory.namespaces.retain(|namespace| !gone.contains(namespace));
    }

    /// Notes that an object is about to be created that serves once, or where no member was. The write that follows is fenced: of
    /// two passes at the same time only one goes on, so that nothing runs twice, and nothing is created in a place that the memory
    /// no longer names.
    pub(super) fn claim(&mut self) {
        let before = self.stored.as_ref().map_or(0, |stored| stored.memory.claims);
        self.memory.claims = before.wrapping_add(1);
    }

    /// Forgets the objects that have served but are no longer wanted, or are wanted with another digest.
    pub(super) fn keep_completed<'r>(&mut self, wanted: impl Iterator<Item = (&'r Identity, &'r str)>) {
        if self.memory.completed.is_empty() {
            return;
        }
        let wanted: BTreeMap<String, &str> = wanted.map(|(identity, digest)| (identity.to_string(), digest)).collect();
        self.memory
            .completed
            .retain(|identity, known| wanted.get(identity).is_some_and(|digest| short(digest) == *known));
    }

    /// Whether an object with this digest has served.
    pub(super) fn is_completed(&self, identity: &Identity, digest: &str) -> bool {
        let completed = &self.memory.completed;
        !completed.is_empty() && completed.get(&identity.to_string()).is_some_and(|known| *known == short(digest))
    }

    /// Remembers that an object with this digest has served. This is stored before the object is deleted, so that neither a crash
    /// in between nor somebody who deletes it runs it again.
    pub(super) fn complete(&mut self, identity: &Identity, digest: &str) {
        self.memory.completed.insert(identity.to_string(), short(digest));
    }

    /// Whether the objects of a step with this interval are to be applied again. An unknown time counts from now on.
    pub(super) fn is_due(&mut self, step: &str, interval: SignedDuration, now: Timestamp) -> bool {
        let last = self.memory.applied.entry(applied_key(step, interval)).or_insert(now);
        *last != now && now.duration_since(*last) >= interval
    }

    /// Remembers that they were applied again.
    pub(super) fn applied(&mut self, step: &str, interval: SignedDuration, now: Timestamp) {
        self.memory.applied.insert(applied_key(step, interval), now);
    }

    /// Forgets the times of steps and intervals that no object has any more.
    pub(super) fn keep_applied<'i>(&mut self, known: impl IntoIterator<Item = &'i (String, SignedDuration)>) {
        let known: BTreeSet<String> = known.into_iter().map(|(step, interval)| applied_key(step, *interval)).collect();
        self.memory.applied.retain(|key, _| known.contains(key));
    }

    /// Whether it has to be kept before a member is written: for a new generation, a place, an object that has served, or a claim.
    /// What an older event or another pass does with the memory or a place then fails.
    pub(super) fn precedes_members(&self) -> bool {
        self.stored.as_ref().is_none_or(|Stored { memory, generation, is_exact }| {
            let ours = &self.memory;
            !is_exact
                || *generation != Some(self.generation)
                || (&memory.kinds, &memory.unlisted, &memory.namespaces)
                    != (&ours.kinds, &ours.unlisted, &ours.namespaces)
                || (&memory.completed, memory.claims) != (&ours.completed, ours.claims)
        })
    }

    /// Whether its place does not have what is to be kept.
    pub(super) fn is_changed(&self) -> bool {
        let Memory { applied, leaving, .. } = &self.memory;
        let has_new = |Stored { memory, .. }: &Stored| (&memory.applied, &memory.leaving) != (applied, leaving);
        self.precedes_members() || self.stored.as_ref().is_some_and(has_new)
    }

    /// Notes that it was kept.
    pub(super) fn note_kept(&mut self) {
        self.is_ours = true;
        self.stored = Some(Stored { memory: self.memory.clone(), generation: Some(self.generation), is_exact: true });
    }
}

/// The digest of the content, or the only one, with its first digits alone; what follows its digits, such as a generation, stays.
/// Policies do not count: an object that has served does not run again because a default of its bundle changed.
fn short(digest: &str) -> String {
    let digest = digest.split_once('~').map_or(digest, |(_, content)| content);
    let (digits, rest) = digest.split_at(digest.find('@').unwrap_or(digest.len()));
    format!("{}{rest}", digits.get(..DIGITS).unwrap_or(digits))
}

fn applied_key(step: &str, interval: SignedDuration) -> String {
    format!("{step}/{}s", interval.as_secs())
}
