//! What Kubernetes would delete along with an object.
//!
//! In: every labelled or disowned object of every kind, swept or not, one after the other, after the API was asked; and
//! whatever is in the namespaces and of the custom kinds that may go. Out: whether a deletion would reach objects that must
//! stay, and how many go with it. Fails: never. Keeps names of namespaces, UIDs and counts, and no object.
//!
//! What an orphan owns is deleted with it, whatever its labels say. So is what lives in a namespace, and each object of a
//! custom kind whose definition goes.

use std::collections::{BTreeMap, BTreeSet};

use lifecycle_objects::contents::{is_event, is_of_each_namespace};
use lifecycle_objects::destination::Destination;
use lifecycle_objects::id::GroupVersionKind;
use lifecycle_objects::identity::GroupKind;
use lifecycle_objects::object_ref::ObjectRef;

use super::{Candidate, Policy};

/// What Kubernetes empties when it deletes an object.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Container {
    /// The namespace of this name.
    Namespace(String),
    /// The custom kind whose definition has this name.
    Definition(String),
}

impl Container {
    /// What goes with this object, if it is a namespace or a definition.
    #[must_use]
    pub fn of(object: &ObjectRef) -> Option<Self> {
        match (object.kind.group.as_str(), object.kind.kind.as_str()) {
            // OpenShift serves each Namespace as a Project, too.
            ("", "Namespace") | ("project.openshift.io", "Project") => Some(Self::Namespace(object.name.clone())),
            ("apiextensions.k8s.io", "CustomResourceDefinition") => Some(Self::Definition(object.name.clone())),
            _ => None,
        }
    }
}

/// The places in which labelled objects live, and the objects that own them.
#[derive(Debug, Clone, Default)]
pub struct Contents {
    /// The kinds by the name of their `CustomResourceDefinition`, and whether each has labelled objects.
    kinds: Vec<(String, bool)>,
    namespaces: BTreeSet<String>,
    /// By the UID of an owner, the objects that name it.
    owners: BTreeMap<String, Owned>,
    /// What is in the containers that were looked into, labelled or not.
    looked_into: BTreeMap<Container, Content>,
}

/// All objects of one container, but those that Kubernetes puts into each namespace.
#[derive(Debug, Clone, Default)]
struct Content {
    by_kind: BTreeMap<GroupVersionKind, u64>,
    /// Whether one of them must stay.
    stays: bool,
}

/// The objects that one object owns.
#[derive(Debug, Clone, Default)]
struct Owned {
    /// The API resources of those that may go, as theirs is gone.
    orphans: BTreeMap<String, u64>,
    /// Whether one of them must stay.
    others: bool,
}

impl Contents {
    /// Begins with kinds, by the names of their definitions; [`add`](Self::add) names each by its index.
    pub fn of(definitions: impl IntoIterator<Item = String>) -> Self {
        Self { kinds: definitions.into_iter().map(|name| (name, false)).collect(), ..Self::default() }
    }

    /// Adds an object of the kind with this index. `is_orphan` says that its API resource is gone: then it may go with
    /// an owner that is an orphan of the same API resource. A namespace of this cluster has nothing of another one's.
    pub fn add(&mut self, kind: usize, candidate: &Candidate, is_orphan: bool) {
        if let Some((_, has_objects)) = self.kinds.get_mut(kind) {
            *has_objects = true;
        }
        let is_here = candidate.destination == Destination::ThisCluster;
        let is_new = |name: &&String| is_here && !self.namespaces.contains(*name);
        if let Some(namespace) = candidate.object.namespace.as_ref().filter(is_new) {
            self.namespaces.insert(namespace.clone());
        }
        for owner in &candidate.owners {
            let owned = self.owners.entry(owner.clone()).or_default();
            if is_orphan {
                *owned.orphans.entry(candidate.resource_id.clone()).or_default() += 1;
            } else {
                owned.others = true;
            }
        }
    }

    /// Notes that everything in this container will be [added](Self::add_content).
    pub fn look_into(&mut self, container: Container) {
        self.looked_into.entry(container).or_default();
    }

    /// Adds an object of a container, labelled or not. It must stay unless nobody labelled it and the policy names its
    /// kind. What Kubernetes itself puts into each namespace does not count.
    pub fn add_content(&mut self, container: &Container, candidate: &Candidate, policy: &Policy) {
        let kind = &candidate.object.kind;
        let is_labelled = !candidate.adapter.is_empty() || candidate.is_disowned;
        if !is_labelled
            && (is_of_each_namespace(&candidate.object) || is_event(&GroupKind::new(&kind.group, &kind.kind)))
        {
            return;
        }
        let content = self.looked_into.entry(container.clone()).or_default();
        *content.by_kind.entry(kind.clone()).or_default() += 1;
        content.stays |= is_labelled || !policy.goes_along.iter().any(|pattern| pattern.matches(kind));
    }

    /// Whether a labelled or disowned object of any adapter lives in this container. A custom kind that was not listed may
    /// have objects.
    #[must_use]
    pub fn has_labelled(&self, container: &Container) -> bool {
        match container {
            Container::Namespace(name) => self.namespaces.contains(name),
            Container::Definition(name) => {
                let mut listed = self.kinds.iter().filter(|(definition, _)| definition == name).peekable();
                listed.peek().is_none() || listed.any(|(_, has_objects)| *has_objects)
            }
        }
    }

    /// Whether something in the object must stay, labelled or not. A container that was not looked into may have such.
    #[must_use]
    pub fn has_content_that_stays(&self, candidate: &Candidate) -> bool {
        let stays = |container| self.looked_into.get(&container).is_none_or(|content| content.stays);
        Container::of(&candidate.object).is_some_and(stays)
    }

    /// Whether a deletion of this object deletes others that must stay, of any adapter or of nobody.
    #[must_use]
    pub fn must_outlive(&self, candidate: &Candidate) -> bool {
        let is_full = Container::of(&candidate.object).is_some_and(|container| self.has_labelled(&container))
            || self.has_content_that_stays(candidate);
        let is_other = |owned: &Owned| owned.others || owned.orphans.keys().any(|id| *id != candidate.resource_id);
        is_full || self.owners.get(&candidate.uid).is_some_and(is_other)
    }

    /// How many objects of each kind live in this one, as far as they were counted.
    #[must_use]
    pub fn inside(&self, candidate: &Candidate) -> BTreeMap<GroupVersionKind, u64> {
        let container = Container::of(&candidate.object);
        container
            .and_then(|container| self.looked_into.get(&container))
            .map(|content| content.by_kind.clone())
            .unwrap_or_default()
    }

    /// How many objects name this one as their owner, and are orphans of the same API resource.
    #[must_use]
    pub fn owned_by(&self, candidate: &Candidate) -> u64 {
        let owned = self.owners.get(&candidate.uid);
        owned.and_then(|owned| owned.orphans.get(&candidate.resource_id)).copied().unwrap_or_default()
    }
}
