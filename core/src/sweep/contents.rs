//! What Kubernetes would delete along with an object.
//!
//! In: every labelled object, one after the other, after the API was asked. Out: whether a deletion would reach labelled
//! objects beyond the one it names. Fails: never. Keeps names of namespaces and UIDs, and no object.
//!
//! An object that an orphan owns is deleted with it, whatever API resource it names itself. So is what lives in a
//! namespace, and each object of a custom kind whose definition goes.

use std::collections::BTreeSet;

use super::Candidate;

/// The places in which labelled objects live, and the objects that own them.
#[derive(Debug, Clone, Default)]
pub struct Contents {
    /// The kinds by the name of their `CustomResourceDefinition`, and whether each has labelled objects.
    kinds: Vec<(String, bool)>,
    namespaces: BTreeSet<String>,
    /// The UIDs that labelled objects name as their owner, other than objects whose API resource is gone too.
    owners: BTreeSet<String>,
}

impl Contents {
    /// Begins with kinds, by the names of their definitions; [`add`](Self::add) names each by its index.
    pub fn of(definitions: impl IntoIterator<Item = String>) -> Self {
        Self { kinds: definitions.into_iter().map(|name| (name, false)).collect(), ..Self::default() }
    }

    /// Adds an object of the kind with this index. `is_orphan` says that its API resource is gone: then it may go with
    /// the object that owns it.
    pub fn add(&mut self, kind: usize, candidate: &Candidate, is_orphan: bool) {
        if let Some((_, has_objects)) = self.kinds.get_mut(kind) {
            *has_objects = true;
        }
        if let Some(namespace) = candidate.object.namespace.as_ref().filter(|name| !self.namespaces.contains(*name)) {
            self.namespaces.insert(namespace.clone());
        }
        if !is_orphan {
            self.owners.extend(candidate.owners.iter().cloned());
        }
    }

    /// Whether a deletion of this object deletes labelled objects too, of any adapter. A custom kind that was not listed
    /// may have objects.
    #[must_use]
    pub fn go_with(&self, candidate: &Candidate) -> bool {
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
        is_full || self.owners.contains(&candidate.uid)
    }
}
