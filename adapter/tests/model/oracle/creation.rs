//! What may be created.

use serde_json::Value;

use super::belonging::{current, was_released_by};
use super::view::Shown;
use super::{Invariant, Judge, entry_of};
use crate::journal::Entry;
use crate::object::{content, generation, is_marked, is_terminating, label, line, name, owners, uid};
use crate::shape::{NAMES, Naming};

impl Judge<'_, '_> {
    /// I2, I3, I4 and I8.
    pub(super) fn creation(&mut self, number: usize, entry: &Entry, desired: &Value) {
        let name = name(desired);
        let Some(place) = entry_of(desired) else {
            let what = format!("creates {name}, which says of no resource that it is its");
            return self.broken(Invariant::CreatedTwice, what);
        };
        let (resource, named) = (&self.view.task.resources[place], NAMES[place]);
        let versions = self.view.versions(place, number);
        if versions.iter().any(is_marked) {
            self.broken(Invariant::ReleasedTouched, format!("creates {name}, though {named} was released"));
        }
        if self.is_stale(&versions) {
            self.broken(Invariant::StaleWon, format!("creates {name}, though a newer generation is live"));
        }
        let was_absent = match self.view.shown(place) {
            Shown::Unknown => {
                self.broken(Invariant::CreatedTwice, format!("creates {name}, though {named} could not be read"));
                false
            }
            Shown::Versions(read) => read.is_empty(),
        };
        let gates = [(&resource.when, true), (&resource.create, was_absent), (&resource.apply, was_absent)];
        if gates.into_iter().any(|(gate, asked)| asked && !self.view.may_hold(gate.as_ref(), true, number)) {
            self.broken(Invariant::WrittenUntold, format!("creates {name}, though a gate of {named} forbids it"));
        }
        let [before, after] = entry.subject().map(|object| object.map(uid));
        if after.is_some() && after != before {
            self.created(place, entry, desired, &versions);
        }
    }

    /// What must hold of a creation that succeeded; `versions` is what the pass knew of the entry.
    fn created(&mut self, place: usize, entry: &Entry, desired: &Value, versions: &[Value]) {
        let (name, named) = (name(desired), NAMES[place]);
        let is_ending = |read: &Vec<Value>| !read.is_empty() && read.iter().all(is_terminating);
        if matches!(self.view.shown(place), Shown::Versions(read) if is_ending(read)) {
            self.broken(Invariant::CreatedTwice, format!("creates {name} beside what is on its way out"));
        }
        let is_released = |object: &Value| was_released_by(object, place, &self.view.event.id);
        let was_released = |object: &&Value| {
            let mut before = self.at_the_start.iter();
            is_released(object) && before.any(|before| uid(before) == uid(object) && is_released(before))
        };
        if entry.before.iter().any(|object| was_released(&object)) && !self.view.found_its_own(place) {
            self.broken(Invariant::ReleasedTouched, format!("creates {name} in the place of what was released"));
        }
        let resource = &self.view.task.resources[place];
        // What is current has to have its owner. It cannot be updated under a name that no later event renders, and what is
        // created then is created with its reference.
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
                // Somebody else may have written a generation onto it, but not what the manifest says of one.
                && content(object) == content(desired)
                // Nothing fences a creation but its name: what came after the reading, under another name, is not seen.
                && (is_known || resource.naming != Naming::Clock)
        });
        if let Some(twin) = twin {
            self.broken(Invariant::CreatedTwice, format!("creates {name} for the generation of {}", line(twin)));
        }
    }
}
