//! Plans the resources phase: which objects of each resource the adapter creates, changes, disowns or deletes.
//!
//! In: the compiled [`Task`], the [`Stamp`] (adapter, API resource and generation that every write records),
//! and the objects that the caller read. Out: [`Read`]s to send, then [`Write`]s to execute, then one
//! [`Outcome`] for each resource. A [`Planner`] is a state machine without I/O, and `State` names its states:
//!
//! | state | what the caller does | next state |
//! | --- | --- | --- |
//! | reading | sends all reads, and passes each result to [`Planner::observe`] | reading, until every resource was read; then deciding |
//! | deciding | nothing | writing; or, if the decision needs no write, deciding about the next resource |
//! | writing | executes the write, and passes the result to [`Planner::record`] | deciding again, once, if a creation found the resource's own object; pruning; or deciding about the next resource |
//! | bundle | carries the step out, and passes what came of it to [`Planner::answer`] | bundle, until the members are handled; then writing, or deciding about the next resource |
//! | pruning | executes the write, and passes the result to [`Planner::record`] | deciding about the next resource |
//! | done | takes the outcomes | |
//!
//! After the last resource the state is done.
//!
//! [`Planner::next`] continues until the caller has to read or to write. The planner sends every read before
//! the first write, but for those that a deletion needs before it is done (`former`). It adds the result of a write to `resources` before it evaluates the gates of the next
//! resource, so resources are handled strictly in the order of the task's list. No function here returns an
//! error: a failure is the outcome of its resource.
//!
//! A barrier between resources, such as "wait until the previous resource is ready", belongs into [`decide`],
//! as a row after 7a: rows 3 to 7 must still delete and disown, because during a deletion the previous resource
//! never becomes ready. Its question is answered in `gates`, from `resources` in the scope, as `failed_earlier`
//! is.

pub mod bundle;
mod commands;
mod conclude;
pub mod decide;
mod disown;
mod disown_first;
mod former;
pub mod gates;
/// Passes over objects in memory, for tests of this crate and of those above it.
#[cfg(any(test, feature = "harness"))]
#[doc(hidden)]
pub mod harness;
mod inside;
mod observed;
mod owned;
pub(crate) mod owner;
mod query;
mod reads;
pub(crate) mod record;
pub mod requirement;
mod retention;
mod siblings;
mod survey;
mod turn;
mod unobserved;

use std::collections::{BTreeMap, BTreeSet};

use lifecycle_bundle::need::Request;
use lifecycle_bundle::report::Report;
use lifecycle_language::scope::Scope;
use lifecycle_objects::id::Generation;
use lifecycle_objects::observation::{Observation, Query, Version};
use lifecycle_objects::stamp::Stamp;
use lifecycle_objects::write::{Command, PropagationPolicy, Target};

use crate::manifest::reserved::Reserved;
use crate::outcome::{Outcome, Pruned};
use crate::task::{Resource, Task};

use crate::decision::{Decision, SkipReason};
use decide::Decided;
use former::Former;
use gates::PendingDisowning;
use gates::{Context, Record};
pub use observed::Read;
use owned::Ownership;
use owner::OwnerStatus;

/// A write that the caller has to execute before the planner continues.
#[derive(Debug, Clone, PartialEq)]
pub struct Write {
    /// The name of the written resource in the task.
    pub resource: String,
    /// The reason of the write: the decision, or retention.
    pub purpose: Purpose,
    /// The command for the executor.
    pub command: Command,
}

/// Why the planner asks for a write.
#[derive(Debug, Clone, PartialEq)]
pub enum Purpose {
    /// The decision about the resource.
    Decided(Decision),
    /// Retention deletes former versions that exceed its limits.
    Prune,
}

/// The step that the caller has to take before the planner can continue.
#[derive(Debug, Clone, PartialEq)]
pub enum Next {
    /// Send these reads, all at the same time, and pass each result to [`Planner::observe`].
    Read(Vec<Read>),
    /// Execute this write, and pass its result to [`Planner::record`].
    Write(Box<Write>),
    /// Carry this out for the members of a bundle, and pass what came of it to [`Planner::answer`].
    Bundle(Request),
    /// The caller has nothing left to do: every resource has an outcome.
    Done,
}

/// The plan of one event: what was read, and the outcomes so far.
#[derive(Debug)]
pub struct Planner<'t> {
    task: &'t Task,
    stamp: Stamp,
    slots: Vec<Slot>,
    /// For each visible name of a nested discovery: the index of its resource in the task, and its own index
    /// within that resource.
    shown_inside: BTreeMap<String, (usize, usize)>,
    state: State<'t>,
    keeps_readings: bool,
    outcomes: Vec<Outcome>,
}

/// The planner's current step. The current resource is the first one without an outcome.
#[derive(Debug)]
enum State<'t> {
    /// The planner waits for the objects that the caller reads.
    Reading,
    /// The next step applies the decision table to the current resource.
    Deciding(Attempt),
    /// The caller executes the write of this decision.
    Writing(Box<Pending>),
    /// The caller carries out a step for the members of the bundle whose turn it is.
    Bundle(Box<bundle::Turn<'t>>),
    /// The caller deletes these former versions. The outcome lists none of them yet.
    Pruning(Box<Outcome>, Vec<(Target, Pruned)>),
    /// Every resource has its outcome.
    Done,
}

/// Whether the table decides about a resource for the first or the second time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Attempt {
    /// The first time, with the objects that the reads found.
    First,
    /// The second time: a creation found that the resource's own object already exists, and the planner decides
    /// again with it.
    Again,
}

/// The namespace (empty for a cluster-scoped object) and the name of an object.
type Place = (String, String);

/// The planner's knowledge about one resource: its query, the observed objects, and its status as an owner.
#[derive(Debug, Default)]
struct Slot {
    query: Option<Query>,
    /// Whether the second query, which finds disowned objects by their label, was answered.
    knows_disowned: bool,
    /// What is known of the resource's objects at former places.
    former: Former,
    observation: Option<Observation>,
    /// For each nested discovery, whether its object is unread.
    unknown_inside: Vec<bool>,
    /// The status that resources which name this one as their owner look at; set when the turn of this resource
    /// is over.
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
    /// The versions that the resource owns; the rendered manifest is taken out.
    owned: Ownership,
    /// The desired generation, if the manifest was rendered.
    desired: Option<Generation>,
    record: Record,
    /// What became of the members, if the resource is a bundle.
    report: Option<Report>,
}

/// The object that `resources.<name>` shows when the turn of a resource is over.
#[derive(Debug)]
enum After {
    /// The object that was observed; `resources` shows it already.
    AsObserved,
    /// The given object instead of the observed one; none if `resources` should show no object.
    Now(Option<Version>),
}

impl<'t> Planner<'t> {
    /// A planner for one event, in the state reading.
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

    /// With `keep`, each outcome records the values that its gates read, for traces and dry runs.
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

    /// Decides about one resource after another until it needs a read or a write, or none is left.
    ///
    /// Pass the result of each read to [`Self::observe`] and of each write to [`Self::record`] before the next
    /// call: otherwise the planner returns the same read or write again.
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
                State::Pruning(_, expired) => {
                    let targets = expired.iter().map(|(target, _)| target.clone()).collect();
                    let command = Command::Delete { targets, propagation: PropagationPolicy::Background };
                    let resource = self.resource().name.clone();
                    return Next::Write(Box::new(Write { resource, purpose: Purpose::Prune, command }));
                }
                State::Bundle(_) => {
                    if let Some(next) = self.bundle_step(scope) {
                        return next;
                    }
                }
                State::Done => return Next::Done,
            }
        }
    }

    /// Starts the turn of the first resource without an outcome.
    fn begin_turn(&mut self) {
        let is_left = self.position() < self.task.resources.len();
        self.state = if is_left { State::Deciding(Attempt::First) } else { State::Done };
    }

    /// The index of the current resource in the task's list.
    fn position(&self) -> usize {
        self.outcomes.len()
    }

    /// The first earlier resource whose failure keeps the later ones from being applied. A failed deletion or disowning
    /// does not, nor does a bundle that wrote its parent: an object that fails stops its own wave.
    fn failed_earlier(&self) -> Option<&str> {
        let was_removal = |outcome: &Outcome| {
            matches!(
                outcome.decision,
                Decision::Delete
                    | Decision::Disown(_)
                    | Decision::Skip(SkipReason::AlreadyAbsent | SkipReason::NothingToDisown)
            )
        };
        let has_parent = |outcome: &Outcome| outcome.bundle.as_ref().is_some_and(|bundle| !bundle.lacks_parent());
        let blocks_later =
            |outcome: &&Outcome| outcome.failure().is_some() && !was_removal(outcome) && !has_parent(outcome);
        self.outcomes.iter().find(blocks_later).map(|outcome| outcome.resource.as_str())
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
            failed_earlier: self.failed_earlier().is_some(),
            pending_disowning: &PendingDisowning::default,
            resend_after: self.resend_after(index),
            keeps_readings: self.keeps_readings,
            reserved: Reserved::of(self.task.has_lifecycle()),
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
