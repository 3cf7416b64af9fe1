//! Decides which live objects a resource owns.
//!
//! In: the [`Criteria`] of one resource, and a version that its discovery found. Out: [`Owned`]. No function
//! here fails; where only the rendered manifest can decide, the result is ambiguous until the manifest is
//! rendered.
//!
//! A resource owns every object that its discovery finds by name. But a resource that can delete, disown or recreate does
//! not own one whose labels name another adapter or API resource: two clusters would share the object, and the deletion of
//! one would delete that of the other. Of the objects that its label selector finds,
//! the resource owns those whose ownership labels name the resource. An object that the Go adapter wrote has no
//! label `hyperfleet.io/resource`. The resource owns such an object if no competing selector finds the object or
//! the object has the rendered name, and none of the object's other ownership labels names another adapter or API
//! resource. A disowned object names the resource that disowned it, and still counts as that resource's own, so
//! that no other entry writes it. The planner deletes, prunes and writes only owned objects.

use lifecycle_objects::keys;
use lifecycle_objects::observation::{Query, QueryBy, Version, could_find};
use lifecycle_objects::stamp::Stamp;

use crate::manifest::OwnershipFields;

/// By what the objects of one resource are recognised.
#[derive(Debug, Clone)]
pub struct Criteria<'a> {
    /// The resource's name in the task.
    pub resource: &'a str,
    /// The stamp of this event: the names of the adapter and of the API resource that the labels must have.
    pub stamp: &'a Stamp,
    /// Whether the resource can delete, disown or recreate an object.
    pub is_guarded: bool,
    /// The name, namespace and ownership labels of the rendered manifest; `None` if it was not rendered.
    pub identity: Option<&'a OwnershipFields>,
    /// The queries of the task's other resources of this kind at the same destination.
    pub competing: Vec<CompetingSelector<'a>>,
}

/// What another entry of the task looks for, among objects of the same kind at the same destination. A discovery by name
/// competes, too: the entry owns the object of that name.
#[derive(Debug, Clone, Copy)]
pub enum CompetingSelector<'a> {
    /// The discovery of that entry was not rendered.
    Unknown,
    /// The rendered discovery of that entry, by labels or by name.
    Finds(&'a Query),
}

/// Whether a resource owns an object.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Owned {
    /// The resource owns the object.
    Yes,
    /// The resource does not own the object; the adapter must not change it.
    No,
    /// Ownership depends on the rendered manifest, which was not rendered.
    Ambiguous,
}

impl Criteria<'_> {
    /// Says whether the resource owns an object that `query` found.
    #[must_use]
    pub fn classify(&self, query: &Query, version: &Version) -> Owned {
        if self.has_disowned(version) {
            return Owned::Yes;
        }
        if matches!(query.by, QueryBy::Name(_)) {
            return if self.is_guarded && !version.is_disowned() { self.by_labels(version, true) } else { Owned::Yes };
        }
        match version.label(keys::RESOURCE) {
            Some(resource) if resource == self.resource => self.by_labels(version, false),
            Some(_) => Owned::No,
            None if version.is_disowned() && version.annotation(keys::DISOWNED_BY).is_some() => Owned::No,
            // The object was found by name, so its ownership labels may be absent; if present, they must name
            // this resource.
            None => match self.by_labels(version, true) {
                Owned::Yes if self.is_contested(version) => self.by_name(version),
                owned @ (Owned::Yes | Owned::No | Owned::Ambiguous) => owned,
            },
        }
    }

    /// Whether this resource disowned the object. The label of disowned objects may lack the resource's name if
    /// a person set it; then the object counts unless another label names another owner.
    #[must_use]
    pub fn has_disowned(&self, version: &Version) -> bool {
        if version.label(keys::DISOWNED) != Some(&self.stamp.resource_id) {
            return false;
        }
        match version.annotation(keys::DISOWNED_BY) {
            Some(by) => by == self.stamp.disowned_by(self.resource),
            None => {
                let is_open = |key: &str, ours: &str| version.label(key).is_none_or(|label| label == ours);
                is_open(keys::RESOURCE, self.resource)
                    && is_open(keys::ADAPTER, &self.stamp.adapter)
                    && is_open(keys::RESOURCE_ID, &self.stamp.resource_id)
                    && (version.label(keys::RESOURCE).is_some() || !self.may_be_disowned_by_another(version))
            }
        }
    }

    /// The ownership label that the object has lost, if its other labels say that the resource wrote it.
    ///
    /// The resource does not own such an object, and the object is not gone either.
    #[must_use]
    pub fn lost_label(&self, version: &Version) -> Option<&'static str> {
        if version.label(keys::RESOURCE) != Some(self.resource) || version.is_disowned() {
            return None;
        }
        let keys = [keys::ADAPTER, keys::RESOURCE_ID];
        let lost = keys.into_iter().find(|key| version.label(key).is_none())?;
        (self.by_labels(version, true) == Owned::Yes).then_some(lost)
    }

    /// Compares the ownership labels with the stamp, or with those that the manifest's author wrote in their
    /// place. `may_be_absent` says whether the resource also owns an object that lacks one of the labels.
    fn by_labels(&self, version: &Version, may_be_absent: bool) -> Owned {
        let stamps = [(keys::ADAPTER, &self.stamp.adapter), (keys::RESOURCE_ID, &self.stamp.resource_id)];
        let is_ours = |key: &str, stamped: &str| {
            let Some(label) = version.label(key) else { return may_be_absent };
            label == stamped || self.identity.and_then(|identity| identity.label(key)) == Some(label)
        };
        if stamps.into_iter().all(|(key, stamped)| is_ours(key, stamped)) {
            Owned::Yes
        } else if self.identity.is_none() {
            Owned::Ambiguous
        } else {
            Owned::No
        }
    }

    fn by_name(&self, version: &Version) -> Owned {
        match self.identity {
            None => Owned::Ambiguous,
            Some(identity) if identity.is_named_as(version) => Owned::Yes,
            Some(_) => Owned::No,
        }
    }

    /// Whether another resource of the task can have disowned the object. Disowning removes labels, so a
    /// selector that no longer finds the object proves nothing.
    fn may_be_disowned_by_another(&self, version: &Version) -> bool {
        self.competing.iter().any(|other| match other {
            CompetingSelector::Unknown => true,
            CompetingSelector::Finds(query) => matches!(query.by, QueryBy::Labels(_)) || could_find(query, version),
        })
    }

    /// Whether another entry of the task finds an object that does not say whose it is.
    fn is_contested(&self, version: &Version) -> bool {
        self.competing.iter().any(|other| match other {
            CompetingSelector::Unknown => true,
            CompetingSelector::Finds(query) => could_find(query, version),
        })
    }
}

/// Adds a version, or replaces the older one of the same object.
pub(crate) fn put(versions: &mut Vec<Version>, version: Version) {
    versions.retain(|known| (known.namespace(), known.name()) != (version.namespace(), version.name()));
    versions.push(version);
}

#[cfg(test)]
mod tests;
