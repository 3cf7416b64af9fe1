//! Objects inside of a resource's object (nested discoveries), visible as `resources.<name>`.
//!
//! In: the object that is visible of a resource. Out: what is inside of that object is visible, or known to be absent, or as
//! unknown as what could not be read. A task with a lifecycle key looks inside as soon as every object was read, so that no
//! gate takes what is inside for absent; other tasks look when the object was applied, as the Go adapter does.

use serde_json::Value;

use super::decision::{Decision, FailReason, Failure, SkipReason};
use super::warning::{Warning, WarningReason};
use super::{Planner, query, reads};
use crate::nested;
use crate::outcome::OutcomeResult;
use crate::scope::Scope;
use crate::task::{Discovery, NestedDiscovery};

/// What a look inside of one resource's object came to.
#[derive(Debug, Default)]
pub(super) struct Look {
    /// Discoveries that could not be rendered: nobody knows whether their objects are there.
    pub(super) unreadable: Vec<Warning>,
    /// Discoveries that found nothing, or that have their parent's name.
    pub(super) left_out: Vec<Warning>,
    /// The first name that something else has in `resources`.
    pub(super) collision: Option<Failure>,
}

/// What a nested discovery finds.
enum Found {
    Object(Value),
    /// Nothing; what was looked for.
    Nothing(String),
    /// Nobody knows, and why.
    Unreadable(String),
}

impl Planner<'_> {
    /// Looks inside of every object that was read, in a task with a lifecycle key.
    pub(super) fn look_inside_all(&mut self, scope: &mut Scope) {
        if !self.task.has_lifecycle() {
            return;
        }
        self.look_inside_each(scope);
    }

    /// Looks inside of every object that was read, until another look resolves no further nested discovery.
    ///
    /// A nested discovery is unknown until it was looked for, so that one which reads a later one waits for it instead of
    /// taking it for absent. Nested discoveries that read each other stay unknown. A template that can read everything would
    /// wait for itself: it is looked for as soon as the others are known, and once more per such template.
    pub(super) fn look_inside_each(&mut self, scope: &mut Scope) {
        let reads_all = |discovery: &Discovery| reads::of_discovery(discovery).is_any();
        self.mark_inside(|discovery| !reads_all(discovery), true);
        let nested = self.task.resources.iter().flat_map(|resource| &resource.nested);
        let mut spare = nested.filter(|entry| reads_all(&entry.discovery)).count();
        let mut left = usize::MAX;
        loop {
            self.mark_inside(reads_all, false);
            for index in 0..self.slots.len() {
                if self.slots[index].observation.is_some() {
                    self.look_inside(index, scope);
                }
            }
            let unknown = self.slots.iter().flat_map(|slot| &slot.unknown_inside).filter(|unknown| **unknown).count();
            if unknown == 0 || unknown >= left {
                let Some(fewer) = spare.checked_sub(1) else { return };
                spare = fewer;
            }
            left = unknown;
        }
    }

    /// Sets whether the nested discoveries of some kind are unknown. One that has its parent's name is never looked for.
    fn mark_inside(&mut self, is_meant: impl Fn(&Discovery) -> bool, is_unknown: bool) {
        for (resource, slot) in self.task.resources.iter().zip(&mut self.slots) {
            for (entry, unknown) in resource.nested.iter().zip(&mut slot.unknown_inside) {
                if entry.name != resource.name && is_meant(&entry.discovery) {
                    *unknown = is_unknown;
                }
            }
        }
    }

    /// Makes visible what is inside of the object that is visible of a resource; without that object, nothing is.
    pub(super) fn look_inside(&mut self, index: usize, scope: &mut Scope) -> Look {
        let resource = &self.task.resources[index];
        let mut look = Look::default();
        if resource.nested.is_empty() {
            return look;
        }
        let parent = scope.get("resources").and_then(|resources| resources.get(&resource.name)).cloned();
        for (place, entry) in resource.nested.iter().enumerate() {
            let name = &entry.name;
            if *name == resource.name {
                look.left_out.push(left_out(format!("nested discovery {name} was left out: it has its parent's name")));
                continue;
            }
            let found = parent.as_ref().map(|parent| self.find_inside(parent, entry, scope));
            let mut is_unknown = false;
            let object = match found {
                None => None,
                Some(Found::Object(object)) => Some(object),
                Some(Found::Nothing(wanted)) => {
                    look.left_out.push(left_out(format!("nested discovery {name} found nothing ({wanted})")));
                    None
                }
                Some(Found::Unreadable(cause)) => {
                    is_unknown = true;
                    let message = format!("nested discovery {name} could not be rendered: {cause}");
                    look.unreadable.push(Warning::new(WarningReason::NestedUnread, message));
                    None
                }
            };
            self.slots[index].unknown_inside[place] = is_unknown;
            if !self.show_inside((index, place), name, object, scope) {
                let message = format!("nested discovery key collision: resources.{name} is there already");
                look.collision.get_or_insert(Failure::new(FailReason::NestedNameTaken, message));
            }
        }
        look
    }

    fn find_inside(&self, parent: &Value, entry: &NestedDiscovery, scope: &Scope) -> Found {
        if let Err(cause) = reads::of_discovery(&entry.discovery).check(&self.unknown()) {
            return Found::Unreadable(cause);
        }
        let (namespace, by) = match query::of_any_kind(&entry.discovery, scope) {
            Ok(rendered) => rendered,
            Err(error) => return Found::Unreadable(error.to_string()),
        };
        let found = nested::find(parent, namespace.as_deref(), &by);
        found.map_or_else(|| Found::Nothing(by.to_string()), Found::Object)
    }

    /// Shows an object, or that there is none, under the name of a nested discovery; false if the name is taken.
    fn show_inside(&mut self, place: (usize, usize), name: &str, object: Option<Value>, scope: &mut Scope) -> bool {
        let holder = self.shown_inside.get(name).copied();
        let Some(object) = object else {
            if holder == Some(place) {
                self.shown_inside.remove(name);
                scope.set_member("resources", name, None);
            }
            return true;
        };
        let is_visible = scope.get("resources").is_some_and(|resources| resources.get(name).is_some());
        // The first entry in the list has the name, and a resource before any nested discovery.
        if is_visible && holder.is_none_or(|holder| holder < place) {
            return false;
        }
        self.shown_inside.insert(name.to_owned(), place);
        scope.set_member("resources", name, Some(object));
        true
    }

    /// Shows an object, or that there is none, as `resources.<name>` of a resource.
    pub(super) fn show(&mut self, index: usize, object: Option<Value>, scope: &mut Scope) {
        let name = &self.task.resources[index].name;
        if object.is_none() && self.shown_inside.contains_key(name) {
            return;
        }
        self.shown_inside.remove(name);
        scope.set_member("resources", name, object);
    }
}

fn left_out(message: String) -> Warning {
    Warning::new(WarningReason::NestedLeftOut, message)
}

/// Whether the object was applied, or needed no apply. A task without a lifecycle key looks inside then; in every task a
/// collision of names, and what is not found, is told then.
pub(super) fn is_applied(decision: &Decision, result: &OutcomeResult) -> bool {
    match result {
        OutcomeResult::Created | OutcomeResult::Updated | OutcomeResult::Patched | OutcomeResult::Recreated => true,
        OutcomeResult::Skipped => {
            matches!(
                decision,
                Decision::Skip(
                    SkipReason::SameGeneration(_)
                        | SkipReason::StaleEvent { .. }
                        | SkipReason::WhenFalse
                        | SkipReason::ApplyGateFalse
                )
            )
        }
        OutcomeResult::Deleted
        | OutcomeResult::Deleting
        | OutcomeResult::Disowned
        | OutcomeResult::Waiting
        | OutcomeResult::Failed(_) => false,
    }
}
