//! What one pass knew: the objects that it read, and the changes by its own calls.
//!
//! In: the task, the event, and the calls of the pass. Out: the versions that each resource owns. Everything
//! is derived from the terms of `docs/lifecycle.md`, without the engine's code, and only from results that
//! the pass itself got.

use lifecycle_objects::observation::{Query, QueryBy};
use serde_json::Value;

use super::entry_of;
use super::ownership::{beside_foreign, current, former_query, mark_query, query, was_disowned_by};
use crate::journal::{Call, CallResult, Entry};
use crate::object::{name, uid};
use crate::sequence::Flags;
use crate::shape::TaskShape;

/// An event as it was delivered to a replica.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Event {
    pub(crate) id: String,
    pub(crate) namespace: String,
    /// The API group of the custom kind.
    pub(crate) group: String,
    pub(crate) generation: i64,
    pub(crate) flags: Flags,
    /// The time of the pass.
    pub(crate) now: jiff::Timestamp,
}

/// The result of a pass's reads of one resource.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Shown {
    /// The resource was not read, or its read failed.
    Unknown,
    /// The versions that the resource owns.
    Versions(Vec<Value>),
}

/// What one pass knew. Resources are given by their places in the list, and moments by the number of the next
/// call.
pub(crate) struct View<'a> {
    pub(crate) task: &'a TaskShape,
    pub(crate) event: &'a Event,
    calls: &'a [Entry],
    /// The result of the reads of each resource at the beginning of the pass.
    shown: Vec<Shown>,
    /// Whether the discovery of each resource found an object that the resource certainly owns.
    found_owned: Vec<bool>,
}

impl<'a> View<'a> {
    pub(crate) fn new(task: &'a TaskShape, event: &'a Event, calls: &'a [Entry]) -> Self {
        let reads = calls.iter().position(|entry| !matches!(entry.call, Call::Find(_))).unwrap_or(calls.len());
        let mut view = Self { task, event, calls, shown: Vec::new(), found_owned: Vec::new() };
        for place in 0..task.resources.len() {
            let own = answer(&calls[..reads], &query(task, place, event));
            view.found_owned.push(own.is_some_and(|found| view.owns_certainly(found, place)));
            view.shown.push(view.read(place, own, answer(&calls[..reads], &mark_query(task, place, event))));
        }
        view
    }

    fn read(&self, place: usize, own: Option<&Vec<Value>>, marked: Option<&Vec<Value>>) -> Shown {
        let Some(own) = own else { return Shown::Unknown };
        let mut versions = self.owned(own, place);
        if self.task.resources[place].orphan.is_none() || self.found_owned[place] {
            return Shown::Versions(versions);
        }
        // If discovery finds no owned object, disowned objects are looked up by their mark.
        let Some(marked) = marked else { return Shown::Unknown };
        for object in marked.iter().filter(|object| was_disowned_by(object, place, &self.event.id)) {
            versions.retain(|known| uid(known) != uid(object));
            versions.push(object.clone());
        }
        Shown::Versions(beside_foreign(versions))
    }

    pub(crate) fn found_owned(&self, place: usize) -> bool {
        self.found_owned[place]
    }

    /// Returns the result of the reads of one resource at the beginning of the pass.
    pub(crate) fn shown(&self, place: usize) -> &Shown {
        &self.shown[place]
    }

    /// The versions that the pass knew of the resource before the call `before`.
    pub(crate) fn versions(&self, place: usize, before: usize) -> Vec<Value> {
        let Shown::Versions(versions) = &self.shown[place] else { return Vec::new() };
        let mut versions = versions.clone();
        for (number, entry) in self.calls.iter().enumerate().take(before) {
            match (&entry.call, &entry.result) {
                (Call::Create(desired), CallResult::Object(object)) if entry_of(desired) == Some(place) => {
                    versions.push(object.clone());
                }
                (Call::Update(..) | Call::Patch(..) | Call::Delete(_), CallResult::Object(object)) => {
                    if let Some(known) = versions.iter_mut().find(|known| uid(known) == uid(object)) {
                        *known = object.clone();
                    }
                }
                (Call::Patch(_, target) | Call::Delete(target), CallResult::Nothing) => {
                    versions.retain(|known| uid(known) != target.uid);
                }
                // What a search in all namespaces finds counts where the resource may be searched for.
                (Call::Find(query), CallResult::Found(found)) if self.searches(place, query) => {
                    let former: Vec<&Value> = found.iter().filter(|object| self.is_former(object, place)).collect();
                    for object in former {
                        if versions.iter().all(|known| uid(known) != uid(object)) {
                            versions.push(object.clone());
                        }
                    }
                }
                // After a refused creation, the holder of the name is read, and is a version if the resource
                // owns it.
                (Call::Find(query), CallResult::Found(found)) if self.reads_name_holder(place, number, query) => {
                    for object in self.owned(found, place) {
                        versions.retain(|known| uid(known) != uid(&object));
                        versions.push(object);
                    }
                }
                _ => {}
            }
        }
        beside_foreign(versions)
    }

    /// Whether the pass created the object before the call `before`.
    pub(crate) fn has_created(&self, place: usize, before: usize, object: &Value) -> bool {
        self.calls.iter().take(before).any(|entry| match (&entry.call, &entry.result) {
            (Call::Create(desired), CallResult::Object(made)) => {
                entry_of(desired) == Some(place) && uid(made) == uid(object)
            }
            _ => false,
        })
    }

    /// Whether the query is the search for what a resource had at other places before.
    fn searches(&self, place: usize, query: &Query) -> bool {
        let resource = &self.task.resources[place];
        let can_go = resource.delete.is_some() || resource.orphan.is_some();
        can_go && *query == former_query(self.task, place, self.event)
    }

    /// Whether the query reads the object that has the name of the resource's creation just refused.
    fn reads_name_holder(&self, place: usize, number: usize, query: &Query) -> bool {
        let Some(entry) = number.checked_sub(1).and_then(|number| self.calls.get(number)) else { return false };
        let (Call::Create(desired), QueryBy::Name(wanted)) = (&entry.call, &query.by) else { return false };
        entry_of(desired) == Some(place) && name(desired) == wanted
    }

    /// The objects that `resources.<name>` may have been before the call `before`; `None` stands for no
    /// object. Empty if the resource was unread.
    pub(super) fn visible(&self, place: usize, before: usize) -> Vec<Option<Value>> {
        let Shown::Versions(read) = &self.shown[place] else { return Vec::new() };
        let mut visible = vec![current(read, self.event.generation).cloned()];
        if visible == [None] {
            // A discovered object that the resource does not own is visible to gates, too.
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

/// The result of a query, if it succeeded.
fn answer<'c>(calls: &'c [Entry], query: &Query) -> Option<&'c Vec<Value>> {
    calls.iter().find_map(|entry| match (&entry.call, &entry.result) {
        (Call::Find(asked), CallResult::Found(found)) if asked == query => Some(found),
        _ => None,
    })
}
