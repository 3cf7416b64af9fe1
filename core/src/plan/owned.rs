//! Finds the objects that a resource owns among those that its discovery found, and shows the current one to
//! expressions.
//!
//! In: the observations of the planner, and the scope. Out: the [`Ownership`] of one resource. Fails where only the
//! manifest can tell and does not render.
//!
//! # How often ownership is computed
//! In a task with lifecycle keys, once when an observation arrives, because the gates of all resources read the current
//! version. In every task, once at the resource's turn: by then all discoveries are rendered, which decides whose the
//! objects without ownership labels are, and the writes of earlier resources may have changed what the manifest renders
//! to. Once more at the turn if the turn shows an object (of several versions, or in a task without lifecycle keys) and
//! the manifest reads `resources`: ownership decides which object is shown, and the manifest, by which ownership is
//! decided, may read the shown object.

use lifecycle_language::scope::Scope;
use lifecycle_objects::failure::Failure;
use lifecycle_objects::id::is_same_kind;
use lifecycle_objects::keys;
use lifecycle_objects::observation::{Observation, QueryBy, Version};

use super::decide::current;
use super::{Planner, Slot};
use crate::manifest::{Desired, OwnershipFields};
use crate::ownership::{CompetingSelector, Criteria, Owned};
use crate::task::{Recreate, Resource};

/// The objects that a resource owns, among those that were found.
#[derive(Debug, Default)]
pub(super) struct Ownership {
    /// The indices of the owned objects among the objects found.
    pub(super) places: Vec<usize>,
    /// Whether no adapter wrote any of them.
    pub(super) is_foreign: bool,
    /// The rendered manifest, if ownership depends on it.
    pub(super) desired: Option<Result<Desired, Failure>>,
}

impl Ownership {
    /// The owned objects without foreign ones: those that may be deleted or disowned.
    pub(super) fn written(&self) -> &[usize] {
        if self.is_foreign { &[] } else { &self.places }
    }
}

/// Whether a resource can delete, disown or recreate an object.
fn is_guarded(resource: &Resource) -> bool {
    let gates = &resource.gates;
    gates.delete.is_some()
        || gates.orphan.is_some()
        || matches!(gates.recreate, Some(Recreate::When(_)))
        || resource.retention.is_some()
        || resource.bundle.is_some()
}

#[cfg(test)]
thread_local! {
    /// How often this thread computed the ownership of a resource with objects.
    pub(super) static COMPUTED: std::cell::Cell<usize> = const { std::cell::Cell::new(0) };
}

impl Planner<'_> {
    /// Finds out which of the objects found the resource owns.
    ///
    /// # Errors
    /// Only the rendered manifest could tell, and it cannot be rendered; or labels tell, and the id that they hold is missing.
    pub(super) fn ownership(&self, index: usize, scope: &Scope) -> Result<Ownership, String> {
        let Slot { query: Some(query), observation: Some(Observation::Found(versions)), .. } = &self.slots[index]
        else {
            return Ok(Ownership::default());
        };
        #[cfg(test)]
        COMPUTED.set(COMPUTED.get() + 1);
        // Without the resource id, every object would look like another API resource's: it would count as
        // absent, and nobody would delete it.
        let resource = &self.task.resources[index];
        let has_id = || versions.iter().any(|version| version.label(keys::RESOURCE_ID).is_some());
        let needs_id = matches!(query.by, QueryBy::Labels(_)) || (is_guarded(resource) && has_id());
        if needs_id && let Some(fault) = self.missing_id() {
            return Err(format!("ownership is told by the label `{}`, which has no value: {fault}", keys::RESOURCE_ID));
        }
        let unknown = self.unknown();
        let context = self.context(index, scope, &unknown);
        let classify = |identity: Option<&OwnershipFields>| -> Vec<Owned> {
            let criteria = self.criteria(index, identity);
            versions.iter().map(|version| criteria.classify(query, version)).collect()
        };
        let mut owned = classify(None);
        if owned.contains(&Owned::Ambiguous) {
            let identity = context.ownership_fields();
            let identity = identity.map_err(|failure| format!("only the manifest tells what is its own: {failure}"))?;
            owned = classify(Some(&identity));
        }
        let mut places: Vec<usize> = (0..versions.len()).filter(|&place| owned[place] == Owned::Yes).collect();
        // Beside an object that an adapter wrote, a foreign one is no version: nothing may write, delete or prune it.
        let is_written = |place: &usize| versions[*place].is_written_by(&self.stamp.adapter);
        let is_foreign = !places.is_empty() && !places.iter().any(is_written);
        if !is_foreign {
            places.retain(is_written);
        }
        let live = places.iter().filter(|&&place| !versions[place].is_terminating()).count();
        let desired = (live > 1).then(|| context.render());
        Ok(Ownership { places, is_foreign, desired })
    }

    /// Why the event has no resource id, by which ownership is decided. A task without lifecycle keys deletes
    /// nothing, and continues without one, as the Go adapter does.
    fn missing_id(&self) -> Option<&str> {
        let is_empty = self.stamp.resource_id.is_empty() && self.task.has_lifecycle();
        self.stamp.resource_id_fault.as_deref().or_else(|| is_empty.then_some("the resource id is empty"))
    }

    /// The versions of a resource with these indexes.
    pub(super) fn versions(&self, index: usize, places: &[usize]) -> Vec<&Version> {
        match &self.slots[index].observation {
            Some(Observation::Found(versions)) => places.iter().filter_map(|&place| versions.get(place)).collect(),
            Some(Observation::Unknown(_) | Observation::Forbidden(_)) | None => Vec::new(),
        }
    }

    /// Shows the current version of a resource as `resources.<name>`.
    pub(super) fn publish(&mut self, index: usize, scope: &mut Scope) {
        let ownership = self.ownership(index, scope);
        self.show_owned(index, ownership.as_ref().ok(), scope);
    }

    /// Shows a resource's observed object, given the objects that the resource owns.
    pub(super) fn show_owned(&mut self, index: usize, ownership: Option<&Ownership>, scope: &mut Scope) {
        let Some(Observation::Found(versions)) = &self.slots[index].observation else { return };
        let object = self.visible(index, versions, ownership).map(|version| version.object().clone());
        self.show(index, object, scope);
    }

    /// The version that expressions read: the current one of the owned objects, or else the one that the Go
    /// adapter chooses.
    fn visible<'v>(
        &'v self,
        index: usize,
        versions: &'v [Version],
        ownership: Option<&Ownership>,
    ) -> Option<&'v Version> {
        let generation = match ownership.and_then(|ownership| ownership.desired.as_ref()) {
            Some(Ok(desired)) => desired.generation,
            Some(Err(_)) | None => self.stamp.generation,
        };
        let owned = ownership.map(|ownership| self.versions(index, &ownership.places)).unwrap_or_default();
        // Another API resource's object of this name is none to a resource that could delete it.
        let hides_others = matches!(self.slots[index].query.as_ref().map(|query| &query.by), Some(QueryBy::Name(_)))
            && ownership.is_some()
            && is_guarded(&self.task.resources[index]);
        current(owned, generation).or_else(|| {
            let others = versions.iter().filter(|_| !hides_others);
            others.max_by(|a, b| a.generation().cmp(&b.generation()).then(b.name().cmp(a.name())))
        })
    }

    /// By what the objects of a resource are recognised, given its rendered identity.
    pub(super) fn criteria<'a>(&'a self, index: usize, identity: Option<&'a OwnershipFields>) -> Criteria<'a> {
        let resource = &self.task.resources[index];
        let others = self.task.resources.iter().zip(&self.slots).enumerate();
        let competing = others.filter(|(place, (other, _))| {
            *place != index && is_same_kind(&other.kind, &resource.kind) && self.can_meet(*place, index)
        });
        let competing = competing
            .map(|(_, (_, slot))| slot.query.as_ref().map_or(CompetingSelector::Unknown, CompetingSelector::Finds));
        Criteria {
            resource: &resource.name,
            stamp: &self.stamp,
            is_guarded: is_guarded(resource),
            identity,
            competing: competing.collect(),
        }
    }

    /// Whether objects of two resources can be at one destination.
    pub(super) fn can_meet(&self, one: usize, other: usize) -> bool {
        match (&self.slots[one].query, &self.slots[other].query) {
            (Some(one), Some(other)) => one.destination == other.destination,
            (None, _) | (_, None) => self.task.resources[one].transport.can_meet(&self.task.resources[other].transport),
        }
    }
}
