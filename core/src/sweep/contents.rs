//! What Kubernetes would delete along with an object.
//!
//! In: every labelled or disowned object, one after the other, after the API was asked. Out: whether a deletion would
//! reach objects that must stay, and how many go with it. Fails: never. Keeps names of namespaces and UIDs, and no object.
//!
//! What an orphan owns is deleted with it, whatever its labels say. So is what lives in a namespace, and each object of a
//! custom kind whose definition goes.

use std::collections::{BTreeMap, BTreeSet};

use super::Candidate;

/// The places in which labelled objects live, and the objects that own them.
#[derive(Debug, Clone, Default)]
pub struct Contents {
    /// The kinds by the name of their `CustomResourceDefinition`, and whether each has labelled objects.
    kinds: Vec<(String, bool)>,
    namespaces: BTreeSet<String>,
    /// By the UID of an owner, the objects that name it.
    owners: BTreeMap<String, Owned>,
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
    /// an owner that is an orphan of the same API resource.
    pub fn add(&mut self, kind: usize, candidate: &Candidate, is_orphan: bool) {
        if let Some((_, has_objects)) = self.kinds.get_mut(kind) {
            *has_objects = true;
        }
        if let Some(namespace) = candidate.object.namespace.as_ref().filter(|name| !self.namespaces.contains(*name)) {
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

    /// Whether a deletion of this object deletes others that must stay, of any adapter. A custom kind that was not listed
    /// may have objects.
    #[must_use]
    pub fn must_outlive(&self, candidate: &Candidate) -> bool {
        let name = &candidate.object.name;
        let is_full = match (candidate.object.kind.group.as_str(), candidate.object.kind.kind.as_str()) {
            // OpenShift serves each Namespace as a Project, too.
            ("", "Namespace") | ("project.openshift.io", "Project") => self.namespaces.contains(name),
            ("apiextensions.k8s.io", "CustomResourceDefinition") => {
                let mut listed = self.kinds.iter().filter(|(definition, _)| definition == name).peekable();
                listed.peek().is_none() || listed.any(|(_, has_objects)| *has_objects)
            }
            _ => false,
        };
        let is_other = |owned: &Owned| owned.others || owned.orphans.keys().any(|id| *id != candidate.resource_id);
        is_full || self.owners.get(&candidate.uid).is_some_and(is_other)
    }

    /// How many objects name this one as their owner, and are orphans of the same API resource.
    #[must_use]
    pub fn owned_by(&self, candidate: &Candidate) -> u64 {
        let owned = self.owners.get(&candidate.uid);
        owned.and_then(|owned| owned.orphans.get(&candidate.resource_id)).copied().unwrap_or_default()
    }
}
