//! Phase 3: what becomes of each resource, one decision at a time.
//!
//! In: the compiled [`Task`], who writes for what ([`Stamp`]), and what was read. Out: [`Read`]s, then [`Write`]s to execute,
//! then [`Outcome`]s. A [`Planner`] is a state machine without I/O, and `State` names its states:
//!
//! | state | what the caller does | next state |
//! | --- | --- | --- |
//! | reading | reads, all at once, and observes | reading, until nothing is left to read; then deciding |
//! | deciding | nothing | writing; or, where nothing is to be written, the resource's end |
//! | writing | executes the write, and records | deciding again, once, if a creation met the resource's own object; pruning; or the resource's end |
//! | pruning | executes the write, and records | the resource's end |
//! | done | takes the outcomes | |
//!
//! At its end a resource has its outcome, and the next one is decided. After the last one the plan is done.
//!
//! [`Planner::next`] moves on until the caller has to read or to write; [`Planner::observe`] and [`Planner::record`] take what
//! came of that. Every read comes before the first write. What a write did is in `resources` before the next resource's gates
//! are asked, so the order of the task's list is kept strictly. Nothing here fails as such: a failure is an outcome of its
//! resource.
//!
//! A barrier between resources, such as "wait until the one before is ready", belongs into [`decide`], as a row after 7a: rows 3
//! to 7 must still delete and disown, because during a deletion the one before never becomes ready. Its question is answered in
//! `gates`, from `resources` in the scope, as `failed_earlier` is.

mod commands;
mod conclude;
pub mod decide;
pub mod decision;
mod disown;
mod disown_first;
pub(crate) mod gates;
mod inside;
mod observed;
mod owned;
mod owner;
mod query;
mod reads;
mod record;
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
use crate::task::{PropagationPolicy, Resource, Task};
use crate::write::{Command, Target};

use decide::Decided;
use decision::Decision;
use disown_first::PendingDisowning;
use gates::{Context, Record};
pub use observed::Read;
use owner::OwnerStatus;

/// A write that has to be executed before the plan goes on.
#[derive(Debug, Clone, PartialEq)]
pub struct Write {
    /// The resource's name.
    pub resource: String,
    /// Why it is written.
    pub purpose: Purpose,
    /// What to execute.
    pub command: Command,
}

/// What a write is for.
#[derive(Debug, Clone, PartialEq)]
pub enum Purpose {
    /// The decision about the resource.
    Decided(Decision),
    /// Retention deletes former versions.
    Prune,
}

/// What a plan needs to go on.
#[derive(Debug, Clone, PartialEq)]
pub enum Next {
    /// These reads, all at once, each to be [observed](Planner::observe).
    Read(Vec<Read>),
    /// This write, to be [recorded](Planner::record).
    Write(Box<Write>),
    /// Nothing: every resource has its outcome.
    Done,
}

/// The plan of one event: what was read, and the outcomes so far.
#[derive(Debug)]
pub struct Planner<'t> {
    task: &'t Task,
    stamp: Stamp,
    slots: Vec<Slot>,
    /// The nested discovery whose object is visible under a name: the places of its resource and of itself.
    shown_inside: BTreeMap<String, (usize, usize)>,
    state: State,
    keeps_readings: bool,
    outcomes: Vec<Outcome>,
}

/// What the plan does next. The current resource is the first one without an outcome.
#[derive(Debug)]
enum State {
    /// Objects are being read.
    Reading,
    /// The table is asked about a resource next.
    Deciding(Attempt),
    /// The caller writes what was decided.
    Writing(Box<Pending>),
    /// The caller deletes former versions; the outcome is as if all of them went.
    Pruning(Box<Outcome>, Vec<Target>),
    /// Every resource has its outcome.
    Done,
}

/// Whether the table decides about a resource for the first or the second time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Attempt {
    /// With what was read.
    First,
    /// Once more, with the resource's own object that a creation met.
    Again,
}

/// A namespace, empty for a cluster-scoped object, and a name.
type Place = (String, String);

/// What the plan knows of one resource.
#[derive(Debug, Default)]
struct Slot {
    query: Option<Query>,
    /// Whether the second query, for what was disowned, was answered.
    knows_disowned: bool,
    observation: Option<Observation>,
    /// For each nested discovery, whether its object is unread.
    unknown_inside: Vec<bool>,
    /// What later resources that name this one as their owner need to know of it; set when its turn is over.
    owner_status: Option<OwnerStatus>,
}

impl Slot {
    fn of(resource: &Resource) -> Self {
        Self { unknown_inside: vec![false; resource.nested.len()], ..Self::default() }
    }
}

/// A decision whose outcome is not known yet.
#[derive(Debug)]
struct Pending {
    attempt: Attempt,
    decided: Decided,
    /// The namespace and name of the object that it concerns.
    place: Place,
    /// The versions that the resource owns, as indices into the observed objects.
    owned: Vec<usize>,
    /// The desired generation, if the manifest was rendered.
    desired: Option<Generation>,
    record: Record,
}

/// The object that `resources.<name>` shows when the turn of a resource is over.
#[derive(Debug)]
enum After {
    /// The object that was observed; `resources` shows it already.
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
            state: State::Reading,
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
    /// Every read has to be observed, and every write recorded, before it is asked again: the plan repeats what it asked for
    /// otherwise.
    pub fn next(&mut self, scope: &mut Scope) -> Next {
        loop {
            match &self.state {
                State::Reading => {
                    let reads = self.reads(scope);
                    if !reads.is_empty() {
                        return Next::Read(reads);
                    }
                    self.begin_turn();
                }
                State::Deciding(attempt) => {
                    if let Some(write) = self.decide_current(*attempt, scope) {
                        return Next::Write(Box::new(write));
                    }
                }
                State::Writing(pending) => self.state = State::Deciding(pending.attempt),
                State::Pruning(_, targets) => {
                    let command =
                        Command::Delete { targets: targets.clone(), propagation: PropagationPolicy::Background };
                    let resource = self.resource().name.clone();
                    return Next::Write(Box::new(Write { resource, purpose: Purpose::Prune, command }));
                }
                State::Done => return Next::Done,
            }
        }
    }

    /// Goes on with the first resource that has no outcome.
    fn begin_turn(&mut self) {
        let is_left = self.position() < self.task.resources.len();
        self.state = if is_left { State::Deciding(Attempt::First) } else { State::Done };
    }

    /// The place of the resource whose turn it is.
    fn position(&self) -> usize {
        self.outcomes.len()
    }

    /// Whether the failure of an earlier resource keeps the later ones from being applied. A failed deletion or disowning
    /// does not.
    fn failed_earlier(&self) -> bool {
        let was_to_go = |outcome: &Outcome| matches!(outcome.decision, Decision::Delete | Decision::Disown(_));
        self.outcomes.iter().any(|outcome| outcome.failure().is_some() && !was_to_go(outcome))
    }

    fn resource(&self) -> &'t Resource {
        &self.task.resources[self.position()]
    }

    fn context<'a>(&'a self, index: usize, scope: &'a Scope, unknown: &'a BTreeSet<&'a str>) -> Context<'a> {
        Context {
            resource: &self.task.resources[index],
            scope,
            stamp: &self.stamp,
            unknown,
            failed_earlier: self.failed_earlier(),
            pending_disowning: &PendingDisowning::default,
            keeps_readings: self.keeps_readings,
        }
    }

    /// The names in `resources` that are unread, nested discoveries of unread objects included.
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

/// The namespace and name of a version.
fn place(version: &Version) -> Place {
    (version.namespace().to_owned(), version.name().to_owned())
}

#[cfg(test)]
mod tests;
