//! Checks deletions: each needs a reason.

use std::cmp::Reverse;

use serde_json::Value;

use super::ownership::{current, rendered_name};
use super::truth::Truth;
use super::view::Shown;
use super::{Invariant, Judge, written_for};
use crate::journal::Entry;
use crate::object::{created, generation, is_marked, is_terminating, kind, name, uid, version};
use crate::shape::Retention;

/// The reason for a deletion.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Justification {
    DeleteGate,
    Recreation,
    Retention,
}

impl Judge<'_, '_> {
    /// Checks I1, I3, I4 and I7 for a deletion.
    pub(super) fn deletion(&mut self, number: usize, entry: &Entry) {
        let Some(target) = entry.call.target() else { return };
        let (name, uid_of_target) = (&target.name, target.uid.as_str());
        let places = written_for(self.view, number, &entry.call);
        if places.is_empty() {
            let what = format!("deletes {name}, which it has not read as a version of a resource");
            return self.broken(Invariant::UnjustifiedDeletion, what);
        }
        let justification =
            places.iter().find_map(|place| Some((*place, self.justification(*place, number, uid_of_target)?)));
        let Some((place, justification)) = justification else {
            let is_kept = |place: &usize| {
                let versions = self.view.versions(*place, number);
                let kept = self.kept(*place, number, &versions);
                self.view.task.resources[*place].retention.is_some() && kept == Some(uid_of_target)
            };
            return if places.iter().any(is_kept) {
                self.broken(Invariant::CurrentPruned, format!("deletes {name}, the current version, without a gate"))
            } else {
                self.broken(
                    Invariant::UnjustifiedDeletion,
                    format!("deletes {name}, though no gate holds and no limit is exceeded"),
                )
            };
        };
        if justification == Justification::Recreation && self.has_foreign_holder(place, entry) {
            let what =
                format!("deletes {name} to recreate it under a name that a foreign object has had from the beginning");
            self.broken(Invariant::UnjustifiedDeletion, what);
        }
        let versions = self.view.versions(place, number);
        if justification == Justification::Recreation && self.is_stale(&versions) {
            let what = format!("deletes {name} to recreate it, though a newer generation is live");
            self.broken(Invariant::StaleWrite, what);
        }
        let [before, after] = entry.subject().map(|object| object.filter(|object| uid(object) == uid_of_target));
        let Some(before) = before.filter(|before| !is_terminating(before)) else { return };
        if after.is_some_and(|after| !is_terminating(after)) {
            return;
        }
        let judged = versions.iter().find(|version| uid(version) == uid_of_target).map(version);
        if judged != Some(version(before)) {
            let what = format!("deletes {name} as version {}, but judged it as version {judged:?}", version(before));
            self.broken(Invariant::UnjustifiedDeletion, what);
        }
        if is_marked(before) {
            self.broken(Invariant::DisownedChanged, format!("deletes {name}, which was disowned"));
        }
    }

    /// Whether a foreign object, which no deletion of the resource's versions removes, has had the rendered
    /// name since the beginning of the pass.
    fn has_foreign_holder(&self, place: usize, entry: &Entry) -> bool {
        let resource = &self.view.task.resources[place];
        let wanted = rendered_name(resource, place, self.view.event);
        let Shown::Versions(shown) = self.view.shown(place) else { return false };
        entry.before.iter().any(|object| {
            let is_it = |known: &Value| uid(known) == uid(object);
            name(object) == wanted
                && Some(kind(object)) == entry.call.place().map(|(kind, _)| kind)
                && self.at_beginning.iter().any(is_it)
                && !shown.iter().any(is_it)
        })
    }

    /// The reason for the deletion of this object, if there is one.
    fn justification(&self, place: usize, number: usize, target: &str) -> Option<Justification> {
        let resource = &self.view.task.resources[place];
        let versions = self.view.versions(place, number);
        let is_disowned = resource.orphan.as_ref().is_some_and(|gate| self.view.truths(gate, number) == [Truth::Yes]);
        // Disowning wins over every deletion.
        if is_disowned || versions.iter().any(is_marked) {
            return None;
        }
        if self.view.may_hold(resource.delete.as_ref(), false, number) {
            return Some(Justification::DeleteGate);
        }
        if let Some(retention) = resource.retention {
            let kept = self.kept(place, number, &versions)?;
            return self.is_expired(retention, &versions, kept, target).then_some(Justification::Retention);
        }
        let desired = self.view.event.generation;
        let is_behind = || current(&versions, desired).and_then(generation).is_some_and(|live| live < desired);
        let recreates =
            self.view.may_hold(resource.recreate.as_ref(), false, number) || resource.recreate_on_change && is_behind();
        let may_create = self.view.may_hold(resource.create.as_ref(), true, number);
        (recreates && may_create).then_some(Justification::Recreation)
    }

    /// The version that retention must keep: the one that the pass created, else the current one.
    fn kept<'s>(&self, place: usize, number: usize, versions: &'s [Value]) -> Option<&'s str> {
        let made = versions.iter().find(|version| self.view.has_created(place, number, version));
        made.or_else(|| current(versions, self.view.event.generation)).map(uid)
    }

    /// Whether the object is a former version beyond the age or the number that retention keeps.
    fn is_expired(&self, retention: Retention, versions: &[Value], kept: &str, target: &str) -> bool {
        let event = self.view.event;
        let mut former: Vec<&Value> = versions
            .iter()
            .filter(|version| !is_terminating(version) && uid(version) != kept)
            .filter(|version| generation(version).is_none_or(|live| live <= event.generation))
            .collect();
        former.sort_by_key(|version| Reverse((created(version), name(version))));
        let Some(rank) = former.iter().position(|version| uid(version) == target) else { return false };
        let age = created(former[rank]).map(|created| event.now.duration_since(created).as_hours());
        retention.history_limit.is_some_and(|limit| rank >= limit)
            || retention.ttl_hours.zip(age).is_some_and(|(ttl, age)| age >= ttl)
    }
}
