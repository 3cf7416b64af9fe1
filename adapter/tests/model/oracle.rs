//! The oracle: checks the invariants of the crate's documentation for one pass.
//!
//! In: what the pass knew ([`View`]), its calls with the objects before and after each, and the objects at
//! its beginning. Out: [`Violation`]s.

mod creation;
mod deletion;
mod ownership;
mod repetition;
mod state;
mod truth;
mod view;

use std::fmt;

use serde_json::Value;

use crate::journal::{Call, Entry};
use crate::object::{generation, is_marked, is_terminating, is_written, label, uid};
use crate::shape::{Gate, NAMES};

pub(crate) use ownership::rendered_name;
pub(crate) use repetition::has_reason_to_write;
pub(crate) use state::{normal, order};
pub(crate) use view::{Event, View};

/// The invariants I1 to I9, in the order of the crate's documentation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum Invariant {
    UnjustifiedDeletion,
    DuplicateCreation,
    DisownedChanged,
    StaleWrite,
    NotConverged,
    NotIdempotent,
    CurrentPruned,
    ForbiddenWrite,
    ForeignWritten,
}

/// A violation of one invariant, found in one pass.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Violation {
    pub(crate) invariant: Invariant,
    pub(crate) what: String,
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let number = match self.invariant {
            Invariant::UnjustifiedDeletion => 1,
            Invariant::DuplicateCreation => 2,
            Invariant::DisownedChanged => 3,
            Invariant::StaleWrite => 4,
            Invariant::NotConverged => 5,
            Invariant::NotIdempotent => 6,
            Invariant::CurrentPruned => 7,
            Invariant::ForbiddenWrite => 8,
            Invariant::ForeignWritten => 9,
        };
        write!(f, "I{number} ({:?}): {}", self.invariant, self.what)
    }
}

/// Checks one pass, whose calls are in order.
pub(crate) fn judge(view: &View<'_>, calls: &[Entry], at_beginning: &[Value]) -> Vec<Violation> {
    let mut judge = Judge { view, at_beginning, violations: Vec::new() };
    for (number, entry) in calls.iter().enumerate() {
        judge.foreign(number, entry);
        match &entry.call {
            Call::Find(_) | Call::DryRun(_) => {}
            Call::Create(desired) => judge.creation(number, entry, desired),
            Call::Delete(_) => judge.deletion(number, entry),
            Call::Patch(document, _) if is_disowning(document) => judge.disowning(number, entry),
            Call::Update(..) | Call::Patch(..) => judge.change(number, entry),
        }
    }
    judge.violations
}

/// The resources of the task that a call may be written for, as places in the task's list.
pub(crate) fn written_for(view: &View<'_>, number: usize, call: &Call) -> Vec<usize> {
    match call {
        Call::Find(_) | Call::DryRun(_) => Vec::new(),
        Call::Create(desired) | Call::Update(desired, _) => entry_of(desired).into_iter().collect(),
        Call::Patch(_, target) | Call::Delete(target) => {
            let knows = |place: &usize| view.versions(*place, number).iter().any(|version| uid(version) == target.uid);
            (0..view.task.resources.len()).filter(knows).collect()
        }
    }
}

/// The resource that a rendered object is labelled with.
fn entry_of(desired: &Value) -> Option<usize> {
    let of = label(desired, "hyperfleet.io/resource")?;
    NAMES.iter().position(|name| *name == of)
}

fn is_disowning(document: &Value) -> bool {
    document.pointer("/metadata/labels").is_some_and(|labels| labels.get("hyperfleet.io/disowned").is_some())
}

struct Judge<'a, 'v> {
    view: &'a View<'v>,
    at_beginning: &'a [Value],
    violations: Vec<Violation>,
}

impl Judge<'_, '_> {
    fn broken(&mut self, invariant: Invariant, what: String) {
        let event = self.view.event.generation;
        self.violations.push(Violation { invariant, what: format!("{what} (event of generation {event})") });
    }

    /// Whether a version is live and has a generation above the event's.
    fn is_stale(&self, versions: &[Value]) -> bool {
        let live = versions.iter().filter(|version| !is_terminating(version)).filter_map(generation);
        live.max().is_some_and(|newest| newest > self.view.event.generation)
    }

    /// Checks I9: a foreign object is only patched, without a stamp, or updated by an entry that adopts.
    fn foreign(&mut self, number: usize, entry: &Entry) {
        let Some(target) = entry.call.target() else { return };
        let (verb, name) = (entry.call.verb(), &target.name);
        let places = written_for(self.view, number, &entry.call);
        let is_foreign = |place: &usize| {
            let versions = self.view.versions(*place, number);
            versions.iter().any(|version| uid(version) == target.uid && !is_written(version))
        };
        if !places.iter().any(is_foreign) {
            return;
        }
        let is_allowed = match &entry.call {
            Call::Update(..) => places.iter().any(|place| self.view.task.resources[*place].adopt),
            Call::Patch(document, _) => {
                !is_disowning(document) && !entry.changed().is_some_and(|(_, now)| is_written(now))
            }
            Call::Find(_) | Call::Create(_) | Call::DryRun(_) | Call::Delete(_) => false,
        };
        if !is_allowed {
            self.broken(Invariant::ForeignWritten, format!("{verb} of {name}, which no adapter wrote"));
        }
    }

    /// Checks I3, I4 and I8 for an update or a patch.
    fn change(&mut self, number: usize, entry: &Entry) {
        let Some(target) = entry.call.target() else { return };
        let (verb, name) = (entry.call.verb(), &target.name);
        for place in written_for(self.view, number, &entry.call) {
            let versions = self.view.versions(place, number);
            let named = NAMES[place];
            if versions.iter().any(is_marked) {
                self.broken(Invariant::DisownedChanged, format!("{verb} of {name}, though {named} was disowned"));
            }
            if self.is_stale(&versions) {
                self.broken(Invariant::StaleWrite, format!("{verb} of {name}, though a newer generation is live"));
            }
            if !self.is_allowed(place, number, &entry.call) {
                self.broken(
                    Invariant::ForbiddenWrite,
                    format!("{verb} of {name}, though a gate of {named} forbids it"),
                );
            }
        }
        let Some((before, after)) = entry.changed() else { return };
        if is_marked(before) {
            self.broken(Invariant::DisownedChanged, format!("{verb} of {name}, which was disowned"));
        }
        let desired = self.view.event.generation;
        if generation(before).is_some_and(|live| live > desired) || generation(after) < generation(before) {
            let (from, to) = (generation(before), generation(after));
            self.broken(Invariant::StaleWrite, format!("{verb} of {name} from generation {from:?} to {to:?}"));
        }
    }

    /// Whether the gates of a resource may allow this update or patch, at the time of this call.
    fn is_allowed(&self, place: usize, number: usize, call: &Call) -> bool {
        let resource = &self.view.task.resources[place];
        let may_hold = |gate: &Option<Gate>| self.view.may_hold(gate.as_ref(), true, number);
        let of_its_own = match call {
            Call::Patch(..) => {
                resource.patches.iter().any(|patch| self.view.may_hold(Some(&patch.when), false, number))
            }
            _ => may_hold(&resource.apply),
        };
        may_hold(&resource.when) && of_its_own
    }

    /// Checks I3 for a disowning: the orphan gate holds, and the object is not disowned already.
    fn disowning(&mut self, number: usize, entry: &Entry) {
        let Some(target) = entry.call.target() else { return };
        let name = &target.name;
        let is_told = |place: &usize| {
            let gate = self.view.task.resources[*place].orphan.as_ref();
            self.view.may_hold(gate, false, number) || self.view.versions(*place, number).iter().any(is_marked)
        };
        if !written_for(self.view, number, &entry.call).iter().any(is_told) {
            self.broken(Invariant::DisownedChanged, format!("disowns {name}, though no gate holds"));
        }
        if entry.changed().is_some_and(|(before, _)| is_marked(before)) {
            self.broken(Invariant::DisownedChanged, format!("disowns {name} again"));
        }
    }
}
