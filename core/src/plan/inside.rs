//! Finds nested objects: what a resource's `nested_discoveries` find inside of its object, visible as
//! `resources.<name>`.
//!
//! In: the visible object of a resource. Out: each nested name shows its object, or is absent, or is unknown if
//! its template failed or its parent was not read. In a task with a lifecycle key the planner looks for nested
//! objects as soon as every object was read, so that no gate takes an unread nested object for an absent one.
//! In other tasks it looks after the parent was applied, as the Go adapter does.

use lifecycle_bundle::report::shown;
use lifecycle_language::scope::Scope;
use lifecycle_objects::failure::{FailReason, Failure};
use serde_json::Value;

use super::{Planner, query, reads};
use crate::decision::{Decision, SkipReason, WaitReason};
use crate::nested_discovery;
use crate::outcome::OutcomeResult;
use crate::task::{Discovery, NestedDiscovery};
use crate::warning::{Warning, WarningReason};

/// The result of the search inside of one resource's object.
#[derive(Debug, Default)]
pub(super) struct Look {
    /// Warnings of discoveries that could not be rendered, so that it is unknown whether their objects exist.
    pub(super) unreadable: Vec<Warning>,
    /// Warnings of discoveries that found nothing, or that have the name of their parent.
    pub(super) left_out: Vec<Warning>,
    /// The failure for the first name that another entry of `resources` has already.
    pub(super) collision: Option<Failure>,
}

/// The result of one nested discovery.
enum Found {
    Object(Value),
    /// No object; with a description of the searched object.
    Nothing(String),
    /// The object could not be looked for, for this reason; it may exist.
    Unreadable(String),
}

impl Planner<'_> {
    /// Looks for nested objects inside of every object that was read, if the task has a lifecycle key.
    pub(super) fn look_inside_all(&mut self, scope: &mut Scope) {
        if !self.task.has_lifecycle() {
            return;
        }
        self.look_inside_each(scope);
    }

    /// Looks for nested objects until one more search resolves no further nested discovery.
    ///
    /// A nested discovery is unknown until it was searched, so a discovery that reads a later one waits for it
    /// instead of taking it for absent. Discoveries that read each other stay unknown. A template that can read
    /// all of `resources` would wait for itself, so its discovery is searched as soon as all others are known,
    /// and once more for each such template.
    ///
    /// The loop ends: a round is followed by another only if it left fewer discoveries unknown than the round before,
    /// but some, or if `spare` is lowered. With `n` nested discoveries, `spare` is at most `n`, and between two of its
    /// values at most `n` rounds leave fewer unknown. So there are at most `(n + 1)²` rounds.
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

    /// Marks the nested discoveries that `is_meant` selects as unknown or as known. A discovery with its
    /// parent's name is never searched and stays as it is.
    fn mark_inside(&mut self, is_meant: impl Fn(&Discovery) -> bool, is_unknown: bool) {
        for (resource, slot) in self.task.resources.iter().zip(&mut self.slots) {
            for (entry, unknown) in resource.nested.iter().zip(&mut slot.unknown_inside) {
                if entry.name != resource.name && is_meant(&entry.discovery) {
                    *unknown = is_unknown;
                }
            }
        }
    }

    /// Shows the nested objects of a resource's visible object. If the resource has no visible object, its
    /// nested names are absent.
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
        if let Err(cause) = reads::check(&reads::of_discovery(&entry.discovery), &self.unknown()) {
            return Found::Unreadable(cause);
        }
        let (namespace, by) = match query::of_any_kind(&entry.discovery, scope) {
            Ok(rendered) => rendered,
            Err(error) => return Found::Unreadable(error.to_string()),
        };
        let found = nested_discovery::find(parent, namespace.as_deref(), &by);
        found.map_or_else(|| Found::Nothing(by.to_string()), Found::Object)
    }

    /// Shows an object, or its absence, under the name of a nested discovery. Returns false if another entry
    /// has the name.
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
        // A name belongs to the first entry of the list that claims it; a resource's own name comes before any
        // nested discovery.
        if is_visible && holder.is_none_or(|holder| holder < place) {
            return false;
        }
        self.shown_inside.insert(name.to_owned(), place);
        scope.set_member("resources", name, Some(object));
        true
    }

    /// Shows an object, or its absence, as the `resources.<name>` of a resource.
    pub(super) fn show(&mut self, index: usize, object: Option<Value>, scope: &mut Scope) {
        let name = &self.task.resources[index].name;
        if object.is_none() && self.shown_inside.contains_key(name) {
            return;
        }
        self.shown_inside.remove(name);
        // What a bundle is to expressions has to be there before its turn, too.
        let is_bundle = self.task.resources[index].bundle.is_some();
        let object =
            object.map(|object| if is_bundle && object.get("ready").is_none() { shown(object, None) } else { object });
        scope.set_member("resources", name, object);
    }
}

fn left_out(message: String) -> Warning {
    Warning::new(WarningReason::NestedLeftOut, message)
}

/// Whether the object was applied or needed no apply. A task without a lifecycle key then looks for nested
/// objects; in every task, a collision of names and a discovery without an object are reported then.
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
        OutcomeResult::Waiting => matches!(decision, Decision::Wait(WaitReason::NotYet(_))),
        OutcomeResult::Deleted | OutcomeResult::Deleting | OutcomeResult::Disowned | OutcomeResult::Failed(_) => false,
    }
}
