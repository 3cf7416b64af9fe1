//! What one pass knew: the objects that it was shown, and what its own calls changed.
//!
//! In: the task, the event, and the calls of the pass. Out: for each entry of the task the versions that belong to it. All of
//! this is worked out from the terms of `docs/lifecycle.md`, not by the engine's code, and only from what the pass itself was
//! told.

use lifecycle_core::observation::{Query, QueryBy};
use serde_json::Value;

use super::belonging::{current, mark_query, query, was_released_by};
use super::entry_of;
use crate::journal::{Call, Entry, Told};
use crate::object::{name, uid};
use crate::sequence::Flags;
use crate::shape::TaskShape;

/// An event as it was delivered.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Event {
    pub(crate) id: String,
    pub(crate) namespace: String,
    /// Where the custom kind lives.
    pub(crate) group: String,
    pub(crate) generation: i64,
    pub(crate) flags: Flags,
    /// The reading of the clock.
    pub(crate) now: jiff::Timestamp,
}

/// What a pass was shown of one entry.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Shown {
    /// It was not read, or the reading failed.
    Unknown,
    /// These belong to it.
    Versions(Vec<Value>),
}

/// What one pass knew. Entries go by their places in the list, moments by the number of the call that comes next.
pub(crate) struct View<'a> {
    pub(crate) task: &'a TaskShape,
    pub(crate) event: &'a Event,
    calls: &'a [Entry],
    /// Of each entry, as it was read at the beginning.
    shown: Vec<Shown>,
    /// Of each entry, whether its own discovery found something that is certainly its own.
    found_its_own: Vec<bool>,
}

impl<'a> View<'a> {
    pub(crate) fn new(task: &'a TaskShape, event: &'a Event, calls: &'a [Entry]) -> Self {
        let reads = calls.iter().position(|entry| !matches!(entry.call, Call::Find(_))).unwrap_or(calls.len());
        let mut view = Self { task, event, calls, shown: Vec::new(), found_its_own: Vec::new() };
        for place in 0..task.resources.len() {
            let own = answer(&calls[..reads], &query(task, place, event));
            view.found_its_own.push(own.is_some_and(|found| view.has_certain(found, place)));
            view.shown.push(view.read(place, own, answer(&calls[..reads], &mark_query(task, place, event))));
        }
        view
    }

    fn read(&self, place: usize, own: Option<&Vec<Value>>, marked: Option<&Vec<Value>>) -> Shown {
        let Some(own) = own else { return Shown::Unknown };
        let mut versions = self.those_of(own, place);
        if self.task.resources[place].orphan.is_none() || self.found_its_own[place] {
            return Shown::Versions(versions);
        }
        // What was released is looked for by its mark where nothing else is found.
        let Some(marked) = marked else { return Shown::Unknown };
        for object in marked.iter().filter(|object| was_released_by(object, place, &self.event.id)) {
            versions.retain(|known| uid(known) != uid(object));
            versions.push(object.clone());
        }
        Shown::Versions(versions)
    }

    pub(crate) fn found_its_own(&self, place: usize) -> bool {
        self.found_its_own[place]
    }

    /// What was read of the entry at the beginning.
    pub(crate) fn shown(&self, place: usize) -> &Shown {
        &self.shown[place]
    }

    /// What the pass knew of the entry at a moment.
    pub(crate) fn versions(&self, place: usize, before: usize) -> Vec<Value> {
        let Shown::Versions(versions) = &self.shown[place] else { return Vec::new() };
        let mut versions = versions.clone();
        for (number, entry) in self.calls.iter().enumerate().take(before) {
            match (&entry.call, &entry.told) {
                (Call::Create(desired), Told::Object(object)) if entry_of(desired) == Some(place) => {
                    versions.push(object.clone());
                }
                (Call::Update(..) | Call::Patch(..) | Call::Delete(_), Told::Object(object)) => {
                    if let Some(known) = versions.iter_mut().find(|known| uid(known) == uid(object)) {
                        *known = object.clone();
                    }
                }
                (Call::Patch(_, target) | Call::Delete(target), Told::Nothing) => {
                    versions.retain(|known| uid(known) != target.uid);
                }
                // Who holds a name that was to be taken is read, and is a version if it is ours.
                (Call::Find(query), Told::Found(found)) if self.reads_the_holder(place, number, query) => {
                    for object in self.those_of(found, place) {
                        versions.retain(|known| uid(known) != uid(&object));
                        versions.push(object);
                    }
                }
                _ => {}
            }
        }
        versions
    }

    /// Whether the pass has created the object before that moment.
    pub(crate) fn has_created(&self, place: usize, before: usize, object: &Value) -> bool {
        self.calls.iter().take(before).any(|entry| match (&entry.call, &entry.told) {
            (Call::Create(desired), Told::Object(made)) => entry_of(desired) == Some(place) && uid(made) == uid(object),
            _ => false,
        })
    }

    /// Whether a call reads the holder of a name that the entry was refused right before.
    fn reads_the_holder(&self, place: usize, number: usize, query: &Query) -> bool {
        let Some(entry) = number.checked_sub(1).and_then(|number| self.calls.get(number)) else { return false };
        let (Call::Create(desired), QueryBy::Name(wanted)) = (&entry.call, &query.by) else { return false };
        entry_of(desired) == Some(place) && name(desired) == wanted
    }

    /// The objects that `resources.<name>` may have been at that moment; `None` among them stands for no object. Nothing at
    /// all if that was not known.
    pub(super) fn visible(&self, place: usize, before: usize) -> Vec<Option<Value>> {
        let Shown::Versions(read) = &self.shown[place] else { return Vec::new() };
        let mut visible = vec![current(read, self.event.generation).cloned()];
        if visible == [None] {
            // What is found and does not belong is visible all the same.
            let queries = [query(self.task, place, self.event), mark_query(self.task, place, self.event)];
            let found = queries.iter().filter_map(|query| answer(self.calls, query)).flatten();
            visible.extend(found.cloned().map(Some));
        }
        let now = self.versions(place, before);
        if now != *read {
            visible.push(current(&now, self.event.generation).cloned());
            visible.extend(now.into_iter().map(Some));
        }
        visible
    }
}

/// What a query was answered, if it was.
fn answer<'c>(calls: &'c [Entry], query: &Query) -> Option<&'c Vec<Value>> {
    calls.iter().find_map(|entry| match (&entry.call, &entry.told) {
        (Call::Find(asked), Told::Found(found)) if asked == query => Some(found),
        _ => None,
    })
}
