//! Checks that a pass created only objects that it may create.

use serde_json::Value;

use super::ownership::{current, was_disowned_by};
use super::view::Shown;
use super::{Invariant, Judge, entry_of};
use crate::journal::Entry;
use crate::object::{content, generation, is_marked, is_terminating, label, line, name, owners, uid};
use crate::shape::{NAMES, Naming};

impl Judge<'_, '_> {
    /// Checks I2, I3, I4 and I8 for an attempted creation.
    pub(super) fn creation(&mut self, number: usize, entry: &Entry, desired: &Value) {
        let name = name(desired);
        let Some(place) = entry_of(desired) else {
            let what = format!("creates {name}, which has no label of a resource");
            return self.broken(Invariant::DuplicateCreation, what);
        };
        let (resource, named) = (&self.view.task.resources[place], NAMES[place]);
        let versions = self.view.versions(place, number);
        if versions.iter().any(is_marked) {
            self.broken(Invariant::DisownedChanged, format!("creates {name}, though {named} was disowned"));
        }
        if self.is_stale(&versions) {
            self.broken(Invariant::StaleWrite, format!("creates {name}, though a newer generation is live"));
        }
        let was_absent = match self.view.shown(place) {
            Shown::Unknown => {
                self.broken(Invariant::DuplicateCreation, format!("creates {name}, though {named} could not be read"));
                false
            }
            Shown::Versions(read) => read.is_empty(),
        };
        let gates = [(&resource.when, true), (&resource.create, was_absent), (&resource.apply, was_absent)];
        if gates.into_iter().any(|(gate, asked)| asked && !self.view.may_hold(gate.as_ref(), true, number)) {
            self.broken(Invariant::ForbiddenWrite, format!("creates {name}, though a gate of {named} forbids it"));
        }
        let [before, after] = entry.subject().map(|object| object.map(uid));
        if after.is_some() && after != before {
            self.created(place, entry, desired, &versions);
        }
    }

    /// Checks a successful creation; `versions` is what the pass knew of the resource's versions.
    fn created(&mut self, place: usize, entry: &Entry, desired: &Value, versions: &[Value]) {
        let (name, named) = (name(desired), NAMES[place]);
        let is_ending = |read: &Vec<Value>| !read.is_empty() && read.iter().all(is_terminating);
        if matches!(self.view.shown(place), Shown::Versions(read) if is_ending(read)) {
            self.broken(Invariant::DuplicateCreation, format!("creates {name} beside a terminating object"));
        }
        // The server may have removed an object since the pass deleted it.
        let exists = |known: &Value| entry.before.iter().any(|object| uid(object) == uid(known));
        if versions.iter().all(is_terminating) && versions.iter().any(exists) {
            self.broken(Invariant::DuplicateCreation, format!("creates {name} while a version to replace exists"));
        }
        let is_disowned = |object: &Value| was_disowned_by(object, place, &self.view.event.id);
        let was_disowned = |object: &&Value| {
            let mut before = self.at_beginning.iter();
            is_disowned(object) && before.any(|before| uid(before) == uid(object) && is_disowned(before))
        };
        if entry.before.iter().any(|object| was_disowned(&object)) && !self.view.found_owned(place) {
            self.broken(Invariant::DisownedChanged, format!("creates {name} in the place of a disowned object"));
        }
        let resource = &self.view.task.resources[place];
        // A current version that lacks its owner reference cannot be updated under a name that no later event
        // renders, so another version with the reference is created.
        let lacks = |object: &Value| owners(desired).iter().any(|owner| !owners(object).contains(owner));
        if resource.retention.is_some() || current(versions, self.view.event.generation).is_some_and(lacks) {
            return;
        }
        let twin = entry.before.iter().find(|object| {
            let is_known = versions.iter().any(|version| uid(version) == uid(object));
            label(object, "hyperfleet.io/resource") == Some(named)
                && !is_terminating(object)
                && !is_marked(object)
                && generation(object) == generation(desired)
                // A user may have changed the generation annotation, but not the field that the manifest sets
                // with it.
                && content(object) == content(desired)
                // Only its name fences a creation: the pass cannot know an object that was created under
                // another name after the read.
                && (is_known || resource.naming != Naming::Clock)
        });
        if let Some(twin) = twin {
            self.broken(Invariant::DuplicateCreation, format!("creates {name} for the generation of {}", line(twin)));
        }
    }
}
