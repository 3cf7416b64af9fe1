//! Phase 3: what becomes of each resource, one decision at a time.
//!
//! In: the compiled [`Task`], who writes for what ([`Stamp`]), and what was read. Out: [`Wanted`] reads, then
//! [`Step`]s to execute, then [`Outcome`]s. A [`Planner`] is a state machine without I/O:
//!
//! ```text
//!        ┌▶ Read ─▶ (the caller reads) ──▶ observe ─┐
//! next ──┼▶ Write ─▶ (the caller writes) ─▶ record ─┤
//!   ▲    └▶ Done                                    │
//!   └───────────────────────────────────────────────┘
//! ```
//!
//! Every read comes before the first write.
//!
//! What a step did is in `resources` before the next resource's gates are asked, so the order of the task's list
//! is kept strictly. Nothing here fails as such: a failure is an outcome of its resource.

mod commands;
mod conclude;
pub mod decide;
pub mod decision;
mod disown_first;
pub(crate) mod gates;
mod inside;
mod observed;
mod ours;
mod owner;
mod query;
mod reads;
mod record;
mod release;
pub(crate) mod requirement;
mod retention;
pub mod row;
mod survey;
mod turn;
pub mod warning;

use std::collections::{BTreeMap, BTreeSet};

use crate::id::Generation;
use crate::manifest::Stamp;
use crate::observation::{Observation, Query, Version};
use crate::outcome::Outcome;
use crate::scope::Scope;
use crate::task::{Resource, Task};
use crate::write::Command;

use decide::Decided;
use decision::Decision;
use gates::{Context, Record};
pub use observed::Wanted;
use owner::Standing;
pub(crate) use release::disowned_by;

/// A write that has to be executed before the plan goes on.
#[derive(Debug, Clone, PartialEq)]
pub struct Step {
    /// The resource's name.
    pub resource: String,
    /// What it is for.
    pub purpose: Purpose,
    /// What to execute.
    pub command: Command,
}

/// What a step is for.
#[derive(Debug, Clone, PartialEq)]
pub enum Purpose {
    /// What was decided about the resource.
    Decided(Decision),
    /// Retention: former versions have to go.
    Prune,
}

/// What a plan needs to go on.
#[derive(Debug, Clone, PartialEq)]
pub enum Next {
    /// These reads, all at once, each to be [observed](Planner::observe).
    Read(Vec<Wanted>),
    /// This write, to be [recorded](Planner::record).
    Write(Box<Step>),
    /// Nothing: every resource has its outcome.
    Done,
}

/// The plan of one event, as far as it has unrolled.
#[derive(Debug)]
pub struct Planner<'t> {
    task: &'t Task,
    stamp: Stamp,
    slots: Vec<Slot>,
    /// The nested discovery whose object is visible under a name: the places of its resource and of itself.
    shown_inside: BTreeMap<String, (usize, usize)>,
    /// Whether everything was read.
    has_read: bool,
    /// Which resource is decided next.
    position: usize,
    /// The step that comes next, as it was decided already.
    ready: Option<Box<Step>>,
    /// The step that waits for its outcome.
    pending: Option<Pending>,
    /// The outcome of a resource whose former versions are being pruned, as if all of them went.
    pruning: Option<Outcome>,
    /// Whether the table is asked about the current resource a second time, after a creation met its own object.
    decides_again: bool,
    failed_earlier: bool,
    keeps_readings: bool,
    outcomes: Vec<Outcome>,
}

/// A namespace, empty for a cluster-scoped object, and a name.
type Place = (String, String);

/// What is known of one resource.
#[derive(Debug, Default)]
struct Slot {
    query: Option<Query>,
    /// Whether the second query, for what was released, was answered.
    knows_disowned: bool,
    observation: Option<Observation>,
    /// Of each nested discovery, whether nobody knows what is inside.
    unknown_inside: Vec<bool>,
    /// What it came to, once its turn is over, if another one names it as its owner.
    standing: Option<Standing>,
}

impl Slot {
    fn of(resource: &Resource) -> Self {
        Self { unknown_inside: vec![false; resource.nested.len()], ..Self::default() }
    }
}

/// A decision whose outcome is not known yet.
#[derive(Debug)]
struct Pending {
    decided: Decided,
    /// What it is about.
    place: Place,
    /// The versions that belong to the resource, by their places among those observed.
    belonging: Vec<usize>,
    /// The desired generation, if the manifest was rendered.
    desired: Option<Generation>,
    record: Record,
}

/// What is live when a resource's turn is over.
#[derive(Debug)]
enum After {
    /// What was observed, which is visible already.
    AsObserved,
    /// This, or nothing.
    Now(Option<Version>),
}

impl<'t> Planner<'t> {
    /// Begins the plan of one event.
    #[must_use]
    pub fn new(task: &'t Task, stamp: Stamp) -> Self {
        Self {
            task,
            stamp,
            slots: task.resources.iter().map(Slot::of).collect(),
            shown_inside: BTreeMap::new(),
            has_read: false,
            position: 0,
            ready: None,
            pending: None,
            pruning: None,
            decides_again: false,
            failed_earlier: false,
            keeps_readings: false,
            outcomes: Vec::new(),
        }
    }

    /// Keeps in the outcomes what each gate read, for explanations.
    #[must_use]
    pub fn keep_readings(mut self, keep: bool) -> Self {
        self.keeps_readings = keep;
        self
    }

    /// The outcomes so far, in the order of the task's list.
    #[must_use]
    pub fn outcomes(&self) -> &[Outcome] {
        &self.outcomes
    }

    /// The outcomes, in the order of the task's list.
    #[must_use]
    pub fn into_outcomes(self) -> Vec<Outcome> {
        self.outcomes
    }

    /// Decides resource after resource until a read or a write is needed, or none is left.
    ///
    /// Every read has to be observed, and every write recorded, before it is asked again.
    pub fn next(&mut self, scope: &mut Scope) -> Next {
        if !self.has_read {
            let wanted = self.queries(scope);
            if !wanted.is_empty() {
                return Next::Read(wanted);
            }
            self.has_read = true;
        }
        loop {
            if let Some(step) = self.ready.take() {
                return Next::Write(step);
            }
            if self.position == self.task.resources.len() {
                return Next::Done;
            }
            self.decide_current(scope);
        }
    }

    fn resource(&self) -> &'t Resource {
        &self.task.resources[self.position]
    }

    fn context<'a>(&'a self, index: usize, scope: &'a Scope, unknown: &'a BTreeSet<&'a str>) -> Context<'a> {
        Context {
            resource: &self.task.resources[index],
            scope,
            stamp: &self.stamp,
            unknown,
            failed_earlier: self.failed_earlier,
            others_are_to_be_disowned: false,
            keeps_readings: self.keeps_readings,
        }
    }

    /// The names in `resources` that could not be read, or hang on something that could not.
    fn unknown(&self) -> BTreeSet<&'t str> {
        let resources = self.task.resources.iter().zip(&self.slots);
        resources
            .flat_map(|(resource, slot)| {
                let is_unread = matches!(slot.observation, Some(Observation::Unknown(_)));
                let nested = resource.nested.iter().zip(&slot.unknown_inside);
                let nested = nested.filter(move |(_, is_unknown)| is_unread || **is_unknown);
                let own = is_unread.then_some(resource.name.as_str());
                own.into_iter().chain(nested.map(|(nested, _)| nested.name.as_str()))
            })
            .collect()
    }
}

/// Where a version stands.
fn place(version: &Version) -> Place {
    (version.namespace().to_owned(), version.name().to_owned())
}

#[cfg(test)]
mod tests;
